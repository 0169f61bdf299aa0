//! Lines of a text, each after its number, exactly as they are.

use super::{Answered, FileAnswer, binary, done, find, is_binary, named, numbered, refused};
use silas_core::file_order::{SHOWN_CHARS_MAX, Sight, Sights};
use silas_core::number::grouped;
use silas_core::replacing::lines;

pub(super) fn read(path: &str, from: u64, n_wanted: Option<u64>, known: &Sights) -> Answered {
    let file = find(path)?;
    let name = named(path);
    if is_binary(&file.bytes) {
        return Err(binary(path, &file.bytes));
    }
    let n_lines = lines(&file.bytes).len() as u64;
    let from = from.max(1);
    if from > n_lines && n_lines > 0 {
        return Err(refused(format!("{name} has {} lines and no line {from}.", grouped(n_lines))));
    }
    let to = n_wanted.map_or(n_lines, |n| n_lines.min(from.saturating_add(n).saturating_sub(1)));
    let (shown, n_shown) = numbered(&file.bytes, from, to, SHOWN_CHARS_MAX);
    let last = from + n_shown - u64::from(n_shown > 0);
    let is_text = std::str::from_utf8(&file.bytes).is_ok();
    let mut said = Vec::new();
    if n_lines > 0 && n_shown == 0 {
        let line = lines(&file.bytes)[from as usize - 1];
        let n = grouped(String::from_utf8_lossy(line).chars().count());
        let next = if from < n_lines { format!(" Line {} can be read next.", from + 1) } else { String::new() };
        said.push(format!(
            "Line {from} of {name} is longer than {SHOWN_CHARS_MAX} characters: it has {n}, and this is its beginning. \
             shell_exec can show the rest.{next}"
        ));
    } else if last < to {
        let n = grouped(n_lines);
        said.push(format!(
            "Lines {from} to {last} of {n} of {name}. More is there: read on with from_line {}.",
            last + 1
        ));
    } else if n_shown < n_lines {
        said.push(format!("Lines {from} to {last} of {} of {name}.", grouped(n_lines)));
    }
    if !is_text {
        said.push(format!(
            "{name} is not UTF-8 text: each \u{fffd} stands for bytes that cannot be shown. edit_file can change what is \
             shown of it."
        ));
    }
    let seen = match known.get(&file.key()).filter(|_| !file.moved_on(known)) {
        Some(sight) => sight.clone(),
        None => Sight::of(&file.bytes),
    };
    let seen = if is_text && n_shown > 0 { seen.with(from, last) } else { seen };
    Ok(FileAnswer { shown, sights: [(file.key(), seen)].into(), ..done(said.join(" ")) })
}
