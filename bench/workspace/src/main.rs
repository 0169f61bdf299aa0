//! What a private copy costs on this machine, made as a layer and made whole, beside `cp -r` of the same directory; then
//! one check, and an apply and an undo of a tenth of the files. All in one run.
//!
//! Prints numbers and judges none; machines differ, and the same one differs from hour to hour.

mod approved;

use anyhow::{Context, Result, ensure};
use silas_core::event::Phase;
use silas_sandbox::Copies;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Files and bytes in each, if nothing else is asked for.
const FILES: usize = 5_000;
const FILE_BYTES: usize = 20_000;
const PER_DIR: usize = 100;

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>().context("a number"));
    let n_files = numbers.next().unwrap_or(Ok(FILES))?;
    let file_bytes = numbers.next().unwrap_or(Ok(FILE_BYTES))?;
    let dir = tempfile::tempdir()?;
    let place = dir.path().canonicalize()?;
    let project = place.join("project");
    fill(&project, n_files, file_bytes)?;
    println!("{n_files} files, {} MB", n_files * file_bytes / 1_000_000);
    println!("{:<34} {:>9} {:>14}", "", "seconds", "bytes written");

    let copy = place.join("cp");
    let took = timed(|| -> Result<()> {
        let status = Command::new("cp").arg("-r").arg(&project).arg(&copy).status()?;
        ensure!(status.success(), "cp: {status}");
        Ok(())
    })?;
    line("cp -r", took, Some(written(&copy)?));
    std::fs::remove_dir_all(&copy)?;
    for (name, copies) in [("layered", Copies::Auto), ("whole", Copies::Whole)] {
        measure(name, &place, &project, copies, n_files)?;
    }
    Ok(())
}

fn measure(name: &str, place: &Path, project: &Path, copies: Copies, n_files: usize) -> Result<()> {
    let data = place.join(name);
    let launcher = approved::launcher(&data, copies)?;
    let script = format!("for f in dir-*/file-*7.txt; do echo {name} > $f; done");
    let plan = approved::plan(project, &script, &tap(&format!("grep -q {name} dir-0/file-7.txt")))?;
    let evidence = approved::approve(&plan)?;
    let mut workshop = launcher.open(&evidence)?;
    let started = Instant::now();
    let copied = workshop.copy()?;
    if copies == Copies::Auto && copied.layered == 0 {
        println!("no layer can be mounted here");
        return Ok(());
    }
    line(&format!("{name}: make the copy"), started.elapsed(), Some(written(&data.join("launcher/work"))?));
    line(&format!("{name}: one check"), timed(|| workshop.checks(Phase::Before))?, None);
    workshop.step(0)?;
    workshop.checks(Phase::After)?;
    let started = Instant::now();
    let applied = workshop.apply()?;
    ensure!(applied.files as usize == n_files / 10, "{applied:?}");
    line(&format!("{name}: apply {} files", applied.files), started.elapsed(), None);
    let undo = approved::approve_undo(&evidence.execution, applied.changeset)?;
    line(&format!("{name}: undo them"), timed(|| launcher.undo(&undo))?, None);
    Ok(())
}

fn fill(project: &Path, n_files: usize, file_bytes: usize) -> Result<()> {
    for n in 0..n_files {
        let dir = project.join(format!("dir-{}", n / PER_DIR));
        if n % PER_DIR == 0 {
            std::fs::create_dir_all(&dir)?;
        }
        std::fs::write(dir.join(format!("file-{n}.txt")), format!("{n:010}").repeat(file_bytes / 10))?;
    }
    Ok(())
}

fn timed<T, E: Into<anyhow::Error>>(once: impl FnOnce() -> Result<T, E>) -> Result<Duration> {
    let started = Instant::now();
    once().map_err(Into::into)?;
    Ok(started.elapsed())
}

fn line(what: &str, took: Duration, bytes: Option<u64>) {
    let bytes = bytes.map_or_else(String::new, |bytes| bytes.to_string());
    println!("{what:<34} {:>9.2} {bytes:>14}", took.as_secs_f64());
}

/// Disk space that a tree takes. What the kernel keeps for itself in a layer may not be looked into; it is empty.
fn written(dir: &Path) -> Result<u64> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Ok(0) };
    let mut total = 0;
    for entry in entries {
        let path = entry?.path();
        let status = std::fs::symlink_metadata(&path)?;
        total += status.blocks() * 512;
        if status.is_dir() {
            total += written(&path)?;
        }
    }
    Ok(total)
}

/// Only tests that are counted are applied without a further question.
fn tap(command: &str) -> String {
    format!("echo 1..1; if {command}; then echo ok 1; else echo not ok 1; exit 1; fi")
}
