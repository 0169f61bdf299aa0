//! One authenticated connection, whatever carries it: messages in, snapshot and updates out.
//!
//! The WebSocket and the control socket both end here, so the terminal can do what the page can, and nothing else. Listening
//! is [`Hearing`]'s, which nothing here holds up; this is the side that answers and tells.

use crate::acting::{Acting, error};
use crate::hearing::{Answering, Begins, Ended, HEARD_MAX, Heard, Hearing, is_repeated};
use crate::http::Door;
use crate::pace::Pace;
use crate::protocol::{ClientMessage, ServerMessage};
use axum::extract::ws::Utf8Bytes;
use silas_core::SessionId;
use silas_core::message::Channel;
use silas_runtime::view::Published;
use silas_runtime::{Attached, Stream, Trouble};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, watch};

/// Answers that may wait for a slow reader before the connection is dropped.
pub(crate) const OUTGOING_MAX: usize = 256;
/// An answer goes out before the changes that it made, so that a page can tell them for its own; one that takes longer than
/// this holds nothing up.
const ANSWER_FIRST: Duration = Duration::from_millis(300);

/// A message that waits for those before it.
enum Waiting {
    Answered {
        message: ClientMessage,
        /// How often everything had been stopped when it came.
        n_stops: u64,
    },
    /// It was answered when it came.
    Unanswered(ClientMessage),
}

/// Who begins what one connection asks for.
#[derive(Clone)]
struct Beginner {
    door: Arc<Door>,
    channel: Channel,
    session: SessionId,
}

impl Begins for Beginner {
    /// What changes something is finished whether or not the connection lasts.
    fn begin(&self, message: ClientMessage, n_stops: u64) -> Answering {
        let acting = Acting {
            door: self.door.clone(),
            stream: self.door.stream.clone(),
            channel: self.channel,
            session: self.session.clone(),
            n_stops,
        };
        if only_looks(&message) {
            return Box::pin(async move { acting.act(message).await });
        }
        let begun = self.door.begun.begin(async move { acting.act(message).await });
        Box::pin(async move { begun.await.unwrap_or_else(|| Some(error(unheard_of()))) })
    }

    fn n_stops(&self) -> u64 {
        self.door.stream.conversation.n_stops()
    }
}

pub(crate) struct Session {
    door: Arc<Door>,
    stream: Arc<Stream>,
    begins: Beginner,
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
        let (stream, session) = (door.stream.clone(), attached.session.clone());
        let begins = Beginner { door: door.clone(), channel, session };
        Session { door, stream, begins, device, pace, attached, sent: 0, acknowledged: 0, out }
    }

    /// Serves until `incoming` ends or the reader is gone. Each text is one [`ClientMessage`].
    ///
    /// Messages are dealt with one after the other, as they came. What only takes away passes them all: a stop does not wait
    /// for an undo that this very connection asked for. It has its place in the order too, for what was said before it and
    /// begins after it.
    pub(crate) async fn serve(self, incoming: mpsc::Receiver<String>) {
        let (heard, hearing) = mpsc::channel(HEARD_MAX);
        let (shown, acknowledged) = watch::channel(0);
        let n_waiting = Arc::new(AtomicUsize::new(0));
        let listening = Hearing {
            begins: self.begins.clone(),
            clock: self.door.clock.clone(),
            pace: self.pace.clone(),
            tallies: self.door.tallies.clone(),
            heard,
            n_waiting: n_waiting.clone(),
            shown,
        };
        let listen = async move {
            match listening.hear(incoming).await {
                Ended::TooMuch => tracing::info!("a connection ends that asked for much and read nothing of it"),
                // Who has said all may still wait for the last answers.
                Ended::Said => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = listen => {},
            () = self.answer(hearing, acknowledged, &n_waiting) => {},
        }
    }

    async fn answer(
        mut self,
        mut hearing: mpsc::Receiver<Heard>,
        mut acknowledged: watch::Receiver<u64>,
        n_waiting: &AtomicUsize,
    ) {
        let mut updates = self.stream.hub.updates();
        let mut outbox = self.stream.hub.outbox();
        if self.welcome().await.is_none() {
            return;
        }
        let mut waiting: VecDeque<Waiting> = VecDeque::new();
        let mut under_way: Option<Answering> = None;
        let mut is_all_said = false;
        let answer_first = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(answer_first);
        loop {
            if under_way.is_none()
                && let Some(next) = waiting.pop_front()
            {
                under_way = Some(self.begin(next, n_waiting));
                answer_first.as_mut().reset(tokio::time::Instant::now() + ANSWER_FIRST);
            }
            if is_all_said && under_way.is_none() {
                return;
            }
            let may_tell = under_way.is_none() || answer_first.is_elapsed();
            let alive = tokio::select! {
                // In this order: a card is there before the sentence that speaks of it.
                biased;
                answer = finished(&mut under_way) => {
                    under_way = None;
                    self.reply(answer).await
                }
                heard = hearing.recv(), if !is_all_said => match heard {
                    Some(Heard::Answer(answer)) => self.send(&answer).await,
                    Some(Heard::Message { message, n_stops }) => {
                        waiting.push_back(Waiting::Answered { message, n_stops });
                        Some(())
                    }
                    Some(Heard::Again(message)) => {
                        // Once is enough behind the same messages.
                        let is_first = under_way.is_none() && waiting.is_empty();
                        if !is_first && !waiting.back().is_some_and(|last| last.repeats(&message)) {
                            waiting.push_back(Waiting::Unanswered(message));
                        }
                        Some(())
                    }
                    None => {
                        is_all_said = true;
                        Some(())
                    }
                },
                Ok(()) = acknowledged.changed() => {
                    let seq = *acknowledged.borrow_and_update();
                    self.acknowledge(seq).await;
                    Some(())
                }
                update = updates.recv(), if may_tell => self.pass_on(update, &mut updates).await,
                changed = outbox.changed(), if may_tell => match changed {
                    Ok(()) => self.deliver().await,
                    Err(_) => return,
                },
                () = &mut answer_first, if !may_tell => Some(()),
            };
            if alive.is_none() {
                return;
            }
        }
    }

    async fn reply(&self, answer: Option<ServerMessage>) -> Option<()> {
        match answer {
            Some(answer) => self.send(&answer).await,
            None => Some(()),
        }
    }

    /// The whole, or what a page that was here before needs beside what it has.
    async fn welcome(&mut self) -> Option<()> {
        let mut snapshot = self.stream.hub.snapshot().await;
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
            self.stream.hub.acknowledge(&self.attached.session, seq).await;
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

    fn begin(&self, waiting: Waiting, n_waiting: &AtomicUsize) -> Answering {
        match waiting {
            Waiting::Answered { message, n_stops } => {
                n_waiting.fetch_sub(1, Ordering::SeqCst);
                self.begins.begin(message, n_stops)
            }
            Waiting::Unanswered(message) => {
                let acting = self.begins.begin(message, self.stream.conversation.n_stops());
                Box::pin(async move { acting.await.and(None) })
            }
        }
    }
}

impl Waiting {
    fn repeats(&self, other: &ClientMessage) -> bool {
        matches!(self, Waiting::Unanswered(message) if is_repeated(message, other))
    }
}

/// Never, if nothing is under way.
async fn finished(under_way: &mut Option<Answering>) -> Option<ServerMessage> {
    match under_way {
        Some(answering) => answering.await,
        None => std::future::pending().await,
    }
}

/// Whether nothing changes by it but what the owner sees. What looks ends with whoever looks.
fn only_looks(message: &ClientMessage) -> bool {
    match message {
        ClientMessage::Auth { .. }
        | ClientMessage::Ack { .. }
        | ClientMessage::Proof { .. }
        | ClientMessage::Bundle { .. }
        | ClientMessage::LaterEdits { .. }
        | ClientMessage::WorkList { .. }
        | ClientMessage::Models {}
        | ClientMessage::Verify {}
        | ClientMessage::Tasks {}
        | ClientMessage::Cards { .. }
        | ClientMessage::Grants { .. }
        | ClientMessage::Activity { .. }
        | ClientMessage::Evidence { .. }
        | ClientMessage::Sessions {}
        | ClientMessage::DeadLetters {}
        | ClientMessage::Measures {}
        | ClientMessage::LedgerText { .. }
        | ClientMessage::Ledger { .. } => true,
        ClientMessage::Message { .. }
        | ClientMessage::ApprovalResponse { .. }
        | ClientMessage::Renew { .. }
        | ClientMessage::Dismiss { .. }
        | ClientMessage::Withdraw { .. }
        | ClientMessage::HouseRules {}
        | ClientMessage::RootAdd { .. }
        | ClientMessage::WayBack { .. }
        | ClientMessage::Stop { .. }
        | ClientMessage::Interrupt {}
        | ClientMessage::PasskeyAdd { .. }
        | ClientMessage::ModelAdd { .. }
        | ClientMessage::ModelCheck { .. }
        | ClientMessage::ModelChoose { .. }
        | ClientMessage::DecisionResponse { .. }
        | ClientMessage::ModelAgain { .. }
        | ClientMessage::ModelAnother { .. }
        | ClientMessage::Revive { .. }
        | ClientMessage::Forget { .. }
        | ClientMessage::CommandRun { .. } => false,
    }
}

/// It ended without saying how.
pub(crate) fn unheard_of() -> Trouble {
    Trouble::new("E_WORK_LOST", "That was interrupted.", "Look whether it was done, then try again.")
}
