//! What a model asked about a wish, and what was answered, is forgotten with any of their entries that is named, once
//! nothing needs it.

use crate::forgetting::{forget, is_on_disk, received, scrub};
use crate::repositories::{at, card, change, execution, trace, work_item};
use crate::world::{World, certificate, token};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::input::Input;
use silas_core::inquiry::Inquiry;
use silas_core::model::ModelName;
use silas_core::token::{Kind, Verdict};
use silas_core::work::WorkState;
use silas_core::{MessageId, Scope, Taint};
use silas_store::forgetting::{Forgotten, Need};
use silas_store::queue::{self, Name, NewMessage};
use silas_store::{Error, Store, Tx, cards, executions, tokens, work_items};
use std::time::Duration;

/// What the wish, the question and its options, and the answer say, wherever one looks.
const WISH: &str = "wish-for-the-safe-4711";
const QUESTION: &str = "question-about-the-safe-4712";
const OPTION: &str = "option-for-the-safe-4713";
const ANSWER: &str = "answer-about-the-safe-4714";
const LATER: &str = "later-question-about-the-safe-4715";

fn answer_id() -> MessageId {
    MessageId::parse("msg-2").unwrap()
}

/// The card that asks the `n`th time, with what the owner has said by then.
fn asking(n: u32, state: CardState) -> Card {
    let (wish, question) = if n == 0 { (WISH.to_owned(), QUESTION) } else { (format!("{WISH}\n\n{ANSWER}"), LATER) };
    let mut card = Card { offer: None, show_first: None, payload: None, ..card(10 + n, state) };
    card.face.kind = CardKind::Decision;
    card.face.asked = Some(wish.clone());
    card.input = Some(Input::Inquiry(Box::new(Inquiry {
        by: ModelName::parse("ollama:small").unwrap(),
        to: ModelName::parse("ollama:small").unwrap(),
        wish,
        question: question.to_owned(),
        options: vec![OPTION.to_owned(), "other".to_owned()],
        taint: Taint::Owner,
        expires_at: at(3600),
    })));
    card
}

/// The wish waits under the subject of the card, with all that was said about it.
fn waiting(tx: &mut Tx<'_>, queue: Name, key: &str) -> Result<(), Error> {
    let body =
        serde_json::json!({ "text": WISH, "handed": { "answered": [{ "question": QUESTION, "answer": ANSWER }] } });
    let id = MessageId::parse(&format!("msg-waiting-{}", key.len())).unwrap();
    let new = NewMessage {
        id,
        queue,
        scope: Scope::Owner,
        key: key.to_owned(),
        kind: queue::Kind::UserMessage,
        body,
        trace: trace(),
    };
    queue::enqueue(tx, &new)?;
    Ok(())
}

/// Where the entries of one conversation stand.
#[derive(Clone, Copy)]
struct Entries {
    wish: u64,
    question: u64,
    answer: u64,
    later: Option<u64>,
}

impl Entries {
    fn all(self) -> Vec<u64> {
        [self.wish, self.question, self.answer].into_iter().chain(self.later).collect()
    }
}

/// Whether the entry of an answer says about which wish it was.
#[derive(Clone, Copy, PartialEq)]
enum Written {
    Now,
    ByAnEarlierVersion,
}

/// A wish, a question about it, and its answer.
fn answered(store: &Store, written: Written) -> Entries {
    change(store, move |tx| {
        let wish = received(tx, &trace(), WISH)?;
        let card = asking(0, CardState::Open);
        cards::insert(tx, &Scope::Owner, &card, &Inquiry::subject_of(&trace(), 0))?;
        let question = tx.text(QUESTION)?;
        let question =
            tx.record(&AuditEvent::QuestionAsked { card: card.id.clone(), question, taint: Taint::Owner })?.seq;
        cards::update(tx, &asking(0, CardState::Answered))?;
        let answer = received(tx, &answer_id(), ANSWER)?;
        let named = (written == Written::Now).then(trace);
        let message = answer_id();
        tx.record(&AuditEvent::QuestionAnswered { card: card.id, message, is_chosen: false, wish: named })?;
        Ok(Entries { wish, question, answer, later: None })
    })
}

/// The same, and a second question that is open or not.
fn asked_again(store: &Store, state: CardState) -> Entries {
    let entries = answered(store, Written::Now);
    let later = change(store, move |tx| {
        let card = asking(1, state);
        cards::insert(tx, &Scope::Owner, &card, &Inquiry::subject_of(&trace(), 1))?;
        let question = tx.text(LATER)?;
        Ok(tx.record(&AuditEvent::QuestionAsked { card: card.id, question, taint: Taint::Owner })?.seq)
    });
    Entries { later: Some(later), ..entries }
}

/// The plan that came of it, which repeats what the owner said.
fn plan(store: &Store, state: CardState) {
    change(store, move |tx| {
        let item = work_item(&format!("{WISH} {ANSWER}"));
        work_items::insert(tx, &Scope::Owner, &item, &WorkState::new(at(0)), &trace(), at(0))?;
        let mut card = card(1, state);
        card.face.asked = Some(format!("{WISH}\n\n{ANSWER}"));
        cards::insert(tx, &Scope::Owner, &card, item.id().as_str())
    });
}

fn assert_gone(world: &World, texts: &[&str]) {
    for text in texts {
        assert!(!is_on_disk(world, text), "{text}");
    }
}

fn n_cards(store: &Store) -> usize {
    let found = store.read(|tx| {
        let mut n = 0;
        for n_asked in 0..2 {
            n += cards::find_by_subject(tx, &Scope::Owner, &Inquiry::subject_of(&trace(), n_asked))?.len();
        }
        Ok(n)
    });
    found.wait().unwrap()
}

#[test]
fn nothing_of_it_is_forgotten_while_a_question_waits() {
    for state in [CardState::Open, CardState::Parked] {
        let world = World::new();
        let store = world.open();
        let entries = asked_again(&store, state);
        change(&store, |tx| waiting(tx, Name::Waiting, &Inquiry::subject_of(&trace(), 1)));
        for seq in entries.all() {
            assert_eq!(forget(&store, seq), Forgotten::StillNeeded(Need::Card), "{seq}");
        }
        assert!(is_on_disk(&world, ANSWER) && n_cards(&store) == 2, "a refusal changes nothing");
    }
}

#[test]
fn nothing_of_it_is_forgotten_while_the_wish_is_being_planned() {
    for written in [Written::Now, Written::ByAnEarlierVersion] {
        let world = World::new();
        let store = world.open();
        let entries = answered(&store, written);
        change(&store, |tx| waiting(tx, Name::Turns, "owner"));
        for seq in entries.all() {
            assert_eq!(forget(&store, seq), Forgotten::StillNeeded(Need::UnderWay), "{seq}");
        }
        assert_eq!(n_cards(&store), 1);
        // Put aside, it is given up with all that it says.
        let backoff = queue::Backoff { first: Duration::ZERO, longest: Duration::ZERO };
        change(&store, move |tx| {
            loop {
                let lease = queue::lease(tx, Name::Turns, "test", at(0), Duration::from_secs(60), 1)?.remove(0).lease;
                if queue::nack(tx, &lease, at(0), backoff)? == queue::Nacked::Dead {
                    return Ok(());
                }
            }
        });
        assert_eq!(forget(&store, entries.answer), Forgotten::Done);
        assert!(store.read(|tx| queue::dead(tx, &Scope::Owner)).wait().unwrap().is_empty());
        assert_eq!(n_cards(&store), 0);
        assert!(scrub(&store));
        assert_gone(&world, &[ANSWER, OPTION]);
    }
}

#[test]
fn every_entry_takes_its_copies_along_in_whatever_order() {
    let of = |entries: Entries| [entries.wish, entries.question, entries.answer, entries.later.unwrap()];
    let said = [WISH, QUESTION, ANSWER, LATER];
    for first in 0..4 {
        let world = World::new();
        let store = world.open();
        let entries = of(asked_again(&store, CardState::Closed));
        for n in (0..4).map(|n| (first + n) % 4) {
            assert_eq!(forget(&store, entries[n]), Forgotten::Done, "{n} after {first}");
            assert!(scrub(&store));
            assert_gone(&world, &[said[n]]);
        }
        assert_gone(&world, &[OPTION]);
        assert_eq!(n_cards(&store), 0);
    }
}

#[test]
fn a_question_takes_its_own_card_and_leaves_what_came_of_it() {
    let world = World::new();
    let store = world.open();
    let entries = asked_again(&store, CardState::Answered);
    plan(&store, CardState::Open);
    assert_eq!(forget(&store, entries.question), Forgotten::Done);
    assert_eq!(n_cards(&store), 1);
    assert!(scrub(&store));
    assert_gone(&world, &[QUESTION]);
    // The answer is found to have led to the plan all the same.
    assert_eq!(forget(&store, entries.answer), Forgotten::StillNeeded(Need::Card));
    change(&store, |tx| cards::update(tx, &card(1, CardState::Closed)));
    assert_eq!(forget(&store, entries.answer), Forgotten::Done);
    assert!(scrub(&store));
    assert_gone(&world, &[ANSWER, OPTION]);
    assert!(is_on_disk(&world, WISH), "the wish has an entry of its own");
}

#[test]
fn an_answer_is_needed_by_the_work_that_it_led_to_and_goes_with_it() {
    let world = World::new();
    let store = world.open();
    let entries = answered(&store, Written::Now);
    plan(&store, CardState::Answered);
    let run = execution(0);
    let id = run.id.clone();
    change(&store, move |tx| {
        let signed = token(Kind::Plan, "n-1", 9, Verdict::Approved);
        tokens::insert(tx, &signed, &certificate(1), ANSWER, Some(&card(1, CardState::Open).id))?;
        let item = work_item(WISH);
        executions::insert(tx, &Scope::Owner, &executions::Execution { work_item: item.id().clone(), ..run.clone() })?;
        executions::set_result(tx, &run.id, &serde_json::json!({ "title": ANSWER }), None, Some(at(60)))
    });
    assert_eq!(forget(&store, entries.answer), Forgotten::StillNeeded(Need::UnderWay));
    let ended = id.clone();
    change(&store, move |tx| executions::set_state(tx, &ended, ExecutionState::Applied, at(1)));
    assert_eq!(forget(&store, entries.answer), Forgotten::StillNeeded(Need::Undo));
    change(&store, move |tx| silas_store::undo_records::close(tx, &id));
    assert_eq!(forget(&store, entries.answer), Forgotten::Done);
    assert!(scrub(&store));
    assert_gone(&world, &[ANSWER, OPTION]);
}

#[test]
fn forgetting_the_work_takes_the_questions_before_it_along() {
    let world = World::new();
    let store = world.open();
    asked_again(&store, CardState::Answered);
    plan(&store, CardState::Closed);
    let seq = change(&store, |tx| {
        let (offered, intent) = (crate::world::offer(Kind::Plan, "n-1", 1), tx.text(WISH)?);
        let (plan_hash, shown) = (offered.plan_hash, offered.shown);
        let card = card(1, CardState::Open).id;
        Ok(tx.record(&AuditEvent::CardOffered { card, kind: Kind::Plan, plan_hash, shown, intent })?.seq)
    });
    assert_eq!(forget(&store, seq), Forgotten::Done);
    assert_eq!(n_cards(&store), 0);
}

#[test]
fn a_message_beside_an_answer_is_not_taken_for_it() {
    let world = World::new();
    let store = world.open();
    let other = change(&store, |tx| received(tx, &MessageId::parse("msg-9").unwrap(), "something else"));
    asked_again(&store, CardState::Open);
    assert_eq!(forget(&store, other), Forgotten::Done);
    assert_eq!(n_cards(&store), 2);
}
