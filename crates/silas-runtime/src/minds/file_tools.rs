//! The tools that read files, as a model that works is told of them. Whoever only looks has `eyes.rs`.

use serde_json::json;
use silas_core::tool::{Spec, object};

const LINES_MAX: u64 = 2_000;
const DEPTH_MAX: u64 = 8;
pub(crate) const PATH_CHARS_MAX: u64 = 1_000;

/// A tool whose path says what it is about.
pub(crate) fn by_path(spec: Spec) -> Spec {
    Spec { paths: vec!["path".to_owned()], shown_by: Some("path".to_owned()), ..spec }
}

pub(crate) fn read_file() -> Spec {
    let schema = object(&[
        ("path", json!({ "type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX })),
        ("from_line", json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 1_000_000_000 })),
        (
            "lines",
            json!({ "type": ["integer", "null"], "minimum": 1, "maximum": LINES_MAX, "description": "null: all" }),
        ),
    ]);
    let spec = Spec::reading("read_file", "Gives back a text file exactly as it is, or lines of it.", schema);
    Spec { capabilities: vec!["files.read".to_owned()], is_parallel: false, ..by_path(spec) }
}

pub(crate) fn list_files() -> Spec {
    let schema = object(&[
        ("path", json!({ "type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX })),
        ("depth", json!({ "type": ["integer", "null"], "minimum": 1, "maximum": DEPTH_MAX, "description": "null: 2" })),
    ]);
    let about = "Lists what is in a directory: kind (f file, d directory, l link), size, path.";
    let spec = Spec::reading("list_files", about, schema);
    Spec { capabilities: vec!["files.list".to_owned()], is_parallel: false, ..by_path(spec) }
}
