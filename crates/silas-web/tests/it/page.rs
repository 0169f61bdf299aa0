//! The protocol for people: the same document as Markdown.

use serde_json::Value;
use std::fmt::Write as _;

const HEAD: &str = "\
# The protocol

Made from the types in `crates/silas-web/src/protocol.rs`; a test compares this page with them. Do not edit it: run
`SILAS_WRITE_DOCS=1 cargo test -p silas-web --test it`. A running Silas shows the same at `/api.html`.

## A connection

1. The `Host` of every request must be the door's own, and the `Origin` of every upgrade and everything that is not a `GET`.
2. `GET /ws` upgrades. The server says `challenge`; within 5 seconds the first message must be `auth`, signed by a paired
   device over the canonical JSON of `SessionProof`. Anything else closes with 4001.
3. At the network door the access token is shown besides: as `token` of `auth`, or as the subprotocol `silas.token.TOKEN`
   beside `silas.v1`. It is never part of an address.
4. `welcome` brings the whole state, or, to a page that named what it has, only what it lacks. Entries of the Stream come
   numbered as `message` and are acknowledged with `ack`; none is lost and none comes twice.
5. A message is at most 128 KiB. Each device may send so many a minute, over all its sockets
   (`limits.ws_messages_per_minute_per_scope`), and all devices at one address together
   (`limits.ws_messages_per_minute_per_ip`); beyond that it is told `E_CHANNEL_BUSY`. What cannot be read is answered with `E_CHANNEL_MESSAGE` and changes nothing.
6. A server that goes away closes with 1001; a device that is revoked is closed with 4001.
   A device for which there is no place is closed with 1013.

## Reading over HTTP

`Authorization: Silas …` carries the `Credentials` as JSON in base64url, signed over the canonical JSON of `ReadProof`. A
request is good once, while it is fresh (`nonce_store.freshness_seconds`), and not if it is dated before the server's start. `/metrics` also takes
`Authorization: Bearer TOKEN` with the access token, because a collector cannot sign.

## Giving a secret

A card with an `input` of the type `secret` asks for one. The value is no part of any message: it is sent as
`POST /secrets/{ref_id}` with `{\"value\": \"…\"}`, by a paired device, signed over the canonical JSON of `WriteProof`, which
names method, path and the SHA-256 of the body. `{\"stored\": true}` is what the vault's own record says; nothing of the value
comes back. 404: nobody asks for it. 409: it was given already. 410: the card has expired. 413: more than 64 KiB, or empty.
423: the vault is locked. 429: more than 20 a minute.

";

const TAIL: &str = "\
## What the table of the specification became

Every question to the owner is a card of one queue, and every decision is signed over the card's own offer; so
`approval_response` carries them all. What is answered in words decides nothing and is a signed message for the card. Kinds
of cards enter with the features that make them.

| in the table | here |
|---|---|
| `auth` | `auth`, signed by the device; `token` besides at the network door |
| `message` | `message`, signed; who says it is the key, not a field |
| `approval_response`, `gate_response`, `checkpoint`, `batch_review_response`, `draft_review_response`, `suggestion_response`, `autonomy_threshold_response`, `permission_escalation_response` | `approval_response`: request id and token; verdict, selection and conditions are inside what is signed |
| `decision_response` | `decision_response`: the answer in words is a signed message for the card; a chosen value is its text |
| `approval_request`, `gate_approval`, `checkpoint` and the other requests | `cards`: the whole queue, each card with its face, offer and payload |
| `message` to the page | `message`, numbered |
| `secure_input_request` | `cards`: a card with `input`; it has no risk and no offer |
| `secure_input_completed` | nothing: the vault's record is the answer, and the card leaves with it |
";

pub(crate) fn render(document: &Value) -> String {
    let mut page = HEAD.to_owned();
    page.push_str("## Endpoints\n\n| | what for | who |\n|---|---|---|\n");
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let who = match operation.get("security").map(Value::to_string) {
                Some(security) if security.contains("access_token") => "a paired device, or the access token",
                Some(_) => "a paired device",
                None => "anybody who reaches the door",
            };
            let summary = operation["summary"].as_str().unwrap();
            writeln!(page, "| `{} {path}` | {summary} | {who} |", method.to_uppercase()).unwrap();
        }
    }
    let schemas = &document["components"]["schemas"];
    messages(&mut page, "From the page: `ClientMessage`", &schemas["ClientMessage"], schemas);
    messages(&mut page, "To the page: `ServerMessage`", &schemas["ServerMessage"], schemas);
    page.push_str("\n## Types\n");
    for (name, schema) in schemas.as_object().unwrap() {
        if name != "ClientMessage" && name != "ServerMessage" {
            type_of_its_own(&mut page, name, schema);
        }
    }
    page.push('\n');
    page.push_str(TAIL);
    page
}

/// Variants by their tag; those of a variant that has none of its own are shown in its place.
fn messages(page: &mut String, title: &str, schema: &Value, schemas: &Value) {
    writeln!(page, "\n## {title}").unwrap();
    for variant in variants(schema) {
        match variant["properties"]["type"]["const"].as_str() {
            Some(tag) => {
                writeln!(page, "\n### `{tag}`\n").unwrap();
                about(page, variant);
                fields(page, variant);
                if let Some(name) = reference(variant) {
                    writeln!(page, "\nand the fields of `{name}`").unwrap();
                }
            }
            None => {
                let Some(name) = reference(variant) else { continue };
                about(page, variant);
                for inner in variants(&schemas[name]) {
                    let Some(tag) = inner["properties"]["type"]["const"].as_str() else { continue };
                    writeln!(page, "\n### `{tag}`\n").unwrap();
                    about(page, inner);
                    fields(page, inner);
                    if let Some(name) = reference(inner) {
                        writeln!(page, "\nand the fields of `{name}`").unwrap();
                    }
                }
            }
        }
    }
}

fn type_of_its_own(page: &mut String, name: &str, schema: &Value) {
    writeln!(page, "\n### {name}\n").unwrap();
    about(page, schema);
    if schema.get("properties").is_some() {
        fields(page, schema);
    } else {
        writeln!(page, "{}", kind(schema).replace("\\|", "|")).unwrap();
    }
}

fn variants(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
}

fn about(page: &mut String, schema: &Value) {
    if let Some(text) = schema["description"].as_str() {
        writeln!(page, "{}\n", one_line(text)).unwrap();
    }
}

fn fields(page: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let shown: Vec<_> = properties.iter().filter(|(name, _)| *name != "type").collect();
    if shown.is_empty() {
        return;
    }
    page.push_str("| field | type | |\n|---|---|---|\n");
    for (name, field) in shown {
        let optional = if required.contains(&name.as_str()) { "" } else { ", may be left out" };
        let text = field["description"].as_str().map(one_line).unwrap_or_default();
        writeln!(page, "| `{name}` | {}{optional} | {text} |", kind(field)).unwrap();
    }
}

/// A type in a few letters, with bars that do not end a cell.
fn kind(schema: &Value) -> String {
    if let Some(name) = reference(schema) {
        return name.to_owned();
    }
    if let Some(exact) = schema.get("const") {
        return format!("`{exact}`");
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" \\| ");
    }
    let either: Vec<String> = variants(schema).map(kind).collect();
    if !either.is_empty() {
        return either.join(" \\| ");
    }
    match &schema["type"] {
        Value::String(array) if array == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) if name == "object" && schema.get("properties").is_some() => {
            let fields = schema["properties"].as_object().unwrap();
            let inner: Vec<String> = fields.iter().map(|(name, field)| format!("`{name}`: {}", kind(field))).collect();
            format!("{{ {} }}", inner.join(", "))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" \\| "),
        _ => "anything".to_owned(),
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().map(|path| path.trim_start_matches("#/components/schemas/"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
