//! Work that waits for the owner's word about one call.

use super::job::Failure;
use super::run::WorkRun;
use crate::minds::spending::Waits;
use silas_agents::tools::{Intent, Wait};
use silas_core::call_order::{ARGUMENTS_BYTES_MAX, ASKED_MAX, CallOrder};
use silas_core::token::Kind;

impl WorkRun<'_> {
    /// Asks the owner about exactly this call. The work stands still meanwhile; no answer is a no.
    pub(super) async fn ask_owner(&self, intent: &Intent<'_>, wait: &Wait) -> Result<bool, Failure> {
        let arguments = intent.arguments.to_string();
        let nth = self.next_question();
        if arguments.len() > ARGUMENTS_BYTES_MAX || nth >= ASKED_MAX {
            return Ok(false);
        }
        let order = CallOrder {
            kind: Kind::Step,
            execution: self.execution.clone(),
            nth,
            tool: intent.spec.name.clone(),
            arguments,
            undeclared: wait.undeclared.clone(),
        };
        self.rest.begins("Waiting for your answer in Review");
        let approved = self.work.ask_about_call(&order).await;
        // Where Silas goes away meanwhile, it goes on waiting after that.
        if !self.work.house.is_stopping() {
            self.rest.ends();
        }
        Ok(approved.map_err(Failure::Trouble)?.is_some())
    }
}
