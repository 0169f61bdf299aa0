//! The rules of the model, each seen over many losses of power.

use crate::program::{Lab, mark, sync};
use power_loss::{Crash, Log, Syncing};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const SEEDS: u64 = 300;
const SECTOR: usize = 512;

fn crashes(lab: &Lab, log: &Log, mut look: impl FnMut(&Crash, &Path)) {
    for seed in 0..SEEDS {
        let image = lab.image(seed);
        let crash = log.crash(seed, &image).unwrap();
        look(&crash, &image);
        fs::remove_dir_all(image).unwrap();
    }
}

fn said(crash: &Crash, text: &str) -> bool {
    crash.marks.iter().any(|mark| mark == text)
}

pub(crate) fn synced_and_unsynced(dir: &Path) {
    let file = File::create(dir.join("a")).unwrap();
    file.write_all_at(&[b'1'; 8 * SECTOR], 0).unwrap();
    file.sync_all().unwrap();
    mark("synced");
    file.write_all_at(&[b'2'; 4 * SECTOR], 0).unwrap();
    file.write_all_at(&[b'3'; 4 * SECTOR], 8 * SECTOR as u64).unwrap();
    mark("written");
}

#[test]
fn what_was_synced_is_there_and_what_was_not_is_kept_lost_or_torn() {
    let lab = Lab::new();
    let log = lab.record("synced and unsynced", Syncing::Claimed);
    let (mut seen, mut sizes) = (BTreeSet::new(), BTreeSet::new());
    crashes(&lab, &log, |crash, image| {
        let content = fs::read(image.join("a"));
        if !said(crash, "synced") {
            return;
        }
        let content = content.unwrap();
        let sectors: Vec<&[u8]> = content.chunks(SECTOR).collect();
        assert!(sectors.iter().all(|sector| sector.iter().all(|byte| *byte == sector[0])), "half a sector");
        let text: String = sectors.iter().map(|sector| if sector[0] == 0 { '0' } else { sector[0] as char }).collect();
        assert_eq!(&text[4..8], "1111");
        if said(crash, "written") {
            seen.insert(text[..4].to_owned());
            sizes.insert(text[8..].to_owned());
        } else {
            assert!(text[..4].chars().all(|c| "12".contains(c)) && text[8..].chars().all(|c| "03".contains(c)));
        }
    });
    assert!(seen.contains("1111") && seen.contains("2222") && seen.len() > 4, "{seen:?}");
    // Gone, there, and longer than its data.
    assert!(sizes.contains("") && sizes.contains("3333") && sizes.contains("0000") && sizes.len() > 4, "{sizes:?}");
}

/// The way to replace a file, and the way that everybody tries first.
pub(crate) fn replace(dir: &Path, is_safe: bool) {
    for text in ["old", "new"] {
        fs::write(dir.join("next"), text).unwrap();
        if is_safe {
            sync(&dir.join("next"));
        }
        fs::rename(dir.join("next"), dir.join("file")).unwrap();
        if is_safe {
            sync(dir);
        }
        mark(text);
    }
}

#[test]
fn a_file_that_is_replaced_safely_is_old_or_new() {
    let lab = Lab::new();
    let log = lab.record("replace safely", Syncing::Claimed);
    log.compare(&lab.dir()).unwrap();
    let mut seen = BTreeSet::new();
    crashes(&lab, &log, |crash, image| {
        let content = fs::read_to_string(image.join("file"));
        match (said(crash, "old"), said(crash, "new")) {
            (_, true) => assert_eq!(content.unwrap(), "new"),
            (true, false) => drop(seen.insert(content.unwrap())),
            (false, false) => assert!(content.is_err() || content.unwrap() == "old"),
        }
    });
    assert_eq!(seen, BTreeSet::from(["old".to_owned(), "new".to_owned()]));
}

#[test]
fn a_file_that_is_replaced_carelessly_can_be_empty_or_gone() {
    let lab = Lab::new();
    let log = lab.record("replace carelessly", Syncing::Claimed);
    let mut seen = BTreeSet::new();
    crashes(&lab, &log, |crash, image| {
        if said(crash, "new") {
            seen.insert(fs::read_to_string(image.join("file")).ok());
        }
    });
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(seen, BTreeSet::from([None, some(""), some("\0\0\0"), some("new"), some("old")]));
}

#[test]
fn without_syncing_even_the_safe_way_loses() {
    let lab = Lab::new();
    let log = lab.record("replace safely", Syncing::Off);
    let mut n_lost = 0;
    crashes(&lab, &log, |crash, image| {
        n_lost += usize::from(said(crash, "new") && fs::read_to_string(image.join("file")).ok() != Some("new".into()));
    });
    assert!(n_lost > 0);
}

pub(crate) fn move_between(dir: &Path) {
    for name in ["left", "right"] {
        fs::create_dir(dir.join(name)).unwrap();
    }
    fs::write(dir.join("left/file"), "x").unwrap();
    sync(&dir.join("left/file"));
    sync(&dir.join("right"));
    mark("made");
    fs::rename(dir.join("left/file"), dir.join("right/file")).unwrap();
    fs::write(dir.join("left/other"), "y").unwrap();
}

#[test]
fn a_file_that_moves_is_in_one_of_both_places() {
    let lab = Lab::new();
    let log = lab.record("move between", Syncing::Claimed);
    let mut seen = BTreeSet::new();
    crashes(&lab, &log, |crash, image| {
        if said(crash, "made") {
            let is_in = |place: &str| fs::read_to_string(image.join(place)).is_ok_and(|text| text == "x");
            let found = (is_in("left/file"), is_in("right/file"));
            assert_ne!(found.0, found.1, "seed {}", crash.seed);
            // Its directory saw the move first.
            assert!(!image.join("left/other").exists() || found.1);
            seen.insert(found);
        }
    });
    assert_eq!(seen.len(), 2);
}

#[test]
fn the_same_seed_gives_the_same_image() {
    let lab = Lab::new();
    let log = lab.record("synced and unsynced", Syncing::Claimed);
    let read = |image: PathBuf| fs::read(image.join("a")).ok();
    for seed in 0..20 {
        let first = log.crash(seed, &lab.image(seed)).unwrap();
        let second = log.crash(seed, &lab.image(1000 + seed)).unwrap();
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
        assert_eq!(read(lab.image(seed)), read(lab.image(1000 + seed)));
    }
}
