//! The tools of a model that works on a plan: commands and reading in the private copy, and a word to the owner.
//!
//! Inside the copy nothing is an effect, so nothing of this asks; what leaves the copy is decided elsewhere. Reading goes
//! through a cell like a command does: what a link in the copy points to is what a cell sees, and no more.

use super::job::Failure;
use crate::Stream;
use crate::search::WebSearch;
use crate::telling::TellUser;
use serde_json::{Value, json};
use silas_agents::tools::{Doing, Done, Tool};
use silas_core::Tainted;
use silas_core::check::Command;
use silas_core::envelope::ExecutionResult;
use silas_core::taint::Source;
use silas_core::tool::{Effect, Spec, object};
use silas_gates::scrub;
use silas_sandbox::Workshop;
use std::sync::{Arc, Mutex, PoisonError};

/// The longest script of one call; a longer one is several.
const SCRIPT_CHARS_MAX: u64 = 12_000;
const PATH_CHARS_MAX: u64 = 1_000;
/// How long a command may take that says nothing about it, and at most.
pub(super) const TIMEOUT_SECS: u64 = 120;
const TIMEOUT_SECS_MAX: u64 = 900;
const READ_SECS: u64 = 30;
const LINES_USUAL: i64 = 400;
const LINES_MAX: u64 = 2_000;
const DEPTH_MAX: u64 = 8;
const SHELL: &str = "Runs a script with sh in the copy, and gives back what it printed.";
const PYTHON: &str = "Runs a script with python3 in the copy, and gives back what it printed.";

/// The open copy, used by one call at a time, and what was really run in it, in order.
pub(super) struct Copy<'a> {
    shop: Mutex<&'a mut Workshop>,
    ran: Mutex<Vec<(Command, ExecutionResult)>>,
}

impl<'a> Copy<'a> {
    pub(super) fn new(shop: &'a mut Workshop) -> Self {
        Copy { shop: Mutex::new(shop), ran: Mutex::default() }
    }

    /// What the calls really came to.
    pub(super) fn ran(self) -> Vec<(Command, ExecutionResult)> {
        self.ran.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, command: Command, timeout_secs: u64) -> Result<ExecutionResult, Failure> {
        let mut shop = self.shop.lock().unwrap_or_else(PoisonError::into_inner);
        // It waits for the command, and meanwhile for the ledger, where the command reaches something.
        let result = tokio::task::block_in_place(|| shop.work(command.clone(), timeout_secs))?;
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).push((command, result.clone()));
        Ok(result)
    }
}

/// A tool whose hands are a command in the copy.
struct InCopy<'a, 's> {
    spec: Spec,
    copy: &'a Copy<'s>,
    command: fn(&Value) -> Command,
    source: fn(&Value) -> String,
}

impl Tool<Failure> for InCopy<'_, '_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, arguments: &'a Value) -> Doing<'a, Failure> {
        Box::pin(async move {
            let timeout = arguments["timeout_seconds"].as_u64().unwrap_or(match self.spec.effect {
                Effect::Reads => READ_SECS,
                Effect::Workspace | Effect::Outside => TIMEOUT_SECS,
            });
            let result = self.copy.run((self.command)(arguments), timeout)?;
            let mut text = result.output();
            if let Some(error) = &result.error {
                text.push_str(&format!("\n{error}"));
            }
            if result.metadata.is_truncated {
                text.push_str("\nMore was printed than is shown.");
            }
            if text.trim().is_empty() {
                "It printed nothing and ended well.".clone_into(&mut text);
            }
            if !result.metadata.asked.is_empty() {
                text.push_str(&refused(&result.metadata.asked));
            }
            // It ran on a copy of files of unknown authors.
            let taint = Source::Execution { inputs: Source::Elsewhere.taint(), network: false }.taint();
            Ok(Done {
                for_model: Tainted::new(text, taint),
                is_private: true,
                source: (self.source)(arguments),
                is_success: result.success,
            })
        })
    }
}

/// What a model is told of names that its command asked for.
fn refused(names: &[String]) -> String {
    format!(
        "\nRefused: this command asked for {}, which the plan does not name. Nothing was sent. Go on without if you can; \
         the owner may be asked about it at the end.",
        names.join(", ")
    )
}

/// Every tool that works in a copy. Which of them a run has is for its plan to say.
pub(super) fn all<'a>(copy: &'a Copy<'_>, stream: &'a Arc<Stream>, model: &str) -> Vec<Box<dyn Tool<Failure> + 'a>> {
    let in_copy = |spec: Spec,
                   command: fn(&Value) -> Command,
                   source: fn(&Value) -> String|
     -> Box<dyn Tool<Failure>> { Box::new(InCopy { spec, copy, command, source }) };
    let mut tools = vec![
        in_copy(
            script("shell_exec", SHELL, "shell.exec"),
            |arguments| Command::Shell(text(arguments, "script")),
            |arguments| format!("the command `{}`", scrub::visible_line(&text(arguments, "script"), 60)),
        ),
        in_copy(
            script("python_exec", PYTHON, "python.exec"),
            |arguments| Command::python(text(arguments, "script")),
            |_| "a script in Python".to_owned(),
        ),
        in_copy(read_file(), read_command, file),
        in_copy(list_files(), list_command, |arguments| {
            format!("the names of files in {}", scrub::visible_line(&text(arguments, "path"), 60))
        }),
        Box::new(TellUser::new(stream, model)),
    ];
    if let Some(search) = &stream.search {
        tools.push(Box::new(WebSearch::new(search)));
    }
    tools
}

fn text(arguments: &Value, name: &str) -> String {
    arguments[name].as_str().unwrap_or_default().to_owned()
}

fn file(arguments: &Value) -> String {
    format!("the file {}", scrub::visible_line(&text(arguments, "path"), 60))
}

fn script(name: &str, about: &str, capability: &str) -> Spec {
    let schema = object(&[
        ("script", json!({ "type": "string", "minLength": 1, "maxLength": SCRIPT_CHARS_MAX })),
        (
            "timeout_seconds",
            json!({ "type": ["integer", "null"], "minimum": 1, "maximum": TIMEOUT_SECS_MAX, "description": "null: 120" }),
        ),
    ]);
    Spec {
        // Inside a private copy a command decides about nothing but the copy.
        content: vec!["script".to_owned(), "timeout_seconds".to_owned()],
        capabilities: vec![capability.to_owned()],
        effect: Effect::Workspace,
        is_idempotent: false,
        is_parallel: false,
        ..Spec::reading(name, about, schema)
    }
}

/// Shared with research, which reads the real directories instead of a copy.
pub(crate) fn read_file() -> Spec {
    let schema = object(&[
        ("path", json!({ "type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX })),
        ("from_line", json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 1_000_000_000 })),
        (
            "lines",
            json!({ "type": ["integer", "null"], "minimum": 1, "maximum": LINES_MAX, "description": "null: 400" }),
        ),
    ]);
    let spec = Spec::reading("read_file", "Gives back lines of a text file.", schema);
    Spec { capabilities: vec!["files.read".to_owned()], is_parallel: false, ..spec }
}

pub(crate) fn list_files() -> Spec {
    let schema = object(&[
        ("path", json!({ "type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX })),
        ("depth", json!({ "type": ["integer", "null"], "minimum": 1, "maximum": DEPTH_MAX, "description": "null: 2" })),
    ]);
    let about = "Lists what is in a directory: kind (f file, d directory, l link), size, path.";
    let spec = Spec::reading("list_files", about, schema);
    Spec { capabilities: vec!["files.list".to_owned()], is_parallel: false, ..spec }
}

/// The path and the numbers are words of their own; nothing is put into the script.
fn read_command(arguments: &Value) -> Command {
    let from = arguments["from_line"].as_i64().unwrap_or(1);
    let last = from + arguments["lines"].as_i64().unwrap_or(LINES_USUAL) - 1;
    let words = ["/bin/sh", "-c", "sed -n \"$2\" -- \"$1\"", "sh"].map(str::to_owned).into_iter();
    Command::Argv(words.chain([rooted(&text(arguments, "path")), format!("{from},{last}p")]).collect())
}

fn list_command(arguments: &Value) -> Command {
    let depth = arguments["depth"].as_i64().unwrap_or(2).to_string();
    let script =
        "find \"$1\" -mindepth 1 -maxdepth \"$2\" -name .git -prune -o -printf '%y %9s %P\\n' | sort -k3 | head -n 500";
    let words = ["/bin/sh", "-c", script, "sh"].map(str::to_owned).into_iter();
    Command::Argv(words.chain([rooted(&text(arguments, "path")), depth]).collect())
}

/// A relative name that cannot be taken for an option.
fn rooted(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("./{path}") }
}

#[cfg(test)]
mod tests;
