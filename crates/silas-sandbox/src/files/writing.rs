//! A file gets a new text, whole or in one place.

use super::{
    Answered, FileAnswer, Found, at_lines, binary, done, excerpt, find, is_binary, key, named, put, refused, why,
};
use silas_core::file_order::{Sight, Sights};
use silas_core::number::grouped;
use silas_core::replacing::{self, NotReplaced, Places, nearest, replace};
use std::fs;
use std::path::Path;

pub(super) fn write(path: &str, text: &str, known: &Sights) -> Answered {
    let name = named(path);
    let old = match fs::symlink_metadata(path) {
        Ok(_) => Some(find(path).map_err(|refusal| not_written(&refusal.said))?),
        Err(_) => None,
    };
    if let Some(file) = &old {
        may_be_rewritten(path, file, known)?;
    }
    let (target, bytes) = match &old {
        Some(file) => (file.real.as_path(), Some(file.bytes.as_slice())),
        None => (Path::new(path), None),
    };
    put(target, bytes, text.as_bytes()).map_err(|e| not_written(&format!("{name}: {}.", why(&e))))?;
    let real = fs::canonicalize(target).map_err(|e| not_written(&format!("{name}: {}.", why(&e))))?;
    let n = grouped(text.chars().count());
    let made = if old.is_some() { "Written" } else { "Made" };
    let sights = [(key(&real), Sight::whole(text.as_bytes()))].into();
    Ok(FileAnswer { sights, ..done(format!("{made}: {name}, {n} characters.")) })
}

fn not_written(why: &str) -> FileAnswer {
    refused(format!("Not written: {why}"))
}

/// Only what was seen whole, and as it is now, is replaced: a model would write back something else.
fn may_be_rewritten(path: &str, file: &Found, known: &Sights) -> Result<(), FileAnswer> {
    let name = named(path);
    if std::str::from_utf8(&file.bytes).is_err() {
        return Err(not_written(&format!(
            "{name} is not UTF-8 text and write_file does not rewrite it. edit_file or shell_exec can change it in place."
        )));
    }
    let Some(sight) = known.get(&file.key()) else {
        return Err(not_written(&format!(
            "{name} is there and you have not read it whole. Read it first, or change it in place with edit_file."
        )));
    };
    if file.moved_on(known) {
        return Err(not_written(&format!("{name} has changed since you read it, by a command. Read it again.")));
    }
    if sight.is_whole() {
        return Ok(());
    }
    let shown: Vec<String> = sight.shown.iter().map(|(from, to)| format!("{from} to {to}")).collect();
    let seen = if shown.is_empty() { "no line whole".to_owned() } else { format!("lines {}", shown.join(", ")) };
    Err(not_written(&format!(
        "{name} is there and you have not read it whole: of {} lines you have seen {seen}. Read the rest, or change it in \
         place with edit_file.",
        grouped(sight.n_lines)
    )))
}

pub(super) fn edit(path: &str, old: &str, new: &str, all: bool, known: &Sights) -> Answered {
    let name = named(path);
    let file = find(path).map_err(|refusal| not_changed(&refusal.said))?;
    if is_binary(&file.bytes) {
        return Err(not_changed(&binary(path, &file.bytes).said));
    }
    let made = replace(&file.bytes, old, new, if all { Places::All } else { Places::TheOne });
    if file.moved_on(known) {
        let place = match &made {
            Ok(made) => made.lines.first().map(|line| (line.saturating_sub(2).max(1), line + 8)),
            Err(_) => nearest(&file.bytes, old),
        };
        return Err(FileAnswer {
            shown: excerpt(&file.bytes, place),
            sights: [(file.key(), Sight::of(&file.bytes))].into(),
            ..not_changed(&format!(
                "{name} has changed since you read it, by a command. This is how it is now; edit again if that is still right."
            ))
        });
    }
    let made = made
        .map_err(|why| FileAnswer { shown: shown(&file.bytes, &why), ..not_changed(&told(path, &file, old, why)) })?;
    put(&file.real, Some(&file.bytes), &made.text).map_err(|e| not_changed(&format!("{name}: {}.", why(&e))))?;
    let n = made.lines.len();
    let times = if n == 1 { "Replaced".to_owned() } else { format!("Replaced {} times", grouped(n)) };
    let ends = if made.is_crlf { " Its lines end with CR LF and still do." } else { "" };
    let said = format!("{times} in {name}, at {}.{ends}", at_lines(&made.lines));
    Ok(FileAnswer { sights: [(file.key(), after(&file, &made.text, known))].into(), ..done(said) })
}

/// A model knows what it changed itself.
pub(super) fn after(file: &Found, text: &[u8], known: &Sights) -> Sight {
    match known.get(&file.key()) {
        Some(sight) if sight.is_whole() => Sight::whole(text),
        Some(_) | None => Sight::of(text),
    }
}

fn not_changed(why: &str) -> FileAnswer {
    refused(format!("Not changed: {why}"))
}

fn shown(bytes: &[u8], why: &NotReplaced) -> String {
    match why {
        NotReplaced::Absent { nearest } => excerpt(bytes, *nearest),
        NotReplaced::Several { lines } => {
            lines.iter().take(8).map(|line| excerpt(bytes, Some((*line, *line)))).collect()
        }
        NotReplaced::Same => String::new(),
    }
}

fn told(path: &str, file: &Found, old: &str, why: NotReplaced) -> String {
    let name = named(path);
    match why {
        NotReplaced::Same => "old_text and new_text are the same, or old_text is empty.".to_owned(),
        NotReplaced::Several { lines } => format!(
            "old_text stands {} times in {name}, at {}. Give more of the lines around the one you mean, or set all.",
            grouped(lines.len()),
            at_lines(&lines)
        ),
        NotReplaced::Absent { .. } if has_numbers(&file.bytes, old) => {
            "old_text has numbers of lines in it. They are no part of the file; leave them out.".to_owned()
        }
        NotReplaced::Absent { nearest: None } => {
            format!("old_text is nowhere in {name}, and nothing there is like it.")
        }
        NotReplaced::Absent { nearest: Some((from, to)) } => format!(
            "old_text is nowhere in {name}. It must be exactly what stands there, with all blanks. Lines {from} to {to} are \
             most like it:"
        ),
    }
}

/// Whether a text is one that was copied with the numbers before its lines.
fn has_numbers(bytes: &[u8], old: &str) -> bool {
    let bare = |line: &str| -> Option<String> {
        let (number, rest) = line.split_once('\t')?;
        number.trim().parse::<u64>().ok().map(|_| rest.to_owned())
    };
    let lines: Option<Vec<String>> = old.trim_end_matches('\n').split('\n').map(bare).collect();
    let text = |lines: Vec<String>| replacing::replace(bytes, &lines.join("\n"), "\u{0}", Places::All).is_ok();
    lines.is_some_and(text)
}
