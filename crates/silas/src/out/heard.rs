//! What a piece of a command prints, for a test of its words: heard instead of printed, on a screen of a given width.

use std::cell::RefCell;
use std::fmt::Arguments;

thread_local! {
    static HEARD: RefCell<Option<(Option<usize>, String)>> = const { RefCell::new(None) };
}

/// Everything that this prints on a screen of so many columns, or in a pipe.
pub(crate) fn heard(columns: Option<usize>, print: impl FnOnce()) -> String {
    HEARD.set(Some((columns, String::new())));
    print();
    HEARD.take().unwrap().1
}

/// Whether somebody listens; then it is not printed.
pub(super) fn take(words: Arguments<'_>, end: &str) -> bool {
    HEARD.with_borrow_mut(|heard| match heard {
        Some((_, text)) => {
            text.push_str(&words.to_string());
            text.push_str(end);
            true
        }
        None => false,
    })
}

/// The width of the screen of whoever listens.
pub(super) fn columns() -> Option<Option<usize>> {
    HEARD.with_borrow(|heard| heard.as_ref().map(|(columns, _)| *columns))
}
