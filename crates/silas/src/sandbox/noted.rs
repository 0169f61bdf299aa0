//! Has a command written to the ledger when it is over: by the server where one runs on this data directory, and otherwise
//! here, while no server can start. What cannot be written is said, and changes nothing about the command.

use crate::start::Ready;
use crate::terminal::Line;
use crate::wire;
use anyhow::{Result, anyhow, bail};
use serde_json::json;
use silas_core::command_run::CommandRun;
use silas_core::evidence::Evidence;
use silas_core::revocation::Revocations;
use silas_store::Commit;
use std::time::{Duration, Instant};

/// For the server to answer, and for others to let go of the data directory.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// `outcome` is from [`CommandRun`], or the code of what kept it from running.
pub(super) fn note(ready: &Ready, evidence: &Evidence, outcome: String) {
    let run = CommandRun {
        token: evidence.token.clone(),
        certificate: evidence.certificate.clone(),
        envelope: evidence.payload.clone(),
        outcome,
    };
    if let Err(cause) = write(ready, &run) {
        eprintln!("silas: This command could not be written to the ledger: {cause:#}");
    }
}

fn write(ready: &Ready, run: &CommandRun) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Ok(mut line) = Line::open_within(&ready.home, PATIENCE) {
            line.send(&json!({ "type": "command_run", "run": run }))?;
            return line.wait_for(|message| message["type"] == "done").map(drop);
        }
        match ready.home.lock() {
            Ok(_held) => return write_here(ready, run),
            // A server that is starting or stopping, or another command that is being written down.
            Err(_) if Instant::now() < until => std::thread::sleep(PAUSE),
            Err(_) => bail!("something else has held {} for too long.", ready.home.path.display()),
        }
    }
}

fn write_here(ready: &Ready, run: &CommandRun) -> Result<()> {
    let (run, anchor) = (run.clone(), ready.anchor.clone());
    let store = wire::open_store(&ready.home)?;
    // The terminal cannot be revoked, and nobody else signs commands.
    let noted = store.write_and_wait(move |tx| {
        Ok(Commit(silas_runtime::note_command(tx, &run, &anchor, &Revocations::default())?))
    })?;
    noted.map_err(|refusal| anyhow!("{refusal}."))
}
