//! Whatever happens in two scopes at once, what one of them is shown is what happened in it, and nothing of the other.

use crate::repositories::{at, card, change, execution, said, trace, work_item};
use crate::world::{World, certificate, token};
use proptest::prelude::*;
use serde_json::json;
use silas_core::card::CardState;
use silas_core::execution::ExecutionState;
use silas_core::model::Role;
use silas_core::scope::Name as ScopeName;
use silas_core::token::{Kind as TokenKind, Verdict};
use silas_core::work::{Definition, WorkItem, WorkState};
use silas_core::{CallId, CardId, ExecutionId, MessageId, Scope, SessionId, WorkItemId};
use silas_store::executions::{self, Execution};
use silas_store::model_calls::{self, Caps, NewCall};
use silas_store::queue::{self, ATTEMPTS_MAX, Kind, Name, NewMessage};
use silas_store::retention::{self, Policy};
use silas_store::{
    Error, ReadTx, Store, Tx, cards, channel_outbox, chronicle, sessions, tokens, undo_records, work_items,
};
use std::time::Duration;

/// Every card is about this, whosever it is.
const SUBJECT: &str = "the same for everybody";
const WORK_USES: u32 = 1000;

#[derive(Clone, Copy, Debug)]
enum Happens {
    Said,
    Asked,
    Parked,
    Worked,
    PutAside,
    Called,
    Connected,
    /// Upkeep, which is nobody's: whatever is on its way to a channel and was put there so long ago is forgotten.
    Forgotten,
}

/// What one scope should be shown.
#[derive(Default, PartialEq, Debug)]
struct Shown {
    said: Vec<MessageId>,
    /// What is still on its way to the channels, with its number.
    on_its_way: Vec<(u64, MessageId)>,
    n_sent: u64,
    asking: Vec<CardId>,
    parked: Vec<CardId>,
    worked: Vec<ExecutionId>,
    put_aside: Vec<MessageId>,
    n_calls: u64,
    sessions: Vec<SessionId>,
}

fn scope(is_owner: bool) -> Scope {
    if is_owner { Scope::Owner } else { Scope::Customer(ScopeName::parse("ann@example.org").unwrap()) }
}

fn moves() -> impl Strategy<Value = Vec<(bool, Happens)>> {
    let happens = prop::sample::select(vec![
        Happens::Said,
        Happens::Said,
        Happens::Asked,
        Happens::Parked,
        Happens::Worked,
        Happens::PutAside,
        Happens::Called,
        Happens::Connected,
        Happens::Forgotten,
    ]);
    prop::collection::vec((any::<bool>(), happens), 1..40)
}

fn play(tx: &mut Tx<'_>, scope: &Scope, n: u32, what: Happens) -> Result<(), Error> {
    let now = at(i64::from(n));
    match what {
        Happens::Said => {
            let entry = said(n, "hello");
            chronicle::append(tx, scope, &entry)?;
            channel_outbox::put(tx, scope, &entry.id, now)?;
        }
        Happens::Asked => cards::insert(tx, scope, &card(n, CardState::Open), SUBJECT)?,
        Happens::Parked => cards::insert(tx, scope, &card(n, CardState::Parked), SUBJECT)?,
        Happens::Worked => work(tx, scope, n)?,
        Happens::PutAside => put_aside(tx, scope, n)?,
        Happens::Called => {
            let id = CallId::parse(&format!("call-{n}")).unwrap();
            let call = NewCall { id, message: None, role: Role::Proxy, model: "m".to_owned(), at: now, reserved: 1 };
            model_calls::reserve(tx, scope, &call, Caps { day: 1000, month: 1000 })?.unwrap();
        }
        Happens::Connected => {
            sessions::open_side(tx, scope, &SessionId::parse(&format!("sess-{n}")).unwrap(), "Terminal", now)?;
        }
        Happens::Forgotten => {
            let before = at(0);
            let (outbox_before, nonces_before, processed_before) = (now, before, before);
            let policy = Policy { chronicle_before: before, outbox_before, nonces_before, processed_before };
            retention::prune(tx, &policy)?;
        }
    }
    Ok(())
}

fn work(tx: &mut Tx<'_>, scope: &Scope, n: u32) -> Result<(), Error> {
    let like = work_item("Fix the parser").definition().clone();
    let id = WorkItemId::parse(&format!("task-{n}")).unwrap();
    let item = WorkItem::new(Definition { id, ..like }).unwrap();
    work_items::insert(tx, scope, &item, &WorkState::new(at(0)), &trace(), at(0))?;
    executions::insert(tx, scope, &worked(n))?;
    executions::set_state(tx, &worked(n).id, ExecutionState::Applied, at(i64::from(n)))?;
    executions::set_result(tx, &worked(n).id, &json!({}), None, Some(at(100_000)))
}

fn worked(n: u32) -> Execution {
    let token = token(TokenKind::Plan, "n-1", WORK_USES, Verdict::Approved).id().unwrap();
    Execution { id: ExecutionId::derive(&token, n), token, use_number: n, ..execution(n) }
}

fn put_aside(tx: &mut Tx<'_>, scope: &Scope, n: u32) -> Result<(), Error> {
    let id = MessageId::parse(&format!("msg-queued-{n}")).unwrap();
    let (queue, key, body) = (Name::Turns, format!("{scope}/{n}"), json!({}));
    let kind = Kind::UserMessage;
    queue::enqueue(tx, &NewMessage { id: id.clone(), queue, scope: scope.clone(), key, kind, body, trace: id })?;
    for n in 1..=ATTEMPTS_MAX {
        let due = at(1_000_000 * i64::from(n));
        let leased = queue::lease(tx, queue, "test", due, Duration::from_secs(60), 1)?.remove(0);
        assert_eq!(&leased.scope, scope);
        queue::nack(tx, &leased.lease, due, crate::queue::BACKOFF)?;
    }
    Ok(())
}

impl Shown {
    fn note(&mut self, n: u32, what: Happens) {
        match what {
            Happens::Said => {
                self.said.push(said(n, "").id);
                self.n_sent += 1;
                self.on_its_way.push((self.n_sent, said(n, "").id));
            }
            Happens::Asked => self.asking.push(card(n, CardState::Open).id),
            Happens::Parked => self.parked.push(card(n, CardState::Parked).id),
            Happens::Worked => self.worked.push(worked(n).id),
            Happens::PutAside => self.put_aside.push(MessageId::parse(&format!("msg-queued-{n}")).unwrap()),
            Happens::Called => self.n_calls += 1,
            Happens::Connected => self.sessions.push(SessionId::parse(&format!("sess-{n}")).unwrap()),
            Happens::Forgotten => {}
        }
    }

    /// The last one stays, so that no number is given twice.
    fn forget_outbox(&mut self) {
        let n_gone = self.on_its_way.len().saturating_sub(1);
        self.on_its_way.drain(..n_gone);
    }

    fn read(tx: &ReadTx<'_>, scope: &Scope) -> Result<Shown, Error> {
        let id = |card: &silas_core::card::Card| card.id.clone();
        let mut parked: Vec<_> = cards::page_parked(tx, scope, 0, 1000)?.iter().map(id).collect();
        parked.reverse();
        let mut worked: Vec<_> = executions::recent(tx, scope, 1000)?.into_iter().map(|run| run.id).collect();
        worked.reverse();
        let mut sessions: Vec<_> = sessions::list(tx, scope)?.into_iter().map(|session| session.session_id).collect();
        sessions.reverse();
        let shown = Shown {
            said: chronicle::recent(tx, scope, 1000)?.into_iter().map(|entry| entry.id).collect(),
            on_its_way: channel_outbox::after(tx, scope, 0, 100)?
                .into_iter()
                .map(|one| (one.seq, one.entry.id))
                .collect(),
            n_sent: channel_outbox::head(tx, scope)?,
            asking: cards::list_asking(tx, scope)?.iter().map(id).collect(),
            parked,
            worked,
            put_aside: queue::dead(tx, scope)?.into_iter().map(|dead| dead.message).collect(),
            n_calls: model_calls::totals(tx, scope, at(0))?.calls,
            sessions,
        };
        shown.agrees(tx, scope)?;
        Ok(shown)
    }

    /// Whatever else counts, lists or searches the same rows says the same.
    fn agrees(&self, tx: &ReadTx<'_>, scope: &Scope) -> Result<(), Error> {
        let ids = |found: Vec<silas_core::card::Card>| found.into_iter().map(|card| card.id).collect::<Vec<_>>();
        let mut waiting: Vec<_> = self.asking.iter().chain(&self.parked).cloned().collect();
        let by_age = |id: &CardId| id.as_str()["card-".len()..].parse::<u32>().unwrap();
        waiting.sort_by_key(by_age);
        assert_eq!(ids(cards::list_open(tx, scope)?), waiting);
        assert_eq!(ids(cards::page_open(tx, scope, None)?), waiting);
        assert_eq!(ids(cards::find_by_subject(tx, scope, SUBJECT)?), waiting);
        assert_eq!(cards::n_parked(tx, scope)?, self.parked.len());
        assert_eq!(executions::n_with_result(tx, scope)?, self.worked.len() as u64);
        let undoable: Vec<_> = undo_records::list_open(tx, scope, at(0))?.into_iter().map(|run| run.id).collect();
        assert_eq!(undoable.len(), self.worked.len());
        assert!(undoable.iter().all(|id| self.worked.contains(id)));
        assert_eq!(channel_outbox::backlog(tx, scope, 0)?.n_entries, self.on_its_way.len() as u64);
        let first = self.on_its_way.first().map_or(0, |(seq, _)| seq - 1);
        assert!(channel_outbox::reaches_back_to(tx, scope, first)?);
        assert!(!channel_outbox::reaches_back_to(tx, scope, self.n_sent + 1)?);
        Ok(())
    }
}

fn opened(world: &World) -> Store {
    let store = world.open();
    change(&store, |tx| {
        let token = token(TokenKind::Plan, "n-1", WORK_USES, Verdict::Approved);
        tokens::insert(tx, &token, &certificate(1), "payload", None)
    });
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn neither_is_shown_a_row_of_the_other(moves in moves()) {
        let world = World::new();
        let store = opened(&world);
        let mut expected = [Shown::default(), Shown::default()];
        for (n, (is_owner, what)) in (1..).zip(moves) {
            change(&store, move |tx| play(tx, &scope(is_owner), n, what));
            expected[usize::from(is_owner)].note(n, what);
            if matches!(what, Happens::Forgotten) {
                expected.iter_mut().for_each(Shown::forget_outbox);
            }
        }
        let both = store.read(|tx| Ok([Shown::read(tx, &scope(false))?, Shown::read(tx, &scope(true))?])).wait().unwrap();
        let everybody = store.read(cards::list_open_everywhere).wait().unwrap().len();
        let n_cards: usize = expected.iter().map(|shown| shown.asking.len() + shown.parked.len()).sum();
        prop_assert_eq!(everybody, n_cards);
        prop_assert_eq!(both, expected);
    }
}

#[test]
fn a_device_that_takes_nothing_in_is_stuck_in_its_own_scope_only() {
    let world = World::new();
    let store = opened(&world);
    change(&store, |tx| {
        for (n, is_owner) in [(1, true), (2, false)] {
            let id = SessionId::parse(&format!("sess-{n}")).unwrap();
            sessions::attach(tx, &scope(is_owner), &id, &certificate(n).body.key, "Laptop", at(0))?;
        }
        play(tx, &scope(false), 7, Happens::Said)
    });
    let stuck = store.read(|tx| channel_outbox::stuck(tx, at(60))).wait().unwrap();
    let stuck: Vec<_> = stuck.into_iter().map(|(session, _)| session.to_string()).collect();
    assert_eq!(stuck, ["sess-2"]);
}

#[test]
fn a_row_whose_scope_cannot_be_read_is_nobodys() {
    let world = World::new();
    let store = opened(&world);
    change(&store, |tx| play(tx, &Scope::Owner, 1, Happens::Asked));
    world.forger().execute("UPDATE cards SET scope = 'everybody'", []).unwrap();
    let open = store.read(|tx| cards::list_open(tx, &Scope::Owner)).wait().unwrap();
    assert_eq!(open, []);
    assert!(matches!(store.read(cards::list_open_everywhere).wait(), Err(Error::Damaged { .. })));
}
