//! The log as the recorder sees it: a shared mapping, a lock in it, and appending.
//!
//! A mapping and no descriptor, because programs close descriptors that they do not know, and because a limit on the size
//! of files or a full disk must strike the program and not its recorder. The file was made long enough beforehand.

use crate::format::{self, HEADER_BYTES, Kind, MAGIC, RECORD_HEAD_BYTES};
use crate::system;
use std::ffi::CString;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How long to sleep before asking whether the lock's owner is still alive.
const PATIENCE_NANOS: i64 = 50_000_000;

pub(crate) struct Log {
    start: *mut u8,
    n_bytes: usize,
}

// SAFETY: all threads may change the mapping; atomics in its header and the lock order them.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

impl Log {
    pub(crate) fn open(path: Vec<u8>) -> Option<Log> {
        let path = CString::new(path).ok()?;
        // SAFETY: opens only; the path is a C string that lives long enough.
        let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDWR, 0) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        let n_bytes = usize::try_from(system::file_status(fd)?.st_size).ok()?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // The last argument travels on the stack, where a narrow zero leaves half of its place as it was.
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe { libc::syscall(libc::SYS_mmap, 0_usize, n_bytes, protection, flags, fd, 0_u64) };
        system::close(fd);
        if start < 0 || n_bytes < HEADER_BYTES {
            return None;
        }
        let log = Log { start: start as *mut u8, n_bytes };
        (log.number(format::AT_MAGIC).load(Ordering::Acquire) == MAGIC).then_some(log)
    }

    fn number(&self, at: usize) -> &AtomicU64 {
        // SAFETY: within the header page, aligned to eight bytes, and only ever used as an atomic.
        unsafe { &*self.start.add(at).cast::<AtomicU64>() }
    }

    fn lock_word(&self) -> &AtomicU32 {
        // SAFETY: within the header page, aligned, and only ever used as an atomic.
        unsafe { &*self.start.add(format::AT_LOCK).cast::<AtomicU32>() }
    }

    /// Waits until nobody else appends, in any thread or process of the recording.
    ///
    /// The lock names its owner, so that the lock of a process that was killed can be taken over. It is not a lock of the
    /// C library, because those do not survive a raw `clone`.
    pub(crate) fn lock(&self) -> Guard<'_> {
        let me = system::thread_id();
        loop {
            match self.lock_word().compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Guard { log: self, is_owner: true },
                // A signal handler that writes while its thread already does.
                Err(owner) if owner == me => return Guard { log: self, is_owner: false },
                Err(owner) => self.wait_for(owner),
            }
        }
    }

    fn wait_for(&self, owner: u32) {
        let patience = libc::timespec { tv_sec: 0, tv_nsec: PATIENCE_NANOS };
        let word = self.lock_word().as_ptr();
        // SAFETY: the futex is in the mapping, the time lives here.
        let slept = unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, owner, &raw const patience) };
        if slept < 0 && system::errno() == libc::ETIMEDOUT && !system::is_alive(owner) {
            // Only one of those who wait can succeed, and only if it still is the dead one's.
            let _ = self.lock_word().compare_exchange(owner, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

pub(crate) struct Guard<'l> {
    log: &'l Log,
    is_owner: bool,
}

impl Guard<'_> {
    /// How many of these there were before, and one more from now on.
    pub(crate) fn count(&self, at: usize) -> u64 {
        self.log.number(at).fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn append(&self, kind: Kind, numbers: [u64; 3], first: &[u8], second: &[u8]) {
        self.append_with(kind, numbers, first.len(), second, |into| into.copy_from_slice(first));
    }

    /// The first text is written straight into the log by `fill`.
    pub(crate) fn append_with(
        &self,
        kind: Kind,
        numbers: [u64; 3],
        n_first: usize,
        second: &[u8],
        fill: impl FnOnce(&mut [u8]),
    ) {
        let used = self.log.number(format::AT_USED).load(Ordering::Acquire) as usize;
        let n_bytes = RECORD_HEAD_BYTES + n_first + second.len();
        if HEADER_BYTES + used + n_bytes > self.log.n_bytes || u32::try_from(n_bytes).is_err() {
            self.log.number(format::AT_OVERFLOW).store(1, Ordering::Release);
            return;
        }
        // SAFETY: checked to lie within the mapping, behind everything that is published, and the lock is ours.
        let record = unsafe { std::slice::from_raw_parts_mut(self.log.start.add(HEADER_BYTES + used), n_bytes) };
        record[..4].copy_from_slice(&(n_bytes as u32).to_le_bytes());
        record[4..8].copy_from_slice(&(kind as u32).to_le_bytes());
        for (place, number) in record[8..32].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        record[32..36].copy_from_slice(&(n_first as u32).to_le_bytes());
        fill(&mut record[RECORD_HEAD_BYTES..RECORD_HEAD_BYTES + n_first]);
        record[RECORD_HEAD_BYTES + n_first..].copy_from_slice(second);
        self.log.number(format::AT_USED).store((used + n_bytes) as u64, Ordering::Release);
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.is_owner {
            self.log.lock_word().store(0, Ordering::Release);
            let word = self.log.lock_word().as_ptr();
            // SAFETY: the futex is in the mapping.
            system::keep_errno(|| unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, 1) });
        }
    }
}
