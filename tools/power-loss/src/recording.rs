//! Setting up a recording: the log file, what lies in the directory already, and the environment of the program.

use crate::Error;
use crate::format::{self, HEADER_BYTES, Kind, MAGIC, RECORD_HEAD_BYTES};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Room for the records of one recording. The file is sparse: what is not used is not there.
const LOG_BYTES: u64 = 1 << 30;
const RECORDER: &str = "libpower_loss_recorder.so";

/// What becomes of the program's syncs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syncing {
    /// Done and recorded.
    Real,
    /// Recorded only. The images are the same, and the disk of the machine does not slow the test down.
    Claimed,
    /// Neither: the program believes that it synced.
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    Write,
    Sync,
}

/// Operations `from..until` of this kind, counted from 0 over all processes, fail with this error number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    pub on: On,
    pub from: u64,
    pub until: u64,
    pub errno: i32,
}

pub struct Recording {
    dir: PathBuf,
    except: Vec<PathBuf>,
    log: PathBuf,
    recorder: PathBuf,
    syncing: Syncing,
    fault: Option<Fault>,
}

impl Recording {
    /// What lies in the directory now counts as durable. The log is made anew, and must lie outside.
    pub fn start(dir: &Path, log: &Path, syncing: Syncing) -> Result<Recording, Error> {
        Recording::start_except(dir, &[], log, syncing)
    }

    /// Leaves out what lies in some directories beneath: what programs do there that cannot be recorded, and nobody needs
    /// after a loss of power. In the images they are empty.
    pub fn start_except(dir: &Path, except: &[&Path], log: &Path, syncing: Syncing) -> Result<Recording, Error> {
        let dir = dir.canonicalize().map_err(Error::at(dir))?;
        let except: Result<Vec<PathBuf>, Error> =
            except.iter().map(|path| path.canonicalize().map_err(Error::at(path))).collect();
        let except = except?;
        write_start(&dir, &except, log)?;
        let log = log.canonicalize().map_err(Error::at(log))?;
        Ok(Recording { dir, except, log, recorder: find_recorder()?, syncing, fault: None })
    }

    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Every write to this file, which lies beside the log, becomes a mark.
    pub fn marks(&self) -> PathBuf {
        marks_of(&self.log)
    }

    /// Sets the environment of a program so that it and its children are recorded.
    pub fn watch(&self, command: &mut Command) {
        let syncing = match self.syncing {
            Syncing::Real => "real",
            Syncing::Claimed => "claimed",
            Syncing::Off => "off",
        };
        command
            .env("LD_PRELOAD", &self.recorder)
            .env(format::ENV_LOG, &self.log)
            .env(format::ENV_DIR, &self.dir)
            .env(format::ENV_EXCEPT, joined(&self.except))
            .env(format::ENV_MARKS, self.marks())
            .env(format::ENV_SYNC, syncing);
        if let Some(Fault { on, from, until, errno }) = self.fault {
            let on = match on {
                On::Write => "write",
                On::Sync => "sync",
            };
            command.env(format::ENV_FAULT, format!("{on} {from} {until} {errno}"));
        }
    }
}

fn joined(paths: &[PathBuf]) -> OsString {
    let paths: Vec<&std::ffi::OsStr> = paths.iter().map(|path| path.as_os_str()).collect();
    paths.join(std::ffi::OsStr::new(":"))
}

fn marks_of(log: &Path) -> PathBuf {
    let mut name: OsString = log.as_os_str().to_owned();
    name.push(".marks");
    PathBuf::from(name)
}

/// Cargo puts it where it puts the libraries that a test or a program was built from.
fn find_recorder() -> Result<PathBuf, Error> {
    let program = std::env::current_exe().map_err(Error::at(Path::new("the running program")))?;
    let beside = program.parent().unwrap_or(Path::new("."));
    let places = [beside.join(RECORDER), beside.join("deps").join(RECORDER)];
    places.into_iter().find(|place| place.is_file()).ok_or(Error::NoRecorder { beside: beside.to_owned() })
}

/// The header, and the tree as it is now, as if it had just been written and synced.
fn write_start(dir: &Path, except: &[PathBuf], log: &Path) -> Result<(), Error> {
    fs::write(marks_of(log), b"").map_err(Error::at(log))?;
    let file = File::create(log).map_err(Error::at(log))?;
    file.set_len(LOG_BYTES).map_err(Error::at(log))?;
    let mut out = Start { file: BufWriter::new(file), n_bytes: 0, path: log, except };
    out.file.seek(SeekFrom::Start(HEADER_BYTES as u64)).map_err(Error::at(log))?;
    out.tree(dir)?;
    out.record(Kind::SyncAll, [0; 3], b"", b"")?;

    let mut header = [0u8; HEADER_BYTES];
    let root = fs::metadata(dir).map_err(Error::at(dir))?.ino();
    for (at, number) in [(format::AT_MAGIC, MAGIC), (format::AT_USED, out.n_bytes), (format::AT_ROOT, root)] {
        header[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    out.file.seek(SeekFrom::Start(0)).map_err(Error::at(log))?;
    out.file.write_all(&header).and_then(|()| out.file.flush()).map_err(Error::at(log))
}

struct Start<'p> {
    file: BufWriter<File>,
    n_bytes: u64,
    path: &'p Path,
    except: &'p [PathBuf],
}

impl Start<'_> {
    fn tree(&mut self, dir: &Path) -> Result<(), Error> {
        let parent = fs::metadata(dir).map_err(Error::at(dir))?.ino();
        for entry in fs::read_dir(dir).map_err(Error::at(dir))? {
            let entry = entry.map_err(Error::at(dir))?;
            let (name, path) = (entry.file_name(), entry.path());
            let found = fs::symlink_metadata(&path).map_err(Error::at(&path))?;
            let target = match found.is_symlink() {
                true => fs::read_link(&path).map_err(Error::at(&path))?.into_os_string(),
                false => OsString::new(),
            };
            let numbers = [parent, found.ino(), u64::from(found.mode())];
            self.record(Kind::Create, numbers, name.as_bytes(), target.as_bytes())?;
            if self.except.contains(&path) {
                continue;
            }
            if found.is_dir() {
                self.tree(&path)?;
            } else if found.is_file() {
                let data = fs::read(&path).map_err(Error::at(&path))?;
                self.record(Kind::Write, [found.ino(), 0, 0], &data, b"")?;
            }
        }
        Ok(())
    }

    fn record(&mut self, kind: Kind, numbers: [u64; 3], first: &[u8], second: &[u8]) -> Result<(), Error> {
        let n_bytes = RECORD_HEAD_BYTES + first.len() + second.len();
        let mut head = Vec::with_capacity(RECORD_HEAD_BYTES);
        head.extend((n_bytes as u32).to_le_bytes());
        head.extend((kind as u32).to_le_bytes());
        head.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        head.extend((first.len() as u32).to_le_bytes());
        for part in [head.as_slice(), first, second] {
            self.file.write_all(part).map_err(Error::at(self.path))?;
        }
        self.n_bytes += n_bytes as u64;
        Ok(())
    }
}
