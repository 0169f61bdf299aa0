//! The two times are found in what is a certificate, and in nothing else.

use super::*;

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match content.len() {
        n @ 0..=0x7f => bytes.push(n as u8),
        n => bytes.extend([0x82, (n >> 8) as u8, n as u8]),
    }
    bytes.extend(content);
    bytes
}

fn certificate(before: (u8, &str), after: (u8, &str)) -> Vec<u8> {
    let validity = [der(before.0, before.1.as_bytes()), der(after.0, after.1.as_bytes())].concat();
    let issuer = der(SEQUENCE, &[0x31; 200]);
    let signed = [
        der(VERSION, &[2, 1, 2]),
        der(INTEGER, &[7]),
        der(SEQUENCE, &[5, 0]),
        issuer,
        der(SEQUENCE, &validity),
        der(SEQUENCE, &[]),
    ];
    der(SEQUENCE, &der(SEQUENCE, &signed.concat()))
}

#[test]
fn both_spellings_of_a_time_are_read() {
    let found = of(&certificate((UTC_TIME, "261116030000Z"), (GENERALIZED_TIME, "20361113030000Z"))).unwrap();
    assert_eq!(found.0.to_string(), "2026-11-16T03:00:00.000000Z");
    assert_eq!(found.1.to_string(), "2036-11-13T03:00:00.000000Z");
    let old = of(&certificate((UTC_TIME, "700101000000Z"), (UTC_TIME, "491231235959Z"))).unwrap();
    assert_eq!((&old.0.to_string()[..4], &old.1.to_string()[..4]), ("1970", "2049"));
}

#[test]
fn anything_else_is_nothing_and_no_panic() {
    let whole = certificate((UTC_TIME, "261116030000Z"), (UTC_TIME, "271116030000Z"));
    for cut in 0..whole.len() {
        assert_eq!(of(&whole[..cut]), None);
    }
    for bad in ["2611160300Z", "261116030000", "261399030000Z", "+61116030000Z"] {
        assert_eq!(of(&certificate((UTC_TIME, bad), (UTC_TIME, "271116030000Z"))), None, "{bad}");
    }
    for n in 0..whole.len() {
        for value in [0, 0x7f, 0x80, 0x84, 0xff] {
            let mut changed = whole.clone();
            changed[n] = value;
            let _either_way = of(&changed);
        }
    }
}
