//! How to start the very Silas that a command was about: with the data directory and the configuration that were named, so
//! that what a sentence proposes does not start another one.
//!
//! Deliberately absent: what comes from variables. They are still there when the sentence is followed.

use std::path::Path;
use std::sync::OnceLock;

static START: OnceLock<String> = OnceLock::new();

/// Once, when the arguments are read.
pub(crate) fn remember(data_dir: Option<&Path>, config: Option<&Path>) {
    // A second call could only repeat the first.
    let _known = START.set(command(data_dir, config));
}

/// `silas`, with what was named.
pub(crate) fn start() -> &'static str {
    START.get().map_or("silas", String::as_str)
}

pub(crate) fn command(data_dir: Option<&Path>, config: Option<&Path>) -> String {
    let mut words = "silas".to_owned();
    for (option, path) in [("--data-dir", data_dir), ("--config", config)] {
        if let Some(path) = path {
            words.push_str(&format!(" {option} {}", quoted(&path.to_string_lossy())));
        }
    }
    words
}

/// As a shell reads it back.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~' | '+' | ':' | '@' | ',');
    if !path.is_empty() && path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    //! What is proposed is what was typed.

    use super::command;
    use std::path::Path;

    #[test]
    fn what_was_named_is_kept_and_quoted_where_a_shell_would_split_it() {
        let path = |text: &'static str| Some(Path::new(text));
        assert_eq!(command(None, None), "silas");
        assert_eq!(command(path("/srv/silas"), None), "silas --data-dir /srv/silas");
        assert_eq!(command(path("my data"), path("a.yaml")), "silas --data-dir 'my data' --config a.yaml");
        assert_eq!(command(path("it's"), None), r"silas --data-dir 'it'\''s'");
    }
}
