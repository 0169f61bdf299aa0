//! What the list of mounts says, read from texts as the kernel writes them.

use super::{Mount, Spot, parse, spots};
use std::path::Path;

const LIST: &[u8] = b"22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:25 / /tmp rw - tmpfs tmpfs rw
31 22 254:1 /home/jane/.local/share/silas /mnt/two\\040words rw - ext4 /dev/vda1 rw
32 30 254:1 /home /tmp/all rw - ext4 /dev/vda1 rw
";

fn is_alias(one: &str, other: &str) -> bool {
    let mounts = parse(LIST);
    let others = spots(&mounts, Path::new(other));
    spots(&mounts, Path::new(one)).iter().any(|spot: &Spot| others.iter().any(|other| spot.overlaps(other)))
}

#[test]
fn a_directory_is_known_by_every_name() {
    let data = "/home/jane/.local/share/silas";
    for alias in
        ["/mnt/two words", "/mnt/two words/launcher", "/mnt", "/tmp/all", "/tmp/all/jane", "/tmp", "/home/jane"]
    {
        assert!(is_alias(alias, data) && is_alias(data, alias), "{alias}");
    }
    for other in ["/tmp/all/john", "/home/john", "/tmp/home/jane/.local/share/silas", "/home/jane/project", "/srv"] {
        assert!(!is_alias(other, data) && !is_alias(data, other), "{other}");
    }
    // The data directory may itself be reached by another name.
    assert!(is_alias("/home/jane/.local", "/mnt/two words"));
}

#[test]
fn names_are_read_as_the_kernel_writes_them() {
    let mounts: Vec<Mount> = parse(b"1 0 0:1 / /a\\134b\\011c rw - x x rw");
    assert_eq!(mounts[0].at, Path::new("/a\\b\tc"));
    assert_eq!(parse(b"nothing of it"), []);
}
