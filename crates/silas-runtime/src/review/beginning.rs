//! What follows from a decision once it is on disk: work begins, a wish is heard again, a sentence says what happened.

use super::Granted;
use super::kinds::{self, Declined};
use crate::Trouble;
use crate::review::Review;
use crate::work::Without;
use silas_approval::Admitted;
use silas_core::canonical;
use silas_core::card::Card;
use silas_core::model::ModelGrant;
use silas_store::Commit;
use std::sync::Arc;

impl Review {
    /// `n_waited` messages waited for a yes, and do so no longer.
    pub(super) async fn begin(
        self: &Arc<Self>,
        card: &Card,
        granted: Granted,
        n_waited: usize,
    ) -> Result<String, Trouble> {
        let merges = matches!(&granted, Granted::Work(begun) if begun.admitted.item().definition().merges.is_some());
        if !merges {
            self.work.drop_versions(card).await;
        }
        match granted {
            Granted::Declined => {
                // Silence and a no are the same for a run that waits for this card.
                self.running.waiting.answer(&card.id, None);
                let rules = kinds::rules(card.face.kind);
                if let Some(say) = rules.waits_no_longer().filter(|_| n_waited > 0) {
                    self.hub.tell(say).await?;
                    return Ok("Declined. Nothing more is sent, and nothing runs.".to_owned());
                }
                let Declined { told, answer } = rules.declined();
                if let Some(told) = told {
                    self.hub.tell(told).await?;
                }
                Ok(answer.to_owned())
            }
            Granted::Without(Without::Begun(beginning)) => {
                self.work.spawn_work(*beginning);
                self.hub.tell("Trying it again without, in a private copy. The result comes to Review.").await?;
                Ok("Trying it again without, in a private copy. You will be shown the result first.".to_owned())
            }
            Granted::Without(Without::Asked) => {
                self.hub.publish_cards().await;
                Ok("The plan without it is in Review. Nothing runs before you approve it.".to_owned())
            }
            Granted::AnotherModel => {
                let question = self.questions.model_choice_question()?;
                let asking = self.house.store.write(move |tx| Ok(Commit(question.ask(tx)?)));
                asking.await?;
                self.hub.publish_cards().await;
                Ok("Nothing was sent. Choose another in Review.".to_owned())
            }
            Granted::ChangeWanted => {
                self.hub.tell("Noted: not like that. Nothing ran. Say it again with what should be different.").await?;
                Ok("Nothing ran. Say it again with what should be different.".to_owned())
            }
            Granted::Passkey(approved) => self.trust.register_passkey(*approved).await,
            Granted::HouseRules => Ok("Signed. Silas may do these by itself.".to_owned()),
            Granted::Allowed { wish, say } => {
                if let Some(wish) = wish {
                    self.conversation.take_turn(wish).await;
                }
                if card.test_call
                    && let Ok(grant) = canonical::read::<ModelGrant>(card.payload.as_deref().unwrap_or_default())
                {
                    let review = self.clone();
                    self.conversation.think(async move { review.test_model(grant).await });
                    return Ok(format!("{say} It is asked one test question now."));
                }
                Ok(say.to_owned())
            }
            Granted::Work(beginning) => {
                let is_rehearsal = matches!(beginning.admitted, Admitted::Rehearsal(_));
                self.work.spawn_work(*beginning);
                let shown = if is_rehearsal { " You will be shown the result first." } else { "" };
                Ok(format!("Approved. Working in a private copy.{shown}"))
            }
            Granted::Apply(approved, record, lease) => {
                self.work.spawn_apply(*approved, *record, self.running.holds.take(lease));
                Ok("Approved. Applying exactly what you were shown.".to_owned())
            }
            Granted::Discarded(discarded) => self.work.discard(discarded).await,
            Granted::Undo(approved, lease) => self.work.undo(*approved, self.running.holds.take(lease)).await,
            Granted::Call(approved) => {
                self.running.waiting.answer(&card.id, Some(approved));
                Ok("Approved. The call is made once, as shown.".to_owned())
            }
        }
    }
}
