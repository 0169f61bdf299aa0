//! The terminal as a channel: the same messages and cards as the page, answered by commands or in `silas chat`.

mod answering;
mod chat;
mod earlier;
mod evidence;
mod face;
mod line;
mod names;
mod paint;
pub(crate) mod pairing;
mod print;
mod printed;
mod progress;
pub(crate) mod quoted;
mod replying;
mod running;
mod saying;
mod stopping;
mod watching;
#[cfg(test)]
mod whose_words;

pub(crate) use face::Extent;
pub(crate) use line::{Line, came_of};
pub(crate) use names::{Named, name_of, with_name};
pub(crate) use paint::Paint;
pub(crate) use print::{print_card, print_json, took};
pub(crate) use running::RunArgs;
pub(crate) use saying::{ASKED_AGAIN, SayArgs};

use crate::Command;
use crate::home::Home;
use crate::known_head;
use anyhow::{Context, Result, bail};
use clap::Args;
use print::{print_activity, print_cards, print_measures, print_status};
use progress::Progress;
use serde_json::{Value, json};
use silas_core::canonical;
use silas_core::card::{Card, CardKind, CardState, Press};
use silas_core::changeset::ChangeOrder;
use silas_core::token::Verdict;
use std::cell::RefCell;
use std::process::ExitCode;

/// How a command answers.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct Output {
    /// Answer in JSON, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `--yes` does, in the words of every command that signs a card. A pipe is not asked, because whoever wrote the command
/// into a script has answered; so nothing may read as if it were.
pub(crate) const YES: &str = "Sign without asking. Only a terminal is asked, before an approval of medium risk or more; \
                              where input or output is a pipe, and with --json, it is signed at once, also without this";

/// Which card is meant.
#[derive(Args, Clone)]
pub(crate) struct CardArgs {
    /// The name that `silas review` shows, five letters; not needed if only one waits. Its number in the list is asked about
    /// at a terminal, and refused in a pipe while several wait.
    #[arg(value_name = "CARD")]
    card: Option<String>,
    #[arg(long, help = YES)]
    yes: bool,
    #[command(flatten)]
    output: Output,
}

impl CardArgs {
    /// For a command that has found the card itself.
    pub(crate) fn found(yes: bool, output: Output) -> Self {
        CardArgs { card: None, yes, output }
    }
}

/// Which card to show.
#[derive(Args, Clone)]
pub(crate) struct ShowArgs {
    /// Its name or number in `silas review`; not needed if only one waits.
    #[arg(value_name = "CARD")]
    card: Option<String>,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(home: &Home, command: Command) -> Result<ExitCode> {
    match command {
        Command::Pair { wait } => return pairing::run(home, wait),
        Command::Stop { server, revoke, .. } => return stopping::run(home, server, revoke),
        _ => {}
    }
    let mut line = Line::open(home)?;
    match command {
        Command::Chat => return chat::run(line),
        Command::Say(args) => return saying::run(&mut line, &args),
        Command::Run(args) => return running::run(&mut line, &args),
        Command::Watch { json } => return watching::run(&mut line, json),
        Command::Review { output: Output { json: true } } => {
            let cards = line.all_cards()?;
            print_json(&cards.iter().map(|card| with_name(card, card.id.as_str())).collect::<Vec<_>>())?;
        }
        Command::Review { .. } => print_cards(&line.all_cards()?),
        Command::Approve(card) => return decide(&mut line, &card, Press::Approve, "approve"),
        Command::Rehearse(card) => return decide(&mut line, &card, Press::Rehearse, "rehearse"),
        Command::Redo(card) => return decide(&mut line, &card, Press::Redo, "redo"),
        Command::Change(card) => return decide(&mut line, &card, Press::Change, "change"),
        Command::Decline(card) => return decide(&mut line, &card, Press::Decline, "decline"),
        Command::Show(ShowArgs { card, output }) => return show(&mut line, card, output),
        Command::Renew { card, rehearse } => {
            return put(&mut line, &card, "renew", json!({ "type": "renew", "rehearse": rehearse }));
        }
        Command::Dismiss(card) => return put(&mut line, &card, "dismiss", json!({ "type": "dismiss" })),
        Command::Answer { said, card } => return replying::run(&mut line, &said, &card),
        Command::Undo { output } => return undo(&mut line, output),
        Command::Activity { measures: true, output, .. } => print_measures(&mut line, output.json)?,
        Command::Activity { entry: Some(seq), output, .. } => {
            known_head::follow(home)?;
            evidence::print(&mut line, seq, output.json)?;
        }
        Command::Activity { away, all, before, output, .. } => {
            known_head::follow(home)?;
            let activity = match (away, all, before) {
                (true, ..) => print::while_away(&line.snapshot),
                (_, true, _) => earlier::everything(&mut line)?,
                (_, _, Some(seq)) => earlier::before(&mut line, seq)?,
                (false, false, None) => line.snapshot["activity"].clone(),
            };
            if output.json { print_json(&activity)? } else { print_activity(&activity) }
        }
        Command::Status { output } => {
            known_head::follow(home)?;
            print_status(home, &mut line, output.json)?;
        }
        _ => bail!("this command does not talk to the server"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Signs nothing, so whatever is meant is shown: the question, or what is there if nothing asks.
fn show(line: &mut Line<'_>, card: Option<String>, output: Output) -> Result<ExitCode> {
    let asked = line.all_cards()?.iter().any(asks);
    let args = CardArgs { card, yes: false, output };
    let card = answering::meant(line, &args, "show", |card| asks(card) || !asked)?.card;
    if output.json {
        print_json(&card)?
    } else {
        print_card(&card, Extent::Whole)
    }
    Ok(ExitCode::SUCCESS)
}

/// Pages that one command asks for; a door takes 60 messages in a minute.
pub(crate) const PAGES_MAX: usize = 50;

/// A question that can be approved or declined.
fn asks(card: &Card) -> bool {
    card.state == CardState::Open && card.offer.is_some() && card.face.kind != CardKind::Done
}

/// Whether a conflict asks for nothing else than to be done again.
fn is_redo(card: &Card) -> bool {
    card.face.kind == CardKind::Conflict && card.instead.is_none()
}

/// Whether this answer has something carried out that can be followed.
fn starts_work(card: &Card, press: Press) -> bool {
    let is_about_work =
        matches!(card.face.kind, CardKind::Plan | CardKind::Rehearsed | CardKind::Refusal | CardKind::Conflict);
    is_about_work && press.verdict() == Some(Verdict::Approved)
}

/// What became of an answer, and of the work that it started.
#[derive(serde::Serialize)]
struct Answered {
    recorded: bool,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Card>,
}

impl Answered {
    fn is_done(&self) -> bool {
        // What was to be shown first is done when it can be shown.
        let is_done = |work: &Value| work["place"] == "Applied" || work["place"] == "Rehearsed";
        self.recorded && self.work.as_ref().is_none_or(is_done)
    }

    fn tell(&self, output: Output) -> Result<ExitCode> {
        if output.json {
            print_json(self)?;
        } else {
            match &self.work {
                // Already told before the work began.
                Some(work) => println!("{}", work["footer"].as_str().unwrap_or_default()),
                None => println!("{}", self.message),
            }
            if let Some(report) = &self.report {
                println!();
                print_card(report, Extent::Glance);
            }
        }
        Ok(if self.is_done() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn decide(line: &mut Line<'_>, args: &CardArgs, press: Press, verb: &str) -> Result<ExitCode> {
    let meant = answering::meant(line, args, verb, asks)?;
    let card = &meant.card;
    match card.state {
        CardState::Parked => bail!("This card is parked. `silas renew` asks it again."),
        _ if card.face.kind == CardKind::Done => bail!("This card tells a result. `silas undo` takes it back."),
        _ if let Some(command) = print::entering(card) => {
            bail!("This card wants something entered, not decided: `{command}`. `silas dismiss` puts it away.")
        }
        _ if card.offer.is_none() => bail!("This card asks nothing. `silas dismiss` puts it away."),
        _ => {}
    }
    // Where nothing can be merged, doing it again is what the card recommends.
    let press = if press == Press::Redo && is_redo(card) { Press::Approve } else { press };
    let is_offered = card.face.ctas.iter().any(|cta| cta.press == press);
    if !is_offered {
        bail!("This card does not offer that. `silas show` shows what it offers.");
    }
    match meant.confirmed(Some(press), verb, args)? {
        Some(card) => answer(line, &card, press, args.output),
        None => not_confirmed(),
    }
}

fn not_confirmed() -> Result<ExitCode> {
    println!("Not confirmed. Nothing was signed.");
    Ok(ExitCode::FAILURE)
}

/// The same for a card that another command has found: shown whole, asked about at a terminal.
pub(crate) fn answer_found(line: &mut Line<'_>, card: Card, press: Press, args: &CardArgs) -> Result<ExitCode> {
    match answering::Meant::found(card).confirmed(Some(press), "approve", args)? {
        Some(card) => answer(line, &card, press, args.output),
        None => not_confirmed(),
    }
}

/// Signs this answer to a card that was shown, and follows the work that it starts to its end.
fn answer(line: &mut Line<'_>, card: &Card, press: Press, output: Output) -> Result<ExitCode> {
    let (recorded, message) = line.decide(card, press)?;
    let mut answered = Answered { recorded, message, work: None, report: None };
    if !recorded || !starts_work(card, press) {
        return answered.tell(output);
    }
    if !output.json {
        println!("{}", answered.message);
    }
    let item = card.asked_by(press).map_or("", |(offer, _)| offer.work_item_id.as_str());
    let progress = RefCell::new(Progress::new(!output.json));
    let (step, printed) =
        (|step: &_| progress.borrow_mut().step(step), |output: &_| progress.borrow_mut().printed(output));
    answered.work = Some(line.follow(item, step, printed)?);
    progress.borrow().end();
    if answered.work.as_ref().is_some_and(|work| work["place"] != "Applied") {
        answered.report = line.report()?;
    }
    answered.tell(output)
}

/// Asks a parked card again, or puts one away that asks nothing.
fn put(line: &mut Line<'_>, args: &CardArgs, verb: &str, mut message: Value) -> Result<ExitCode> {
    let meant = answering::meant(line, args, verb, |card| !asks(card))?;
    let Some(card) = meant.confirmed(None, verb, args)? else {
        println!("Not confirmed. Nothing was changed.");
        return Ok(ExitCode::FAILURE);
    };
    message["request_id"] = json!(card.id);
    line.send(&message)?;
    let id = json!(card.id);
    let answer = line.wait_for(|m| m["type"] == "decided" && m["request_id"] == id)?;
    let (recorded, message) = line::outcome(&answer);
    Answered { recorded, message, work: None, report: None }.tell(args.output)
}

fn undo(line: &mut Line<'_>, output: Output) -> Result<ExitCode> {
    // The last change may be on its way, and an older one is not what is meant.
    let runs = |work: &Value| work["running"] == true;
    if line.snapshot["work"].as_array().is_some_and(|works| works.iter().any(runs)) {
        bail!(
            "Work is under way, so the last change may not be there yet. Wait for it, or name one: `silas work undo NAME`."
        );
    }
    let card = last_undo(line)?.context(NOTHING_TO_UNDO)?;
    if !output.json {
        print_card(&card, Extent::Glance);
    }
    let (recorded, message) = line.decide(&card, Press::Approve)?;
    Answered { recorded, message, work: None, report: None }.tell(output)
}

const NOTHING_TO_UNDO: &str = "Nothing can be undone: no undo window is open.";

/// The card of what was applied last, if that can still be undone.
fn last_undo(line: &mut Line<'_>) -> Result<Option<Card>> {
    // The one that can be undone longest was applied last.
    let last = line.snapshot["undoable"].as_array().and_then(|open| open.last());
    let Some(execution) = last.and_then(|last| last["execution"].as_str()).map(str::to_owned) else { return Ok(None) };
    undo_card(line, &execution).map(Some)
}

/// The card with which this work is undone. One that was put away is asked for again.
pub(crate) fn undo_card(line: &mut Line<'_>, execution: &str) -> Result<Card> {
    let is_of_it = |card: &Card| {
        let order = card.payload.as_deref().and_then(|payload| canonical::read::<ChangeOrder>(payload).ok());
        let is_it = order.is_some_and(|order| order.execution.as_str() == execution);
        card.face.kind == CardKind::Done && card.offer.is_some() && is_it
    };
    if let Some(card) = line.all_cards()?.into_iter().find(is_of_it) {
        return Ok(card);
    }
    line.send(&json!({ "type": "way_back", "execution": execution }))?;
    let answer = line.wait_for(|message| message["type"] == "asked")?;
    Ok(serde_json::from_value(answer["card"].clone())?)
}
