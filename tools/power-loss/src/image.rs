//! One loss of power: when it happens, what survives it, and the directory that is left.
//!
//! Everything here follows from the log and the seed.

use crate::disk::{Body, Content, Directory, Disk, Edit, Id, Names};
use crate::log::{Log, Record};
use crate::{Chance, Error};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The smallest piece that a disk writes whole.
const SECTOR_BYTES: usize = 512;
/// Opening and migrating happen in the first operations of a recording; a share of the cuts falls there.
const EARLY_OPERATIONS: usize = 80;

/// What was known when the power failed, and how much of a loss it was.
#[derive(Debug)]
pub struct Crash {
    pub seed: u64,
    /// Operations that had happened.
    pub cut: usize,
    /// What the program had said by then.
    pub marks: Vec<String>,
    /// Writes that were not synced, and how many of them did not fully survive.
    pub writes_at_risk: usize,
    pub writes_spoiled: usize,
    /// Changes of names that were not synced, and how many of them were lost.
    pub names_at_risk: usize,
    pub names_lost: usize,
}

impl Log {
    /// Builds what the disk may hold after a loss of power, in a directory that is made for it.
    pub fn crash(&self, seed: u64, image: &Path) -> Result<Crash, Error> {
        let mut chance = Chance::new(seed);
        let n = self.choose_cut(&mut chance)?;
        self.crash_after(n, seed, chance, image)
    }

    /// The power fails after everything, with the program's last operation.
    pub fn crash_at_end(&self, seed: u64, image: &Path) -> Result<Crash, Error> {
        self.crash_after(self.n_records(), seed, Chance::new(seed), image)
    }

    /// What a kill leaves after so many operations: the system lives on, and all that was done by then is there.
    pub fn killed_after(&self, n_operations: usize, image: &Path) -> Result<Crash, Error> {
        let n = (self.n_base() + n_operations).min(self.n_records());
        let mut disk = self.disk_after(n)?;
        disk.apply(Record::SyncAll).map_err(|reason| Error::Unclear { record: n, reason })?;
        self.left_of(&disk, n, 0, Chance::new(0), image)
    }

    fn crash_after(&self, n: usize, seed: u64, chance: Chance, image: &Path) -> Result<Crash, Error> {
        self.left_of(&self.disk_after(n)?, n, seed, chance, image)
    }

    fn left_of(&self, disk: &Disk<'_>, n: usize, seed: u64, mut chance: Chance, image: &Path) -> Result<Crash, Error> {
        let (cut, marks) = (n - self.n_base(), self.marks_before(n)?);
        let crash = Crash { seed, cut, marks, writes_at_risk: 0, writes_spoiled: 0, names_at_risk: 0, names_lost: 0 };
        let luck = Luck::choose(&mut chance);
        let survivors = surviving_names(disk, &mut chance);
        let mut out = Out { disk, survivors, luck, chance, crash, placed: HashMap::new() };
        out.count_names();
        fs::create_dir(image).map_err(Error::at(image))?;
        out.directory(Disk::ROOT, image)?;
        Ok(out.crash)
    }

    /// Anywhere; but more often where it hurts: before a sync, right after a mark, and while the program starts.
    fn choose_cut(&self, chance: &mut Chance) -> Result<usize, Error> {
        let n_operations = self.n_operations();
        let any = self.n_base() + chance.below(n_operations + 1);
        match chance.below(8) {
            0 | 1 => self.next(any, |record| matches!(record, Record::Sync { .. })),
            2 | 3 => Ok((self.next(any, |record| matches!(record, Record::Mark(_)))? + 1).min(self.n_records())),
            4 => Ok(self.n_base() + chance.below(n_operations.min(EARLY_OPERATIONS) + 1)),
            _ => Ok(any),
        }
    }

    fn next(&self, from: usize, is_it: impl Fn(&Record<'_>) -> bool) -> Result<usize, Error> {
        for n in from..self.n_records() {
            if is_it(&self.record(n)?) {
                return Ok(n);
            }
        }
        Ok(self.n_records())
    }
}

/// How this loss of power treats writes: some spare nearly everything, some nearly nothing.
#[derive(Clone, Copy)]
struct Luck {
    kept_percent: usize,
    torn_percent: usize,
}

impl Luck {
    fn choose(chance: &mut Chance) -> Luck {
        Luck { kept_percent: chance.one_of(&[0, 10, 50, 90, 100]), torn_percent: chance.one_of(&[0, 20, 60]) }
    }
}

/// How many changes of each directory survive. A rename between two of them is in both or in neither.
fn surviving_names(disk: &Disk<'_>, chance: &mut Chance) -> HashMap<Id, usize> {
    let mut survivors: HashMap<Id, usize> = HashMap::new();
    for (id, directory) in disk.directories() {
        survivors.insert(id, some_of(directory.since.len(), chance));
    }
    loop {
        let cut = disk.directories().find_map(|(id, directory)| {
            let kept = &directory.since[..survivors[&id]];
            let halved = |other: Id, number: u64| {
                let directory = disk.directories().find(|(id, _)| *id == other).map(|(_, directory)| directory);
                let is_kept = |kept: &Directory| kept.since[..survivors[&other]].iter().any(|c| c.number == number);
                // What is no longer pending there is durable there, and then it is durable here too.
                directory.is_some_and(|directory| !is_kept(directory))
            };
            let first = kept.iter().position(|change| change.other.is_some_and(|other| halved(other, change.number)));
            first.map(|first| (id, first))
        });
        match cut {
            Some((id, n_kept)) => survivors.insert(id, n_kept),
            None => return survivors,
        };
    }
}

/// A number up to and with `n`; all and nothing come more often than the rest.
fn some_of(n: usize, chance: &mut Chance) -> usize {
    match chance.below(4) {
        0 => n,
        1 => 0,
        _ => chance.below(n + 1),
    }
}

struct Out<'d, 'l> {
    disk: &'d Disk<'l>,
    survivors: HashMap<Id, usize>,
    luck: Luck,
    chance: Chance,
    crash: Crash,
    /// Where a file was put; further names become hard links to it.
    placed: HashMap<Id, PathBuf>,
}

impl Out<'_, '_> {
    fn count_names(&mut self) {
        for (id, directory) in self.disk.directories() {
            self.crash.names_at_risk += directory.since.len();
            self.crash.names_lost += directory.since.len() - self.survivors[&id];
        }
    }

    fn directory(&mut self, id: Id, path: &Path) -> Result<(), Error> {
        let disk = self.disk;
        let Body::Directory(directory) = disk.body(id) else { return Ok(()) };
        let mut names: Names = directory.durable.clone();
        for change in &directory.since[..self.survivors[&id]] {
            change.apply(&mut names);
        }
        for (name, id) in names {
            let path = path.join(OsStr::from_bytes(&name));
            match disk.body(id) {
                // A directory has one name only, except while a rename of it is half lost, which cannot happen.
                Body::Directory(_) => {
                    fs::create_dir(&path).map_err(Error::at(&path))?;
                    self.directory(id, &path)?;
                }
                Body::Link(target) => {
                    std::os::unix::fs::symlink(OsStr::from_bytes(target), &path).map_err(Error::at(&path))?;
                }
                Body::File(content) => match self.placed.get(&id) {
                    Some(first) => fs::hard_link(first, &path).map_err(Error::at(&path))?,
                    None => {
                        let content = self.surviving_data(content);
                        fs::write(&path, content).map_err(Error::at(&path))?;
                        self.placed.insert(id, path);
                    }
                },
            }
        }
        Ok(())
    }

    /// Follows what happened to a file twice: in the cache, where all of it happened, and on the disk, which gets some
    /// sectors of the cache as they were at some moment.
    fn surviving_data(&mut self, content: &Content<'_>) -> Vec<u8> {
        let (mut cache, mut disk) = (content.durable.clone(), content.durable.clone());
        let n_resizes = resizes(content);
        let n_resizes_kept = some_of(n_resizes, &mut self.chance);
        let (mut n_resizes_seen, mut size) = (0, content.durable.len());
        for edit in &content.since {
            let before = cache.len();
            edit.apply(&mut cache);
            let is_resize = cache.len() != before;
            let is_size_kept = is_resize && n_resizes_seen < n_resizes_kept;
            n_resizes_seen += usize::from(is_resize);
            if is_size_kept {
                size = cache.len();
            }
            match edit {
                Edit::Write { offset, data } => self.write_back(&cache, &mut disk, *offset, data.len()),
                Edit::Resize(size) if is_size_kept => disk.truncate(*size),
                Edit::Resize(_) => {}
            }
        }
        disk.resize(size, 0);
        disk
    }

    fn write_back(&mut self, cache: &[u8], disk: &mut Vec<u8>, offset: usize, n_bytes: usize) {
        self.crash.writes_at_risk += 1;
        let is_torn = self.chance.percent(self.luck.torn_percent);
        let is_kept = self.chance.percent(self.luck.kept_percent);
        let (first, last) = (offset / SECTOR_BYTES, (offset + n_bytes.max(1) - 1) / SECTOR_BYTES);
        let mut is_whole = true;
        for sector in first..=last {
            let survives = if is_torn { self.chance.percent(50) } else { is_kept };
            if !survives {
                is_whole = false;
                continue;
            }
            let start = sector * SECTOR_BYTES;
            let end = (start + SECTOR_BYTES).min(cache.len());
            if disk.len() < end {
                disk.resize(end, 0);
            }
            disk[start..end].copy_from_slice(&cache[start..end]);
        }
        self.crash.writes_spoiled += usize::from(!is_whole);
    }
}

/// How often the size of a file changed since it was synced.
fn resizes(content: &Content<'_>) -> usize {
    let mut size = content.durable.len();
    let mut n_resizes = 0;
    for edit in &content.since {
        let next = match edit {
            Edit::Write { offset, data } => size.max(offset + data.len()),
            Edit::Resize(size) => *size,
        };
        n_resizes += usize::from(next != size);
        size = next;
    }
    n_resizes
}
