//! The buttons of a conflict against what they would sign.

use super::*;
use silas_core::token::Offer;
use silas_core::work::{Definition, Merging};
use silas_core::{CardId, Digest, Timestamp, TokenId, plan};

const PLAN: &str = "---\nid: task-1\ntype: task\ntitle: Tides\nsteps:\n  - run: sh fix.sh\nsandbox:\n  directories:\n    - { path: /home/mira/tidepool, access: write }\n---\n";

fn execution() -> ExecutionId {
    ExecutionId::derive(&TokenId::of(&Digest::of(b"token")), 0)
}

fn plans() -> (WorkItem, WorkItem) {
    let redo = plan::parse(PLAN.as_bytes()).unwrap();
    let merges = Some(Merging { execution: execution(), changeset: Digest::of(b"both") });
    let merge = WorkItem::new(Definition { merges, ..redo.definition().clone() }).unwrap();
    (merge, redo)
}

fn offer(kind: Kind, payload: &str) -> Offer {
    let value = serde_json::json!({
        "v": 1, "kind": kind, "scope": kind.scope(), "installation": "inst-1", "epoch": 0, "work_item_id": "task-1",
        "plan_hash": Digest::of(payload.as_bytes()), "shown": Digest::of(b""), "nonce": "n-1",
        "issued_at": Timestamp::EPOCH, "expires_at": Timestamp::EPOCH, "max_executions": 1, "approval_strength": "tap",
        "conditions": {},
    });
    serde_json::from_value(value).unwrap()
}

fn card(merge: Option<&WorkItem>, redo: (&WorkItem, Kind)) -> Card {
    let ways = Ways { merge, redo };
    let face = Face {
        kind: CardKind::Conflict,
        risk: Some(risk_of(ways)),
        state: String::new(),
        intent: String::new(),
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: String::new(),
        asked: None,
        quote: None,
        details_title: String::new(),
        details: Vec::new(),
        diffs: Vec::new(),
        ctas: ctas(ways, "tidepool"),
    };
    let redo_text = redo.0.canonical().unwrap();
    let (payload, kind) = merge.map_or((redo_text.clone(), redo.1), |m| (m.canonical().unwrap(), Kind::Rehearsal));
    let instead = merge.map(|_| silas_core::card::Instead { offer: offer(redo.1, &redo_text), payload: redo_text });
    Card {
        id: CardId::parse("card-1").unwrap(),
        state: silas_core::card::CardState::Open,
        created_at: Timestamp::EPOCH,
        face,
        offer: Some(offer(kind, &payload)),
        show_first: None,
        instead,
        payload: Some(payload),
        input: None,
        test_call: false,
        execution: None,
    }
}

#[test]
fn the_buttons_are_about_what_is_asked_for() {
    let (merge, redo) = plans();
    let both = card(Some(&merge), (&redo, Kind::Plan));
    let only = card(None, (&redo, Kind::Rehearsal));
    assert!(shows_what_it_asks(&both) && shows_what_it_asks(&only));
    // A merge that would be applied without being shown, and plans that are not what their buttons say.
    let mut applied = both.clone();
    applied.offer.as_mut().unwrap().kind = Kind::Plan;
    assert!(!shows_what_it_asks(&applied));
    assert!(!shows_what_it_asks(&Card { payload: only.payload.clone(), ..both.clone() }));
    assert!(!shows_what_it_asks(&Card { instead: None, ..both.clone() }));
    assert!(!shows_what_it_asks(&Card { face: only.face.clone(), ..both.clone() }));
    let mut calm = only.clone();
    calm.face.risk = Some(Risk::Low);
    assert!(!shows_what_it_asks(&calm));
    // A plan that is applied when green may not say that it is shown first.
    let mut hasty = only.clone();
    hasty.offer.as_mut().unwrap().kind = Kind::Plan;
    assert!(!shows_what_it_asks(&hasty));
}

#[test]
fn what_is_kept_no_longer_is_not_offered() {
    let (merge, redo) = plans();
    let both = card(Some(&merge), (&redo, Kind::Plan));
    let late = Words::new(None).conflict_without_merge(&both.face, (&redo, Kind::Plan));
    assert_eq!(late.ctas, ctas(Ways { merge: None, redo: (&redo, Kind::Plan) }, "tidepool"));
}

/// One that asks for one thing; what is offered instead is not in the ledger.
#[test]
fn the_buttons_of_an_earlier_version_are_worded_again() {
    let (merge, redo) = plans();
    let today = |card: &Card| Conflict.worded(&Words::new(None), card);
    let only = card(None, (&redo, Kind::Plan));
    let mut earlier = only.clone();
    earlier.face.ctas[0].consequence = "Runs the plan again.".to_owned();
    assert!(!shows_what_it_asks(&earlier));
    assert_eq!(today(&earlier), Some(only.face));
    earlier.face.risk = Some(Risk::Low);
    assert_eq!(today(&earlier), None, "that is not about words");
    assert_eq!(today(&card(Some(&merge), (&redo, Kind::Plan))), None);
}

#[test]
fn a_path_in_a_sentence_is_shortened_at_a_directory() {
    let check = |path: &str, expect: &str| assert_eq!(shortened(path), expect);
    check("tides/report.py", "tides/report.py");
    check("a-directory-with-a-long-name/below/it/report.py", "…/below/it/report.py");
    check(&"x".repeat(40), &format!("{}…", "x".repeat(31)));
}
