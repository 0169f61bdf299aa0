//! What is in force is found whatever else was ever decided, and costs the same: counted in signatures that are verified and
//! in steps of the database, not in time.

use crate::world::{LASTS, World, anchor, answer, certificate, face, plan, project, public, sign};
use silas_approval::Grant;
use silas_core::canonical;
use silas_core::evidence::Anchor;
use silas_core::revocation::{RevocationBody, RevocationList};
use silas_core::roots::{Place, RootGrant, RootKind};
use silas_core::token::{Kind, Verdict};
use silas_core::{Timestamp, TokenId};
use silas_store::{Commit, tokens};
use std::collections::BTreeSet;

/// More than any list ever held at once.
const MANY: usize = 1_500;

fn directory(n: usize) -> RootGrant {
    let place = Place { path: format!("/home/owner/p{n}"), ..project() };
    RootGrant { kind: RootKind::Root, place }
}

/// What is granted now, with the steps and the signatures that it took to find out.
fn look(world: &World) -> (Vec<Grant>, u64, u64) {
    let engine = world.engine.clone();
    let before = engine.n_signatures_verified();
    let looking = world.store.read(move |tx| {
        let grants = engine.grants(tx)?;
        engine.roots(tx)?;
        engine.models(tx)?;
        engine.has_house_rules(tx, None)?;
        Ok((grants, tx.n_steps()))
    });
    let (grants, n_steps) = looking.wait().unwrap();
    (grants, n_steps, world.engine.n_signatures_verified() - before)
}

/// Decisions of a kind that were taken and used up long ago.
fn take_and_use(world: &World, kind: Kind, n: usize) {
    let offer = world.engine.offer("task-1", &plan("true"), &face("Run 1 command"), LASTS).unwrap();
    let writing = world.store.write(move |tx| {
        for i in 0..n {
            let mut offer = offer.clone();
            offer.kind = kind;
            offer.nonce = silas_core::Nonce::parse(&format!("n-old-{kind:?}-{i}")).unwrap();
            let mut token = answer(2, &offer, Verdict::Approved);
            // What is over is not verified, so it need not be genuine.
            token.body.offer.expires_at = offer.issued_at;
            tokens::insert(tx, &token, &certificate(2), "an old one", None)?;
            if i % 2 == 0 {
                tokens::spend(tx, &token.id()?)?;
            }
        }
        Ok(Commit(()))
    });
    writing.wait().unwrap();
}

#[test]
fn what_was_decided_long_ago_is_neither_read_nor_verified_again() {
    let world = World::new();
    world.clock.set_secs(1);
    look(&world);
    let (granted, n_steps, n_signatures) = look(&world);
    assert_eq!((granted.len(), n_signatures), (1, 0), "what was verified is kept");
    let fresh = |world: &World| {
        // As after a start: nothing is kept.
        let engine = world.engine_of(1);
        let reading = engine.clone();
        let looking = world.store.read(move |tx| {
            reading.grants(tx)?;
            Ok(tx.n_steps())
        });
        (looking.wait().unwrap(), engine.n_signatures_verified())
    };
    let first = fresh(&world);
    take_and_use(&world, Kind::Plan, MANY);
    take_and_use(&world, Kind::Undo, MANY);
    let found = look(&world);
    assert_eq!((found.0, found.2), (granted.clone(), 0));
    assert_eq!(look(&world), (granted, n_steps, 0));
    let after = fresh(&world);
    assert_eq!(after.1, first.1);
    assert!(
        after.0 <= first.0 + first.0 / 4,
        "{} steps with nothing, {} after {} decisions",
        first.0,
        after.0,
        2 * MANY
    );
}

#[test]
fn the_newest_grant_is_listed_however_many_there_are() {
    let world = World::new();
    for n in 0..MANY {
        if n % 500 == 0 {
            world.clock.set_secs(i64::try_from(n).unwrap());
        }
        allow(&world, &directory(n), n);
    }
    let (granted, _, n_signatures) = look(&world);
    let newest = canonical::text(&directory(MANY - 1)).unwrap();
    assert!(granted.iter().any(|grant| grant.payload == newest), "the newest is not among {}", granted.len());
    assert_eq!((granted.len(), n_signatures), (MANY + 1, MANY as u64 + 1));
    // One more is one more to verify, and no other again.
    allow(&world, &directory(MANY), MANY);
    let (granted, _, n_signatures) = look(&world);
    assert_eq!((granted.len(), n_signatures), (MANY + 2, 1));
}

/// Written as the engine writes it, many at a time.
fn allow(world: &World, grant: &RootGrant, n: usize) {
    let mut offer = world.engine.offer("root-1", grant, &face("Allow a directory"), LASTS).unwrap();
    offer.nonce = silas_core::Nonce::parse(&format!("n-root-{n}")).unwrap();
    let token = answer(2, &offer, Verdict::Approved);
    let payload = canonical::text(grant).unwrap();
    let writing = world.store.write_buffered(move |tx| {
        tokens::insert(tx, &token, &certificate(2), &payload, None)?;
        tokens::spend(tx, &token.id()?)?;
        Ok(Commit(()))
    });
    writing.wait().unwrap();
}

#[test]
fn what_is_kept_follows_each_decision_each_use_and_each_revocation() {
    let world = World::new();
    let names = |world: &World| look(world).0.iter().map(|grant| (grant.kind, grant.uses_left)).collect::<Vec<_>>();
    assert_eq!(names(&world), [(Kind::Root, 0)]);
    let card = world.ask(&plan("true"));
    let token = world.record(&card, &answer(2, card.offer.as_ref().unwrap(), Verdict::Approved)).unwrap();
    assert_eq!(names(&world), [(Kind::Plan, 1), (Kind::Root, 0)]);
    world.clock.set_secs(i64::try_from(LASTS.as_secs()).unwrap());
    assert_eq!(names(&world), [(Kind::Root, 0)], "its time is over, and nothing was written");
    world.clock.set_secs(1);
    world.authorize(&token, plan("true")).unwrap();
    assert_eq!(names(&world), [(Kind::Root, 0)]);
    // A change that is undone leaves nothing behind, neither on disk nor here.
    let (engine, undone) = (world.engine.clone(), world.ask(&plan("false")));
    let approval = answer(2, undone.offer.as_ref().unwrap(), Verdict::Approved);
    let failing = world.store.write(move |tx| -> Result<Commit<()>, _> {
        engine.record(tx, &undone, &approval)?.unwrap();
        assert_eq!(engine.grants(tx)?.len(), 2);
        Err(silas_store::Error::Busy.into())
    });
    assert!(failing.wait().is_err());
    assert_eq!(names(&world), [(Kind::Root, 0)]);
    let root = look(&world).0[0].id.clone();
    world.engine.adopt(revoking(&root)).unwrap();
    assert_eq!(names(&world), [], "taken back, before the database knows it");
}

fn revoking(grant: &TokenId) -> RevocationList {
    let Anchor { installation, .. } = anchor(1);
    let body = RevocationBody {
        v: 1,
        installation,
        number: 1,
        issued_at: Timestamp::from_micros(crate::world::NOON),
        devices: BTreeSet::new(),
        grants: [grant.clone()].into(),
    };
    let signature = sign(1, &body.message().unwrap());
    assert_eq!(signature.key, public(1).id());
    RevocationList { body, signature }
}

/// Somebody who writes into the file makes nothing count by it.
#[test]
fn a_row_that_was_altered_is_verified_anew_and_does_not_count() {
    let world = World::new();
    assert_eq!(look(&world).0.len(), 1);
    let altering = world.store.write(|tx| {
        tx.execute("UPDATE tokens SET payload = replace(payload, 'project', 'anything') WHERE kind = 'root'", [])?;
        Ok(Commit(()))
    });
    altering.wait().unwrap();
    let (granted, _, n_signatures) = look(&world);
    assert_eq!((granted.len(), n_signatures), (0, 1));
}
