//! What git's lists are read as.

use super::*;

#[test]
fn what_differs_is_read_by_path() {
    let list = ":100644 100755 aa bb M\0a b\0:000000 120000 00 cc A\0link\0:100644 000000 dd 00 D\0old\0\
                :160000 160000 ee ff M\0sub\0:100644 100644 aa 11 M\0twice\0:100644 100644 aa 22 M\0twice\0";
    let held = Held::read(list.as_bytes());
    let names =
        |paths: &BTreeSet<Vec<u8>>| paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let (gone, unlike): (Vec<String>, Vec<String>) = (names(&held.gone), names(&held.unlike));
    assert_eq!((gone, unlike), (vec!["old".to_owned()], vec!["sub".to_owned(), "twice".to_owned()]));
    assert!(held.index().starts_with(b"100755 blob bb\ta b\x00120000 blob cc\tlink\0"));
    assert_eq!(Held::read(b"").index(), b"");
}
