//! `silas eval`: what a model can do here. It is given the shipped tasks one by one, each in a Silas that exists for that
//! task only, and a table says what was solved, what was proved, what was asked and what it cost.
//!
//! Nothing of the owner's is read, sent or touched but their configuration and what is left of their caps. The cards are
//! approved by themselves, with keys that belong to those installations and allow nothing anywhere else.

mod choice;
mod judge;
mod owner;
mod purse;
mod table;
mod task;

use crate::home::{self, Home};
use crate::model_commands;
use crate::start;
use crate::terminal::{Line, print_json};
use crate::throwaway::{Place, Server};
use crate::world::SystemClock;
use anyhow::{Context, Result};
use choice::{Choice, ModelArgs};
use clap::Args;
use owner::End;
use purse::Purse;
use serde_json::json;
use silas_core::model::{Period, dollars};
use silas_core::{Clock, Scope, Timestamp};
use silas_store::{Store, model_calls};
use std::fs;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use table::{Row, Sum};
use task::Task;

#[derive(Args)]
pub(crate) struct EvalArgs {
    /// Show the tasks and end.
    #[arg(long)]
    list: bool,
    /// Only this task. May be given more than once.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    #[command(flatten)]
    model: ModelArgs,
    /// Spend at most this many cents, if that is less than what is left of your caps.
    #[arg(long, value_name = "CENTS", value_parser = crate::arguments::cents)]
    cap: Option<u64>,
    /// How long one task may take.
    #[arg(long, value_name = "MINUTES", default_value_t = 15, value_parser = crate::arguments::minutes)]
    minutes: u64,
    /// Print one JSON document at the end instead of a table.
    #[arg(long)]
    json: bool,
    #[arg(long, help = format!("Begin without being asked. {}", model_commands::UNASKED))]
    yes: bool,
}

pub(crate) fn run(args: &EvalArgs, data_dir: Option<PathBuf>, config: Option<&Path>) -> Result<ExitCode> {
    let tasks = task::chosen(&args.only)?;
    if args.list {
        tasks.iter().for_each(|task| println!("{:<19} {}", task.name, task.wish));
        return Ok(ExitCode::SUCCESS);
    }
    let loaded = start::load_config(config)?;
    let home = home::choose(data_dir, &loaded.config)?.canonicalize().ok().map(|path| Home { path });
    let choice = Choice::make(&args.model, &loaded, home.as_ref())?;
    let now = SystemClock.now();
    let purse = Purse::open(&loaded, home.as_ref(), now, args.cap)?;
    introduce(&tasks, &choice, &purse);
    if !args.yes && !model_commands::agrees()? {
        eprintln!("Nothing was sent.");
        return Ok(ExitCode::FAILURE);
    }
    let place = Place::temporary("eval")?;
    let patience = Duration::from_secs(args.minutes * 60);
    let mut eval = Eval { place, choice, purse, patience, cord: Cord::held()?, is_json: args.json, rows: Vec::new() };
    let why = eval.run(&tasks)?;
    let sum = Sum::of(&eval.rows);
    if args.json {
        let models: serde_json::Map<_, _> =
            eval.choice.roles.iter().map(|(role, model)| (role.name().to_owned(), json!(model))).collect();
        print_json(&json!({
            "silas": env!("CARGO_PKG_VERSION"), "date": Period::day(now).as_str(), "models": models,
            "is_whole": why.is_none(), "stopped_because": why, "tasks": eval.rows, "sum": sum,
        }))?;
    } else {
        println!("{}", table::sum(&sum));
        println!(
            "Solved: the shipped check passes. Proven: Silas saw red turn green itself and put the work in place."
        );
    }
    match why {
        None => Ok(ExitCode::SUCCESS),
        Some(why) => {
            eprintln!("Not all tasks were run: {why}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn introduce(tasks: &[Task], choice: &Choice, purse: &Purse) {
    for (role, model) in &choice.roles {
        let place = if model.is_local() { "on this machine" } else { model.host() };
        eprintln!("{:<9} {model} ({place})", role.name());
    }
    eprintln!(
        "{} tasks, each in a Silas of its own that is thrown away. Its cards are approved by themselves, with keys that \
         allow nothing anywhere else. Only the shipped tasks are sent; nothing of yours is read or touched. At most {} is \
         spent; what it comes to is kept apart from your own books and counts for the next eval.",
        tasks.len(),
        dollars(purse.left())
    );
}

struct Eval {
    place: Place,
    choice: Choice,
    purse: Purse,
    patience: Duration,
    cord: Cord,
    is_json: bool,
    rows: Vec<Row>,
}

impl Eval {
    /// All tasks in their order; why not, if it ended before.
    fn run(&mut self, tasks: &[Task]) -> Result<Option<&'static str>> {
        if !self.is_json {
            println!("{}", table::head());
        }
        for task in tasks {
            if self.cord.is_pulled() {
                return Ok(Some("interrupted."));
            }
            if self.purse.left_cents() == 0 {
                return Ok(Some("the spending cap is reached."));
            }
            let row = self.attempt(task)?;
            if self.is_json {
                eprintln!("{}", table::row(&row));
            } else {
                println!("{}", table::row(&row));
            }
            let is_over_cap = row.end == table::name(End::OverCap);
            self.rows.push(row);
            if is_over_cap {
                return Ok(Some("the spending cap is reached."));
            }
        }
        Ok(self.cord.is_pulled().then_some("interrupted."))
    }

    fn attempt(&mut self, task: &Task) -> Result<Row> {
        let dir = self.place.path.join(task.name);
        let repository = dir.join("repository");
        task.write(&repository).with_context(|| format!("{} cannot be written.", dir.display()))?;
        let home = Home { path: dir.join("data") };
        let mut variables = self.choice.variables.clone();
        let cents = self.purse.left_cents().to_string();
        variables.push(("SILAS__MODELS__DAILY_CAP_CENTS".to_owned(), cents.clone()));
        variables.push(("SILAS__MODELS__MONTHLY_CAP_CENTS".to_owned(), cents));
        // What is measured is one plan, and nobody is there to decide about another.
        variables.push(("SILAS__MODELS__REPLANS_MAX".to_owned(), "0".to_owned()));
        let server = Server::start(&home, &variables)?;
        let mut line = Line::open(&home)?;
        let seen = owner::prepare(&mut line, &self.choice.grants)?;
        self.cord.tie(line.cord()?);
        let started = Instant::now();
        let played = owner::play(&home, &mut line, seen, &task.said(&repository), started + self.patience)?;
        let took = started.elapsed();
        drop((line, server));
        let store = Store::open_read_only(&home.store())?;
        // All of them: this Silas was made for this task.
        let totals = store.read(|tx| model_calls::totals(tx, &Scope::Owner, Timestamp::EPOCH)).wait()?;
        drop(store);
        self.purse.spend(totals.microusd)?;
        let solved = judge::is_solved(task, &repository, &home)?;
        fs::remove_dir_all(&dir).with_context(|| format!("{} cannot be removed.", dir.display()))?;
        Ok(Row {
            task: task.name,
            solved,
            proven: played.is_proven,
            cards: played.n_cards,
            questions: totals.calls,
            input_tokens: totals.input_tokens,
            output_tokens: totals.output_tokens,
            microusd: totals.microusd,
            millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            end: if self.cord.is_pulled() { "interrupted" } else { table::name(played.end) },
            note: played.last,
        })
    }
}

/// Ctrl-C pulls it: the task that is under way ends, and what was found so far is told.
struct Cord(Arc<Mutex<Pulled>>);

#[derive(Default)]
struct Pulled {
    is_pulled: bool,
    line: Option<UnixStream>,
}

impl Cord {
    fn held() -> Result<Cord> {
        let shared = Arc::new(Mutex::new(Pulled::default()));
        let other = shared.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                if tokio::signal::ctrl_c().await.is_ok() {
                    let mut pulled = other.lock().unwrap_or_else(PoisonError::into_inner);
                    pulled.is_pulled = true;
                    hang_up(pulled.line.take());
                }
            });
        });
        Ok(Cord(shared))
    }

    fn tie(&self, line: UnixStream) {
        let mut pulled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pulled.is_pulled { hang_up(Some(line)) } else { pulled.line = Some(line) }
    }

    fn is_pulled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_pulled
    }
}

fn hang_up(line: Option<UnixStream>) {
    // A line that is gone already is as good as one that is hung up.
    let _gone = line.map(|line| line.shutdown(Shutdown::Both));
}
