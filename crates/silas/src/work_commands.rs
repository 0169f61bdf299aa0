//! `silas work`: the work that was approved, what became of it, its diff, its proof as a file, putting a result that
//! waits in place, and taking it back.
//!
//! Everything is asked of the running server. With `--json` each command prints one document; `docs/proof.md` has their
//! fields, which stay as they are.

use crate::exit;
use crate::home::Home;
use crate::terminal::{self, Line, Named, Output, PAGES_MAX, name_of, print_json, with_name};
use crate::wall_clock::minute;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use silas_core::canonical;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::changeset::FileDiff;
use silas_core::check::{CheckResult, Outcome};
use silas_core::execution::ExecutionState;
use silas_core::hidden;
use silas_core::number::grouped;
use silas_core::rehearsal::ApplyOrder;
use silas_gates::scrub;
use silas_runtime::view::{PatchView, WorkItemView};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum WorkCommand {
    /// List the approved work, newest first.
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Tell what happened: what was approved, what the checks showed, what landed.
    Show(Which),
    /// Print the change as a patch. Exit code 4 if something of it cannot be shown whole and is left out.
    Diff(Which),
    /// Put a result in place that was rehearsed and waits for you.
    Apply(Which),
    /// Take it back, while its undo window is open. Signed at once, at a terminal too.
    Undo(Which),
    /// Write its proof into a file that `silas verify` checks on any machine.
    Proof {
        #[command(flatten)]
        which: Which,
        /// The file to write. It must not exist yet.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct Which {
    /// Its name in `silas work list`, five letters, or its id; by default the newest that fits, or, where something is
    /// signed, the only one.
    #[arg(value_name = "WORK")]
    work: Option<String>,
    #[arg(long, help = terminal::YES)]
    yes: bool,
    #[command(flatten)]
    output: Output,
}

const WORK: Named = Named { noun: "work", list: "silas work list" };

/// Longest line of somebody's words here.
const LINE_CHARS_MAX: usize = 300;

pub(crate) fn run(home: &Home, command: WorkCommand) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    match command {
        WorkCommand::List { output } => list(&mut line, output),
        WorkCommand::Show(which) => show(&mut line, &which),
        WorkCommand::Diff(which) => diff(&mut line, &which),
        WorkCommand::Apply(which) => apply(&mut line, &which),
        WorkCommand::Undo(which) => undo(&mut line, &which),
        WorkCommand::Proof { which, out } => proof(&mut line, &which, &out),
    }
}

fn list(line: &mut Line<'_>, output: Output) -> Result<ExitCode> {
    let work = all(line)?;
    if output.json {
        return tell(&json!({ "work": work.iter().map(named).collect::<Vec<_>>() }));
    }
    if work.is_empty() {
        println!("No work yet.");
    }
    for one in &work {
        let title = title(&one.title);
        let place = scrub::visible_line(&one.place, LINE_CHARS_MAX);
        let place = if place.is_empty() { place } else { format!("  in {place}") };
        let (called, at) = (name_of(one.execution.as_str()), minute(one.started_at));
        println!("{called}  {at}  {:<9}  {title}{place}{}", state(one.state), worth(one));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(line: &mut Line<'_>, which: &Which) -> Result<ExitCode> {
    let one = pick(line, which, |_| true)?;
    let proof = told(line, &one)?;
    if which.output.json {
        return tell(&json!({ "work": named(&one), "proof": proof }));
    }
    let text = |value: &Value| scrub::visible_line(value.as_str().unwrap_or_default(), LINE_CHARS_MAX);
    println!("{}  ({})", title(proof["title"].as_str().unwrap_or_default()), state(one.state));
    println!("{}", text(&proof["claim"]));
    for caveat in proof["caveats"].as_array().into_iter().flatten() {
        println!("  {}", text(caveat));
    }
    println!();
    for step in proof["steps"].as_array().into_iter().flatten() {
        println!("  {}: {}", text(&step["title"]), text(&step["note"]));
    }
    let results = |side: &str| serde_json::from_value::<Vec<CheckResult>>(proof[side].clone());
    let (before, after) = (results("before")?, results("after")?);
    for (n, after) in after.iter().enumerate() {
        let mark = |result: Option<&CheckResult>| match result.map(|result| result.passed) {
            Some(true) => "✓ pass",
            Some(false) => "✗ fail",
            None => "not run",
        };
        terminal::quoted::print_check(&format!("{} → {}", mark(before.get(n)), mark(Some(after))), after);
        terminal::quoted::print("    after: ", 11, &scrub::visible_line(&after.reason, LINE_CHARS_MAX));
    }
    let meets = |card: &Card| card.face.versions.as_ref().is_some_and(|versions| versions.execution == one.execution);
    if let Some(card) = line.all_cards()?.into_iter().find(meets) {
        println!();
        terminal::print_card(&card, terminal::Extent::Glance);
    }
    let called = name_of(one.execution.as_str());
    if let Some(until) = one.undo_until {
        println!("\nCan be undone until {}: silas work undo {called}", minute(until));
    }
    match proof["no_bundle"].as_str() {
        None => println!("To prove it elsewhere: silas work proof {called} --out FILE"),
        Some(why) => println!("There is no file of this proof. {}", scrub::visible_line(why, LINE_CHARS_MAX)),
    }
    Ok(ExitCode::SUCCESS)
}

fn diff(line: &mut Line<'_>, which: &Which) -> Result<ExitCode> {
    let one = pick(line, which, |_| true)?;
    let proof = told(line, &one)?;
    let diffs: Vec<FileDiff> = serde_json::from_value(proof["diffs"].clone())?;
    let whole: PatchView = serde_json::from_value(proof["patch"].clone())?;
    if which.output.json {
        tell(&json!({
            "work": named(&one), "diffs": diffs, "patch": whole.text, "left_out": whole.left_out,
        }))?;
    } else {
        print!("{}", whole.text);
    }
    if whole.n_hidden > 0 {
        eprintln!("{} more changed files are not shown.", grouped(whole.n_hidden));
    }
    for name in &whole.left_out {
        eprintln!("Not in the patch, because it is not shown whole: {}", scrub::visible_line(name, LINE_CHARS_MAX));
    }
    Ok(if whole.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(exit::NOT_WHOLE) })
}

fn apply(line: &mut Line<'_>, which: &Which) -> Result<ExitCode> {
    let one = pick_to_sign(line, which, "apply", |one| one.state == ExecutionState::Rehearsed)?;
    if one.state != ExecutionState::Rehearsed {
        let called = name_of(one.execution.as_str());
        bail!("Work {called} has no result that waits: {}.", why_not_applied(one.state));
    }
    let is_of_it = |card: &Card| {
        let order = card.payload.as_deref().and_then(|payload| canonical::read::<ApplyOrder>(payload).ok());
        card.face.kind == CardKind::Rehearsed && order.is_some_and(|order| order.execution == one.execution)
    };
    let card = line.all_cards()?.into_iter().find(is_of_it);
    let card = card.context("Its card is not in Review any more. What was rehearsed is given up; ask for it again.")?;
    if card.state == CardState::Parked {
        bail!("Its card is parked. `silas renew` asks it again.");
    }
    let args = terminal::CardArgs::found(which.yes, which.output);
    terminal::answer_found(line, card, Press::Approve, &args)
}

fn undo(line: &mut Line<'_>, which: &Which) -> Result<ExitCode> {
    let one = pick_to_sign(line, which, "undo", |one| one.undo_until.is_some())?;
    if one.undo_until.is_none() {
        bail!("Work {} cannot be undone: {}.", name_of(one.execution.as_str()), why_not(one.state));
    }
    let card = terminal::undo_card(line, one.execution.as_str())?;
    if !which.output.json {
        terminal::print_card(&card, terminal::Extent::Glance);
    }
    let (is_undone, message) = line.decide(&card, Press::Approve)?;
    if which.output.json {
        tell(&json!({ "work": named(&one), "undone": is_undone, "message": message }))?;
    } else {
        println!("{message}");
    }
    Ok(if is_undone { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn proof(line: &mut Line<'_>, which: &Which, out: &Path) -> Result<ExitCode> {
    let one = pick(line, which, |one| one.has_proof)?;
    line.send(&json!({ "type": "bundle", "execution": one.execution }))?;
    let answer = line.wait_for(|message| message["type"] == "bundle")?;
    let text = answer["bundle"].as_str().context("Silas answered something else.")?;
    // What commands and checks printed is in it, so it is nobody else's until it is handed over.
    let mut file = crate::named_file::make(out)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    let root = String::from(line.home().root()?);
    if which.output.json {
        return tell(&json!({
            "work": named(&one), "file": out.display().to_string(), "bytes": text.len(), "root": root,
        }));
    }
    println!("Written to {}: the plan, your approval, what the checks showed, what landed.", out.display());
    println!("It holds what the checks printed and how the changed files read. Check it anywhere:");
    println!("  silas verify FILE --key {root}");
    Ok(ExitCode::SUCCESS)
}

fn all(line: &mut Line<'_>) -> Result<Vec<WorkItemView>> {
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let from = json!(all.len());
        line.send(&json!({ "type": "work_list", "from": from }))?;
        let page = line.wait_for(|message| message["type"] == "work_list" && message["from"] == from)?;
        let work: Vec<WorkItemView> = serde_json::from_value(page["work_list"].clone())?;
        let is_last = work.is_empty() || page["n_more_work"] == 0;
        all.extend(work);
        if is_last {
            break;
        }
    }
    Ok(all)
}

/// The work that is meant; without a name the newest that fits.
fn pick(line: &mut Line<'_>, which: &Which, fits: impl Fn(&WorkItemView) -> bool) -> Result<WorkItemView> {
    let work = all(line)?;
    match &which.work {
        Some(said) => Ok(WORK.find(&work, |one| one.execution.as_str(), said)?.clone()),
        None => work.into_iter().find(fits).context("There is no such work yet. `silas work list` lists it."),
    }
}

/// The same where something will be signed: of several that fit, the newest may be another one than a moment ago.
fn pick_to_sign(
    line: &mut Line<'_>,
    which: &Which,
    verb: &str,
    fits: impl Fn(&WorkItemView) -> bool,
) -> Result<WorkItemView> {
    if which.work.is_some() {
        return pick(line, which, fits);
    }
    let mut fitting: Vec<WorkItemView> = all(line)?.into_iter().filter(fits).collect();
    match (fitting.pop(), fitting.first()) {
        (None, _) => bail!("There is no such work now. `silas work list` lists what there is."),
        (Some(only), None) => Ok(only),
        (Some(_), Some(newest)) => {
            let (called, title) = (name_of(newest.execution.as_str()), title(&newest.title));
            bail!(
                "More than one fits, so nothing was signed. Name the one that you mean: `silas work {verb} {called}` is \
                 {title}, the newest. `silas work list` lists them."
            )
        }
    }
}

fn told(line: &mut Line<'_>, one: &WorkItemView) -> Result<Value> {
    line.send(&json!({ "type": "proof", "execution": one.execution }))?;
    let execution = json!(one.execution);
    let answer = line.wait_for(|message| message["type"] == "proof" && message["proof"]["execution"] == execution)?;
    Ok(answer["proof"].clone())
}

fn named(one: &WorkItemView) -> Value {
    with_name(one, one.execution.as_str())
}

fn tell(document: &Value) -> Result<ExitCode> {
    print_json(document)?;
    Ok(ExitCode::SUCCESS)
}

fn state(state: ExecutionState) -> &'static str {
    match state {
        ExecutionState::Running => "running",
        ExecutionState::Rehearsed => "rehearsed",
        ExecutionState::Applied => "applied",
        ExecutionState::Ended => "ended",
        ExecutionState::Undone => "undone",
    }
}

fn why_not_applied(state: ExecutionState) -> &'static str {
    match state {
        ExecutionState::Running => "it is still under way",
        ExecutionState::Rehearsed => "it waits in Review",
        ExecutionState::Applied => "it is in place already",
        ExecutionState::Ended => "nothing of it was kept",
        ExecutionState::Undone => "it was put in place and undone",
    }
}

/// What a plan calls itself may be a model's word, so it is a quotation wherever it stands.
fn title(title: &str) -> String {
    hidden::quotation(&scrub::visible_line(title, LINE_CHARS_MAX))
}

fn why_not(state: ExecutionState) -> &'static str {
    match state {
        ExecutionState::Running => "it is still under way",
        ExecutionState::Applied => "its undo window is over. \"put back the last change\" makes a plan of it",
        ExecutionState::Rehearsed => "nothing of it is in place; its result waits in Review",
        ExecutionState::Ended => "nothing of it was put in place",
        ExecutionState::Undone => "it was undone already",
    }
}

fn worth(one: &WorkItemView) -> String {
    let outcome = match (one.state, one.outcome) {
        (ExecutionState::Running, _) | (_, None) => return String::new(),
        (_, Some(Outcome::Proved)) => "proved",
        (_, Some(Outcome::GreenByExitCode)) => "green by exit code",
        (_, Some(Outcome::Guarded)) => "stayed green",
        (_, Some(Outcome::Failed)) => "a check is red",
        (_, Some(Outcome::Unproven)) => "unproven",
    };
    let undo = one.undo_until.map_or_else(String::new, |until| format!(", can be undone until {}", minute(until)));
    format!("  ({outcome}{undo})")
}
