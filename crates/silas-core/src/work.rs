//! Work items: what is to be done, within which limits, and which checks decide whether it is.
//!
//! A [`WorkItem`] is what a plan says; it never changes after it was approved. What the runtime learns while it works is
//! [`WorkState`], and no byte of that is hashed.

use crate::check::{Check, CheckResult, Command};
use crate::exits::{Exits, Flow};
use crate::host::{HOSTS_MAX, HostGrant};
use crate::mandate::Mandate;
use crate::planned::Planned;
use crate::roots::{Access, Place, contains};
use crate::secret::{SECRETS_MAX, SecretRef};
use crate::toolchain::{TOOLCHAINS_MAX, Toolchain};
use crate::wanted::{self, HostFor};
use crate::{Digest, ExecutionId, Timestamp, TokenId, WorkItemId, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InteractionMode {
    DefaultAndOffer,
    ActAndReport,
    ConfirmOnlyWhenRequired,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    Running,
    Healthy,
    Done,
    Failed,
    Stuck,
    Blocked,
    Paused,
}

/// What an item may use up in its whole life. Money is in micro-dollars.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub max_tokens: u64,
    pub max_cost_microusd: u64,
    pub max_wall_time_seconds: u64,
    pub max_attempts: u32,
    pub max_planner_calls: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            max_tokens: 200_000,
            max_cost_microusd: 2_000_000,
            max_wall_time_seconds: 1800,
            max_attempts: 5,
            max_planner_calls: 3,
        }
    }
}

impl Budget {
    /// The same for work in which no model takes part: nobody is promised tokens or money that nothing could use.
    pub fn without_models(self) -> Self {
        Budget { max_tokens: 0, max_cost_microusd: 0, max_planner_calls: 0, ..self }
    }
}

/// What an item has used up so far.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetUsed {
    pub tokens: u64,
    pub cost_microusd: u64,
    pub wall_time_micros: u64,
    pub attempts: u32,
    pub planner_calls: u32,
    pub executor_runs: u32,
}

impl BudgetUsed {
    /// Reaching a limit exhausts it; otherwise the last action could go past it. Zero allowed means none was promised
    /// and none may be used, so an untouched counter does not count as exhausted.
    pub fn exceeds(&self, budget: &Budget) -> bool {
        let spent = |used: u64, max: u64| used > 0 && used >= max;
        spent(self.tokens, budget.max_tokens)
            || spent(self.cost_microusd, budget.max_cost_microusd)
            || self.wall_time_micros >= budget.max_wall_time_seconds.saturating_mul(1_000_000)
            || self.attempts >= budget.max_attempts
            || spent(u64::from(self.planner_calls), u64::from(budget.max_planner_calls))
    }

    pub fn merge(&mut self, child: &BudgetUsed) {
        self.tokens = self.tokens.saturating_add(child.tokens);
        self.cost_microusd = self.cost_microusd.saturating_add(child.cost_microusd);
        self.wall_time_micros = self.wall_time_micros.saturating_add(child.wall_time_micros);
        self.attempts = self.attempts.saturating_add(child.attempts);
        self.planner_calls = self.planner_calls.saturating_add(child.planner_calls);
        self.executor_runs = self.executor_runs.saturating_add(child.executor_runs);
    }
}

/// One command of a plan that needs no model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub run: Command,
    /// Relative to the first directory that may be changed; absent means that directory itself.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// A directory that a plan asks for. Pinned to device and inode when its card is made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    pub path: String,
    pub access: Access,
    #[serde(default)]
    pub device: Option<String>,
    #[serde(default)]
    pub inode: Option<String>,
    /// How files are replaced here, where it is not in one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Replacing>,
}

/// How a file is replaced where its file system may be unable to exchange two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacing {
    /// It is missing for an instant.
    TwoSteps,
}

impl Directory {
    pub fn unpinned(path: &str, access: Access) -> Self {
        Directory { path: path.to_owned(), access, device: None, inode: None, replaces: None }
    }

    pub fn pinned(place: Place, access: Access) -> Self {
        let (device, inode) = (Some(place.device), Some(place.inode));
        Directory { path: place.path, access, device, inode, replaces: None }
    }

    /// Exactly which directory this is, if it was pinned.
    pub fn place(&self) -> Option<Place> {
        let (device, inode) = (self.device.clone()?, self.inode.clone()?);
        Some(Place { path: self.path.clone(), device, inode })
    }
}

/// Everything that a plan says. [`WorkItem::new`] is the only way to one, so the rules below hold for every value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    pub id: WorkItemId,
    pub title: String,
    pub parent: Option<WorkItemId>,
    pub spawned_by: Option<WorkItemId>,
    pub follow_up_of: Option<WorkItemId>,
    pub domain: Option<String>,
    pub budget: Budget,
    /// The owner's words, or where [`Planned`] says so the model's.
    pub body: String,
    /// Set where a model wrote the plan; by the runtime alone.
    #[serde(default)]
    pub planned: Option<Planned>,
    pub interaction_mode: InteractionMode,
    pub steps: Vec<Step>,
    /// What a model does after the steps, if the plan leaves something to one.
    #[serde(default)]
    pub executor: Option<Mandate>,
    pub verify: Vec<Check>,
    pub directories: Vec<Directory>,
    /// What the steps may reach; a check only if it says `network: true`.
    #[serde(default)]
    pub hosts: Vec<HostGrant>,
    /// Those of the hosts that only single commands may reach, and which.
    #[serde(default)]
    pub hosts_for: Vec<HostFor>,
    /// What the steps may ask for by name. Checks never get any.
    #[serde(default)]
    pub secrets: Vec<SecretRef>,
    /// The one port on which a step may be called from this machine, for the end of a login in a browser.
    #[serde(default)]
    pub callback_port: Option<u16>,
    /// Whether the steps may commit: they get a private clone of each repository, and what they committed is brought over
    /// with the files.
    #[serde(default)]
    pub commits: bool,
    /// The earlier execution whose replaced files this plan puts back; the steps find them at [`KEPT_INSIDE`].
    #[serde(default)]
    pub restores: Option<ExecutionId>,
    /// The earlier execution whose changes this plan lays over what the owner made of the same files meanwhile.
    #[serde(default)]
    pub merges: Option<Merging>,
    /// Tools outside `/usr` that were found when the card was made; to read only.
    #[serde(default)]
    pub toolchains: Vec<Toolchain>,
    /// Which text may go where, once a mind has read it.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// Which values may steer what leaves the copy.
    #[serde(default)]
    pub exits: Exits,
    pub on_failure: String,
    pub on_stuck: String,
    pub failure_context: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Definition", into = "Definition")]
pub struct WorkItem(Definition);

/// What a rule of [`WorkItem::new`] found. `key` is the front-matter key that it is about.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{key}`: {expected}")]
pub struct RuleBroken {
    pub key: String,
    pub expected: String,
}

/// Two edits of the same files, brought together. The hash binds what each file must be before, which is the owner's version,
/// and every byte that it is after.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merging {
    pub execution: ExecutionId,
    /// Of a [`crate::changeset::Changeset`].
    pub changeset: Digest,
}

impl Merging {
    /// As a plan's text has it: the execution, a space, the hash.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (execution, changeset) = text.split_once(' ').ok_or("an execution and a hash")?;
        let execution = ExecutionId::parse(execution).map_err(|e| e.to_string())?;
        let changeset = Digest::try_from(changeset.to_owned()).map_err(|e| e.to_string())?;
        Ok(Merging { execution, changeset })
    }
}

impl std::fmt::Display for Merging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.execution, self.changeset)
    }
}

/// Where a plan that puts files back finds them, with a script `restore` and a script `check`; one that merges finds a
/// script `lay`.
pub const KEPT_INSIDE: &str = "/tmp/kept";

pub const TITLE_CHARS_MAX: usize = 200;
pub const STEPS_MAX: usize = 50;
pub const CHECKS_MAX: usize = 50;
pub const DIRECTORIES_MAX: usize = 16;
pub const COMMAND_BYTES_MAX: usize = 16 * 1024;
pub const TIMEOUT_SECS_MAX: u64 = 24 * 3600;

impl WorkItem {
    pub fn new(definition: Definition) -> Result<Self, RuleBroken> {
        let d = &definition;
        rule(!d.title.trim().is_empty() && d.title.chars().count() <= TITLE_CHARS_MAX, "title", "1 to 200 characters")?;
        rule(!d.title.chars().any(char::is_control), "title", "one line without control characters")?;
        let b = &d.budget;
        rule(
            (1..=TIMEOUT_SECS_MAX).contains(&b.max_wall_time_seconds),
            "budget.max_wall_time_seconds",
            "1 second to 24 hours",
        )?;
        rule(b.max_attempts >= 1, "budget.max_attempts", "at least 1")?;
        let safe = |n: u64| n <= 1 << 53;
        rule(safe(b.max_tokens), "budget.max_tokens", "at most 2^53")?;
        rule(safe(b.max_cost_microusd), "budget.max_cost_usd", "at most 2^53 micro-dollars")?;
        rule(d.steps.len() <= STEPS_MAX, "steps", "at most 50 steps")?;
        for (n, step) in d.steps.iter().enumerate() {
            command(&step.run, &format!("steps[{n}].run"))?;
            let inside = step.cwd.as_deref().is_none_or(|cwd| !cwd.starts_with('/') && no_dots(cwd));
            rule(
                inside,
                &format!("steps[{n}].cwd"),
                "a path inside the first directory that may be changed, without `..`",
            )?;
        }
        if let Some((key, expected)) = d.executor.as_ref().and_then(Mandate::broken) {
            return Err(RuleBroken { key: format!("executor.{key}"), expected });
        }
        rule(d.verify.len() <= CHECKS_MAX, "verify", "at most 50 checks")?;
        for (n, check) in d.verify.iter().enumerate() {
            let key = |field: &str| format!("verify[{n}].{field}");
            let named = !check.name.trim().is_empty() && check.name.chars().count() <= TITLE_CHARS_MAX;
            rule(named && !check.name.chars().any(char::is_control), &key("name"), "1 to 200 characters on one line")?;
            rule(!d.verify[..n].iter().any(|c| c.name == check.name), &key("name"), "a name that no other check has")?;
            command(&check.run, &key("run"))?;
            let is_plain = !matches!(check.run, Command::Python(_));
            rule(is_plain, &key("run"), "a command or a list of its words; `python` is for steps")?;
            rule((1..=TIMEOUT_SECS_MAX).contains(&check.timeout), &key("timeout"), "1 second to 24 hours")?;
            rule(
                !check.network || !d.hosts.is_empty(),
                &key("network"),
                "false, because the plan grants no host; name one under sandbox.hosts",
            )?;
        }
        rule(d.directories.len() <= DIRECTORIES_MAX, "sandbox.directories", "at most 16 directories")?;
        for (n, directory) in d.directories.iter().enumerate() {
            let key = format!("sandbox.directories[{n}].path");
            rule(directory.path.starts_with('/') && no_dots(&directory.path), &key, "an absolute path without `..`")?;
            let earlier = &d.directories[..n];
            rule(!earlier.iter().any(|e| e.path == directory.path), &key, "a directory that is not named already")?;
            // Two copies of one file would not know of each other.
            let both_write = |e: &Directory| e.access == Access::Write && directory.access == Access::Write;
            let nested = |e: &Directory| contains(&e.path, &directory.path) || contains(&directory.path, &e.path);
            let apart = !earlier.iter().any(|e| both_write(e) && nested(e));
            rule(apart, &key, "a directory that lies neither in nor around another that may be changed")?;
        }
        rule(d.hosts.len() <= HOSTS_MAX, "sandbox.hosts", "at most 32 hosts")?;
        rule(d.secrets.len() <= SECRETS_MAX, "sandbox.secrets", "at most 16 secrets")?;
        for (n, host) in d.hosts.iter().enumerate() {
            rule(!d.hosts[..n].contains(host), &format!("sandbox.hosts[{n}]"), "a host that is not listed twice")?;
        }
        wanted::check(d)?;
        for (n, secret) in d.secrets.iter().enumerate() {
            rule(
                !d.secrets[..n].contains(secret),
                &format!("sandbox.secrets[{n}]"),
                "a secret that is not listed twice",
            )?;
        }
        // Lower ports belong to the system, and what listens there is believed.
        let callback = d.callback_port.is_none_or(|port| port >= 1024);
        rule(callback, "sandbox.callback_port", "a port from 1024 to 65535")?;
        rule(d.toolchains.len() <= TOOLCHAINS_MAX, "sandbox.toolchains", "at most 16 toolchains")?;
        for (n, toolchain) in d.toolchains.iter().enumerate() {
            let key = format!("sandbox.toolchains[{n}].path");
            rule(toolchain.path.starts_with('/') && no_dots(&toolchain.path), &key, "an absolute path without `..`")?;
        }
        d.exits.check(&d.flows)?;
        d.planned.as_ref().map_or(Ok(()), Planned::check)?;
        let does_one_thing = d.merges.is_none() || (d.restores.is_none() && !d.commits && d.executor.is_none());
        rule(does_one_thing, "sandbox.merges", "nothing else that brings changes: no restores, commits or executor")?;
        rule(
            (d.steps.is_empty() && d.executor.is_none()) || d.directories.iter().any(|d| d.access == Access::Write),
            "sandbox.directories",
            "at least one directory to work in, because there are steps or an executor",
        )?;
        Ok(WorkItem(definition))
    }

    pub fn definition(&self) -> &Definition {
        &self.0
    }

    pub fn id(&self) -> &WorkItemId {
        &self.0.id
    }

    /// The bytes that an approval covers: every field that decides what happens, in canonical JSON. Fields of features
    /// that this version does not have stand at their empty values, so that adding those features changes no old hash.
    pub fn canonical(&self) -> Result<String, canonical::Error> {
        canonical::text(&self.projection())
    }

    pub fn plan_hash(&self) -> Result<Digest, canonical::Error> {
        Ok(Digest::of(self.canonical()?.as_bytes()))
    }

    fn projection(&self) -> Value {
        let d = &self.0;
        let mut sandbox = json!({ "directories": d.directories, "hosts": d.hosts, "toolchains": d.toolchains });
        // Younger than the first plans, whose hashes stay what they were.
        if !d.hosts_for.is_empty() {
            sandbox["hosts_for"] = json!(d.hosts_for);
        }
        if !d.secrets.is_empty() {
            sandbox["secrets"] = json!(d.secrets);
        }
        if let Some(port) = d.callback_port {
            sandbox["callback_port"] = json!(port);
        }
        if d.commits {
            sandbox["commits"] = json!(true);
        }
        if let Some(execution) = &d.restores {
            sandbox["restores"] = json!(execution);
        }
        if let Some(merging) = &d.merges {
            sandbox["merges"] = json!(merging);
        }
        let mut plan = json!({
            "id": d.id,
            "type": "task",
            "title": d.title,
            "parent": d.parent,
            "spawned_by": d.spawned_by,
            "follow_up_of": d.follow_up_of,
            "domain": d.domain,
            "agent": "ephemeral",
            "budget": d.budget,
            "body": d.body,
            "interaction_mode": d.interaction_mode,
            "input_artifacts_from": [],
            "steps": d.steps,
            "verify": d.verify,
            "gates": [],
            "skills": [],
            "access_levels": {},
            "escalation": {},
            "schedule": null,
            "on_failure": d.on_failure,
            "on_stuck": d.on_stuck,
            "failure_context": d.failure_context,
            "tasks": [],
            "depends_on": [],
            "sandbox": sandbox,
            "flows": d.flows,
        });
        // Younger than the first plans too.
        if let Some(mandate) = &d.executor {
            plan["executor"] = json!(mandate);
        }
        if !d.exits.is_empty() {
            plan["exits"] = json!(d.exits);
        }
        if let Some(planned) = &d.planned {
            plan["planned"] = json!(planned);
        }
        plan
    }

    /// Reads back what [`WorkItem::canonical`] wrote. The launcher does this with the bytes whose hash was signed.
    pub fn from_canonical(text: &str) -> Result<Self, String> {
        let value: Value = canonical::read(text).map_err(|e| e.to_string())?;
        let field = |key: &str| value.get(key).cloned().unwrap_or(Value::Null);
        let sandbox = |key: &str| value.get("sandbox").and_then(|sandbox| sandbox.get(key)).cloned();
        let definition = json!({
            "id": field("id"), "title": field("title"), "parent": field("parent"),
            "spawned_by": field("spawned_by"), "follow_up_of": field("follow_up_of"), "domain": field("domain"),
            "budget": field("budget"), "body": field("body"), "planned": field("planned"), "interaction_mode": field("interaction_mode"),
            "steps": field("steps"), "executor": field("executor"), "verify": field("verify"),
            "directories": sandbox("directories").unwrap_or(Value::Null),
            "hosts": sandbox("hosts").unwrap_or(Value::Null),
            "hosts_for": sandbox("hosts_for").unwrap_or_else(|| json!([])),
            "secrets": sandbox("secrets").unwrap_or_else(|| json!([])),
            "callback_port": sandbox("callback_port").unwrap_or(Value::Null),
            "commits": sandbox("commits").unwrap_or(Value::Bool(false)),
            "restores": sandbox("restores").unwrap_or(Value::Null),
            "merges": sandbox("merges").unwrap_or(Value::Null),
            "toolchains": sandbox("toolchains").unwrap_or(Value::Null),
            "flows": field("flows"), "exits": value.get("exits").cloned().unwrap_or_else(|| json!({})),
            "on_failure": field("on_failure"), "on_stuck": field("on_stuck"),
            "failure_context": field("failure_context"),
        });
        let definition: Definition = serde_json::from_value(definition).map_err(|e| e.to_string())?;
        let item = WorkItem::new(definition).map_err(|e| e.to_string())?;
        // Whatever this version does not know would be lost above; then the bytes differ and are refused.
        let again = item.canonical().map_err(|e| e.to_string())?;
        if again == text { Ok(item) } else { Err("the plan has parts that this version does not know".to_owned()) }
    }

    /// The same plan with its directories pinned to what they are on disk now.
    pub fn with_directories(&self, directories: Vec<Directory>) -> Result<Self, RuleBroken> {
        WorkItem::new(Definition { directories, ..self.0.clone() })
    }
}

pub(crate) fn rule(holds: bool, key: &str, expected: &str) -> Result<(), RuleBroken> {
    if holds { Ok(()) } else { Err(RuleBroken { key: key.to_owned(), expected: expected.to_owned() }) }
}

fn command(run: &Command, key: &str) -> Result<(), RuleBroken> {
    let size = run.argv().iter().map(String::len).sum::<usize>();
    let given = match run {
        Command::Shell(script) => !script.trim().is_empty(),
        Command::Argv(argv) => argv.first().is_some_and(|program| !program.is_empty()),
        Command::Python(script) => !script.python.trim().is_empty(),
    };
    rule(given && size <= COMMAND_BYTES_MAX, key, "a command of at most 16 KiB")?;
    rule(!run.argv().iter().any(|arg| arg.contains('\0')), key, "a command without NUL characters")
}

fn no_dots(path: &str) -> bool {
    !path.split('/').any(|part| part == "..") && !path.contains('\0')
}

impl TryFrom<Definition> for WorkItem {
    type Error = RuleBroken;
    fn try_from(definition: Definition) -> Result<Self, RuleBroken> {
        WorkItem::new(definition)
    }
}

impl From<WorkItem> for Definition {
    fn from(item: WorkItem) -> Definition {
        item.0
    }
}

/// What the runtime learns about an item. Written by the runtime alone; never hashed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkState {
    pub approval_token: Option<TokenId>,
    pub needs_approval: bool,
    pub status: Status,
    pub attempts: u32,
    pub budget_used: BudgetUsed,
    pub verification_results: Vec<CheckResult>,
    pub created_at: Timestamp,
}

impl WorkState {
    pub fn new(created_at: Timestamp) -> Self {
        WorkState {
            approval_token: None,
            needs_approval: true,
            status: Status::Pending,
            attempts: 0,
            budget_used: BudgetUsed::default(),
            verification_results: Vec::new(),
            created_at,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
