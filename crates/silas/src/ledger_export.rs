//! `silas audit export`, and checking such a file on a machine that has nothing else of this Silas.
//!
//! An export holds no key. It holds the plans that were approved; what was said and printed only if it is asked for.

use crate::home;
use crate::known_head::KnownHead;
use crate::server_key;
use crate::world::SystemClock;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use silas_core::Clock;
use silas_core::export::{LINE_BYTES_MAX, Problem, Reader, Report};
use silas_core::number::grouped;
use silas_core::signature::PublicKey;
use silas_store::Store;
use silas_store::export::{self, Words};
use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// The file to write. It must not exist yet.
    file: PathBuf,
    /// Put in what was said and printed, too. Without this the file holds only digests of it.
    #[arg(long)]
    with_texts: bool,
}

pub(crate) fn export(args: &ExportArgs, data_dir: Option<PathBuf>, config: Option<&Path>) -> Result<ExitCode> {
    let home = home::find(data_dir, config)?;
    let store = Store::open_read_only(&home.store())?;
    let (keeper, certificates) = server_key::keeper(&home)?;
    let root = keeper.root;
    let words = if args.with_texts { Words::With } else { Words::Without };
    let (epoch, at) = (home.epoch()?, SystemClock.now());
    let path = args.file.clone();
    let file = crate::named_file::make(&path)?;
    let writing = store.read(move |tx| {
        let failed = |source| silas_store::Error::File { path: path.clone(), source };
        let mut out = BufWriter::new(file);
        let end = export::export(tx, &keeper, &certificates, epoch, at, words, |line| {
            serde_json::to_writer(&mut out, line)?;
            out.write_all(b"\n").map_err(failed)
        })?;
        let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
        file.sync_all().map_err(failed)?;
        Ok(end)
    });
    let end = match writing.wait() {
        Ok(end) => end,
        Err(cause) => {
            // Half an export would only be mistaken for one that was cut.
            fs::remove_file(&args.file)?;
            return Err(cause).context("The export was not finished, and the file is gone again.");
        }
    };
    println!("Written: {} entries, {} checkpoints, to {}.", end.entries, end.checkpoints, args.file.display());
    println!("Check it anywhere: silas audit verify --export FILE --root {}", String::from(root));
    Ok(ExitCode::SUCCESS)
}

/// Checks an export by itself, and against a head that was kept elsewhere.
pub(crate) fn verify(file: &Path, root: Option<&str>, witness: Option<&Path>) -> Result<ExitCode> {
    let trusted = root.map(|text| PublicKey::try_from(text.to_owned()));
    let trusted = trusted.transpose().map_err(|why| anyhow::anyhow!("--root cannot be read: {why}."))?;
    let opened = crate::named_file::open(file).map_err(|cause| crate::exit::Unreadable::new(file, &cause))?;
    let report = match read(BufReader::new(opened), trusted.as_ref(), witness)? {
        Ok(report) => report,
        Err(problem) => {
            println!("{problem}.");
            println!("The file is not what was exported, or what was exported did not hold.");
            return Ok(ExitCode::FAILURE);
        }
    };
    let n_entries = report.head.map_or(0, |head| head.seq);
    println!(
        "Export verified: {} entries, unbroken, {} checkpoints.",
        grouped(n_entries),
        grouped(report.n_checkpoints)
    );
    println!("{}", crate::ledger_file::books_in_words(&report.books));
    if !report.is_vouched && report.n_checkpoints > 0 {
        println!(
            "The root key has not vouched for the key of its checkpoints; they show only that one key signed all."
        );
    }
    if let Some(head) = report.head {
        println!("Head: entry {}, {}", head.seq, head.hash);
    }
    if trusted.is_none() {
        let root = String::from(report.header.root);
        println!("It was judged by the root key that it names itself, {root}. Compare it, or give it with --root.");
    }
    Ok(ExitCode::SUCCESS)
}

fn read(mut lines: impl BufRead, root: Option<&PublicKey>, witness: Option<&Path>) -> Result<Result<Report, Problem>> {
    let Some(first) = next_line(&mut lines)? else { return Ok(Err(Problem::NotALedger)) };
    let mut reader = match Reader::open(&first, root) {
        Ok(reader) => reader,
        Err(problem) => return Ok(Err(problem)),
    };
    if let Some(path) = witness {
        let known = KnownHead::load(path)?;
        ensure!(
            known.installation == reader.header().installation && known.epoch == reader.header().epoch,
            "{} is about another installation, or about this one before or after a restore. Nothing can be said with it.",
            path.display()
        );
        if let Err(problem) = reader.expect(known.head) {
            return Ok(Err(problem));
        }
    }
    while let Some(line) = next_line(&mut lines)? {
        if let Err(problem) = reader.read(&line) {
            return Ok(Err(problem));
        }
    }
    Ok(reader.close())
}

/// `None` at the end. A line beyond all measure is refused before it fills the memory.
fn next_line(lines: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    lines.take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
    if line.len() >= LINE_BYTES_MAX {
        bail!("The file has a line of more than {} bytes; no export has.", grouped(LINE_BYTES_MAX));
    }
    if line.is_empty() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()))
}
