//! From the tree of a plan's front matter to the definition of a work item.

use super::PlanError;
use super::fields::{Fields, kind, text_of};
use super::yaml::{Node, Value};
use crate::check::{Check, Command, Expectation, Pattern};
use crate::decimal::Decimal;
use crate::exits::{ENTRIES_MAX, Exits, Flow, Glob};
use crate::host::{HOSTS_MAX, HostGrant};
use crate::mandate::{Mandate, TOOLS};
use crate::model::ModelName;
use crate::planned::Planned;
use crate::roots::Access;
use crate::secret::{SECRETS_MAX, SecretRef};
use crate::toolchain::{Family, TOOLCHAINS_MAX, Toolchain};
use crate::wanted::{By, HOSTS_FOR_MAX, HostFor};
use crate::work::{
    BESIDE_MAX, Budget, CHECKS_MAX, DIRECTORIES_MAX, Definition, Directory, InteractionMode, Merging, Replacing,
    STEPS_MAX, Step,
};
use crate::{ExecutionId, WorkItemId};
use serde_json::json;

const KEYS: &[&str] = &[
    "id",
    "type",
    "title",
    "parent",
    "spawned_by",
    "follow_up_of",
    "domain",
    "agent",
    "budget",
    "interaction_mode",
    "steps",
    "executor",
    "verify",
    "changes",
    "sandbox",
    "flows",
    "exits",
    "planned",
    "on_failure",
    "on_stuck",
    "failure_context",
    "needs_approval",
    "gates",
    "skills",
    "access_levels",
    "escalation",
    "schedule",
    "tasks",
    "depends_on",
    "input_artifacts_from",
];

/// Keys of the model whose features this version does not have.
const NOT_YET: &[&str] =
    &["gates", "skills", "access_levels", "escalation", "schedule", "tasks", "depends_on", "input_artifacts_from"];

const MODES: &[InteractionMode] =
    &[InteractionMode::DefaultAndOffer, InteractionMode::ActAndReport, InteractionMode::ConfirmOnlyWhenRequired];

const ACCESS: &[Access] = &[Access::Read, Access::Write];

pub(super) fn mode_name(mode: InteractionMode) -> &'static str {
    match mode {
        InteractionMode::DefaultAndOffer => "default_and_offer",
        InteractionMode::ActAndReport => "act_and_report",
        InteractionMode::ConfirmOnlyWhenRequired => "confirm_only_when_required",
    }
}

pub(super) fn replacing_name(replacing: Replacing) -> &'static str {
    match replacing {
        Replacing::TwoSteps => "two_steps",
    }
}

pub(super) fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
    }
}

/// Seconds that a check may take if its plan says nothing.
const CHECK_TIMEOUT_SECS: u64 = 60;

const NOT_AVAILABLE: &str = "not available in this version";

pub(super) fn read(root: &Node, body: &str) -> Result<Definition, PlanError> {
    let top = Fields::of(root, "", KEYS)?;
    for key in NOT_YET {
        top.must_be_empty(key, NOT_AVAILABLE)?;
    }
    only(&top, "type", "task", &["goal", "project"])?;
    top.needed("type", top.get("type"))?;
    only(&top, "agent", "ephemeral", &["stream"])?;
    // A request, never an authority: whether approval is needed is not for the plan to say.
    top.yes_no("needs_approval")?;
    let sandbox = top.get("sandbox").map(|node| Fields::of(node, "sandbox", SANDBOX_KEYS)).transpose()?;
    let id = |key: &str| top.parsed(key, WorkItemId::parse);
    Ok(Definition {
        id: top.needed("id", id("id")?)?,
        title: top.needed("title", top.text("title")?)?,
        parent: id("parent")?,
        spawned_by: id("spawned_by")?,
        follow_up_of: id("follow_up_of")?,
        domain: top.text("domain")?,
        budget: budget(&top)?,
        body: body.to_owned(),
        planned: top.get("planned").map(planned).transpose()?,
        interaction_mode: top
            .choice("interaction_mode", MODES, mode_name)?
            .unwrap_or(InteractionMode::ConfirmOnlyWhenRequired),
        flows: texts(&top, "flows", ENTRIES_MAX, Flow::parse)?,
        exits: exits(&top)?,
        steps: each(&top, "steps", STEPS_MAX, step)?,
        executor: top.get("executor").map(mandate).transpose()?,
        verify: each(&top, "verify", CHECKS_MAX, check)?,
        changes: texts(&top, "changes", ENTRIES_MAX, Glob::parse)?,
        directories: sandbox.as_ref().map_or(Ok(Vec::new()), directories)?,
        hosts: sandbox.as_ref().map_or(Ok(Vec::new()), |s| texts(s, "hosts", HOSTS_MAX, HostGrant::parse))?,
        hosts_for: sandbox.as_ref().map_or(Ok(Vec::new()), hosts_for)?,
        secrets: sandbox.as_ref().map_or(Ok(Vec::new()), |s| texts(s, "secrets", SECRETS_MAX, SecretRef::parse))?,
        callback_port: sandbox.as_ref().map_or(Ok(None), |s| s.integer("callback_port"))?,
        commits: sandbox.as_ref().map_or(Ok(None), |s| s.yes_no("commits"))?.unwrap_or(false),
        include_ignored: sandbox.as_ref().map_or(Ok(None), |s| s.yes_no("include_ignored"))?.unwrap_or(false),
        beside: sandbox.as_ref().map_or(Ok(Vec::new()), |s| texts(s, "beside", BESIDE_MAX, own_text))?,
        restores: sandbox.as_ref().map_or(Ok(None), |s| s.parsed("restores", ExecutionId::parse))?,
        merges: sandbox.as_ref().map_or(Ok(None), |s| s.parsed("merges", Merging::parse))?,
        toolchains: sandbox.as_ref().map_or(Ok(Vec::new()), toolchains)?,
        on_failure: top.text("on_failure")?.unwrap_or_else(|| "report".to_owned()),
        on_stuck: top.text("on_stuck")?.unwrap_or_else(|| "consult_planner".to_owned()),
        failure_context: top.text("failure_context")?,
    })
}

/// A key with one value that works and others that are known but not there yet.
fn only(top: &Fields<'_>, key: &str, works: &str, later: &[&str]) -> Result<(), PlanError> {
    match top.text(key)? {
        None => Ok(()),
        Some(text) if text == works => Ok(()),
        Some(text) if later.contains(&text.as_str()) => {
            Err(top.error(key, format!("`{text}` is {NOT_AVAILABLE}; write `{works}`")))
        }
        Some(text) => {
            let given: String = text.chars().take(40).collect();
            Err(top.error(key, format!("`{given}` is not one of {works}, {}", later.join(", "))))
        }
    }
}

/// Reads one entry more than are allowed; then the item's own rule says how many that is, and no time goes into the rest.
fn each<T>(
    fields: &Fields<'_>,
    key: &str,
    max: usize,
    read: impl Fn(&Node, &str) -> Result<T, PlanError>,
) -> Result<Vec<T>, PlanError> {
    let path = fields.path_of(key);
    fields.list(key)?.iter().take(max + 1).enumerate().map(|(n, node)| read(node, &format!("{path}[{n}]"))).collect()
}

fn budget(top: &Fields<'_>) -> Result<Budget, PlanError> {
    let default = Budget::default();
    let Some(node) = top.get("budget") else { return Ok(default) };
    let keys = ["max_tokens", "max_cost_usd", "max_wall_time_seconds", "max_attempts", "max_planner_calls"];
    let fields = Fields::of(node, "budget", &keys)?;
    Ok(Budget {
        max_tokens: fields.integer("max_tokens")?.unwrap_or(default.max_tokens),
        max_cost_microusd: fields.parsed("max_cost_usd", microdollars)?.unwrap_or(default.max_cost_microusd),
        max_wall_time_seconds: fields.integer("max_wall_time_seconds")?.unwrap_or(default.max_wall_time_seconds),
        max_attempts: fields.integer("max_attempts")?.unwrap_or(default.max_attempts),
        max_planner_calls: fields.integer("max_planner_calls")?.unwrap_or(default.max_planner_calls),
    })
}

/// Dollars to micro-dollars, digit by digit.
fn microdollars(text: &str) -> Result<u64, String> {
    let amount = Decimal::parse(text).map_err(|e| e.to_string())?;
    let (whole, fraction) = amount.as_str().split_once('.').unwrap_or((amount.as_str(), ""));
    if whole.starts_with('-') {
        return Err("an amount cannot be negative".to_owned());
    }
    if fraction.len() > 6 {
        return Err("an amount has at most 6 decimals".to_owned());
    }
    format!("{whole}{fraction:0<6}").parse().map_err(|_| "this amount is too large".to_owned())
}

fn step(node: &Node, path: &str) -> Result<Step, PlanError> {
    let fields = Fields::of(node, path, &["run", "python", "cwd"])?;
    let run = match (fields.text("python")?, fields.get("run")) {
        (None, _) => command(&fields)?,
        (Some(script), None) => Command::python(script),
        (Some(_), Some(_)) => return Err(fields.error("python", "a step has `run` or `python`, not both")),
    };
    Ok(Step { run, cwd: fields.text("cwd")? })
}

/// `executor: {}` is the usual one. Which model it is, is set when the card is made.
fn mandate(node: &Node) -> Result<Mandate, PlanError> {
    let fields = Fields::of(node, "executor", &["model", "tools", "max_model_calls", "max_tool_calls"])?;
    let usual = Mandate::default();
    let tools = texts(&fields, "tools", TOOLS.len(), |name| Ok::<_, String>(name.to_owned()))?;
    Ok(Mandate {
        model: fields.parsed("model", ModelName::parse)?,
        tools: if fields.get("tools").is_none() { usual.tools } else { tools },
        max_model_calls: fields.integer("max_model_calls")?.unwrap_or(usual.max_model_calls),
        max_tool_calls: fields.integer("max_tool_calls")?.unwrap_or(usual.max_tool_calls),
    })
}

/// A text is for the shell, a list is executed as it is.
fn command(fields: &Fields<'_>) -> Result<Command, PlanError> {
    let node = fields.needed("run", fields.get("run"))?;
    match &node.value {
        Value::Scalar(scalar) => Ok(Command::Shell(scalar.text.clone())),
        Value::List(items) => {
            let word = |(n, item): (usize, &Node)| {
                text_of(item).map_err(|e| PlanError::new(item.at, Some(&fields.path_of(&format!("run[{n}]"))), e))
            };
            Ok(Command::Argv(items.iter().enumerate().map(word).collect::<Result<_, _>>()?))
        }
        Value::Null | Value::Map(_) => {
            Err(fields.error("run", format!("a command or a list of its words is needed, this is {}", kind(node))))
        }
    }
}

fn check(node: &Node, path: &str) -> Result<Check, PlanError> {
    let fields = Fields::of(node, path, &["name", "run", "expect", "timeout", "network", "protected"])?;
    if fields.integer("timeout")? == Some(0) {
        return Err(fields.error("timeout", "a check needs at least one second"));
    }
    Ok(Check {
        name: fields.needed("name", fields.text("name")?)?,
        run: command(&fields)?,
        expect: expectation(&fields)?,
        timeout: fields.integer("timeout")?.unwrap_or(CHECK_TIMEOUT_SECS),
        network: fields.yes_no("network")?.unwrap_or(false),
        protected: fields.yes_no("protected")?.unwrap_or(true),
    })
}

/// Each predicate is read by its kind; whether there is exactly one of them is [`Expectation`]'s own rule.
fn expectation(check: &Fields<'_>) -> Result<Expectation, PlanError> {
    let node = check.needed("expect", check.get("expect"))?;
    let keys = ["exit_code", "equals", "contains", "regex", "output_lt", "output_gt", "file_exists", "not_empty"];
    let fields = Fields::of(node, &check.path_of("expect"), &keys)?;
    fields.parsed("regex", Pattern::parse).map_err(short_regex_error)?;
    let raw = json!({
        "exit_code": fields.integer::<i32>("exit_code")?,
        "equals": fields.text("equals")?,
        "contains": fields.text("contains")?,
        "regex": fields.text("regex")?,
        "output_lt": fields.parsed("output_lt", Decimal::parse)?,
        "output_gt": fields.parsed("output_gt", Decimal::parse)?,
        "file_exists": fields.text("file_exists")?,
        "not_empty": fields.yes_no("not_empty")?,
    });
    serde_json::from_value(raw).map_err(|e| check.error("expect", e.to_string()))
}

/// The regex library draws a picture over several lines; its last line is the sentence.
fn short_regex_error(error: PlanError) -> PlanError {
    let problem = match error.problem.rsplit_once("error: ") {
        Some((_, sentence)) => format!("the regular expression cannot be used: {}", sentence.trim()),
        None => error.problem,
    };
    PlanError { problem, ..error }
}

const SANDBOX_KEYS: &[&str] = &[
    "directories",
    "hosts",
    "hosts_for",
    "secrets",
    "callback_port",
    "commits",
    "include_ignored",
    "beside",
    "restores",
    "merges",
    "toolchains",
];

/// Its rules are those of the whole plan.
fn own_text(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.to_owned())
}

fn exits(top: &Fields<'_>) -> Result<Exits, PlanError> {
    let Some(node) = top.get("exits") else { return Ok(Exits::default()) };
    let fields = Fields::of(node, "exits", &["paths", "queries", "typed"])?;
    Ok(Exits {
        paths: texts(&fields, "paths", ENTRIES_MAX, Glob::parse)?,
        queries: texts(&fields, "queries", ENTRIES_MAX, Glob::parse)?,
        typed: fields.text("typed")?,
    })
}

fn planned(node: &Node) -> Result<Planned, PlanError> {
    let fields = Fields::of(node, "planned", &["by", "asked"])?;
    Ok(Planned {
        by: fields.needed("by", fields.parsed("by", ModelName::parse)?)?,
        asked: fields.needed("asked", fields.text("asked")?)?,
    })
}

/// A list of texts, each with a form of its own.
fn texts<T, E: ToString>(
    sandbox: &Fields<'_>,
    key: &str,
    max: usize,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, PlanError> {
    each(sandbox, key, max, |node, path| {
        let parsed = text_of(node).and_then(|text| parse(&text).map_err(|e| e.to_string()));
        parsed.map_err(|problem| PlanError::new(node.at, Some(path), problem))
    })
}

/// Each is for one command.
fn hosts_for(sandbox: &Fields<'_>) -> Result<Vec<HostFor>, PlanError> {
    each(sandbox, "hosts_for", HOSTS_FOR_MAX, |node, path| {
        let fields = Fields::of(node, path, &["host", "step", "check", "model"])?;
        let step = fields.integer::<u32>("step")?.map(|n| n.checked_sub(1).map(By::Step));
        let step = step.map(|by| by.ok_or_else(|| fields.error("step", "steps are counted from 1"))).transpose()?;
        let model = fields.yes_no("model")?.filter(|is_meant| *is_meant).map(|_| By::Model);
        let named = [step, fields.text("check")?.map(By::Check), model];
        let mut by = named.into_iter().flatten();
        let (Some(by), None) = (by.next(), by.next()) else {
            return Err(fields.error("step", "one of `step: N`, `check: NAME` and `model: true` is needed"));
        };
        Ok(HostFor { host: fields.needed("host", fields.parsed("host", HostGrant::parse)?)?, by })
    })
}

fn directories(sandbox: &Fields<'_>) -> Result<Vec<Directory>, PlanError> {
    each(sandbox, "directories", DIRECTORIES_MAX, |node, path| {
        let fields = Fields::of(node, path, &["path", "access", "device", "inode", "replaces"])?;
        Ok(Directory {
            path: fields.needed("path", fields.text("path")?)?,
            access: fields.needed("access", fields.choice("access", ACCESS, access_name)?)?,
            device: fields.text("device")?,
            inode: fields.text("inode")?,
            replaces: fields.choice("replaces", &[Replacing::TwoSteps], replacing_name)?,
        })
    })
}

/// They are found and pinned when a card is made; a plan that was rendered names them in full.
fn toolchains(sandbox: &Fields<'_>) -> Result<Vec<Toolchain>, PlanError> {
    each(sandbox, "toolchains", TOOLCHAINS_MAX, |node, path| {
        let fields = Fields::of(node, path, &["family", "path", "device", "inode"])?;
        Ok(Toolchain {
            family: fields.needed("family", fields.choice("family", &Family::ALL, Family::name)?)?,
            path: fields.needed("path", fields.text("path")?)?,
            device: fields.needed("device", fields.text("device")?)?,
            inode: fields.needed("inode", fields.text("inode")?)?,
        })
    })
}
