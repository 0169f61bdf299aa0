//! Whether a command writes to a file that it names, read off its text. That is known without running it; of whatever cannot
//! be read off nothing is claimed, and what the command does is seen when it runs.

use crate::check::Command;
use crate::shell::{self, Simple, Word};

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];
/// A shell in a shell; more than anyone writes.
const DEPTH_MAX: usize = 4;

/// `file` as the command would spell it, from where it runs or in full.
pub fn is_written(command: &Command, file: &str) -> bool {
    is_written_within(command, file, DEPTH_MAX)
}

fn is_written_within(command: &Command, file: &str, depth: usize) -> bool {
    let Some(commands) = shell::commands(command) else { return false };
    // From another directory the same words mean another file.
    let goes_elsewhere = commands.iter().any(|command| matches!(program(command), Some("cd" | "pushd" | "popd")));
    let is_certain = file.starts_with('/') || !goes_elsewhere;
    is_certain && commands.iter().any(|command| writes(command, file, depth))
}

fn program(command: &Simple) -> Option<&str> {
    command.words.first().map(|word| word.text.rsplit('/').next().unwrap_or_default())
}

fn writes(command: &Simple, file: &str, depth: usize) -> bool {
    let is_file = |text: &str| text.trim_start_matches("./") == file;
    if command.written.iter().any(|word| is_file(&word.text)) {
        return true;
    }
    let is_redirected = |word: &&Word| command.read.contains(word) || command.written.contains(word);
    let given = command.words.iter().skip(1).filter(|word| !is_redirected(word));
    let given: Vec<&str> = given.map(|word| word.text.as_str()).collect();
    let is_given = || given.iter().any(|word| is_file(word));
    match program(command) {
        Some("tee" | "mv") => is_given(),
        Some("cp" | "install" | "truncate") => given.last().is_some_and(|last| is_file(last)),
        Some("dd") => given.iter().any(|word| word.strip_prefix("of=").is_some_and(is_file)),
        Some("sed") => is_given() && given.iter().any(|word| *word == "--in-place" || has_flag(word, 'i', "efl")),
        Some("perl") => is_given() && given.iter().any(|word| has_flag(word, 'i', "eEIMm")),
        Some(name) if SHELLS.contains(&name) && depth > 0 => {
            inner(command).is_some_and(|script| is_written_within(&Command::Shell(script), file, depth - 1))
        }
        Some(_) | None => false,
    }
}

/// Whether a word of short flags has this one; those in `taking` take the rest of the word.
fn has_flag(word: &str, flag: char, taking: &str) -> bool {
    let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.starts_with('-')) else { return false };
    flags.chars().take_while(|c| !taking.contains(*c)).any(|c| c == flag)
}

/// What `sh -c` runs, with the words that it is given in their places.
fn inner(command: &Simple) -> Option<String> {
    let at = command.words.iter().position(|word| has_flag(&word.text, 'c', ""))? + 1;
    let given = command.words.get(at..)?;
    let (script, rest) = given.split_first()?;
    let is_plain = given.iter().all(|word| word.is_plain && !word.text.contains('\''));
    let mut script = script.text.clone();
    for (n, word) in rest.iter().enumerate().take(10) {
        script = script.replace(&format!("${n}"), &word.text);
    }
    is_plain.then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_off_is_known_and_nothing_else_claimed() {
        let check = |script: &str, is: bool| {
            assert_eq!(is_written(&Command::Shell(script.to_owned()), "src/a.txt"), is, "{script}");
        };
        for script in [
            "echo 1 > src/a.txt",
            "sort b.txt >> ./src/a.txt",
            "echo 1 2>src/a.txt",
            "echo 1 >| src/a.txt",
            "grep 1 b.txt | tee src/a.txt",
            "sed -i s/1/2/ src/a.txt",
            "sed -Ei.bak -e s/1/2/ src/a.txt",
            "perl -pi -e s/1/2/ src/a.txt",
            "cp b.txt src/a.txt",
            "truncate -s 0 src/a.txt",
            "mv src/a.txt b.txt",
            "dd if=b.txt of=src/a.txt",
            "sh -c 'sed -i s/1/2/ src/a.txt'",
            "sh -c 'sed -i s/1/2/ $0' src/a.txt",
            "bash -ec 'echo 1 > \"$1\"' x src/a.txt",
        ] {
            check(script, true);
        }
        for script in [
            "grep 1 src/a.txt",
            "sort src/a.txt > b.txt",
            "wc -l < src/a.txt > b.txt",
            "tee b.txt < src/a.txt",
            "cp b.txt c.txt < src/a.txt",
            "truncate -r src/a.txt b.txt",
            "awk '{print}' src/a.txt",
            "sed s/1/2/ src/a.txt",
            "sed -es/i/j/ src/a.txt",
            "cp src/a.txt b.txt",
            "python3 -m json.tool src/a.txt",
            "cd elsewhere && echo 1 > src/a.txt",
            "echo 1 > other/src/a.txt",
            // Nobody can say.
            "sh fix.sh src/a.txt",
            "for f in src/a.txt; do echo 1 > $f; done",
        ] {
            check(script, false);
        }
        let full = Command::Shell("cd elsewhere && echo 1 > /p/src/a.txt".to_owned());
        assert!(is_written(&full, "/p/src/a.txt"));
    }
}
