//! What can go wrong with a recording.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("The recorder was not found beside {}. Build the workspace with Cargo, which puts it there.", beside.display())]
    NoRecorder { beside: PathBuf },
    #[error("{} is not a log of the recorder.", path.display())]
    NotALog { path: PathBuf },
    #[error("The log is full. Record less, or make it larger.")]
    Full,
    #[error("The log cannot be followed at record {record}: {reason}")]
    Unclear { record: usize, reason: String },
    #[error("{path} may have changed unseen ({how}), so nothing can be said about it.")]
    Blind { path: String, how: String },
    #[error("The log and the directory differ, so something happened unseen: {what}")]
    Differs { what: String },
}

impl Error {
    pub(crate) fn at(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    }
}
