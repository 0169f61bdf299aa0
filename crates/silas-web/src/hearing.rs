//! The side of a connection that listens. It reads whatever is being told to the other end and however slowly that reads: a
//! stop that waits behind an answer is none.
//!
//! What only takes away is begun here, at once. The rest is handed on to whoever answers, in the order in which it came.

use crate::acting::error;
use crate::pace::Pace;
use crate::protocol::{ClientMessage, ServerMessage};
use crate::tallies::{Tallies, Turned};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use silas_core::Clock;
use silas_runtime::Trouble;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{mpsc, watch};

/// Messages of one connection that may wait for the one before them.
const WAITING_MAX: usize = 64;
/// What may wait to be told or begun, all in all. Whoever says so much and reads nothing of it is not listening any more.
pub(crate) const HEARD_MAX: usize = 4 * WAITING_MAX;
/// Stops, interrupts and withdrawals of one connection that are carried out at a time; the next is read when one is done.
const AT_ONCE_MAX: usize = 16;

/// An answer in the making, if there is to be one.
pub(crate) type Answering = BoxFuture<'static, Option<ServerMessage>>;

/// What is handed on.
pub(crate) enum Heard {
    /// Told as it is.
    Answer(ServerMessage),
    /// To be begun after those before it.
    Message {
        message: ClientMessage,
        /// How often everything had been stopped when it came.
        n_stops: u64,
    },
    /// Begun and answered when it came; ends also what was said before it and begins after it.
    Again(ClientMessage),
}

/// How the listening ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// The other end has said all.
    Said,
    /// More was said than can be answered to one who does not read.
    TooMuch,
}

/// Begins things now. The connection itself, but for tests.
pub(crate) trait Begins {
    fn begin(&self, message: ClientMessage, n_stops: u64) -> Answering;
    fn n_stops(&self) -> u64;
}

pub(crate) struct Hearing<B> {
    pub(crate) begins: B,
    pub(crate) clock: Arc<dyn Clock>,
    /// How often whoever is at the other end may ask.
    pub(crate) pace: Pace,
    pub(crate) tallies: Arc<Tallies>,
    pub(crate) heard: mpsc::Sender<Heard>,
    /// How many messages were handed on and not begun. Written here and by whoever begins them.
    pub(crate) n_waiting: Arc<AtomicUsize>,
    /// The highest number that was said to have been shown.
    pub(crate) shown: watch::Sender<u64>,
}

impl<B: Begins> Hearing<B> {
    pub(crate) async fn hear(mut self, mut incoming: mpsc::Receiver<String>) -> Ended {
        let mut at_once: FuturesUnordered<Answering> = FuturesUnordered::new();
        let mut is_all_said = false;
        while !is_all_said || !at_once.is_empty() {
            let heard = tokio::select! {
                Some(answer) = at_once.next() => answer.map(Heard::Answer),
                text = incoming.recv(), if !is_all_said && at_once.len() < AT_ONCE_MAX => match text {
                    Some(text) => self.take(&text, &mut at_once),
                    None => {
                        is_all_said = true;
                        None
                    }
                },
            };
            if let Some(heard) = heard
                && self.heard.try_send(heard).is_err()
            {
                return Ended::TooMuch;
            }
        }
        Ended::Said
    }

    fn take(&mut self, text: &str, at_once: &mut FuturesUnordered<Answering>) -> Option<Heard> {
        match self.read(text) {
            Ok(ClientMessage::Ack { seq }) => {
                self.shown.send_if_modified(|shown| {
                    let is_more = seq > *shown;
                    *shown = seq.max(*shown);
                    is_more
                });
                None
            }
            Ok(message) if only_takes_away(&message) => {
                let again = once_more(&message);
                at_once.push(self.begins.begin(message, self.begins.n_stops()));
                again.map(Heard::Again)
            }
            Ok(message) => {
                self.n_waiting.fetch_add(1, Ordering::SeqCst);
                Some(Heard::Message { message, n_stops: self.begins.n_stops() })
            }
            Err(trouble) => Some(Heard::Answer(error(trouble))),
        }
    }

    /// What was asked, if whoever asks may do so now. Only what was sent can be acknowledged, and only once; so that needs
    /// no limit.
    fn read(&mut self, text: &str) -> Result<ClientMessage, Trouble> {
        let message = serde_json::from_str::<ClientMessage>(text);
        let is_never_told_to_wait = message
            .as_ref()
            .is_ok_and(|message| only_takes_away(message) || matches!(message, ClientMessage::Ack { .. }));
        let is_full = || self.n_waiting.load(Ordering::SeqCst) >= WAITING_MAX;
        if !is_never_told_to_wait && (is_full() || !self.pace.allows(self.clock.now())) {
            self.tallies.count(Turned::Rate);
            let todo = "Wait a moment, then try again.";
            return Err(Trouble::new("E_CHANNEL_BUSY", "Too many messages in a minute.", todo));
        }
        message.map_err(|cause| {
            self.tallies.count(Turned::Unreadable);
            Trouble::new(
                "E_CHANNEL_MESSAGE",
                &format!("That message cannot be read: {cause}."),
                "Reload the page; it may be older than the server.",
            )
        })
    }
}

/// Whoever wants something ended is never told to wait.
fn only_takes_away(message: &ClientMessage) -> bool {
    matches!(message, ClientMessage::Stop { .. } | ClientMessage::Interrupt {} | ClientMessage::Withdraw { .. })
}

/// The same again where it ends whatever there is. A withdrawal is signed once and counts once.
pub(crate) fn once_more(message: &ClientMessage) -> Option<ClientMessage> {
    if let ClientMessage::Stop { execution } = message {
        return Some(ClientMessage::Stop { execution: execution.clone() });
    }
    matches!(message, ClientMessage::Interrupt {}).then_some(ClientMessage::Interrupt {})
}

/// Whether the second of two that end something would find nothing more to end.
pub(crate) fn is_repeated(one: &ClientMessage, other: &ClientMessage) -> bool {
    match (one, other) {
        (ClientMessage::Stop { execution: one }, ClientMessage::Stop { execution: other }) => one == other,
        (ClientMessage::Interrupt {}, ClientMessage::Interrupt {}) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
