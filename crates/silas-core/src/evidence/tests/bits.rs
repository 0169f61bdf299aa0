//! Every single bit of every part, flipped: what can still be read is refused, for a reason that names the part.

use super::*;
use crate::changeset::{Change, ChangeOrder, Changeset, FileState};
use crate::relpath::RelPath;
use serde::de::DeserializeOwned;

/// Every text that differs from this one in a single bit and is still text.
fn flipped(text: &str) -> impl Iterator<Item = String> {
    let bytes = text.as_bytes().to_vec();
    (0..bytes.len() * 8).filter_map(move |bit| {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        String::from_utf8(changed).ok()
    })
}

/// Flips every bit of one part as it is written, and shows each result that can be read.
fn check_part<T: Serialize + DeserializeOwned + PartialEq>(
    part: &T,
    with: impl Fn(&mut Evidence, T),
    expected: &[Refusal],
    n_read_min: usize,
) {
    let mut n_read = 0;
    for text in flipped(&canonical::text(part).unwrap()) {
        let Ok(changed) = canonical::read::<T>(&text) else { continue };
        assert!(changed != *part, "two spellings of one thing: {text}");
        n_read += 1;
        let mut shown = evidence(offer());
        with(&mut shown, changed);
        let refusal = check(&shown).expect_err(&text);
        assert!(expected.contains(&refusal), "{refusal:?}: {text}");
    }
    assert!(n_read >= n_read_min, "only {n_read} could be read at all");
}

#[test]
fn every_bit_of_a_token() {
    let version = Refusal::Malformed("unknown version".to_owned());
    check_part(
        &evidence(offer()).token,
        |evidence, token| evidence.token = token,
        &[Refusal::Signature, Refusal::Key, version],
        1000,
    );
}

#[test]
fn every_bit_of_a_certificate() {
    check_part(
        &evidence(offer()).certificate,
        |evidence, certificate| evidence.certificate = certificate,
        &[Mismatch::Version, Mismatch::Key, Mismatch::Installation, Mismatch::Signature].map(Refusal::Certificate),
        500,
    );
}

#[test]
fn every_bit_of_a_plan() {
    let mut n = 0;
    for payload in flipped(PAYLOAD) {
        let shown = Evidence { payload, ..evidence(offer()) };
        assert_eq!(check(&shown), Err(Refusal::Content));
        n += 1;
    }
    assert!(n > 150);
}

#[test]
fn every_bit_of_an_execution() {
    let execution = evidence(offer()).execution;
    check_part(&execution, |evidence, execution| evidence.execution = execution, &[Refusal::Execution], 100);
}

/// The undo's payload names the changeset by its hash, so a changed changeset is a changed payload.
#[test]
fn every_bit_of_a_changeset() {
    let state = |text: &[u8]| Some(FileState::File { hash: Digest::of(text), mode: 0o644 });
    let change = Change {
        directory: 0,
        path: RelPath::from_bytes(b"src/lib.rs").unwrap(),
        before: state(b"a"),
        after: state(b"b"),
    };
    let changeset = Changeset { changes: vec![change] };
    let order = |changeset: &Changeset| {
        let execution = ExecutionId::parse("exec-1").unwrap();
        let order = ChangeOrder { kind: Kind::Undo, execution, changeset: changeset.hash().unwrap() };
        canonical::text(&order).unwrap()
    };
    let approved = order(&changeset);
    let offer =
        Offer { kind: Kind::Undo, scope: Kind::Undo.scope(), plan_hash: Digest::of(approved.as_bytes()), ..offer() };
    let honest = Evidence { payload: approved, ..evidence(offer) };
    let ask = |evidence: &Evidence| verify(evidence, Kind::Undo, &anchor(), &none(), When::At(at(1100)));
    assert!(ask(&honest).is_ok());
    let mut n = 0;
    for text in flipped(&canonical::text(&changeset).unwrap()) {
        let Ok(changed) = canonical::read::<Changeset>(&text) else { continue };
        assert_eq!(ask(&Evidence { payload: order(&changed), ..honest.clone() }), Err(Refusal::Content), "{text}");
        n += 1;
    }
    assert!(n > 400, "{n}");
}

/// Of everything at once, as it travels: no bit of the evidence is without meaning.
#[test]
fn every_bit_of_the_evidence_as_it_travels() {
    let honest = evidence(offer());
    let mut n_read = 0;
    for text in flipped(&serde_json::to_string(&honest).unwrap()) {
        if let Ok(changed) = canonical::read::<Evidence>(&text) {
            assert!(check(&changed).is_err(), "{text}");
            n_read += 1;
        }
    }
    assert!(n_read > 2000, "{n_read}");
}
