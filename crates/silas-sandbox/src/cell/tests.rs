//! The small rules of a cell; whether it holds is tried in `tests/escape`.
#![allow(clippy::unwrap_used)]

use super::idmap::swap;
use super::prepared::{candidates, target_names};
use super::report::{Failure, Record, Step};
use super::supervise::Kept;
use std::path::Path;

#[test]
fn a_swap_exchanges_two_ids_and_covers_all_others() {
    assert_eq!(swap(0, 65534), "0 65534 1\n1 1 65533\n65534 0 1\n65535 65535 4294901760\n");
    assert_eq!(swap(65535, 65534), "0 0 65534\n65534 65535 1\n65535 65534 1\n65536 65536 4294901759\n");
    assert_eq!(swap(65534, 65534), "0 0 4294967295\n");
}

#[test]
fn targets_may_not_replace_what_the_cell_makes_itself() {
    let check = |target: &str| target_names(Path::new(target)).map(|names| names.len());
    assert_eq!(check("/home/ada/project"), Ok(3));
    assert_eq!(check("/tmp/project"), Ok(2));
    for refused in ["/", "/usr", "/tmp", "/etc/", "/proc/sys", "/dev/shm", "project", "/a/../proc"] {
        assert!(check(refused).is_err(), "{refused}");
    }
}

#[test]
fn a_bare_name_is_looked_up_in_absolute_directories_of_the_path() {
    let env = [("PATH".to_owned(), "/opt/bin:.:bin:/usr/bin".to_owned())];
    let found = |program: &str, env: &[(String, String)]| {
        candidates(program, env).unwrap().iter().map(|c| c.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("make", &env), ["/opt/bin/make", "/usr/bin/make"]);
    assert_eq!(found("./make", &env), ["./make"]);
    assert_eq!(found("make", &[]), ["/usr/local/bin/make", "/usr/bin/make", "/bin/make"]);
    assert!(candidates("ma\0ke", &env).is_err());
}

#[test]
fn records_come_back_as_they_were_sent() {
    let failed = Record::Failed(Failure { step: Step::Exec, item: 70_000, errno: libc::ENOENT });
    for record in [failed, Record::Ended(-1, 0), Record::Ended(256, 3)] {
        assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
    }
    assert_eq!(Record::from_bytes(&[200; 9]), None);
}

#[test]
fn a_stream_keeps_its_beginning() {
    let mut stream = Kept::default();
    stream.take(b"abc", 4);
    assert!(!stream.is_cut);
    stream.take(b"de", 4);
    stream.take(b"f", 4);
    assert_eq!((stream.kept.as_slice(), stream.is_cut), (b"abcd".as_slice(), true));
}

#[test]
fn the_kernels_list_of_sockets_gives_their_paths() {
    let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 29087 /run/a b.sock\n\
        0000000000000000: 00000003 00000000 00000000 0001 03 33181\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 20961 @abstract\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 20962 relative.sock\n";
    assert_eq!(super::sockets::paths(list).collect::<Vec<_>>(), [Path::new("/run/a b.sock")]);
    assert_eq!(super::sockets::paths(b"").count(), 0);
}

#[test]
fn a_cell_leaves_a_reserve_or_half_of_what_there_was() {
    use super::disk::Room;
    let room = |bytes, files| Room { bytes, files };
    let large = room(100 << 30, Some(5_000_000));
    assert_eq!(large.floor(), room(1 << 30, Some(10_000)));
    assert_eq!(room(64 << 20, Some(1000)).floor(), room(32 << 20, Some(500)));
    assert!(!large.is_below(large.floor()) && !large.floor().is_below(large.floor()));
    assert!(room((1 << 30) - 1, Some(20_000)).is_below(large.floor()));
    assert!(room(2 << 30, Some(9_999)).is_below(large.floor()));
    // A file system that counts no files, and one that is full already.
    assert!(!room(2 << 30, None).is_below(room(4 << 30, None).floor()));
    assert!(!room(0, Some(0)).is_below(room(0, Some(0)).floor()));
}

#[test]
fn the_less_is_left_the_sooner_is_the_next_look() {
    use super::disk::Room;
    use std::time::Duration;
    let floor = Room { bytes: 1 << 30, files: Some(10_000) };
    let look = |bytes: u64, files| Room { bytes: (1 << 30) + bytes, files }.next_look(floor);
    assert_eq!(look(100 << 30, Some(5_000_000)), Duration::from_millis(100));
    assert_eq!(look(1 << 20, Some(5_000_000)), Duration::from_millis(5));
    assert_eq!(look(100 << 30, Some(10_100)), Duration::from_millis(5), "files count as well");
    let between = look(800 << 20, None);
    assert!(between > Duration::from_millis(40) && between < Duration::from_millis(60), "{between:?}");
}

#[test]
fn sockets_are_counted_as_the_kernel_tells() {
    let text = "sockets: used 12\nTCP: inuse 1 orphan 0 tw 0 alloc 3 mem 0\n";
    assert_eq!(super::buffers::used(text), Some(12));
    assert_eq!(super::buffers::used("TCP: inuse 1\n"), None);
}
