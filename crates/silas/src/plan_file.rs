//! `silas plan check|show|submit`: reads a plan as the runtime would, and runs nothing. Submitting one is saying it: a message
//! like any other, signed with the terminal's key, and Silas asks before anything runs.

use crate::exit::Unreadable;
use crate::home::Home;
use crate::terminal::quoted;
use crate::{Command, named_file, terminal};
use anyhow::Result;
use silas_core::hidden;
use silas_core::message::MESSAGE_BYTES_MAX;
use silas_core::number::grouped;
use silas_core::plan;
use silas_core::work::WorkItem;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn check(file: &Path) -> Result<ExitCode> {
    Ok(match read(file)? {
        Ok(item) => {
            println!("{}: a sound plan, {}.", file.display(), hidden::quotation(&item.definition().title));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{}: {problem}", file.display());
            ExitCode::FAILURE
        }
    })
}

pub(crate) fn show(file: &Path) -> Result<ExitCode> {
    let item = match read(file)? {
        Ok(item) => item,
        Err(problem) => {
            eprintln!("{}: {problem}", file.display());
            return Ok(ExitCode::FAILURE);
        }
    };
    let d = item.definition();
    let row = |label: &str, text: &str| quoted::print(&format!("  {label:<10} "), 13, text);
    println!("{}", hidden::quotation(&d.title));
    for directory in &d.directories {
        row("may use", &format!("{} ({:?})", hidden::name(&directory.path), directory.access));
    }
    for step in &d.steps {
        row("runs", &step.run.words());
        if let Some(cwd) = &step.cwd {
            row("", &format!("in {}", hidden::name(cwd)));
        }
    }
    for check in &d.verify {
        let open = if check.protected { "" } else { ", the work may change it" };
        row("done when", &format!("{} ({}{open})", check.run.words(), hidden::quotation(&check.name)));
    }
    println!("  stops at   {} s", d.budget.max_wall_time_seconds);
    println!("  plan hash  {}", item.plan_hash()?);
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn submit(home: &Home, file: &Path) -> Result<ExitCode> {
    if let Err(problem) = read(file)? {
        eprintln!("{}: {problem}", file.display());
        return Ok(ExitCode::FAILURE);
    }
    let bytes = named_file::read(file, plan::PLAN_BYTES_MAX as u64).map_err(|cause| Unreadable::new(file, &cause))?;
    // A plan that can be read is text.
    let text = String::from_utf8(bytes)?;
    if text.len() > MESSAGE_BYTES_MAX {
        anyhow::bail!(
            "{}: a plan that is submitted is at most {} bytes long.",
            file.display(),
            grouped(MESSAGE_BYTES_MAX)
        );
    }
    terminal::run(home, Command::Say(terminal::SayArgs::of(text)))
}

/// One byte more than allowed is read, so that a huge file is refused without being loaded.
fn read(file: &Path) -> Result<Result<WorkItem, plan::PlanError>> {
    let mut bytes = Vec::new();
    let unreadable = |cause: std::io::Error| Unreadable::new(file, &cause);
    let opened = named_file::open(file).map_err(unreadable)?;
    opened.take(plan::PLAN_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(plan::parse(&bytes))
}
