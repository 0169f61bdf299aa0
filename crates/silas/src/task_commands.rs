//! `silas task`: the owner's tasks from the terminal.
//!
//! A change is a message like any other, in words that reflex reads as exactly one call, signed with the terminal's key.
//! Nothing is written from here.

use crate::home::Home;
use crate::terminal::{Line, Named, came_of, name_of, print_json, with_name};
use anyhow::{Result, bail};
use clap::Subcommand;
use serde_json::json;
use silas_core::message::CameOf;
use silas_core::reflex::{self, Decision};
use silas_core::task::TaskState;
use silas_runtime::view::TaskView;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum TaskCommand {
    /// Add a task.
    Add {
        #[arg(required = true, value_name = "TITLE")]
        title: Vec<String>,
    },
    /// List the open tasks, each with its name.
    List {
        /// Everything as JSON, finished tasks too.
        #[arg(long)]
        json: bool,
    },
    /// Mark a task as done.
    Done {
        /// Its name in `silas task list`, five letters, or its id.
        #[arg(value_name = "TASK")]
        task: String,
    },
}

const TASK: Named = Named { noun: "task", list: "silas task list" };

pub(crate) fn run(home: &Home, command: TaskCommand) -> Result<ExitCode> {
    let mut line = Line::open(home)?;
    match command {
        TaskCommand::Add { title } => add(&mut line, title.join(" ").trim()),
        TaskCommand::List { json } => list(&mut line, json),
        TaskCommand::Done { task } => done(&mut line, &task),
    }
}

fn add(line: &mut Line<'_>, title: &str) -> Result<ExitCode> {
    let words = format!("add task {}", reflex::quote(title));
    // What is signed must say exactly this, or nothing is signed.
    if reflex::decide(&words) != (Decision::AddTask { title: title.to_owned() }) {
        bail!("A task is one line of text. Nothing was added.");
    }
    instruct(line, &words)
}

fn list(line: &mut Line<'_>, as_json: bool) -> Result<ExitCode> {
    let tasks = tasks(line)?;
    if as_json {
        print_json(&tasks.iter().map(|task| with_name(task, task.id.as_str())).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let open: Vec<&TaskView> = tasks.iter().filter(|task| task.state == TaskState::Open).collect();
    if open.is_empty() {
        println!("No open tasks. Add one with `silas task add TITLE`.");
    }
    for task in open {
        println!("{}  {}", name_of(task.id.as_str()), task.title);
    }
    Ok(ExitCode::SUCCESS)
}

fn done(line: &mut Line<'_>, said: &str) -> Result<ExitCode> {
    let known = tasks(line)?;
    let task = TASK.find(&known, |task| task.id.as_str(), said)?;
    if task.state == TaskState::Done {
        bail!("“{}” is done already.", task.title);
    }
    // By its title, as a person would say it; by its id where two are called the same, because a signature names one.
    let id = task.id.clone();
    let is_same = |other: &&TaskView| other.title.trim().to_lowercase() == task.title.trim().to_lowercase();
    let by_title = format!("done with {}", reflex::quote(&task.title));
    let is_plain = known.iter().filter(is_same).count() == 1
        && reflex::decide(&by_title) == (Decision::CompleteTask { task: task.title.clone() });
    let words = if is_plain { by_title } else { format!("done with {}", reflex::quote(id.as_str())) };
    instruct(line, &words)
}

/// Only what has happened is a success.
fn instruct(line: &mut Line<'_>, words: &str) -> Result<ExitCode> {
    let answer = line.ask(words, |_| {})?;
    println!("{}", answer["text"].as_str().unwrap_or_default());
    Ok(if came_of(&answer) == CameOf::Done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tasks(line: &mut Line<'_>) -> Result<Vec<TaskView>> {
    line.send(&json!({ "type": "tasks" }))?;
    let answer = line.wait_for(|message| message["type"] == "tasks")?;
    Ok(serde_json::from_value(answer["tasks"].clone())?)
}
