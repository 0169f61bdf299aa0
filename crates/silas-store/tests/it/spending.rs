//! Of any number of concurrent spendings exactly as many succeed as were approved.

use crate::world::{World, certificate, token};
use silas_core::token::{Kind, Verdict};
use silas_store::{Commit, Store, tokens};
use std::sync::{Arc, Barrier};

fn insert(store: &Store, token: &silas_core::token::Token) -> bool {
    let token = token.clone();
    let inserted = store.write(move |tx| Ok(Commit(tokens::insert(tx, &token, &certificate(1), "payload", None)?)));
    inserted.wait().unwrap()
}

#[test]
fn sixty_four_threads_spend_three_executions_three_times() {
    let world = World::new();
    let store = world.open();
    let token = token(Kind::Plan, "n-1", 3, Verdict::Approved);
    assert!(insert(&store, &token));
    let id = token.id().unwrap();
    let barrier = Arc::new(Barrier::new(64));
    let threads: Vec<_> = (0..64)
        .map(|_| {
            let (store, barrier, id) = (store.clone(), barrier.clone(), id.clone());
            std::thread::spawn(move || {
                barrier.wait();
                store.write(move |tx| Ok(Commit(tokens::spend(tx, &id)?))).wait().unwrap()
            })
        })
        .collect();
    let mut uses: Vec<u32> = threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
    uses.sort_unstable();
    assert_eq!(uses, [0, 1, 2]);
    // Keeping the same decision again does not give a use back.
    assert!(!insert(&store, &token));
    let kept = store.read(move |tx| tokens::get(tx, &id)).wait().unwrap().unwrap();
    assert_eq!(kept.executions_used, 3);
}

#[test]
fn what_was_not_approved_or_was_revoked_cannot_be_spent() {
    let world = World::new();
    let store = world.open();
    let declined = token(Kind::Plan, "n-1", 1, Verdict::Declined);
    let revoked = token(Kind::Plan, "n-2", 1, Verdict::Approved);
    assert!(insert(&store, &declined) && insert(&store, &revoked));
    let ids =
        [declined.id().unwrap(), revoked.id().unwrap(), token(Kind::Plan, "n-3", 1, Verdict::Approved).id().unwrap()];
    let spent = store.write(move |tx| {
        tx.execute("UPDATE tokens SET revoked_at = 1 WHERE token_id = ?1", [ids[1].as_str()])?;
        let spent: Vec<_> = ids.iter().map(|id| tokens::spend(tx, id)).collect::<Result<_, _>>()?;
        Ok(Commit((spent, tokens::live(tx, Kind::Plan, silas_core::Timestamp::EPOCH)?.len())))
    });
    assert_eq!(spent.wait().unwrap(), (vec![None, None, None], 0));
}
