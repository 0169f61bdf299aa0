//! A disk while the log is followed: for each file and directory what is durable, and what happened to it since.
//!
//! Says nothing about which part of that survives; `image` chooses.

use crate::Error;
use crate::log::Record;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Index of an object. Inode numbers are used again after a file is gone; these are not.
pub(crate) type Id = usize;
type Name = Vec<u8>;
pub(crate) type Names = BTreeMap<Name, Id>;

const TYPE_BITS: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

pub(crate) struct Disk<'l> {
    objects: Vec<Object<'l>>,
    by_inode: HashMap<u64, Id>,
    /// Numbers the changes of names, over all directories.
    n_changes: u64,
}

pub(crate) struct Object<'l> {
    pub(crate) body: Body<'l>,
    /// Where and by which change it got its first name.
    created: Option<(Id, u64)>,
}

pub(crate) enum Body<'l> {
    File(Content<'l>),
    Directory(Directory),
    Link(&'l [u8]),
}

#[derive(Default)]
pub(crate) struct Content<'l> {
    pub(crate) durable: Vec<u8>,
    pub(crate) since: Vec<Edit<'l>>,
}

pub(crate) enum Edit<'l> {
    Write { offset: usize, data: &'l [u8] },
    Resize(usize),
}

#[derive(Default)]
pub(crate) struct Directory {
    /// As the program sees it.
    now: Names,
    pub(crate) durable: Names,
    pub(crate) since: Vec<Change>,
}

/// What one operation did to the names of one directory. A rename between two directories is one change in each, with the
/// same number.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) number: u64,
    names: Vec<(Name, Option<Id>)>,
    /// The other directory of a rename.
    pub(crate) other: Option<Id>,
}

impl Edit<'_> {
    pub(crate) fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Edit::Write { offset, data } => {
                let end = offset + data.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset..end].copy_from_slice(data);
            }
            Edit::Resize(size) => content.resize(*size, 0),
        }
    }
}

impl Change {
    pub(crate) fn apply(&self, names: &mut Names) {
        for (name, id) in &self.names {
            match id {
                Some(id) => names.insert(name.clone(), *id),
                None => names.remove(name),
            };
        }
    }
}

impl<'l> Disk<'l> {
    pub(crate) const ROOT: Id = 0;

    pub(crate) fn new(root: u64) -> Self {
        let object = Object { body: Body::Directory(Directory::default()), created: None };
        Disk { objects: vec![object], by_inode: HashMap::from([(root, Disk::ROOT)]), n_changes: 0 }
    }

    pub(crate) fn body(&self, id: Id) -> &Body<'l> {
        &self.objects[id].body
    }

    pub(crate) fn directories(&self) -> impl Iterator<Item = (Id, &Directory)> {
        self.objects.iter().enumerate().filter_map(|(id, object)| match &object.body {
            Body::Directory(directory) => Some((id, directory)),
            Body::File(_) | Body::Link(_) => None,
        })
    }

    pub(crate) fn apply(&mut self, record: Record<'l>) -> Result<(), String> {
        match record {
            Record::Create { parent, inode, mode, name, target } => self.create(parent, inode, mode, name, target),
            Record::Write { inode, offset, data } => {
                let offset = usize::try_from(offset).map_err(|error| error.to_string())?;
                self.edit(inode, Edit::Write { offset, data })
            }
            Record::Truncate { inode, size } => {
                let size = usize::try_from(size).map_err(|error| error.to_string())?;
                self.edit(inode, Edit::Resize(size))
            }
            Record::Rename { from, to, is_exchange } => self.rename(from, to, is_exchange),
            Record::Link { parent, inode, name } => {
                let (parent, id) = (self.find(parent)?, self.find(inode)?);
                let number = self.change(parent, vec![(name.to_vec(), Some(id))], None)?;
                // A file that was made without a name is created by getting one.
                self.objects[id].created.get_or_insert((parent, number));
                Ok(())
            }
            Record::Unlink { parent, name } => {
                let parent = self.find(parent)?;
                self.change(parent, vec![(name.to_vec(), None)], None).map(|_| ())
            }
            Record::Sync { inode } => {
                let id = self.find(inode)?;
                self.sync(id)
            }
            Record::SyncAll => (0..self.objects.len()).try_for_each(|id| self.sync(id)),
            Record::Mark(_) | Record::Blind { .. } | Record::FailedSync { .. } => Ok(()),
        }
    }

    fn find(&self, inode: u64) -> Result<Id, String> {
        self.by_inode.get(&inode).copied().ok_or_else(|| format!("inode {inode} was never seen"))
    }

    fn directory(&mut self, id: Id) -> Result<&mut Directory, String> {
        match &mut self.objects[id].body {
            Body::Directory(directory) => Ok(directory),
            Body::File(_) | Body::Link(_) => Err("a name in something that is no directory".to_owned()),
        }
    }

    fn create(&mut self, parent: u64, inode: u64, mode: u32, name: &[u8], target: &'l [u8]) -> Result<(), String> {
        let body = match mode & TYPE_BITS {
            DIRECTORY => Body::Directory(Directory::default()),
            LINK => Body::Link(target),
            _ => Body::File(Content::default()),
        };
        let id = self.objects.len();
        self.objects.push(Object { body, created: None });
        self.by_inode.insert(inode, id);
        if !name.is_empty() {
            let parent = self.find(parent)?;
            let number = self.change(parent, vec![(name.to_vec(), Some(id))], None)?;
            self.objects[id].created = Some((parent, number));
        }
        Ok(())
    }

    fn edit(&mut self, inode: u64, edit: Edit<'l>) -> Result<(), String> {
        let id = self.find(inode)?;
        match &mut self.objects[id].body {
            Body::File(content) => content.since.push(edit),
            Body::Directory(_) | Body::Link(_) => return Err("data in something that is no file".to_owned()),
        }
        Ok(())
    }

    fn rename(&mut self, from: (u64, &[u8]), to: (u64, &[u8]), is_exchange: bool) -> Result<(), String> {
        let (from_dir, to_dir) = (self.find(from.0)?, self.find(to.0)?);
        let moved = self.directory(from_dir)?.now.get(from.1).copied().ok_or("a name that was never seen moves")?;
        let replaced = self.directory(to_dir)?.now.get(to.1).copied();
        if replaced == Some(moved) {
            // Two names of one file: the system does nothing.
            return Ok(());
        }
        let left = (from.1.to_vec(), replaced.filter(|_| is_exchange));
        let arrived = (to.1.to_vec(), Some(moved));
        if from_dir == to_dir {
            return self.change(from_dir, vec![left, arrived], None).map(|_| ());
        }
        let number = self.change(from_dir, vec![left], Some(to_dir))?;
        self.n_changes = number;
        self.change(to_dir, vec![arrived], Some(from_dir)).map(|_| ())
    }

    fn change(&mut self, dir: Id, names: Vec<(Name, Option<Id>)>, other: Option<Id>) -> Result<u64, String> {
        let number = self.n_changes;
        self.n_changes += 1;
        let change = Change { number, names, other };
        let directory = self.directory(dir)?;
        change.apply(&mut directory.now);
        directory.since.push(change);
        Ok(number)
    }

    fn sync(&mut self, id: Id) -> Result<(), String> {
        match &mut self.objects[id].body {
            Body::File(content) => {
                for edit in std::mem::take(&mut content.since) {
                    edit.apply(&mut content.durable);
                }
            }
            Body::Directory(_) => self.settle(id, u64::MAX)?,
            Body::Link(_) => {}
        }
        // That it exists at all, and so everything that leads to it.
        let mut here = id;
        while let Some((parent, number)) = self.objects[here].created {
            self.settle(parent, number)?;
            here = parent;
        }
        Ok(())
    }

    /// Makes the changes of a directory durable up to and with this one.
    fn settle(&mut self, dir: Id, number: u64) -> Result<(), String> {
        let directory = self.directory(dir)?;
        let n_settled = directory.since.partition_point(|change| change.number <= number);
        let settled: Vec<Change> = directory.since.drain(..n_settled).collect();
        for change in &settled {
            change.apply(&mut directory.durable);
        }
        for change in settled {
            if let Some(other) = change.other {
                self.settle(other, change.number)?;
            }
        }
        Ok(())
    }

    /// Whether the program's view of the disk is what lies in the directory.
    pub(crate) fn compare(&self, dir: &Path, except: &[&Path]) -> Result<(), Error> {
        self.compare_directory(Disk::ROOT, dir, except)
    }

    fn compare_directory(&self, id: Id, path: &Path, except: &[&Path]) -> Result<(), Error> {
        let differs = |what: &str, path: &Path| Error::Differs { what: format!("{} {what}", path.display()) };
        let Body::Directory(directory) = self.body(id) else { return Err(differs("is no directory", path)) };
        let mut n_found = 0;
        for entry in fs::read_dir(path).map_err(Error::at(path))? {
            let entry = entry.map_err(Error::at(path))?;
            let (name, path) = (entry.file_name(), entry.path());
            n_found += 1;
            let Some(id) = directory.now.get(name.as_bytes()) else { return Err(differs("is not in the log", &path)) };
            match self.body(*id) {
                Body::Directory(_) if except.contains(&path.as_path()) => {}
                Body::Directory(_) => self.compare_directory(*id, &path, except)?,
                Body::File(_) if name.as_bytes().ends_with(b"-shm") => {}
                Body::File(content) => {
                    let mut now = content.durable.clone();
                    content.since.iter().for_each(|edit| edit.apply(&mut now));
                    if fs::read(&path).map_err(Error::at(&path))? != now {
                        return Err(differs("has another content", &path));
                    }
                }
                Body::Link(target) => {
                    if fs::read_link(&path).map_err(Error::at(&path))?.as_os_str().as_bytes() != *target {
                        return Err(differs("points elsewhere", &path));
                    }
                }
            }
        }
        if n_found != directory.now.len() {
            return Err(differs("lacks something that is in the log", path));
        }
        Ok(())
    }
}
