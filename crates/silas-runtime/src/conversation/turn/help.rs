//! What can be said, for whoever asks, and what a wish lacks that was nearly understood. Works without a model, and says what
//! one adds.

use crate::Trouble;
use crate::conversation::Conversation;
use silas_core::reflex::{self, Missing, Near, UNDERSTOOD};
use silas_gates::scrub;

impl Conversation {
    pub(super) async fn help(&self) -> String {
        let mut say = String::from("These are understood at once:");
        for sentence in UNDERSTOOD {
            say.push_str("\n• ");
            say.push_str(sentence);
        }
        say.push_str(match self.minds.has_model().await {
            true => "\nEverything else goes to the model that you chose. It only proposes: nothing changes without your yes.",
            false => "\nEverything else needs a model.",
        });
        say
    }
}

/// The answer to a wish that reflex nearly understood: what it lacks, and how it would read. Nothing is done.
pub(super) fn nearly(near: &Near) -> String {
    let lacks: Vec<String> = near.missing.iter().map(lacking).collect();
    let lacks = match lacks.as_slice() {
        [] => "Nearly understood.".to_owned(),
        lacks => format!("Nearly understood: {}.", lacks.join("; ")),
    };
    let fill = match near.sentence.contains("`COMMAND`")
        || near.sentence.contains("`DIRECTORY`")
        || near.sentence.contains("`HOST:PORT`")
    {
        true => "Say it like this, with your own in place of the capitals:",
        false => "Say it like this:",
    };
    format!(
        "{lacks} Nothing was done. {fill}\n• {}\n`help` lists what else is understood. Words of any kind need a model: \
         `add a model`.",
        scrub::visible(&near.sentence)
    )
}

fn lacking(missing: &Missing) -> String {
    match missing {
        Missing::Command => "it does not say what to run".to_owned(),
        Missing::Directory => "a directory is not named".to_owned(),
        Missing::Host => "a host is not named".to_owned(),
        Missing::Check => "the check is missing, a command that shows whether it worked".to_owned(),
        Missing::Backticks => "commands and names stand in backticks".to_owned(),
        Missing::Order => "the directory stands before the check".to_owned(),
        Missing::TooMuch(words) => format!("“{}” is not understood", scrub::visible_line(words, WORDS_CHARS_MAX)),
    }
}

/// As much as is repeated of words that were not understood.
const WORDS_CHARS_MAX: usize = 60;

/// The wish named no directory, and the one that is meant then cannot be worked in.
pub(super) fn without_directory(trouble: &Trouble, run: &str, check: &str) -> Trouble {
    let what = format!("No directory is named, so the one in which Silas was started is meant. {}", trouble.message);
    let sentence = format!("run {} in `DIRECTORY` and check with {}", reflex::quote(run), reflex::quote(check));
    Trouble::new(&trouble.code, &what, &format!("Say where: {}", scrub::visible(&sentence)))
}
