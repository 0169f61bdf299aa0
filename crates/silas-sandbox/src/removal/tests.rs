//! Removing a tree of the launcher's, whatever lies in it.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn removes_what_is_locked_deep_or_oddly_named() {
    let home = tempfile::tempdir().unwrap();
    let home_dir = Dir::open(&std::fs::canonicalize(home.path()).unwrap()).unwrap();
    home_dir.mkdir(b"work", 0o755).unwrap();
    let mut at = home_dir.below(b"work").unwrap();
    for level in 0..300u32 {
        std::fs::write(at.proc_path().join("file"), b"x").unwrap();
        at.symlink(b"out", b"/").unwrap();
        at.mkdir(b"lifted-1", 0o755).unwrap();
        let below = at.below(b"lifted-1").unwrap();
        if level % 50 == 7 {
            at.chmod(b"lifted-1", 0o000).unwrap();
        }
        at = below;
    }
    tree(&home_dir, b"work").unwrap();
    assert!(home_dir.stat(b"work").unwrap().is_none());
    assert!(std::fs::metadata("/").unwrap().permissions().mode() & 0o500 != 0);
    tree(&home_dir, b"work").unwrap();
}
