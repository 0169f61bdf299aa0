//! One authenticated connection, whatever carries it: messages in, snapshot and updates out.
//!
//! The WebSocket and the control socket both end here, so the terminal can do what the page can, and nothing else.

use crate::limiter::Limiter;
use crate::protocol::{ClientMessage, ServerMessage};
use silas_core::Clock;
use silas_core::message::Channel;
use silas_runtime::view::Update;
use silas_runtime::{Stream, Trouble};
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc};

/// Answers that may wait for a slow reader before the connection is dropped.
pub(crate) const OUTGOING_MAX: usize = 256;

pub(crate) struct Session {
    stream: Arc<Stream>,
    clock: Arc<dyn Clock>,
    channel: Channel,
    /// What this device is called.
    device: String,
    limiter: Limiter,
    out: mpsc::Sender<ServerMessage>,
}

impl Session {
    pub(crate) fn new(
        stream: Arc<Stream>,
        clock: Arc<dyn Clock>,
        channel: Channel,
        device: String,
        messages_per_minute: u32,
        out: mpsc::Sender<ServerMessage>,
    ) -> Self {
        let limiter = Limiter::per_minute(messages_per_minute, clock.now());
        Session { stream, clock, channel, device, limiter, out }
    }

    /// Serves until `incoming` ends or the reader is gone. Each text is one [`ClientMessage`].
    pub(crate) async fn serve(mut self, mut incoming: mpsc::Receiver<String>) {
        let mut updates = self.stream.updates();
        if self.welcome().await.is_none() {
            return;
        }
        loop {
            let alive = tokio::select! {
                text = incoming.recv() => match text {
                    Some(text) => self.answer(&text).await,
                    None => return,
                },
                update = updates.recv() => self.pass_on(update).await,
            };
            if alive.is_none() {
                return;
            }
        }
    }

    async fn welcome(&self) -> Option<()> {
        let message = match self.stream.snapshot().await {
            Ok(snapshot) => ServerMessage::Welcome { device: self.device.clone(), snapshot: Box::new(snapshot) },
            Err(trouble) => error(trouble),
        };
        self.out.send(message).await.ok()
    }

    async fn pass_on(&self, update: Result<Update, broadcast::error::RecvError>) -> Option<()> {
        match update {
            Ok(update) => self.out.send(ServerMessage::Update(update)).await.ok(),
            // Too slow to follow every change: start again from the whole.
            Err(broadcast::error::RecvError::Lagged(_)) => self.welcome().await,
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    async fn answer(&mut self, text: &str) -> Option<()> {
        if !self.limiter.allows(self.clock.now()) {
            let trouble =
                Trouble::new("E_CHANNEL_BUSY", "Too many messages in a minute.", "Wait a moment, then try again.");
            return self.out.send(error(trouble)).await.ok();
        }
        let message: ClientMessage = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(cause) => {
                let trouble = Trouble::new(
                    "E_CHANNEL_MESSAGE",
                    &format!("That message cannot be read: {cause}."),
                    "Reload the page; it may be older than the server.",
                );
                return self.out.send(error(trouble)).await.ok();
            }
        };
        let reply = self.act(message).await;
        match reply {
            Some(reply) => self.out.send(reply).await.ok(),
            None => Some(()),
        }
    }

    async fn act(&self, message: ClientMessage) -> Option<ServerMessage> {
        match message {
            ClientMessage::Auth { .. } => None,
            ClientMessage::Message { message } => self.stream.hear(message, self.channel).await.err().map(error),
            ClientMessage::ApprovalResponse { request_id, token } => {
                let outcome = self.stream.decide(&request_id, token).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Renew { request_id } => {
                let outcome = self.stream.renew(&request_id).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Dismiss { request_id } => {
                let outcome = self.stream.dismiss(&request_id).await;
                Some(decided(request_id, outcome))
            }
            ClientMessage::Proof { execution } => Some(match self.stream.proof(&execution).await {
                Ok(proof) => ServerMessage::Proof { proof: Box::new(proof) },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Stop {} => {
                self.stream.stop_all();
                None
            }
            ClientMessage::Verify {} => Some(match self.stream.verify_ledger().await {
                Ok(report) => ServerMessage::Verified { report },
                Err(trouble) => error(trouble),
            }),
            ClientMessage::Tasks {} => Some(match self.stream.tasks().await {
                Ok(tasks) => ServerMessage::Tasks { tasks },
                Err(trouble) => error(trouble),
            }),
        }
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

pub(crate) fn error(trouble: Trouble) -> ServerMessage {
    ServerMessage::Error { code: trouble.code, message: trouble.message, todo: trouble.todo }
}
