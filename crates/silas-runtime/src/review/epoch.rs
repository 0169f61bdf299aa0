//! Which life of the data directory this is. A restore begins a new epoch, kept outside the database, and every approval
//! of before is void from then on; here the database hears of it.

use crate::Trouble;
use crate::review::Review;
use crate::review::kinds::rules;
use silas_core::card::{Card, CardState};
use silas_core::checkpoint::Head;
use silas_core::event::AuditEvent;
use silas_store::{Commit, Tx, cards, ledger, sessions, settings};

/// The setting that remembers the epoch in which the database was last opened.
const EPOCH: &str = "epoch";

/// What the database says about the epoch that the data directory names.
enum Known {
    /// The same, or a database that has never been asked.
    Same,
    Earlier,
    Later,
}

impl Review {
    /// Before anything else: in a new epoch the ledger names the old head, and what was asked before asks anew.
    pub(crate) async fn enter_epoch(&self) -> Result<(), Trouble> {
        let epoch = self.house.engine.anchor().epoch;
        let entering = self.house.store.write(move |tx| {
            let known = match settings::get::<u64>(tx, EPOCH)? {
                Some(last) if last < epoch => Known::Earlier,
                Some(last) if last > epoch => Known::Later,
                _ => Known::Same,
            };
            match known {
                Known::Later => return Ok(Commit(false)),
                Known::Same => {}
                Known::Earlier => {
                    let old_head = ledger::head(tx)?.map(|(seq, hash)| Head { seq, hash });
                    tx.record(&AuditEvent::RestoredFromBackup { old_head, epoch })?;
                    void_offers(tx, epoch)?;
                    sessions::void_all(tx)?;
                }
            }
            settings::set(tx, EPOCH, &epoch)?;
            Ok(Commit(true))
        });
        if entering.await? {
            return Ok(());
        }
        Err(Trouble::new(
            "E_DB_EPOCH",
            "The database has been through a restore that this data directory knows nothing of.",
            "The file `epoch` was lost or replaced. Restore a backup with `silas restore`.",
        ))
    }
}

/// A decision about an offer of an earlier epoch would be refused: questions are parked and ask anew with one tap, and
/// what could be undone then can no longer be.
fn void_offers(tx: &mut Tx<'_>, epoch: u64) -> Result<(), silas_store::Error> {
    let is_void = |card: &Card| card.offer.as_ref().is_some_and(|offer| offer.epoch != epoch);
    for mut card in cards::list_open_everywhere(tx)?.into_iter().filter(is_void) {
        match rules(card.face.kind).after_restore() {
            CardState::Parked if card.state == CardState::Open => {
                card.state = CardState::Parked;
                tx.record(&AuditEvent::CardParked { card: card.id.clone() })?;
            }
            CardState::Parked => {}
            state => card.state = state,
        }
        cards::update(tx, &card)?;
    }
    Ok(())
}
