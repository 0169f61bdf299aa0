//! What this process was told by its environment, read once before `main`.

use crate::format::{ENV_DIR, ENV_EXCEPT, ENV_FAULT, ENV_LOG, ENV_MARKS, ENV_SYNC};
use crate::log::Log;
use libc::c_int;
use std::ffi::CStr;
use std::sync::OnceLock;

pub(crate) struct State {
    pub(crate) log: Log,
    /// Absolute, without links and without a slash at its end.
    pub(crate) dir: Vec<u8>,
    /// What lies in these is left out; they themselves are not.
    pub(crate) except: Vec<Vec<u8>>,
    pub(crate) marks: Vec<u8>,
    pub(crate) syncing: Syncing,
    pub(crate) fault: Option<Fault>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncing {
    /// The kernel syncs, and the log says so.
    Real,
    /// The log says so and the kernel is not bothered: an image needs only the log, and this is quick.
    Claimed,
    /// Nobody syncs; the program is told that it worked.
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Write,
    Sync,
}

pub(crate) struct Fault {
    pub(crate) on: On,
    from: u64,
    until: u64,
    errno: c_int,
}

impl Fault {
    /// The error that the `n`th operation of this kind fails with, counted from 0.
    pub(crate) fn strikes(&self, on: On, n: u64) -> Option<c_int> {
        (self.on == on && (self.from..self.until).contains(&n)).then_some(self.errno)
    }
}

static STATE: OnceLock<State> = OnceLock::new();

/// `None` if nothing is to be recorded.
pub(crate) fn state() -> Option<&'static State> {
    STATE.get()
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = start;

extern "C" fn start() {
    let Some(log) = variable(ENV_LOG) else { return };
    let state = (|| {
        let (dir, marks) = (variable(ENV_DIR)?, variable(ENV_MARKS)?);
        let syncing = match variable(ENV_SYNC).as_deref() {
            None | Some(b"real") => Syncing::Real,
            Some(b"claimed") => Syncing::Claimed,
            Some(b"off") => Syncing::Off,
            Some(_) => return None,
        };
        let fault = match variable(ENV_FAULT) {
            None => None,
            Some(text) => Some(read_fault(&String::from_utf8(text).ok()?)?),
        };
        let except = variable(ENV_EXCEPT).unwrap_or_default();
        let except = except.split(|byte| *byte == b':').filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect();
        Some(State { log: Log::open(log)?, dir, except, marks, syncing, fault })
    })();
    match state {
        // Nothing else sets it.
        Some(state) => drop(STATE.set(state)),
        None => {
            // A recording that silently records nothing would let every test pass.
            let text = b"power-loss recorder: the environment cannot be understood, or the log cannot be opened\n";
            // SAFETY: the text lives as long as the program.
            unsafe { libc::syscall(libc::SYS_write, 2, text.as_ptr(), text.len()) };
            std::process::abort();
        }
    }
}

fn read_fault(text: &str) -> Option<Fault> {
    let mut words = text.split(' ');
    let on = match words.next()? {
        "write" => On::Write,
        "sync" => On::Sync,
        _ => return None,
    };
    let mut number = || words.next()?.parse::<u64>().ok();
    let (from, until, errno) = (number()?, number()?, c_int::try_from(number()?).ok()?);
    Some(Fault { on, from, until, errno })
}

fn variable(name: &str) -> Option<Vec<u8>> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: runs before `main`, when nobody changes the environment.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: what getenv finds is a C string of the environment.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes().to_vec())
}
