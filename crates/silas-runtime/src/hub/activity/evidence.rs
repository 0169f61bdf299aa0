//! What stands behind one row of Activity: what was wanted, asked, signed or paid, by which key, and the entry of the ledger
//! itself, so that whoever reads it can compute its hash.
//!
//! Everything is looked up when somebody asks and nothing is kept for it, so what was forgotten is not told here either.
//! Facts are computed; words of people, models and programs come apart from them, each with whose they are. The story of a
//! whole piece of work is its proof's, which trust makes.

mod events;
mod lookup;

use super::sentences::{capitalised, not_called, unasked, unreached};
use super::{Beside, called, row};
use crate::Trouble;
use crate::hub::{Hub, Lookup};
use crate::view::EvidenceView;
use crate::words::{Words, count, in_code, took};
use crate::work_record::WorkRecord;
use silas_core::card::{Card, Fact, Quote};
use silas_core::chain;
use silas_core::check::{CheckResult, Outcome};
use silas_core::device::DeviceKind;
use silas_core::event::{AuditEvent, NOT_GRANTED, Text};
use silas_core::model::{Role, dollars};
use silas_core::taint::Suspicion;
use silas_core::token::{Kind, Verdict};
use silas_core::{CallId, CardId, ExecutionId, KeyId, MessageId, Taint, TokenId, WorkItemId};
use silas_gates::scrub;
use silas_store::ledger::{self, Entry};
use silas_store::{Error, ReadTx, cards, executions, tokens, work_items};

/// How far back what an entry names is looked for: a question for its price, an offer for its decision.
const ENTRIES_MAX: u32 = 1_000;
/// Longest fact and longest quotation. What is longer is in the proof, or in `silas audit`.
const FACT_CHARS_MAX: usize = 200;
/// As much of a command as leaves room for how it ended.
const COMMAND_CHARS_MAX: usize = 120;
const QUOTE_CHARS_MAX: usize = 1_000;

impl Hub {
    /// What stands behind an entry of the ledger.
    pub async fn evidence(&self, seq: u64) -> Result<EvidenceView, Trouble> {
        let words = self.house.words.clone();
        let looking = self.house.store.read(move |tx| {
            let entries = ledger::before(tx, seq.saturating_add(1), ENTRIES_MAX)?;
            let link = ledger::links_after(tx, seq.saturating_sub(1), 1)?.pop();
            let (Some(entry), Some(link)) = (entries.last(), link) else { return Ok(None) };
            if entry.seq != seq || link.seq != seq {
                return Ok(None);
            }
            let told = row(entry, &called(&entries), &Lookup(tx), &words);
            let (text, note) = told.map_or_else(|| (entry.name.clone(), String::new()), |row| (row.text, row.note));
            let mut behind = Behind::new(tx, &entries, &words);
            if let Some(event) = &entry.event {
                behind.tell(event)?;
            }
            let holds = chain::hash(link.seq, link.at, &link.body, &link.prev).is_ok_and(|hash| hash == link.hash);
            let Behind { facts, quotes, proof, .. } = behind;
            Ok(Some(EvidenceView { seq, text, note, facts, quotes, proof, holds, link }))
        });
        looking.await?.ok_or_else(|| no_such_entry(seq))
    }
}

struct Behind<'a, 'c> {
    tx: &'a ReadTx<'c>,
    /// What happened before, the entry itself last.
    entries: &'a [Entry],
    words: &'a Words,
    facts: Vec<Fact>,
    quotes: Vec<Quote>,
    /// The work whose proof can be opened.
    proof: Option<ExecutionId>,
}

impl<'a, 'c> Behind<'a, 'c> {
    fn new(tx: &'a ReadTx<'c>, entries: &'a [Entry], words: &'a Words) -> Self {
        Behind { tx, entries, words, facts: Vec::new(), quotes: Vec::new(), proof: None }
    }

    fn fact(&mut self, label: &str, text: &str) {
        self.facts.push(Fact { label: label.to_owned(), text: scrub::visible_line(text, FACT_CHARS_MAX) });
    }

    fn quote(&mut self, who: &str, text: &str) {
        let text: String = scrub::visible(text).chars().take(QUOTE_CHARS_MAX).collect();
        self.quotes.push(Quote { who: who.to_owned(), text });
    }

    fn text(&self, text: &Text) -> String {
        Lookup(self.tx).text(text).unwrap_or_else(|| "(forgotten)".to_owned())
    }

    fn texts(&mut self, label: &str, text: &Text) {
        let text = self.text(text);
        self.fact(label, &text);
    }
}

pub(crate) fn no_such_entry(seq: u64) -> Trouble {
    Trouble::new("E_LEDGER_ENTRY", &format!("The ledger has no entry {seq}."), "`silas audit list` shows the numbers.")
}
