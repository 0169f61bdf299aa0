//! Rehearsals in the engine: spent from the house rules as they were signed, and no further; and a plan's other answer.

use crate::world::{LASTS, World, answer, certificate, face, plan};
use silas_approval::{Admitted, Refusal, Rehearsal};
use silas_core::card::{Card, Cta, Face, Press};
use silas_core::evidence;
use silas_core::execution::ExecutionState;
use silas_core::house_rules::HouseRules;
use silas_core::rehearsal::WAITING_MAX;
use silas_core::token::Verdict;
use silas_core::work::{Budget, Definition, WorkItem, WorkState};
use silas_core::{Clock, ExecutionId, MessageId, Scope, TokenId, WorkItemId};
use silas_store::{Commit, executions, tokens, work_items};

impl World {
    /// The browser of key 2 signs the house rules, as pairing does.
    fn sign_house_rules(&self) -> TokenId {
        let (offer, _) = self.engine.offer_house_rules(&HouseRules::current().pairing_face()).unwrap();
        let token = answer(2, &offer, Verdict::Approved);
        let engine = self.engine.clone();
        let signing = self.store.write(move |tx| Ok(Commit(engine.record_house_rules(tx, &certificate(2), &token)?)));
        signing.wait().unwrap().unwrap()
    }

    /// Begins a rehearsal and keeps its plan, as a turn does.
    fn rehearse(&self, item: &WorkItem) -> Result<ExecutionId, Refusal> {
        let (engine, item, now) = (self.engine.clone(), item.clone(), self.clock.now());
        let beginning = self.store.write(move |tx| {
            let begun = engine.rehearse(tx, &item)?;
            if begun.is_ok() {
                let trace = MessageId::parse("msg-1").unwrap();
                work_items::insert(tx, &Scope::Owner, &item, &WorkState::new(now), &trace, now)?;
            }
            Ok(Commit(begun.map(|approved| approved.execution().clone())))
        });
        beginning.wait().unwrap()
    }

    fn end(&self, execution: &ExecutionId, state: ExecutionState) {
        let (execution, now) = (execution.clone(), self.clock.now());
        let ending = self.store.write(move |tx| Ok(Commit(executions::set_state(tx, &execution, state, now)?)));
        assert!(ending.wait().unwrap());
    }
}

fn numbered(n: u32, change: impl FnOnce(&mut Definition)) -> WorkItem {
    let mut definition = plan("true").definition().clone();
    definition.id = WorkItemId::parse(&format!("task-{n}")).unwrap();
    change(&mut definition);
    WorkItem::new(definition).unwrap()
}

#[test]
fn the_house_rules_are_spent_one_by_one() {
    let world = World::new();
    assert_eq!(world.rehearse(&numbered(1, |_| {})), Err(Refusal::NoToken), "nobody has signed them");
    let rules = world.sign_house_rules();
    for n in 0..3 {
        let begun = world.rehearse(&numbered(n, |_| {})).unwrap();
        assert_eq!(begun, ExecutionId::derive(&rules, n));
    }
    assert_eq!(world.spent(&rules), (3, 3));
    assert_eq!(world.audit().problem(), None);
    // Begun again after a restart it is the same one, with its own plan; a plan that was exchanged meanwhile is refused.
    let first = ExecutionId::derive(&rules, 0);
    assert_eq!(world.readmit(&first), Ok(first.clone()));
    let (engine, id) = (world.engine.clone(), first.clone());
    let admitted = world.store.read(move |tx| Ok(engine.readmit(tx, &id)?)).wait().unwrap().unwrap();
    assert!(matches!(admitted, Admitted::Rehearsal(_)), "and never a plan that could be applied");
    world.end(&first, ExecutionState::Ended);
    assert_eq!(world.readmit(&first), Err(Refusal::Terminal));
}

#[test]
fn what_the_rules_do_not_cover_is_asked_about() {
    let world = World::new();
    let rules = world.sign_house_rules();
    let refused = |item: &WorkItem| match world.rehearse(item) {
        Err(Refusal::Evidence(evidence::Refusal::HouseRules(why))) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(&numbered(1, |d| d.commits = true)).contains("commits"));
    let long = numbered(2, |d| d.budget = Budget { max_wall_time_seconds: 601, ..Budget::default() });
    assert!(refused(&long).contains("more time"));
    let elsewhere = numbered(3, |d| d.directories[0].path = "/home/owner/other".to_owned());
    let not_allowed = evidence::Refusal::Root("/home/owner/other".to_owned());
    assert_eq!(world.rehearse(&elsewhere), Err(not_allowed.into()));
    assert_eq!(world.spent(&rules), (0, 0));
}

#[test]
fn a_day_has_its_budget_and_so_has_waiting() {
    let world = World::new();
    let rules = world.sign_house_rules();
    let per_day = HouseRules::current().rehearsals().unwrap().per_day;
    for n in 0..per_day {
        let begun = world.rehearse(&numbered(n, |_| {})).unwrap();
        world.end(&begun, ExecutionState::Ended);
    }
    assert_eq!(world.rehearse(&numbered(per_day, |_| {})), Err(Refusal::Spent));
    world.clock.set_secs(24 * 3600 + 1);
    for n in 0..WAITING_MAX {
        let begun = world.rehearse(&numbered(per_day + n, |_| {})).unwrap();
        world.end(&begun, ExecutionState::Rehearsed);
    }
    assert_eq!(world.rehearse(&numbered(999, |_| {})), Err(Refusal::TooManyWait));
    assert_eq!(world.spent(&rules), (per_day + WAITING_MAX, (per_day + WAITING_MAX) as usize));
}

#[test]
fn rules_that_were_taken_back_or_ran_out_allow_nothing() {
    let world = World::new();
    let rules = world.sign_house_rules();
    let now = world.clock.now();
    let taken = rules.clone();
    world.store.write(move |tx| Ok(Commit(tokens::revoke(tx, &taken, now)?))).wait().unwrap();
    assert_eq!(world.rehearse(&numbered(1, |_| {})), Err(Refusal::NoToken));
    let world = World::new();
    world.sign_house_rules();
    world.clock.set_secs(366 * 24 * 3600);
    assert_eq!(world.rehearse(&numbered(1, |_| {})), Err(Refusal::NoToken));
}

/// A plan's card with its other answer.
fn with_both(world: &World) -> Card {
    let item = plan("true");
    let press = |press: Press| Cta { press, label: String::new(), consequence: String::new() };
    let ctas = vec![press(Press::Approve), press(Press::Rehearse), press(Press::Decline)];
    let face = Face { ctas, ..face("Run 1 command") };
    let card = world.ask(&item);
    let offer = world.engine.offer(item.id().as_str(), &item, &face, LASTS).unwrap();
    let other = world.engine.offer(item.id().as_str(), &Rehearsal(item.clone()), &face, LASTS).unwrap();
    Card { face, offer: Some(offer), show_first: Some(other), ..card }
}

#[test]
fn shown_first_is_another_approval_and_not_a_smaller_one() {
    let world = World::new();
    let card = with_both(&world);
    let other = card.show_first.clone().unwrap();
    assert_eq!(world.record(&card, &answer(2, &other, Verdict::Declined)), Err(Refusal::NotOffered));
    let token = world.record(&card, &answer(2, &other, Verdict::Approved)).unwrap();
    // It is no approval of the plan itself.
    assert_eq!(world.authorize(&token, plan("true")), Err(evidence::Refusal::Kind.into()));
    let engine = world.engine.clone();
    let spending = world.store.write(move |tx| {
        let begun = engine.authorize(tx, &token, Rehearsal(plan("true")))?;
        Ok(Commit(begun.map(|approved| approved.execution().clone())))
    });
    let begun = spending.wait().unwrap().unwrap();
    assert_eq!(world.readmit(&begun), Ok(begun));
    assert_eq!(world.audit().problem(), None);
}

#[test]
fn a_card_without_that_button_has_no_other_answer() {
    let world = World::new();
    let mut card = with_both(&world);
    card.face.ctas.remove(1);
    let shown = card.face.hash().unwrap();
    for offer in [card.offer.as_mut(), card.show_first.as_mut()] {
        offer.unwrap().shown = shown;
    }
    let other = card.show_first.clone().unwrap();
    assert_eq!(world.record(&card, &answer(2, &other, Verdict::Approved)), Err(Refusal::NotOffered));
    let none = Card { show_first: None, ..card };
    assert_eq!(world.record(&none, &answer(2, &other, Verdict::Approved)), Err(Refusal::OtherOffer));
}
