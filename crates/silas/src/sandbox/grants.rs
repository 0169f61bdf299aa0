//! From the command line to the envelope that is signed, or to a sentence that says what is wrong with it.

use super::{NOT_RUN, SandboxArgs};
use crate::{config, own, start};
use silas_core::check::Command;
use silas_core::envelope::{Envelope, EnvelopeKind, Executor, Life, SandboxConfig};
use silas_core::host::HostGrant;
use silas_core::roots::{self, Place};
use silas_sandbox::Launcher;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Why nothing ran: a stable code, a sentence, and the exit code that a script sees.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) code: String,
    pub(super) sentence: String,
    pub(super) exit_code: u8,
}

impl Problem {
    pub(super) fn new(code: &str, sentence: impl Into<String>) -> Self {
        Problem { code: code.to_owned(), sentence: sentence.into(), exit_code: NOT_RUN }
    }
}

/// Bytes of output, for each stream, that are shown if nothing else is said: ten times what fits a screen's memory.
const OUTPUT_BYTES: u64 = 8 << 20;

pub(super) fn envelope(
    args: &SandboxArgs,
    launcher: &Launcher,
    data_dir: &Path,
    config: &config::Sandbox,
) -> Result<Envelope, Problem> {
    let command = match &args.python {
        Some(text) => Command::python(text),
        None => Command::Argv(args.command.clone()),
    };
    if command.argv().is_empty() {
        return Err(Problem::new(
            "E_SANDBOX_SPEC",
            "There is no command. Write it after `--`, as in: silas sandbox -- ls",
        ));
    }
    let own = own::with(data_dir);
    let place = |path: &std::path::PathBuf| grant(path, &own);
    let reads: Vec<Place> = args.read.iter().map(place).collect::<Result<_, _>>()?;
    let writes: Vec<Place> = args.write.iter().map(place).collect::<Result<_, _>>()?;
    let first = writes.first().or(reads.first()).map(|place| place.path.clone());
    let work_dir = match &args.cwd {
        Some(cwd) => Some(inside(cwd, writes.iter().chain(&reads))?),
        None => first.clone(),
    };
    let toolchains = match args.no_tools {
        true => Vec::new(),
        false => launcher.toolchains(first.as_deref().map(Path::new))?,
    };
    let limits = start::limits(config);
    let mut envelope = Envelope {
        kind: EnvelopeKind::Step,
        step_index: 0,
        task_description: command.words(),
        action: Executor::of(&command),
        args: command,
        life: if args.interactive { Life::Serve } else { Life::Run },
        timeout_seconds: config.default_timeout_seconds,
        max_output_bytes: OUTPUT_BYTES,
        sandbox_config: SandboxConfig {
            work_dir,
            filesystem_read: reads,
            filesystem_write: writes,
            hosts: args.host.clone(),
            toolchains,
            max_memory_mb: limits.memory_bytes_max >> 20,
            max_cpu_seconds: limits.cpu_secs_max,
            max_processes: limits.processes_max,
            max_file_mb: limits.file_bytes_max >> 20,
            env: variables(&args.env)?,
            state: args.keep.clone(),
        },
    };
    for limit in &args.limit {
        set_limit(&mut envelope, limit)?;
    }
    envelope.check().map_err(|why| Problem::new("E_SANDBOX_LIMIT", format!("Nothing was run: {why}.")))?;
    Ok(envelope)
}

/// A directory as it is on disk now, if it may be granted at all.
fn grant(path: &Path, own: &[std::path::PathBuf]) -> Result<Place, Problem> {
    let refuse = |why: &str| Problem::new("E_SANDBOX_GRANT", format!("{} cannot be granted: {why}", path.display()));
    if !path.is_absolute() {
        return Err(refuse("it is a relative path. Write the whole path, as in \"$PWD\"/src."));
    }
    let real = path.canonicalize().map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => refuse("there is no such directory."),
        std::io::ErrorKind::PermissionDenied => refuse("you may not look at it."),
        _ => refuse(&format!("{cause}.")),
    })?;
    let meta = real.metadata().map_err(|cause| refuse(&format!("{cause}.")))?;
    if !meta.is_dir() {
        return Err(refuse("it is a file. Grant the directory that it is in."));
    }
    std::fs::read_dir(&real).map_err(|_| refuse("you may not read it."))?;
    let text = real.to_str().ok_or_else(|| refuse("its name is not text."))?;
    silas_sandbox::mounted::may_grant(text, own).map_err(|forbidden| refuse(&forbidden.to_string()))?;
    Ok(Place { path: text.to_owned(), device: meta.dev().to_string(), inode: meta.ino().to_string() })
}

/// No grant leads to the doors of Silas itself; the launcher sees to that too.
pub(super) fn lead_elsewhere(hosts: &[HostGrant], own_ports: &[u16]) -> Result<(), Problem> {
    match hosts.iter().find(|host| host.is_this_machine() && own_ports.contains(&host.port())) {
        Some(host) => Err(Problem::new(
            "E_SANDBOX_GRANT",
            format!("{host} cannot be granted: Silas itself answers there. Name another port."),
        )),
        None => Ok(()),
    }
}

fn inside<'a>(cwd: &Path, mut granted: impl Iterator<Item = &'a Place>) -> Result<String, Problem> {
    let refuse = |why: &str| Problem::new("E_SANDBOX_CWD", format!("{} cannot be entered: {why}", cwd.display()));
    let real = cwd.canonicalize().map_err(|cause| refuse(&format!("{cause}.")))?;
    let text = real.to_str().ok_or_else(|| refuse("its name is not text."))?;
    match granted.any(|place| roots::contains(&place.path, text)) {
        true => Ok(text.to_owned()),
        false => Err(refuse("it was not granted. Add --read or --write for it.")),
    }
}

fn variables(given: &[String]) -> Result<BTreeMap<String, String>, Problem> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Problem::new("E_SANDBOX_SPEC", format!("`{text}` is not NAME=VALUE."))),
    };
    given.iter().map(pair).collect()
}

fn set_limit(envelope: &mut Envelope, text: &str) -> Result<(), Problem> {
    let refuse = |why: &str| Problem::new("E_SANDBOX_LIMIT", format!("`--limit {text}` cannot be used: {why}"));
    let known = "the limits are time, cpu, memory, processes, output and file.";
    let (what, how_much) = text.split_once('=').ok_or_else(|| refuse("write it as time=30s."))?;
    let seconds = || seconds(how_much).ok_or_else(|| refuse("a number of seconds is needed, as in 30s or 5m."));
    let bytes = || bytes(how_much).ok_or_else(|| refuse("a size is needed, as in 512M or 2G."));
    // Less than one is one; only nothing is nothing.
    let megabytes = || bytes().map(|n| if n == 0 { 0 } else { (n >> 20).max(1) });
    let config = &mut envelope.sandbox_config;
    match what {
        "time" => envelope.timeout_seconds = seconds()?,
        "cpu" => config.max_cpu_seconds = seconds()?,
        "memory" => config.max_memory_mb = megabytes()?,
        "processes" => config.max_processes = how_much.parse().map_err(|_| refuse("a number is needed."))?,
        "output" => envelope.max_output_bytes = bytes()?,
        "file" => config.max_file_mb = megabytes()?,
        _ => return Err(refuse(known)),
    }
    Ok(())
}

fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.checked_mul(factor)
}

fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit.trim_end_matches('B') {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests;
