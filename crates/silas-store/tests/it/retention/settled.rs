//! Settled questions and work go when they are old; nothing goes that something open still needs, and no decision.

use super::{at, prune};
use crate::repositories::{card, change, execution, trace, work_item};
use crate::world::{World, certificate, token};
use silas_core::card::{Card, CardState};
use silas_core::execution::ExecutionState;
use silas_core::message::{MessageBody, SignedMessage};
use silas_core::reflex::GRAMMAR;
use silas_core::session::Session;
use silas_core::signature::Signature;
use silas_core::task::{Ending, TaskCall};
use silas_core::token::{Kind, Token, Verdict};
use silas_core::work::WorkState;
use silas_core::{InstallationId, MessageId, Nonce, Scope, SessionId, Timestamp, TokenId};
use silas_store::executions::Execution;
use silas_store::queue::{self, Name, NewMessage};
use silas_store::retention::Pruned;
use silas_store::{
    Store, cards, channel_outbox, devices, executions, instructions, saga, sessions, tokens, undo_records, work_items,
};

/// Everything is older than this day, whatever the offers of the tests say.
const LATER: i64 = 100;

fn everything(store: &Store) -> Pruned {
    prune(store, LATER)
}

/// A plan with its question, its approval and its run, all settled long ago, but for what `change` makes of it.
fn plan(store: &Store, alter: impl Fn(&mut Execution, &mut Card) + Send + 'static) -> TokenId {
    change(store, move |tx| {
        let item = work_item("a plan");
        work_items::insert(tx, &Scope::Owner, &item, &WorkState::new(at(0)), &trace(), at(0))?;
        let signed = token(Kind::Plan, "n-1", 9, Verdict::Approved);
        let mut run = execution(0);
        (run.state, run.ended_at) = (ExecutionState::Ended, Some(at(0)));
        run.result = Some(serde_json::json!({ "shown": true }));
        let mut asked = card(1, CardState::Answered);
        alter(&mut run, &mut asked);
        cards::insert(tx, &Scope::Owner, &asked, item.id().as_str())?;
        tokens::insert(tx, &signed, &certificate(1), "plan", Some(&asked.id))?;
        executions::insert(tx, &Scope::Owner, &run)?;
        Ok(signed.id()?)
    })
}

#[test]
fn a_settled_plan_loses_its_card_and_its_result_and_keeps_its_decision() {
    let world = World::new();
    let store = world.open();
    let id = plan(&store, |_, _| {});
    let pruned = everything(&store);
    assert_eq!((pruned.cards, pruned.results, pruned.work_items), (1, 1, 0));
    let left = store
        .read(move |tx| {
            let run = executions::get(tx, &execution(0).id)?;
            Ok((tokens::get(tx, &id)?, run, work_items::get(tx, work_item("a plan").id())?))
        })
        .wait()
        .unwrap();
    let (decision, run, item) = left;
    assert!(decision.is_some() && item.is_some(), "{decision:?} {item:?}");
    assert_eq!(run.unwrap().result, None);
    while !everything(&store).is_nothing() {}
}

#[test]
fn what_is_open_keeps_everything_behind_it() {
    type Change = fn(&mut Execution, &mut Card);
    let open: [(&str, Change); 4] = [
        ("running", |run, _| (run.state, run.ended_at) = (ExecutionState::Running, None)),
        ("can be undone", |run, _| (run.state, run.undo_until) = (ExecutionState::Applied, Some(at(1)))),
        ("ended just now", |run, _| run.ended_at = Some(at(LATER))),
        ("asked", |_, asked| asked.state = CardState::Parked),
    ];
    for (what, alter) in open {
        let world = World::new();
        let store = world.open();
        let id = plan(&store, alter);
        everything(&store);
        let (kept, run, item) = store
            .read(move |tx| {
                let run = executions::get(tx, &execution(0).id)?;
                Ok((tokens::get(tx, &id)?, run, work_items::get(tx, work_item("a plan").id())?))
            })
            .wait()
            .unwrap();
        assert!(item.is_some(), "{what}: the plan is gone");
        if what == "asked" {
            assert!(
                store.read(|tx| cards::list_open(tx, &Scope::Owner)).wait().unwrap().len() == 1,
                "{what}: the question is gone"
            );
        } else {
            // Execution rows live as long as their token, and the token as long as they.
            assert!(kept.is_some() && run.is_some(), "{what}: {kept:?} {run:?}");
        }
        if what == "can be undone" {
            assert!(run.unwrap().result.is_some(), "what can be undone can be shown");
            let open = store.read(|tx| undo_records::list_open(tx, &Scope::Owner, Timestamp::EPOCH)).wait().unwrap();
            assert_eq!(open.len(), 1, "{what}");
        }
    }
}

#[test]
fn every_decision_stays_however_old() {
    let world = World::new();
    let store = world.open();
    let ids: Vec<TokenId> = change(&store, |tx| {
        let kept = |token: Token| Ok::<_, silas_store::Error>((token.id()?, token));
        let all = [
            kept(token(Kind::Root, "n-1", 1, Verdict::Approved))?,
            kept(token(Kind::HouseRules, "n-2", 9, Verdict::Approved))?,
            kept(token(Kind::Root, "n-3", 1, Verdict::Declined))?,
            kept(token(Kind::Plan, "n-4", 1, Verdict::Declined))?,
        ];
        for (_, token) in &all {
            tokens::insert(tx, token, &certificate(1), "payload", None)?;
        }
        Ok(all.into_iter().map(|(id, _)| id).collect())
    });
    while !everything(&store).is_nothing() {}
    let looking = store.read(move |tx| ids.iter().map(|id| Ok(tokens::get(tx, id)?.is_some())).collect());
    let left: Result<Vec<bool>, _> = looking.wait();
    assert_eq!(left.unwrap(), [true; 4]);
}

fn instruct(store: &Store, n: u32) -> MessageId {
    let message = MessageId::parse(&format!("msg-{n}")).unwrap();
    let id = message.clone();
    change(store, move |tx| {
        let body = MessageBody {
            text: "add task".to_owned(),
            timestamp: at(0),
            nonce: Nonce::parse(&format!("n-{n}")).unwrap(),
            installation: InstallationId::parse("inst-1").unwrap(),
            scope: "owner".to_owned(),
        };
        let signed = SignedMessage { body, signature: Signature::ed25519(certificate(1).body.key, [1; 64]) };
        instructions::keep(tx, &id, &signed, GRAMMAR, at(0))
    });
    message
}

fn water(message: &MessageId) -> TaskCall {
    TaskCall::add(&crate::saga::run(message), "water".to_owned(), 0).unwrap()
}

#[test]
fn finished_operations_go_with_their_instructions() {
    let world = World::new();
    let store = world.open();
    change(&store, |tx| devices::insert(tx, &certificate(1)));
    let [finished, open, queued, alone] = [1, 2, 3, 4].map(|n| instruct(&store, n));
    let (first, second, third) = (finished.clone(), open.clone(), queued.clone());
    change(&store, move |tx| {
        for message in [&first, &second] {
            let place = saga::Place::said(crate::saga::run(message), message.clone(), 0);
            saga::prepare(tx, &place, &water(message), at(0))?;
        }
        saga::finish(tx, &crate::saga::operation(&first, &water(&first)), &Ending::Done {}, at(0))?;
        let (kind, body) = (queue::Kind::UserMessage, serde_json::json!({}));
        let key = "owner".to_owned();
        let new = NewMessage {
            id: third.clone(),
            queue: Name::Turns,
            scope: Scope::Owner,
            key,
            kind,
            body,
            trace: third.clone(),
        };
        queue::enqueue(tx, &new)
    });
    let pruned = everything(&store);
    assert_eq!((pruned.operations, pruned.instructions), (1, 2));
    let left = [finished, open, queued, alone]
        .map(|message| store.read(move |tx| Ok(instructions::get(tx, &message)?.is_some())).wait().unwrap());
    assert_eq!(left, [false, true, true, false]);
}

#[test]
fn devices_that_stay_away_and_what_waited_for_them_go() {
    let world = World::new();
    let store = world.open();
    let id = |n: u32| SessionId::parse(&format!("sess-{n}")).unwrap();
    change(&store, move |tx| {
        sessions::attach(tx, &Scope::Owner, &id(1), &certificate(1).body.key, "Gone", at(0))?;
        sessions::detach(tx, &id(1), at(0))?;
        sessions::attach(tx, &Scope::Owner, &id(2), &certificate(2).body.key, "Connected all the while", at(0))?;
        for n in 0..3 {
            channel_outbox::put(tx, &Scope::Owner, &MessageId::parse(&format!("msg-{n}")).unwrap(), at(n))?;
        }
        Ok(())
    });
    let pruned = everything(&store);
    assert_eq!((pruned.sessions, pruned.outbox), (1, 2));
    let (left, head, resumable) = store
        .read(|tx| {
            Ok((
                sessions::list(tx, &Scope::Owner)?,
                channel_outbox::head(tx, &Scope::Owner)?,
                channel_outbox::reaches_back_to(tx, &Scope::Owner, 1)?,
            ))
        })
        .wait()
        .unwrap();
    let titles: Vec<&str> = left.iter().map(|session: &Session| session.title.as_str()).collect();
    // The last number stays, so that none is given twice; who has less than that is shown the whole.
    assert_eq!((titles, head, resumable), (vec!["Connected all the while"], 3, false));
    let next =
        change(&store, |tx| channel_outbox::put(tx, &Scope::Owner, &MessageId::parse("msg-next").unwrap(), at(9)));
    assert_eq!(next, 4);
}
