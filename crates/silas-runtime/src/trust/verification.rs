//! Keeping the ledger checkable: a signed checkpoint every so often, and the question whether it is what was written.

use crate::Trouble;
use crate::trust::Trust;
use crate::view::{LedgerPart, LedgerReport};
use silas_core::checkpoint::{Claim, Head, Statement};
use silas_store::audit::{self, Audit, Extent, Keeper};
use silas_store::{Commit, checkpoints, ledger, rotations};
use std::sync::atomic::Ordering;

/// Entries between two checkpoints; few enough that a forger who has not the key cannot rewrite much.
const CHECKPOINT_EVERY: u64 = 256;
/// Entries that are sent at once; whoever is further behind asks again.
const LINKS_MAX: u32 = 500;

impl Trust {
    /// Writes down which server keys there are, if one is new. One of which the ledger told must still be known.
    pub(crate) async fn know_server_keys(&self) -> Result<(), Trouble> {
        let keys = self.options.server_keys.ids();
        let noting = self.house.store.write(move |tx| Ok(Commit(rotations::note_server_keys(tx, &keys)?)));
        if noting.await? {
            return Ok(());
        }
        Err(Trouble::new(
            "E_DB_SERVER_KEY",
            "The ledger tells of server keys for which there is no certificate in this data directory.",
            "Put `store/server.key` and `store/server.cert` back from a backup, or restore one with `silas restore`.",
        ))
    }

    /// Whether the checkpoints of this database were signed with the keys that are here.
    pub(crate) async fn know_checkpoints(&self) -> Result<(), Trouble> {
        let Some(last) = self.house.store.read(checkpoints::last).await? else { return Ok(()) };
        self.checkpointed.store(last.body.head.seq, Ordering::SeqCst);
        if self.options.server_keys.judge(&last, Claim::Checkpoint, self.house.installation()).is_ok() {
            // A key that is new says so at once: what it signs first covers everything before it.
            let is_new = !last.verifies(&self.options.server_key.public(), Claim::Checkpoint);
            return if is_new { self.checkpoint().await } else { Ok(()) };
        }
        Err(Trouble::new(
            "E_DB_SERVER_KEY",
            "The ledger's checkpoints were signed with another server key than the one in this data directory.",
            "Put `store/server.key` back from a backup, or restore one with `silas restore`.",
        ))
    }

    /// Signs the head if enough was written since the last time.
    pub(crate) async fn checkpoint_if_due(&self) -> Result<(), Trouble> {
        let since = self.house.store.ledger_head().saturating_sub(self.checkpointed.load(Ordering::SeqCst));
        if since < CHECKPOINT_EVERY {
            return Ok(());
        }
        self.checkpoint().await
    }

    /// Signs the head as it is now.
    pub(crate) async fn checkpoint(&self) -> Result<(), Trouble> {
        let Some((seq, hash)) = self.house.store.read(ledger::head).await? else { return Ok(()) };
        let statement = self.options.server_key.state(
            Claim::Checkpoint,
            self.house.engine.anchor(),
            Head { seq, hash },
            self.house.clock.now(),
        )?;
        let keeping = self.house.store.write_buffered(move |tx| Ok(Commit(checkpoints::insert(tx, &statement)?)));
        keeping.await?;
        self.checkpointed.store(seq, Ordering::SeqCst);
        Ok(())
    }

    /// A checkpoint of exactly this entry, the same each time it is asked for. Whoever shows a part of the ledger need not
    /// show more of it than that.
    pub(crate) async fn checkpoint_of(&self, head: Head) -> Result<Statement, Trouble> {
        let known = self.house.store.read(move |tx| checkpoints::at(tx, head.seq)).await?;
        let known = known.filter(|known| known.body.head == head);
        let is_ours = |known: &Statement| known.verifies(&self.options.server_key.public(), Claim::Checkpoint);
        // One of an earlier key stays where it is; a proof carries the certificate of the current one, which says the same.
        let at = match known {
            Some(known) if is_ours(&known) => return Ok(known),
            Some(earlier) => earlier.body.at,
            None => self.house.clock.now(),
        };
        let statement = self.options.server_key.state(Claim::Checkpoint, self.house.engine.anchor(), head, at)?;
        let kept = statement.clone();
        let keeping = self.house.store.write_buffered(move |tx| Ok(Commit(checkpoints::insert(tx, &kept)?)));
        keeping.await?;
        Ok(statement)
    }

    /// What a device needs to see for itself that the ledger extends the entry that it knows.
    pub async fn ledger_after(&self, seq: u64) -> Result<LedgerPart, Trouble> {
        let reading = self.house.store.read(move |tx| {
            let head = ledger::head(tx)?.map(|(seq, hash)| Head { seq, hash });
            Ok(LedgerPart { after: seq, links: ledger::links_after(tx, seq, LINKS_MAX)?, head })
        });
        Ok(reading.await?)
    }

    /// Checks every entry of the ledger.
    pub async fn verify_ledger(&self) -> Result<LedgerReport, Trouble> {
        self.audit(Extent::Everything).await
    }

    /// Checks what was written since the ledger was last checked; what a start does.
    pub async fn verify_new_entries(&self) -> Result<LedgerReport, Trouble> {
        self.audit(Extent::New).await
    }

    async fn audit(&self, extent: Extent) -> Result<LedgerReport, Trouble> {
        let anchor = self.house.engine.anchor();
        let keeper = Keeper {
            root: anchor.root,
            handovers: self.options.handovers.clone(),
            servers: self.options.server_keys.clone(),
            installation: anchor.installation.clone(),
        };
        let _one_at_a_time = self.auditing.lock().await;
        let found = self.house.store.read(move |tx| audit::audit(tx, &keeper, extent)).await?;
        self.note_verified(&found).await?;
        Ok(LedgerReport {
            n_entries: found.chain.entries,
            head: found.chain.head.map(|(_, hash)| hash.to_string()),
            broken: found.problem(),
            n_forgotten: found.chain.erased_texts,
        })
    }

    async fn note_verified(&self, found: &Audit) -> Result<(), Trouble> {
        self.hub.set_verified(found.problem().is_none());
        if let Some(problem) = found.problem() {
            tracing::error!(problem, "the ledger does not verify");
        }
        if let Some(head) = found.sound_head().filter(|head| head.seq > found.verified_before) {
            let anchor = self.house.engine.anchor();
            let statement =
                self.options.server_key.state(Claim::VerifiedPrefix, anchor, head, self.house.clock.now())?;
            let keeping =
                self.house.store.write_background(move |tx| Ok(Commit(audit::keep_verified(tx, &statement)?)));
            keeping.await?;
        }
        self.hub.publish_activity().await;
        Ok(())
    }
}
