//! Models that did not pass their test: what was wrong with each, so that an open question is answered at once instead of
//! waiting for the same failure again.
//!
//! Kept in memory only: a restart is a good reason to try once more, and what it costs is one question that waits.
//! Deliberately absent: questions that fail later. A model that has answered is asked whenever the owner says it again.

use crate::Trouble;
use crate::assignment::Assigned;
use crate::house::lock;
use crate::minds::spending;
use crate::words::spoken;
use silas_core::Timestamp;
use silas_core::model::{KeySource, ModelName};
use std::sync::Mutex;
use std::time::Duration;

/// Long enough that a row of questions does not wait for one timeout after the other, and short enough that nobody has to
/// tell Silas that the model is back.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Why a model did not pass its test.
pub(crate) enum Untested {
    /// It was not asked: no key, no money, too often.
    Unasked(Trouble),
    Silent(Silence),
}

/// What came instead of a usable answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Silence {
    code: &'static str,
    what: String,
    /// What to put right first; empty where there is nothing but trying again.
    remedy: &'static str,
}

impl Silence {
    pub(crate) fn of(error: &silas_agents::Error) -> Self {
        Silence { code: error.code(), what: spending::failed(error).message, remedy: error.remedy() }
    }

    pub(crate) fn in_another_form(model: &ModelName, why: &str) -> Self {
        let why = silas_gates::scrub::visible_line(why, 160);
        let model = spoken(model);
        let what = format!("{model} answers, but twice not in the form that was asked for ({why}).");
        Silence { code: "E_LLM_FORM", what, remedy: "" }
    }

    /// Beside buttons that say what else can be done.
    fn told(&self) -> String {
        format!("{} {}", self.what, self.remedy).trim_end().to_owned()
    }

    /// The answer to an open question that is not asked for this.
    pub(crate) fn instead(&self) -> String {
        format!(
            "The model that is set up did not pass its test, so your message was not sent. {} A question in a minute tries it \
             again, and `silas model check` at once; say `add a model` to choose another.",
            self.told()
        )
    }
}

impl Untested {
    /// On the card and in the Stream. The card has a button for trying again and one for another model.
    pub(crate) fn told(&self) -> String {
        match self {
            Untested::Unasked(trouble) => trouble.to_string(),
            Untested::Silent(silence) => silence.told(),
        }
    }
}

impl From<Untested> for Trouble {
    /// For the terminal, where nothing stands beside it.
    fn from(untested: Untested) -> Trouble {
        match untested {
            Untested::Unasked(trouble) => trouble,
            Untested::Silent(Silence { code, what, remedy: "" }) => {
                Trouble::new(code, &what, "Check it again, or choose another model with `silas model add`.")
            }
            Untested::Silent(Silence { code, what, remedy }) => Trouble::new(code, &what, remedy),
        }
    }
}

/// Written by tests and by questions that were answered, read before each question; as many as the owner has set up.
#[derive(Default)]
pub(crate) struct Silences(Mutex<Vec<Known>>);

/// The same model with another key is another one.
struct Known {
    model: ModelName,
    key: KeySource,
    why: Silence,
    tried_at: Timestamp,
}

impl Known {
    fn is(&self, assigned: &Assigned) -> bool {
        self.model == assigned.model && self.key == assigned.key
    }
}

impl Silences {
    /// A test failed.
    pub(crate) fn note(&self, assigned: &Assigned, why: Silence, now: Timestamp) {
        let known = Known { model: assigned.model.clone(), key: assigned.key.clone(), why, tried_at: now };
        let mut all = lock(&self.0);
        all.retain(|other| !other.is(assigned));
        all.push(known);
    }

    /// A question that tried again failed, too. One that nobody tested is not silent for that.
    pub(crate) fn still(&self, assigned: &Assigned, why: Silence) {
        if let Some(known) = lock(&self.0).iter_mut().find(|known| known.is(assigned)) {
            known.why = why;
        }
    }

    /// It has answered.
    pub(crate) fn heard(&self, assigned: &Assigned) {
        lock(&self.0).retain(|known| !known.is(assigned));
    }

    /// A key was changed: what was wrong may have been that.
    pub(crate) fn forget_all(&self) {
        lock(&self.0).clear();
    }

    /// What to say instead of asking. Once in a while one question goes through and finds out.
    pub(crate) fn instead_of_asking(&self, assigned: &Assigned, now: Timestamp) -> Option<Silence> {
        let mut all = lock(&self.0);
        let known = all.iter_mut().find(|known| known.is(assigned))?;
        if now.since(known.tried_at) < TRIED_AGAIN_AFTER {
            return Some(known.why.clone());
        }
        known.tried_at = now;
        None
    }
}

#[cfg(test)]
mod tests;
