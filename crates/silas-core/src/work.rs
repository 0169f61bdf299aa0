//! Work items: what is to be done, within which limits, and which checks decide whether it is.
//!
//! A [`WorkItem`] is what a plan says; it never changes after it was approved. What the runtime learns while it works is
//! [`WorkState`], and no byte of that is hashed.

mod budget;
mod directory;
mod merging;
mod projection;
mod rules;
mod state;

pub use budget::{Budget, BudgetUsed};
pub use directory::{Directory, Replacing};
pub use merging::Merging;
pub(crate) use rules::rule;
pub use state::{Status, WorkState};

use crate::check::{Check, Command};
use crate::exits::{Exits, Flow, Glob};
use crate::host::HostGrant;
use crate::mandate::Mandate;
use crate::planned::Planned;
use crate::secret::SecretRef;
use crate::toolchain::Toolchain;
use crate::wanted::HostFor;
use crate::{ExecutionId, WorkItemId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InteractionMode {
    DefaultAndOffer,
    ActAndReport,
    ConfirmOnlyWhenRequired,
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
    /// Files that the work is about: what a check opens judges it, except these. Seen like the paths of [`Exits`].
    #[serde(default)]
    pub changes: Vec<Glob>,
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
    /// Whether what git ignores in the directories is a work product too: shown, checked and applied.
    #[serde(default)]
    pub include_ignored: bool,
    /// Ignored directories, such as `node_modules`, that the checks after the work see as the work left them. They are not
    /// applied, and the results name them.
    #[serde(default)]
    pub beside: Vec<String>,
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

/// Where a plan that puts files back finds them, with a script `restore` and a script `check`; one that merges finds a
/// script `lay`.
pub const KEPT_INSIDE: &str = "/tmp/kept";

pub const TITLE_CHARS_MAX: usize = 200;
pub const STEPS_MAX: usize = 50;
pub const CHECKS_MAX: usize = 50;
pub const DIRECTORIES_MAX: usize = 16;
pub const BESIDE_MAX: usize = 16;
pub const COMMAND_BYTES_MAX: usize = 16 * 1024;
/// Of a command that a model chose, which may be a whole file that it writes; the kernel takes 128 KiB in a word.
pub const WORK_COMMAND_BYTES_MAX: usize = 64 * 1024;
pub const TIMEOUT_SECS_MAX: u64 = 24 * 3600;

impl WorkItem {
    pub fn definition(&self) -> &Definition {
        &self.0
    }

    pub fn id(&self) -> &WorkItemId {
        &self.0.id
    }
}

impl Definition {
    /// A plan of Silas's own making, in which no model takes part. It does nothing, reaches nothing and checks nothing until
    /// whoever makes it says what: here, and nowhere else, a field has a value that nobody named.
    pub fn without_model(id: WorkItemId, title: String, body: String, max_wall_time_seconds: u64) -> Self {
        Definition {
            id,
            title,
            parent: None,
            spawned_by: None,
            follow_up_of: None,
            domain: None,
            budget: Budget { max_wall_time_seconds, ..Budget::default() }.without_models(),
            body,
            planned: None,
            interaction_mode: InteractionMode::ConfirmOnlyWhenRequired,
            steps: Vec::new(),
            executor: None,
            verify: Vec::new(),
            changes: Vec::new(),
            directories: Vec::new(),
            hosts: Vec::new(),
            hosts_for: Vec::new(),
            secrets: Vec::new(),
            callback_port: None,
            commits: false,
            include_ignored: false,
            beside: Vec::new(),
            restores: None,
            merges: None,
            toolchains: Vec::new(),
            flows: Vec::new(),
            exits: Exits::default(),
            on_failure: "report".to_owned(),
            on_stuck: "report".to_owned(),
            failure_context: None,
        }
    }
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

#[cfg(test)]
pub(crate) mod tests;
