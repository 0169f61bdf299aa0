//! `silas audit verify`: checks a ledger as it lies on disk, whether a server runs or not.

use crate::home;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn verify(data_dir: Option<PathBuf>, config: Option<&Path>) -> Result<ExitCode> {
    let home = home::find(data_dir, config)?;
    let store = silas_store::Store::open_read_only(&home.store())?;
    let report = store.read(silas_store::ledger::verify).wait()?;
    Ok(match report.broken {
        None => {
            println!("Ledger verified: {} entries, unbroken.", report.entries);
            if let Some((seq, hash)) = report.head {
                println!("Head: entry {seq}, {hash}");
            }
            ExitCode::SUCCESS
        }
        Some(broken) => {
            println!("{broken}.");
            println!("Everything before that entry verifies. Keep the file, and restore a backup from before it.");
            ExitCode::FAILURE
        }
    })
}
