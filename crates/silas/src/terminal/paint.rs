//! Colour in the terminal: only where a person looks, and only beside a word or a sign that says the same.

use silas_core::card::{Card, CardState, Risk};
use silas_core::input::Input;
use std::io::IsTerminal;

#[derive(Clone, Copy)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// For standard output: off in a pipe, in a terminal that has no colours, and where NO_COLOR is set.
    pub(crate) fn of_stdout() -> Self {
        Paint::if_terminal(std::io::stdout().is_terminal())
    }

    /// The same for standard error.
    pub(crate) fn of_stderr() -> Self {
        Paint::if_terminal(std::io::stderr().is_terminal())
    }

    fn if_terminal(is_terminal: bool) -> Self {
        let says_no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Paint { is_on: is_terminal && !says_no && !is_dumb }
    }

    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.is_on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn quiet(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    /// What a card asks of whoever reads it: how much a decision could cost, or what is wanted instead of one.
    pub(crate) fn asking(self, card: &Card) -> String {
        match card.face.risk {
            Some(Risk::Low) => "● Low risk".to_owned(),
            Some(Risk::Medium) => self.with("33", "◆ Medium risk"),
            Some(Risk::High) => self.bad("▲ High risk"),
            Some(Risk::Irreversible) => self.with("1;35", "⯃ Cannot be undone"),
            None => match card.input.as_ref().filter(|_| card.state == CardState::Open) {
                Some(Input::Model(_)) => "Wants a model chosen".to_owned(),
                Some(Input::Secret(_)) => "Wants a secret entered".to_owned(),
                Some(Input::Inquiry(_)) => "Wants an answer".to_owned(),
                None => "Nothing to decide".to_owned(),
            },
        }
    }
}
