//! An installation in one file: made while it runs, brought back in a new epoch, refused where it is not sound.

use crate::harness::{Line, Silas};
use crate::page::Page;
use serde_json::json;
use silas_core::card::{CardKind, CardState};
use silas_core::token::Verdict;
use std::path::PathBuf;

impl Silas {
    fn file(&self) -> PathBuf {
        self.outside().join("silas.backup")
    }

    #[track_caller]
    fn back_up(&self) {
        let (code, text) = self.command(&["backup", self.file().to_str().unwrap()]);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("unbroken") && text.contains("holds your private keys"), "{text}");
    }

    fn restore(&self, more: &[&str]) -> (i32, String) {
        self.command(&[&["restore", self.file().to_str().unwrap()], more].concat())
    }
}

fn titles(line: &mut Line) -> Vec<String> {
    line.tasks().iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_was_backed_up_while_running_comes_back() {
    let mut silas = Silas::start_asking();
    let device = silas.pair();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    line.ask("add task water the plants");
    let page = Page::open(&silas, &device, None);
    let has = page.has(page.welcome["head"].as_u64().unwrap());
    silas.back_up();
    line.ask("add task forgotten by the backup");
    drop((line, page));
    silas.terminate();

    let (code, text) = silas.restore(&[]);
    assert!(code != 0 && text.contains("--replace"), "{text}");
    let (code, text) = silas.restore(&["--replace"]);
    assert_eq!(code, 0, "{text}");
    silas.up(&[]);
    let mut line = silas.line();
    assert_eq!(titles(&mut line), ["water the plants"]);
    let told = line.snapshot["activity"]["rows"].to_string();
    assert!(told.contains("Restored from a backup"), "{told}");
    // What the page has seen since is not what is here now, so it is not taken at its word.
    let page = Page::open(&silas, &device, Some(&has));
    assert_eq!(page.welcome["resumed"], false, "{}", page.welcome);
    // The directory was allowed before; it has to be allowed again.
    assert!(!line.snapshot["grants"].to_string().contains("Plans may work in"), "{}", line.snapshot["grants"]);
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Plan).unwrap();
    silas.assert_ledger_holds();
    // Nothing was deleted.
    let aside = std::fs::read_dir(silas.outside()).unwrap().map(|entry| entry.unwrap().path());
    let aside = aside.into_iter().find(|path| path.to_string_lossy().contains("before-")).unwrap();
    assert!(aside.join("store/agent.sqlite").exists());
}

/// INV-02: an approval of before the restore is void, whatever the restored database says about it.
#[test]
fn what_was_approved_before_does_not_run_after() {
    let mut silas = Silas::start_asking();
    silas.pair();
    let mut line = silas.line();
    line.say(&format!("run `sleep 600` in `{}` and check with `sh check.sh`", silas.repo().display())).unwrap();
    line.approve(CardKind::Root).unwrap();
    let running = line.card(CardKind::Plan).unwrap();
    let token = line.token(&running, Verdict::Approved).unwrap();
    assert!(line.submit(&running, &token).unwrap().0);
    line.wait(|line| !line.work.is_empty()).unwrap();
    line.say(&silas.wish()).unwrap();
    let waiting = line.card(CardKind::Plan).unwrap();
    let decided = line.token(&waiting, Verdict::Approved).unwrap();
    let original = silas.tree();
    silas.back_up();
    drop(line);
    silas.terminate();
    assert_eq!(silas.restore(&["--replace"]).0, 0);

    silas.up(&[]);
    let mut line = silas.line();
    line.wait(|line| line.work.values().any(|work| work["running"] == false)).unwrap();
    let report = line.card(CardKind::Report).unwrap();
    assert!(format!("{:?}", report.face).contains("restored or reset"), "{:?}", report.face);
    for (card, token) in [(&running, &token), (&waiting, &decided)] {
        assert!(!line.submit(card, token).unwrap().0);
    }
    assert_eq!(silas.tree(), original);
    // The question itself is still there and asks anew, in the epoch that is now.
    let parked = line.cards.iter().find(|card| card.id == waiting.id).unwrap().clone();
    assert_eq!(parked.state, CardState::Parked);
    line.send(&json!({ "type": "renew", "request_id": parked.id })).unwrap();
    let asked_again = line.card(CardKind::Plan).unwrap();
    assert!(line.decide(&asked_again, Verdict::Declined).unwrap().0);
}

#[test]
fn a_restore_never_takes_what_it_cannot_trust_and_never_overwrites() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.back_up();
    let (code, text) = silas.command(&["backup", silas.file().to_str().unwrap()]);
    assert!(code != 0 && text.contains("exists already"), "{text}");
    let nowhere = silas.file().with_file_name("nope");
    let (code, text) = silas.command(&["backup", nowhere.join("silas.backup").to_str().unwrap()]);
    let missing = format!("There is no directory {}. Make it first", nowhere.display());
    assert!(code != 0 && text.contains(&missing) && !nowhere.exists(), "{text}");
    let (code, text) = silas.restore(&["--replace"]);
    assert!(code != 0 && text.contains("Stop Silas first"), "{text}");
    silas.terminate();

    let sound = std::fs::read(silas.file()).unwrap();
    let before = std::fs::read(silas.data().join("epoch")).unwrap();
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 1;
    for damaged in [&flipped[..], &sound[..sound.len() - 1], b"something else"] {
        std::fs::write(silas.file(), damaged).unwrap();
        let (code, text) = silas.restore(&["--replace"]);
        assert!(code != 0 && text.contains("Nothing was restored"), "{text}");
        assert_eq!(std::fs::read(silas.data().join("epoch")).unwrap(), before);
    }
    let beside = std::fs::read_dir(silas.outside()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = beside.into_iter().filter(|name| name.to_string_lossy().contains("restoring")).collect();
    assert!(left.is_empty(), "{left:?}");
    silas.up(&[]);
    drop(silas.line());
    silas.assert_ledger_holds();
}

/// The epoch lies outside the database; losing it must not bring approvals of before back to life.
#[test]
fn a_lost_epoch_is_not_taken_for_the_first() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.back_up();
    silas.terminate();
    assert_eq!(silas.restore(&["--replace"]).0, 0);
    silas.up(&[]);
    drop(silas.line());
    silas.terminate();
    std::fs::remove_file(silas.data().join("epoch")).unwrap();
    silas.up(&[]);
    silas.await_death();
}
