//! What was counted so far, kept for whoever asks next. One count is under way at a time, however many ask; where the
//! ledger has not grown since, nothing is read, and where it has, only what is new.
//!
//! A window that moves with every look would have to be counted anew with every look. So it stays where it was when the
//! count was begun, for an hour; what comes later counts too.

use super::tally::{Known, Tally};
use super::{MeasureView, rows};
use silas_core::Timestamp;
use silas_core::event::AuditEvent;
use silas_store::{Error, Pending};
use std::time::Duration;
use tokio::sync::Mutex;

/// How far the beginning of the month may be off. It is counted anew after this, and whatever was forgotten meanwhile is
/// forgotten here too.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(3600);

/// Who asks waits for the one before, and mostly finds everything counted.
#[derive(Default)]
pub(crate) struct Kept(pub(super) Mutex<Counted>);

pub(super) struct Counted {
    pub(super) tally: Tally,
    /// The last entry that is in it; `None` before the first look.
    through: Option<u64>,
    /// A look whose asker may have gone. Whoever comes next waits for this one, so a second reader is never taken.
    looking: Option<Pending<Page>>,
}

/// What is still to be counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stretch {
    /// From the first entry of this instant on, if nothing was counted yet.
    pub(super) since: Timestamp,
    pub(super) after: Option<u64>,
    pub(super) head: u64,
}

/// What one look at the ledger brought.
pub(super) struct Page {
    pub(super) through: u64,
    pub(super) events: Vec<(Timestamp, AuditEvent)>,
    pub(super) known: Known,
}

impl Kept {
    /// What is said of the ledger as it was when this was asked, or of a later one. `look` takes one reader for one page.
    pub(super) async fn rows(
        &self,
        now: Timestamp,
        head: u64,
        look: impl Fn(Stretch) -> Pending<Page>,
    ) -> Result<Vec<MeasureView>, Error> {
        let mut counted = self.0.lock().await;
        while let Some(stretch) = counted.left(now, head) {
            let page = counted.looking.get_or_insert_with(|| look(stretch)).await;
            counted.looking = None;
            counted.take(&page?);
        }
        Ok(rows::of(&counted.tally))
    }
}

impl Default for Counted {
    fn default() -> Self {
        Counted::begin(Timestamp::EPOCH)
    }
}

impl Counted {
    fn begin(now: Timestamp) -> Self {
        Counted { tally: Tally::new(now), through: None, looking: None }
    }

    /// What is still to be looked at before somebody who asks now can be answered; nothing, if all is counted.
    fn left(&mut self, now: Timestamp, head: u64) -> Option<Stretch> {
        let begun_at = self.tally.begun_at();
        // A clock may also be set back.
        let is_old = now.since(begun_at).max(begun_at.since(now)) >= KEPT_FOR;
        if is_old && self.looking.is_none() {
            *self = Counted::begin(now);
        }
        let is_done = self.looking.is_none() && self.through.is_some_and(|through| through >= head);
        (!is_done).then(|| Stretch { since: self.tally.reads_from(), after: self.through, head })
    }

    fn take(&mut self, page: &Page) {
        page.events.iter().for_each(|(at, event)| self.tally.take(*at, event, &page.known));
        self.through = Some(page.through);
    }
}
