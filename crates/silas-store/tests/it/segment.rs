//! The part of the ledger about one piece of work: where it begins and ends, and what is handed out with it.

use crate::world::{World, certificate, started, token};
use silas_core::books::Beside;
use silas_core::check::Outcome;
use silas_core::event::{AuditEvent, Phase};
use silas_core::token::{Kind, Token, Verdict};
use silas_core::{CardId, Digest, ExecutionId, WorkItemId};
use silas_store::segment::{Wanted, segment};
use silas_store::{Commit, Error, Store, Tx, tokens};

fn decide(tx: &mut Tx<'_>, token: &Token, card: &str) -> Result<ExecutionId, Error> {
    let card = CardId::parse(card).unwrap();
    tokens::insert(tx, token, &certificate(1), "the plan", Some(&card))?;
    let (kind, id) = (token.body.offer.kind, token.id()?);
    let (verdict, key) = (token.body.verdict, token.body.key.clone());
    tx.record(&AuditEvent::DecisionRecorded { card, token: id.clone(), kind, verdict, key })?;
    let execution = ExecutionId::derive(&id, 0);
    let plan_hash = Digest::of(b"the plan");
    tx.record(&AuditEvent::TokenSpent { token: id, execution: execution.clone(), plan_hash, use_number: 0 })?;
    Ok(execution)
}

/// Two pieces of work side by side. Gives the entry at which the first began.
fn write(store: &Store, plan: &Token, other: &Token) -> u64 {
    let (plan, other) = (plan.clone(), other.clone());
    let writing = store.write(move |tx| {
        tx.record(&started("1"))?;
        let execution = decide(tx, &plan, "card-1")?;
        let title = tx.text("a title")?;
        let work_item = WorkItemId::parse("task-1").unwrap();
        let begun = tx.record(&AuditEvent::WorkStarted { work_item, execution: execution.clone(), title })?;
        let others = decide(tx, &other, "card-2")?;
        for execution in [&execution, &others] {
            let (execution, results) = (execution.clone(), tx.text("results")?);
            tx.record(&AuditEvent::ChecksRun { execution, when: Phase::Before, passed: 0, failed: 1, results })?;
        }
        let output = tx.text("printed")?;
        tx.record(&AuditEvent::StepRun { execution: execution.clone(), step: 0, exit_code: Some(0), output })?;
        let landed = Some(tx.text("what landed")?);
        let changeset = Digest::of(b"change");
        tx.record(&AuditEvent::WorkApplied { execution, changeset, files: 1, outcome: Outcome::Proved, landed })?;
        tx.record(&started("2"))?;
        Ok(Commit(begun.seq))
    });
    writing.wait().unwrap()
}

#[test]
fn it_goes_from_the_decision_to_the_end_and_brings_only_what_is_its_own() {
    let world = World::new();
    let store = world.open();
    let plan = token(Kind::Plan, "n-1", 1, Verdict::Approved);
    let started = write(&store, &plan, &token(Kind::Plan, "n-2", 1, Verdict::Approved));
    let id = plan.id().unwrap();
    let looking = store.read(move |tx| {
        let execution = ExecutionId::derive(&id, 0);
        let wanted = |is_undone| Wanted {
            token: &id,
            is_standing: false,
            applied_by: None,
            execution: &execution,
            started,
            is_undone,
        };
        Ok((segment(tx, &wanted(false))?, segment(tx, &wanted(true))?))
    });
    let (found, undone) = looking.wait().unwrap();
    assert!(undone.is_none(), "nothing says that it was undone");
    let found = found.unwrap();
    let told: Vec<(&str, bool, Option<&str>)> = found
        .iter()
        .map(|entry| {
            let has_decision = matches!(entry.beside, Some(Beside::Decision(_)));
            (entry.link.event.as_str(), has_decision, entry.text.as_ref().map(|text| text.text.as_str()))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("decision_recorded", true, None),
            ("token_spent", false, None),
            ("work_started", false, None),
            ("decision_recorded", false, None),
            ("token_spent", false, None),
            ("checks_run", false, Some("results")),
            ("checks_run", false, None),
            ("step_run", false, None),
            ("work_applied", false, Some("what landed")),
        ]
    );
    let seqs: Vec<u64> = found.iter().map(|entry| entry.link.seq).collect();
    assert_eq!(seqs, (2..=10).collect::<Vec<u64>>());
}

/// House rules were signed long before, so the part begins with their use; they lie beside it as they were then.
#[test]
fn work_under_the_house_rules_begins_with_their_use() {
    let world = World::new();
    let store = world.open();
    let rules = token(Kind::HouseRules, "n-1", 9, Verdict::Approved);
    let (id, signed) = (rules.id().unwrap(), rules.clone());
    let execution = ExecutionId::derive(&id, 1);
    let (token_id, run) = (id.clone(), execution.clone());
    let writing = store.write(move |tx| {
        tokens::insert(tx, &signed, &certificate(1), "the rules", None)?;
        let (token, plan_hash) = (&token_id, Digest::of(b"the rules"));
        for use_number in 0..3 {
            let execution = ExecutionId::derive(token, use_number);
            tx.record(&AuditEvent::TokenSpent { token: token.clone(), execution, plan_hash, use_number })?;
        }
        let (title, work_item) = (tx.text("a title")?, WorkItemId::parse("task-1").unwrap());
        let begun = tx.record(&AuditEvent::WorkStarted { work_item, execution: run.clone(), title })?;
        let (execution, changeset) = (run.clone(), Digest::of(b"change"));
        tx.record(&AuditEvent::WorkApplied { execution, changeset, files: 1, outcome: Outcome::Proved, landed: None })?;
        Ok(Commit(begun.seq))
    });
    let started = writing.wait().unwrap();
    let looking = store.read(move |tx| {
        let (token, execution, applied_by, is_undone) = (&id, &execution, None, false);
        let wanted = |is_standing| Wanted { token, is_standing, applied_by, execution, started, is_undone };
        Ok((segment(tx, &wanted(true))?, segment(tx, &wanted(false))?))
    });
    let (found, asked) = looking.wait().unwrap();
    assert!(asked.is_none(), "no card asked for it");
    let found = found.unwrap();
    let events: Vec<&str> = found.iter().map(|entry| entry.link.event.as_str()).collect();
    assert_eq!(events, ["token_spent", "token_spent", "work_started", "work_applied"]);
    let Some(Beside::Decision(beside)) = &found[0].beside else { panic!("{found:?}") };
    assert_eq!((&beside.token, beside.executions_used, &beside.card), (&rules, 1, &None));
    assert!(found[1..].iter().all(|entry| entry.beside.is_none()));
}
