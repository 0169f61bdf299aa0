//! Anthropic's messages, streamed.

use super::{Effort, Event, call_id, plain_arguments, plain_name};
use crate::model::{Finish, Mode, Request, ToolCall, Turn, Usage};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) const VERSION: &str = "2023-06-01";

pub(super) fn body(model: &str, request: &Request, effort: Option<Effort>) -> Value {
    let is_dialogue = !request.tools.is_empty();
    let mut body = json!({
        "model": model,
        "max_tokens": request.output_tokens_max,
        "system": request.system,
        "messages": messages(request),
        "stream": true,
    });
    // What is asked again and again with more behind it is kept by the provider up to its end, wherever that is by then. A
    // mark of our own would have to move, and what was sent before would not be the same any more.
    if is_dialogue {
        body["cache_control"] = json!({ "type": "ephemeral" });
    }
    let shape = &request.shape;
    // Nobody can be made to call something and to think first.
    let effort = effort.filter(|_| is_dialogue || shape.mode != Mode::ForcedTool);
    if let Some(effort) = effort {
        think(&mut body, model, effort, request.output_tokens_max);
    }
    match shape.mode {
        mode if !request.tools.is_empty() => {
            let offered = request
                .tools
                .iter()
                .map(|offer| json!({ "name": offer.name, "description": offer.about, "input_schema": offer.schema }));
            let answer = json!({ "name": shape.name, "description": shape.about, "input_schema": shape.schema });
            body["tools"] = Value::Array(offered.chain([answer]).collect());
            let is_free = mode == Mode::Prose || effort.is_some();
            body["tool_choice"] = json!({ "type": if is_free { "auto" } else { "any" } });
        }
        Mode::JsonSchema => {
            body["output_config"]["format"] = json!({ "type": "json_schema", "schema": shape.schema });
        }
        Mode::ForcedTool => {
            body["tools"] = json!([{
                "name": shape.name, "description": shape.about, "input_schema": shape.schema,
            }]);
            body["tool_choice"] = json!({ "type": "tool", "name": shape.name });
        }
        Mode::Prose => {}
    }
    body
}

/// Models since 4.6 decide themselves how long they think, and are told how hard; those before are given a number.
fn think(body: &mut Value, model: &str, effort: Effort, output_tokens_max: u32) {
    let numbers = || model.split(['-', '.']).filter_map(|part| part.parse::<u32>().ok().filter(|n| *n < 100));
    let version = (numbers().next(), numbers().nth(1).unwrap_or(0));
    let is_old = matches!(version, (Some(major), minor) if (major, minor) < (4, 6));
    if is_old {
        let most = output_tokens_max.saturating_sub(1);
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": effort.tokens().min(most) });
    } else {
        body["thinking"] = json!({ "type": "adaptive" });
        body["output_config"]["effort"] = json!(effort.name());
    }
}

fn messages(request: &Request) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": [text(&request.user)] })];
    for (n, turn) in request.turns.iter().enumerate() {
        let said = match &turn.verbatim {
            Some(blocks @ Value::Array(_)) => blocks.clone(),
            _ => said(n, turn),
        };
        messages.push(json!({ "role": "assistant", "content": said }));
        let heard = turn.results.iter().enumerate();
        let heard = heard.map(|(i, text)| {
            let id = turn.calls.get(i).and_then(|call| call.id.clone()).unwrap_or_else(|| call_id(n, i));
            json!({ "type": "tool_result", "tool_use_id": id, "content": text })
        });
        let heard: Vec<Value> = heard.chain(turn.note.as_deref().map(text)).collect();
        messages.push(json!({ "role": "user", "content": heard }));
    }
    if request.tools.is_empty() {
        messages[0]["content"] = json!(request.user);
    }
    Value::Array(messages)
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// What a model said, where it is not known in its provider's own form.
fn said(n: usize, turn: &Turn) -> Value {
    // An answer with nothing in it cannot be sent back.
    let said = match (turn.text.is_empty(), turn.calls.is_empty()) {
        (true, true) => Some(text("(nothing)")),
        (true, false) => None,
        (false, _) => Some(text(&turn.text)),
    };
    let calls = turn.calls.iter().enumerate().map(|(i, call)| {
        let ToolCall { name, arguments, id } = call;
        let id = id.clone().unwrap_or_else(|| call_id(n, i));
        json!({ "type": "tool_use", "id": id, "name": plain_name(name), "input": plain_arguments(arguments) })
    });
    said.into_iter().chain(calls).collect()
}

/// The blocks of an answer, as they come.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    blocks: BTreeMap<u64, Value>,
    /// Arguments of calls, which come as pieces of text.
    inputs: BTreeMap<u64, String>,
}

impl Blocks {
    pub(super) fn hear(&mut self, event: &Value) {
        let at = event["index"].as_u64().unwrap_or(0);
        match event["type"].as_str() {
            Some("content_block_start") => {
                self.blocks.insert(at, event["content_block"].clone());
            }
            Some("content_block_delta") => {
                let delta = &event["delta"];
                let piece = |name: &str| delta[name].as_str().unwrap_or_default().to_owned();
                match delta["type"].as_str() {
                    Some("text_delta") => self.more(at, "text", &piece("text")),
                    Some("thinking_delta") => self.more(at, "thinking", &piece("thinking")),
                    Some("signature_delta") => self.more(at, "signature", &piece("signature")),
                    Some("input_json_delta") => self.inputs.entry(at).or_default().push_str(&piece("partial_json")),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn more(&mut self, at: u64, name: &str, piece: &str) {
        let Some(block) = self.blocks.get_mut(&at) else { return };
        let before = block[name].as_str().unwrap_or_default();
        block[name] = json!(format!("{before}{piece}"));
    }

    /// As they are given back; nothing if there is nothing that only this form holds.
    pub(super) fn into_value(self) -> Option<Value> {
        let is_needed = |block: &Value| block["type"] != "text";
        if !self.blocks.values().any(is_needed) {
            return None;
        }
        let mut inputs = self.inputs;
        let blocks = self.blocks.into_iter().map(|(at, mut block)| {
            if block["type"] == "tool_use" {
                block["name"] = json!(plain_name(block["name"].as_str().unwrap_or_default()));
                block["input"] = plain_arguments(&inputs.remove(&at).unwrap_or_default());
            }
            block
        });
        // A text of nothing is not taken back.
        Some(blocks.filter(|block| block["type"] != "text" || block["text"] != "").collect())
    }

    pub(super) fn has_thoughts(&self) -> bool {
        self.blocks.values().any(|block| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking")))
    }
}

pub(super) fn events(event: &Value) -> Option<Vec<Event>> {
    Some(match event["type"].as_str()? {
        "message_start" => vec![Event::Used(usage(&event["message"]["usage"]))],
        "content_block_delta" => {
            let delta = &event["delta"];
            let at = event["index"].as_u64().unwrap_or(0);
            let heard = match delta["type"].as_str()? {
                "text_delta" => Some(Event::Piece(delta["text"].as_str()?.to_owned())),
                "input_json_delta" => Some(Event::Arguments { at, piece: delta["partial_json"].as_str()?.to_owned() }),
                // What it thinks to itself, and kinds that come later.
                _ => None,
            };
            let is_something = |event: &Event| match event {
                Event::Piece(piece) | Event::Arguments { piece, .. } => !piece.is_empty(),
                Event::Call { .. } | Event::Finished(_) | Event::Used(_) | Event::End | Event::Broken { .. } => true,
            };
            heard.into_iter().filter(is_something).collect()
        }
        "content_block_start" if event["content_block"]["type"] == "tool_use" => {
            let block = &event["content_block"];
            let (name, id) = (block["name"].as_str()?.to_owned(), block["id"].as_str().map(str::to_owned));
            vec![Event::Call { at: event["index"].as_u64().unwrap_or(0), name, id }]
        }
        "message_delta" => {
            let mut events = vec![Event::Used(usage(&event["usage"]))];
            match event["delta"]["stop_reason"].as_str() {
                None => {}
                Some("max_tokens" | "model_context_window_exceeded") => events.push(Event::Finished(Finish::Length)),
                Some("refusal") => events.push(Event::Finished(Finish::Refused)),
                Some(_) => events.push(Event::Finished(Finish::Complete)),
            }
            events
        }
        "message_stop" => vec![Event::End],
        "error" => {
            let is_busy = matches!(event["error"]["type"].as_str(), Some("overloaded_error" | "rate_limit_error"));
            vec![Event::Broken { is_busy }]
        }
        // `ping`, beginnings and ends of blocks, and what is added later.
        _ => Vec::new(),
    })
}

/// What was read from a cache was sent too.
fn usage(usage: &Value) -> Usage {
    let n = |name: &str| usage[name].as_u64().unwrap_or(0);
    let cached = n("cache_creation_input_tokens").saturating_add(n("cache_read_input_tokens"));
    Usage {
        input_tokens: n("input_tokens").saturating_add(cached),
        kept_tokens: n("cache_read_input_tokens"),
        output_tokens: n("output_tokens"),
        thought_tokens: 0,
        microusd: None,
    }
}
