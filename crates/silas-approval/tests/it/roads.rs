//! Every road to a spending that was not allowed, and the refusal it meets in the engine.

use crate::world::{World, answer, authorize, certificate, plan, sign};
use silas_approval::{Engine, Refusal};
use silas_core::card::Card;
use silas_core::event::AuditEvent;
use silas_core::evidence::{self, Anchor};
use silas_core::token::Verdict;
use silas_core::{InstallationId, Timestamp, TokenId};
use silas_store::{Commit, tokens};

fn asked(world: &World) -> Card {
    world.ask(&plan("true"))
}

fn approved(world: &World) -> TokenId {
    let card = asked(world);
    world.record(&card, &answer(2, card.offer.as_ref().unwrap(), Verdict::Approved)).unwrap()
}

#[test]
fn no_token_at_all() {
    let world = World::new();
    let nothing = TokenId::of(&silas_core::Digest::of(b"nothing"));
    assert_eq!(world.authorize(&nothing, plan("true")), Err(Refusal::NoToken));
}

#[test]
fn a_declined_token() {
    let world = World::new();
    let card = asked(&world);
    let token = world.record(&card, &answer(2, card.offer.as_ref().unwrap(), Verdict::Declined)).unwrap();
    assert_eq!(world.authorize(&token, plan("true")), Err(evidence::Refusal::Verdict.into()));
    assert_eq!(world.audit().problem(), None);
}

#[test]
fn an_expired_token() {
    let world = World::new();
    let token = approved(&world);
    world.clock.set_secs(299);
    let late = approved(&world);
    world.clock.set_secs(300);
    assert_eq!(world.authorize(&token, plan("true")), Err(evidence::Refusal::Expired.into()));
    assert!(world.authorize(&late, plan("true")).is_ok());
    assert_eq!(world.audit().problem(), None);
}

#[test]
fn a_decision_that_comes_too_late() {
    let world = World::new();
    let card = asked(&world);
    let token = answer(2, card.offer.as_ref().unwrap(), Verdict::Approved);
    world.clock.set_secs(300);
    assert_eq!(world.record(&card, &token), Err(evidence::Refusal::Expired.into()));
}

#[test]
fn another_plan() {
    let world = World::new();
    let token = approved(&world);
    assert_eq!(world.authorize(&token, plan("rm -rf .")), Err(evidence::Refusal::Content.into()));
    assert_eq!(world.spent(&token), (0, 0));
}

/// Setting the clock back brings nothing back to life: the ledger remembers the latest time.
#[test]
fn a_clock_that_was_set_back() {
    let world = World::new();
    let token = approved(&world);
    world.clock.set_secs(400);
    world.store.write(|tx| Ok(Commit(tx.record(&AuditEvent::StreamStopped {})?))).wait().unwrap();
    world.clock.set_secs(10);
    assert_eq!(world.authorize(&token, plan("true")), Err(evidence::Refusal::Expired.into()));
}

#[test]
fn a_token_from_before_a_restore() {
    let world = World::new();
    let token = approved(&world);
    let restored = world.engine_of(2);
    let answer = authorize(&world.store, &restored, &token, plan("true"));
    assert_eq!(answer, Err(evidence::Refusal::Epoch.into()));
}

#[test]
fn another_installation() {
    let world = World::new();
    let token = approved(&world);
    let random = std::sync::Arc::new(Zeros);
    let elsewhere = Anchor { installation: InstallationId::parse("inst-2").unwrap(), ..crate::world::anchor(1) };
    let engine = Engine::new(elsewhere, world.clock.clone(), random);
    let answer = authorize(&world.store, &engine, &token, plan("true"));
    assert_eq!(answer, Err(evidence::Refusal::Certificate(silas_core::device::Mismatch::Installation).into()));
}

struct Zeros;

impl silas_core::Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

#[test]
fn a_stranger_who_vouches_for_himself() {
    let world = World::new();
    let card = asked(&world);
    let token = answer(5, card.offer.as_ref().unwrap(), Verdict::Approved);
    assert_eq!(world.record(&card, &token), Err(Refusal::UnknownDevice));
    // Written past the engine, with a certificate of his own making.
    let mut own = certificate(5);
    own.signature = sign(5, &silas_core::canonical::text(&own.body).unwrap());
    let (id, payload) = (token.id().unwrap(), card.payload.clone().unwrap());
    let forging = world.store.write(move |tx| Ok(Commit(tokens::insert(tx, &token, &own, &payload, None)?)));
    assert!(forging.wait().unwrap());
    assert_eq!(
        world.authorize(&id, plan("true")),
        Err(evidence::Refusal::Certificate(silas_core::device::Mismatch::Signature).into())
    );
    let problem = world.audit().problem().unwrap();
    assert!(problem.contains("of which the ledger knows nothing"), "{problem}");
}

#[test]
fn an_answer_that_comes_twice() {
    let world = World::new();
    let mut card = asked(&world);
    let token = answer(2, card.offer.as_ref().unwrap(), Verdict::Approved);
    let id = world.record(&card, &token).unwrap();
    card.state = silas_core::card::CardState::Answered;
    assert_eq!(world.record(&card, &token), Err(Refusal::Answered));
    assert!(world.authorize(&id, plan("true")).is_ok());
    assert_eq!(world.authorize(&id, plan("true")), Err(Refusal::Spent));
    let at = Timestamp::from_micros(crate::world::NOON);
    assert!(at <= world.store.read(silas_store::ledger::last_time).wait().unwrap().unwrap());
}
