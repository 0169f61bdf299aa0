//! The tools of a model that works on a plan: commands and reading in the private copy, and a word to the owner.
//!
//! Inside the copy nothing is an effect, so nothing of this asks; what leaves the copy is decided elsewhere. Reading goes
//! through a cell like a command does: what a link in the copy points to is what a cell sees, and no more.

mod files;

use crate::work::Work;
use files::{ReadFile, WriteFile, write_file};

use super::job::Failure;
use crate::hub::TellUser;
use crate::minds::file_tools::{list_files, read_file};
use crate::minds::search::WebSearch;
use serde_json::{Value, json};
use silas_agents::tools::{Authorised, Doing, Done, Tool};
use silas_core::Tainted;
use silas_core::check::Command;
use silas_core::envelope::ExecutionResult;
use silas_core::taint::Source;
use silas_core::tool::{Effect, Spec, object};
use silas_gates::{injection, scrub};
use silas_sandbox::Workshop;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The longest script of one call; a longer one is several.
const SCRIPT_CHARS_MAX: u64 = 12_000;
/// How long a command may take that says nothing about it, and at most.
const TIMEOUT_SECS: u64 = 120;
const TIMEOUT_SECS_MAX: u64 = 900;
const READ_SECS: u64 = 30;
const SHELL: &str = "Runs a script with sh in the copy, and gives back what it printed.";
const PYTHON: &str = "Runs a script with python3 in the copy, and gives back what it printed.";

/// The open copy, used by one call at a time, and what was really run in it, in order.
pub(super) struct Copy<'a> {
    shop: Mutex<&'a mut Workshop>,
    ran: Mutex<Vec<(Command, ExecutionResult)>>,
    /// How the model has read each file of this attempt, by the path that it wrote.
    files: Mutex<BTreeMap<String, File>>,
}

/// What a model has seen of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum File {
    Unread,
    Part,
    /// All of it, exactly.
    Whole,
    /// Only a beginning, because it is longer than can be read at once.
    Longer,
    /// Nothing, because it is not UTF-8.
    NotText,
}

impl<'a> Copy<'a> {
    pub(super) fn new(shop: &'a mut Workshop) -> Self {
        Copy { shop: Mutex::new(shop), ran: Mutex::default(), files: Mutex::default() }
    }

    fn file(&self, path: &str) -> File {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(path.trim_start_matches("./")).copied().unwrap_or(File::Unread)
    }

    fn note_read(&self, path: &str, read: File) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files.entry(path.trim_start_matches("./").to_owned()).or_insert(read);
        // Lines of a file that was read whole take nothing away.
        if !(*known == File::Whole && read == File::Part) {
            *known = read;
        }
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

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Failure> {
        Box::pin(async move {
            let arguments = call.arguments();
            let timeout = arguments["timeout_seconds"].as_u64().unwrap_or(match self.spec.effect {
                Effect::Reads => READ_SECS,
                Effect::Workspace | Effect::Outside => TIMEOUT_SECS,
            });
            let result = self.copy.run((self.command)(arguments), timeout)?;
            let content = result.for_model.peek();
            let printed: String =
                [&content.return_value].into_iter().chain(content.artifacts.values()).cloned().collect();
            let remark = remark(&result, printed.is_empty());
            // It ran on a copy of files of unknown authors.
            let taint = Source::Execution { inputs: Source::Elsewhere.taint(), network: false }.taint();
            Ok(Done {
                for_model: Tainted::new(printed, taint),
                remark,
                is_private: true,
                source: (self.source)(arguments),
                is_success: result.success,
            })
        })
    }
}

/// What Silas says about a command besides what it printed; names that it asked for are the command's words.
fn remark(result: &ExecutionResult, is_silent: bool) -> Option<String> {
    let mut said: Vec<String> = result.error.iter().cloned().collect();
    if result.metadata.is_truncated {
        said.push("More was printed than is shown.".to_owned());
    }
    if result.metadata.is_not_text {
        said.push("What it printed is not UTF-8: each \u{fffd} stands for bytes that cannot be shown.".to_owned());
    }
    if is_silent && result.error.is_none() {
        said.push("It printed nothing and ended well.".to_owned());
    }
    if !result.metadata.asked.is_empty() {
        said.push(format!(
            "Refused: this command asked for {}, which the plan does not name. Nothing was sent. Go on without if you can; \
             the owner may be asked about it at the end.",
            injection::fenced(&result.metadata.asked.join(", "))
        ));
    }
    (!said.is_empty()).then(|| said.join("\n"))
}

/// Every tool that works in a copy. Which of them a run has is for its plan to say.
pub(super) fn all<'a>(copy: &'a Copy<'_>, work: &'a Arc<Work>, model: &str) -> Vec<Box<dyn Tool<Failure> + 'a>> {
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
        Box::new(ReadFile { spec: read_file(), copy }),
        Box::new(WriteFile { spec: write_file(), copy }),
        in_copy(list_files(), list_command, |arguments| {
            format!("the names of files in {}", scrub::visible_line(&text(arguments, "path"), 60))
        }),
        Box::new(TellUser::new(&work.hub, model)),
    ];
    if let Some(search) = work.minds.search() {
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
        time: Some(("timeout_seconds".to_owned(), TIMEOUT_SECS)),
        shown_by: Some("script".to_owned()),
        capabilities: vec![capability.to_owned()],
        effect: Effect::Workspace,
        is_idempotent: false,
        is_parallel: false,
        ..Spec::reading(name, about, schema)
    }
}

/// The path and the number are words of their own; nothing is put into the script.
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
