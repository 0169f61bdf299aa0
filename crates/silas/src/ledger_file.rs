//! `silas audit verify` and `list`: a ledger as it lies on disk, whether a server runs or not; checked, also against what
//! was seen of it before, or listed. A ledger that was exported is checked by itself.

use crate::exit::sentences;
use crate::home::{self, Home};
use crate::known_head::{self, KnownHead};
use crate::ledger_export;
use crate::server_key;
use anyhow::{Context, Result, ensure};
use clap::Args;
use silas_core::books::Summary;
use silas_core::number::grouped;
use silas_store::audit::{self, Compared, Extent};
use silas_store::{Reader, Store, forgetting, ledger};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// Read only what came since the last verification; quick on a long ledger. Approvals are not counted again.
    #[arg(long)]
    new: bool,
    /// A head of this ledger that was kept elsewhere: a copy of a file in ~/.local/state/silas.
    #[arg(long, value_name = "FILE")]
    witness: Option<PathBuf>,
    /// Check a file of `silas audit export` instead; needs nothing else of the Silas that it came from.
    #[arg(long, value_name = "FILE", conflicts_with = "new")]
    export: Option<PathBuf>,
    /// The public root key that the export must be judged by; `silas audit export` prints it.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, requires = "export")]
    root: Option<String>,
}

pub(crate) fn verify(args: &VerifyArgs, data_dir: Option<PathBuf>, config: Option<&Path>) -> Result<ExitCode> {
    if let Some(file) = &args.export {
        return ledger_export::verify(file, args.root.as_deref(), args.witness.as_deref());
    }
    let home = home::find(data_dir, config)?;
    let store = Store::open_read_only(&home.store())?;
    let extent = if args.new { Extent::New } else { Extent::Everything };
    let (keeper, _) = server_key::keeper(&home)?;
    let found = store.read(move |tx| audit::audit(tx, &keeper, extent)).wait()?;
    if let Some(problem) = found.problem() {
        println!("{problem}.");
        println!("Keep the data directory as it is, and restore a backup from before.");
        return Ok(ExitCode::FAILURE);
    }
    if let Some(Ok(books)) = &found.books {
        check_launcher(&home, &store, books)?;
    }
    known_head::follow(&home)?;
    if let Some(witness) = &args.witness {
        check_witness(&home, &store, witness)?;
    }
    println!("Ledger verified: {} entries, unbroken.", grouped(found.chain.entries));
    match found.chain.erased_texts {
        0 => {}
        1 => println!("1 text was forgotten, as the ledger says. The chain holds without it."),
        n => println!("{} texts were forgotten, as the ledger says. The chain holds without them.", grouped(n)),
    }
    if let Some(Ok(books)) = &found.books {
        println!("{}", books_in_words(books));
    }
    if let Some(rows) = found.rows.and_then(rows_in_words) {
        println!("{rows}");
    }
    if found.verified_before > 0 {
        println!("Entries 1 to {} were verified before and not read again.", found.verified_before);
    }
    if let Some((seq, hash)) = found.chain.head {
        println!("Head: entry {seq}, {hash}");
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Args)]
pub(crate) struct AcceptArgs {
    /// Do it. Without this it is only shown what differs.
    #[arg(long)]
    yes: bool,
}

/// The honest way out for an owner who knows why: what lies there is checked by itself, and compared with from here on.
pub(crate) fn accept(args: &AcceptArgs, home: &Home) -> Result<ExitCode> {
    let differs = match known_head::follow(home) {
        Ok(()) => {
            println!("The ledger continues what this account has seen of it. There is nothing to accept.");
            return Ok(ExitCode::SUCCESS);
        }
        Err(cause) => cause,
    };
    println!("{}", sentences(&differs));
    if !args.yes {
        return Ok(ExitCode::FAILURE);
    }
    let store = Store::open_read_only(&home.store())?;
    let (keeper, _) = server_key::keeper(home)?;
    let found = store.read(move |tx| audit::audit(tx, &keeper, Extent::Everything)).wait()?;
    if let Some(problem) = found.problem() {
        println!("\n{problem}. A ledger that does not verify by itself is not accepted; restore a backup.");
        return Ok(ExitCode::FAILURE);
    }
    known_head::accept(home)?;
    println!("\nAccepted: from here on the ledger must continue its entry {}.", found.chain.entries);
    println!(
        "Approvals that were used after what is there was written may count again; `silas grant list` shows what holds."
    );
    Ok(ExitCode::SUCCESS)
}

#[derive(Args)]
pub(crate) struct ListArgs {
    /// How many entries.
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = crate::arguments::how_many)]
    last: u32,
}

/// Longest piece of a text in a line.
const TEXT_SHOWN_MAX: usize = 80;

pub(crate) fn list(args: &ListArgs, data_dir: Option<PathBuf>, config: Option<&Path>) -> Result<ExitCode> {
    let home = home::find(data_dir, config)?;
    let last = args.last;
    let store = Store::open_read_only(&home.store())?;
    let listing = store.read(move |tx| {
        let entries = ledger::latest(tx, last)?;
        entries.into_iter().map(|entry| Ok((forgetting::look(tx, entry.seq)?, entry))).collect::<Result<Vec<_>, _>>()
    });
    for (looked, entry) in listing.wait()? {
        let text = looked.and_then(|(_, text)| text);
        let text = text
            .map_or_else(String::new, |text| format!("  {}", silas_gates::scrub::visible_line(&text, TEXT_SHOWN_MAX)));
        println!("{:>6}  {}  {}{text}", entry.seq, crate::wall_clock::second(entry.at), entry.name);
    }
    Ok(ExitCode::SUCCESS)
}

/// What the launcher remembers as used must be in the ledger: the server can write the one and not the other. A restore
/// brings back an older ledger, so only what was used since counts.
fn check_launcher(home: &Home, store: &Reader, books: &Summary) -> Result<()> {
    let since = books.restored_at;
    let spent = silas_sandbox::restored::spent(&home.path).context("The launcher's memory cannot be read.")?;
    let told = store.read(ledger::spent_executions).wait()?;
    for (execution, at) in spent.into_iter().filter(|(_, at)| since.is_none_or(|since| *at > since)) {
        ensure!(
            told.contains(&execution),
            "THE LEDGER DOES NOT TELL EVERYTHING. An approval was used on {at} ({execution}), and the ledger knows nothing \
             of it. Its end was cut off, or the database is an old copy. Keep everything as it is and find out."
        );
    }
    Ok(())
}

/// What of the rows that people are shown was not compared with the ledger. Nothing where all of it was.
fn rows_in_words(rows: Compared) -> Option<String> {
    match rows {
        Compared::Rows { n_untold: 0 } => None,
        Compared::Rows { n_untold } => Some(format!(
            "Not compared: {} cards of earlier versions, which did not tell the ledger what such cards say.",
            grouped(n_untold)
        )),
        Compared::Nothing => Some(
            "Not compared: conversation, work, devices and cards, because entries of another version may tell of them."
                .to_owned(),
        ),
    }
}

/// What was checked besides the chain.
pub(crate) fn books_in_words(books: &Summary) -> String {
    let mut words = format!(
        "Every effect was allowed: {} decisions with good signatures, spent {} times in all; {} signed instructions.",
        grouped(books.n_decisions),
        grouped(books.n_spent),
        grouped(books.n_instructions)
    );
    if books.n_forgotten > 0 {
        words.push_str(&format!(
            "\nOf {} of them something was forgotten since, as the ledger says; what is left of them holds.",
            grouped(books.n_forgotten)
        ));
    }
    if books.n_unknown > 0 {
        words.push_str(&format!(
            "\n{} entries are of another version of Silas. They are in their place; what they mean was not checked.",
            grouped(books.n_unknown)
        ));
    }
    words
}

fn check_witness(home: &Home, store: &Reader, path: &Path) -> Result<()> {
    let witness = KnownHead::load(path)?;
    ensure!(
        witness.installation == home.installation()?,
        "{} is about another installation. Nothing can be said with it.",
        path.display()
    );
    witness.check(home.epoch()?, store).with_context(|| format!("The witness is {}.", path.display()))
}
