//! A directory that is to be allowed before any wish needs it: the same card as a wish for it would make.
//!
//! Nothing is allowed here. The card asks, and its answer goes the way of every decision.

use crate::Trouble;
use crate::question::order;
use crate::questions::Questions;
use silas_core::card::Card;
use silas_core::roots::{self, RootGrant, RootKind};
use silas_store::{Commit, settings};
use std::path::Path;

/// The setting that remembers the offer of the first directory.
const FIRST_ROOT_OFFERED: &str = "first_root_offered";

impl Questions {
    /// Makes the card that asks whether plans may work in the directory of this name, which is a whole path.
    pub async fn offer_root(&self, typed: &str) -> Result<Card, Trouble> {
        let is_whole = typed.starts_with('/') || typed.starts_with('~');
        if !is_whole {
            let todo = "Name it from the root of the file system on.";
            return Err(Trouble::new("E_WORK_DIRECTORY", &format!("{typed}: this is not a whole path."), todo));
        }
        let place = self.house.places.resolve(typed, Path::new("/"))?;
        if let Some(root) = self.house.roots().await?.iter().find(|root| roots::contains(&root.path, &place.path)) {
            let what = match root.path == place.path {
                true => format!("Plans may work in {} already.", self.house.words.path(&place.path)),
                false => {
                    let (inner, outer) = (self.house.words.path(&place.path), self.house.words.path(&root.path));
                    format!("Plans may work in {inner} already, because it lies in {outer}.")
                }
            };
            return Err(Trouble::new("E_WORK_ALLOWED", &what, "`silas root list` shows what is allowed."));
        }
        let question = self.root_question(&RootGrant { kind: RootKind::Root, place })?;
        let asking = self.house.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
        let card = asking.await?;
        self.hub.publish_cards().await;
        Ok(card)
    }

    /// With no directory named yet, the one in which Silas was started is offered, if it may be granted at all.
    pub(crate) async fn offer_first_root(&self) -> Result<(), Trouble> {
        let Some(start_dir) = self.house.options.start_dir.clone() else { return Ok(()) };
        if !self.house.roots().await?.is_empty() {
            return Ok(());
        }
        let Ok(place) = self.house.places.resolve(".", &start_dir) else { return Ok(()) };
        let question = self.root_question(&RootGrant { kind: RootKind::Root, place })?;
        let asking = self.house.store.write(move |tx| {
            // Offered once: whoever declined it, or let it pass, is not asked at every start.
            if settings::get::<bool>(tx, FIRST_ROOT_OFFERED)?.is_none() {
                settings::set(tx, FIRST_ROOT_OFFERED, &true)?;
                let card = question.ask(tx)?;
                order::note_unasked(tx, &card.id)?;
            }
            Ok(Commit(()))
        });
        Ok(asking.await?)
    }
}
