//! Exactly as often as was signed: among threads, across restarts, and however often a message comes again.

use crate::world::{LASTS, Standing, World, answer, authorize, face, plan};
use silas_approval::{Askable, Refusal};
use silas_core::event::AuditEvent;
use silas_core::execution::ExecutionState;
use silas_core::token::{Offer, Verdict};
use silas_core::{ExecutionId, TokenId};
use silas_store::{Commit, executions, tokens};
use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};

/// A standing approval of three uses, signed and on record.
fn three_uses(world: &World) -> TokenId {
    let item = Standing("rules");
    let offer = world.engine.offer("rules", &item, &face("Rules"), LASTS).unwrap();
    let token = answer(2, &Offer { max_executions: 3, ..offer }, Verdict::Approved);
    let id = token.id().unwrap();
    let (kept, key) = (id.clone(), token.body.key.clone());
    let keeping = world.store.write(move |tx| {
        tokens::insert(tx, &token, &crate::world::certificate(2), &Standing("rules").payload()?, None)?;
        tx.record(&AuditEvent::HouseRulesSigned { token: kept.clone(), key: key.clone() })?;
        Ok(Commit(()))
    });
    keeping.wait().unwrap();
    id
}

#[test]
fn of_sixty_four_concurrent_spendings_of_three_uses_exactly_three_succeed() {
    let world = World::new();
    let token = three_uses(&world);
    let barrier = Arc::new(Barrier::new(64));
    let threads: Vec<_> = (0..64)
        .map(|_| {
            let (store, engine, token, barrier) =
                (world.store.clone(), world.engine.clone(), token.clone(), barrier.clone());
            std::thread::spawn(move || {
                barrier.wait();
                authorize(&store, &engine, &token, Standing("rules"))
            })
        })
        .collect();
    let answers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let approved: BTreeSet<ExecutionId> = answers.iter().flatten().cloned().collect();
    let expected: BTreeSet<ExecutionId> = (0..3).map(|n| ExecutionId::derive(&token, n)).collect();
    assert_eq!(approved, expected);
    assert_eq!(answers.iter().filter(|answer| **answer == Err(Refusal::Spent)).count(), 61);
    assert_eq!(world.spent(&token), (3, 3));
    let books = world.audit().books.unwrap().unwrap();
    // With the decision about the directory.
    assert_eq!((books.n_decisions, books.n_spent), (2, 4));
}

/// Whatever goes wrong after the spending inside its transaction takes the spending along, and its entry.
#[test]
fn a_transaction_that_fails_spends_nothing() {
    let world = World::new();
    let card = world.ask(&plan("true"));
    let token = world.record(&card, &answer(2, card.offer.as_ref().unwrap(), Verdict::Approved)).unwrap();
    let (engine, id) = (world.engine.clone(), token.clone());
    let failing = world.store.write(move |tx| -> Result<Commit<()>, silas_store::Abort> {
        assert!(engine.authorize(tx, &id, plan("true"))?.is_ok());
        Err(silas_store::Error::Missing { what: "the power", id: String::new() }.into())
    });
    assert!(failing.wait().is_err());
    assert_eq!(world.spent(&token), (0, 0));
    assert!(world.authorize(&token, plan("true")).is_ok());
    assert_eq!(world.spent(&token), (1, 1));
    assert_eq!(world.audit().problem(), None);
}

#[test]
fn a_message_that_comes_again_goes_on_with_its_own_spending_or_not_at_all() {
    let world = World::new();
    let card = world.ask(&plan("true"));
    let token = world.record(&card, &answer(2, card.offer.as_ref().unwrap(), Verdict::Approved)).unwrap();
    let execution = world.authorize(&token, plan("true")).unwrap();
    assert_eq!(world.authorize(&token, plan("true")), Err(Refusal::Spent), "a retry cannot spend again");
    assert_eq!(world.readmit(&execution), Ok(execution.clone()), "interrupted work may go on as itself");
    assert_eq!(world.readmit(&ExecutionId::derive(&token, 1)), Err(Refusal::NoToken));
    world.clock.set_secs(61);
    assert_eq!(world.readmit(&execution), Err(Refusal::TimeIsUp), "its wall-clock budget is over");
    world.clock.set_secs(0);
    let (id, at) = (execution.clone(), silas_core::Timestamp::from_micros(crate::world::NOON));
    let ending = world.store.write(move |tx| Ok(Commit(executions::set_state(tx, &id, ExecutionState::Ended, at)?)));
    assert!(ending.wait().unwrap());
    assert_eq!(world.readmit(&execution), Err(Refusal::Terminal));
    assert_eq!(world.spent(&token), (1, 1));
}

/// However old, a decision can still be checked against what was done under it.
#[test]
fn decisions_outlast_everything_that_goes_with_its_time() {
    use silas_store::retention::{Policy, prune};
    let world = World::new();
    let card = world.ask(&plan("true"));
    let token = world.record(&card, &answer(2, card.offer.as_ref().unwrap(), Verdict::Approved)).unwrap();
    let execution = world.authorize(&token, plan("true")).unwrap();
    let at = silas_core::Timestamp::from_micros(crate::world::NOON);
    let ending =
        world.store.write(move |tx| Ok(Commit(executions::set_state(tx, &execution, ExecutionState::Ended, at)?)));
    assert!(ending.wait().unwrap());
    world.clock.set_secs(100 * 24 * 3600);
    let before = at.plus(std::time::Duration::from_secs(24 * 3600));
    let policy =
        Policy { chronicle_before: before, outbox_before: before, nonces_before: before, processed_before: before };
    while !world.store.write(move |tx| Ok(Commit(prune(tx, &policy)?))).wait().unwrap().is_nothing() {}
    let audit = world.audit();
    assert_eq!(audit.problem(), None);
    let books = audit.books.unwrap().unwrap();
    assert_eq!((books.n_decisions, books.n_spent, books.n_forgotten), (2, 2, 0));
}
