//! What can be said, for whoever asks. Works without a model, and says what one adds.

use crate::Stream;
use silas_core::reflex::UNDERSTOOD;

impl Stream {
    pub(super) async fn help(&self) -> String {
        let mut say = String::from("These are understood at once:");
        for sentence in UNDERSTOOD {
            say.push_str("\n• ");
            say.push_str(sentence);
        }
        say.push_str(match self.has_model().await {
            true => "\nEverything else goes to the model that you chose. It only proposes: plans still ask you.",
            false => "\nEverything else needs a model.",
        });
        say
    }
}
