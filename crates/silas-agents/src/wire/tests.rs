//! Bodies as they are sent, and what of a stream cannot be read. Answers as the providers publish them are in `published.rs`.

use super::*;
use crate::model::{Mode, Offer, Shape, ToolCall, Turn};
use serde_json::json;

mod published;
mod verbatim;

fn request(mode: Mode) -> Request {
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let shape = Shape { name: "answer", about: "Answer.", schema, mode };
    let (turns, tools) = (Vec::new(), Vec::new());
    Request { system: "S".to_owned(), user: "U".to_owned(), turns, tools, shape, output_tokens_max: 64 }
}

fn body_for(name: &str, mode: Mode) -> Value {
    body(&ModelName::parse(name).unwrap(), &request(mode), None)
}

fn all(provider: Provider, stream: &str) -> Vec<Event> {
    let events = sse::Reader::default().feed(stream.as_bytes()).unwrap();
    events.iter().flat_map(|data| events_in(provider, data).unwrap()).collect()
}

/// What one event says by itself.
fn events_in(provider: Provider, data: &str) -> Option<Vec<Event>> {
    Answer::of(provider).hear(data)
}

/// What is kept of a whole stream to be given back.
fn verbatim(provider: Provider, stream: &str) -> Option<Value> {
    let mut answer = Answer::of(provider);
    for data in sse::Reader::default().feed(stream.as_bytes()).unwrap() {
        answer.hear(&data).unwrap();
    }
    answer.into_verbatim()
}

/// A question with a tool, one call of it that went well and one that no provider would take back as it is.
fn dialogue(mode: Mode) -> Request {
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let offer = Offer { name: "look".to_owned(), about: "Looks.".to_owned(), schema };
    let called = |name: &str, arguments: &str| ToolCall::new(name, arguments);
    let turn = Turn {
        text: String::new(),
        calls: vec![called("look", r#"{"at":"a"}"#), called("no such/tool", "{")],
        results: vec!["seen".to_owned(), "unknown".to_owned()],
        note: Some("Go on.".to_owned()),
        verbatim: None,
    };
    Request { turns: vec![turn], tools: vec![offer], ..request(mode) }
}

#[test]
fn a_question_in_chat_completions() {
    assert_eq!(
        body_for("openai:gpt-5-mini", Mode::JsonSchema),
        json!({
            "model": "gpt-5-mini",
            "messages": [{ "role": "system", "content": "S" }, { "role": "user", "content": "U" }],
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_completion_tokens": 64,
            "response_format": { "type": "json_schema", "json_schema": {
                "name": "answer", "strict": true,
                "schema": { "type": "object", "properties": {}, "required": [], "additionalProperties": false },
            } },
        })
    );
    let tool = body_for("ollama:qwen3", Mode::ForcedTool);
    assert_eq!(tool["tool_choice"], json!({ "type": "function", "function": { "name": "answer" } }));
    assert_eq!(tool["tools"][0]["function"]["parameters"]["type"], "object");
    assert_eq!((&tool["max_tokens"], tool.get("response_format")), (&json!(64), None));
    let router = body_for("openrouter:a/b", Mode::JsonSchema);
    assert_eq!((&router["usage"]["include"], &router["provider"]["require_parameters"]), (&json!(true), &json!(true)));
    let prose = body_for("compatible:m@https://x.example/v1", Mode::Prose);
    assert!(prose.get("tools").is_none() && prose.get("response_format").is_none() && prose.get("usage").is_none());
}

#[test]
fn a_question_in_messages() {
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    assert_eq!(
        body_for("anthropic:claude-haiku-4-5", Mode::JsonSchema),
        json!({
            "model": "claude-haiku-4-5", "max_tokens": 64, "system": "S", "stream": true,
            "messages": [{ "role": "user", "content": "U" }],
            "output_config": { "format": { "type": "json_schema", "schema": schema } },
        })
    );
    let tool = body_for("anthropic:claude-haiku-4-5", Mode::ForcedTool);
    assert_eq!(tool["tool_choice"], json!({ "type": "tool", "name": "answer" }));
    assert_eq!(tool["tools"][0]["input_schema"], schema);
}

#[test]
fn the_key_is_in_one_header_and_in_no_body() {
    let canary = "sk-canary-0123456789";
    for (provider, name) in
        Provider::ALL.into_iter().zip(["authorization", "authorization", "x-api-key", "authorization", "authorization"])
    {
        let headers = headers(provider, Some(canary));
        let with: Vec<&str> =
            headers.iter().filter(|(_, value)| value.contains(canary)).map(|(name, _)| *name).collect();
        assert_eq!(with, [name]);
        assert!(super::headers(provider, None).iter().all(|(_, value)| !value.contains("Bearer")));
    }
}

#[test]
fn tools_and_their_results_in_chat_completions() {
    let body = body(&ModelName::parse("openai:gpt-5-mini").unwrap(), &dialogue(Mode::ForcedTool), None);
    let names: Vec<&Value> = body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(
        (names, &body["tool_choice"], body.get("response_format")),
        (vec![&json!("look"), &json!("answer")], &json!("required"), None)
    );
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    assert_eq!(
        body["messages"].as_array().unwrap()[2..],
        [
            json!({ "role": "assistant", "content": "", "tool_calls": [
                call("call_0_0", "look", r#"{"at":"a"}"#), call("call_0_1", "no_such_tool", "{}"),
            ] }),
            json!({ "role": "tool", "tool_call_id": "call_0_0", "content": "seen" }),
            json!({ "role": "tool", "tool_call_id": "call_0_1", "content": "unknown" }),
            json!({ "role": "user", "content": "Go on." }),
        ]
    );
    let auto = super::body(&ModelName::parse("ollama:qwen3").unwrap(), &dialogue(Mode::Prose), None);
    assert_eq!(auto["tool_choice"], "auto");
}

#[test]
fn tools_and_their_results_in_messages() {
    let body = body(&ModelName::parse("anthropic:claude-haiku-4-5").unwrap(), &dialogue(Mode::ForcedTool), None);
    assert_eq!((&body["tools"][1]["name"], &body["tool_choice"]), (&json!("answer"), &json!({ "type": "any" })));
    let used =
        |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let heard = |id: &str, text: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": text });
    assert_eq!(
        body["messages"].as_array().unwrap()[1..],
        [
            json!({ "role": "assistant", "content": [
                used("call_0_0", "look", json!({ "at": "a" })), used("call_0_1", "no_such_tool", json!({})),
            ] }),
            json!({ "role": "user", "content": [
                heard("call_0_0", "seen"), heard("call_0_1", "unknown"),
                { "type": "text", "text": "Go on." },
            ] }),
        ]
    );
}

#[test]
fn errors_in_the_middle_of_a_stream_are_told_apart() {
    let busy = "data: {\"error\":{\"code\":429,\"message\":\"slow down\"}}\n\n";
    assert_eq!(all(Provider::Openrouter, busy), [Event::Broken { is_busy: true }]);
    let broken = "data: {\"error\":{\"code\":502,\"message\":\"bad gateway\"}}\n\n";
    assert_eq!(all(Provider::Openrouter, broken), [Event::Broken { is_busy: false }]);
    assert_eq!(events_in(Provider::Openai, "<html>"), None);
    assert_eq!(events_in(Provider::Anthropic, "{\"no\":\"type\"}"), None);
}

#[test]
fn events_are_bounded_and_may_come_byte_by_byte() {
    let mut reader = sse::Reader::default();
    let got: Vec<String> = b"data: a\ndata: b\n\n".iter().flat_map(|byte| reader.feed(&[*byte]).unwrap()).collect();
    assert_eq!(got, ["a\nb"]);
    assert_eq!(sse::Reader::default().feed(&vec![b'x'; 2 << 20]), Err(sse::Overlong));
}
