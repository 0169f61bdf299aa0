//! What follows from a decision once it is on disk: work begins, a wish is heard again, a sentence says what happened.

use super::{Granted, dropped};
use crate::going_on::Without;
use crate::{Stream, Trouble};
use silas_approval::Admitted;
use silas_core::canonical;
use silas_core::card::{Card, CardKind};
use silas_core::model::ModelGrant;
use silas_store::Commit;
use std::sync::Arc;

impl Stream {
    pub(super) async fn begin(self: &Arc<Self>, card: &Card, granted: Granted) -> Result<String, Trouble> {
        let merges = matches!(&granted, Granted::Work(begun) if begun.admitted.item().definition().merges.is_some());
        if !merges {
            self.drop_versions(card).await;
        }
        match granted {
            Granted::Declined(n_waited) => {
                if let Some(say) = dropped::in_words(card.face.kind, n_waited) {
                    self.tell(say).await?;
                    return Ok("Declined. Nothing was sent, and nothing ran.".to_owned());
                }
                if card.face.kind == CardKind::Conflict {
                    let say = "Dropped. Your version stays as it is.";
                    self.tell(say).await?;
                    return Ok(say.to_owned());
                }
                if card.face.kind == CardKind::Plan {
                    self.tell("Declined. Nothing ran.").await?;
                }
                if card.face.kind == CardKind::Step {
                    self.waiting.answer(&card.id, None);
                    return Ok("Declined. The call is not made, and the work goes on without it.".to_owned());
                }
                if card.face.kind == CardKind::UnknownEffect {
                    self.tell("Noted: it happened. It is not done again.").await?;
                    return Ok("Noted. It is not done again.".to_owned());
                }
                if card.face.kind == CardKind::Refusal {
                    self.tell("Stopped. What was asked for is not reached, and nothing was applied.").await?;
                    return Ok("Stopped. Nothing was sent, and your files are untouched.".to_owned());
                }
                Ok("Declined. Nothing ran.".to_owned())
            }
            Granted::Without(Without::Begun(beginning)) => {
                self.spawn_work(*beginning);
                self.tell("Trying it again without, in a private copy. The result comes to Review.").await?;
                Ok("Trying it again without, in a private copy. You will be shown the result first.".to_owned())
            }
            Granted::Without(Without::Asked) => {
                self.publish_cards().await;
                Ok("The plan without it is in Review. Nothing runs before you approve it.".to_owned())
            }
            Granted::ChangeWanted if card.face.kind == CardKind::Model => {
                let question = self.model_choice_question()?;
                let asking = self.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
                asking.await?;
                self.publish_cards().await;
                Ok("Nothing was sent. Choose another in Review.".to_owned())
            }
            Granted::ChangeWanted => {
                self.tell("Noted: not like that. Nothing ran. Say it again with what should be different.").await?;
                Ok("Nothing ran. Say it again with what should be different.".to_owned())
            }
            Granted::Passkey(approved) => self.register_passkey(*approved).await,
            Granted::HouseRules => Ok("Signed. Silas may do these by itself.".to_owned()),
            Granted::Allowed { wish, say } => {
                if let Some(wish) = wish {
                    self.take_turn(wish).await;
                }
                if card.test_call
                    && let Ok(grant) = canonical::read::<ModelGrant>(card.payload.as_deref().unwrap_or_default())
                {
                    let stream = self.clone();
                    self.think(async move { stream.test_model(grant).await });
                    return Ok(format!("{say} It is asked one test question now."));
                }
                Ok(say.to_owned())
            }
            Granted::Work(beginning) => {
                let is_rehearsal = matches!(beginning.admitted, Admitted::Rehearsal(_));
                self.spawn_work(*beginning);
                let shown = if is_rehearsal { " You will be shown the result first." } else { "" };
                Ok(format!("Approved. Working in a private copy.{shown}"))
            }
            Granted::Apply(approved, record, lease) => {
                self.spawn_apply(*approved, *record, self.holds.take(lease));
                Ok("Approved. Applying exactly what you were shown.".to_owned())
            }
            Granted::Discarded(discarded) => self.discard(discarded).await,
            Granted::Undo(approved, lease) => self.undo(*approved, self.holds.take(lease)).await,
            Granted::Call(approved) => {
                self.waiting.answer(&card.id, Some(approved));
                Ok("Approved. The call is made once, as shown.".to_owned())
            }
        }
    }
}
