//! Where models are talked to. This version knows none, and says so.
//!
//! The runtime asks [`Minds`] about every sentence that reflex is not sure of. With no model the answer is a refusal by
//! name with what works instead. A model only ever proposes: this room knows neither the sandbox nor the approvals.

use silas_core::Tainted;
use silas_core::reflex::UNDERSTOOD;

/// The models at hand.
#[derive(Debug)]
pub struct Minds {
    _nobody: (),
}

/// What a model makes of a wish.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is no model; `say` tells the person what works without one.
    NoModel { say: String },
}

impl Minds {
    /// No provider can be configured in this version.
    pub fn none() -> Self {
        Minds { _nobody: () }
    }

    pub fn consider(&self, _wish: &Tainted<String>) -> Answer {
        let mut say = String::from(
            "That needs a model, and this version of Silas has none. Commands, checks and tasks work without one:",
        );
        for sentence in UNDERSTOOD {
            say.push_str("\n• ");
            say.push_str(sentence);
        }
        Answer::NoModel { say }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use silas_core::Taint;

    #[test]
    fn without_a_model_the_answer_names_what_works() {
        let Answer::NoModel { say } = Minds::none().consider(&Tainted::new("hello".to_owned(), Taint::Owner));
        assert!(UNDERSTOOD.iter().all(|sentence| say.contains(sentence)));
    }
}
