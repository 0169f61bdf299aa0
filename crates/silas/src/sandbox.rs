//! `silas sandbox`: one command, run exactly as an agent's would be, signed on the spot by the terminal's key.
//!
//! It forks a launcher of its own in its first lines, so it needs no running server and disturbs none. What it may not do:
//! change the owner's files. `--write` works in a private copy, and what the command changed there is told and thrown away;
//! only a plan, with its checks and its card, gets changes into place.

mod explain;
mod grants;
mod noted;
mod pump;

use crate::config;
use crate::passphrase;
use crate::start;
use crate::world::{OsRandom, SystemClock};
use anyhow::Result;
use clap::Args;
use explain::Explanation;
use grants::Problem;
use pump::{Passed, Pump};
use silas_core::check::Ended;
use silas_core::command_run::CommandRun;
use silas_core::envelope::{Envelope, Life};
use silas_core::evidence::Evidence;
use silas_core::host::HostGrant;
use silas_core::key_service::Protection;
use silas_core::token::{Kind, Offer, Strength, Token, Verdict};
use silas_core::{Clock, Digest, ExecutionId, Nonce};
use silas_sandbox::{Error, Finished, Launcher};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, pipe};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args)]
pub(crate) struct SandboxArgs {
    /// A directory that the command may read. May be given more than once.
    #[arg(long, value_name = "DIR")]
    read: Vec<PathBuf>,
    /// A directory of which the command gets a private copy to change. What it changed is told; your files stay as they are.
    #[arg(long, value_name = "DIR")]
    write: Vec<PathBuf>,
    /// A host and port that the command may reach, such as example.org:443. Nothing else can be reached.
    #[arg(long, value_name = "HOST:PORT", value_parser = host)]
    host: Vec<HostGrant>,
    /// A limit: time=30s, cpu=60s, memory=512M, processes=64, output=1M, file=1G.
    #[arg(long, value_name = "WHAT=HOW-MUCH")]
    limit: Vec<String>,
    /// A variable of the command's environment, which has only PATH and HOME otherwise.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Where the command starts; by default the first directory that was granted.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Say what is allowed before the run, and what was refused after it.
    #[arg(long)]
    explain: bool,
    /// Pass what you type on, and let the command stay as long as you do.
    #[arg(long)]
    interactive: bool,
    /// Give the command a home that is there again the next time, under this name.
    #[arg(long, value_name = "STATE")]
    keep: Option<String>,
    /// Without tools of your home such as cargo, pyenv or nvm.
    #[arg(long)]
    no_tools: bool,
    /// Run this text with python3 instead of a command.
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    python: Option<String>,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn host(text: &str) -> Result<HostGrant, String> {
    HostGrant::parse(text).map_err(|e| e.to_string())
}

/// The command could not be run at all; its own codes are below.
const NOT_RUN: u8 = 125;
/// It ran, and it cannot be told what it changed. Its own code stands in the sentence.
const UNTOLD: u8 = NOT_RUN;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
const TIMED_OUT: u8 = 124;

pub(crate) fn run(args: &SandboxArgs, data_dir: Option<PathBuf>, config: Option<&Path>) -> Result<ExitCode> {
    // Before configuration and keys: the launcher must have nothing of theirs.
    let launcher = match Launcher::fork(silas_approval::keys::helper, Arc::new(SystemClock)) {
        Ok(launcher) => launcher,
        Err(error) => return Ok(say(&Problem::from(error))),
    };
    silas_sandbox::end_when_nobody_reads();
    let (ready, config) = start::ready_for_command(&launcher, data_dir, config)?;
    match attempt(args, &launcher, &ready, &config) {
        Ok(code) => Ok(ExitCode::from(code)),
        Err(problem) => Ok(say(&problem)),
    }
}

fn say(problem: &Problem) -> ExitCode {
    eprintln!("silas: {} ({})", problem.sentence, problem.code);
    ExitCode::from(problem.exit_code)
}

fn attempt(
    args: &SandboxArgs,
    launcher: &Launcher,
    ready: &start::Ready,
    config: &config::Sandbox,
) -> Result<u8, Problem> {
    let envelope = grants::envelope(args, launcher, &ready.home.path, config)?;
    grants::lead_elsewhere(&envelope.sandbox_config.hosts, &ready.own_ports)?;
    if args.explain {
        eprint!("{}", Explanation::before(&envelope));
    }
    let evidence = signed(&envelope, launcher, ready)?;
    let ran = carry_out(args, &envelope, &evidence, launcher);
    noted::note(ready, &evidence, ran.as_ref().map_or_else(|problem| problem.code.clone(), outcome));
    let (finished, passed) = ran?;
    report(args, &envelope, &finished, &passed);
    Ok(if finished.untold.is_some() { UNTOLD } else { exit_code(&finished.ended) })
}

/// For the ledger.
fn outcome((finished, _): &(Finished, Passed)) -> String {
    match &finished.untold {
        None => CommandRun::outcome_of(&finished.ended),
        Some(why) => CommandRun::outcome_untold(&finished.ended, why.code()),
    }
}

fn carry_out(
    args: &SandboxArgs,
    envelope: &Envelope,
    evidence: &Evidence,
    launcher: &Launcher,
) -> Result<(Finished, Passed), Problem> {
    let hand = launcher.begin(evidence)?;
    let plumbing = |e: std::io::Error| Problem::new("E_SANDBOX_IO", format!("A pipe cannot be made: {e}."));
    let (stdin, typed) = pipe().map_err(plumbing)?;
    let (printed, stdout) = pipe().map_err(plumbing)?;
    let (complained, stderr) = pipe().map_err(plumbing)?;
    hand.start(stdin.as_fd(), stdout.as_fd(), stderr.as_fd())?;
    // Ours of the program's ends: while one is open, the other side never hears the end.
    drop((stdin, stdout, stderr));
    let max = match envelope.life {
        Life::Run => Some(envelope.max_output_bytes),
        Life::Serve => None,
    };
    let pump = Pump::start(args.interactive.then_some(typed), printed, complained, max);
    let finished = hand.wait();
    let passed = pump.drain();
    Ok((finished?, passed))
}

/// The owner typed this command; the terminal's key says so, for these bytes, once, and for a minute.
fn signed(envelope: &Envelope, launcher: &Launcher, ready: &start::Ready) -> Result<Evidence, Problem> {
    let unreadable =
        |e: silas_core::canonical::Error| Problem::new("E_SANDBOX_SPEC", format!("The command cannot be signed: {e}."));
    let payload = envelope.canonical().map_err(unreadable)?;
    let (hash, now) = (Digest::of(payload.as_bytes()), SystemClock.now());
    let offer = Offer {
        v: Offer::VERSION,
        kind: Kind::Step,
        scope: Kind::Step.scope(),
        installation: ready.anchor.installation.clone(),
        epoch: ready.anchor.epoch,
        work_item_id: "silas sandbox".to_owned(),
        plan_hash: hash,
        // What was shown is the command line itself.
        shown: hash,
        nonce: Nonce::new(&OsRandom),
        issued_at: now,
        expires_at: now.plus(silas_core::envelope::SIGNED_FOR),
        max_executions: 1,
        approval_strength: Strength::Tap,
        conditions: BTreeMap::new(),
    };
    let body = offer.answered(ready.terminal.body.key.clone(), Verdict::Approved);
    let passphrase = match ready.protection {
        Protection::Passphrase => passphrase::Asked::default().get(),
        Protection::Permissions | Protection::Keyring => None,
    };
    let signature = launcher.sign_step(&body, passphrase.as_ref())?;
    let token = Token { body, signature };
    let execution = ExecutionId::derive(&token.id().map_err(unreadable)?, 0);
    Ok(Evidence { token, certificate: ready.terminal.clone(), payload, execution, roots: Vec::new(), plan: None })
}

fn report(args: &SandboxArgs, envelope: &Envelope, finished: &Finished, passed: &Passed) {
    // Whatever was printed comes first.
    let _nobody_reads = std::io::stdout().flush();
    // What Silas says begins a line of its own.
    if passed.is_within_a_line && std::io::stderr().is_terminal() {
        eprintln!();
    }
    if args.explain {
        eprint!("{}", Explanation::after(envelope, finished, passed));
        return;
    }
    for sentence in Explanation::unusual(envelope, finished, passed) {
        eprintln!("silas: {sentence}");
    }
    if std::io::stderr().is_terminal() || !envelope.sandbox_config.filesystem_write.is_empty() {
        eprint!("{}", Explanation::changes(finished));
    }
}

fn exit_code(ended: &Ended) -> u8 {
    match ended {
        Ended::Exited(code) => u8::try_from(*code).unwrap_or(NOT_RUN),
        Ended::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(NOT_RUN),
        Ended::TimedOut { .. } => TIMED_OUT,
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let exit_code = match error.code() {
            "E_SANDBOX_PROGRAM" if error.to_string().contains("No such file") => NOT_FOUND,
            "E_SANDBOX_PROGRAM" => NOT_EXECUTABLE,
            _ => NOT_RUN,
        };
        Problem { code: error.code().to_owned(), sentence: error.to_string(), exit_code }
    }
}
