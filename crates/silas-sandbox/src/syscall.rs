//! The few system calls that the standard library does not have, as safe functions. No decisions are made here.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The version of the kernel's file rules.
pub(crate) fn landlock_abi() -> io::Result<i32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads no attributes and makes nothing; it only answers a number.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION) };
    if abi < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(abi).map_err(io::Error::other)
}

/// What `openat2` may walk through on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    /// No symlink anywhere; from an absolute path.
    RealPath,
    /// No symlink, no `..`, no mount point: only what is really below the directory.
    RealBelow,
    /// Symlinks are followed as long as they stay below the directory.
    LinksBelow,
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

pub(crate) fn open_through(at: Option<BorrowedFd<'_>>, path: &[u8], flags: i32, via: Through) -> io::Result<OwnedFd> {
    let resolve = match via {
        Through::RealPath => libc::RESOLVE_NO_SYMLINKS,
        Through::RealBelow => libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_XDEV,
        Through::LinksBelow => libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS,
    };
    let how = OpenHow { flags: widened(flags | libc::O_CLOEXEC), mode: 0, resolve };
    let path = c_name(path)?;
    let at = at.map_or(libc::AT_FDCWD, |fd| fd.as_raw_fd());
    // SAFETY: `path` is NUL-terminated and `how` is a live struct of exactly the size that is passed.
    let fd = unsafe { libc::syscall(libc::SYS_openat2, at, path.as_ptr(), &raw const how, size_of::<OpenHow>()) };
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    own(fd)
}

fn widened(flags: i32) -> u64 {
    u64::from(flags.cast_unsigned())
}

/// Opens one name in a directory. The name is not a path, so nothing can be walked through.
pub(crate) fn open_at(dir: BorrowedFd<'_>, name: &[u8], flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let name = c_name(name)?;
    // SAFETY: `name` is NUL-terminated and outlives the call.
    own(unsafe { libc::openat(dir.as_raw_fd(), name.as_ptr(), flags | libc::O_CLOEXEC, mode) })
}

/// What a name is, without following a symlink.
pub(crate) fn stat_at(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<libc::stat> {
    let name = c_name(name)?;
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `name` is NUL-terminated; the kernel fills `stat` if it returns 0.
    unsafe {
        check(libc::fstatat(dir.as_raw_fd(), name.as_ptr(), stat.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW))?;
        Ok(stat.assume_init())
    }
}

/// Which of `STATX_ATTR_*` a name has; nothing where the file system does not say.
pub(crate) fn protections_at(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<u64> {
    let name = c_name(name)?;
    let mut stat = MaybeUninit::<libc::statx>::uninit();
    // SAFETY: `name` is NUL-terminated; the kernel fills `stat` if it returns 0.
    unsafe {
        check(libc::statx(dir.as_raw_fd(), name.as_ptr(), libc::AT_SYMLINK_NOFOLLOW, 0, stat.as_mut_ptr()))?;
        Ok(stat.assume_init().stx_attributes)
    }
}

/// Longest target that a symlink can have on Linux.
const LINK_BYTES_MAX: usize = 4096;

pub(crate) fn read_link_at(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<Vec<u8>> {
    let name = c_name(name)?;
    let mut target = vec![0u8; LINK_BYTES_MAX];
    // SAFETY: the kernel writes at most `target.len()` bytes into `target`.
    let n = unsafe { libc::readlinkat(dir.as_raw_fd(), name.as_ptr(), target.as_mut_ptr().cast(), target.len()) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    target.truncate(n);
    Ok(target)
}

pub(crate) fn symlink_at(target: &[u8], dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    let (target, name) = (c_name(target)?, c_name(name)?);
    // SAFETY: both strings are NUL-terminated and outlive the call.
    check(unsafe { libc::symlinkat(target.as_ptr(), dir.as_raw_fd(), name.as_ptr()) })
}

pub(crate) fn mkdir_at(dir: BorrowedFd<'_>, name: &[u8], mode: u32) -> io::Result<()> {
    let name = c_name(name)?;
    // SAFETY: `name` is NUL-terminated and outlives the call.
    check(unsafe { libc::mkdirat(dir.as_raw_fd(), name.as_ptr(), mode) })
}

pub(crate) fn unlink_at(dir: BorrowedFd<'_>, name: &[u8], flags: i32) -> io::Result<()> {
    let name = c_name(name)?;
    // SAFETY: `name` is NUL-terminated and outlives the call.
    check(unsafe { libc::unlinkat(dir.as_raw_fd(), name.as_ptr(), flags) })
}

/// Changes the permission bits of a directory or file that may not be opened. Never used on symlinks.
pub(crate) fn chmod_at(dir: BorrowedFd<'_>, name: &[u8], mode: u32) -> io::Result<()> {
    let name = c_name(name)?;
    // SAFETY: `name` is NUL-terminated and outlives the call.
    check(unsafe { libc::fchmodat(dir.as_raw_fd(), name.as_ptr(), mode, 0) })
}

/// Times before the epoch become the epoch.
pub(crate) fn set_time_at(dir: BorrowedFd<'_>, name: &[u8], time: SystemTime) -> io::Result<()> {
    let name = c_name(name)?;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let secs = i64::try_from(since.as_secs()).map_err(io::Error::other)?;
    let at = libc::timespec { tv_sec: secs, tv_nsec: since.subsec_nanos().into() };
    let times = [at, at];
    // SAFETY: `name` is NUL-terminated and `times` has the two entries that are read.
    check(unsafe { libc::utimensat(dir.as_raw_fd(), name.as_ptr(), times.as_ptr(), libc::AT_SYMLINK_NOFOLLOW) })
}

pub(crate) fn chown_at(dir: BorrowedFd<'_>, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
    let name = c_name(name)?;
    // SAFETY: `name` is NUL-terminated and outlives the call.
    check(unsafe { libc::fchownat(dir.as_raw_fd(), name.as_ptr(), uid, gid, libc::AT_SYMLINK_NOFOLLOW) })
}

/// `flags` is `RENAME_EXCHANGE`, `RENAME_NOREPLACE` or nothing.
pub(crate) fn rename_at(
    from: BorrowedFd<'_>,
    from_name: &[u8],
    to: BorrowedFd<'_>,
    to_name: &[u8],
    flags: u32,
) -> io::Result<()> {
    let (from_name, to_name) = (c_name(from_name)?, c_name(to_name)?);
    // SAFETY: both names are NUL-terminated and outlive the call.
    check(unsafe { libc::renameat2(from.as_raw_fd(), from_name.as_ptr(), to.as_raw_fd(), to_name.as_ptr(), flags) })
}

/// A second name for a file or a symlink; never instead of something that is there.
pub(crate) fn link_at(from: BorrowedFd<'_>, from_name: &[u8], to: BorrowedFd<'_>, to_name: &[u8]) -> io::Result<()> {
    let (from_name, to_name) = (c_name(from_name)?, c_name(to_name)?);
    // SAFETY: both names are NUL-terminated and outlive the call.
    check(unsafe { libc::linkat(from.as_raw_fd(), from_name.as_ptr(), to.as_raw_fd(), to_name.as_ptr(), 0) })
}

/// What kind of file system a path is on, in the kernel's own number for it.
pub(crate) fn file_system(path: &[u8]) -> io::Result<u32> {
    let path = c_name(path)?;
    // SAFETY: all-zero bytes are a valid `statfs`.
    let mut status: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `path` is NUL-terminated and outlives the call, and `status` has room for the answer.
    check(unsafe { libc::statfs(path.as_ptr(), &raw mut status) })?;
    // The numbers have 32 bits; the field is wider on some machines and signed on others.
    Ok(status.f_type as u32)
}

/// Puts everything on disk that was written to the file system of this descriptor.
pub(crate) fn sync_file_system(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: only a descriptor that we hold is passed.
    check(unsafe { libc::syncfs(fd.as_raw_fd()) })
}

/// Whether names may come and go in a directory, for the user that we are.
pub(crate) fn may_write(dir: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the path is a constant C string.
    check(unsafe { libc::faccessat(dir.as_raw_fd(), c".".as_ptr(), libc::W_OK | libc::X_OK, libc::AT_EACCESS) })
}

/// A name that hides what lies under it in an overlay. Any user may make one.
pub(crate) fn make_whiteout(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    let name = c_name(name)?;
    // SAFETY: `name` is NUL-terminated and outlives the call.
    check(unsafe { libc::mknodat(dir.as_raw_fd(), name.as_ptr(), libc::S_IFCHR, 0) })
}

/// The first byte of an extended attribute; `None` if it is not there or not supported.
pub(crate) fn mark(file: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<u8>> {
    let mut value = [0u8; 16];
    // SAFETY: the kernel writes at most `value.len()` bytes into `value`.
    let n = unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    match usize::try_from(n) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(value[0])),
        Err(_) => match io::Error::last_os_error() {
            e if matches!(e.raw_os_error(), Some(libc::ENODATA | libc::ENOTSUP)) => Ok(None),
            e => Err(e),
        },
    }
}

/// More than any file system keeps of one file.
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;

/// The names of a file's extended attributes; none where there cannot be any.
pub(crate) fn attribute_names(file: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = vec![0u8; ATTRIBUTE_BYTES_MAX];
    // SAFETY: the kernel writes at most `names.len()` bytes into `names`.
    let n = unsafe { libc::flistxattr(file.as_raw_fd(), names.as_mut_ptr().cast(), names.len()) };
    let Ok(n) = usize::try_from(n) else {
        return match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(libc::ENOTSUP) => Ok(Vec::new()),
            e => Err(e),
        };
    };
    split_names(&names[..n])
}

/// The same of a name in a directory, which is not opened; most files have none.
pub(crate) fn attribute_names_at(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<Vec<CString>> {
    let path = c_name(&[format!("/proc/self/fd/{}/", dir.as_raw_fd()).as_bytes(), name].concat())?;
    let list = |names: &mut [u8]| {
        // SAFETY: the path is NUL-terminated, and the kernel writes at most `names.len()` bytes into `names`.
        let n = unsafe { libc::llistxattr(path.as_ptr(), names.as_mut_ptr().cast(), names.len()) };
        match usize::try_from(n).map_err(|_| io::Error::last_os_error()) {
            // What vanished has none either.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOTSUP | libc::ENOENT)) => Ok(0),
            listed => listed,
        }
    };
    // With no room the kernel says how much there is.
    if list(&mut [])? == 0 {
        return Ok(Vec::new());
    }
    let mut names = vec![0u8; ATTRIBUTE_BYTES_MAX];
    let n = list(&mut names)?;
    split_names(&names[..n])
}

fn split_names(names: &[u8]) -> io::Result<Vec<CString>> {
    let names = names.split(|b| *b == 0).filter(|name| !name.is_empty());
    names.map(|name| CString::new(name).map_err(io::Error::other)).collect()
}

/// `None` if it is not there or not supported.
pub(crate) fn attribute(file: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Vec<u8>>> {
    let mut value = vec![0u8; ATTRIBUTE_BYTES_MAX];
    // SAFETY: the kernel writes at most `value.len()` bytes into `value`.
    let n = unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    match usize::try_from(n) {
        Ok(n) => {
            value.truncate(n);
            Ok(Some(value))
        }
        Err(_) => match io::Error::last_os_error() {
            e if matches!(e.raw_os_error(), Some(libc::ENODATA | libc::ENOTSUP)) => Ok(None),
            e => Err(e),
        },
    }
}

pub(crate) fn set_mark(file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: name and value outlive the call.
    check(unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) })
}

pub(crate) fn remove_mark(file: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    // SAFETY: the name outlives the call.
    check(unsafe { libc::fremovexattr(file.as_raw_fd(), name.as_ptr()) })
}

/// Takes a read lease: it is refused while somebody has the file open for writing.
pub(crate) fn lease_for_reading(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain integers; the lease ends with the descriptor at the latest.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) })
}

/// Waits until one of the descriptors has something to say. Returns what `poll` reports for each, in order.
pub(crate) fn poll(fds: &[(BorrowedFd<'_>, i16)], timeout: Option<Duration>) -> io::Result<Vec<i16>> {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|(fd, events)| libc::pollfd { fd: fd.as_raw_fd(), events: *events, revents: 0 }).collect();
    let timeout = timeout.map_or(-1, |t| i32::try_from(t.as_millis()).unwrap_or(i32::MAX));
    let n = polled.len().try_into().map_err(io::Error::other)?;
    // SAFETY: `polled` is a live array of exactly `n` entries.
    match check(unsafe { libc::poll(polled.as_mut_ptr(), n, timeout) }) {
        Ok(()) => Ok(polled.iter().map(|p| p.revents).collect()),
        // A signal came; the caller looks again and nothing has happened yet.
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(vec![0; fds.len()]),
        Err(e) => Err(e),
    }
}

/// Kills the process that a descriptor of it names.
pub(crate) fn kill(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    let info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null info makes it an ordinary kill; only a descriptor that is held is passed besides.
    let done = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), libc::SIGKILL, info, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(crate) fn effective_uid() -> u32 {
    // SAFETY: has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether this process can no longer gain privileges, and neither can anything that it starts.
pub(crate) fn has_no_new_privs() -> bool {
    // SAFETY: reads one flag of the calling thread.
    unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 }
}

/// Who connected to a socket: process and user.
pub(crate) fn peer(socket: BorrowedFd<'_>) -> io::Result<(i32, u32)> {
    let mut cred = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut size = u32::try_from(size_of::<libc::ucred>()).map_err(io::Error::other)?;
    // SAFETY: `cred` is a live struct of `size` bytes, which the kernel fills.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut cred).cast(), &raw mut size)
    })?;
    Ok((cred.pid, cred.uid))
}

/// The process that connected, held so that its number cannot come to mean another. `None` on kernels before 6.5.
pub(crate) fn peer_held(socket: BorrowedFd<'_>) -> Option<OwnedFd> {
    let mut fd: i32 = -1;
    let mut size = u32::try_from(size_of::<i32>()).ok()?;
    // SAFETY: `fd` is a live integer of `size` bytes, which the kernel fills.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_PEERPIDFD, (&raw mut fd).cast(), &raw mut size)
    };
    if done == 0 { own(fd).ok() } else { None }
}

/// From `asm-generic/socket.h`; older headers do not name it.
const SO_PEERPIDFD: i32 = 77;

fn c_name(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(io::Error::other)
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn own(fd: i32) -> io::Result<OwnedFd> {
    check(fd)?;
    // SAFETY: the kernel has just returned this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Names the process in `ps`, at most 15 characters.
pub(crate) fn name_process(name: &CStr) {
    // SAFETY: `name` is NUL-terminated; the kernel copies at most 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Keeps other processes of the same user from reading this one's memory, and a crash from writing it to a disk.
pub(crate) fn hide_memory() -> io::Result<()> {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `none` is a live struct; lowering a limit is always allowed.
    check(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) })?;
    // SAFETY: sets one flag of this process.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) })
}

/// Gives up every capability that this thread holds. With no new privileges they cannot come back.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    let header: [u32; 2] = [0x2008_0522, 0]; // version 3, this thread
    let sets = [0_u32; 6];
    // SAFETY: version 3 reads a header of two and data of six 32-bit words.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
