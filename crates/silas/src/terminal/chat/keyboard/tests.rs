//! Odd lines are named, and the line after them is read.

use super::{LINE_BYTES_MAX, Odd, line};

fn all(input: &[u8]) -> Vec<Result<String, Odd>> {
    let mut input = std::io::BufReader::with_capacity(7, input);
    std::iter::from_fn(|| line(&mut input)).map(|line| line.map(|keyed| keyed.text.to_string())).collect()
}

#[test]
fn lines_are_read_one_by_one() {
    let said = |text: &str| Ok(text.to_owned());
    assert_eq!(all(b""), []);
    assert_eq!(all(b"one\r\n\ntwo"), [said("one"), said(""), said("two")]);
    assert_eq!(all(b"\xff\xfe\nfine\n"), [Err(Odd::NotText), said("fine")]);
    let long = [vec![b'x'; LINE_BYTES_MAX + 1], b"\nfine\n".to_vec()].concat();
    assert_eq!(all(&long), [Err(Odd::TooLong), said("fine")]);
    let longest = vec![b'x'; LINE_BYTES_MAX];
    assert_eq!(all(&longest)[0].as_ref().unwrap().len(), LINE_BYTES_MAX);
}
