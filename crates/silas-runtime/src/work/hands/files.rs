//! Reading and writing text files in the copy, byte for byte.
//!
//! A file reaches the model exactly as it is, and only a file that it read whole is rewritten: what is not UTF-8 or longer
//! than can be read is refused by its name, because a model would write back something else. Like a command, all of it
//! happens in a cell.

use super::{Copy, File, READ_SECS, TIMEOUT_SECS, file, rooted, text};
use crate::minds::file_tools::{PATH_CHARS_MAX, by_path};
use crate::work::job::Failure;
use serde_json::{Value, json};
use silas_agents::tools::{Authorised, Doing, Done, Tool};
use silas_core::check::{Command, Ended};
use silas_core::envelope::STREAM_CHARS_MAX;
use silas_core::taint::Source;
use silas_core::tool::{Effect, Spec, object};
use silas_core::{Tainted, mandate};

/// The longest file that a model can read whole, and so write, in characters.
const FILE_CHARS_MAX: usize = STREAM_CHARS_MAX;
/// Bytes of a file that is read whole: one more than a cell keeps, so that it says that there is more.
const WHOLE_BYTES: &str = "1048577";
/// What the script that writes says of a file that is there and was not read whole.
const IS_THERE: i32 = 73;
/// The parts of the text stand where zero bytes divide it, which no word of a command can hold.
const WRITING: &str = "f=$1 how=$2; shift 2
[ \"$how\" = rewrite ] || { [ ! -e \"$f\" ] && [ ! -L \"$f\" ]; } || exit 73
mkdir -p -- \"${f%/*}\" && { printf %s \"$1\"; shift; for part do printf '\\000'; printf %s \"$part\"; done; } > \"$f\"";

pub(super) struct ReadFile<'a, 's> {
    pub(super) spec: Spec,
    pub(super) copy: &'a Copy<'s>,
}

impl Tool<Failure> for ReadFile<'_, '_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Failure> {
        Box::pin(async move {
            let arguments = call.arguments();
            let path = text(arguments, "path");
            let result = self.copy.run(read_command(arguments), READ_SECS)?;
            if let Some(error) = &result.error {
                return Ok(done(result.output(), Some(error.clone()), arguments, false));
            }
            let is_whole = arguments["from_line"].is_null() && arguments["lines"].is_null();
            let (is_cut, lines) = (result.metadata.is_truncated, lines_of(arguments));
            let (known, remark) = match result.metadata.is_not_text {
                true => (File::NotText, Some(not_text(&path))),
                false if is_cut && is_whole => (File::Longer, Some(longer(&path))),
                false if is_cut => {
                    (File::Part, Some(format!("Of {lines} of `{path}` only the first {FILE_CHARS_MAX} characters.")))
                }
                false if is_whole => (File::Whole, None),
                false => (File::Part, Some(format!("{lines} of `{path}`."))),
            };
            self.copy.note_read(&path, known);
            let is_text = known != File::NotText;
            let shown = if is_text { result.for_model.peek().return_value.clone() } else { String::new() };
            Ok(done(shown, remark, arguments, is_text))
        })
    }
}

pub(super) struct WriteFile<'a, 's> {
    pub(super) spec: Spec,
    pub(super) copy: &'a Copy<'s>,
}

impl Tool<Failure> for WriteFile<'_, '_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Failure> {
        Box::pin(async move {
            let arguments = call.arguments();
            let (path, written) = (text(arguments, "path"), text(arguments, "text"));
            let known = self.copy.file(&path);
            let result = self.copy.run(write_command(&path, &written, known == File::Whole), TIMEOUT_SECS)?;
            let (remark, is_success) = match (&result.error, &result.metadata.ended) {
                (None, _) => (format!("Written to `{path}`: {} characters.", written.chars().count()), true),
                (Some(_), Ended::Exited(IS_THERE)) => (format!("Not written: {}", refusal(&path, known)), false),
                (Some(error), _) => (format!("Not written. {error}"), false),
            };
            if is_success {
                self.copy.note_read(&path, File::Whole);
            }
            Ok(done(result.for_model.peek().artifacts.values().cloned().collect(), Some(remark), arguments, is_success))
        })
    }
}

fn done(shown: String, remark: Option<String>, arguments: &Value, is_success: bool) -> Done {
    // Nobody knows who wrote a file of the copy.
    let for_model = Tainted::new(shown, Source::Elsewhere.taint());
    Done { for_model, remark, is_private: true, source: file(arguments), is_success }
}

fn not_text(path: &str) -> String {
    format!(
        "`{path}` is not UTF-8 text: it is not shown, and write_file does not rewrite it. shell_exec can look at it and \
         change it in place."
    )
}

fn longer(path: &str) -> String {
    format!(
        "`{path}` is longer than {FILE_CHARS_MAX} characters, and this is its beginning: read on with from_line. write_file \
         does not rewrite it; shell_exec can change it in place."
    )
}

/// Why a file that is there is not rewritten.
fn refusal(path: &str, known: File) -> String {
    match known {
        File::NotText => not_text(path),
        File::Longer => longer(path),
        File::Unread | File::Part | File::Whole => format!(
            "`{path}` is there and you have not read it whole. Read it with read_file, without from_line and lines, or change \
             it in place with shell_exec."
        ),
    }
}

fn lines_of(arguments: &Value) -> String {
    let from = arguments["from_line"].as_u64().unwrap_or(1);
    match arguments["lines"].as_u64() {
        Some(n) => format!("lines {from} to {}", from + n - 1),
        None => format!("the lines from {from}"),
    }
}

pub(super) fn write_file() -> Spec {
    let schema = object(&[
        ("path", json!({ "type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX })),
        ("text", json!({ "type": "string", "maxLength": FILE_CHARS_MAX })),
    ]);
    let about = "Writes exactly this text as a whole file. One that is there must have been read whole first.";
    Spec {
        // Inside a private copy a file decides about nothing but the copy.
        content: vec!["path".to_owned(), "text".to_owned()],
        capabilities: vec!["files.write".to_owned()],
        effect: Effect::Workspace,
        is_parallel: false,
        ..by_path(Spec::reading(mandate::WRITE_FILE, about, schema))
    }
}

/// The path and the numbers are words of their own; nothing is put into a script.
pub(super) fn read_command(arguments: &Value) -> Command {
    let path = rooted(&text(arguments, "path"));
    let sh = |script: &str, words: [String; 2]| {
        Command::Argv(["/bin/sh", "-c", script, "sh"].map(str::to_owned).into_iter().chain(words).collect())
    };
    let from = arguments["from_line"].as_u64().unwrap_or(1);
    match arguments["lines"].as_u64() {
        Some(n) => sh("sed -n \"$2\" -- \"$1\"", [path, format!("{from},{}p", from + n - 1)]),
        None if arguments["from_line"].is_null() => sh("head -c \"$2\" -- \"$1\"", [path, WHOLE_BYTES.to_owned()]),
        None => sh("sed -n \"$2\" -- \"$1\"", [path, format!("{from},$p")]),
    }
}

pub(super) fn write_command(path: &str, written: &str, is_rewriting: bool) -> Command {
    let how = if is_rewriting { "rewrite" } else { "new" };
    let words = ["/bin/sh", "-c", WRITING, "sh"].map(str::to_owned).into_iter();
    let parts = written.split('\0').map(str::to_owned);
    Command::Argv(words.chain([rooted(path), how.to_owned()]).chain(parts).collect())
}
