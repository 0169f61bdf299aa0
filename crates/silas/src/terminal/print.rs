//! What the terminal shows: cards, activity and state, in the same words as the page.

use super::face::{Extent, print_face};
use super::line::Line;
use super::names::name;
use super::paint::Paint;
use super::quoted;
use crate::home::Home;
use crate::key_commands;
use crate::secret_commands;
use crate::session_commands;
use crate::wall_clock;
use anyhow::Result;
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::hidden;
use silas_core::input::Input;
use silas_core::number::grouped;
use silas_core::session::SessionType;
use silas_runtime::view::{AskedModelView, StopView};

/// What a program reads.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    verbatim!("{}", serde_json::to_string_pretty(value)?);
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
        let name = paint.quiet(&name(&card.id));
        println!("{:>2}  {}  ({}{parked})  {name}", n + 1, card.face.listed(), paint.asking(card));
    }
}

/// A card with everything on it: its face, and each button with what it means and the command that presses it.
pub(crate) fn print_card(card: &Card, extent: Extent) {
    print_face(card, extent);
    let paint = Paint::of_stdout();
    let is_asking = card.face.kind != CardKind::Done && card.state == CardState::Open;
    let inquiry = card.input.as_ref().and_then(Input::inquiry);
    for (n, option) in inquiry.map_or(&[][..], |inquiry| &inquiry.options).iter().enumerate() {
        let lead = format!("  silas answer {} ", n + 1);
        quoted::print(&lead, lead.chars().count(), &format!("“{option}”"));
    }
    for cta in &card.face.ctas {
        let command = match cta.press {
            Press::Approve if card.face.kind == CardKind::Done => Some("undo"),
            Press::Approve => Some("approve"),
            Press::Rehearse => Some("rehearse"),
            Press::Redo => Some("redo"),
            Press::Change => Some("change"),
            Press::Decline => Some("decline"),
            Press::Dismiss => Some("dismiss"),
            Press::Proof
            | Press::Look
            | Press::Store
            | Press::Choose
            | Press::Answer
            | Press::Again
            | Press::Another => None,
        };
        let is_possible = is_asking || matches!(command, Some("undo" | "dismiss"));
        match command.filter(|_| is_possible) {
            Some(command) => println!("  silas {command:<8} {}", cta.label),
            None => println!("  {:<14} {}", "", cta.label),
        }
        if !cta.consequence.is_empty() && cta.consequence != cta.label {
            println!("  {:<14} {}", "", paint.quiet(&cta.consequence));
        }
    }
    if card.state == CardState::Parked {
        println!("  silas renew    Ask it again");
        println!("  silas dismiss  Drop it");
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
        Input::Inquiry(_) => Some("silas answer \"YOUR WORDS\"".to_owned()),
    }
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
        let number = row["seq"].as_u64().unwrap_or_default();
        println!("{number:>6}  {}  {text}. {note}", wall_clock::of_wire(at, wall_clock::second));
    }
    if activity["rows"].as_array().is_some_and(|rows| !rows.is_empty()) {
        println!("`silas activity NUMBER` shows what stands behind a row.");
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
    let part = |measure: &Value, name: &str| measure[name].as_str().unwrap_or_default().to_owned();
    let width = |name: &str| measures.iter().map(|measure| part(measure, name).chars().count()).max().unwrap_or(0);
    let (names, values, targets) = (width("name"), width("value"), width("target"));
    for measure in measures {
        let [name, value, target, note] = ["name", "value", "target", "note"].map(|of| part(measure, of));
        println!("{}", format!("{name:<names$}  {value:<values$}  should be {target:<targets$}  {note}").trim_end());
    }
    Ok(())
}

/// How many ask something, as the page counts them: results and reports only tell.
pub(super) fn needing_review(cards: &[Card]) -> usize {
    cards.iter().filter(|card| needs_review(card)).count()
}

pub(super) fn needs_review(card: &Card) -> bool {
    !matches!(card.face.kind, CardKind::Done | CardKind::Report)
}

/// "1 active · 2 need review", "Waiting for openai/gpt-5", "All quiet".
pub(super) fn ambient(snapshot: &Value, n_cards: usize) -> String {
    let n_running = n_running(snapshot);
    let waits = match n_cards {
        0 => None,
        1 => Some("1 needs review".to_owned()),
        n => Some(format!("{} need review", grouped(n))),
    };
    match (n_running, waits) {
        (0, waits) => match (waiting_for(snapshot).first(), waits) {
            (None, None) => "All quiet".to_owned(),
            (None, Some(waits)) => waits,
            (Some(asked), None) => waited_for(asked),
            (Some(asked), Some(waits)) => format!("{} · {waits}", waited_for(asked)),
        },
        (n, waits) => {
            let until = waiting_for(snapshot).into_iter().find(|asked| asked.waits_until.is_some());
            let until = until.map(|asked| waited_for(&asked));
            [Some(format!("{n} active")), until, waits].into_iter().flatten().collect::<Vec<_>>().join(" · ")
        }
    }
}

pub(super) fn n_running(snapshot: &Value) -> usize {
    snapshot["work"].as_array().into_iter().flatten().filter(|work| work["running"] == true).count()
}

/// A provider that is left alone for a while, or a model that has not answered yet.
fn waited_for(asked: &AskedModelView) -> String {
    match asked.waits_until {
        Some(until) => format!("Waiting for the provider until {}", wall_clock::hour(until)),
        None => format!("Waiting for {}", asked.model),
    }
}

/// Since when somebody waits for it, and what ends that.
fn since_when(asked: &AskedModelView) -> String {
    let since = wall_clock::minute(asked.since);
    let so_far = match asked.waits_until {
        Some(until) => format!(
            "The provider of {} has not answered since {since}, and is asked again at {}.",
            asked.model,
            wall_clock::minute(until)
        ),
        None => format!("{} was asked at {since} and has not answered yet.", asked.model),
    };
    format!("{so_far} `silas stop --all` ends the waiting.")
}

/// The models that were asked and have not answered, longest first.
fn waiting_for(snapshot: &Value) -> Vec<AskedModelView> {
    serde_json::from_value(snapshot["waiting_for"].clone()).unwrap_or_default()
}

pub(super) fn print_status(home: &Home, line: &mut Line<'_>, as_json: bool) -> Result<()> {
    let sessions = session_commands::sessions(line)?;
    let cards = line.all_cards()?;
    let n_cards = needing_review(&cards);
    let n_results = cards.len() - n_cards;
    let running = n_running(&line.snapshot);
    let count = |name: &str| line.snapshot[name].as_array().map_or(0, Vec::len);
    let n_grants = count("grants") as u64 + line.snapshot["n_more_grants"].as_u64().unwrap_or(0);
    if as_json {
        return print_json(&json!({
            "data_dir": home.path,
            "root": home.root()?,
            "active": running,
            "waiting_for": line.snapshot["waiting_for"],
            "in_review": n_cards,
            "results": n_results,
            "n_durable_commits": line.snapshot["n_durable_commits"],
            "dead_letters": line.snapshot["dead_letters"],
            "undoable": line.snapshot["undoable"],
            "sessions": sessions,
            "keys": key_commands::protection(home)?,
            "vault": secret_commands::state(home)?,
            "grants": n_grants,
            "stopped": line.snapshot["stopped"],
            "devices": count("devices"),
            "leaving": line.snapshot["leaving"],
            "trouble": line.snapshot["trouble"],
        }));
    }
    match line.snapshot["leaving"] == true {
        true => println!(
            "Silas is stopping on {}: it takes in nothing new, and what is under way may finish. `silas stop --all` ends that.",
            home.path.display()
        ),
        false => println!("Silas runs on {}.", home.path.display()),
    }
    println!("{}.", ambient(&line.snapshot, n_cards));
    for asked in waiting_for(&line.snapshot) {
        println!("{}", since_when(&asked));
    }
    if let Some(stopped) = stopped(&line.snapshot["stopped"]) {
        println!("{stopped}");
    }
    match n_results {
        0 => {}
        1 => println!("1 result to look at: `silas review`."),
        n => println!("{} results to look at: `silas review`.", grouped(n)),
    }
    println!("Root key: {}.", key_commands::protection(home)?);
    println!("Its public half, by which your proofs are checked: {}", String::from(home.root()?));
    println!("{}", vault_words(home)?);
    println!("Saved to disk {} times since the start.", grouped(&line.snapshot["n_durable_commits"]));
    for letter in line.snapshot["dead_letters"].as_array().into_iter().flatten() {
        println!("Put aside after {} attempts: {}", letter["attempts"], letter["text"].as_str().unwrap_or_default());
    }
    for undo in line.snapshot["undoable"].as_array().into_iter().flatten() {
        let until = wall_clock::of_wire(undo["until"].as_str().unwrap_or_default(), wall_clock::minute);
        let title = hidden::quotation(undo["title"].as_str().unwrap_or_default());
        println!("Can be undone until {until}: {title}");
    }
    for session in sessions.iter().filter(|session| session.session_type == SessionType::Stream) {
        println!("{}", session_commands::describe(session));
    }
    let counted = |n: u64, name: &str| if n == 1 { format!("1 {name}") } else { format!("{} {name}s", grouped(n)) };
    println!(
        "{}, {}: `silas grant list` and `silas device list`.",
        counted(n_grants, "grant"),
        counted(count("devices") as u64, "device")
    );
    Ok(())
}

/// "Everything was stopped at …: 1 task ended, 3 grants are gone.", while nothing has begun since.
fn stopped(view: &Value) -> Option<String> {
    let view: StopView = serde_json::from_value(view.clone()).ok()?;
    let counted = |n: usize, name: &str| if n == 1 { format!("1 {name}") } else { format!("{} {name}s", grouped(n)) };
    let mut parts = Vec::new();
    if view.n_works > 0 {
        parts.push(format!("{} ended", counted(view.n_works, "task")));
    }
    if !view.models.is_empty() {
        parts.push(format!("{} not waited for any more", view.models.join(", ")));
    }
    if view.n_grants > 0 {
        parts.push(format!(
            "{} {} gone",
            counted(view.n_grants, "grant"),
            if view.n_grants == 1 { "is" } else { "are" }
        ));
    }
    Some(format!("Everything was stopped at {}: {}.", wall_clock::minute(view.at), parts.join(", ")))
}

fn vault_words(home: &Home) -> Result<String> {
    let vault = secret_commands::state(home)?;
    let kept = silas_approval::vault::protection(&home.vault())?;
    let secrets = match vault.n_secrets {
        1 => "1 secret".to_owned(),
        n => format!("{} secrets", grouped(n)),
    };
    Ok(match vault.is_locked {
        true => format!("Vault: locked, {secrets}; {kept}. Plans that use one wait until `silas unlock`."),
        false => format!("Vault: open, {secrets}; {kept}."),
    })
}
