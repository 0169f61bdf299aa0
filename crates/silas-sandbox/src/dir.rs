//! An open directory and what can be done below it. Whatever is named here is looked up from the descriptor, never from
//! a path again, so a directory that is swapped for a symlink later leads nowhere.

use crate::syscall::{self, Through};
use silas_core::relpath::RelPath;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Dir(OwnedFd);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Directory,
    File,
    Link,
    Special(&'static str),
}

/// What a name in a directory is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    /// Permission bits only: set-uid and its relatives are never carried over.
    pub(crate) mode: u32,
    /// Whether it runs as its owner or its group.
    pub(crate) is_set_id: bool,
    /// Whether only the owners of its files, and its own, may move what is in it.
    pub(crate) is_sticky: bool,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) modified: std::time::SystemTime,
    /// Changes with every change of content or attributes, and nobody can set it.
    pub(crate) changed: std::time::SystemTime,
    pub(crate) size: u64,
    /// How many names it has.
    pub(crate) links: u64,
    /// How an overlay marks a name that is hidden.
    pub(crate) is_whiteout: bool,
}

impl Stat {
    pub(crate) fn belongs_like(&self, other: &Stat) -> bool {
        (self.uid, self.gid) == (other.uid, other.gid)
    }
}

/// How a name moves. Nothing is ever overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    Exchange,
    NoReplace,
    /// To a name that is ours alone and was just seen to be free, where a file system knows no other way.
    ToFreeName,
}

const DIRECTORY: i32 = libc::O_RDONLY | libc::O_DIRECTORY;

impl Dir {
    /// Opens an absolute path in which no component is a symlink.
    pub(crate) fn open(path: &Path) -> io::Result<Dir> {
        let bytes = path.as_os_str().as_encoded_bytes();
        syscall::open_through(None, bytes, DIRECTORY, Through::RealPath).map(Dir)
    }

    /// A directory below this one; the empty path is this one.
    pub(crate) fn below(&self, path: &[u8]) -> io::Result<Dir> {
        let path = if path.is_empty() { b"." } else { path };
        syscall::open_through(Some(self.as_fd()), path, DIRECTORY, Through::RealBelow).map(Dir)
    }

    /// The directory that a path lies in, and its last name.
    pub(crate) fn parent_of<'p>(&self, path: &'p RelPath) -> io::Result<(Dir, &'p [u8])> {
        let (parent, name) = split(path);
        Ok((self.below(parent)?, name))
    }

    /// Whether something is there, following symlinks only as long as they stay inside.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        syscall::open_through(Some(self.as_fd()), path, libc::O_PATH, Through::LinksBelow).is_ok()
    }

    /// At most `max` of the names here, sorted: a directory may hold more than memory does.
    pub(crate) fn names(&self, max: usize) -> io::Result<Vec<Vec<u8>>> {
        let listed = std::fs::read_dir(self.proc_path())?.take(max);
        let mut names = listed.map(|entry| Ok(entry?.file_name().into_vec())).collect::<io::Result<Vec<Vec<u8>>>>()?;
        names.sort();
        Ok(names)
    }

    /// This directory by a name that is short and always means this descriptor.
    pub(crate) fn proc_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    /// `None` if there is nothing of that name.
    pub(crate) fn stat(&self, name: &[u8]) -> io::Result<Option<Stat>> {
        match syscall::stat_at(self.as_fd(), name) {
            Ok(stat) => Ok(Some(Stat::from(stat))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(crate) fn own_stat(&self) -> io::Result<Stat> {
        syscall::stat_at(self.as_fd(), b".").map(Stat::from)
    }

    /// Opens a file for reading. `O_NONBLOCK` so that a pipe that took its place cannot hold us.
    pub(crate) fn read(&self, name: &[u8]) -> io::Result<File> {
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = File::from(syscall::open_at(self.as_fd(), name, flags, 0)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
    }

    /// Makes a new file that only we can read until its mode is set.
    pub(crate) fn create(&self, name: &[u8]) -> io::Result<File> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        Ok(File::from(syscall::open_at(self.as_fd(), name, flags, 0o600)?))
    }

    /// A new file that has no name and is gone when it is closed.
    pub(crate) fn create_unnamed(&self) -> io::Result<File> {
        Ok(File::from(syscall::open_at(self.as_fd(), b".", libc::O_TMPFILE | libc::O_WRONLY | libc::O_EXCL, 0o600)?))
    }

    pub(crate) fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        syscall::read_link_at(self.as_fd(), name)
    }

    pub(crate) fn symlink(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        syscall::symlink_at(target, self.as_fd(), name)
    }

    /// Makes a directory with exactly this mode, whatever the umask says.
    pub(crate) fn mkdir(&self, name: &[u8], mode: u32) -> io::Result<()> {
        syscall::mkdir_at(self.as_fd(), name, 0o700)?;
        self.chmod(name, mode)
    }

    pub(crate) fn chmod(&self, name: &[u8], mode: u32) -> io::Result<()> {
        syscall::chmod_at(self.as_fd(), name, mode)
    }

    /// Sets when a name was last written to and read, without following a symlink.
    pub(crate) fn set_time(&self, name: &[u8], time: std::time::SystemTime) -> io::Result<()> {
        syscall::set_time_at(self.as_fd(), name, time)
    }

    /// Gives a name the owner that another has. Only root can give files away; for others the difference, if any, is a
    /// group that they are not in, and the file keeps theirs.
    pub(crate) fn chown_like(&self, name: &[u8], like: &Stat) -> io::Result<()> {
        match syscall::chown_at(self.as_fd(), name, like.uid, like.gid) {
            Err(e) if e.raw_os_error() == Some(libc::EPERM) && syscall::effective_uid() != 0 => Ok(()),
            done => done,
        }
    }

    pub(crate) fn unlink(&self, name: &[u8]) -> io::Result<()> {
        syscall::unlink_at(self.as_fd(), name, 0)
    }

    pub(crate) fn rmdir(&self, name: &[u8]) -> io::Result<()> {
        syscall::unlink_at(self.as_fd(), name, libc::AT_REMOVEDIR)
    }

    pub(crate) fn rename(&self, name: &[u8], to: &Dir, to_name: &[u8], how: Move) -> io::Result<()> {
        let flags = match how {
            Move::Exchange => libc::RENAME_EXCHANGE,
            Move::NoReplace => libc::RENAME_NOREPLACE,
            Move::ToFreeName => 0,
        };
        syscall::rename_at(self.as_fd(), name, to.as_fd(), to_name, flags)
    }

    /// Gives a file or symlink a second name, unless that is taken.
    pub(crate) fn link(&self, name: &[u8], to: &Dir, to_name: &[u8]) -> io::Result<()> {
        syscall::link_at(self.as_fd(), name, to.as_fd(), to_name)
    }

    /// Puts names that came and went on disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        File::from(self.0.try_clone()?).sync_all()
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(crate) fn split(path: &RelPath) -> (&[u8], &[u8]) {
    let bytes = path.as_bytes();
    match bytes.iter().rposition(|b| *b == b'/') {
        Some(slash) => (&bytes[..slash], &bytes[slash + 1..]),
        None => (b"", bytes),
    }
}

impl From<libc::stat> for Stat {
    fn from(stat: libc::stat) -> Stat {
        let kind = match stat.st_mode & libc::S_IFMT {
            libc::S_IFDIR => Kind::Directory,
            libc::S_IFREG => Kind::File,
            libc::S_IFLNK => Kind::Link,
            libc::S_IFIFO => Kind::Special("a named pipe"),
            libc::S_IFSOCK => Kind::Special("a socket"),
            _ => Kind::Special("a device"),
        };
        Stat {
            kind,
            mode: stat.st_mode & 0o777,
            is_set_id: stat.st_mode & (libc::S_ISUID | libc::S_ISGID) != 0,
            is_sticky: stat.st_mode & libc::S_ISVTX != 0,
            device: stat.st_dev,
            inode: stat.st_ino,
            uid: stat.st_uid,
            gid: stat.st_gid,
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            links: stat.st_nlink,
            is_whiteout: stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == 0,
        }
    }
}

fn time(secs: i64, nanos: i64) -> std::time::SystemTime {
    let (secs, nanos) = (u64::try_from(secs).unwrap_or(0), u32::try_from(nanos).unwrap_or(0));
    std::time::UNIX_EPOCH + std::time::Duration::new(secs, nanos)
}
