//! Waiting in sight: for a provider that does not answer, until it wants to be asked again or the owner's patience is over.
//!
//! Whose work it is that waits is told, so that its own time stands still.

use super::{LOOK_PAUSE, MODEL_CHARS_MAX, Purse};
use crate::house::lock;
use crate::minds::Minds;
use crate::view::AskedModelView;
use silas_agents::Error;
use silas_core::CallId;
use silas_gates::scrub;
use std::time::Duration;

/// How long a provider is left alone that does not say how long; doubled each time.
const PAUSE_FIRST: Duration = Duration::from_secs(15);
/// Whoever says at once is not believed a fourth time.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(600);

/// Whoever is told that a question waits for somebody.
pub(crate) trait Waits: Sync {
    /// In words, as "Waiting for the provider until 14:32".
    fn begins(&self, label: &str);
    fn ends(&self);
}

/// From its beginning until it is dropped. Where Silas goes away meanwhile, nothing ends: it goes on waiting after that.
pub(super) struct Waiting<'a> {
    minds: &'a Minds,
    bystander: Option<&'a dyn Waits>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.minds.house.is_stopping()
            && let Some(bystander) = self.bystander
        {
            bystander.ends();
        }
    }
}

impl<'a> Purse<'a> {
    pub(super) fn waiting(&self, label: &str) -> Waiting<'a> {
        if let Some(bystander) = self.bystander {
            bystander.begins(label);
        }
        Waiting { minds: self.minds, bystander: self.bystander }
    }

    /// Whether somebody wants the answer badly enough to wait: work, and a message of the owner's. Whoever only gives advice
    /// is done without.
    fn is_patient_about(&self, error: &Error) -> bool {
        match error {
            // The owner sees at once that nobody is there, or that half an answer is all that came, and says what then.
            Error::Unreachable { .. } | Error::Cut { .. } | Error::Timeout { .. } => self.plan.is_some(),
            _ => self.plan.is_some() || self.message.is_some(),
        }
    }

    /// Waits for the provider in sight: until it wants to be asked again, or a while, each time longer; but no longer in all
    /// than the owner has patience.
    pub(super) async fn wait_for_provider(&self, error: &Error, n: u32) -> bool {
        if !self.is_patient_about(error) {
            return false;
        }
        let house = &self.minds.house;
        let now = house.clock.now();
        let since = *lock(&self.unanswered_since).get_or_insert(now);
        let until = now.plus(error.retry_after().map_or_else(|| pause(n), |asked| asked.max(PAUSE_MIN)));
        if until > since.plus(house.options.models.patience) {
            return false;
        }
        let label = format!("Waiting for the provider until {}", house.words.time(until, now));
        let _waiting = self.waiting(&label);
        let view = AskedModelView {
            model: scrub::visible_line(&self.model, MODEL_CHARS_MAX),
            role: self.role,
            for_work: self.plan.is_some() || self.message.is_none(),
            message: self.message.clone(),
            since,
            waits_until: Some(until),
        };
        let _in_sight = self.minds.hub.asked_models.ask(&CallId::new(house.random.as_ref()), view);
        // By the house's clock, which may jump: a machine that slept has waited too.
        loop {
            let left = until.since(house.clock.now());
            if left.is_zero() {
                return true;
            }
            tokio::time::sleep(left.min(LOOK_PAUSE)).await;
        }
    }
}

fn pause(n: u32) -> Duration {
    PAUSE_FIRST.saturating_mul(2u32.saturating_pow(n.saturating_sub(1))).min(PAUSE_MAX)
}
