//! `silas verify FILE`: checks a proof that came from some Silas, with nothing but the public root key. Needs no data
//! directory, no server and no network. `silas key root` prints the key.
//!
//! Exit codes are those of `exit.rs`: 1 refused, 2 what was given cannot be read as a proof at all, 5 it agrees with itself,
//! but no key was given to verify it with.

use crate::exit::{BAD_INPUT, NOT_DONE, ONLY_CONSISTENT};
use crate::terminal::{Output, print_json, quoted};
use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use silas_core::bundle::{self, BYTES_MAX, Bundle, Proven, Refusal};
use silas_core::changeset::{Change, FileDiff};
use silas_core::check::{Check, CheckResult};
use silas_core::hidden;
use silas_core::number::grouped;
use silas_core::relpath::RelPath;
use silas_core::signature::PublicKey;
use silas_core::token::Kind;
use silas_gates::scrub;
use silas_runtime::Story;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// A file of `silas work proof`, or downloaded from the page.
    file: PathBuf,
    /// The public root key of the Silas that it should come from; `silas key root` prints it there. Without it nothing is
    /// verified: the file itself names a key, and anybody can make a file with a key of their own.
    #[arg(long, value_name = "ROOTKEY", allow_hyphen_values = true)]
    key: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Longest line of words from the file.
const LINE_CHARS_MAX: usize = 300;
/// Lines of what a check printed.
const OUTPUT_LINES_MAX: usize = 12;

pub(crate) fn verify(args: &VerifyArgs) -> Result<ExitCode> {
    let input = read(args);
    let (text, root) = match input {
        Ok(input) => input,
        Err(problem) => return refuse(args, &problem, BAD_INPUT),
    };
    match bundle::verify(&text, root.as_ref()) {
        Ok((bundle, proven)) => accept(args, &bundle, &proven),
        Err(Refusal::OtherRoot { found }) => {
            refuse(args, &other_key(&found, args.key.as_deref().unwrap_or_default()), NOT_DONE)
        }
        Err(refusal) if refusal.is_bad_input() => {
            refuse(args, &format!("{refusal}.\nGive a file that `silas work proof` wrote"), BAD_INPUT)
        }
        Err(refusal) => {
            let meaning =
                "The file is not what that Silas wrote, or it was never true. Nothing in it should be believed";
            refuse(args, &format!("{refusal}.\n{meaning}"), NOT_DONE)
        }
    }
}

fn read(args: &VerifyArgs) -> Result<(String, Option<PublicKey>), String> {
    let root = args.key.clone().map(PublicKey::try_from).transpose();
    let root = root.map_err(|why| {
        format!(
            "The key after --key is not a public root key: {why}.\nGive what `silas key root` prints on that machine"
        )
    })?;
    let give = "Give a file that `silas work proof` wrote";
    let unreadable = |why: std::io::Error| {
        format!("{} cannot be read: {}.\n{give}", args.file.display(), crate::exit::in_words(&why))
    };
    let file = crate::named_file::open(&args.file).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > BYTES_MAX {
        return Err(format!("{} is larger than any proof.\n{give}", args.file.display()));
    }
    // A byte that is no text is a changed byte, and is refused by what it makes of the file.
    Ok((String::from_utf8_lossy(&bytes).into_owned(), root))
}

/// The file itself may be sound, and the mistake that of whoever gave the key.
fn other_key(found: &str, given: &str) -> String {
    format!(
        "The key that you gave is another one than the bundle's.\n\
         The proof stands on root key {found}, and you gave {}.\n\
         So it does not come from the Silas whose key you gave, or that Silas has exchanged its root key since \
         (`silas key rotate root`), or the key is mistyped. Nothing else of the file was looked at, and nothing in it is \
         shown by this.\n\
         Run `silas key root` where the file should come from. If that prints {found}, verify with that key; if it does not, \
         somebody else made the file",
        given.trim()
    )
}

fn refuse(args: &VerifyArgs, why: &str, code: u8) -> Result<ExitCode> {
    let lines: Vec<String> = why.lines().map(|line| scrub::visible_line(line, LINE_CHARS_MAX)).collect();
    let why = lines.join(if args.output.json { " " } else { "\n" });
    if args.output.json {
        print_json(&json!({ "verified": false, "bad_input": code == BAD_INPUT, "reason": why }))?;
    } else if code == BAD_INPUT {
        eprintln!("{why}.");
    } else {
        println!("NOT VERIFIED. {why}.");
    }
    Ok(ExitCode::from(code))
}

fn accept(args: &VerifyArgs, bundle: &Bundle, proven: &Proven) -> Result<ExitCode> {
    let code = if args.key.is_some() { ExitCode::SUCCESS } else { ExitCode::from(ONLY_CONSISTENT) };
    let story = Story::of(proven);
    let (shows, open) = (shows(bundle, proven, &story), does_not_show(bundle, proven, &story, args.key.is_some()));
    if args.output.json {
        print_json(&document(args, bundle, proven, &story, &shows, &open))?;
        return Ok(code);
    }
    let text = |words: &str| scrub::visible_line(words, LINE_CHARS_MAX);
    if args.key.is_some() {
        println!("VERIFIED. {}", text(&story.claim));
    } else {
        println!(
            "CONSISTENT, NOT VERIFIED. The file agrees with itself, but the root key {} is the one that it names, and anybody \
             can make a file with a key of their own.",
            String::from(bundle.root)
        );
        println!("To verify it, give the key that `silas key root` prints where it should come from: --key ROOTKEY");
        println!("\nWhat it claims: {}", text(&story.claim));
    }
    println!("{}\n", hidden::quotation(&text(&proven.plan.definition().title)));
    for step in &story.steps {
        println!("  {}: {}", text(&step.title), text(&step.note));
    }
    println!("\nChecks");
    let checks = &proven.plan.definition().verify;
    for ((before, after), check) in proven.before.iter().zip(&proven.after).zip(checks) {
        let mark = |passed: bool| if passed { "✓ pass" } else { "✗ fail" };
        let marks = format!("{} → {}", mark(before.passed), mark(after.passed));
        quoted::print_check(&marks, &with_command(after, check));
        for (when, result) in [("before", before), ("after", after)] {
            let lead = format!("    {when}: ");
            quoted::print(&lead, lead.len(), &text(&result.reason));
            quoted::print_output(&result.output, OUTPUT_LINES_MAX, str::to_owned);
        }
    }
    println!("\nChanged");
    changed(proven).iter().for_each(|line| println!("  {line}"));
    println!("\nThis shows");
    shows.iter().for_each(|line| println!("  - {}", text(line)));
    if !story.known.is_empty() {
        println!("\nKnown of the checks");
        story.known.iter().for_each(|line| println!("  - {}", text(line)));
    }
    println!("\nThis does not show");
    open.iter().for_each(|line| println!("  - {}", text(line)));
    Ok(code)
}

/// What ran. Results of earlier versions do not say, and then the plan does.
fn with_command(result: &CheckResult, check: &Check) -> CheckResult {
    let mut result = result.clone();
    if result.run.is_empty() {
        result.run = check.command();
    }
    result
}

/// Every file of the change, by its whole name. A proof of an earlier version shows no lines of most of many files.
fn changed(proven: &Proven) -> Vec<String> {
    let landed = &proven.landed;
    let line = |diff: &FileDiff| {
        let from = diff
            .renamed_from
            .as_ref()
            .map_or_else(String::new, |from| format!("{} → ", quoted::file(&from.to_string())));
        let counts = match (&diff.lines, diff.n_not_shown()) {
            (None, _) => "not text, or too large to show".to_owned(),
            (Some(_), 0) => format!("+{} −{}", grouped(diff.added), grouped(diff.removed)),
            (Some(_), n) => format!(
                "+{} −{}, {} of these lines are not in the proof",
                grouped(diff.added),
                grouped(diff.removed),
                grouped(n)
            ),
        };
        format!("{from}{} ({counts})", quoted::file(&diff.path.to_string()))
    };
    let directories = &proven.plan.definition().directories;
    let named: BTreeSet<(&str, &RelPath)> = landed
        .diffs
        .iter()
        .flat_map(|diff| {
            [Some(&diff.path), diff.renamed_from.as_ref()].map(|path| Some((diff.directory.as_str(), path?)))
        })
        .flatten()
        .collect();
    let is_other = |change: &&Change| {
        let place = directories.get(change.directory as usize).map_or("", |directory| directory.path.as_str());
        !["", place].iter().any(|directory| named.contains(&(*directory, &change.path)))
    };
    let others = landed.changeset.changes.iter().filter(is_other);
    let others =
        others.map(|change| format!("{} (its lines are not in the proof)", quoted::file(&change.path.to_string())));
    landed.diffs.iter().map(line).chain(others).collect()
}

/// What follows from the signatures and hashes.
fn shows(bundle: &Bundle, proven: &Proven, story: &Story) -> Vec<String> {
    let head = bundle.checkpoint.body.head;
    let hash = proven.landed.changeset.hash().map_or_else(|_| String::new(), |hash| hash.to_string());
    let mut shows = vec![allowed(bundle, proven)];
    shows.extend(proven.applied_on.as_ref().map(|device| {
        format!(
            "Exactly these changes by exactly this plan, with what the checks showed of them, were approved by a signature \
             of {:?}, a device that the root key vouches for. The approval was used once.",
            device.body.name
        )
    }));
    shows.extend([
        format!(
            "Entries {} to {} of that ledger are what was written, without a gap; its server key, for which the root key \
             vouches too, signed the last one ({}) on {}.",
            proven.first_entry, head.seq, head.hash, bundle.checkpoint.body.at
        ),
        "What the checks printed, counted and ended with, before and after, is bound to these entries, and comes to what \
         is claimed."
            .to_owned(),
        format!("What was put in place is a change of exactly these files, with hash {hash}."),
    ]);
    let is_judged_as_before =
        |result: &CheckResult| result.protected && result.basis.as_ref().is_none_or(|basis| basis.changed.is_empty());
    if proven.after.iter().all(is_judged_as_before) && !proven.after.is_empty() {
        let as_before = "The checks saw tests, their configuration and what they name as it was before the work";
        shows.push(match &story.seen_as_changed {
            None => format!("{as_before}."),
            Some(what) => {
                format!("{as_before}, except what was declared before the work as what it may change. {what}")
            }
        });
    }
    shows
}

/// What let the work be done.
fn allowed(bundle: &Bundle, proven: &Proven) -> String {
    let (at, name, root) = (proven.decided_at, &proven.device.body.name, String::from(bundle.root));
    match proven.allowed {
        Kind::HouseRules => format!(
            "House rules that let such a plan be tried out in a private copy were used for it on {at}. They have a \
             signature of {name:?}, a device that root key {root} vouches for."
        ),
        Kind::Rehearsal => format!(
            "Exactly this plan was approved on {at}, to be tried out first, by a signature of {name:?}, a device that root \
             key {root} vouches for. The approval was used once."
        ),
        Kind::Plan | Kind::Apply | Kind::Undo | Kind::Device | Kind::Root | Kind::Step | Kind::Model | Kind::Budget => {
            format!(
                "Exactly this plan was approved on {at}, by a signature of {name:?}, a device that root key {root} vouches \
             for. The approval was used once."
            )
        }
    }
}

/// What a reader must not conclude.
fn does_not_show(bundle: &Bundle, proven: &Proven, story: &Story, is_key_given: bool) -> Vec<String> {
    let mut open = Vec::new();
    if !is_key_given {
        open.push(format!(
            "Whose proof it is: root key {} was taken from the file itself. Compare it with `silas key root` of the \
             machine that it should come from, or give it with --key.",
            String::from(bundle.root)
        ));
    }
    open.extend(story.not_ruled_out.iter().cloned());
    if proven.undone_at.is_none() {
        open.push(format!("What happened after entry {}; the work may have been undone since.", proven.last_entry));
    }
    if proven.n_unknown > 0 {
        open.push(format!(
            "What {} entries of another version of Silas mean, which lie between.",
            grouped(proven.n_unknown)
        ));
    }
    open.push(
        "That the machine itself was honest: the entries are its own word, and whoever has its server key could have \
         written others around a decision that the owner did sign."
            .to_owned(),
    );
    open
}

fn document(
    args: &VerifyArgs,
    bundle: &Bundle,
    proven: &Proven,
    story: &Story,
    shows: &[String],
    open: &[String],
) -> Value {
    json!({
        "verified": args.key.is_some(),
        "consistent": true,
        "root": bundle.root,
        "root_given": args.key.is_some(),
        "installation": bundle.installation,
        "execution": proven.execution,
        "title": proven.plan.definition().title,
        "allowed_by": proven.allowed,
        "device": proven.device.body.name,
        "applied_on": proven.applied_on.as_ref().map(|device| &device.body.name),
        "decided_at": proven.decided_at,
        "applied_at": proven.applied_at,
        "undone_at": proven.undone_at,
        "outcome": proven.outcome,
        "claim": story.claim,
        "caveats": story.caveats(),
        "steps": story.steps,
        "before": proven.before,
        "after": proven.after,
        "changeset": proven.landed.changeset,
        "changeset_hash": proven.landed.changeset.hash().ok(),
        "diffs": proven.landed.diffs,
        "entries": { "first": proven.first_entry, "last": proven.last_entry },
        "checkpoint": bundle.checkpoint.body,
        "shows": shows,
        "known": story.known,
        "does_not_show": open,
    })
}
