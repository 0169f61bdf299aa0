//! What enters a piece of work from outside: what commands and checks print, names and contents of changed files.
//!
//! It decides how far the result can be trusted and writes down what reads like an order to an assistant. It hides nothing
//! from the owner and stops nothing: what text from outside may do is decided where work leaves the copy.

use super::job::{Failure, Job};
use silas_core::changeset::DiffLine;
use silas_core::event::AuditEvent;
use silas_core::taint::{Origin, Source, Suspicion};
use silas_gates::injection;
use silas_store::Commit;

impl Job {
    /// Text from outside: the work is no more trusted than it, and what reads like an order in it is written down. The
    /// owner still sees it as it is.
    pub(super) fn note_outside<'a>(
        &mut self,
        origin: Origin,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), Failure> {
        // The commands run on a copy of files of unknown authors, without a network.
        let source = Source::Execution { inputs: Source::Elsewhere.taint(), network: false };
        self.record.taint = self.record.taint.join(source.taint());
        let mut found = injection::Found::new();
        for (suspicion, n) in texts.into_iter().flat_map(injection::scan) {
            *found.entry(suspicion).or_default() += n;
        }
        // Colours and line drawing are control characters too; by themselves they are no order.
        found.remove(&Suspicion::Hidden);
        if found.is_empty() {
            return Ok(());
        }
        self.record.orders_found += found.values().sum::<u32>();
        let event = AuditEvent::ExternalTextScrubbed { origin, of: self.record.view.execution.to_string(), found };
        let noting = self.work.house.store.write_buffered(move |tx| {
            tx.record(&event)?;
            Ok(Commit(()))
        });
        Ok(noting.wait()?)
    }

    /// Names and new lines of changed files are text from outside as well.
    pub(super) fn note_changes(&mut self) -> Result<(), Failure> {
        let diffs = self.record.diffs.clone();
        let names: Vec<String> = diffs.iter().map(|diff| diff.path.to_string()).collect();
        self.note_outside(Origin::FileName, names.iter().map(String::as_str))?;
        let added = diffs.iter().flat_map(|diff| diff.lines.iter().flatten()).filter_map(|line| match line {
            DiffLine::Added(text) => Some(text.as_str()),
            DiffLine::Same(_) | DiffLine::Removed(_) | DiffLine::Gap(_) | DiffLine::NotShown(_) => None,
        });
        self.note_outside(Origin::FileContent, added)
    }
}
