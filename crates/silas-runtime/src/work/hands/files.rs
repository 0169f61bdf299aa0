//! Reading, searching and editing files in the copy, byte for byte.
//!
//! A file reaches the model exactly as it is, with numbers before its lines, and only one that it saw whole and as it is now
//! is rewritten. What is done is worked out in the cell ([`FileOrder`]); here stands how a model asks for it.

use super::{Copy, text, text_or_none, unmeant};
use crate::minds::file_tools::PATH_CHARS_MAX;
use crate::work::job::Failure;
use serde_json::{Value, json};
use silas_agents::tools::{Authorised, Doing, Done, Tool};
use silas_core::file_order::{FileOrder, WRITTEN_CHARS_MAX};
use silas_core::patch::{self, FilePatch};
use silas_core::taint::Source;
use silas_core::tool::{Effect, Spec, object};
use silas_core::work::Directory;
use silas_core::{Tainted, mandate};
use silas_gates::scrub;

const LINES_MAX: u64 = 5_000;
const DEPTH_MAX: u64 = 20;
const DEPTH_USUAL: u64 = 2;
const PATTERN_CHARS_MAX: u64 = 1_000;

const READ: &str = "Shows a text file, or lines of it, each after its number and a tab.";
const SEARCH: &str =
    "Finds lines that a regular expression (as Rust has them) matches, in a file or below a directory.";
const LIST: &str = "Lists what is below a directory: kind (f file, d directory, l link), size, path.";
const EDIT: &str =
    "Replaces old_text, which must stand exactly once in the file (or everywhere, with all), by new_text.";
const PATCH: &str = "Changes several files at once, all or none. Lines: `*** Begin Patch`; for each file `*** Update File: \
                     PATH` (then perhaps `*** Move to: PATH`), `*** Add File: PATH` or `*** Delete File: PATH`; changes as lines \
                     after ` `, `-` or `+`, each change after `@@` or `@@ a line above it`, with 3 lines around; `*** End Patch`.";
const WRITE: &str = "Writes exactly this text as a whole file. One that is there must have been read whole first.";

/// A tool whose hands are an order about files.
struct OnFiles<'a, 's> {
    spec: Spec,
    copy: &'a Copy<'s>,
    directories: &'a [Directory],
    order: fn(&Value) -> Result<FileOrder, String>,
}

impl Tool<Failure> for OnFiles<'_, '_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Failure> {
        Box::pin(async move {
            let order = match (self.order)(call.arguments()) {
                Ok(order) => order,
                Err(why) => return Ok(not_done(format!("Not done: {why}."))),
            };
            // The paths of a patch stand inside its text, where nobody else has looked.
            if let FileOrder::Patch(files) = &order
                && let Some(why) =
                    files.iter().flat_map(FilePatch::paths).find_map(|path| unmeant(path, self.directories))
            {
                return Ok(not_done(format!("Not done: {why}.")));
            }
            let source = source(&order);
            let answer = self.copy.files(order)?;
            Ok(Done {
                // Nobody knows who wrote a file of the copy.
                for_model: Tainted::new(answer.shown, Source::Elsewhere.taint()),
                remark: (!answer.said.is_empty()).then_some(answer.said),
                is_private: true,
                source,
                is_success: answer.is_done,
            })
        })
    }
}

fn not_done(why: String) -> Done {
    let for_model = Tainted::new(String::new(), Source::Elsewhere.taint());
    Done { for_model, remark: Some(why), is_private: true, source: "no file".to_owned(), is_success: false }
}

/// Where an answer is from, in words for a card.
fn source(order: &FileOrder) -> String {
    let named = |path: &str| scrub::visible_line(path, 60);
    match order {
        FileOrder::Read { path, .. } | FileOrder::Write { path, .. } | FileOrder::Edit { path, .. } => {
            format!("the file {}", named(path))
        }
        FileOrder::Patch(files) => {
            let paths: Vec<String> = files.iter().flat_map(FilePatch::paths).take(5).map(named).collect();
            format!("the files {}", paths.join(", "))
        }
        FileOrder::Search { path, .. } => format!("lines of files in {}", named(path)),
        FileOrder::List { path, .. } => format!("the names of files in {}", named(path)),
    }
}

pub(super) fn all<'a>(copy: &'a Copy<'_>, directories: &'a [Directory]) -> Vec<Box<dyn Tool<Failure> + 'a>> {
    let orders = [read, search, list, edit, apply_patch, write];
    let tools = specs().into_iter().zip(orders);
    tools
        .map(|(spec, order)| -> Box<dyn Tool<Failure>> { Box::new(OnFiles { spec, copy, directories, order }) })
        .collect()
}

fn read(arguments: &Value) -> Result<FileOrder, String> {
    Ok(FileOrder::Read {
        path: text(arguments, "path"),
        from_line: arguments["from_line"].as_u64().unwrap_or(1),
        lines: arguments["lines"].as_u64(),
    })
}

fn search(arguments: &Value) -> Result<FileOrder, String> {
    Ok(FileOrder::Search {
        pattern: text(arguments, "pattern"),
        path: text(arguments, "path"),
        name: text_or_none(arguments, "name"),
    })
}

fn list(arguments: &Value) -> Result<FileOrder, String> {
    let name = text_or_none(arguments, "name");
    // Who looks for a name looks everywhere.
    let usual = if name.is_some() { DEPTH_MAX } else { DEPTH_USUAL };
    Ok(FileOrder::List { path: text(arguments, "path"), depth: arguments["depth"].as_u64().unwrap_or(usual), name })
}

fn edit(arguments: &Value) -> Result<FileOrder, String> {
    Ok(FileOrder::Edit {
        path: text(arguments, "path"),
        old: text(arguments, "old_text"),
        new: text(arguments, "new_text"),
        all: arguments["all"].as_bool().unwrap_or(false),
    })
}

fn apply_patch(arguments: &Value) -> Result<FileOrder, String> {
    patch::parse(&text(arguments, "patch")).map(FileOrder::Patch)
}

fn write(arguments: &Value) -> Result<FileOrder, String> {
    Ok(FileOrder::Write { path: text(arguments, "path"), text: text(arguments, "text") })
}

pub(super) fn specs() -> [Spec; 6] {
    let path = || ("path", json!({ "type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX }));
    let written = || json!({ "type": "string", "maxLength": WRITTEN_CHARS_MAX });
    let optional = |max: u64, usual: &str| {
        let about = format!("null: {usual}");
        json!({ "type": ["integer", "null"], "minimum": 1, "maximum": max, "description": about })
    };
    let name = || ("name", json!({ "type": ["string", "null"], "maxLength": 200, "description": "such as *.py" }));
    let pattern = ("pattern", json!({ "type": "string", "minLength": 1, "maxLength": PATTERN_CHARS_MAX }));
    let [lines, from, depth] = [optional(LINES_MAX, "all"), optional(1_000_000_000, "1"), optional(DEPTH_MAX, "2")];
    let all = json!({ "type": ["boolean", "null"] });
    [
        reading("read_file", READ, "files.read", &[path(), ("from_line", from), ("lines", lines)]),
        reading(mandate::SEARCH, SEARCH, "files.search", &[pattern, path(), name()]),
        reading("list_files", LIST, "files.list", &[path(), ("depth", depth), name()]),
        writing(mandate::EDIT_FILE, EDIT, &[path(), ("old_text", written()), ("new_text", written()), ("all", all)]),
        Spec {
            paths: Vec::new(),
            shown_by: Some("patch".to_owned()),
            ..writing(mandate::APPLY_PATCH, PATCH, &[("patch", written())])
        },
        writing(mandate::WRITE_FILE, WRITE, &[path(), ("text", written())]),
    ]
}

fn reading(name: &str, about: &str, capability: &str, arguments: &[(&str, Value)]) -> Spec {
    Spec {
        // Inside a private copy what is looked at decides about nothing but the copy.
        content: arguments.iter().map(|(name, _)| (*name).to_owned()).collect(),
        paths: vec!["path".to_owned()],
        shown_by: Some("path".to_owned()),
        capabilities: vec![capability.to_owned()],
        is_parallel: false,
        ..Spec::reading(name, about, object(arguments))
    }
}

fn writing(name: &str, about: &str, arguments: &[(&str, Value)]) -> Spec {
    Spec { effect: Effect::Workspace, is_idempotent: false, ..reading(name, about, "files.write", arguments) }
}
