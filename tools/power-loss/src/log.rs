//! A finished recording: its records, in the order in which they happened.

use crate::format::{self, HEADER_BYTES, Kind, MAGIC, RECORD_HEAD_BYTES};
use crate::{Error, disk::Disk};
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Holds the whole log in memory. Reading it while the program still runs gives what had happened by then.
pub struct Log {
    bytes: Vec<u8>,
    records: Vec<Range<usize>>,
    root: u64,
    /// The directory's first state takes as many records; no cut is made among them.
    n_base: usize,
}

/// One record, with what its fields mean by now.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record<'l> {
    Create { parent: u64, inode: u64, mode: u32, name: &'l [u8], target: &'l [u8] },
    Write { inode: u64, offset: u64, data: &'l [u8] },
    Truncate { inode: u64, size: u64 },
    Rename { from: (u64, &'l [u8]), to: (u64, &'l [u8]), is_exchange: bool },
    Link { parent: u64, inode: u64, name: &'l [u8] },
    Unlink { parent: u64, name: &'l [u8] },
    Sync { inode: u64 },
    SyncAll,
    Mark(&'l [u8]),
    Blind { path: &'l [u8], how: &'l [u8] },
    FailedSync { path: &'l [u8] },
}

/// `RENAME_EXCHANGE` of Linux.
const EXCHANGE: u64 = 2;

impl Log {
    pub fn read(path: &Path) -> Result<Log, Error> {
        let mut file = File::open(path).map_err(Error::at(path))?;
        let mut header = [0u8; HEADER_BYTES];
        file.read_exact(&mut header).map_err(Error::at(path))?;
        let number = |at: usize| u64_at(&header, at);
        if number(format::AT_MAGIC) != MAGIC {
            return Err(Error::NotALog { path: path.to_owned() });
        }
        if number(format::AT_OVERFLOW) != 0 {
            return Err(Error::Full);
        }
        let mut bytes = Vec::new();
        file.take(number(format::AT_USED)).read_to_end(&mut bytes).map_err(Error::at(path))?;
        let mut log = Log { bytes, records: Vec::new(), root: number(format::AT_ROOT), n_base: 0 };
        log.find_records()?;
        Ok(log)
    }

    fn find_records(&mut self) -> Result<(), Error> {
        let mut start = 0;
        while start < self.bytes.len() {
            let n_bytes = self.bytes.get(start..start + 4).map_or(0, |_| u32_at(&self.bytes, start) as usize);
            let end = start + n_bytes;
            if n_bytes < RECORD_HEAD_BYTES || end > self.bytes.len() {
                return Err(self.unclear(self.records.len(), "it is cut off"));
            }
            self.records.push(start..end);
            start = end;
            let last = self.records.len() - 1;
            match self.record(last)? {
                Record::SyncAll if self.n_base == 0 => self.n_base = last + 1,
                Record::Blind { path, how } if !path.ends_with(b"-shm") => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    return Err(Error::Blind { path: text(path), how: text(how) });
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn record(&self, n: usize) -> Result<Record<'_>, Error> {
        let record = &self.bytes[self.records[n].clone()];
        let [a, b, c] = [8, 16, 24].map(|at| u64_at(record, at));
        let n_first = u32_at(record, 32) as usize;
        let texts = record[RECORD_HEAD_BYTES..].split_at_checked(n_first);
        let Some((first, second)) = texts else { return Err(self.unclear(n, "its text is longer than itself")) };
        let kind = u32_at(record, 4);
        let kinds = [
            Kind::Create,
            Kind::Write,
            Kind::Truncate,
            Kind::Rename,
            Kind::Link,
            Kind::Unlink,
            Kind::Sync,
            Kind::SyncAll,
            Kind::Mark,
            Kind::Blind,
            Kind::FailedSync,
        ];
        let Some(kind) = kinds.into_iter().find(|known| *known as u32 == kind) else {
            return Err(self.unclear(n, "its kind is unknown"));
        };
        Ok(match kind {
            Kind::Create => Record::Create { parent: a, inode: b, mode: c as u32, name: first, target: second },
            Kind::Write => Record::Write { inode: a, offset: b, data: first },
            Kind::Truncate => Record::Truncate { inode: a, size: b },
            Kind::Rename => Record::Rename { from: (a, first), to: (b, second), is_exchange: c & EXCHANGE != 0 },
            Kind::Link => Record::Link { parent: a, inode: b, name: first },
            Kind::Unlink => Record::Unlink { parent: a, name: first },
            Kind::Sync => Record::Sync { inode: a },
            Kind::SyncAll => Record::SyncAll,
            Kind::Mark => Record::Mark(first),
            Kind::Blind => Record::Blind { path: first, how: second },
            Kind::FailedSync => Record::FailedSync { path: first },
        })
    }

    /// The disk after the first `n` records.
    pub(crate) fn disk_after(&self, n: usize) -> Result<Disk<'_>, Error> {
        let mut disk = Disk::new(self.root);
        for n in 0..n {
            disk.apply(self.record(n)?).map_err(|reason| self.unclear(n, &reason))?;
        }
        Ok(disk)
    }

    /// Operations after the start of the recording, marks included.
    pub fn n_operations(&self) -> usize {
        self.records.len() - self.n_base
    }

    pub(crate) fn n_base(&self) -> usize {
        self.n_base
    }

    /// Marks among the first `n` records.
    pub(crate) fn marks_before(&self, n: usize) -> Result<Vec<String>, Error> {
        let mut marks = Vec::new();
        for n in 0..n {
            if let Record::Mark(text) = self.record(n)? {
                marks.push(String::from_utf8_lossy(text).into_owned());
            }
        }
        Ok(marks)
    }

    /// All that the program said.
    pub fn marks(&self) -> Result<Vec<String>, Error> {
        self.marks_before(self.records.len())
    }

    /// Syncs that were recorded after the start.
    pub fn n_syncs(&self) -> Result<usize, Error> {
        let mut n_syncs = 0;
        for n in self.n_base..self.records.len() {
            n_syncs += usize::from(matches!(self.record(n)?, Record::Sync { .. } | Record::SyncAll));
        }
        Ok(n_syncs)
    }

    /// The operations in words, one line each, for whoever looks at a finding. Inode numbers name the files.
    pub fn tell(&self) -> Result<Vec<String>, Error> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        let in_words = |n: usize| {
            Ok(match self.record(n)? {
                Record::Create { parent, inode, name, .. } => format!("create {} in {parent} as {inode}", text(name)),
                Record::Write { inode, offset, data } => format!("write {} bytes at {offset} to {inode}", data.len()),
                Record::Truncate { inode, size } => format!("truncate {inode} to {size}"),
                Record::Rename { from, to, .. } => {
                    format!("rename {} in {} to {} in {}", text(from.1), from.0, text(to.1), to.0)
                }
                Record::Link { parent, inode, name } => format!("link {inode} as {} in {parent}", text(name)),
                Record::Unlink { parent, name } => format!("unlink {} in {parent}", text(name)),
                Record::Sync { inode } => format!("sync {inode}"),
                Record::SyncAll => "sync everything".to_owned(),
                Record::Mark(mark) => format!("mark {}", text(mark)),
                Record::Blind { path, how } => format!("{} unseen by {}", text(path), text(how)),
                Record::FailedSync { path } => format!("fail to sync {}", text(path)),
            })
        };
        (self.n_base..self.records.len()).map(in_words).collect()
    }

    /// Whether following the log gives exactly the directory as it is, now that the program has ended. Otherwise something
    /// went past the recorder, and what the images say is worth nothing. SQLite's `-shm` files are left out.
    pub fn compare(&self, dir: &Path) -> Result<(), Error> {
        self.compare_except(dir, &[])
    }

    /// The same, without looking into directories that were left out of the recording.
    pub fn compare_except(&self, dir: &Path, except: &[&Path]) -> Result<(), Error> {
        self.disk_after(self.records.len())?.compare(dir, except)
    }

    /// Keeps the log for a second look, without the empty rest of the file.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut bytes = vec![0u8; HEADER_BYTES];
        let used = self.bytes.len() as u64;
        for (at, number) in [(format::AT_MAGIC, MAGIC), (format::AT_USED, used), (format::AT_ROOT, self.root)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes.extend(&self.bytes);
        fs::write(path, bytes).map_err(Error::at(path))
    }

    pub(crate) fn n_records(&self) -> usize {
        self.records.len()
    }

    fn unclear(&self, record: usize, reason: &str) -> Error {
        Error::Unclear { record, reason: reason.to_owned() }
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}
