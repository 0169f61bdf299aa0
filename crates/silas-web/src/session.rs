//! One authenticated connection, whatever carries it: messages in, snapshot and updates out.
//!
//! The WebSocket and the control socket both end here, so the terminal can do what the page can, and nothing else.

use crate::http::Door;
use crate::pace::Pace;
use crate::protocol::{ClientMessage, ServerMessage};
use crate::tallies::Turned;
use axum::extract::ws::Utf8Bytes;
use silas_core::Clock;
use silas_core::message::Channel;
use silas_core::signature::Signature;
use silas_runtime::view::Published;
use silas_runtime::{Attached, Chosen, Stream, Trouble};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc};

/// Answers that may wait for a slow reader before the connection is dropped.
pub(crate) const OUTGOING_MAX: usize = 256;

pub(crate) struct Session {
    door: Arc<Door>,
    stream: Arc<Stream>,
    clock: Arc<dyn Clock>,
    channel: Channel,
    /// What this device is called.
    device: String,
    /// How often whoever is at the other end may ask.
    pace: Pace,
    attached: Attached,
    /// The last number of the outbox that was sent here, and the last that was acknowledged.
    sent: u64,
    acknowledged: u64,
    /// Messages as they go over the wire.
    out: mpsc::Sender<Utf8Bytes>,
}

impl Session {
    pub(crate) fn new(
        door: Arc<Door>,
        channel: Channel,
        device: String,
        pace: Pace,
        attached: Attached,
        out: mpsc::Sender<Utf8Bytes>,
    ) -> Self {
        let (stream, clock) = (door.stream.clone(), door.clock.clone());
        Session { door, stream, clock, channel, device, pace, attached, sent: 0, acknowledged: 0, out }
    }

    /// Serves until `incoming` ends or the reader is gone. Each text is one [`ClientMessage`].
    pub(crate) async fn serve(mut self, mut incoming: mpsc::Receiver<String>) {
        let mut updates = self.stream.updates();
        let mut outbox = self.stream.outbox();
        if self.welcome().await.is_none() {
            return;
        }
        loop {
            let alive = tokio::select! {
                // In this order: a card is there before the sentence that speaks of it.
                biased;
                update = updates.recv() => self.pass_on(update, &mut updates).await,
                changed = outbox.changed() => match changed {
                    Ok(()) => self.deliver().await,
                    Err(_) => return,
                },
                text = incoming.recv() => match text {
                    Some(text) => self.answer(&text).await,
                    None => return,
                },
            };
            if alive.is_none() {
                return;
            }
        }
    }

    /// The whole, or what a page that was here before needs beside what it has.
    async fn welcome(&mut self) -> Option<()> {
        let mut snapshot = match self.stream.snapshot().await {
            Ok(snapshot) => snapshot,
            Err(trouble) => return self.send(&error(trouble)).await,
        };
        let head = snapshot.seq;
        let resumes_after = self.attached.resumes_after;
        if resumes_after.is_some() {
            snapshot.entries.clear();
        }
        self.sent = resumes_after.unwrap_or(head);
        self.acknowledged = self.acknowledged.min(self.sent);
        // From now on this connection itself knows where it is.
        self.attached.resumes_after = Some(self.sent);
        let message = ServerMessage::Welcome {
            device: self.device.clone(),
            session: self.attached.session.clone(),
            seq: self.sent,
            head,
            resumed: resumes_after.is_some(),
            since: self.attached.since.take(),
            snapshot: Box::new(snapshot),
        };
        self.send(&message).await?;
        self.deliver().await
    }

    /// Everything of the outbox that is ready and was not sent here yet.
    async fn deliver(&mut self) -> Option<()> {
        loop {
            let ready = match self.door.deliveries.after(&self.stream, self.sent).await {
                Ok(ready) => ready,
                Err(trouble) => return self.send(&error(trouble)).await,
            };
            if ready.is_empty() {
                return Some(());
            }
            for (seq, text) in ready {
                self.sent = seq;
                self.attached.resumes_after = Some(self.sent);
                self.out.send(text).await.ok()?;
            }
        }
    }

    /// Only what was sent can be acknowledged, and only once; so this needs no limit of its own.
    async fn acknowledge(&mut self, seq: u64) {
        if seq > self.acknowledged && seq <= self.sent {
            self.acknowledged = seq;
            self.stream.acknowledge(&self.attached.session, seq).await;
        }
    }

    /// Passes an update on, and whatever came behind it; what a later one replaces is left out.
    async fn pass_on(
        &mut self,
        update: Result<Arc<Published>, RecvError>,
        updates: &mut broadcast::Receiver<Arc<Published>>,
    ) -> Option<()> {
        let mut pending = VecDeque::new();
        let mut next = Some(update);
        while let Some(update) = next.take() {
            match update {
                Ok(update) => pending.push_back(update),
                // Too slow to follow every change: start again from the whole.
                Err(RecvError::Lagged(_)) => return self.welcome().await,
                Err(RecvError::Closed) => return None,
            }
            next = match updates.try_recv() {
                Ok(update) => Some(Ok(update)),
                Err(TryRecvError::Lagged(n)) => Some(Err(RecvError::Lagged(n))),
                Err(TryRecvError::Closed) => Some(Err(RecvError::Closed)),
                Err(TryRecvError::Empty) => None,
            };
        }
        while let Some(update) = pending.pop_front() {
            if !pending.iter().any(|later| update.is_outdated_by(later))
                && let Some(text) = update.text()
            {
                self.out.send(Utf8Bytes::from(&*text)).await.ok()?;
            }
        }
        Some(())
    }

    async fn send(&self, message: &ServerMessage) -> Option<()> {
        let text = serde_json::to_string(message)
            .inspect_err(|cause| tracing::error!(%cause, "a message cannot be written"))
            .ok()?;
        self.out.send(text.into()).await.ok()
    }

    async fn answer(&mut self, text: &str) -> Option<()> {
        let message = serde_json::from_str::<ClientMessage>(text);
        if let Ok(ClientMessage::Ack { seq }) = message {
            self.acknowledge(seq).await;
            return Some(());
        }
        if !message.as_ref().is_ok_and(only_takes_away) && !self.pace.allows(self.clock.now()) {
            self.door.tallies.count(Turned::Rate);
            let trouble =
                Trouble::new("E_CHANNEL_BUSY", "Too many messages in a minute.", "Wait a moment, then try again.");
            return self.send(&error(trouble)).await;
        }
        let message = match message {
            Ok(message) => message,
            Err(cause) => {
                self.door.tallies.count(Turned::Unreadable);
                let trouble = Trouble::new(
                    "E_CHANNEL_MESSAGE",
                    &format!("That message cannot be read: {cause}."),
                    "Reload the page; it may be older than the server.",
                );
                return self.send(&error(trouble)).await;
            }
        };
        let reply = self.act(message).await;
        match reply {
            Some(reply) => self.send(&reply).await,
            None => Some(()),
        }
    }

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

    async fn act(&self, message: ClientMessage) -> Option<ServerMessage> {
        match message {
            ClientMessage::Auth { .. } | ClientMessage::Ack { .. } => None,
            ClientMessage::Message { message } => {
                self.stream.hear(message, self.channel, &self.attached.session).await.err().map(error)
            }
            ClientMessage::ApprovalResponse { request_id, token } => {
                if let Some(trouble) = self.signed_elsewhere(&token.signature) {
                    return Some(decided(request_id, Err(trouble)));
                }
                let outcome = self.stream.decide(&request_id, token).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Renew { request_id, rehearse } => {
                let outcome = match rehearse {
                    true => self.stream.renew_as_rehearsal(&request_id).await,
                    false => self.stream.renew(&request_id).await,
                };
                Some(decided(request_id, outcome))
            }
            ClientMessage::Dismiss { request_id } => {
                let outcome = self.stream.dismiss(&request_id).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Withdraw { withdrawal } => Some(match self.signed_elsewhere(&withdrawal.signature) {
                Some(trouble) => withdrawn(Err(trouble)),
                None => withdrawn(self.stream.withdraw(withdrawal).await),
            }),
            ClientMessage::HouseRules {} => Some(withdrawn(self.stream.ask_house_rules().await)),
            ClientMessage::RootAdd { path } => Some(match self.stream.offer_root(&path).await {
                Ok(card) => ServerMessage::Asked { card: Box::new(card) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Proof { execution } => Some(match self.stream.proof(&execution).await {
                Ok(proof) => ServerMessage::Proof { proof: Box::new(proof) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Bundle { execution } => Some(match self.stream.bundle(&execution).await {
                Ok(bundle) => ServerMessage::Bundle { execution, bundle },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::LaterEdits { execution } => {
                let edits = self.stream.later_edits(&execution).await;
                Some(ServerMessage::LaterEdits { execution, edits })
            }
            ClientMessage::WayBack { execution } => Some(match self.stream.plan_way_back(&execution).await {
                Ok(card) => ServerMessage::Asked { card: Box::new(card) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::WorkList { from } => Some(match self.stream.work_list(from).await {
                Ok(page) => ServerMessage::WorkList { from, page },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Stop { execution } => {
                let n_works = match &execution {
                    Some(one) => self.stream.end_work(one),
                    None => self.stream.end_everything().await,
                };
                Some(ServerMessage::Stopped { n_works })
            }
            ClientMessage::Interrupt {} => {
                self.stream.interrupt();
                None
            }
            ClientMessage::PasskeyAdd { name, public, site } => {
                Some(match self.stream.offer_passkey(&name, public, site).await {
                    Ok(card) => ServerMessage::Asked { card: Box::new(card) },
                    Err(trouble) => error(trouble),
                })
            }
            ClientMessage::Models {} => Some(match self.stream.models().await {
                Ok(models) => ServerMessage::Models { models },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::ModelAdd { grant } => Some(match self.stream.offer_model(grant).await {
                Ok(card) => ServerMessage::Asked { card: Box::new(card) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::ModelCheck { role } => Some(done(self.stream.check_model(role).await)),
            ClientMessage::ModelChoose { request_id, model, key, price } => {
                let chosen = Chosen { typed: &model, key, price };
                let outcome = self.stream.choose_model(&request_id, chosen).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::DecisionResponse { request_id, message } => {
                let session = &self.attached.session;
                let outcome = self.stream.answer_inquiry(&request_id, message, session).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::ModelAgain { request_id } => {
                let outcome = self.stream.test_again(&request_id).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::ModelAnother { request_id } => {
                let outcome = self.stream.choose_another(&request_id).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Verify {} => Some(match self.stream.verify_ledger().await {
                Ok(report) => ServerMessage::Verified { report },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Tasks {} => Some(match self.stream.tasks().await {
                Ok(tasks) => ServerMessage::Tasks { tasks },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Cards { from } => Some(match self.stream.cards(from).await {
                Ok(page) => ServerMessage::CardsPage { from, page },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Grants { from } => Some(match self.stream.grants(from).await {
                Ok(page) => ServerMessage::GrantsPage { from, page },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Activity { before } => Some(match self.stream.activity_before(before).await {
                Ok(page) => ServerMessage::ActivityPage { before, page },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Evidence { seq } => Some(match self.stream.evidence(seq).await {
                Ok(evidence) => ServerMessage::Evidence { evidence: Box::new(evidence) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Sessions {} => Some(match self.stream.sessions().await {
                Ok(sessions) => ServerMessage::Sessions { sessions },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::DeadLetters {} => Some(match self.stream.dead_letters().await {
                Ok(dead_letters) => ServerMessage::DeadLetters { dead_letters },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Measures {} => Some(match self.stream.measures().await {
                Ok(measures) => ServerMessage::Measures { measures },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Revive { message } => Some(done(self.stream.revive(&message).await)),
            ClientMessage::LedgerText { seq } => Some(match self.stream.ledger_text(seq).await {
                Ok(entry) => ServerMessage::LedgerText { entry },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Forget { seq, message } => {
                let forgotten = self.stream.forget_text(seq, message).await;
                self.door.deliveries.forget().await;
                Some(done(forgotten))
            }
            ClientMessage::Ledger { after } => Some(match self.stream.ledger_after(after).await {
                Ok(part) => ServerMessage::Ledger { part },
                Err(trouble) => error(trouble),
            }),
        }
    }
}

/// Whoever wants something ended is never told to wait.
fn only_takes_away(message: &ClientMessage) -> bool {
    matches!(message, ClientMessage::Stop { .. } | ClientMessage::Interrupt {} | ClientMessage::Withdraw { .. })
}

fn done(outcome: Result<String, Trouble>) -> ServerMessage {
    match outcome {
        Ok(message) => ServerMessage::Done { message },
        Err(trouble) => error(trouble),
    }
}

fn decided(request_id: silas_core::CardId, outcome: Result<String, Trouble>) -> ServerMessage {
    match outcome {
        Ok(message) => ServerMessage::Decided { request_id, recorded: true, message },
        Err(trouble) => ServerMessage::Decided {
            request_id,
            recorded: false,
            message: format!("{} {}", trouble.message, trouble.todo),
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
