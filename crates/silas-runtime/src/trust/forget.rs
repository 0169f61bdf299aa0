//! Forgetting what an entry of the ledger says, because the owner wants it so.
//!
//! It cannot be taken back, so it is no sentence in the Stream that reflex might misread, and no card that somebody taps
//! away: the terminal names exactly one entry in words of a fixed form, shows its text, and signs them.

use crate::Trouble;
use crate::trust::{Trust, classify};
use crate::view::LedgerTextView;
use silas_core::MessageId;
use silas_core::device::DeviceKind;
use silas_core::message::{HeardMessage, OWNER_SCOPE, SignedMessage};
use silas_core::taint::Source;
use silas_gates::scrub;
use silas_store::Commit;
use silas_store::forgetting::{self, Forgotten, Need};

/// What is signed, word for word.
pub fn words(seq: u64) -> String {
    format!("forget the text of ledger entry {seq}")
}

/// What became of a signed wish.
enum Wish {
    /// Not freshly signed by the terminal of this installation, or for another entry.
    NotTheOwners,
    Was(Forgotten),
}

impl Trust {
    /// The text of one entry, to be looked at before it goes.
    pub async fn ledger_text(&self, seq: u64) -> Result<LedgerTextView, Trouble> {
        let found = self.house.store.read(move |tx| forgetting::look(tx, seq)).await?;
        let (entry, text) = found.ok_or_else(|| crate::hub::no_such_entry(seq))?;
        let text = text.map(|text| scrub::visible(&text));
        Ok(LedgerTextView { seq, at: entry.at, event: entry.name, text })
    }

    /// Forgets it, everywhere in the agent's file, and takes it off the disk.
    pub async fn forget_text(&self, seq: u64, signed: SignedMessage) -> Result<String, Trouble> {
        let (engine, now, freshness) =
            (self.house.engine.clone(), self.house.clock.now(), self.house.options.message_freshness);
        let id = MessageId::new(self.house.random.as_ref());
        let forgetting = self.house.store.write(move |tx| {
            let device = engine.device(tx, &signed.signature.key)?;
            let is_terminal = device.is_ok_and(|device| device.body.kind == DeviceKind::Terminal);
            let says_so = signed.body.text == words(seq);
            let key = signed.signature.key.clone();
            let heard = HeardMessage { body: signed.body.clone(), signature: Some(signed.signature.clone()) };
            if !is_terminal
                || !says_so
                || classify(tx, &engine, &heard, OWNER_SCOPE, &id, now, freshness)? != Source::Signed
            {
                return Ok(Commit(Wish::NotTheOwners));
            }
            Ok(Commit(Wish::Was(forgetting::forget(tx, seq, &key)?)))
        });
        match forgetting.await? {
            Wish::NotTheOwners => Err(Trouble::new(
                "E_APPROVAL_FORGET",
                "Nothing was forgotten: that was not freshly signed by this machine's terminal.",
                "Use `silas audit forget`.",
            )),
            Wish::Was(Forgotten::NoSuchEntry) => Err(crate::hub::no_such_entry(seq)),
            Wish::Was(Forgotten::NothingToForget) => Err(Trouble::new(
                "E_LEDGER_TEXT",
                &format!("Entry {seq} of the ledger has no text, or it is forgotten already."),
                "`silas audit list` shows what there is.",
            )),
            Wish::Was(Forgotten::StillNeeded(need)) => Err(still_needed(need)),
            Wish::Was(Forgotten::Done) => {
                let is_off_disk = self.house.store.scrub().await?;
                self.hub.publish_activity().await;
                self.hub.publish_cards().await;
                Ok(match is_off_disk {
                    true => "Forgotten. The entry stays, without its text.".to_owned(),
                    false => "Forgotten. Somebody was reading the database, so a trace stays in its log until Silas \
                              has been stopped and started."
                        .to_owned(),
                })
            }
        }
    }
}

fn still_needed(need: Need) -> Trouble {
    let (what, todo) = match need {
        Need::UnderWay => {
            ("Silas is still at what this asks for", "Wait until it is done, or end it with `silas stop`.")
        }
        Need::Card => ("a card about it is in Review", "Answer it or put it away, then try again."),
        Need::Undo => ("what came of it can still be undone", "Try again when the undo time is over."),
    };
    Trouble::new("E_LEDGER_NEEDED", &format!("Nothing was forgotten: {what}."), todo)
}
