//! Takes back what an execution applied: a decision of its own, once, within its time, and never over a later edit.
//!
//! All of it is put back, or what was put back already goes in place again and nothing is undone. Only where neither can be,
//! some of it is undone; the rest stays applied, and can be undone by another decision.

use crate::attributes::{self, Since};
use crate::clock;
use crate::error::Doing;
use crate::ground::Ground;
use crate::journal::{Fate, Journal, Op};
use crate::memory::Record;
use crate::movable::Trial;
use crate::permit::Granted;
use crate::stage::{self, Site};
use crate::{Error, InPart, Undone, durable, observe, take_back, trade, tree};
use silas_core::changeset::{ChangeOrder, FileState};
use silas_core::evidence::{self, Evidence, Refusal, When};
use silas_core::execution::ExecutionState;
use silas_core::fail::{self, FailPoint};
use silas_core::revocation::Revocations;
use silas_core::token::Kind;
use silas_core::{TokenId, canonical};
use std::collections::BTreeMap;

pub(crate) fn undo(ground: &Ground, evidence: &Evidence) -> Result<Undone, Error> {
    let memory = &ground.memory;
    let now = clock::now();
    let (token, order) = read_order(ground, evidence, &memory.revocations(&ground.anchor)?, When::At(now))?;
    let _lock = memory.lock_soon(&order.execution)?;
    let record = memory
        .record(&order.execution)?
        .filter(Record::is_work)
        .ok_or_else(|| Error::UndoClosed("the launcher knows of no such work".to_owned()))?;
    match record.state {
        ExecutionState::Applied => {}
        ExecutionState::Undone => return Err(Error::AlreadySpent),
        ExecutionState::Running | ExecutionState::Rehearsed | ExecutionState::Ended => {
            return Err(Error::UndoClosed("it was not applied".to_owned()));
        }
    }
    if record.changeset != Some(order.changeset) {
        return Err(Refusal::Content.into());
    }
    if record.is_forgotten || record.undo_until.is_none_or(|until| now >= until) {
        return Err(Error::UndoClosed("the time for it has passed".to_owned()));
    }
    spend(ground, evidence, token, &record)?;
    let _turn = memory.turn_to_apply()?;
    let granted = Granted::all(&record.places)?;
    let applied = load_applied(ground, &order)?;
    let journal = match Journal::load(&memory.undo_journal(&order.execution))? {
        Some(committed) => committed,
        None => {
            let journal = prepare(&applied, evidence, &granted)?;
            journal.save(&memory.undo_journal(&order.execution))?;
            journal
        }
    };
    fail::point(FailPoint::UndoCommitted);
    finish(ground, journal, applied, &granted)
}

fn read_order(
    ground: &Ground,
    evidence: &Evidence,
    revocations: &Revocations,
    when: When,
) -> Result<(TokenId, ChangeOrder), Error> {
    let token = evidence::verify(evidence, Kind::Undo, &ground.anchor, revocations, when)?;
    let order: ChangeOrder = canonical::read(&evidence.payload).map_err(|e| Refusal::Malformed(e.to_string()))?;
    if order.kind != Kind::Undo {
        return Err(Refusal::Kind.into());
    }
    Ok((token, order))
}

/// The first attempt is written down. Another one with the same decision may go on where the first was interrupted; what
/// was undone is refused before this.
fn spend(ground: &Ground, evidence: &Evidence, token: TokenId, plan: &Record) -> Result<(), Error> {
    let plan_hash = evidence.token.body.offer.plan_hash;
    match ground.memory.record(&evidence.execution)? {
        None => {
            let record = Record::new(Kind::Undo, token, plan_hash, clock::now(), plan.places.clone());
            ground.memory.create(&evidence.execution, &record)
        }
        Some(record) => {
            let is_same = record.kind == Kind::Undo && record.token == token && record.plan_hash == plan_hash;
            if is_same && record.state == ExecutionState::Running { Ok(()) } else { Err(Error::AlreadySpent) }
        }
    }
}

fn load_applied(ground: &Ground, order: &ChangeOrder) -> Result<Journal, Error> {
    Journal::load(&ground.memory.journal(&order.execution))?
        .filter(|journal| journal.fates.is_some() && journal.changeset == order.changeset)
        .ok_or_else(|| Error::Damaged("the journal of what was applied is missing".to_owned()))
}

/// Looks at every file before any is touched.
fn prepare(applied: &Journal, evidence: &Evidence, granted: &[Granted]) -> Result<Journal, Error> {
    let sites = stage::open_all(&granted.iter().collect::<Vec<_>>(), &applied.execution)?;
    let trials = sites.iter().map(|site| Trial::begin(&site.stage.dir)).collect::<Result<Vec<_>, Error>>()?;
    let (mut ops, mut edited) = (Vec::new(), Vec::new());
    let mut names: BTreeMap<(usize, u64), (u64, Vec<String>)> = BTreeMap::new();
    for (op, fate) in applied.ended() {
        let doing = || format!("Looking at {}", op.path);
        match fate {
            Fate::NotApplied => continue,
            Fate::InPlace | Fate::OwnersKept => {}
        }
        let site = site_of(&sites, op)?;
        let shown = trade::named(applied, op);
        observe::may_rename(site.root, &op.path, &shown)?;
        trials[op.root].may_leave(site.root, &op.path, &shown)?;
        if !observe::path_below(site.root, &op.path).doing(doing)?.is(&op.staged) {
            edited.push(shown);
        } else if op.there.is_some() && op.staged.is_some() {
            match attributes::changed_since(op, site).doing(doing)? {
                Since::Same { inode, links } => {
                    let known = names.entry((op.root, inode)).or_insert((links, Vec::new()));
                    known.1.push(shown);
                }
                Since::Changed => edited.push(shown),
                Since::NoFile => {}
            }
        }
        let kept = observe::name_in(&site.stage.dir, op.stage.as_bytes()).doing(doing)?.state();
        if kept.is_none() && op.there.is_some() {
            return Err(Error::UndoClosed(format!("what was in {} before is gone", op.path)));
        }
        ops.push(Op { there: op.staged.clone(), staged: kept, ..op.clone() });
    }
    // Who has given a file another name since would be left with two files.
    edited.extend(names.into_values().filter(|(links, of)| *links != of.len() as u64).flat_map(|(_, of)| of));
    if !edited.is_empty() {
        return Err(Error::LaterEdit { paths: tree::shortened(edited) });
    }
    ops.reverse();
    Ok(Journal {
        execution: applied.execution.clone(),
        evidence: evidence.clone(),
        places: applied.places.clone(),
        changeset: applied.changeset,
        ops,
        new_dirs: applied.new_dirs.clone(),
        is_in_two_steps: applied.is_in_two_steps,
        fates: None,
        in_part: None,
    })
}

fn site_of<'s>(sites: &'s [Site<'_>], op: &Op) -> Result<&'s Site<'s>, Error> {
    sites.get(op.root).ok_or_else(|| Error::Damaged("a journal with too few directories".to_owned()))
}

/// Goes on from the commit point of the undo, for the first time or again. After an error that is not
/// [`Error::Unfinished`] its journal is gone, and what is applied is what the journal of the apply says.
pub(crate) fn finish(
    ground: &Ground,
    mut journal: Journal,
    applied: Journal,
    granted: &[Granted],
) -> Result<Undone, Error> {
    if journal.fates.is_none() {
        carry_out(ground, &mut journal, &applied, granted)?;
    }
    note_undone(ground, &journal, &applied, granted).map_err(Error::after_commit)
}

fn carry_out(ground: &Ground, journal: &mut Journal, applied: &Journal, granted: &[Granted]) -> Result<(), Error> {
    let path = ground.memory.undo_journal(&journal.execution);
    let roots: Vec<&Granted> = granted.iter().collect();
    let sites = stage::open_all(&roots, &journal.execution).map_err(Error::after_commit)?;
    let tried = trade::carry_out(journal, &sites, FailPoint::UndoHalfway)
        .and_then(|fates| trade::all_in_place(journal, fates))
        .and_then(|fates| trade::remove_empty(&sites, &journal.new_dirs).map(|()| fates));
    let why = match tried {
        Ok(fates) => match journal.settle(fates, &path) {
            Ok(()) => return Ok(()),
            Err(why) => why,
        },
        Err(why) => why,
    };
    let fates = take_back::take_back(journal, &sites).map_err(Error::after_commit)?;
    if !fates.contains(&Fate::NotApplied) {
        // All of it is undone after all.
        return journal.settle(fates, &path).map_err(Error::after_commit);
    }
    let mut in_part = None;
    if !take_back::is_all_back(&fates) {
        let rest = Journal { fates: Some(still_applied(applied, journal, &fates)), ..applied.clone() };
        let rest = Journal { in_part: Some(why.in_part()), ..rest };
        note_rest(ground, &rest).map_err(Error::after_commit)?;
        in_part = rest.in_part();
    }
    durable::remove(&path)
        .doing(|| "Removing a journal that was taken back".to_owned())
        .map_err(Error::after_commit)?;
    Err(match in_part {
        Some(InPart { new, old, why }) => Error::UndoneInPart { back: old, left: new, why },
        None => why.undo_taken_back(),
    })
}

/// What is applied once some of it is undone: the rest.
fn still_applied(applied: &Journal, undo: &Journal, fates: &[Fate]) -> Vec<Fate> {
    let is_undone = |op: &Op| {
        let mut undone = undo.ops.iter().zip(fates).filter(|(_, fate)| **fate != Fate::NotApplied);
        undone.any(|(undone, _)| (undone.root, &undone.path) == (op.root, &op.path))
    };
    applied.ended().map(|(op, fate)| if is_undone(op) { Fate::NotApplied } else { fate }).collect()
}

fn note_rest(ground: &Ground, rest: &Journal) -> Result<(), Error> {
    rest.save(&ground.memory.journal(&rest.execution))?;
    let damaged = || Error::Damaged("a journal without its execution".to_owned());
    let mut record = ground.memory.record(&rest.execution)?.ok_or_else(damaged)?;
    record.files = rest.files();
    ground.memory.update(&rest.execution, &record)
}

fn note_undone(ground: &Ground, journal: &Journal, applied: &Journal, granted: &[Granted]) -> Result<Undone, Error> {
    let memory = &ground.memory;
    let execution = journal.execution.clone();
    for (n, root) in granted.iter().enumerate() {
        stage::clear(&root.dir, &execution, &removable(journal, applied, n))?;
    }
    let token = journal.evidence.token.id().map_err(|e| Error::Damaged(e.to_string()))?;
    let damaged = || Error::Damaged("a journal without its execution".to_owned());
    let mut order = memory.record(&journal.evidence.execution)?.ok_or_else(damaged)?;
    order.state = ExecutionState::Ended;
    memory.update(&journal.evidence.execution, &order)?;
    let mut record = memory.record(&execution)?.ok_or_else(damaged)?;
    record.state = ExecutionState::Undone;
    record.undone_by = Some(token);
    memory.update(&execution, &record)?;
    fail::point(FailPoint::UndoDone);
    let undone = Undone {
        changeset: journal.changeset,
        files: journal.files(),
        conflicts: journal.conflicts(),
        execution: execution.clone(),
    };
    drop_journals(ground, &execution)?;
    Ok(undone)
}

/// Both have served; the record says what is true.
pub(crate) fn drop_journals(ground: &Ground, execution: &silas_core::ExecutionId) -> Result<(), Error> {
    let memory = &ground.memory;
    durable::remove(&memory.undo_journal(execution))
        .and_then(|()| durable::remove(&memory.journal(execution)))
        .doing(|| "Removing a journal that has served".to_owned())
}

/// After an undo the stage holds what Silas had made. What else may be there is somebody's and stays.
fn removable(journal: &Journal, applied: &Journal, root: usize) -> Vec<(String, FileState)> {
    let taken_back = journal.ended().filter(|(_, fate)| *fate == Fate::InPlace).map(|(op, _)| (op, &op.there));
    let never_applied = applied.ended().filter(|(_, fate)| *fate == Fate::NotApplied).map(|(op, _)| (op, &op.staged));
    let here = taken_back.chain(never_applied).filter(|(op, _)| op.root == root);
    let known = here.filter_map(|(op, state)| Some((op.stage.clone(), state.clone()?)));
    known.chain(journal.between_steps(root)).chain(applied.between_steps(root)).collect()
}

/// Whether a committed undo is really what was approved: who and what, not when.
pub(crate) fn verify(ground: &Ground, journal: &Journal) -> Result<(Vec<Granted>, Journal), Error> {
    // What is committed is finished, whoever was revoked since: half of it in place would be worse.
    let (_, order) = read_order(ground, &journal.evidence, &Revocations::default(), When::AlreadyCommitted)?;
    let applied = load_applied(ground, &order)?;
    if order.execution != journal.execution || applied.places != journal.places {
        return Err(Error::Damaged("a journal that does not fit its approval".to_owned()));
    }
    Ok((Granted::all(&journal.places)?, applied))
}
