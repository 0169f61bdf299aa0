//! The owner edits what the work changed too: nothing is applied, both versions are shown, and they are merged, done again or
//! dropped. Whatever is pressed, only checks and a decision about their result put anything in place.

use crate::harness::{Gone, Line, Silas};
use crate::traces::Traces;
use silas_core::card::{Card, CardKind, CardState, Press, Risk};
use silas_core::changeset::DiffLine;
use silas_core::check::Outcome;
use silas_core::fail::FailPoint;
use silas_core::token::{Kind, Verdict};
use std::fs;
use std::path::Path;

const LINES: &str = "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\n";

const CHECK: &str = "grep -q DONE notes.txt && ! grep -q veto notes.txt";

fn wish(silas: &Silas, run: &str) -> String {
    silas.planned(run, &["notes.txt"], CHECK)
}

const MARK_LINE_8: &str = "sed -i \"s/line 8/line 8 DONE/\" notes.txt";
const MARK_LINE_3: &str = "sed -i \"3s/$/ DONE/\" notes.txt";

fn notes(silas: &Silas) -> String {
    fs::read_to_string(silas.repo().join("notes.txt")).unwrap()
}

fn save(silas: &Silas, text: &str) {
    fs::write(silas.repo().join("notes.txt"), text).unwrap();
}

/// A result waits; the owner edits; and what waited is to be applied all the same.
fn met(silas: &Silas, run: &str, edit: impl FnOnce(&Path)) -> (Line, Card) {
    save(silas, LINES);
    silas.pair();
    let mut line = silas.line();
    line.say(&wish(silas, run)).unwrap();
    line.approve(CardKind::Root).unwrap();
    let result = line.card(CardKind::Rehearsed).unwrap();
    edit(&silas.repo());
    let edited = silas.tree();
    assert!(line.decide(&result, Verdict::Approved).unwrap().0);
    let card = line.card(CardKind::Conflict).unwrap();
    assert_eq!((silas.tree(), kept(silas, "work")), (edited, 0), "nothing was applied, and the copy is gone");
    (line, card)
}

fn kept(silas: &Silas, what: &str) -> usize {
    fs::read_dir(silas.data().join("launcher").join(what)).unwrap().count()
}

fn presses(card: &Card) -> Vec<(Press, &str)> {
    card.face.ctas.iter().map(|cta| (cta.press, cta.label.as_str())).collect()
}

fn says(card: &Card) -> &str {
    &card.face.versions.as_ref().unwrap().says
}

fn approve(line: &mut Line, card: &Card) {
    let (recorded, message) = line.decide(card, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    line.wait(|line| !line.cards.iter().any(|open| open.id == card.id)).unwrap();
}

const MERGE: (Press, &str) = (Press::Approve, "Merge both, check again");
const REDO: (Press, &str) = (Press::Redo, "Redo on my version");
const REDO_FIRST: (Press, &str) = (Press::Approve, "Redo on my version");
const DROP: (Press, &str) = (Press::Decline, "Drop Silas's change");

#[test]
fn edits_apart_are_merged_checked_applied_and_undone() {
    merged_applied_and_undone(&Silas::start());
}

#[test]
fn edits_apart_are_merged_in_whole_copies_too() {
    merged_applied_and_undone(&Silas::start_with(&[("SILAS__SANDBOX__LAYERED_COPIES", "false")]));
}

fn merged_applied_and_undone(silas: &Silas) {
    let mine = LINES.replace("line 2", "line 2, mine");
    let (mut line, card) = met(silas, MARK_LINE_8, |repo| fs::write(repo.join("notes.txt"), &mine).unwrap());
    assert_eq!(
        (card.face.intent.as_str(), card.face.risk),
        ("The same file was changed meanwhile", Some(Risk::Medium))
    );
    assert_eq!(says(&card), "Your lines and Silas's in `notes.txt` do not touch. Yours is in place and safe.");
    let shown = &card.face.versions.as_ref().unwrap().shown;
    assert_eq!((shown[0].whose.as_str(), &shown[0].lines[..]), ("You", &["line 2, mine".to_owned()][..]));
    assert_eq!((shown[1].whose.as_str(), &shown[1].lines[..]), ("Silas, in the copy", &["line 8 DONE".to_owned()][..]));
    assert!(shown[0].at.is_some() && card.face.diffs.len() == 1);
    assert_eq!(presses(&card), [MERGE, REDO, DROP]);
    assert_eq!(card.offer.as_ref().unwrap().kind, Kind::Rehearsal);
    assert_eq!(kept(silas, "merges"), 1);

    let edited = silas.tree();
    approve(&mut line, &card);
    let result = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!((silas.tree(), kept(silas, "merges")), (edited.clone(), 0), "merging applies nothing");
    assert_eq!(result.face.intent, "Apply 1 changed file to repo");
    assert_eq!(result.face.evidence.as_ref().unwrap().outcome, Outcome::Proved);
    assert_eq!(result.offer.as_ref().unwrap().kind, Kind::Apply);
    approve(&mut line, &result);
    let done = line.card(CardKind::Done).unwrap();
    assert_eq!(notes(silas), mine.replace("line 8", "line 8 DONE"));
    silas.assert_proof_travels();
    approve(&mut line, &done);
    assert_eq!(silas.tree(), edited);
    silas.assert_ledger_holds();
}

#[test]
fn edits_of_the_same_line_are_done_again_on_the_owners_version() {
    let silas = Silas::start();
    let mine = LINES.replace("line 3", "my third line");
    let (mut line, card) = met(&silas, MARK_LINE_3, |repo| fs::write(repo.join("notes.txt"), &mine).unwrap());
    assert_eq!(says(&card), "Line 3 of `notes.txt` has two new versions. Yours is in place and safe.");
    let compared = &card.face.versions.as_ref().unwrap().compare[0];
    for line in [DiffLine::Removed("my third line".to_owned()), DiffLine::Added("line 3 DONE".to_owned())] {
        assert!(compared.lines.contains(&line), "{compared:?}");
    }
    assert_eq!(presses(&card), [REDO_FIRST, DROP]);
    assert_eq!(kept(&silas, "merges"), 0, "nothing is kept that cannot be merged");
    approve(&mut line, &card);
    let result = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!(notes(&silas), mine);
    approve(&mut line, &result);
    line.card(CardKind::Done).unwrap();
    assert_eq!(notes(&silas), mine.replace("my third line", "my third line DONE"));
    silas.assert_ledger_holds();
}

/// A plan that was to be applied when green is applied when green the second time, too; its first time was met by an edit.
#[test]
fn a_plan_is_done_again_as_it_was_approved() {
    let silas = Silas::start_asking();
    save(&silas, LINES);
    let gate = silas.outside().join("gate");
    fs::create_dir(&gate).unwrap();
    fs::write(gate.join("go"), "no").unwrap();
    let mut line = silas.line();
    let run = format!("{MARK_LINE_8}; while ! grep -q yes {}/go; do sleep 0.02; done", gate.display());
    let reads = format!("    - {{ path: {}, access: read }}\n---", gate.display());
    let wish = wish(&silas, &run).replacen("\n---\n", &format!("\n{reads}\n"), 1);
    line.say(&wish).unwrap();
    for _ in ["the repository", "the gate"] {
        let root = line.card(CardKind::Root).unwrap();
        approve(&mut line, &root);
    }
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.values().any(|work| work["steps"][2]["state"] == "running")).unwrap();
    let mine = LINES.replace("line 1\n", "line 1, mine\n");
    save(&silas, &mine);
    fs::write(gate.join("go"), "yes").unwrap();
    let card = line.card(CardKind::Conflict).unwrap();
    assert_eq!(presses(&card), [MERGE, REDO, DROP], "{}", says(&card));
    let (recorded, message) = line.redo(&card).unwrap();
    assert!(recorded, "{message}");
    line.card(CardKind::Done).unwrap();
    assert_eq!(notes(&silas), mine.replace("line 8", "line 8 DONE"));
    assert_eq!(kept(&silas, "merges"), 0, "what was kept for a merge went");
    silas.assert_ledger_holds();
}

#[test]
fn a_merge_that_turns_a_check_red_is_told_and_not_applied() {
    let silas = Silas::start();
    let mine = LINES.replace("line 1\n", "veto\n");
    let (mut line, card) = met(&silas, MARK_LINE_8, |repo| fs::write(repo.join("notes.txt"), &mine).unwrap());
    let edited = silas.tree();
    approve(&mut line, &card);
    let report = line.card(CardKind::Report).unwrap();
    assert_eq!(report.face.intent, "The check is still red");
    assert_eq!((silas.tree(), kept(&silas, "merges"), kept(&silas, "work")), (edited, 0, 0));
    silas.assert_ledger_holds();
}

#[test]
fn what_is_no_text_and_what_one_side_deleted_is_not_merged() {
    let other = "printf DONE >> notes.txt; printf \"b\\0b\" > picture";
    let removes = "printf DONE >> notes.txt; rm gone.txt";
    for (run, file, mine, said) in [
        (other, "picture", Some("c\0c"), "Both versions of `picture` are new, and not text to compare."),
        (MARK_LINE_8, "notes.txt", None, "You deleted `notes.txt`, and Silas changed it. It stays deleted."),
        (removes, "gone.txt", Some("mine\n"), "Silas would delete `gone.txt`, which you edited."),
    ] {
        let silas = Silas::start();
        fs::write(silas.repo().join("picture"), "a\0a").unwrap();
        let (mut line, card) = met(&silas, run, |repo| match mine {
            Some(mine) => fs::write(repo.join(file), mine).unwrap(),
            None => fs::remove_file(repo.join(file)).unwrap(),
        });
        assert!(says(&card).starts_with(said), "{}", says(&card));
        assert_eq!(presses(&card), [REDO_FIRST, DROP]);
        assert_eq!(kept(&silas, "merges"), 0);
        let (recorded, message) = line.decide(&card, Verdict::Declined).unwrap();
        assert_eq!((recorded, message.as_str()), (true, "Dropped. Your version stays as it is."));
        assert_eq!(fs::read(silas.repo().join(file)).ok(), mine.map(|mine| mine.as_bytes().to_vec()));
        silas.assert_ledger_holds();
    }
}

#[test]
fn an_edit_before_and_after_the_merge_is_a_conflict_again_and_nothing_is_lost() {
    let silas = Silas::start();
    let first = LINES.replace("line 2", "line 2, mine");
    let (mut line, card) = met(&silas, MARK_LINE_8, |repo| fs::write(repo.join("notes.txt"), &first).unwrap());
    // Before it is merged.
    let second = first.replace("line 5", "line 5, mine too");
    save(&silas, &second);
    approve(&mut line, &card);
    let again = line.card(CardKind::Conflict).unwrap();
    assert_eq!((notes(&silas), presses(&again)), (second.clone(), vec![MERGE, REDO, DROP]));
    assert_eq!(kept(&silas, "merges"), 1, "the new one, and not the old");
    approve(&mut line, &again);
    let result = line.card(CardKind::Rehearsed).unwrap();
    // While the result waits.
    let third = second.replace("line 9", "line 9, at last");
    save(&silas, &third);
    approve(&mut line, &result);
    let last = line.card(CardKind::Conflict).unwrap();
    assert_eq!(notes(&silas), third);
    assert_eq!(presses(&last), [REDO_FIRST, DROP], "side by side with what Silas wrote: {}", says(&last));
    approve(&mut line, &last);
    let result = line.card(CardKind::Rehearsed).unwrap();
    approve(&mut line, &result);
    line.card(CardKind::Done).unwrap();
    assert_eq!(notes(&silas), third.replace("line 8", "line 8 DONE"));
    silas.assert_ledger_holds();
}

/// Both versions are kept for a day. Who answers later is asked without them, and the ledger knows the new words.
#[test]
fn what_nobody_answered_asks_without_the_merge_and_the_ledger_knows_its_words() {
    let mut silas = Silas::start();
    let (line, card) = met(&silas, MARK_LINE_8, |repo| {
        fs::write(repo.join("notes.txt"), LINES.replace("line 2", "line 2, mine")).unwrap();
    });
    assert_eq!(presses(&card)[0], MERGE);
    drop(line);
    silas.terminate();
    let late = "UPDATE cards SET expires_at = 1,
                card = json_set(card, '$.offer.expires_at', '1970-01-01T00:00:00.000001Z') WHERE id = ?1";
    let database = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    assert_eq!(database.execute(late, [card.id.as_str()]).unwrap(), 1);
    drop(database);
    silas.up(&[]);
    let mut line = silas.line();
    line.wait(|line| line.cards.iter().any(|kept| kept.id == card.id && kept.state == CardState::Parked)).unwrap();
    let parked = line.cards.iter().find(|kept| kept.id == card.id).unwrap().clone();
    assert_eq!(presses(&parked)[0], REDO_FIRST);
    assert_ne!(parked.face, card.face);
    for command in [&["audit", "verify"][..], &["doctor"]] {
        let (_, text) = silas.command(command);
        assert!(!text.contains("does not show what was offered"), "{command:?}: {text}");
    }
    assert_eq!(silas.command(&["audit", "verify"]).0, 0);
}

#[test]
fn a_conflict_is_answered_once() {
    let silas = Silas::start();
    let mine = LINES.replace("line 2", "line 2, mine");
    let (mut line, card) = met(&silas, MARK_LINE_8, |repo| fs::write(repo.join("notes.txt"), &mine).unwrap());
    let mut other = silas.line();
    // A button that the card has not, and another card's payload behind a button that it has.
    let swapped = Card { offer: card.instead.as_ref().map(|instead| instead.offer.clone()), ..card.clone() };
    let declined = other.decide(&swapped, Verdict::Declined).unwrap();
    assert!(!declined.0, "{}", declined.1);
    approve(&mut line, &card);
    for (recorded, message) in [other.redo(&card).unwrap(), other.decide(&card, Verdict::Approved).unwrap()] {
        assert!(!recorded && message.contains("answered already"), "{message}");
    }
    other.send(&serde_json::json!({ "type": "dismiss", "request_id": card.id })).unwrap();
    let dropped = other.wait_for("decided").unwrap();
    assert_eq!(dropped["recorded"], false, "{dropped}");
    line.card(CardKind::Rehearsed).unwrap();
    silas.assert_ledger_holds();
}

#[test]
fn the_terminal_shows_both_versions_and_answers() {
    let silas = Silas::start();
    let mine = LINES.replace("line 2", "line 2, mine");
    let (line, _) = met(&silas, MARK_LINE_8, |repo| fs::write(repo.join("notes.txt"), &mine).unwrap());
    drop(line);
    let (code, text) = silas.command(&["review"]);
    assert!(code == 0 && text.contains("1  The same file was changed meanwhile  (◆ Medium risk)"), "{text}");
    let (code, text) = silas.command(&["work", "show"]);
    assert_eq!(code, 0, "{text}");
    let (_, shown) = silas.command(&["show"]);
    for text in [text, shown] {
        for said in ["+ line 2, mine", "Silas, in the copy", "+ line 8 DONE", "silas redo", "Drop Silas's change"] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }
    let (code, text) = silas.command_with(&["chat"], &[], "1\ny\n");
    assert!(code == 0 && text.contains("Merge both, check again"), "{text}");
    silas.line().card(CardKind::Rehearsed).unwrap();
    let (code, text) = silas.command(&["approve"]);
    assert!(code == 0 && text.contains("1 file changed in repo"), "{text}");
    assert_eq!(notes(&silas), mine.replace("line 8", "line 8 DONE"));
}

/// Answers whatever waits until the merge is in place.
fn live_on(silas: &Silas, line: &mut Line) -> Result<(), Gone> {
    loop {
        let open = line.cards.iter().find(|card| card.state == CardState::Open && card.offer.is_some()).cloned();
        match open {
            Some(card) if card.face.kind == CardKind::Done => return Ok(()),
            Some(card) => {
                let (recorded, message) = line.decide(&card, Verdict::Approved)?;
                assert!(recorded, "{:?}: {message}", card.face.kind);
                line.wait(|line| !line.cards.iter().any(|open| open.id == card.id))?;
            }
            None => drop(line.next()?),
        }
        assert!(notes(silas).contains("line 2, mine"), "the owner's edit stands at every instant");
    }
}

fn crash_from(silas: &mut Silas, point: FailPoint) {
    silas.terminate();
    silas.up(&[("SILAS_FAIL_AT", &point.name())]);
    let first_life = Line::open(&silas.data()).and_then(|mut line| live_on(silas, &mut line));
    assert!(first_life.is_err(), "{point:?} was never reached");
    silas.await_death();
    Traces::of(silas).assert_nothing_runs(&format!("{point:?}"));
    assert!(notes(silas).contains("line 2, mine"), "{point:?}");
    silas.up(&[]);
    silas.assert_ledger_holds();
    live_on(silas, &mut silas.line()).unwrap();
    assert_eq!(notes(silas), LINES.replace("line 2", "line 2, mine").replace("line 8", "line 8 DONE"), "{point:?}");
    assert_eq!(kept(silas, "work"), 0, "{point:?}: a copy was left behind");
    silas.assert_ledger_holds();
}

/// The plug is pulled when both versions are kept and no card says so yet.
pub(crate) fn crash_meeting(point: FailPoint) {
    let mut silas = Silas::start();
    save(&silas, LINES);
    silas.pair();
    let mut line = silas.line();
    line.say(&wish(&silas, MARK_LINE_8)).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.card(CardKind::Rehearsed).unwrap();
    drop(line);
    save(&silas, &LINES.replace("line 2", "line 2, mine"));
    crash_from(&mut silas, point);
}

/// The plug is pulled on the way from the card to the merged result.
pub(crate) fn crash_merging(point: FailPoint) {
    let mut silas = Silas::start();
    let mine = LINES.replace("line 2", "line 2, mine");
    let (line, _) = met(&silas, MARK_LINE_8, |repo| fs::write(repo.join("notes.txt"), &mine).unwrap());
    drop(line);
    crash_from(&mut silas, point);
}
