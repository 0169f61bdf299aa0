//! What came of the test question to a model: a report, with a way on where it did not answer.

use crate::words::{self, duration, press, spoken, which};
use silas_core::card::{CardKind, Detail, Face, Press};
use silas_core::model::{ModelName, Role};
use std::time::Duration;

/// A test question that was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answered {
    pub(crate) took: Duration,
    /// What it was tested for.
    pub(crate) role: Role,
    /// How its answers are brought into their form.
    pub(crate) form: &'static str,
}

impl Answered {
    /// In one sentence, for the Stream.
    pub(crate) fn said(&self, model: &ModelName) -> String {
        format!("{} answered in {}.", spoken(model), answered_in(self.took))
    }
}

/// What came of the test question.
pub(crate) fn model_tested(model: &ModelName, answered: Option<&Answered>, said: &str) -> Face {
    let mut details =
        vec![Detail { title: "Model".to_owned(), lines: vec![model.to_string(), model.url().to_owned()] }];
    if let Some(Answered { took, role, form }) = answered {
        let tested_for = format!("Tested for {}", words::role(*role).to_lowercase());
        let lines = vec![format!("In {}", answered_in(*took)), tested_for, (*form).to_owned()];
        details.push(Detail { title: "Answered".to_owned(), lines });
    }
    Face {
        kind: CardKind::Report,
        risk: None,
        state: "Step 3 of 3".to_owned(),
        intent: if answered.is_some() { "The model answers" } else { "The model did not answer the test" }.to_owned(),
        facts: which(model),
        evidence: None,
        versions: None,
        rationale: said.to_owned(),
        asked: None,
        quote: None,
        details_title: "Exactly which model".to_owned(),
        details,
        diffs: Vec::new(),
        ctas: match answered {
            Some(_) => vec![press(Press::Dismiss, "Done")],
            None => vec![
                press(Press::Again, "Try again"),
                press(Press::Another, "Choose another"),
                press(Press::Dismiss, "Leave it"),
            ],
        },
    }
}

fn answered_in(took: Duration) -> String {
    if took < Duration::from_secs(1) { format!("{} ms", took.as_millis()) } else { duration(took.as_secs()) }
}
