//! What comes back, and that no changed, missing or added byte goes unnoticed.

use super::*;

fn packed() -> (Vec<u8>, Vec<Part>) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.add("about.json", 2, &b"{}"[..]).unwrap();
    writer.add("store/agent.sqlite", 5, &b"pages"[..]).unwrap();
    writer.add("empty", 0, &b""[..]).unwrap();
    writer.finish().unwrap()
}

fn unpack(bytes: &[u8]) -> Result<Vec<Part>> {
    read(bytes, |_, _| Ok(io::sink()))
}

#[test]
fn parts_come_back_as_they_were() {
    let (bytes, written) = packed();
    let content = std::cell::RefCell::new(Vec::new());
    struct Into<'a>(&'a std::cell::RefCell<Vec<u8>>);
    impl Write for Into<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let parts = read(&bytes[..], |_, _| Ok(Into(&content))).unwrap();
    assert_eq!(parts, written);
    assert_eq!(content.into_inner(), b"{}pages");
}

#[test]
fn any_changed_byte_is_noticed() {
    let (bytes, _) = packed();
    for n in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[n] ^= 1;
        assert!(unpack(&changed).is_err(), "byte {n}");
    }
}

#[test]
fn any_missing_end_and_any_added_byte_is_noticed() {
    let (bytes, _) = packed();
    for n in 0..bytes.len() {
        assert!(unpack(&bytes[..n]).is_err(), "{n} bytes");
    }
    assert!(unpack(&[&bytes[..], b"x"].concat()).is_err());
}

#[test]
fn a_file_that_changes_while_it_is_read_is_not_kept() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    assert!(writer.add("shorter", 6, &b"pages"[..]).is_err());
    let mut writer = Writer::new(Vec::new()).unwrap();
    assert!(writer.add("longer", 4, &b"pages"[..]).is_err());
}
