//! Bytes of the database file that changed by themselves: found out, or harmless. Never a ledger that verifies and is not
//! the one that was written.

use crate::records::put;
use crate::world::{announced_seed, is_soak, open, place, seed};
use power_loss::Chance;
use silas_store::{Error, ReadTx, Store, ledger};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const ENTRIES: u64 = 60;
/// How the name and the body of every entry here begin, and about how long they are with both hashes.
const NAME: &[u8] = b"stream_started";
const ROW_BYTES: usize = 200;
const FLIPS: usize = 250;
const FLIPS_IN_SOAK: usize = 10_000;

/// Everything that `ledger::verify` vouches for: the entries, whole.
fn entries(tx: &ReadTx<'_>) -> Result<Vec<ledger::Entry>, Error> {
    ledger::entries(tx, 1, ledger::ENTRIES_MAX)
}

/// What the store says of a directory: an error, or the ledger that it vouches for.
fn vouched_for(dir: &Path) -> Result<Vec<ledger::Entry>, String> {
    let store = open(dir, 1).map_err(|error| error.code().to_owned())?;
    let look = |store: &Store| {
        let verified = store.read(ledger::verify).wait()?;
        Ok((verified.broken, store.read(entries).wait()?))
    };
    match look(&store) {
        Ok((None, entries)) => Ok(entries),
        Ok((Some(broken), _)) => Err(format!("{:?}", broken.reason)),
        Err(error) => Err(Error::code(&error).to_owned()),
    }
}

#[test]
fn a_changed_byte_never_changes_what_the_ledger_says() {
    let place = place();
    let dir = place.path().join("dir");
    let store = open(&dir, 1).unwrap();
    for n in 0..ENTRIES {
        store.write(move |tx| put(tx, &format!("key-{n}-10"))).wait().unwrap();
    }
    drop(store);
    let truth = vouched_for(&dir).unwrap();
    assert_eq!(truth.len() as u64, ENTRIES);
    let file = dir.join("agent.sqlite");
    let good = fs::read(&file).unwrap();
    let rows: Vec<usize> = (0..good.len() - ROW_BYTES).filter(|at| good[*at..].starts_with(NAME)).collect();
    assert!(rows.len() as u64 >= ENTRIES);
    let mut chance = Chance::new(announced_seed());
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    for n in 0..if is_soak() { FLIPS_IN_SOAK } else { FLIPS } {
        let mut bad = good.clone();
        // Most of the file is empty or another table's; every second change goes where the entries are.
        let at = match chance.percent(50) {
            true => chance.one_of(&rows) + chance.below(ROW_BYTES),
            false => chance.below(bad.len()),
        };
        // One bit, or a sector that was never written.
        let what = match chance.below(4) {
            0 => {
                let start = at / 512 * 512;
                bad[start..start + 512].fill(0);
                format!("sector at {start}")
            }
            _ => {
                bad[at] ^= 1 << chance.below(8);
                format!("byte {at}")
            }
        };
        let copy = place.path().join("copy");
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("agent.sqlite"), bad).unwrap();
        let answer = match vouched_for(&copy) {
            Ok(entries) => {
                assert_eq!(entries, truth, "seed {}, change {n}: {what}", seed());
                "harmless".to_owned()
            }
            Err(answer) => answer,
        };
        *answers.entry(answer).or_default() += 1;
        fs::remove_dir_all(copy).unwrap();
    }
    println!("{answers:?}");
    let is_found_by_verifying = |answer: &&String| !answer.starts_with("E_") && *answer != "harmless";
    assert!(answers.keys().any(|answer| is_found_by_verifying(&answer)), "no entry was ever hit: {answers:?}");
}

#[test]
fn a_file_that_is_cut_short_is_refused_or_shorter_and_whole() {
    let place = place();
    let dir = place.path().join("dir");
    let store = open(&dir, 1).unwrap();
    for n in 0..ENTRIES {
        store.write(move |tx| put(tx, &format!("key-{n}-10"))).wait().unwrap();
    }
    drop(store);
    let truth = vouched_for(&dir).unwrap();
    let good = fs::read(dir.join("agent.sqlite")).unwrap();
    let mut chance = Chance::new(announced_seed());
    for n in 0..40 {
        let copy = place.path().join(format!("copy-{n}"));
        fs::create_dir(&copy).unwrap();
        let n_bytes = 1 + chance.below(good.len() - 1);
        fs::write(copy.join("agent.sqlite"), &good[..n_bytes]).unwrap();
        if let Ok(entries) = vouched_for(&copy) {
            assert_eq!(entries, truth, "cut to {n_bytes} of {}", good.len());
        }
    }
}
