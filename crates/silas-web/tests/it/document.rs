//! `docs/openapi.json` and `docs/protocol.md` are made from the Rust types; there is no second place to change.
//!
//! After a change of the protocol: `SILAS_WRITE_DOCS=1 cargo test -p silas-web --test it`, and look at the difference.

use crate::page;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[track_caller]
fn compare(name: &str, made: &str) {
    let path = docs(name);
    if std::env::var_os("SILAS_WRITE_DOCS").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == made,
        "docs/{name} is not what the types say. Write it with SILAS_WRITE_DOCS=1, and look at the difference."
    );
}

#[test]
fn the_papers_are_what_the_types_say() {
    let document = silas_web::openapi::document();
    compare("openapi.json", &format!("{}\n", serde_json::to_string_pretty(&document).unwrap()));
    compare("protocol.md", &page::render(&document));
}

/// Every reference leads somewhere, and every schema is reached from a path or a message.
#[test]
fn the_document_is_whole() {
    let document = silas_web::openapi::document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut referred = Vec::new();
    references(&document, &mut referred);
    for name in &referred {
        assert!(schemas.contains_key(name), "{name} is not in the document");
    }
    let roots = ["ClientMessage", "ServerMessage", "Credentials", "SessionProof", "ReadProof", "WriteProof"];
    for name in schemas.keys() {
        assert!(referred.contains(name) || roots.contains(&name.as_str()), "nothing leads to {name}");
    }
    assert!(schemas.len() > 40, "{}", schemas.len());
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                found.push(name.trim_start_matches("#/components/schemas/").to_owned());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Numbers on this wire are whole, and no schema says otherwise.
#[test]
fn no_number_is_a_float() {
    let text = silas_web::openapi::document().to_string();
    assert!(!text.contains("\"number\""), "a schema allows a float");
}
