//! What an executor receives, and what it gives back: one command, exactly what it may touch, and what came of it.
//!
//! An envelope is also what a decision of kind `step` covers: its canonical bytes are signed, and the launcher runs what it
//! reads from those bytes and nothing else. The id of the execution is not among them; it follows from the signature. No
//! conversation, memory, approval or secret can be put into an envelope, because there is no field for it.

use crate::check::{Command, Ended};
use crate::host::{HOSTS_MAX, HostGrant};
use crate::roots::Place;
use crate::toolchain::{TOOLCHAINS_MAX, Toolchain};
use crate::work::{COMMAND_BYTES_MAX, DIRECTORIES_MAX, TIMEOUT_SECS_MAX};
use crate::{ExecutionId, Taint, Tainted, canonical, excerpt};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who carries a command out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    ShellExec,
    PythonExec,
}

impl Executor {
    pub fn of(command: &Command) -> Executor {
        match command {
            Command::Shell(_) | Command::Argv(_) => Executor::ShellExec,
            Command::Python(_) => Executor::PythonExec,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Executor::ShellExec => "shell_exec",
            Executor::PythonExec => "python_exec",
        }
    }
}

/// Keeps the payloads of different kinds apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvelopeKind {
    Step,
}

/// Whether a command is expected to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// It ends by itself or when its time is up.
    Run,
    /// It stays, like a server that is talked to, until whoever started it goes.
    Serve,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    pub kind: EnvelopeKind,
    pub step_index: u32,
    pub task_description: String,
    pub action: Executor,
    pub args: Command,
    pub life: Life,
    /// Means nothing to one that serves.
    pub timeout_seconds: u64,
    /// For each of the two streams; what comes after is dropped. Means nothing to one that serves.
    pub max_output_bytes: u64,
    pub sandbox_config: SandboxConfig,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxConfig {
    /// Where the command starts, as it is called inside; an empty home of its own if absent.
    pub work_dir: Option<String>,
    pub filesystem_read: Vec<Place>,
    /// Each is a private copy; nothing that happens in it reaches the original.
    pub filesystem_write: Vec<Place>,
    /// The only hosts that can be reached.
    pub hosts: Vec<HostGrant>,
    pub toolchains: Vec<Toolchain>,
    pub max_memory_mb: u64,
    pub max_cpu_seconds: u64,
    pub max_processes: u64,
    pub max_file_mb: u64,
    pub env: BTreeMap<String, String>,
    /// The name of a directory that is there again the next time; it is the home then.
    pub state: Option<String>,
}

/// Largest output that may be asked for, in bytes for each stream: whoever reads it must hold or pass it on.
pub const OUTPUT_BYTES_MAX: u64 = 1 << 30;
const MEMORY_MB_MAX: u64 = 1 << 20;
const PROCESSES_MAX: u64 = 1 << 16;
const VARIABLES_MAX: usize = 64;
const STATE_CHARS_MAX: usize = 64;

/// How long a signature under a command counts. Whoever signs it waits for it; a call that a card asks about may take longer.
pub const SIGNED_FOR: std::time::Duration = std::time::Duration::from_secs(60);

impl Envelope {
    /// The bytes that are signed.
    pub fn canonical(&self) -> Result<String, canonical::Error> {
        canonical::text(self)
    }

    /// Reads what [`Envelope::canonical`] wrote, and refuses what could not have been meant.
    pub fn from_canonical(text: &str) -> Result<Self, String> {
        let value = canonical::read(text).map_err(|e| e.to_string())?;
        let envelope: Envelope = serde_json::from_value(value).map_err(|e| e.to_string())?;
        envelope.check()?;
        let again = envelope.canonical().map_err(|e| e.to_string())?;
        if again == text {
            Ok(envelope)
        } else {
            Err("the command has parts that this version does not know".to_owned())
        }
    }

    /// Every limit has bounds, and zero is in none of them.
    pub fn check(&self) -> Result<(), String> {
        let within = |what: &str, n: u64, max: u64, unit: &str| match n {
            0 => Err(format!("a limit of 0 {unit} for {what} would allow nothing")),
            n if n > max => Err(format!("the limit for {what} is at most {max} {unit}")),
            _ => Ok(()),
        };
        let config = &self.sandbox_config;
        within("time", self.timeout_seconds, TIMEOUT_SECS_MAX, "seconds")?;
        within("output", self.max_output_bytes, OUTPUT_BYTES_MAX, "bytes")?;
        within("memory", config.max_memory_mb, MEMORY_MB_MAX, "MB")?;
        within("processor time", config.max_cpu_seconds, TIMEOUT_SECS_MAX, "seconds")?;
        within("processes", config.max_processes, PROCESSES_MAX, "processes")?;
        within("the size of a file", config.max_file_mb, MEMORY_MB_MAX, "MB")?;
        let words = self.args.argv();
        let must = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
        must(words.first().is_some_and(|program| !program.is_empty()), "there is no program to run")?;
        must(words.iter().map(String::len).sum::<usize>() <= COMMAND_BYTES_MAX, "the command is longer than 16 KiB")?;
        must(!words.iter().any(|word| word.contains('\0')), "the command contains a zero byte")?;
        must(self.action == Executor::of(&self.args), "the executor does not fit the command")?;
        let n_directories = config.filesystem_read.len() + config.filesystem_write.len();
        must(n_directories <= DIRECTORIES_MAX, "at most 16 directories can be granted")?;
        must(config.hosts.len() <= HOSTS_MAX, "at most 32 hosts can be granted")?;
        must(config.toolchains.len() <= TOOLCHAINS_MAX, "too many toolchains")?;
        must(config.env.len() <= VARIABLES_MAX, "at most 64 variables can be set")?;
        let is_name = |name: &str| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !name.is_empty() && name.chars().count() <= STATE_CHARS_MAX && name.chars().all(plain)
        };
        let state = config.state.as_deref().is_none_or(is_name);
        must(state, "the name of a state is made of small letters, digits and `-`, at most 64")
    }
}

/// What came of a command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionResult {
    pub execution_id: ExecutionId,
    pub step_index: u32,
    pub success: bool,
    /// What a model may be shown, after gates. A program's words are nobody's.
    pub for_model: Tainted<Content>,
    /// For the record only.
    pub metadata: Metadata,
    /// Why it did not succeed, in a sentence.
    pub error: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Standard output; of a long one its beginning and its end.
    pub return_value: String,
    /// What else there is, by name: `stderr`, in the same way, if anything was written there.
    pub artifacts: BTreeMap<String, String>,
}

impl Content {
    /// The same with this many characters of each part at most.
    #[must_use]
    pub fn cut(self, chars_max: usize) -> Content {
        let cut = |text: String| excerpt::of(&text, chars_max);
        let artifacts = self.artifacts.into_iter().map(|(name, text)| (name, cut(text))).collect();
        Content { return_value: cut(self.return_value), artifacts }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    pub executor: Executor,
    pub ended: Ended,
    pub took_ms: u64,
    /// More was written than is kept.
    pub is_truncated: bool,
    /// All processes together wanted more memory than allowed.
    pub is_memory_exceeded: bool,
    /// It was ended before it had filled the disk.
    #[serde(default)]
    pub is_disk_nearly_full: bool,
    /// What it wrote is not UTF-8; a replacement character stands for what could not be kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_not_text: bool,
    /// Names of hosts that it asked for and may not reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// Where the next commands find all of what it printed, if that is more than is kept here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed_at: Option<String>,
}

type Stream<'a> = (&'a [u8], usize);

/// The directory inside in which a run's commands find what earlier ones printed.
pub const PRINTED_INSIDE: &str = "/tmp/printed";

/// Characters of each stream that a result keeps.
pub const STREAM_CHARS_MAX: usize = 10_000;

impl ExecutionResult {
    /// The streams, each with how many characters were left out of its middle before.
    pub fn new(
        execution_id: ExecutionId,
        step_index: u32,
        metadata: Metadata,
        stdout: Stream<'_>,
        stderr: Stream<'_>,
    ) -> Self {
        let cut = |(bytes, n_missing): Stream<'_>| -> (String, bool) {
            excerpt::of_longer(&String::from_utf8_lossy(bytes), n_missing, STREAM_CHARS_MAX)
        };
        // Where an output was cut, its last character may be cut too.
        let is_text = |(bytes, _): Stream<'_>| match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(e) => metadata.is_truncated && e.error_len().is_none(),
        };
        let is_not_text = !is_text(stdout) || !is_text(stderr);
        let ((return_value, out_cut), (stderr, err_cut)) = (cut(stdout), cut(stderr));
        let mut artifacts = BTreeMap::new();
        if !stderr.is_empty() {
            artifacts.insert("stderr".to_owned(), stderr);
        }
        let metadata = Metadata { is_truncated: metadata.is_truncated || out_cut || err_cut, is_not_text, ..metadata };
        let error = match &metadata.ended {
            _ if metadata.is_memory_exceeded => Some("It wanted more memory than allowed and was killed.".to_owned()),
            Ended::Exited(0) => None,
            Ended::Exited(code) => Some(format!("It ended with exit code {code}.")),
            Ended::Signalled(signal) => Some(format!("It was killed by signal {signal}.")),
            Ended::TimedOut { after_secs } => Some(format!("It was stopped after {after_secs} s.")),
        };
        let for_model = Tainted::new(Content { return_value, artifacts }, Taint::External);
        ExecutionResult { execution_id, step_index, success: error.is_none(), for_model, metadata, error }
    }

    /// It could not even be started.
    pub fn not_started(execution_id: ExecutionId, step_index: u32, executor: Executor, why: &str) -> Self {
        let ended = Ended::Exited(NOT_STARTED);
        let metadata = Metadata {
            executor,
            ended,
            took_ms: 0,
            is_truncated: false,
            is_memory_exceeded: false,
            is_disk_nearly_full: false,
            is_not_text: false,
            asked: Vec::new(),
            printed_at: None,
        };
        let result = ExecutionResult::new(execution_id, step_index, metadata, (b"", 0), (why.as_bytes(), 0));
        ExecutionResult { error: Some(why.to_owned()), ..result }
    }

    /// Why it was ended, where nobody but Silas can know.
    pub fn why_killed(&self) -> Option<&str> {
        let Metadata { is_memory_exceeded, is_disk_nearly_full, ended, .. } = &self.metadata;
        let is_killed = *is_memory_exceeded || *is_disk_nearly_full || ended.is_by_file_size();
        self.error.as_deref().filter(|_| is_killed)
    }

    /// Standard output, then standard error: what a person would have seen.
    pub fn output(&self) -> String {
        let content = self.for_model.peek();
        let why = self.why_killed().map(|why| format!("{why}\n"));
        [why.as_deref().unwrap_or_default(), &content.return_value]
            .into_iter()
            .chain(content.artifacts.values().map(String::as_str))
            .collect()
    }
}

/// What a shell says of a program that it cannot find.
pub const NOT_STARTED: i32 = 127;

#[cfg(test)]
mod tests;
