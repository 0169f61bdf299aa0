//! What can be said, for whoever asks, and what a wish lacks that was nearly understood. Works without a model, and says what
//! one adds.

use super::route::Route;
use crate::Trouble;
use crate::conversation::Conversation;
use silas_agents::Minds;
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

    /// The answer where no model could be asked: a line to a greeting, how the sentence would be whole, or what is
    /// understood at all.
    pub(super) async fn without_a_model(&self, text: &str) -> Result<Route, Trouble> {
        if let Some(line) = small_talk(text) {
            return Ok(Route::say(line));
        }
        if let Some(near) = reflex::near(text) {
            let roots = self.house.roots().await?;
            let could_be: Vec<String> =
                roots.iter().take(OFFERED_MAX).map(|root| self.house.words.path(&root.path)).collect();
            return Ok(Route::refuse(nearly(&near, &could_be)));
        }
        let words = text.trim().trim_end_matches([':', '.', '!']).to_lowercase();
        Ok(Route::refuse(match words.as_str() {
            "done with" | "done" | "complete task" => self.tasks.which_task(false, "Nothing was changed.").await?,
            "reopen" | "reopen task" => self.tasks.which_task(true, "Nothing was changed.").await?,
            "add task" | "add a task" | "add" => {
                format!("What should it say?{}", offered(&["add task TITLE".to_owned()]))
            }
            _ => Minds::without(),
        }))
    }
}

/// The answer to a wish that reflex nearly understood: what it lacks, and how it would read. Nothing is done.
fn nearly(near: &Near, could_be: &[String]) -> String {
    let whole: Vec<String> = could_be.iter().filter_map(|directory| near.completed_with(directory)).collect();
    if !whole.is_empty() {
        return format!("In which directory? Nothing was done yet.{}", offered(&whole));
    }
    let lacks: Vec<String> = near.missing.iter().map(lacking).collect();
    let lacks = match lacks.as_slice() {
        [] => "Nearly understood.".to_owned(),
        lacks => format!("Nearly understood: {}.", lacks.join("; ")),
    };
    let fill = match ["COMMAND", "DIRECTORY", "HOST"].iter().any(|blank| near.sentence.contains(blank)) {
        true => "Say it like this, with your own in place of the capitals:",
        false => "Say it like this:",
    };
    format!(
        "{lacks} Nothing was done. {fill}{}\n`help` lists what else is understood. Words of any kind need a model: \
         `add a model`.",
        offered(std::slice::from_ref(&near.sentence))
    )
}

/// Sentences to say, each on a line of its own. The page makes a button of each that puts it where one types.
fn offered(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| format!("\n• {}", scrub::visible_line(sentence, SENTENCE_CHARS_MAX))).collect()
}

/// What is said to a greeting, and to thanks, where no model is there to say it.
fn small_talk(text: &str) -> Option<&'static str> {
    let plain: String = text.to_lowercase().chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).collect();
    let words: Vec<&str> = plain.split_whitespace().filter(|word| *word != "silas").collect();
    match words.as_slice() {
        ["hi" | "hello" | "hey" | "hallo" | "yo"]
        | ["hi" | "hello" | "hey", "there"]
        | ["good", "morning" | "afternoon" | "evening"] => Some("Hello. Say what to run, or `help`."),
        ["thanks" | "thx" | "ty" | "cheers"]
        | ["thank", "you"]
        | ["many", "thanks"]
        | ["thanks", "a", "lot"]
        | ["thank", "you", "very", "much"] => Some("You are welcome."),
        ["bye" | "goodbye"] | ["good", "night"] | ["see", "you"] => {
            Some("Until then. What waits for you is in Review.")
        }
        _ => None,
    }
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
/// Whole sentences that are offered; more are no help.
const OFFERED_MAX: usize = 5;
const SENTENCE_CHARS_MAX: usize = 1_200;

/// The wish named no directory, and the one that is meant then cannot be worked in.
pub(super) fn without_directory(trouble: &Trouble, run: &str, check: Option<&str>) -> Trouble {
    let what = format!("No directory is named, so the one in which Silas was started is meant. {}", trouble.message);
    let check = check.map_or_else(String::new, |check| format!(" and check with {}", reflex::quote(check)));
    let sentence = reflex::as_typed(format!("run {} in `~/DIRECTORY`{check}", reflex::quote(run)));
    Trouble::new(&trouble.code, &what, &format!("Say where: {}", scrub::visible(&sentence)))
}

#[cfg(test)]
mod tests;
