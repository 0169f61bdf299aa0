//! A directory that the owner wants to allow before any wish needs it: the same card as a wish for it would make.
//!
//! Nothing is allowed here. The card asks, and its answer goes the way of every decision.

use crate::{Stream, Trouble};
use silas_core::card::Card;
use silas_core::roots::{self, RootGrant, RootKind};
use silas_store::Commit;
use std::path::Path;

impl Stream {
    /// Makes the card that asks whether plans may work in the directory of this name, which is a whole path.
    pub async fn offer_root(&self, typed: &str) -> Result<Card, Trouble> {
        let is_whole = typed.starts_with('/') || typed.starts_with('~');
        if !is_whole {
            let todo = "Name it from the root of the file system on.";
            return Err(Trouble::new("E_WORK_DIRECTORY", &format!("{typed}: this is not a whole path."), todo));
        }
        let place = self.places.resolve(typed, Path::new("/"))?;
        if let Some(root) = self.roots().await?.iter().find(|root| roots::contains(&root.path, &place.path)) {
            let what = match root.path == place.path {
                true => format!("Plans may work in {} already.", self.words.path(&place.path)),
                false => {
                    let (inner, outer) = (self.words.path(&place.path), self.words.path(&root.path));
                    format!("Plans may work in {inner} already, because it lies in {outer}.")
                }
            };
            return Err(Trouble::new("E_WORK_ALLOWED", &what, "`silas root list` shows what is allowed."));
        }
        let question = self.root_question(&RootGrant { kind: RootKind::Root, place })?;
        let asking = self.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
        let card = asking.await?;
        self.publish_cards().await;
        Ok(card)
    }
}
