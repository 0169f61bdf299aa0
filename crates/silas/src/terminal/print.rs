//! What the terminal shows: cards, activity and state, in the same words as the page.

use super::line::Line;
use super::paint::Paint;
use crate::home::Home;
use crate::key_commands;
use crate::secret_commands;
use crate::session_commands;
use anyhow::Result;
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState, Press, Versions};
use silas_core::changeset::{DiffLine, FileDiff};
use silas_core::input::Input;
use silas_core::session::SessionType;
use silas_gates::scrub;

/// Lines of all changes together; whoever needs more reads them in the page.
const DIFF_LINES_MAX: usize = 400;
/// Of both versions of one file.
const COMPARED_LINES_MAX: usize = 40;

/// What a program reads.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

pub(crate) fn took(ms: Option<u64>) -> String {
    ms.map_or_else(String::new, |ms| format!("  ({}.{} s)", ms / 1000, ms % 1000 / 100))
}

pub(super) fn print_cards(cards: &[Card]) {
    let paint = Paint::of_stdout();
    if cards.is_empty() {
        println!("Nothing to decide.");
    }
    for (n, card) in cards.iter().enumerate() {
        let parked = if card.state == CardState::Parked { ", parked" } else { "" };
        println!("{}  {}  ({}{parked})", n + 1, card.face.intent, paint.risk(card.face.risk));
    }
}

/// A card with everything on it, and the commands that answer it.
pub(crate) fn print_card(card: &Card) {
    print_face(card);
    let offers = card.face.ctas.iter().filter_map(|cta| match cta.press {
        Press::Approve => Some(("approve", cta)),
        Press::Rehearse => Some(("rehearse", cta)),
        Press::Redo => Some(("redo", cta)),
        Press::Change => Some(("change", cta)),
        Press::Decline => Some(("decline", cta)),
        Press::Proof | Press::Look | Press::Dismiss | Press::Store | Press::Choose => None,
    });
    for (command, cta) in offers.filter(|_| card.face.kind != CardKind::Done && card.state == CardState::Open) {
        println!("  silas {command:<8} {}", cta.label);
    }
    if let Some(command) = entering(card) {
        println!("  {command}");
    }
}

/// The command that enters what a card wants entered.
pub(super) fn entering(card: &Card) -> Option<String> {
    match card.input.as_ref()? {
        Input::Secret(wanted) => Some(format!("silas secret set {}", wanted.ref_id)),
        Input::Model(_) => Some("silas model add PROVIDER:MODEL".to_owned()),
    }
}

/// What was signed for is exactly this.
pub(super) fn print_face(card: &Card) {
    let paint = Paint::of_stdout();
    println!("{} · {}", paint.risk(card.face.risk), card.face.state);
    println!("{}", paint.strong(&card.face.intent));
    if let Some(evidence) = &card.face.evidence {
        println!("  {}", evidence.claim);
        for caveat in &evidence.caveats {
            println!("  {caveat}");
        }
        for (n, before) in evidence.before.iter().enumerate() {
            let mark = |passed: bool| if passed { paint.good("✓ pass") } else { paint.bad("✗ fail") };
            let after = evidence.after.get(n).map_or_else(String::new, |after| mark(after.passed));
            println!("  {}: {} → {after}", before.name, mark(before.passed));
        }
    }
    if let Some(versions) = &card.face.versions {
        print_versions(versions, &paint);
    }
    let label = |text: &str| paint.quiet(&format!("{text:<11}"));
    for fact in &card.face.facts {
        println!("  {} {}", label(&fact.label), fact.text);
    }
    let said = |title: &str, text: &str| text.lines().for_each(|line| println!("  {} {line}", label(title)));
    if let Some(asked) = &card.face.asked {
        said("You asked", asked);
    }
    if let Some(quote) = &card.face.quote {
        println!("  {} {}", label("In the words"), paint.quiet(&format!("of {}:", quote.who)));
        said("", &quote.text);
    }
    for detail in &card.face.details {
        for line in &detail.lines {
            println!("  {} {line}", label(&detail.title));
        }
    }
    if card.face.kind == CardKind::Rehearsed {
        print_diffs(&card.face.diffs);
    }
}

/// Both versions of the same lines; times are in UTC, as everywhere here.
fn print_versions(versions: &Versions, paint: &Paint) {
    println!("  {}", versions.says);
    for version in &versions.shown {
        let at = version.at.map(|at| at.to_string()).unwrap_or_default();
        let at = at.get(..16).map_or_else(String::new, |at| format!(", {}", at.replace('T', " ")));
        println!("  {}", paint.quiet(&format!("{}{at}", version.whose)));
        for line in &version.lines {
            println!("  {}", paint.good(&format!("+ {}", scrub::visible(line))));
        }
        match (version.lines.len(), version.more) {
            (0, 0) => println!("    (these lines are gone)"),
            (_, 0) => {}
            (_, n) => println!("    … {n} more"),
        }
    }
    for file in &versions.compare {
        println!("  {}", paint.quiet(&format!("{}: yours, and Silas's", file.path)));
        for line in file.lines.iter().take(COMPARED_LINES_MAX) {
            match line {
                DiffLine::Same(text) => println!("           {}", scrub::visible(text)),
                DiffLine::Removed(text) => println!("    You    {}", scrub::visible(text)),
                DiffLine::Added(text) => println!("    Silas  {}", scrub::visible(text)),
                DiffLine::Gap(n) => println!("           … {n} lines"),
            }
        }
        if file.lines.len() > COMPARED_LINES_MAX {
            println!("           … more, which the page shows");
        }
    }
}

/// What would be applied, as text: names and lines are somebody's words, so what could mislead is made visible.
fn print_diffs(diffs: &[FileDiff]) {
    let paint = Paint::of_stdout();
    let mut n_left = DIFF_LINES_MAX;
    for diff in diffs {
        let path = scrub::visible(&diff.path.to_string());
        println!("\n  {path}  +{} −{}", diff.added, diff.removed);
        let Some(lines) = &diff.lines else {
            println!("    (no text to show)");
            continue;
        };
        for line in lines.iter().take(n_left) {
            match line {
                DiffLine::Same(text) => println!("    {}", scrub::visible(text)),
                DiffLine::Added(text) => println!("  {}", paint.good(&format!("+ {}", scrub::visible(text)))),
                DiffLine::Removed(text) => println!("  {}", paint.bad(&format!("− {}", scrub::visible(text)))),
                DiffLine::Gap(n) => println!("    … {n} lines"),
            }
        }
        if lines.len() > n_left {
            println!("    … more, which the page shows");
        }
        n_left = n_left.saturating_sub(lines.len());
    }
    println!();
}

/// The part of Activity in which the owner was not there.
pub(super) fn while_away(snapshot: &Value) -> Value {
    let activity = &snapshot["activity"];
    let (Some(from), Some(to)) = (activity["away"]["from"].as_str(), activity["away"]["to"].as_str()) else {
        let summary = "You were not away for half an hour in the last day. `silas activity` tells everything.";
        return json!({ "summary": summary, "away": null, "rows": [] });
    };
    // Times have one spelling, so their order is that of the text.
    let is_within = |row: &&Value| row["at"].as_str().is_some_and(|at| (from..=to).contains(&at));
    let rows: Vec<&Value> = activity["rows"].as_array().into_iter().flatten().filter(is_within).collect();
    json!({ "summary": activity["away"]["text"], "away": activity["away"], "rows": rows })
}

pub(super) fn print_activity(activity: &Value) {
    println!("{}", activity["summary"].as_str().unwrap_or_default());
    for row in activity["rows"].as_array().into_iter().flatten() {
        let at = row["at"].as_str().unwrap_or_default();
        let (text, note) = (row["text"].as_str().unwrap_or_default(), row["note"].as_str().unwrap_or_default());
        println!("{}  {text}. {note}", at.get(..19).unwrap_or(at).replace('T', " "));
    }
    if let Some(seq) = activity["earlier"].as_u64() {
        println!("There is more before that: `silas activity --before {seq}`, or all of it with `--all`.");
    }
}

pub(super) fn print_measures(line: &mut Line<'_>, as_json: bool) -> Result<()> {
    line.send(&json!({ "type": "measures" }))?;
    let answer = line.wait_for(|message| message["type"] == "measures")?;
    if as_json {
        return print_json(&answer["measures"]);
    }
    let measures = answer["measures"].as_array().map_or(&[][..], Vec::as_slice);
    if measures.is_empty() {
        println!("Nothing was decided in the last 30 days.");
    }
    for measure in measures {
        let part = |name: &str| measure[name].as_str().unwrap_or_default();
        println!("{:<26} {:<18} should be {:<12} {}", part("name"), part("value"), part("target"), part("note"));
    }
    Ok(())
}

/// "1 active · 2 need review", "All quiet".
pub(super) fn ambient(n_running: usize, n_cards: usize) -> String {
    let waits = match n_cards {
        0 => None,
        1 => Some("1 needs review".to_owned()),
        n => Some(format!("{n} need review")),
    };
    match (n_running, waits) {
        (0, None) => "All quiet".to_owned(),
        (0, Some(waits)) => waits,
        (n, None) => format!("{n} active"),
        (n, Some(waits)) => format!("{n} active · {waits}"),
    }
}

pub(super) fn n_running(snapshot: &Value) -> usize {
    snapshot["work"].as_array().into_iter().flatten().filter(|work| work["running"] == true).count()
}

pub(super) fn print_status(home: &Home, line: &mut Line<'_>, as_json: bool) -> Result<()> {
    let sessions = session_commands::sessions(line)?;
    let n_cards = line.all_cards()?.len();
    let running = n_running(&line.snapshot);
    let count = |name: &str| line.snapshot[name].as_array().map_or(0, Vec::len);
    let n_grants = count("grants") as u64 + line.snapshot["n_more_grants"].as_u64().unwrap_or(0);
    if as_json {
        return print_json(&json!({
            "data_dir": home.path,
            "root": home.root()?,
            "active": running,
            "in_review": n_cards,
            "n_durable_commits": line.snapshot["n_durable_commits"],
            "dead_letters": line.snapshot["dead_letters"],
            "undoable": line.snapshot["undoable"],
            "sessions": sessions,
            "keys": key_commands::protection(home)?,
            "vault": secret_commands::state(home)?,
            "grants": n_grants,
            "devices": count("devices"),
        }));
    }
    println!("Silas runs on {}.", home.path.display());
    println!("{running} active, {n_cards} in review.");
    println!("Root key: {}.", key_commands::protection(home)?);
    println!("Its public half, by which your proofs are checked: {}", String::from(home.root()?));
    println!("{}", vault_words(home)?);
    println!("Saved to disk {} times since the start.", line.snapshot["n_durable_commits"]);
    for letter in line.snapshot["dead_letters"].as_array().into_iter().flatten() {
        println!("Put aside after {} attempts: {}", letter["attempts"], letter["text"].as_str().unwrap_or_default());
    }
    for undo in line.snapshot["undoable"].as_array().into_iter().flatten() {
        let until = undo["until"].as_str().unwrap_or_default();
        let until = until.get(..16).unwrap_or(until).replace('T', " ");
        println!("Can be undone until {until}: {}", undo["title"].as_str().unwrap_or_default());
    }
    for session in sessions.iter().filter(|session| session.session_type == SessionType::Stream) {
        println!("{}", session_commands::describe(session));
    }
    println!("{n_grants} grants, {} devices: `silas grant list` and `silas device list`.", count("devices"));
    Ok(())
}

fn vault_words(home: &Home) -> Result<String> {
    let vault = secret_commands::state(home)?;
    let kept = silas_approval::vault::protection(&home.vault())?;
    let secrets = match vault.n_secrets {
        1 => "1 secret".to_owned(),
        n => format!("{n} secrets"),
    };
    Ok(match vault.is_locked {
        true => format!("Vault: locked, {secrets}; {kept}. Plans that use one wait until `silas unlock`."),
        false => format!("Vault: open, {secrets}; {kept}."),
    })
}
