//! Commands in the copy, and what is said about them besides what they printed.

use super::{Copy, text, text_or_none};
use crate::minds::file_tools::PATH_CHARS_MAX;
use crate::work::job::Failure;
use serde_json::json;
use silas_agents::tools::{Authorised, Doing, Done, Tool};
use silas_core::Tainted;
use silas_core::check::Command;
use silas_core::envelope::ExecutionResult;
use silas_core::taint::Source;
use silas_core::tool::{Effect, Spec, object};
use silas_gates::{injection, scrub};

/// The longest script of one call; a longer one is several.
const SCRIPT_CHARS_MAX: u64 = 12_000;
/// How long a command may take that says nothing about it, and at most.
const TIMEOUT_SECS: u64 = 120;
const TIMEOUT_SECS_MAX: u64 = 900;
const SHELL: &str = "Runs a script with sh in the copy, and gives back what it printed.";
const PYTHON: &str = "Runs a script with python3 in the copy, and gives back what it printed.";

/// A tool whose hands are a command in the copy.
struct InCopy<'a, 's> {
    spec: Spec,
    copy: &'a Copy<'s>,
    command: fn(String) -> Command,
    source: fn(&str) -> String,
}

impl Tool<Failure> for InCopy<'_, '_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Failure> {
        Box::pin(async move {
            let arguments = call.arguments();
            let script = text(arguments, "script");
            let source = (self.source)(&script);
            let timeout = arguments["timeout_seconds"].as_u64().unwrap_or(TIMEOUT_SECS);
            let result = self.copy.run((self.command)(script), text_or_none(arguments, "cwd"), timeout)?;
            let content = result.for_model.peek();
            let printed: String =
                [&content.return_value].into_iter().chain(content.artifacts.values()).cloned().collect();
            let remark = remark(&result, printed.is_empty());
            // It ran on a copy of files of unknown authors.
            let taint = Source::Execution { inputs: Source::Elsewhere.taint(), network: false }.taint();
            let for_model = Tainted::new(printed, taint);
            Ok(Done { for_model, remark, is_private: true, source, is_success: result.success })
        })
    }
}

/// What Silas says about a command besides what it printed; names that it asked for are the command's words.
pub(super) fn remark(result: &ExecutionResult, is_silent: bool) -> Option<String> {
    let mut said: Vec<String> = result.error.iter().cloned().collect();
    match &result.metadata.printed_at {
        Some(path) => said.push(format!(
            "More was printed than is shown: its beginning and its end. All of it is in {path}, for read_file, search and commands."
        )),
        None if result.metadata.is_truncated => said.push("More was printed than is shown.".to_owned()),
        None => {}
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

pub(super) fn all<'a>(copy: &'a Copy<'_>) -> Vec<Box<dyn Tool<Failure> + 'a>> {
    let [shell, python] = specs();
    vec![
        Box::new(InCopy {
            spec: shell,
            copy,
            command: Command::Shell,
            source: |script| format!("the command `{}`", scrub::visible_line(script, 60)),
        }),
        Box::new(InCopy { spec: python, copy, command: Command::python, source: |_| "a script in Python".to_owned() }),
    ]
}

pub(super) fn specs() -> [Spec; 2] {
    [script("shell_exec", SHELL, "shell.exec"), script("python_exec", PYTHON, "python.exec")]
}

fn script(name: &str, about: &str, capability: &str) -> Spec {
    let cwd = json!({ "type": ["string", "null"], "maxLength": PATH_CHARS_MAX, "description": "where it starts" });
    let time =
        json!({ "type": ["integer", "null"], "minimum": 1, "maximum": TIMEOUT_SECS_MAX, "description": "null: 120" });
    let schema = object(&[
        ("script", json!({ "type": "string", "minLength": 1, "maxLength": SCRIPT_CHARS_MAX })),
        ("cwd", cwd),
        ("timeout_seconds", time),
    ]);
    Spec {
        // Inside a private copy a command decides about nothing but the copy.
        content: ["script", "cwd", "timeout_seconds"].map(str::to_owned).to_vec(),
        paths: vec!["cwd".to_owned()],
        time: Some(("timeout_seconds".to_owned(), TIMEOUT_SECS)),
        shown_by: Some("script".to_owned()),
        capabilities: vec![capability.to_owned()],
        effect: Effect::Workspace,
        is_idempotent: false,
        is_parallel: false,
        ..Spec::reading(name, about, schema)
    }
}
