//! What each message of a client asks for, and the answer to it.

use crate::http::Door;
use crate::protocol::{ClientMessage, ServerMessage};
use silas_core::SessionId;
use silas_core::message::Channel;
use silas_core::signature::Signature;
use silas_runtime::{Came, Chosen, Ended, Stream, Trouble};
use std::sync::Arc;

/// Who carries out what a connection asks for; it may outlive the connection.
pub(crate) struct Acting {
    pub(crate) door: Arc<Door>,
    pub(crate) stream: Arc<Stream>,
    pub(crate) channel: Channel,
    pub(crate) session: SessionId,
    /// How often everything had been stopped when the message came.
    pub(crate) n_stops: u64,
}

impl Acting {
    /// A passkey belongs to a name, and on this machine every port has the same one; what it signed on a page of another
    /// port, somebody else's program asked for.
    fn signed_elsewhere(&self, signature: &Signature) -> Option<Trouble> {
        let origins = self.door.origins.get().map_or(&[][..], Vec::as_slice);
        (!signature.is_made_at(origins)).then(|| {
            Trouble::new(
                "E_APPROVAL_PASSKEY",
                "This was signed on a page of another address than Silas's.",
                "Decide on Silas's own page.",
            )
        })
    }

    /// What comes of a message: the room whose affair it is does it and answers.
    ///
    /// Long: an arm for each message of the protocol.
    pub(crate) async fn act(&self, message: ClientMessage) -> Option<ServerMessage> {
        match message {
            ClientMessage::Auth { .. } | ClientMessage::Ack { .. } => None,
            ClientMessage::Message { message } => {
                let came = Came { channel: self.channel, session: &self.session, n_stops: self.n_stops };
                self.stream.conversation.hear(message, came).await.err().map(error)
            }
            ClientMessage::ApprovalResponse { request_id, token } => {
                if let Some(trouble) = self.signed_elsewhere(&token.signature) {
                    return Some(decided(request_id, Err(trouble)));
                }
                let outcome = self.stream.review.decide(&request_id, token).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Renew { request_id, rehearse } => {
                let outcome = match rehearse {
                    true => self.stream.review.renew_as_rehearsal(&request_id).await,
                    false => self.stream.review.renew(&request_id).await,
                };
                Some(decided(request_id, outcome))
            }
            ClientMessage::Dismiss { request_id } => {
                let outcome = self.stream.review.dismiss(&request_id).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Withdraw { withdrawal } => Some(match self.signed_elsewhere(&withdrawal.signature) {
                Some(trouble) => withdrawn(Err(trouble)),
                None => withdrawn(self.stream.trust.withdraw(withdrawal).await),
            }),
            ClientMessage::HouseRules {} => Some(withdrawn(self.stream.trust.ask_house_rules().await)),
            ClientMessage::RootAdd { path } => Some(match self.stream.questions.offer_root(&path).await {
                Ok(card) => ServerMessage::Asked { card: Box::new(card) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Proof { execution } => Some(match self.stream.trust.proof(&execution).await {
                Ok(proof) => ServerMessage::Proof { proof: Box::new(proof) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Bundle { execution } => Some(match self.stream.trust.bundle(&execution).await {
                Ok(bundle) => ServerMessage::Bundle { execution, bundle },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::LaterEdits { execution } => {
                let edits = self.stream.work.later_edits(&execution).await;
                Some(ServerMessage::LaterEdits { execution, edits })
            }
            ClientMessage::WayBack { execution } => {
                Some(match self.stream.conversation.plan_way_back(&execution).await {
                    Ok(card) => ServerMessage::Asked { card: Box::new(card) },
                    Err(trouble) => error(trouble),
                })
            }
            ClientMessage::WorkList { from } => Some(match self.stream.work.work_list(from).await {
                Ok(page) => ServerMessage::WorkList { from, page },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Stop { execution } => {
                let Ended { n_works, models } = match &execution {
                    Some(one) => Ended { n_works: self.stream.running.end_work(one), models: Vec::new() },
                    None => self.stream.conversation.end_everything().await,
                };
                Some(ServerMessage::Stopped { n_works, models })
            }
            ClientMessage::Interrupt {} => {
                self.stream.conversation.interrupt();
                None
            }
            ClientMessage::PasskeyAdd { name, public, site } => {
                Some(match self.stream.trust.offer_passkey(&name, public, site).await {
                    Ok(card) => ServerMessage::Asked { card: Box::new(card) },
                    Err(trouble) => error(trouble),
                })
            }
            ClientMessage::Models {} => Some(match self.stream.minds.models().await {
                Ok(models) => ServerMessage::Models { models },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::ModelAdd { grant } => Some(match self.stream.minds.offer_model(grant).await {
                Ok(card) => ServerMessage::Asked { card: Box::new(card) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::ModelCheck { role } => Some(done(self.stream.minds.check_model(role).await)),
            ClientMessage::ModelChoose { request_id, model, key, price } => {
                let chosen = Chosen { typed: &model, key, price };
                let outcome = self.stream.review.choose_model(&request_id, chosen).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::DecisionResponse { request_id, message } => {
                let outcome = self.stream.conversation.answer_inquiry(&request_id, message, &self.session).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::ModelAgain { request_id } => {
                let outcome = self.stream.review.test_again(&request_id).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::ModelAnother { request_id } => {
                let outcome = self.stream.review.choose_another(&request_id).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Verify {} => Some(match self.stream.trust.verify_ledger().await {
                Ok(report) => ServerMessage::Verified { report },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Tasks {} => Some(match self.stream.tasks.tasks().await {
                Ok(tasks) => ServerMessage::Tasks { tasks },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Cards { from } => Some(match self.stream.hub.cards(from).await {
                Ok(page) => ServerMessage::CardsPage { from, page },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Grants { from } => Some(match self.stream.hub.grants(from).await {
                Ok(page) => ServerMessage::GrantsPage { from, page },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Activity { before } => Some(match self.stream.hub.activity_before(before).await {
                Ok(page) => ServerMessage::ActivityPage { before, page },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Evidence { seq } => Some(match self.stream.hub.evidence(seq).await {
                Ok(evidence) => ServerMessage::Evidence { evidence: Box::new(evidence) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Sessions {} => Some(match self.stream.hub.sessions().await {
                Ok(sessions) => ServerMessage::Sessions { sessions },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::DeadLetters {} => Some(match self.stream.hub.dead_letters().await {
                Ok(dead_letters) => ServerMessage::DeadLetters { dead_letters },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Measures {} => Some(match self.stream.hub.measures().await {
                Ok(measures) => ServerMessage::Measures { measures },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Revive { message } => Some(done(self.stream.conversation.revive(&message).await)),
            ClientMessage::LedgerText { seq } => Some(match self.stream.trust.ledger_text(seq).await {
                Ok(entry) => ServerMessage::LedgerText { entry },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Forget { seq, message } => {
                let forgotten = self.stream.trust.forget_text(seq, message).await;
                self.door.deliveries.forget().await;
                Some(done(forgotten))
            }
            // How it ended is not signed: only whoever ran it, in the owner's own account, says so.
            ClientMessage::CommandRun { run } if self.channel == Channel::Cli => {
                Some(done(self.stream.work.note_command(*run).await))
            }
            ClientMessage::CommandRun { .. } => Some(error(Trouble::new(
                "E_APPROVAL_REFUSED",
                "Commands are written down for this machine's terminal only.",
                "",
            ))),
            ClientMessage::Ledger { after } => Some(match self.stream.trust.ledger_after(after).await {
                Ok(part) => ServerMessage::Ledger { part },
                Err(trouble) => error(trouble),
            }),
        }
    }
}

fn done(outcome: Result<String, Trouble>) -> ServerMessage {
    match outcome {
        Ok(message) => ServerMessage::Done { message },
        Err(trouble) => error(trouble),
    }
}

fn decided(request_id: silas_core::CardId, outcome: Result<String, Trouble>) -> ServerMessage {
    match outcome {
        Ok(message) => ServerMessage::Decided { request_id, recorded: true, message, code: None },
        Err(trouble) => ServerMessage::Decided {
            request_id,
            recorded: false,
            message: format!("{} {}", trouble.message, trouble.todo),
            code: Some(trouble.code),
        },
    }
}

fn withdrawn(outcome: Result<String, Trouble>) -> ServerMessage {
    match outcome {
        Ok(message) => ServerMessage::Withdrawn { done: true, message },
        Err(trouble) => {
            ServerMessage::Withdrawn { done: false, message: format!("{} {}", trouble.message, trouble.todo) }
        }
    }
}

pub(crate) fn error(trouble: Trouble) -> ServerMessage {
    ServerMessage::Error { code: trouble.code, message: trouble.message, todo: trouble.todo }
}
