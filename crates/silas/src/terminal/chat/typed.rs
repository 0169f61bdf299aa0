//! What a typed line is: words for Silas, the number of a choice, or a word for the chat itself.

pub(super) const HELP: &str = "\
Say what you want in your own words. A number answers the card on the screen.
  /review    what waits for a decision, each with its name
  /show NAME put that card on the screen
  /activity  what happened
  /undo      take the last applied work back
  /stop      end all running work
  /quit      leave, as do quit, exit and Ctrl-D; Silas goes on
A line that begins with // is said with one / less.";

#[derive(PartialEq, Eq, Debug)]
pub(super) enum Typed<'t> {
    Nothing,
    Number(usize),
    Command(&'t str),
    Words(&'t str),
}

pub(super) fn read(line: &str) -> Typed<'_> {
    let line = line.trim();
    if line.is_empty() {
        return Typed::Nothing;
    }
    // Not what a person calls a number, if it has more digits than this.
    if line.len() <= 3
        && let Ok(n) = line.parse()
    {
        return Typed::Number(n);
    }
    if leaves(line) {
        return Typed::Command("quit");
    }
    match line.strip_prefix('/') {
        Some(rest) if rest.starts_with('/') => Typed::Words(rest),
        Some(command) if !command.contains('/') => Typed::Command(command.trim()),
        // A path is a word too.
        _ => Typed::Words(line),
    }
}

/// What ends other programs. Only as the whole line: a sentence may begin with either.
pub(super) fn leaves(line: &str) -> bool {
    let word = line.trim();
    let word = word.strip_prefix('/').unwrap_or(word);
    ["quit", "exit"].iter().any(|leave| word.eq_ignore_ascii_case(leave))
}

#[cfg(test)]
mod tests {
    //! Words are the default; nothing that looks like a sentence is taken for anything else.

    use super::{Typed, read};

    #[test]
    fn what_a_line_is() {
        assert_eq!(read("  "), Typed::Nothing);
        assert_eq!(read(" 2 "), Typed::Number(2));
        assert_eq!(read("2 apples"), Typed::Words("2 apples"));
        assert_eq!(read("20261116"), Typed::Words("20261116"));
        assert_eq!(read("/undo"), Typed::Command("undo"));
        assert_eq!(read("//undo"), Typed::Words("/undo"));
        for leave in ["quit", " Exit ", "QUIT", "/quit", "/exit"] {
            assert_eq!(read(leave), Typed::Command("quit"), "{leave}");
        }
        for words in ["quit it", "exit code 3", "don't quit", "//quit"] {
            assert!(matches!(read(words), Typed::Words(_)), "{words}");
        }
        assert_eq!(read("/etc/hosts is wrong"), Typed::Words("/etc/hosts is wrong"));
    }
}
