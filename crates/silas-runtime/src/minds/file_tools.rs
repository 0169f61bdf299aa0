//! What the tools about files have in common: those that only look (`eyes.rs`) and those of a run (`work/hands/files.rs`).

use silas_core::tool::Spec;

pub(crate) const PATH_CHARS_MAX: u64 = 1_000;

/// A tool whose path says what it is about.
pub(crate) fn by_path(spec: Spec) -> Spec {
    Spec { paths: vec!["path".to_owned()], shown_by: Some("path".to_owned()), ..spec }
}
