//! Stands in for the C library's file functions (`LD_PRELOAD`) and writes down what happens beneath one directory.
//!
//! Every operation is done by the system call itself and recorded, with its data, while one lock is held that all threads
//! and processes of the recording share: the log is one total order. What a descriptor is gets asked of the kernel each
//! time, so `dup`, `close`, `fork` and `exec` need no bookkeeping and children are recorded like their parents.
//!
//! Not seen: system calls that do not go through the C library's functions (rustix's own back end, io_uring, the inside of
//! `fopen`, `mkstemp` and `remove`), `splice`, `FICLONE`. Stores to a shared mapping are not seen either, but the mapping
//! is noted; SQLite's `-shm` file is one, and needs no durability because it is rebuilt after a crash. The library
//! compares the log with the directory afterwards, so what went unseen is found out. Permissions, owners, times and
//! extended attributes are not recorded.
#![cfg(target_os = "linux")]

mod directories;
#[allow(dead_code, reason = "the other half of it is used by the library")]
#[path = "../../src/format.rs"]
mod format;
mod log;
mod mappings;
mod opening;
mod place;
mod state;
mod syncs;
mod system;
mod writes;
