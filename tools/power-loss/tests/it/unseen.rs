//! What the recorder cannot see is found out, not passed over.

use crate::program::Lab;
use power_loss::{Error, Log, Syncing};
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;

pub(crate) fn map(dir: &Path) {
    fs::write(dir.join("mapped"), [0; 4096]).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(dir.join("mapped")).unwrap();
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping of a file of this length, at an address that the kernel chooses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, file.as_raw_fd(), 0) };
    assert_ne!(start, libc::MAP_FAILED);
    // SAFETY: the first byte of that mapping.
    unsafe { start.cast::<u8>().write(7) };
}

#[test]
fn a_shared_mapping_is_a_blind_spot() {
    let lab = Lab::new();
    let status = lab.run("map", lab.start(Syncing::Claimed));
    assert!(status.success());
    match Log::read(&lab.log_path()) {
        Err(Error::Blind { path, how }) => assert!(path.ends_with("dir/mapped") && how == "mmap"),
        other => panic!("{:?}", other.map(|log| log.n_operations())),
    }
}

pub(crate) fn write_past_the_library(dir: &Path) {
    let file = File::create(dir.join("a")).unwrap();
    // SAFETY: writes from a text that lives long enough.
    let n = unsafe { libc::syscall(libc::SYS_write, file.as_raw_fd(), b"unseen".as_ptr(), 6) };
    assert_eq!(n, 6);
}

#[test]
fn a_system_call_by_hand_shows_in_the_comparison() {
    let lab = Lab::new();
    let log = lab.record("write past the library", Syncing::Claimed);
    let error = log.compare(&lab.dir()).unwrap_err();
    assert!(matches!(&error, Error::Differs { what } if what.ends_with("dir/a has another content")), "{error}");
}
