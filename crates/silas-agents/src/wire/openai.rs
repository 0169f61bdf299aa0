//! OpenAI's chat completions, streamed. Others speak it with small differences, which are all here.

use super::{Effort, Event, call_id, plain_arguments, plain_name};
use crate::model::{Finish, Mode, Request, Turn, Usage};
use serde_json::{Map, Value, json};
use silas_core::model::Provider;
use std::collections::BTreeMap;

pub(super) fn body(provider: Provider, model: &str, request: &Request, effort: Option<Effort>) -> Value {
    let mut body = json!({
        "model": model,
        "messages": messages(request),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    // OpenAI's newer models refuse the old name; nobody else knows the new one.
    let limit = if provider == Provider::Openai { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(request.output_tokens_max);
    let shape = &request.shape;
    let function = |name: &str, about: &str, schema: &Value| json!({ "type": "function", "function": { "name": name, "description": about, "parameters": schema } });
    match shape.mode {
        mode if !request.tools.is_empty() => {
            let offered = request.tools.iter().map(|offer| function(&offer.name, &offer.about, &offer.schema));
            let answer = function(shape.name, shape.about, &shape.schema);
            body["tools"] = Value::Array(offered.chain([answer]).collect());
            body["tool_choice"] = json!(if mode == Mode::Prose { "auto" } else { "required" });
        }
        Mode::JsonSchema => {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": { "name": shape.name, "strict": true, "schema": shape.schema },
            });
        }
        Mode::ForcedTool => {
            body["tools"] = json!([function(shape.name, shape.about, &shape.schema)]);
            body["tool_choice"] = json!({ "type": "function", "function": { "name": shape.name } });
        }
        Mode::Prose => {}
    }
    match (effort, provider) {
        (None, _) => {}
        (Some(effort), Provider::Openrouter) => body["reasoning"] = json!({ "effort": effort.name() }),
        (Some(effort), _) => body["reasoning_effort"] = json!(effort.name()),
    }
    if provider == Provider::Openrouter {
        // What it really charges, and nobody behind it who would ignore the schema.
        body["usage"] = json!({ "include": true });
        if shape.mode != Mode::Prose {
            body["provider"] = json!({ "require_parameters": true });
        }
    }
    body
}

fn messages(request: &Request) -> Value {
    let mut messages = vec![
        json!({ "role": "system", "content": request.system }),
        json!({ "role": "user", "content": request.user }),
    ];
    for (n, turn) in request.turns.iter().enumerate() {
        messages.push(match &turn.verbatim {
            Some(message @ Value::Object(_)) => message.clone(),
            _ => said(n, turn),
        });
        let heard = turn.results.iter().enumerate();
        messages.extend(heard.map(|(i, text)| {
            let id = turn.calls.get(i).and_then(|call| call.id.clone()).unwrap_or_else(|| call_id(n, i));
            json!({ "role": "tool", "tool_call_id": id, "content": text })
        }));
        messages.extend(turn.note.iter().map(|note| json!({ "role": "user", "content": note })));
    }
    Value::Array(messages)
}

/// What a model said, where it is not known in its provider's own form.
fn said(n: usize, turn: &Turn) -> Value {
    let calls = turn.calls.iter().enumerate().map(|(i, call)| {
        let (name, arguments) = (plain_name(&call.name), plain_arguments(&call.arguments).to_string());
        let id = call.id.clone().unwrap_or_else(|| call_id(n, i));
        json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
    });
    let calls: Vec<Value> = calls.collect();
    let mut said = json!({ "role": "assistant", "content": turn.text });
    if !calls.is_empty() {
        said["tool_calls"] = Value::Array(calls);
    }
    said
}

/// Thoughts as one text, in the words of different servers.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];
/// Thoughts as a list of signed pieces.
const DETAILS: &str = "reasoning_details";

/// The message of an answer, as it comes.
#[derive(Debug, Default)]
pub(crate) struct Message {
    text: String,
    thoughts: BTreeMap<&'static str, String>,
    details: Vec<Value>,
    calls: BTreeMap<u64, Map<String, Value>>,
}

impl Message {
    pub(super) fn hear(&mut self, chunk: &Value) {
        let delta = &chunk["choices"][0]["delta"];
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        for name in THOUGHTS {
            if let Some(piece) = delta[name].as_str().filter(|piece| !piece.is_empty()) {
                self.thoughts.entry(name).or_default().push_str(piece);
            }
        }
        for detail in delta[DETAILS].as_array().into_iter().flatten() {
            self.detail(detail);
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = call["index"].as_u64().unwrap_or(0);
            let known = self.calls.entry(at).or_default();
            for (name, value) in call.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
                match name.as_str() {
                    "index" => {}
                    "function" => grow(known.entry("function").or_insert_with(|| json!({})), value),
                    _ => {
                        known.insert(name.clone(), value.clone());
                    }
                }
            }
        }
    }

    /// A piece of the last detail, or another one.
    fn detail(&mut self, detail: &Value) {
        let is_more = |last: &Value| last["type"] == detail["type"] && last["index"] == detail["index"];
        match self.details.last_mut().filter(|last| is_more(last)) {
            Some(last) => grow(last, detail),
            None => self.details.push(detail.clone()),
        }
    }

    /// As it is given back; nothing if there is nothing that only this form holds.
    pub(super) fn into_value(self) -> Option<Value> {
        if self.calls.is_empty() && !self.has_thoughts() {
            return None;
        }
        let mut message = json!({ "role": "assistant", "content": self.text });
        if self.details.is_empty() {
            self.thoughts.into_iter().for_each(|(name, text)| message[name] = json!(text));
        } else {
            message[DETAILS] = Value::Array(self.details);
        }
        let calls = self.calls.into_values().map(|mut call| {
            let function = &call["function"];
            let name = plain_name(function["name"].as_str().unwrap_or_default());
            let arguments = plain_arguments(function["arguments"].as_str().unwrap_or_default()).to_string();
            call["function"] = json!({ "name": name, "arguments": arguments });
            call.entry("type").or_insert_with(|| json!("function"));
            Value::Object(call)
        });
        let calls: Vec<Value> = calls.collect();
        // A call without a name of its own can only be told apart by where it stands.
        if calls.iter().any(|call| call["id"].as_str().is_none_or(str::is_empty)) {
            return None;
        }
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        Some(message)
    }

    pub(super) fn has_thoughts(&self) -> bool {
        !self.thoughts.is_empty() || !self.details.is_empty()
    }
}

/// Texts that come in pieces are put together; of everything else the last word counts.
fn grow(known: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let is_in_pieces = matches!(name.as_str(), "arguments" | "text" | "summary" | "data");
        match (known[name].as_str(), value.as_str()) {
            (Some(before), Some(piece)) if is_in_pieces => known[name] = json!(format!("{before}{piece}")),
            (_, Some("")) => {}
            _ => known[name] = value.clone(),
        }
    }
}

/// What the last line says instead of a chunk.
pub(super) const DONE: &str = "[DONE]";

pub(super) fn events(chunk: &Value) -> Option<Vec<Event>> {
    if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
        let is_busy = matches!(error["code"].as_u64(), Some(429 | 503 | 529));
        return Some(vec![Event::Broken { is_busy }]);
    }
    let mut events = Vec::new();
    let choice = &chunk["choices"][0];
    let said = choice["delta"]["content"].as_str().filter(|piece| !piece.is_empty());
    events.extend(said.map(|piece| Event::Piece(piece.to_owned())));
    for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
        let at = call["index"].as_u64().unwrap_or(0);
        let name = call["function"]["name"].as_str().filter(|name| !name.is_empty());
        let id = call["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        events.extend(name.map(|name| Event::Call { at, name: name.to_owned(), id }));
        let piece = call["function"]["arguments"].as_str().filter(|piece| !piece.is_empty());
        events.extend(piece.map(|piece| Event::Arguments { at, piece: piece.to_owned() }));
    }
    if choice["delta"]["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        events.push(Event::Finished(Finish::Refused));
    }
    match choice["finish_reason"].as_str() {
        None => {}
        Some("length") => events.push(Event::Finished(Finish::Length)),
        Some("content_filter") => events.push(Event::Finished(Finish::Refused)),
        Some(_) => events.push(Event::Finished(Finish::Complete)),
    }
    if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
        events.push(Event::Used(Usage {
            input_tokens: usage["prompt_tokens"].as_u64().unwrap_or(0),
            kept_tokens: usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0),
            output_tokens: usage["completion_tokens"].as_u64().unwrap_or(0),
            thought_tokens: usage["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap_or(0),
            microusd: usage["cost"].as_f64().and_then(microusd),
        }));
    }
    Some(events)
}

/// A price in dollars, rounded up; nonsense is no price.
fn microusd(dollars: f64) -> Option<u64> {
    let micro = (dollars * 1e6).ceil();
    // Far above what any single answer costs, far below where a float is inexact.
    (0.0..1e12).contains(&micro).then_some(micro as u64)
}
