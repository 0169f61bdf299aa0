//! What cannot be put in place to its end: the owner finds everything old, or is told which files are new, and nothing of it
//! comes later by itself.

use crate::harness::{ASKING, Line, Silas};
use silas_core::card::{Card, CardKind};
use silas_core::fail::FailPoint;
use silas_core::token::Verdict;
use std::fs;
use std::process::Command;

fn start() -> Silas {
    let mut silas = Silas::start_with(&[ASKING]);
    fs::create_dir_all(silas.repo().join("src")).unwrap();
    silas.pair();
    silas.terminate();
    silas
}

/// Keeps a file where it is, or lets it go: by an attribute that root sets, or by a directory that nobody may write to.
fn hold(silas: &Silas, file: &str, is_held: bool) {
    use std::os::unix::fs::PermissionsExt;
    let path = silas.repo().join(file);
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let done = Command::new("chattr").arg(if is_held { "+i" } else { "-i" }).arg(&path).status().unwrap();
        assert!(done.success());
    } else {
        let mode = if is_held { 0o555 } else { 0o755 };
        fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// Applies with the plug pulled where the first file is in place and the others are not.
fn cut_off(silas: &mut Silas, point: FailPoint) {
    silas.up(&[("SILAS_FAIL_AT", &point.name())]);
    let wish = silas.wish();
    let life = Line::open(&silas.data()).and_then(|mut line| {
        line.run(&wish)?;
        let done = line.card(CardKind::Done)?;
        line.decide(&done, Verdict::Approved)?;
        line.wait_for("nothing that is ever said")
    });
    assert!(life.is_err(), "{point:?} was never reached");
    silas.await_death();
}

fn undo_card(line: &mut Line) -> Card {
    line.card(CardKind::Done).unwrap()
}

#[test]
fn what_cannot_be_finished_goes_back_and_never_comes_later() {
    let mut silas = start();
    let original = silas.tree();
    cut_off(&mut silas, FailPoint::ApplyHalfway);
    assert_ne!(silas.tree(), original);
    hold(&silas, "src/b.txt", true);
    silas.up(&[]);
    let mut line = silas.line();
    let ended = line.ended().unwrap();
    assert_eq!(ended["footer"], "Your files are untouched", "{ended}");
    assert_eq!(silas.tree(), original, "and so they are");
    let (code, said) = silas.command(&["stop", "--all"]);
    assert_eq!(code, 0, "{said}");
    silas.terminate();
    hold(&silas, "src/b.txt", false);
    silas.up(&[]);
    drop(silas.line());
    assert_eq!(silas.tree(), original, "nothing of it came later");
    silas.assert_ledger_holds();
}

#[test]
fn an_edit_after_an_interrupted_undo_stays_and_the_undo_can_be_asked_for_again() {
    let mut silas = start();
    let original = silas.tree();
    cut_off(&mut silas, FailPoint::UndoCommitted);
    let b = silas.repo().join("src/b.txt");
    let applied = fs::read_to_string(&b).unwrap();
    fs::write(&b, format!("{applied}# mine\n")).unwrap();
    let edited = silas.tree();
    silas.up(&[]);
    let mut line = silas.line();
    let card = undo_card(&mut line);
    assert_eq!(silas.tree(), edited, "nothing was put back over it");
    fs::write(&b, applied).unwrap();
    let (recorded, said) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(recorded, "{said}");
    line.wait(|line| line.work.values().any(|work| work["place"] == "Undone")).unwrap();
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}

#[test]
fn an_undo_that_cannot_be_done_is_refused_by_name_and_asked_again() {
    let mut silas = start();
    let original = silas.tree();
    silas.up(&[]);
    let mut line = silas.line();
    let wish = silas.wish();
    line.run(&wish).unwrap();
    let applied = silas.tree();
    hold(&silas, "src/b.txt", true);
    let card = undo_card(&mut line);
    let (recorded, said) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(!recorded && said.contains("src/b.txt"), "{said}");
    assert_eq!(silas.tree(), applied);
    hold(&silas, "src/b.txt", false);
    line.wait(|line| line.cards.iter().any(|open| open.face.kind == CardKind::Done && open.id != card.id)).unwrap();
    let (code, said) = silas.command(&["undo"]);
    assert_eq!((code, silas.tree()), (0, original), "{said}");
    silas.assert_ledger_holds();
}
