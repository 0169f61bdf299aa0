//! What `silas doctor` asks about models: whether those that are set up could be asked, and whether the last question was
//! answered. Without one everything but open questions works, so whatever is found is something to know and never bad.
//!
//! Looked at from outside, beside a running server or without one. Nobody is asked anything here: `silas model check` does.

use crate::assignment::{Assigned, ModelOptions, assigned};
use crate::hub::spent;
use crate::trust::REVOCATIONS;
use crate::view::Spent;
use crate::words::{Words, key, spoken, spoken_of};
use silas_approval::Engine;
use silas_core::event::{AuditEvent, OVER_CAP};
use silas_core::model::{KeySource, ModelGrant, POLICY_VERSION, Period, Price, Role, dollars};
use silas_core::probe::Probe;
use silas_core::revocation::RevocationList;
use silas_core::{CallId, Timestamp};
use silas_store::ledger::{self, Entry};
use silas_store::{Reader, settings};

const NAME: &str = "Models";
/// Entries among which the last question is looked for; what is further back is no news.
const ENTRIES_MAX: u32 = ledger::ENTRIES_MAX;

/// Where a key was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    There,
    Missing,
    /// It is kept, and the vault is locked.
    Locked,
    /// Only the server could say, and does not.
    Unknown,
}

/// What the doctor knows besides the store.
pub struct Look<'a> {
    pub options: &'a ModelOptions,
    pub words: &'a Words,
    pub key: &'a dyn Fn(Role, &KeySource) -> Key,
    pub now: Timestamp,
}

struct Known {
    grants: Vec<ModelGrant>,
    day: Spent,
    month: Spent,
    entries: Vec<Entry>,
}

/// One probe for each thing to know, or one that says that there is none.
pub fn probes(reader: &Reader, engine: &Engine, look: &Look<'_>) -> Vec<Probe> {
    let (engine, caps, now) = (engine.clone(), look.options.caps, look.now);
    let looking = reader.read(move |tx| {
        // A list that does not verify is not ours, and takes nothing back.
        settings::get::<RevocationList>(tx, REVOCATIONS)?.map(|list| engine.adopt(list));
        Ok(Known {
            grants: engine.models(tx)?,
            day: spent(tx, &Period::day(now), caps.day)?,
            month: spent(tx, &Period::month(now), caps.month)?,
            entries: ledger::latest(tx, ENTRIES_MAX)?,
        })
    });
    match looking.wait() {
        Ok(known) => found(&known, look),
        Err(error) => vec![Probe::bad(NAME, error.to_string(), "Restore a backup with `silas restore`.")],
    }
}

fn found(known: &Known, look: &Look<'_>) -> Vec<Probe> {
    let serving = |role: Role| assigned(look.options, &known.grants, role).map(|assigned| (role, assigned));
    let serving: Vec<(Role, Assigned)> = Role::ALL.into_iter().filter_map(serving).collect();
    if serving.is_empty() {
        return vec![Probe::good(NAME, "None is set up. Tasks, commands and checks work without one.")];
    }
    let mut found: Vec<Probe> = Vec::new();
    // One model in several roles lacks a thing once.
    let mut note = |probe: Option<Probe>| found.extend(probe.filter(|probe| !found.contains(probe)));
    for (role, assigned) in &serving {
        note(not_allowed(look.options, assigned));
        note(no_key((look.key)(*role, &assigned.key), assigned));
        note(not_agreed(&known.grants, *role, assigned));
    }
    let costs = serving.iter().any(|(_, assigned)| assigned.price != Price::FREE);
    note(spent_up(known).filter(|_| costs));
    note(last_failed(&known.entries, look));
    if found.is_empty() {
        let mut names: Vec<String> = serving.iter().map(|(_, assigned)| spoken(&assigned.model)).collect();
        names.dedup();
        let (spent, cap) = (dollars(known.day.microusd), dollars(known.day.cap_microusd));
        let sentence = format!("Set up and agreed to: {}. {spent} of {cap} are spent today.", names.join(", "));
        found.push(Probe::good(NAME, sentence));
    }
    found
}

fn not_allowed(options: &ModelOptions, assigned: &Assigned) -> Option<Probe> {
    let is_elsewhere = options.local_only && !assigned.model.is_local();
    let sentence = format!("{} is not asked: `models.local_only` is set.", spoken(&assigned.model));
    let fix = "Add one on this machine with `silas model add`, or change the configuration.";
    is_elsewhere.then(|| Probe::warning(NAME, sentence, fix))
}

fn no_key(found: Key, assigned: &Assigned) -> Option<Probe> {
    let (host, kept) = (assigned.model.host(), key(&assigned.key));
    let (sentence, fix) = match (found, &assigned.key) {
        (Key::There | Key::Unknown, _) | (_, KeySource::None) => return None,
        (Key::Locked, _) => (format!("The key for {host} is locked up: {kept}."), "Run `silas unlock`.".to_owned()),
        (Key::Missing, KeySource::Vault(name)) => {
            (format!("The key for {host} is not there: {kept}."), format!("Set it with `silas secret set {name}`."))
        }
        (Key::Missing, KeySource::Variable(name)) => (
            format!("The key for {host} is not there: {kept}."),
            format!("Start Silas where {name} is set, or add the model again with `silas model add`."),
        ),
    };
    Some(Probe::warning(NAME, format!("{sentence} Nothing is sent there without it."), fix))
}

/// An agreement is about what is sent; when that becomes more, it ends.
fn not_agreed(grants: &[ModelGrant], role: Role, assigned: &Assigned) -> Option<Probe> {
    let about_it = || grants.iter().filter(|grant| grant.model == assigned.model && grant.roles.contains(&role));
    if about_it().any(|grant| grant.policy_version == POLICY_VERSION) {
        return None;
    }
    let host = assigned.model.host();
    let sentence = match about_it().map(|grant| grant.policy_version).max() {
        Some(version) => format!(
            "Your agreement with {host} has ended: it is about version {version} of what is sent, and this is version \
             {POLICY_VERSION}. Nothing is sent there until you agree again."
        ),
        None => format!("You have not agreed that what you say goes to {host}. Nothing is sent there."),
    };
    let fix = format!("`silas model add {}` shows what would be sent, and asks you.", assigned.model);
    Some(Probe::warning(NAME, sentence, fix))
}

fn spent_up(known: &Known) -> Option<Probe> {
    let refused = known.entries.iter().rev().find_map(|entry| match entry.event.as_ref()? {
        AuditEvent::ModelRefused { code, .. } => Some((code == OVER_CAP, entry.at)),
        // Asked after that, or more was allowed.
        AuditEvent::ModelCalled { .. } | AuditEvent::BudgetExtended { .. } => Some((false, entry.at)),
        _ => None,
    });
    // A question that could have cost more than was left was not asked, so a cap is reached before it is spent.
    let is_refused = |spent: &Spent, period: &dyn Fn(Timestamp) -> Period| {
        refused.is_some_and(|(by_cap, at)| by_cap && period(at).to_string() == spent.period)
    };
    let is_spent = |spent: &Spent| spent.microusd >= spent.cap_microusd;
    let (day, month) = (&known.day, &known.month);
    let (whose, spent, setting) = if is_spent(month) {
        ("This month's", month, "models.monthly_cap_cents")
    } else if is_spent(day) || is_refused(day, &Period::day) {
        ("Today's", day, "models.daily_cap_cents")
    } else {
        return None;
    };
    let sentence = format!(
        "{whose} cap for models is reached: {} of {} are spent. What needs one waits for you.",
        dollars(spent.microusd),
        dollars(spent.cap_microusd)
    );
    let fix = format!("The card in Review adds to it. What may be spent is `{setting}`, counted in UTC.");
    Some(Probe::warning(NAME, sentence, fix))
}

/// The last question that was asked, if nothing came of it.
fn last_failed(entries: &[Entry], look: &Look<'_>) -> Option<Probe> {
    let last = entries.iter().rev().find_map(|entry| match entry.event.as_ref()? {
        AuditEvent::ModelAnswered { call, outcome, .. } => Some((call, outcome, entry.at)),
        _ => None,
    });
    let (call, outcome, at) = last.filter(|(_, outcome, _)| *outcome != "answered")?;
    let model = asked(entries, call).map_or_else(|| "a model".to_owned(), spoken_of);
    let when = look.words.time(at, look.now);
    let sentence = format!("The last question to {model} got no usable answer, at {when} ({outcome}).");
    Some(Probe::warning(NAME, sentence, "`silas model check` asks it a small question and says what is wrong."))
}

fn asked<'e>(entries: &'e [Entry], call: &CallId) -> Option<&'e str> {
    entries.iter().find_map(|entry| match entry.event.as_ref()? {
        AuditEvent::ModelCalled { call: other, model, .. } if other == call => Some(model.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
