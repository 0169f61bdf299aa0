//! Any interleaving of everything that can happen to the queue, against a model that is simple enough to believe:
//! nothing is lost, nothing is acknowledged twice, keys keep their order, and a lost lease is good for nothing.

use crate::queue::{BACKOFF, LEASE, at, change, id, message};
use crate::world::World;
use proptest::prelude::*;
use silas_core::Scope;
use silas_store::Store;
use silas_store::queue::{self, ATTEMPTS_MAX, Entered, Lease, Nacked, Name};
use std::collections::BTreeSet;

const KEYS: [&str; 3] = ["a", "b", "c"];
const QUEUES: [Name; 2] = [Name::Turns, Name::Work];

#[derive(Clone, Debug)]
enum Move {
    Enqueue {
        queue: usize,
        key: usize,
    },
    EnqueueLeased {
        queue: usize,
        key: usize,
    },
    Lease {
        queue: usize,
        limit: u32,
    },
    /// These pick one of all leases that were ever given out, lost ones included.
    Ack {
        lease: usize,
    },
    AckAndEnqueue {
        lease: usize,
        key: usize,
    },
    Nack {
        lease: usize,
    },
    Heartbeat {
        lease: usize,
    },
    Pass {
        seconds: i64,
    },
    Restart,
    Revive {
        message: usize,
    },
}

fn any_move() -> impl Strategy<Value = Move> {
    let (queue, key, lease) = (0..QUEUES.len(), 0..KEYS.len(), 0..1000usize);
    prop_oneof![
        4 => (queue.clone(), key.clone()).prop_map(|(queue, key)| Move::Enqueue { queue, key }),
        2 => (queue.clone(), key.clone()).prop_map(|(queue, key)| Move::EnqueueLeased { queue, key }),
        6 => (queue, 1..4u32).prop_map(|(queue, limit)| Move::Lease { queue, limit }),
        4 => lease.clone().prop_map(|lease| Move::Ack { lease }),
        2 => (lease.clone(), key).prop_map(|(lease, key)| Move::AckAndEnqueue { lease, key }),
        5 => lease.clone().prop_map(|lease| Move::Nack { lease }),
        2 => lease.clone().prop_map(|lease| Move::Heartbeat { lease }),
        4 => (0..40i64).prop_map(|seconds| Move::Pass { seconds }),
        1 => Just(Move::Restart),
        1 => lease.prop_map(|message| Move::Revive { message }),
    ]
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Ready {
        due: i64,
    },
    /// By the lease with this number.
    Held {
        until: i64,
        by: usize,
    },
    Dead,
    Done,
}

struct Modelled {
    n: u32,
    queue: usize,
    key: usize,
    state: State,
    attempts: u32,
}

#[derive(Default)]
struct Model {
    now: i64,
    /// In the order of their places in the queue.
    messages: Vec<Modelled>,
    /// What was given out, as the store gave it, and for which message.
    leases: Vec<(Lease, u32)>,
    n_made: u32,
}

impl Model {
    fn add(&mut self, queue: usize, key: usize) -> u32 {
        self.n_made += 1;
        let state = State::Ready { due: self.now };
        self.messages.push(Modelled { n: self.n_made, queue, key, state, attempts: 0 });
        self.n_made
    }

    fn find(&mut self, n: u32) -> &mut Modelled {
        self.messages.iter_mut().find(|message| message.n == n).unwrap()
    }

    /// The first message of each key that is neither dead nor done, with the instant at which it can be leased.
    fn heads(&self, queue: usize) -> Vec<(u32, i64)> {
        let mut keys = BTreeSet::new();
        let mut heads = Vec::new();
        for message in self.messages.iter().filter(|message| message.queue == queue) {
            let due = match message.state {
                State::Ready { due } => due,
                State::Held { until, .. } => until,
                State::Dead | State::Done => continue,
            };
            if keys.insert(message.key) {
                heads.push((message.n, due));
            }
        }
        heads
    }

    fn hold(&mut self, n: u32, lease: Lease) {
        let (by, until) = (self.leases.len(), self.now + 60);
        self.leases.push((lease, n));
        let message = self.find(n);
        message.state = State::Held { until, by };
        message.attempts += 1;
    }

    /// The message that this lease is still good for.
    fn held_by(&mut self, by: usize) -> Option<&mut Modelled> {
        let n = self.leases[by].1;
        Some(self.find(n)).filter(|message| matches!(message.state, State::Held { by: holder, .. } if holder == by))
    }
}

fn play(world: &World, store: &mut Option<Store>, model: &mut Model, step: &Move) {
    let open = store.clone().unwrap();
    let now = model.now;
    world.clock.set(at(now).micros());
    let pick = |n: usize| (!model.leases.is_empty()).then(|| n % model.leases.len());
    match *step {
        Move::Enqueue { queue, key } => {
            let new = message(model.add(queue, key), QUEUES[queue], KEYS[key]);
            assert!(change(&open, move |tx| queue::enqueue(tx, &new)));
        }
        Move::EnqueueLeased { queue, key } => {
            let is_first = !model
                .messages
                .iter()
                .any(|m| (m.queue, m.key) == (queue, key) && !matches!(m.state, State::Dead | State::Done));
            let n = model.add(queue, key);
            let new = message(n, QUEUES[queue], KEYS[key]);
            match change(&open, move |tx| queue::enqueue_leased(tx, &new, "test", at(now + 60))) {
                Entered::Held(lease) => {
                    assert!(is_first, "{n} overtook its key");
                    model.hold(n, lease);
                }
                entered => assert!(!is_first && entered == Entered::Behind, "{n}: {entered:?}"),
            }
        }
        Move::Lease { queue, limit } => {
            let due = model.heads(queue).into_iter().filter(|(_, due)| *due <= now).map(|(n, _)| n);
            let expected: Vec<u32> = due.take(limit as usize).collect();
            let leased = change(&open, move |tx| queue::lease(tx, QUEUES[queue], "test", at(now), LEASE, limit));
            let got: Vec<_> = leased.iter().map(|leased| leased.lease.message.clone()).collect();
            assert_eq!(got, expected.iter().map(|n| id(*n)).collect::<Vec<_>>());
            for (n, leased) in expected.into_iter().zip(leased) {
                model.hold(n, leased.lease);
                assert_eq!(leased.attempts, model.find(n).attempts);
            }
        }
        Move::Ack { lease } => {
            let Some(by) = pick(lease) else { return };
            let held = model.leases[by].0.clone();
            let is_acked = change(&open, move |tx| queue::ack(tx, &held, "test"));
            let message = model.held_by(by);
            assert_eq!(is_acked, message.is_some());
            if let Some(message) = message {
                message.state = State::Done;
            }
        }
        Move::AckAndEnqueue { lease, key } => {
            let Some(by) = pick(lease) else { return };
            let held = model.leases[by].0.clone();
            let is_held = model.held_by(by).map(|message| message.state = State::Done).is_some();
            let next = if is_held { model.add(0, key) } else { model.n_made + 1 };
            let next = message(next, QUEUES[0], KEYS[key]);
            assert_eq!(change(&open, move |tx| queue::ack_and_enqueue(tx, &held, "test", &next)), is_held);
        }
        Move::Nack { lease } => {
            let Some(by) = pick(lease) else { return };
            let held = model.leases[by].0.clone();
            let nacked = change(&open, move |tx| queue::nack(tx, &held, at(now), BACKOFF));
            match (model.held_by(by), nacked) {
                (None, Nacked::NotHeld) => {}
                (Some(message), Nacked::Dead) if message.attempts >= ATTEMPTS_MAX => message.state = State::Dead,
                (Some(message), Nacked::Again { at: due }) if message.attempts < ATTEMPTS_MAX => {
                    let wait = [1, 2, 4, 5][message.attempts as usize - 1];
                    assert_eq!(due, at(now + wait));
                    message.state = State::Ready { due: now + wait };
                }
                (message, nacked) => panic!("{nacked:?} for {:?}", message.map(|message| message.n)),
            }
        }
        Move::Heartbeat { lease } => {
            let Some(by) = pick(lease) else { return };
            let held = model.leases[by].0.clone();
            let is_held = change(&open, move |tx| queue::heartbeat(tx, &held, at(now + 60)));
            let message = model.held_by(by);
            assert_eq!(is_held, message.is_some());
            if let Some(message) = message {
                message.state = State::Held { until: now + 60, by };
            }
        }
        Move::Pass { seconds } => model.now += seconds,
        Move::Restart => {
            drop(open);
            *store = None;
            let open = store.insert(world.open());
            let n_void = change(open, queue::requeue_leased);
            let mut n_held = 0;
            for message in &mut model.messages {
                if let State::Held { .. } = message.state {
                    n_held += 1;
                    // It was due when it was leased.
                    message.state = State::Ready { due: i64::MIN };
                }
            }
            assert_eq!(n_void, n_held);
        }
        Move::Revive { message } => {
            let Some(n) = (model.n_made > 0).then(|| 1 + u32::try_from(message).unwrap() % model.n_made) else {
                return;
            };
            let is_revived = change(&open, move |tx| queue::revive(tx, &id(n)));
            let place = model.messages.iter().position(|message| message.n == n).unwrap();
            assert_eq!(is_revived, model.messages[place].state == State::Dead);
            if is_revived {
                let message = model.messages.remove(place);
                let state = State::Ready { due: now };
                model.messages.push(Modelled { state, attempts: 0, ..message });
            }
        }
    }
}

/// What can be seen without changing anything agrees with the model.
fn compare(store: &Store, model: &Model) {
    let seen = store.read(|tx| {
        let due = [queue::next_due(tx, QUEUES[0])?, queue::next_due(tx, QUEUES[1])?];
        let dead: BTreeSet<_> = queue::dead(tx, &Scope::Owner)?.into_iter().map(|dead| dead.message).collect();
        Ok((due, dead))
    });
    let (due, dead) = seen.wait().unwrap();
    for (queue, due) in due.into_iter().enumerate() {
        let first = model.heads(queue).into_iter().map(|(_, due)| due).min();
        match (due, first) {
            // After a restart only the past is known about it.
            (Some(due), Some(i64::MIN)) => assert!(due <= at(model.now)),
            (due, first) => assert_eq!(due, first.map(at)),
        }
    }
    let expected: BTreeSet<_> = model.messages.iter().filter(|m| m.state == State::Dead).map(|m| id(m.n)).collect();
    assert_eq!(dead, expected);
}

/// Deals with everything that is left, and gives the order in which it came for each key.
fn drain(store: &Store, model: &mut Model) -> Vec<(usize, usize, u32)> {
    let mut order = Vec::new();
    let far = model.now + 10_000;
    for (queue, name) in QUEUES.into_iter().enumerate() {
        loop {
            let leased = change(store, move |tx| queue::lease(tx, name, "test", at(far), LEASE, 2));
            if leased.is_empty() {
                break;
            }
            for leased in leased {
                let n: u32 = leased.lease.message.as_str()[4..].parse().unwrap();
                assert!(change(store, move |tx| queue::ack(tx, &leased.lease, "test")));
                let message = model.find(n);
                assert!(!matches!(message.state, State::Dead | State::Done), "{n} came twice");
                message.state = State::Done;
                order.push((queue, message.key, n));
            }
        }
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_keeps_the_promises(steps in prop::collection::vec(any_move(), 1..60)) {
        let world = World::new();
        let mut model = Model::default();
        let mut store = Some(world.open());
        for step in &steps {
            play(&world, &mut store, &mut model, step);
            compare(store.as_ref().unwrap(), &model);
        }
        let store = store.unwrap();
        let left: Vec<_> = model.messages.iter()
            .filter(|m| !matches!(m.state, State::Dead | State::Done))
            .map(|m| (m.queue, m.key, m.n))
            .collect();
        let order = drain(&store, &mut model);
        for queue in 0..QUEUES.len() {
            for key in 0..KEYS.len() {
                let of = |list: &[(usize, usize, u32)]| -> Vec<u32> {
                    list.iter().filter(|m| (m.0, m.1) == (queue, key)).map(|m| m.2).collect()
                };
                prop_assert_eq!(of(&order), of(&left));
            }
        }
        let done = model.messages.iter().filter(|m| m.state == State::Done).count();
        let marks = store.read(|tx| tx.query("SELECT message_id FROM processed", [], |_| Ok(()))).wait().unwrap().len();
        prop_assert_eq!(marks, done);
    }
}
