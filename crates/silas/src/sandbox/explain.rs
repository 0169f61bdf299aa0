//! What `silas sandbox --explain` says: what is allowed, before; what was refused, after. Every line is computed from the
//! envelope that was signed and from what the cell told, not from what was typed.

use super::pump::Passed;
use silas_core::changeset::{Changeset, DiffLine};
use silas_core::check::Ended;
use silas_core::envelope::{Envelope, Life};
use silas_core::host::NotThere;
use silas_core::number::grouped;
use silas_core::outside::{Connection, Reached};
use silas_core::toolchain;
use silas_core::wanted::{By, Wanted};
use silas_gates::scrub;
use silas_sandbox::{Changes, Finished};
use std::fmt::Write as _;

pub(super) struct Explanation;

/// Lines of a diff that are shown; the rest is counted.
const DIFF_LINES_MAX: usize = 200;
const HOME_INSIDE: &str = "/tmp/home";

impl Explanation {
    pub(super) fn before(envelope: &Envelope) -> String {
        let config = &envelope.sandbox_config;
        let mut out = String::new();
        let mut line = |label: &str, text: &str| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {label:<12} {}", scrub::visible_line(text, 300));
        };
        line("Command", &format!("{} ({})", envelope.args.words(), envelope.action.name()));
        line("Approved by", "this terminal's key, for exactly this, once");
        line(
            "Isolation",
            "own user, mount, process, network, IPC, host name and control group namespaces; no capabilities",
        );
        line("", "file rules (Landlock) and a system call filter (seccomp) on top");
        line(
            "Sees",
            "/usr, /bin and /lib to read; a few files of /etc; empty /tmp and /dev/shm; nothing else of this machine",
        );
        for place in &config.filesystem_read {
            line("Reads", &place.path);
        }
        for place in &config.filesystem_write {
            line("Changes", &format!("{}, as a private copy; .git there to read only", place.path));
        }
        match toolchain::words(&config.toolchains) {
            none if none.is_empty() => line("Tools", "those of /usr only"),
            words => line("Tools", &words),
        }
        for tool in &config.toolchains {
            line("", &format!("{} to read", tool.path));
        }
        match config.hosts.as_slice() {
            [] => line("Network", "none; only its own loopback"),
            hosts => hosts.iter().for_each(|host| line("Network", &format!("{host}"))),
        }
        let home = match &config.state {
            Some(name) => format!("{HOME_INSIDE}, kept under the name {name}"),
            None => format!("{HOME_INSIDE}, empty, gone afterwards"),
        };
        line("Home", &home);
        let mut env = toolchain::environment(&config.toolchains, HOME_INSIDE);
        env.retain(|(name, _)| !config.env.contains_key(name));
        env.extend(config.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        for (name, value) in env {
            line("Variable", &format!("{name}={value}"));
        }
        let time = match envelope.life {
            Life::Run => format!("{} s, then it is killed", envelope.timeout_seconds),
            Life::Serve => "as long as you stay".to_owned(),
        };
        line("Time", &time);
        line("Processor", &format!("{} s for each process (resource limit)", config.max_cpu_seconds));
        line("Memory", &format!("{} MB", config.max_memory_mb));
        line("Processes", &format!("{} together", config.max_processes));
        line("Files", &format!("{} MB for each (resource limit)", config.max_file_mb));
        if envelope.life == Life::Run {
            line("Output", &format!("{} bytes for each stream; the rest is dropped", envelope.max_output_bytes));
        }
        format!("Allowed\n{out}")
    }

    pub(super) fn after(envelope: &Envelope, finished: &Finished, passed: &Passed) -> String {
        let mut out = format!("Ended\n  {}\n", how(&finished.ended));
        let _ = writeln!(out, "  It took {} ms. In force: {}.", finished.took_ms, finished.limits);
        for (address, host) in finished.connections.iter().filter_map(|made| Some((made.address?, &made.to))) {
            let _ = writeln!(out, "  It reached {host} at {address}.");
        }
        let unusual = Explanation::unusual(envelope, finished, passed);
        out.push_str("Refused\n");
        for sentence in &unusual {
            let _ = writeln!(out, "  {sentence}");
        }
        if unusual.is_empty() {
            out.push_str("  Nothing that the sandbox could see. A file that was not granted is missing to the command, not refused; an address without a name is not noticed.\n");
        }
        out + &Explanation::changes(finished)
    }

    /// What somebody would want to know without asking.
    pub(super) fn unusual(envelope: &Envelope, finished: &Finished, passed: &Passed) -> Vec<String> {
        let config = &envelope.sandbox_config;
        let mut said = Vec::new();
        if finished.is_memory_exceeded {
            said.push(format!(
                "More than {} MB of memory were wanted, so the command was killed.",
                config.max_memory_mb
            ));
        }
        if finished.is_disk_nearly_full {
            said.push("The disk was nearly full, so the command was killed.".to_owned());
        }
        match &finished.ended {
            Ended::TimedOut { after_secs } => {
                said.push(format!("Time was up after {after_secs} s, so the command was killed. More: --limit time=…"));
            }
            Ended::Signalled(SIGSYS) => {
                said.push("A system call was refused, so the command was killed.".to_owned());
            }
            Ended::Signalled(SIGXCPU) => {
                said.push(format!(
                    "A process used {} s of processor time. More: --limit cpu=…",
                    config.max_cpu_seconds
                ));
            }
            ended if ended.is_by_file_size() => {
                said.push(format!(
                    "A file would have become larger than {} MB. More: --limit file=…",
                    config.max_file_mb
                ));
            }
            Ended::Signalled(_) | Ended::Exited(_) => {}
        }
        for (name, dropped) in ["standard output", "standard error"].into_iter().zip(passed.dropped) {
            if dropped > 0 {
                said.push(format!("{dropped} bytes of {name} were dropped. More: --limit output=…"));
            }
        }
        for made in &finished.connections {
            said.extend(not_reached(made));
        }
        said.extend(asked_for(envelope, &finished.asked));
        said.extend(finished.untold.as_ref().map(|why| {
            format!("The command ran. {} What it changed cannot be told: {why} ({})", how(&finished.ended), why.code())
        }));
        said
    }

    /// What became of the copies.
    pub(super) fn changes(finished: &Finished) -> String {
        let mut out = String::new();
        for directory in &finished.changed {
            let path = scrub::visible_line(&directory.path, 300);
            if directory.changes.changeset == Changeset::default() {
                let _ = writeln!(out, "{path}: nothing was changed in the copy.");
                continue;
            }
            let _ = writeln!(out, "{path}: changed in the copy only, your files are as they were:");
            out.push_str(&diffs(&directory.changes));
        }
        out
    }
}

/// What the command asked for and was not granted, and how it would be.
fn asked_for(envelope: &Envelope, names: &[String]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let wanted = |name: &String| Wanted::new(name, By::Step(0), &envelope.args).grants();
    let grants: Vec<String> = names.iter().flat_map(wanted).map(|grant| format!("--host {grant}")).collect();
    let (names, grants) = (scrub::visible(&names.join(", ")), scrub::visible(&grants.join(" ")));
    Some(format!("It asked for {names} and was refused. To allow it: silas sandbox {grants} …"))
}

fn not_reached(made: &Connection) -> Option<String> {
    let why = match made.outcome {
        Reached::Opened | Reached::Called => return None,
        Reached::Refused(NotThere::NotPublic) => "the name stands for a private address; name that address itself",
        Reached::Refused(NotThere::NotThisMachine) => "the name stands for this machine; name that address itself",
        Reached::Refused(NotThere::OtherAddress) => "the address is not the one that was granted",
        Reached::Refused(NotThere::Silas) => "Silas itself answers there",
        Reached::Unresolved => "nobody knows an address of that name",
        Reached::Unanswered => "nobody answers there",
        Reached::TooMany => "the command has made as many connections as one may",
    };
    Some(format!("{} was not reached: {why}.", made.to))
}

fn diffs(changes: &Changes) -> String {
    let mut lines: Vec<String> = Vec::new();
    for diff in &changes.diffs {
        let from = diff.renamed_from.as_ref().map_or_else(String::new, |from| format!("{from} → "));
        let path = scrub::visible_line(&format!("{from}{}", diff.path), 300);
        lines.push(format!("  {path} (+{} −{})", diff.added, diff.removed));
        let show = |line: &DiffLine| match line {
            DiffLine::Same(text) => format!("      {}", scrub::visible_line(text, 300)),
            DiffLine::Added(text) => format!("    + {}", scrub::visible_line(text, 300)),
            DiffLine::Removed(text) => format!("    - {}", scrub::visible_line(text, 300)),
            DiffLine::Gap(n) => format!("      … {} lines unchanged", grouped(n)),
            DiffLine::NotShown(n) => format!("      … {} changed lines, not shown", grouped(n)),
        };
        match &diff.lines {
            Some(changed) => lines.extend(changed.iter().map(show)),
            None => lines.push("      not text, or too large to show".to_owned()),
        }
    }
    let n_more = lines.len().saturating_sub(DIFF_LINES_MAX);
    lines.truncate(DIFF_LINES_MAX);
    if n_more > 0 {
        lines.push(format!("  … and {} lines more", grouped(n_more)));
    }
    lines.join("\n") + "\n"
}

const SIGSYS: i32 = 31;
const SIGXCPU: i32 = 24;

fn how(ended: &Ended) -> String {
    match ended {
        Ended::Exited(0) => "It ended well (exit code 0).".to_owned(),
        Ended::Exited(code) => format!("It ended with exit code {code}."),
        Ended::Signalled(signal) => format!("It was killed by signal {signal}."),
        Ended::TimedOut { after_secs } => format!("It was stopped after {after_secs} s."),
    }
}
