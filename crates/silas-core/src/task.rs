//! The owner's tasks, and the exact calls on them that the owner's own words make.
//!
//! A call is worked out once, written down, and repeated from there: its ids follow from the run that makes it and from its
//! place in that run, so carrying it out again is the same change and not a second one. Deleting is deliberately absent: it needs a card.

use crate::reflex::Decision;
use crate::{Digest, MessageId, RunKey, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;

/// Longest title. What is longer is a note.
pub const TITLE_CHARS_MAX: usize = 1000;

/// A task of the owner's: a UUID. (What Silas works on is a work item and has an id of its own.)
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct TaskId(String);

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the id of a task")]
pub struct BadTaskId(String);

/// One change that crosses both domains, known by the same id in both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(Digest);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Open,
    Done,
}

/// One exact change of the human's tasks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskCall {
    AddTask {
        task: TaskId,
        title: String,
    },
    /// `title` and `version` are those of the task that was looked at; another one is not touched.
    CompleteTask {
        task: TaskId,
        title: String,
        version: u64,
    },
    ReopenTask {
        task: TaskId,
        title: String,
        version: u64,
    },
}

/// Why a call changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    #[error("there is no such task")]
    Missing,
    #[error("the task is in that state already")]
    AlreadySo,
    #[error("the task was changed meanwhile")]
    Changed,
    #[error("there are too many open tasks")]
    TooMany,
    #[error("the message that asked for it does not verify")]
    NotApproved,
}

/// How an operation ended. It ends once; asking again gives the same ending.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ending {
    Done {},
    Refused { why: Refusal },
}

impl TaskId {
    pub fn parse(text: &str) -> Result<Self, BadTaskId> {
        let shape = b"hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
        let is_hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
        let fits = text.len() == shape.len()
            && text.as_bytes().iter().zip(shape).all(|(b, s)| if *s == b'h' { is_hex(b) } else { b == s });
        if fits { Ok(TaskId(text.to_owned())) } else { Err(BadTaskId(text.chars().take(40).collect())) }
    }

    /// The task that an operation adds: adding it twice is the same task twice.
    pub fn derive(operation: &OperationId) -> Self {
        let digest = Digest::of(format!(r#"["v1","task","{operation}"]"#).as_bytes());
        let mut b = [0u8; 16];
        b.copy_from_slice(&digest.as_bytes()[..16]);
        // Version 8: a UUID whose other bits follow a rule of our own.
        b[6] = b[6] & 0x0f | 0x80;
        b[8] = b[8] & 0x3f | 0x80;
        let hex: String = b.iter().map(|b| format!("{b:02x}")).collect();
        TaskId(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl OperationId {
    /// One action of a run: which tool with which arguments, and which call of the run it is, counted from 0. The same call at
    /// another place of the run, or in another run, is another operation.
    pub fn of(run: &RunKey, tool: &str, arguments: &Value, occurrence: u32) -> Result<Self, canonical::Error> {
        canonical::digest(&json!(["v1", "operation", run, tool, arguments, occurrence])).map(OperationId)
    }

    /// As operations were called when a message made at most one. No new one is. Ids need no escaping in JSON.
    pub fn derive(message: &MessageId) -> Self {
        OperationId(Digest::of(format!(r#"["v1","operation","{message}"]"#).as_bytes()))
    }

    /// The event by which the human's file tells the ledger of the change.
    pub fn event(&self) -> Digest {
        Digest::of(format!(r#"["v1","event","{self}"]"#).as_bytes())
    }
}

/// The names under which a task is changed.
pub const ADD_TASK: &str = "add_task";
pub const COMPLETE_TASK: &str = "complete_task";
pub const REOPEN_TASK: &str = "reopen_task";

impl TaskCall {
    /// The call that adds a task. Which task it is follows from the operation.
    pub fn add(run: &RunKey, title: String, occurrence: u32) -> Result<Self, canonical::Error> {
        let operation = OperationId::of(run, ADD_TASK, &json!({ "title": title }), occurrence)?;
        Ok(TaskCall::AddTask { task: TaskId::derive(&operation), title })
    }

    /// The operation of this call at a place of a run.
    pub fn operation(&self, run: &RunKey, occurrence: u32) -> Result<OperationId, canonical::Error> {
        OperationId::of(run, self.tool(), &self.asked(), occurrence)
    }

    /// The arguments without those that follow from the operation.
    fn asked(&self) -> Value {
        match self {
            TaskCall::AddTask { title, .. } => json!({ "title": title }),
            TaskCall::CompleteTask { .. } | TaskCall::ReopenTask { .. } => self.arguments(),
        }
    }

    /// The tool that it calls.
    pub fn tool(&self) -> &'static str {
        match self {
            TaskCall::AddTask { .. } => ADD_TASK,
            TaskCall::CompleteTask { .. } => COMPLETE_TASK,
            TaskCall::ReopenTask { .. } => REOPEN_TASK,
        }
    }

    /// What it calls that tool with.
    pub fn arguments(&self) -> Value {
        match self {
            TaskCall::AddTask { task, title } => json!({ "task": task, "title": title }),
            TaskCall::CompleteTask { task, title, version } | TaskCall::ReopenTask { task, title, version } => {
                json!({ "task": task, "title": title, "version": version })
            }
        }
    }

    /// Whether this is the call that the owner's words ask for. Everything but the state of the list is checked here.
    pub fn fits(&self, operation: &OperationId, said: &Decision) -> bool {
        match (self, said) {
            (TaskCall::AddTask { task, title }, Decision::AddTask { title: said }) => {
                title == said && *task == TaskId::derive(operation)
            }
            (TaskCall::CompleteTask { task, title, .. }, Decision::CompleteTask { task: said })
            | (TaskCall::ReopenTask { task, title, .. }, Decision::ReopenTask { task: said }) => {
                is_named(said, task, title)
            }
            _ => false,
        }
    }

    pub fn title(&self) -> &str {
        match self {
            TaskCall::AddTask { title, .. }
            | TaskCall::CompleteTask { title, .. }
            | TaskCall::ReopenTask { title, .. } => title,
        }
    }
}

/// Whether somebody means this task: by its id, or by its whole title in any case.
pub fn is_named(said: &str, task: &TaskId, title: &str) -> bool {
    said == task.as_str() || said.to_lowercase() == title.to_lowercase()
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> String {
        id.0
    }
}

impl TryFrom<String> for TaskId {
    type Error = BadTaskId;
    fn try_from(text: String) -> Result<Self, BadTaskId> {
        TaskId::parse(&text)
    }
}

impl TryFrom<String> for OperationId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Digest::try_from(text).map(OperationId)
    }
}

#[cfg(test)]
mod tests;
