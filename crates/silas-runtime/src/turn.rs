//! One message of the owner's, from arrival to reply. The numbers are the steps of a turn; those that are missing
//! belong to gates, memory and persona, which this version does not have.

use crate::{Stream, Trouble};
use silas_core::message::{Channel, Message, SignedMessage};

mod accept;
mod answer;
mod route;
mod screen;

impl Stream {
    /// Takes in what the owner said. Nothing is answered before it is on disk.
    #[rustfmt::skip]
    pub async fn hear(&self, heard: SignedMessage, channel: Channel) -> Result<(), Trouble> {
        let _one_at_a_time = self.turns.lock().await;
        let screened = screen::input(heard)?;                   // 1      may halt
        let message  = self.accept(screened, channel).await?;   // 2, 3   taint, chronicle
        self.respond(message).await
    }

    /// The rest of a turn. A message that was accepted before a restart comes in here.
    #[rustfmt::skip]
    pub(crate) async fn respond(&self, message: Message) -> Result<(), Trouble> {
        let route   = self.route(&message).await;               // 7      reflex, or a model
        let cleared = screen::output(route);                    // 8
        self.answer(&message, cleared).await                    // 11-13  chronicle, card, send
    }

    /// A directory was allowed: the wish that asked for it goes on where it stopped.
    pub(crate) async fn go_on(&self, message: Message) -> Result<(), Trouble> {
        let _one_at_a_time = self.turns.lock().await;
        self.respond(message).await
    }
}
