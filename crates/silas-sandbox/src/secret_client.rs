//! `silas-secret get NAME`: how a program in a cell asks for a secret that its plan names.
//!
//! It is this very executable under another name, so that nothing has to be installed; whoever uses this crate calls
//! [`secret_client`] in the first line of `main`. It prints the value as it is, without a line end.

use crate::cell::{SECRET_PROGRAM, SECRET_PROGRAM_DIR, SECRET_SOCKET};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const FAILED: u8 = 1;
const MISUSED: u8 = 2;

/// The exit code, if these arguments say that this process was started as `silas-secret`; the caller ends with it at
/// once.
pub fn secret_client(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    let name = arguments.next()?;
    if Path::new(&name).file_name()? != SECRET_PROGRAM {
        return None;
    }
    let arguments: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    let [verb, reference] = arguments.as_slice() else { return Some(usage()) };
    if verb != "get" || reference.contains('\n') {
        return Some(usage());
    }
    Some(match get(reference) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("{SECRET_PROGRAM}: {why}");
            FAILED
        }
    })
}

fn usage() -> u8 {
    eprintln!("usage: {SECRET_PROGRAM} get NAME");
    MISUSED
}

fn get(reference: &str) -> Result<(), String> {
    let socket = Path::new(SECRET_PROGRAM_DIR).join(SECRET_SOCKET);
    let mut socket = UnixStream::connect(socket).map_err(|e| format!("secrets cannot be asked for here: {e}"))?;
    let mut answer = Vec::new();
    let talk = socket.write_all(format!("get {reference}\n").as_bytes()).and_then(|()| socket.read_to_end(&mut answer));
    talk.map_err(|e| format!("the answer did not arrive: {e}"))?;
    if let Some(value) = answer.strip_prefix(b"ok\n") {
        let mut out = std::io::stdout();
        return out.write_all(value).and_then(|()| out.flush()).map_err(|e| e.to_string());
    }
    let why = answer.strip_prefix(b"no ").unwrap_or(b"Silas did not answer.");
    Err(String::from_utf8_lossy(why).into_owned())
}
