//! What can go wrong while a model is asked, each with its code and a sentence. No answer of a provider is repeated as it
//! came: it may hold the key.

use std::time::Duration;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    #[error("{host} cannot be reached")]
    Unreachable { host: String },
    #[error("{host} did not answer in time")]
    Timeout { host: String },
    #[error("{host} does not accept the key")]
    Key { host: String },
    #[error("the account at {host} has no credit left")]
    Credit { host: String },
    #[error("{host} does not know this model, or does not serve it as asked")]
    UnknownModel { host: String },
    #[error("{host} is overloaded or asks for fewer questions")]
    Busy { host: String, retry_after: Option<Duration> },
    #[error("{host} failed with status {status}")]
    Failed { host: String, status: u16, retry_after: Option<Duration> },
    #[error("{host} did not accept the question (status {status}{})", said(.reason))]
    Rejected { host: String, status: u16, reason: String },
    #[error("the answer of {host} broke off")]
    Cut { host: String },
    #[error("the answer of {host} was longer than {max_kib} KiB and was cut off")]
    TooLong { host: String, max_kib: usize },
    #[error("{host} answered in a form that cannot be read")]
    Garbled { host: String },
    #[error("the prompt could not be made: {0}")]
    Prompt(String),
    #[error("nothing can be sent safely from here: {0}")]
    Setup(String),
}

fn said(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

impl Error {
    pub fn code(&self) -> &'static str {
        match self {
            Error::Unreachable { .. } => "E_LLM_UNREACHABLE",
            Error::Timeout { .. } => "E_LLM_TIMEOUT",
            Error::Key { .. } => "E_LLM_KEY",
            Error::Credit { .. } => "E_LLM_CREDIT",
            Error::UnknownModel { .. } => "E_LLM_MODEL",
            Error::Busy { .. } => "E_LLM_BUSY",
            Error::Failed { .. } => "E_LLM_FAILED",
            Error::Rejected { .. } => "E_LLM_REJECTED",
            Error::Cut { .. } => "E_LLM_CUT",
            Error::TooLong { .. } => "E_LLM_LONG",
            Error::Garbled { .. } => "E_LLM_GARBLED",
            Error::Prompt(_) => "E_LLM_PROMPT",
            Error::Setup(_) => "E_LLM_SETUP",
        }
    }

    /// What to put right before the same is asked again; nothing where asking again is all there is.
    pub fn remedy(&self) -> &'static str {
        match self {
            Error::Unreachable { .. } => "Check the connection and the address (`silas model list`).",
            Error::Busy { .. } => "Wait a little.",
            Error::Key { .. } => "Set the key again with `silas model add`.",
            Error::Credit { .. } => "Add credit there.",
            Error::Timeout { .. }
            | Error::UnknownModel { .. }
            | Error::Failed { .. }
            | Error::Rejected { .. }
            | Error::Cut { .. }
            | Error::TooLong { .. }
            | Error::Garbled { .. } => "",
            Error::Prompt(_) | Error::Setup(_) => "See the log.",
        }
    }

    /// What to do about it after a question that was said.
    pub fn todo(&self) -> &'static str {
        match self {
            Error::Unreachable { .. } => {
                "Check the connection and the address (`silas model list`), then say it again."
            }
            Error::Timeout { .. } | Error::Cut { .. } | Error::Failed { .. } => "Say it again.",
            Error::Busy { .. } => "Wait a little, then say it again.",
            Error::Key { .. } => "Set the key again with `silas model add`.",
            Error::Credit { .. } => "Add credit there, or choose another model with `silas model add`.",
            Error::UnknownModel { .. } | Error::Rejected { .. } | Error::Garbled { .. } => {
                "Try `silas model check`, or choose another model with `silas model add`."
            }
            Error::TooLong { .. } => "Ask for something shorter.",
            Error::Prompt(_) | Error::Setup(_) => "See the log.",
        }
    }

    /// When the provider wants to be asked again, if it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Error::Busy { retry_after, .. } | Error::Failed { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the same question may be sent again at once. Only what was surely not answered, and not billed.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Error::Unreachable { .. } | Error::Busy { .. } | Error::Failed { .. })
    }

    /// Whether it is nobody's fault here, and the same question may fare better later.
    pub fn is_weather(&self) -> bool {
        self.may_pass() || matches!(self, Error::Cut { .. } | Error::Timeout { .. })
    }

    /// Whether an answer began and was lost, or never came.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Error::Cut { .. } | Error::Timeout { .. } | Error::Garbled { .. })
    }

    /// Whether asking for the same in another form may help.
    pub(crate) fn is_about_form(&self) -> bool {
        matches!(self, Error::Rejected { .. } | Error::UnknownModel { .. })
    }

    /// Whether the provider has surely done no work that it could charge for.
    pub fn is_free(&self) -> bool {
        match self {
            Error::Unreachable { .. }
            | Error::Key { .. }
            | Error::Credit { .. }
            | Error::UnknownModel { .. }
            | Error::Busy { .. }
            | Error::Failed { .. }
            | Error::Rejected { .. }
            | Error::Prompt(_)
            | Error::Setup(_) => true,
            Error::Timeout { .. } | Error::Cut { .. } | Error::TooLong { .. } | Error::Garbled { .. } => false,
        }
    }
}
