//! `silas plan check|show`: reads a plan as the runtime would, and runs nothing.

use anyhow::{Context, Result};
use silas_core::plan;
use silas_core::work::WorkItem;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn check(file: &Path) -> Result<ExitCode> {
    Ok(match read(file)? {
        Ok(item) => {
            println!("{}: a sound plan, \"{}\".", file.display(), item.definition().title);
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
    println!("{}", d.title);
    for directory in &d.directories {
        println!("  may use    {} ({:?})", directory.path, directory.access);
    }
    for step in &d.steps {
        println!("  runs       {}", step.run.words());
    }
    for check in &d.verify {
        let open = if check.protected { "" } else { ", the work may change it" };
        println!("  done when  {} ({}{open})", check.run.words(), check.name);
    }
    println!("  stops at   {} s", d.budget.max_wall_time_seconds);
    println!("  plan hash  {}", item.plan_hash()?);
    Ok(ExitCode::SUCCESS)
}

/// One byte more than allowed is read, so that a huge file is refused without being loaded.
fn read(file: &Path) -> Result<Result<WorkItem, plan::PlanError>> {
    let mut bytes = Vec::new();
    File::open(file)
        .with_context(|| format!("{} cannot be opened.", file.display()))?
        .take(plan::PLAN_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(plan::parse(&bytes))
}
