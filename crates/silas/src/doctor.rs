//! `silas doctor`: a list of probes, each with what was found and what to do. It looks, and repairs nothing unless it is
//! asked to with `--fix`.

mod isolation;
mod mend;

use crate::certificates::Place;
use crate::exit::sentences;
use crate::home::Home;
use crate::wall_clock::minute;
use crate::world::SystemClock;
use crate::{known_head, room, same_silas, server_key, start};
use anyhow::{Result, anyhow};
use clap::Args;
use silas_core::Clock;
use silas_core::key_service::Protection;
use silas_core::probe::{Probe, State};
use silas_store::audit::Keeper;
use silas_store::probes::{self, Sizes};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Everything as JSON.
    #[arg(long)]
    json: bool,
    /// Mend what can be mended first, saying each thing before it is done. Some of it needs root.
    #[arg(long, conflicts_with = "json")]
    fix: bool,
}

/// Growth between two looks that is worth a word.
const GROWTH_BYTES: u64 = 256 << 20;

/// Exit code 1 if anything is bad; a warning alone is none.
pub(crate) fn run(args: &DoctorArgs, data_dir: Option<PathBuf>, config: Option<&Path>) -> Result<ExitCode> {
    let loaded = start::load_config(config)?;
    let path = crate::home::choose(data_dir, &loaded.config)?;
    if args.fix {
        mend::mend(&open_to_others(&path))?;
    }
    let mut found = Vec::new();
    // First of all, while this process has one thread.
    found.extend(isolation::probes(&path).unwrap_or_else(|cause| {
        vec![Probe::bad(
            "Sandbox",
            format!("It could not be tried: {}", sentences(&cause)),
            "Make room, or check permissions.",
        )]
    }));
    match path.canonicalize() {
        Ok(path) if (Home { path: path.clone() }).is_unused() => found.push(Probe::warning(
            "Data directory",
            format!("Silas was never started on {}: there are no keys and no data.", path.display()),
            format!("Start Silas once with `{}`. Nothing is lost and nothing has to be restored.", same_silas::start()),
        )),
        Ok(path) => found.extend(installation(&Home { path })),
        Err(_) => found.push(Probe::warning(
            "Data directory",
            format!("There is none at {}.", path.display()),
            format!("Start Silas once with `{}`.", same_silas::start()),
        )),
    }
    let is_bad = found.iter().any(|probe| probe.state == State::Bad);
    if args.json {
        verbatim!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print(&found);
    }
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(found: &[Probe]) {
    for probe in found {
        let mark = match probe.state {
            State::Good => "✓",
            State::Warning => "!",
            State::Bad => "✗",
        };
        println!("{mark} {:<18} {}", probe.name, probe.sentence);
        if let Some(fix) = &probe.fix {
            println!("  {:<18} {fix}", "");
        }
    }
    let n = |state| found.iter().filter(|probe| probe.state == state).count();
    println!("\n{} good, {} to know, {} bad.", n(State::Good), n(State::Warning), n(State::Bad));
}

fn installation(home: &Home) -> Vec<Probe> {
    let mut found = vec![permissions(home), keys(home), vault(home), server(home)];
    found.push(room(home).unwrap_or_else(|e| Probe::bad("Room", sentences(&e), "Look at the data directory.")));
    found.extend(disk(home));
    found.extend(certificate(home));
    match keeper(home) {
        Ok(keeper) => found.extend(probes::probes(&home.store(), &keeper, SystemClock.now())),
        Err(cause) => found.push(Probe::bad("Ledger", sentences(&cause), "Restore a backup with `silas restore`.")),
    }
    found.push(match known_head::follow(home) {
        Ok(()) => Probe::good("History", "The ledger continues what this account has seen of it."),
        Err(cause) => Probe::bad("History", sentences(&cause), "Keep everything as it is until you know why."),
    });
    found
}

fn keeper(home: &Home) -> Result<Keeper> {
    Ok(server_key::keeper(home)?.0)
}

/// The one that `silas tls make` made, if it did.
fn certificate(home: &Home) -> Option<Probe> {
    const NAME: &str = "Certificate";
    let place = Place::of(&home.path);
    if !place.exists() {
        return None;
    }
    Some(match place.ends() {
        Ok((_, ends)) if ends < SystemClock.now() => Probe::bad(
            NAME,
            format!("It was good until {}.", minute(ends)),
            "Start Silas again, or run `silas tls renew`.",
        ),
        Ok((_, ends)) => {
            Probe::good(NAME, format!("Good until {}; the first start in its last month renews it.", minute(ends)))
        }
        Err(cause) => Probe::bad(NAME, sentences(&cause), "Make a new one with `silas tls make NAME --replace`."),
    })
}

/// Nobody else may enter any part of it.
fn permissions(home: &Home) -> Probe {
    const NAME: &str = "Data directory";
    match open_to_others(&home.path).first() {
        None => Probe::good(NAME, format!("{} is yours alone.", home.path.display())),
        Some(open) => Probe::bad(
            NAME,
            format!("Others can get at {}.", open.display()),
            format!("Run `silas doctor --fix`, or `chmod -R go-rwx {}`.", home.path.display()),
        ),
    }
}

fn open_to_others(data_dir: &Path) -> Vec<PathBuf> {
    let parts = ["", "store", "run", "keys", "launcher", "tls"];
    let files = [
        "keys/root.key",
        "keys/terminal.key",
        "keys/lock.json",
        "store/server.key",
        "store/vault",
        "store/vault/lock.json",
        "store/agent.sqlite",
        "store/db.sqlite",
    ];
    let all = parts.into_iter().chain(files).map(|part| data_dir.join(part));
    all.filter(|path| fs::metadata(path).is_ok_and(|it| it.mode() & 0o077 != 0)).collect()
}

fn keys(home: &Home) -> Probe {
    const NAME: &str = "Keys";
    let sound = home.installation().and_then(|_| crate::key_commands::protection(home));
    match sound {
        Ok(Protection::Permissions) => Probe::warning(
            NAME,
            "Protected by file permissions only.",
            "Whatever runs as you can use them. Set a passphrase with `silas key passphrase`, or keep the disk encrypted.",
        ),
        Ok(kept @ (Protection::Keyring | Protection::Passphrase)) => Probe::good(NAME, format!("They are {kept}.")),
        Err(cause) => Probe::bad(NAME, sentences(&cause), "Restore a backup with `silas restore`."),
    }
}

/// Looks at the lock only: whether values can be read is the passphrase's or the keyring's to say.
fn vault(home: &Home) -> Probe {
    const NAME: &str = "Vault";
    match silas_approval::vault::protection(&home.vault()) {
        Ok(Protection::Permissions) => Probe::warning(
            NAME,
            "Secrets are protected by file permissions only.",
            "Set a passphrase with `silas key passphrase`, or keep the disk encrypted.",
        ),
        Ok(kept) => Probe::good(NAME, format!("Secrets are {kept}.")),
        Err(cause) => Probe::bad(NAME, cause.to_string(), "Restore a backup with `silas restore`."),
    }
}

/// Whether it runs, and whether it is confined, as the kernel says and not as it says itself.
fn server(home: &Home) -> Probe {
    const NAME: &str = "Server";
    if home.lock().is_ok() {
        return Probe::good(NAME, "It does not run.");
    }
    match front_of(home).and_then(confinement) {
        Ok(true) => Probe::good(NAME, "It runs, and may neither start programs nor touch your files."),
        Ok(false) => Probe::bad(
            NAME,
            "It runs without its confinement.",
            format!("Stop it, and start it again with `{}`.", same_silas::start()),
        ),
        Err(cause) => Probe::bad(
            NAME,
            format!("It runs but does not answer. {}", sentences(&cause)),
            "Stop it and start it again.",
        ),
    }
}

/// The process behind the control socket.
fn front_of(home: &Home) -> Result<i32> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let peer = runtime.block_on(async {
        let socket = tokio::net::UnixStream::connect(silas_web::control::path(&home.path)).await?;
        socket.peer_cred()
    })?;
    peer.pid().ok_or_else(|| anyhow!("the system does not say who is there"))
}

/// The file rules do not show from outside; they are put in force before the filter, and without either it does not start.
fn confinement(pid: i32) -> Result<bool> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let says = |name: &str, value: &str| {
        status.lines().any(|line| line.split_once(':').is_some_and(|(n, v)| n == name && v.trim() == value))
    };
    Ok(says("NoNewPrivs", "1") && says("Seccomp", "2"))
}

/// What is left on the disk of the data directory.
fn disk(home: &Home) -> Option<Probe> {
    const NAME: &str = "Disk";
    let free = room::free_bytes(&home.path)?;
    let sentence = format!("{} are free where {} lies.", room::in_words(free), home.path.display());
    let fix = "Make room there: without it nothing can be written down, and what cannot be written down is not done.";
    Some(match free {
        0..room::BAD_BYTES => Probe::bad(NAME, format!("The disk is full: {sentence}"), fix),
        room::BAD_BYTES..room::LOW_BYTES => Probe::warning(NAME, sentence, fix),
        _ => Probe::good(NAME, sentence),
    })
}

/// How much there is, and how much more than the last time. Remembers it for the next.
fn room(home: &Home) -> Result<Probe> {
    const NAME: &str = "Room";
    let now = probes::sizes(&home.store());
    let last: Option<Sizes> = known_head::exchange_note(&home.installation()?, "sizes", &now)?;
    let total = now.agent_bytes + now.human_bytes;
    let grown = last.map_or(0, |last| total.saturating_sub(last.agent_bytes + last.human_bytes));
    let sentence =
        format!("{} of memory and ledger, {} of tasks", megabytes(now.agent_bytes), megabytes(now.human_bytes));
    Ok(match grown {
        0..GROWTH_BYTES => Probe::good(NAME, format!("{sentence}; {} more than last time.", megabytes(grown))),
        _ => Probe::warning(
            NAME,
            format!("{sentence}; {} more than last time.", megabytes(grown)),
            "Lower `retention.chronicle_days`, or see in Activity what is so busy.",
        ),
    })
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}
