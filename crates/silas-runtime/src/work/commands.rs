//! The command of a terminal beside this server, written to the ledger for it.

use crate::Trouble;
use crate::commands::note_command;
use crate::work::Work;
use silas_core::command_run::CommandRun;
use silas_store::Commit;

impl Work {
    pub async fn note_command(&self, run: CommandRun) -> Result<String, Trouble> {
        let engine = self.house.engine.clone();
        let noted = self.house.store.write(move |tx| {
            let (anchor, revocations) = (engine.anchor(), engine.revocations());
            Ok(Commit(note_command(tx, &run, anchor, &revocations)?))
        });
        match noted.await? {
            Ok(()) => Ok("Written to the ledger.".to_owned()),
            Err(refusal) => Err(Trouble::new(
                "E_APPROVAL_REFUSED",
                &format!("The command was not written to the ledger: {refusal}."),
                "",
            )),
        }
    }
}
