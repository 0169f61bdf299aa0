//! The plug is pulled while a command may be acting outside. It is not begun again: the owner is asked what is true.

use crate::harness::{Line, Silas};
use crate::traces::Traces;
use silas_core::card::{Card, CardKind, Press, Risk};
use silas_core::fail::FailPoint;
use silas_core::token::Verdict;
use std::net::TcpListener;

fn wish(silas: &Silas, port: u16) -> String {
    let hosts = format!("  hosts: [\"127.0.0.1:{port}\"]\n");
    let check = "grep -q Vienna zone.txt";
    silas.planned_with("echo Vienna > zone.txt", &["zone.txt"], check, &[&silas.repo()], &hosts)
}

/// Interrupted after the command had begun; the card that asks.
fn interrupted(point: FailPoint) -> (Silas, Line, Card) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut silas = Silas::start();
    silas.pair();
    let original = silas.tree();
    silas.terminate();
    silas.up(&[("SILAS_FAIL_AT", &point.name())]);
    let first_life = Line::open(&silas.data()).and_then(|mut line| {
        line.say(&wish(&silas, port))?;
        line.approve(CardKind::Root)?;
        line.approve(CardKind::Plan)?;
        line.ended()
    });
    assert!(first_life.is_err(), "{point:?} was never reached");
    silas.await_death();
    Traces::of(&silas).assert_nothing_runs(&format!("{point:?}"));
    silas.up(&[]);
    let mut line = silas.line();
    let card = line.card(CardKind::UnknownEffect).unwrap();
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
    (silas, line, card)
}

/// Not by itself again; "no" is a new approval of the same plan, and then it runs to its end.
pub(crate) fn crash_outside(point: FailPoint) {
    let (silas, mut line, card) = interrupted(point);
    assert_eq!(card.face.risk, Some(Risk::High));
    let presses: Vec<Press> = card.face.ctas.iter().map(|cta| cta.press).collect();
    assert_eq!(presses, [Press::Approve, Press::Look, Press::Decline]);
    let told = line.ask("what did you do?");
    assert!(told.contains("Interrupted while it may have acted outside"), "{told}");
    assert!(!told.contains("Began interrupted work again"), "{told}");
    line.work.clear();
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    let work = line.ended().unwrap();
    assert_eq!(work["outcome"], "proved", "{work}");
    silas.assert_ledger_holds();
    silas.assert_proof_travels();
    let left = std::fs::read_dir(silas.data().join("launcher/work")).unwrap().count();
    assert_eq!(left, 0, "a copy was left behind");
}

#[test]
fn it_happened_and_is_left_alone() {
    let (silas, mut line, card) = interrupted(FailPoint::StepsRun);
    let (code, text) = silas.command(&["show"]);
    assert!(code == 0 && text.contains("Did it happen?") && text.contains("silas decline  Yes, leave it"), "{text}");
    let (recorded, said) = line.decide(&card, Verdict::Declined).unwrap();
    assert!(recorded && said.contains("not done again"), "{said}");
    line.wait(|line| line.cards.iter().all(|open| open.id != card.id)).unwrap();
    assert!(line.work.values().all(|work| work["running"] == false), "{:?}", line.work);
    silas.assert_ledger_holds();
}
