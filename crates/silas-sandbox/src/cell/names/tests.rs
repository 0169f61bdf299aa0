//! What is asked, what is answered, and what is remembered of it.

use super::*;

fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(CLASS_IN.to_be_bytes());
    bytes
}

fn names() -> Names {
    let granted = vec![("files.example".to_owned(), Ipv4Addr::new(127, 77, 0, 1))];
    Names::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(), granted).unwrap()
}

/// The code of the answer, and how many addresses are in it.
fn ask(names: &mut Names, name: &str, kind: u16) -> (u8, u8) {
    let bytes = question(name, kind);
    let answer = names.answer(&Question::read(&bytes).unwrap());
    assert_eq!(answer[..2], bytes[..2]);
    assert_eq!(answer[HEADER_BYTES..bytes.len()], bytes[HEADER_BYTES..]);
    (answer[3] & 0b1111, answer[7])
}

#[test]
fn granted_names_have_their_address_and_others_do_not_exist() {
    let mut names = names();
    assert_eq!(ask(&mut names, "Files.Example", TYPE_A), (0, 1));
    assert_eq!(ask(&mut names, "files.example", TYPE_AAAA), (0, 0));
    assert_eq!(names.asked, [""; 0]);
    assert_eq!(ask(&mut names, "Tides.EXAMPLE", TYPE_A), (3, 0));
    assert_eq!(ask(&mut names, "tides.example", TYPE_AAAA), (3, 0));
    assert_eq!(ask(&mut names, "sub.files.example", TYPE_A), (3, 0));
    assert_eq!(names.asked, ["tides.example", "sub.files.example"]);
}

#[test]
fn what_could_not_be_granted_is_not_remembered() {
    let mut names = names();
    for (name, kind) in [
        ("4.3.2.1.in-addr.arpa", 12),
        ("tides.example", 33),
        ("10.0.0.1", TYPE_A),
        ("0x7f.1", TYPE_A),
        ("-x.example", TYPE_A),
        ("a b.example", TYPE_A),
        ("\u{202e}.example", TYPE_A),
        ("", TYPE_A),
    ] {
        assert_eq!(ask(&mut names, name, kind), (3, 0), "{name}");
    }
    assert_eq!(names.asked, [""; 0]);
}

#[test]
fn many_names_are_answered_and_few_are_kept() {
    let mut names = names();
    for n in 0..1000 {
        ask(&mut names, &format!("n{n}.example"), TYPE_A);
    }
    assert_eq!(names.asked.len(), NAMES_MAX);
}

#[test]
fn what_is_no_plain_question_has_no_answer() {
    let whole = question("tides.example", TYPE_A);
    for n in 0..whole.len() {
        assert!(Question::read(&whole[..n]).is_none(), "{n} bytes");
    }
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    // An answer, another operation, two questions, an abbreviation, another class.
    for bytes in [with(2, 0x81), with(2, 0x10), with(5, 2), with(12, 0xc0), with(whole.len() - 1, 3)] {
        assert!(Question::read(&bytes).is_none());
    }
    let mut dotted = question("ab", TYPE_A);
    dotted[13] = b'.';
    assert!(Question::read(&dotted).is_none());
    let long = vec!["a".repeat(63); 5].join(".");
    assert!(Question::read(&question(&long, TYPE_A)).is_none());
    // What follows a question is somebody else's extension.
    let mut extended = whole.clone();
    extended.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    assert_eq!(Question::read(&extended).unwrap().bytes.len(), whole.len() - HEADER_BYTES);
}

#[test]
fn what_was_asked_right_before_the_end_is_heard() {
    let names = names();
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let to = names.socket().local_addr().unwrap();
    client.send_to(&question("late.example", TYPE_A), to).unwrap();
    client.send_to(b"noise", to).unwrap();
    client.send_to(&question("later.example", TYPE_A), to).unwrap();
    assert_eq!(names.finish(), ["late.example", "later.example"]);
}
