//! What a front that was taken over could still reach, found out by being one: a child confines itself exactly as the
//! front does, and tries.

use crate::confine::{FrontRules, confine_front};
use crate::{frame, process};
use serde::{Deserialize, Serialize};
use silas_core::probe::Probe;
use std::io::pipe;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// A socket beyond which somebody does more than the front may.
#[derive(Clone, Debug)]
pub struct Socket {
    pub path: PathBuf,
    /// Who listens, and what whoever reaches them can have done.
    pub what: &'static str,
}

#[derive(Serialize, Deserialize)]
struct Tried {
    confinement: String,
    can_read_home: bool,
    can_write_home: bool,
    can_start_programs: bool,
    /// By their place in the list.
    reached: Vec<usize>,
}

/// Must be called from a process with one thread. `writable` stands for the front's own directories.
pub fn front(writable: &Path, readable: &[PathBuf], home: Option<&Path>, sockets: &[Socket]) -> Vec<Probe> {
    match attempt(writable, readable, home, sockets) {
        Ok(tried) => tell(&tried, readable, sockets),
        Err(cause) => vec![Probe::bad(
            "Front",
            format!("It cannot be confined: {cause}."),
            "Silas does not start until this works.",
        )],
    }
}

fn attempt(writable: &Path, readable: &[PathBuf], home: Option<&Path>, sockets: &[Socket]) -> Result<Tried, String> {
    let (mut answer, mut answer_to) = pipe().map_err(|e| e.to_string())?;
    let child = process::fork(&[answer_to.as_raw_fd()], || {
        let rules = FrontRules { writable: &[writable.to_owned()], readable };
        let tried = match confine_front(&rules) {
            Err(cause) => Err(cause.to_string()),
            Ok(confinement) => Ok(Tried {
                confinement: confinement.to_string(),
                can_read_home: home.is_some_and(|home| std::fs::read_dir(home).is_ok()),
                can_write_home: home.is_some_and(can_write),
                // Replaces this process if it works, and then nobody answers.
                can_start_programs: !is_refused(&std::process::Command::new("/bin/true").exec()),
                reached: (0..sockets.len()).filter(|n| UnixStream::connect(&sockets[*n].path).is_ok()).collect(),
            }),
        };
        i32::from(frame::send(&mut answer_to, &tried).is_err())
    })
    .map_err(|e| e.to_string())?;
    drop(answer_to);
    let tried = frame::receive::<Result<Tried, String>>(&mut answer);
    child.wait();
    tried.map_err(|e| e.to_string())?.unwrap_or_else(|| Err("it started a program, or died".to_owned()))
}

fn can_write(home: &Path) -> bool {
    let name = home.join(format!(".silas-doctor-{}", std::process::id()));
    let made = std::fs::File::create_new(&name).is_ok();
    if made {
        // It was made a line above.
        let _ = std::fs::remove_file(&name);
    }
    made
}

fn is_refused(cause: &std::io::Error) -> bool {
    matches!(cause.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}

fn tell(tried: &Tried, readable: &[PathBuf], sockets: &[Socket]) -> Vec<Probe> {
    const FILES: &str = "Front: files";
    const PROGRAMS: &str = "Front: programs";
    let paths = readable.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let may = format!("It may change its own store and run directories, and read {paths}");
    let mut found = vec![match (tried.can_read_home, tried.can_write_home) {
        (false, false) => {
            Probe::good(FILES, format!("{may}. Your home, keys and the launcher's memory are closed to it."))
        }
        (true, _) | (_, true) => Probe::bad(
            FILES,
            format!("{may}, and it can get at your home."),
            "Do not start Silas here; the kernel does not enforce its own file rules.",
        ),
    }];
    found.push(match tried.can_start_programs {
        false => {
            Probe::good(PROGRAMS, format!("It cannot start any; that was tried. In force: {}.", tried.confinement))
        }
        true => Probe::bad(
            PROGRAMS,
            "It can start programs.",
            "Do not start Silas here; the kernel's filter does not hold.",
        ),
    });
    found.push(tell_sockets(&tried.reached.iter().filter_map(|n| sockets.get(*n)).collect::<Vec<_>>()));
    found
}

fn tell_sockets(reached: &[&Socket]) -> Probe {
    const NAME: &str = "Front: sockets";
    if reached.is_empty() {
        return Probe::good(NAME, "Neither D-Bus, nor Docker, nor a key agent can be reached from it.");
    }
    let words: Vec<String> =
        reached.iter().map(|s| format!("{} ({}), {}", s.what, s.path.display(), CONSEQUENCE)).collect();
    Probe::warning(
        NAME,
        format!("It can reach {}.", words.join("; ")),
        "Run Silas as a user of its own or as a service that cannot see them (systemd: InaccessiblePaths=), or accept that a \
         front that is taken over is not confined.",
    )
}

const CONSEQUENCE: &str = "so whoever takes the front over can ask them for what it may not do itself";
