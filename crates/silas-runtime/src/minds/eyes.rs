//! The tools with which a run looks at the owner's files: it reads, lists, finds, searches, and asks git. The launcher looks,
//! under the decision that allowed the directory and without a card; nothing here can change anything.
//!
//! What is given back is numbered and bounded, and says how to read on. Nobody knows who wrote it, so it is external.

use crate::Trouble;
use crate::minds::Minds;
use crate::minds::file_tools::by_path;
use serde_json::{Value, json};
use silas_agents::tools::{Authorised, Doing, Done, Tool};
use silas_core::Tainted;
use silas_core::evidence::Allowance;
use silas_core::roots::{RootGrant, contains};
use silas_core::taint::Source;
use silas_core::tool::{Spec, object};
use silas_gates::scrub;
use silas_sandbox::{History, Look, Looked};

/// The directories that the owner allowed, with the decisions that did.
pub(crate) type Roots = Vec<(RootGrant, Allowance)>;

/// Of one result, in whole lines. Less than a model is told at most, so that what is missing is said here.
const TEXT_CHARS_MAX: usize = 11_000;
/// Of one line of a file. Longer ones are seldom written by hand.
const LINE_CHARS_MAX: usize = 1_000;
const LINES_MAX: u64 = 2_000;
const PATTERN_CHARS_MAX: u64 = 300;
/// Of a name in a step that is shown.
const SHOWN_CHARS_MAX: usize = 80;

/// One of them, by way of the launcher.
struct Eyes<'a> {
    spec: Spec,
    minds: &'a Minds,
    roots: &'a Roots,
    look: fn(&Value) -> Look,
    tell: fn(&Value, Looked) -> (String, Option<String>),
}

impl Tool<Trouble> for Eyes<'_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Trouble> {
        Box::pin(async move {
            let arguments = call.arguments();
            let path = text(arguments, "path");
            let source = format!("{} {}", self.spec.name, scrub::visible_line(&path, 60));
            let innermost = |root: &&(RootGrant, Allowance)| contains(&root.0.place.path, &path);
            let root = self.roots.iter().filter(innermost).max_by_key(|(grant, _)| grant.place.path.len());
            let (launcher, look) = (self.minds.house.launcher.clone(), (self.look)(arguments));
            let looked = match root.map(|(_, allowance)| allowance.clone()) {
                None => Ok(Err("it is in none of the allowed directories".to_owned())),
                Some(allowance) => {
                    let looking = move || launcher.look(&allowance, &path, look).map_err(|error| error.to_string());
                    tokio::task::spawn_blocking(looking).await
                }
            };
            let interrupted = |_| Trouble::new("E_SANDBOX_LOST", "Looking at a file was interrupted.", "Say it again.");
            let (text, remark, is_success) = match looked.map_err(interrupted)? {
                Ok(looked) => {
                    let passed_over = looked.passed_over.clone();
                    let (text, remark) = (self.tell)(arguments, looked);
                    let remarks: Vec<String> = remark.into_iter().chain(passed_over).collect();
                    (text, (!remarks.is_empty()).then(|| remarks.join(" ")), true)
                }
                Err(why) => (String::new(), Some(format!("It could not be read: {why}")), false),
            };
            let for_model = Tainted::new(text, Source::Elsewhere.taint());
            Ok(Done { for_model, remark, is_private: true, source, is_success })
        })
    }
}

/// All of them.
pub(crate) fn all<'a>(minds: &'a Minds, roots: &'a Roots) -> Vec<Box<dyn Tool<Trouble> + 'a>> {
    let one = |spec: Spec,
               look: fn(&Value) -> Look,
               tell: fn(&Value, Looked) -> (String, Option<String>)|
     -> Box<dyn Tool<Trouble> + 'a> { Box::new(Eyes { spec, minds, roots, look, tell }) };
    vec![
        one(
            read_file(),
            |arguments| Look::File {
                from_line: number(arguments, "from_line", 1),
                lines: number(arguments, "lines", LINES_MAX),
            },
            |arguments, looked| numbered(&looked, number(arguments, "from_line", 1)),
        ),
        one(
            list_files(),
            |arguments| match arguments["names"].as_str() {
                Some(names) => Look::Matching { names: names.to_owned() },
                None => Look::Names { depth: u32::try_from(number(arguments, "depth", 2)).unwrap_or(2) },
            },
            |_, looked| whole_lines(&looked, "No such files."),
        ),
        one(
            search_files(),
            |arguments| Look::Lines {
                of: text(arguments, "pattern"),
                names: arguments["names"].as_str().map(str::to_owned),
            },
            |_, looked| whole_lines(&looked, "Nothing was found."),
        ),
        one(
            git_read(),
            |arguments| Look::History(history(arguments)),
            |_, looked| whole_lines(&looked, "Git tells nothing of it."),
        ),
    ]
}

/// For the owner, while it goes on: what a call looks at. Nothing for calls that are no looks.
pub(crate) fn step(spec: &Spec, arguments: &Value, roots: &Roots) -> Option<String> {
    let named = |name: &str| format!("`{}`", scrub::visible_line(&text(arguments, name), SHOWN_CHARS_MAX));
    let path = || format!("`{}`", scrub::visible_line(&below(roots, &text(arguments, "path")), SHOWN_CHARS_MAX));
    Some(match spec.capabilities.first()?.as_str() {
        "files.read" => match arguments["from_line"].as_u64().filter(|line| *line > 1) {
            Some(line) => format!("Reading {} from line {line}", path()),
            None => format!("Reading {}", path()),
        },
        "files.list" if arguments["names"].is_string() => format!("Looking for {} in {}", named("names"), path()),
        "files.list" => format!("Listing {}", path()),
        "files.search" => format!("Searching {} for {}", path(), named("pattern")),
        "files.history" => format!("Reading git {} of {}", scrub::visible_line(&text(arguments, "what"), 8), path()),
        "work.recall" => "Looking at earlier work".to_owned(),
        "web.search" => format!("Searching the web for {}", named("query")),
        "research.request" => format!("Having somebody look: {}", named("question")),
        _ => return None,
    })
}

/// As its owner knows it: from the allowed directory on.
fn below(roots: &Roots, path: &str) -> String {
    let inside = roots.iter().filter(|(grant, _)| contains(&grant.place.path, path));
    let root = inside.map(|(grant, _)| grant.place.path.as_str()).max_by_key(|root| root.len());
    let Some(root) = root else { return path.to_owned() };
    let name = root.rsplit('/').next().unwrap_or(root);
    match path[root.len()..].trim_matches('/') {
        "" => name.to_owned(),
        rest => rest.to_owned(),
    }
}

fn text(arguments: &Value, name: &str) -> String {
    arguments[name].as_str().unwrap_or_default().to_owned()
}

fn number(arguments: &Value, name: &str, otherwise: u64) -> u64 {
    arguments[name].as_u64().unwrap_or(otherwise)
}

fn history(arguments: &Value) -> History {
    let revision = arguments["revision"].as_str().map(str::to_owned);
    match arguments["what"].as_str().unwrap_or_default() {
        "diff" => History::Diff { between: revision },
        "show" => History::Show { at: revision },
        "blame" => History::Blame {
            at: revision,
            from_line: number(arguments, "from_line", 1),
            lines: number(arguments, "lines", 200),
        },
        _ => History::Log { at: revision },
    }
}

/// Lines with their numbers, as many whole ones as fit, and where to go on.
fn numbered(looked: &Looked, from: u64) -> (String, Option<String>) {
    let mut told = String::new();
    let (mut n_chars, mut next) = (0, from);
    let mut lines = looked.text.split_inclusive('\n').peekable();
    while let Some(line) = lines.peek() {
        // The last one may have been cut in the middle, and the next look shows it whole.
        let is_part = looked.is_cut && !line.ends_with('\n') && next > from;
        let (part, is_long) = cut(line.trim_end_matches('\n'), LINE_CHARS_MAX);
        let one = format!("{next}\t{part}{}\n", if is_long { " … (the line goes on)" } else { "" });
        if is_part || (n_chars + one.chars().count() > TEXT_CHARS_MAX && next > from) {
            break;
        }
        n_chars += one.chars().count();
        told.push_str(&one);
        next += 1;
        lines.next();
    }
    let has_more = looked.is_cut || lines.peek().is_some();
    let remark = match (told.is_empty(), has_more) {
        (true, _) if from > 1 => Some(format!("There is no line {from}.")),
        (true, _) => Some("The file is empty.".to_owned()),
        (false, true) => Some(format!("Lines {from} to {}. There are more: go on with from_line {next}.", next - 1)),
        (false, false) => None,
    };
    (told, remark)
}

/// As many whole lines as fit.
fn whole_lines(looked: &Looked, nothing: &str) -> (String, Option<String>) {
    let (fitting, is_long) = cut(&looked.text, TEXT_CHARS_MAX);
    let end = if is_long { fitting.rfind('\n').unwrap_or(fitting.len()) } else { fitting.len() };
    let remark = match (looked.text.is_empty(), is_long || looked.is_cut) {
        (true, false) => Some(nothing.to_owned()),
        (_, true) => Some("There is more than is shown: ask about less.".to_owned()),
        (false, false) => None,
    };
    (fitting[..end].to_owned(), remark)
}

fn path() -> (&'static str, Value) {
    ("path", json!({ "type": "string" }))
}

fn or_null(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

fn looking(name: &str, about: &str, schema: Value, capability: &str) -> Spec {
    Spec { capabilities: vec![capability.to_owned()], ..by_path(Spec::reading(name, about, schema)) }
}

pub(crate) fn read_file() -> Spec {
    let schema = object(&[path(), ("from_line", or_null("integer")), ("lines", or_null("integer"))]);
    looking("read_file", "Lines of a text file, numbered.", schema, "files.read")
}

pub(crate) fn list_files() -> Spec {
    let schema = object(&[path(), ("depth", or_null("integer")), ("names", or_null("string"))]);
    let about = "What is in a directory. With names (*.rs, src/**/test_*): the files below that match.";
    looking("list_files", about, schema, "files.list")
}

pub(crate) fn search_files() -> Spec {
    let pattern = json!({ "type": "string", "maxLength": PATTERN_CHARS_MAX });
    let schema = object(&[path(), ("pattern", pattern), ("names", or_null("string"))]);
    let about = "Lines that a regular expression finds, as path:line: text.";
    looking("search_files", about, schema, "files.search")
}

pub(crate) fn git_read() -> Spec {
    let what = ("what", json!({ "type": "string", "enum": ["log", "diff", "show", "blame"] }));
    let (from_line, lines) = (("from_line", or_null("integer")), ("lines", or_null("integer")));
    let schema = object(&[path(), what, ("revision", or_null("string")), from_line, lines]);
    let about = "What git tells of a path. diff: uncommitted, since a revision, or between two (main..topic).";
    looking("git_read", about, schema, "files.history")
}

/// The first characters of a text, and whether there are more.
fn cut(text: &str, chars_max: usize) -> (&str, bool) {
    text.char_indices().nth(chars_max).map_or((text, false), |(end, _)| (&text[..end], true))
}

#[cfg(test)]
mod tests;
