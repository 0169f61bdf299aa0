//! The wire formats: what a request must look like, and how an answer is written.

use crate::Asked;
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
}

/// How an answer is held to a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    JsonSchema,
    ForcedTool,
    /// The model may call one of several tools, or must.
    Tools,
    Prose,
}

pub(crate) fn form(dialect: Dialect, body: &Value) -> Form {
    let native = match dialect {
        Dialect::OpenAi => &body["response_format"]["json_schema"]["schema"],
        Dialect::Anthropic => &body["output_config"]["format"]["schema"],
    };
    if native.is_object() {
        Form::JsonSchema
    } else if is_choice(dialect, body) {
        Form::Tools
    } else if body["tools"].is_array() {
        Form::ForcedTool
    } else {
        Form::Prose
    }
}

fn is_choice(dialect: Dialect, body: &Value) -> bool {
    match dialect {
        Dialect::OpenAi => matches!(body["tool_choice"].as_str(), Some("required" | "auto")),
        Dialect::Anthropic => matches!(body["tool_choice"]["type"].as_str(), Some("any" | "auto")),
    }
}

/// Every call has its result right after it, and no result is without its call.
fn answered(dialect: Dialect, body: &Value) -> bool {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
        let (heard, called): (Vec<&Value>, Vec<&Value>) = match dialect {
            Dialect::OpenAi => (
                (message["role"] == "tool").then_some(&message["tool_call_id"]).into_iter().collect(),
                message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["id"]).collect(),
            ),
            Dialect::Anthropic => {
                (of("tool_result").map(|b| &b["tool_use_id"]).collect(), of("tool_use").map(|b| &b["id"]).collect())
            }
        };
        if message["role"] == "assistant" && !open.is_empty() {
            return false;
        }
        for id in heard {
            let Some(at) = open.iter().position(|waiting| *waiting == id) else { return false };
            open.remove(at);
        }
        open.extend(called);
    }
    open.is_empty()
}

pub(crate) fn key(dialect: Dialect, asked: &Asked) -> Option<&str> {
    match dialect {
        Dialect::OpenAi => asked.headers.get("authorization")?.strip_prefix("Bearer "),
        Dialect::Anthropic => asked.headers.get("x-api-key").map(String::as_str),
    }
}

/// What a real provider would not take.
pub(crate) fn fault(dialect: Dialect, asked: &Asked) -> Option<String> {
    let body = &asked.body;
    let path = match dialect {
        Dialect::OpenAi => "POST /v1/chat/completions HTTP/1.1",
        Dialect::Anthropic => "POST /v1/messages HTTP/1.1",
    };
    let rules: [(&str, bool); 7] = [
        ("the path", asked.line == path),
        ("the content type", asked.headers.get("content-type").is_some_and(|kind| kind == "application/json")),
        ("a model", body["model"].is_string()),
        ("a stream", body["stream"] == true),
        ("messages", body["messages"].as_array().is_some_and(|messages| !messages.is_empty())),
        ("the dialect", speaks(dialect, asked)),
        ("results of calls", answered(dialect, body)),
    ];
    let broken = rules.into_iter().find(|(_, holds)| !holds).map(|(name, _)| format!("wrong: {name}"));
    broken.or_else(|| schemas(dialect, body).into_iter().find_map(|schema| loose(schema, "schema")))
}

/// One text, or blocks of text.
fn is_text(system: &Value) -> bool {
    let blocks = system.as_array().map(Vec::as_slice).unwrap_or_default();
    system.is_string() || (!blocks.is_empty() && blocks.iter().all(|block| block["type"] == "text"))
}

fn speaks(dialect: Dialect, asked: &Asked) -> bool {
    let body = &asked.body;
    match dialect {
        Dialect::OpenAi => {
            let limit = body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64());
            let forced = body["tools"].is_null()
                || is_choice(dialect, body)
                || body["tool_choice"]["function"]["name"] == body["tools"][0]["function"]["name"];
            limit.is_some_and(|limit| limit > 0) && forced && body["messages"][0]["role"] == "system"
        }
        Dialect::Anthropic => {
            let forced = body["tools"].is_null()
                || is_choice(dialect, body)
                || body["tool_choice"]["name"] == body["tools"][0]["name"];
            asked.headers.contains_key("anthropic-version")
                && body["max_tokens"].as_u64().is_some_and(|limit| limit > 0)
                && is_text(&body["system"])
                && body["messages"][0]["role"] == "user"
                && forced
        }
    }
}

fn schemas(dialect: Dialect, body: &Value) -> Vec<&Value> {
    let schema = match (dialect, form(dialect, body)) {
        (Dialect::OpenAi, Form::JsonSchema) => &body["response_format"]["json_schema"]["schema"],
        (Dialect::OpenAi, Form::ForcedTool) => &body["tools"][0]["function"]["parameters"],
        (Dialect::Anthropic, Form::JsonSchema) => &body["output_config"]["format"]["schema"],
        (Dialect::Anthropic, Form::ForcedTool) => &body["tools"][0]["input_schema"],
        (dialect, Form::Tools) => {
            let tools = body["tools"].as_array().into_iter().flatten();
            return tools
                .map(|tool| match dialect {
                    Dialect::OpenAi => &tool["function"]["parameters"],
                    Dialect::Anthropic => &tool["input_schema"],
                })
                .collect();
        }
        (_, Form::Prose) => return Vec::new(),
    };
    vec![schema]
}

/// Strict providers want every field named as required, and no others.
fn loose(schema: &Value, at: &str) -> Option<String> {
    if let Some(properties) = schema["properties"].as_object() {
        let required = schema["required"].as_array().map_or(0, Vec::len);
        if schema["additionalProperties"] != false || required != properties.len() {
            return Some(format!("not strict: {at}"));
        }
        return properties.iter().find_map(|(name, inner)| loose(inner, &format!("{at}.{name}")));
    }
    let inner = schema["anyOf"].as_array().into_iter().flatten();
    inner.chain(schema.get("items")).find_map(|inner| loose(inner, at))
}

pub(crate) fn whole(dialect: Dialect, form: Form, text: &str, n: usize, usage: Option<(u64, u64)>) -> Vec<String> {
    let mut events = beginning(dialect, form);
    events.extend(pieces(dialect, form, text, n));
    events.extend(end(dialect, form, usage));
    events
}

/// Several calls in one answer, each in pieces.
pub(crate) fn calls(dialect: Dialect, calls: &[(String, String)], n: usize, usage: Option<(u64, u64)>) -> Vec<String> {
    let mut events = match dialect {
        Dialect::OpenAi => vec![openai(&json!({ "role": "assistant", "content": null }), None)],
        Dialect::Anthropic => {
            vec![anthropic(&json!({ "type": "message_start", "message": { "role": "assistant", "usage": {} } }))]
        }
    };
    for (at, (name, arguments)) in calls.iter().enumerate() {
        events.push(match dialect {
            Dialect::OpenAi => {
                let function = json!({ "name": name, "arguments": "" });
                let call = json!({ "index": at, "id": format!("call_{at}"), "type": "function", "function": function });
                openai(&json!({ "tool_calls": [call] }), None)
            }
            Dialect::Anthropic => {
                let block = json!({ "type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": {} });
                anthropic(&json!({ "type": "content_block_start", "index": at, "content_block": block }))
            }
        });
        let chars: Vec<char> = arguments.chars().collect();
        for piece in chars.chunks(n) {
            let piece: String = piece.iter().collect();
            events.push(match dialect {
                Dialect::OpenAi => {
                    openai(&json!({ "tool_calls": [{ "index": at, "function": { "arguments": piece } }] }), None)
                }
                Dialect::Anthropic => anthropic(&json!({
                    "type": "content_block_delta", "index": at,
                    "delta": { "type": "input_json_delta", "partial_json": piece },
                })),
            });
        }
    }
    events.extend(end(dialect, Form::ForcedTool, usage));
    events
}

pub(crate) fn beginning(dialect: Dialect, form: Form) -> Vec<String> {
    match (dialect, form) {
        (Dialect::OpenAi, Form::ForcedTool) => {
            let call =
                json!({ "index": 0, "id": "call_1", "type": "function", "function": { "name": "f", "arguments": "" } });
            vec![openai(&json!({ "role": "assistant", "tool_calls": [call] }), None)]
        }
        (Dialect::OpenAi, Form::JsonSchema | Form::Tools | Form::Prose) => {
            vec![openai(&json!({ "role": "assistant", "content": "" }), None)]
        }
        (Dialect::Anthropic, form) => {
            let block = match form {
                Form::ForcedTool => json!({ "type": "tool_use", "id": "toolu_1", "name": "f", "input": {} }),
                Form::JsonSchema | Form::Tools | Form::Prose => json!({ "type": "text", "text": "" }),
            };
            vec![
                anthropic(&json!({ "type": "message_start", "message": { "role": "assistant", "usage": {} } })),
                anthropic(&json!({ "type": "content_block_start", "index": 0, "content_block": block })),
                anthropic(&json!({ "type": "ping" })),
            ]
        }
    }
}

pub(crate) fn pieces(dialect: Dialect, form: Form, text: &str, n: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let piece = |piece: &[char]| {
        let piece: String = piece.iter().collect();
        match (dialect, form) {
            (Dialect::OpenAi, Form::ForcedTool) => {
                openai(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": piece } }] }), None)
            }
            (Dialect::OpenAi, Form::JsonSchema | Form::Tools | Form::Prose) => {
                openai(&json!({ "content": piece }), None)
            }
            (Dialect::Anthropic, Form::ForcedTool) => anthropic(&json!({
                "type": "content_block_delta", "index": 0,
                "delta": { "type": "input_json_delta", "partial_json": piece },
            })),
            (Dialect::Anthropic, Form::JsonSchema | Form::Tools | Form::Prose) => anthropic(&json!({
                "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": piece },
            })),
        }
    };
    chars.chunks(n).map(piece).collect()
}

pub(crate) fn end(dialect: Dialect, form: Form, usage: Option<(u64, u64)>) -> Vec<String> {
    match dialect {
        Dialect::OpenAi => {
            let reason = if form == Form::ForcedTool { "tool_calls" } else { "stop" };
            let mut events = vec![openai(&json!({}), Some(reason))];
            if let Some((input, output)) = usage {
                let usage = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output) });
                events.push(data(&json!({ "object": "chat.completion.chunk", "choices": [], "usage": usage })));
            }
            events.push("data: [DONE]\n\n".to_owned());
            events
        }
        Dialect::Anthropic => {
            let reason = if form == Form::ForcedTool { "tool_use" } else { "end_turn" };
            let mut last = json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": {} });
            if let Some((input, output)) = usage {
                last["usage"] = json!({ "input_tokens": input, "output_tokens": output });
            }
            vec![
                anthropic(&json!({ "type": "content_block_stop", "index": 0 })),
                anthropic(&last),
                anthropic(&json!({ "type": "message_stop" })),
            ]
        }
    }
}

fn openai(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    data(&json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice] }))
}

fn anthropic(event: &Value) -> String {
    format!("event: {}\n{}", event["type"].as_str().unwrap_or_default(), data(event))
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}
