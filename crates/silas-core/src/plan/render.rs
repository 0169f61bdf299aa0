//! From a work item back to the text of a plan. Every text is written in quotes, so that YAML cannot read it as
//! anything else.

use super::item::{access_name, mode_name, replacing_name};
use crate::ExecutionId;
use crate::check::{Command, Expectation, Script};
use crate::wanted::By;
use crate::work::{Budget, Definition, WorkItem};
use std::fmt::Write as _;

pub fn render(item: &WorkItem) -> String {
    let d = item.definition();
    let mut out = String::from("---\n");
    line(&mut out, 0, "id", d.id.as_str());
    line(&mut out, 0, "type", "task");
    line(&mut out, 0, "title", &quoted(&d.title));
    for (key, id) in [("parent", &d.parent), ("spawned_by", &d.spawned_by), ("follow_up_of", &d.follow_up_of)] {
        if let Some(id) = id {
            line(&mut out, 0, key, id.as_str());
        }
    }
    optional(&mut out, 0, "domain", d.domain.as_deref());
    budget(&mut out, &d.budget);
    line(&mut out, 0, "interaction_mode", mode_name(d.interaction_mode));
    steps(&mut out, d);
    checks(&mut out, d);
    if !d.changes.is_empty() {
        line(&mut out, 0, "changes", &list(d.changes.iter().map(ToString::to_string)));
    }
    sandbox(&mut out, d);
    if !d.flows.is_empty() {
        line(&mut out, 0, "flows", &list(d.flows.iter().map(ToString::to_string)));
    }
    if !d.exits.is_empty() {
        out.push_str("exits:\n");
    }
    for (key, set) in [("paths", &d.exits.paths), ("queries", &d.exits.queries)] {
        if !set.is_empty() {
            line(&mut out, 1, key, &list(set.iter().map(ToString::to_string)));
        }
    }
    optional(&mut out, 1, "typed", d.exits.typed.as_deref());
    if let Some(planned) = &d.planned {
        out.push_str("planned:\n");
        line(&mut out, 1, "by", &quoted(&planned.by.to_string()));
        line(&mut out, 1, "asked", &quoted(&planned.asked));
    }
    line(&mut out, 0, "on_failure", &quoted(&d.on_failure));
    line(&mut out, 0, "on_stuck", &quoted(&d.on_stuck));
    optional(&mut out, 0, "failure_context", d.failure_context.as_deref());
    out.push_str("---\n");
    out.push_str(&d.body);
    out
}

/// What is run, and what a model may do after it.
fn steps(out: &mut String, d: &Definition) {
    if !d.steps.is_empty() {
        out.push_str("steps:\n");
    }
    for step in &d.steps {
        match &step.run {
            Command::Python(script) => line(out, 1, "- python", &quoted(&script.python)),
            Command::Shell(_) | Command::Argv(_) => line(out, 1, "- run", &command(&step.run)),
        }
        optional(out, 2, "cwd", step.cwd.as_deref());
    }
    if let Some(mandate) = &d.executor {
        out.push_str("executor:\n");
        optional(out, 1, "model", mandate.model.as_ref().map(ToString::to_string).as_deref());
        line(out, 1, "tools", &list(mandate.tools.iter().cloned()));
        line(out, 1, "max_model_calls", &mandate.max_model_calls.to_string());
        line(out, 1, "max_tool_calls", &mandate.max_tool_calls.to_string());
    }
}

fn checks(out: &mut String, d: &Definition) {
    if !d.verify.is_empty() {
        out.push_str("verify:\n");
    }
    for check in &d.verify {
        line(out, 1, "- name", &quoted(&check.name));
        line(out, 2, "run", &command(&check.run));
        line(out, 2, "expect", &expectation(&check.expect));
        line(out, 2, "timeout", &check.timeout.to_string());
        if check.network {
            line(out, 2, "network", "true");
        }
        if !check.protected {
            line(out, 2, "protected", "false");
        }
    }
}

fn sandbox(out: &mut String, d: &Definition) {
    let n_listed = d.directories.len() + d.hosts.len() + d.secrets.len() + d.toolchains.len();
    let brings = d.commits || d.include_ignored || !d.beside.is_empty() || d.restores.is_some() || d.merges.is_some();
    if n_listed > 0 || d.callback_port.is_some() || brings {
        out.push_str("sandbox:\n");
    }
    if !d.hosts.is_empty() {
        line(out, 1, "hosts", &list(d.hosts.iter().map(ToString::to_string)));
    }
    if !d.hosts_for.is_empty() {
        out.push_str("  hosts_for:\n");
    }
    for only in &d.hosts_for {
        line(out, 2, "- host", &quoted(&only.host.to_string()));
        match &only.by {
            By::Step(n) => line(out, 3, "step", &n.saturating_add(1).to_string()),
            By::Check(name) => line(out, 3, "check", &quoted(name)),
            By::Model => line(out, 3, "model", "true"),
        }
    }
    if !d.secrets.is_empty() {
        line(out, 1, "secrets", &list(d.secrets.iter().map(ToString::to_string)));
    }
    if let Some(port) = d.callback_port {
        line(out, 1, "callback_port", &port.to_string());
    }
    if d.commits {
        line(out, 1, "commits", "true");
    }
    if d.include_ignored {
        line(out, 1, "include_ignored", "true");
    }
    if !d.beside.is_empty() {
        line(out, 1, "beside", &list(d.beside.iter().cloned()));
    }
    optional(out, 1, "restores", d.restores.as_ref().map(ExecutionId::as_str));
    optional(out, 1, "merges", d.merges.as_ref().map(ToString::to_string).as_deref());
    if !d.directories.is_empty() {
        out.push_str("  directories:\n");
    }
    for directory in &d.directories {
        line(out, 2, "- path", &quoted(&directory.path));
        line(out, 3, "access", access_name(directory.access));
        optional(out, 3, "device", directory.device.as_deref());
        optional(out, 3, "inode", directory.inode.as_deref());
        optional(out, 3, "replaces", directory.replaces.map(replacing_name));
    }
    if !d.toolchains.is_empty() {
        out.push_str("  toolchains:\n");
    }
    for toolchain in &d.toolchains {
        line(out, 2, "- family", toolchain.family.name());
        line(out, 3, "path", &quoted(&toolchain.path));
        line(out, 3, "device", &quoted(&toolchain.device));
        line(out, 3, "inode", &quoted(&toolchain.inode));
    }
}

fn line(out: &mut String, depth: usize, key: &str, value: &str) {
    for _ in 0..depth {
        out.push_str("  ");
    }
    out.extend([key, ": ", value, "\n"]);
}

fn optional(out: &mut String, depth: usize, key: &str, value: Option<&str>) {
    if let Some(text) = value {
        line(out, depth, key, &quoted(text));
    }
}

fn budget(out: &mut String, budget: &Budget) {
    let (dollars, micros) = (budget.max_cost_microusd / 1_000_000, budget.max_cost_microusd % 1_000_000);
    out.push_str("budget:\n");
    line(out, 1, "max_tokens", &budget.max_tokens.to_string());
    line(out, 1, "max_cost_usd", &format!("{dollars}.{micros:06}"));
    line(out, 1, "max_wall_time_seconds", &budget.max_wall_time_seconds.to_string());
    line(out, 1, "max_attempts", &budget.max_attempts.to_string());
    line(out, 1, "max_planner_calls", &budget.max_planner_calls.to_string());
}

fn command(run: &Command) -> String {
    match run {
        Command::Shell(script) | Command::Python(Script { python: script }) => quoted(script),
        Command::Argv(argv) => list(argv.iter().cloned()),
    }
}

fn list(texts: impl Iterator<Item = String>) -> String {
    format!("[{}]", texts.map(|text| quoted(&text)).collect::<Vec<_>>().join(", "))
}

fn expectation(expect: &Expectation) -> String {
    let (key, value) = match expect {
        Expectation::ExitCode(code) => ("exit_code", code.to_string()),
        Expectation::Equals(text) => ("equals", quoted(text)),
        Expectation::Contains(text) => ("contains", quoted(text)),
        Expectation::Regex(pattern) => ("regex", quoted(pattern.as_str())),
        Expectation::OutputLt(limit) => ("output_lt", limit.to_string()),
        Expectation::OutputGt(limit) => ("output_gt", limit.to_string()),
        Expectation::FileExists(path) => ("file_exists", quoted(path)),
        Expectation::NotEmpty => ("not_empty", "true".to_owned()),
    };
    format!("{{ {key}: {value} }}")
}

/// A double-quoted YAML text on one line. What YAML does not print as it is becomes an escape.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
