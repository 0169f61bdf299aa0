//! Bodies as they are sent, and streams as the providers publish them: OpenAI's in the API reference, "Streaming" of chat
//! completions; Anthropic's in the documentation, "Streaming messages". Texts are ours, the form is theirs.

use super::*;
use crate::model::{Mode, Offer, Shape, ToolCall, Turn};
use serde_json::json;

fn request(mode: Mode) -> Request {
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let shape = Shape { name: "answer", about: "Answer.", schema, mode };
    let (turns, tools) = (Vec::new(), Vec::new());
    Request { system: "S".to_owned(), user: "U".to_owned(), turns, tools, shape, output_tokens_max: 64 }
}

fn body_for(name: &str, mode: Mode) -> Value {
    body(&ModelName::parse(name).unwrap(), &request(mode))
}

fn all(provider: Provider, stream: &str) -> Vec<Event> {
    let events = sse::Reader::default().feed(stream.as_bytes()).unwrap();
    events.iter().flat_map(|data| super::events(provider, data).unwrap()).collect()
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
fn a_published_stream_of_chat_completions() {
    let stream = concat!(
        "data: {\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":1694268190,\"model\":\"gpt-4o-mini\",",
        "\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},",
        "\"logprobs\":null,\"finish_reason\":null}]}\n\n",
        "data: {\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":",
        "{\"content\":\"Hello\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n",
        ": OPENROUTER PROCESSING\n\n",
        "data: {\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},",
        "\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,",
        "\"completion_tokens\":12,\"total_tokens\":21,\"cost\":0.00014}}\n\n",
        "data: [DONE]\n\n",
    );
    let used = Usage { input_tokens: 9, output_tokens: 12, microusd: Some(140) };
    let expected = [Event::Piece("Hello".to_owned()), Event::Finished(Finish::Complete), Event::Used(used), Event::End];
    assert_eq!(all(Provider::Openai, stream), expected);
    // The same with the line ends that the standard also allows.
    assert_eq!(all(Provider::Openrouter, &stream.replace('\n', "\r\n")), expected);
}

#[test]
fn a_published_tool_call_of_chat_completions() {
    let chunk = |delta: Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }))
    };
    let call = |arguments: &str| json!({ "tool_calls": [{ "index": 0, "function": { "arguments": arguments } }] });
    let begin = json!({ "tool_calls": [{ "index": 0, "id": "call_DdmO9pD3xa9XTPNJ32zg2hcA", "type": "function", "function": { "name": "get_weather", "arguments": "" } }] });
    let other = json!({ "tool_calls": [{ "index": 1, "function": { "name": "get_time", "arguments": "{}" } }] });
    let stream = [begin, call("{\"location\":"), other, call("\"Paris\"}")].map(chunk).concat();
    let more = |at, piece: &str| Event::Arguments { at, piece: piece.to_owned() };
    let begins = |at, name: &str| Event::Call { at, name: name.to_owned() };
    assert_eq!(
        all(Provider::Openai, &stream),
        [
            begins(0, "get_weather"),
            more(0, "{\"location\":"),
            begins(1, "get_time"),
            more(1, "{}"),
            more(0, "\"Paris\"}"),
        ]
    );
}

/// A question with a tool, one call of it that went well and one that no provider would take back as it is.
fn dialogue(mode: Mode) -> Request {
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let offer = Offer { name: "look".to_owned(), about: "Looks.".to_owned(), schema };
    let called = |name: &str, arguments: &str| ToolCall { name: name.to_owned(), arguments: arguments.to_owned() };
    let turn = Turn {
        text: String::new(),
        calls: vec![called("look", r#"{"at":"a"}"#), called("no such/tool", "{")],
        results: vec!["seen".to_owned(), "unknown".to_owned()],
        note: Some("Go on.".to_owned()),
    };
    Request { turns: vec![turn], tools: vec![offer], ..request(mode) }
}

#[test]
fn tools_and_their_results_in_chat_completions() {
    let body = body(&ModelName::parse("openai:gpt-5-mini").unwrap(), &dialogue(Mode::ForcedTool));
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
    let auto = super::body(&ModelName::parse("ollama:qwen3").unwrap(), &dialogue(Mode::Prose));
    assert_eq!(auto["tool_choice"], "auto");
}

#[test]
fn tools_and_their_results_in_messages() {
    let body = body(&ModelName::parse("anthropic:claude-haiku-4-5").unwrap(), &dialogue(Mode::ForcedTool));
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
                heard("call_0_0", "seen"), heard("call_0_1", "unknown"), { "type": "text", "text": "Go on." },
            ] }),
        ]
    );
}

#[test]
fn a_published_stream_of_messages() {
    let stream = concat!(
        "event: message_start\n",
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],",
        "\"model\":\"claude-haiku-4-5\",\"stop_reason\":null,\"usage\":{\"input_tokens\":20,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n",
        "event: content_block_start\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
        "event: content_block_delta\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm {\"}}\n\n",
        "event: content_block_delta\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EqQB\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        "event: content_block_delta\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
        "event: content_block_delta\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\"\"}}\n\n",
        "event: message_delta\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":15}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let used = |input_tokens, output_tokens| Event::Used(Usage { input_tokens, output_tokens, microusd: None });
    assert_eq!(
        all(Provider::Anthropic, stream),
        [
            used(25, 1),
            Event::Piece("Hello".to_owned()),
            Event::Arguments { at: 1, piece: "{\"a\"".to_owned() },
            used(0, 15),
            Event::Finished(Finish::Complete),
            Event::End,
        ]
    );
}

#[test]
fn errors_in_the_middle_of_a_stream_are_told_apart() {
    let busy = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    assert_eq!(all(Provider::Anthropic, busy), [Event::Broken { is_busy: true }]);
    let broken = "data: {\"error\":{\"code\":502,\"message\":\"bad gateway\"}}\n\n";
    assert_eq!(all(Provider::Openrouter, broken), [Event::Broken { is_busy: false }]);
    assert_eq!(super::events(Provider::Openai, "<html>"), None);
    assert_eq!(super::events(Provider::Anthropic, "{\"no\":\"type\"}"), None);
}

#[test]
fn events_are_bounded_and_may_come_byte_by_byte() {
    let mut reader = sse::Reader::default();
    let got: Vec<String> = b"data: a\ndata: b\n\n".iter().flat_map(|byte| reader.feed(&[*byte]).unwrap()).collect();
    assert_eq!(got, ["a\nb"]);
    assert_eq!(sse::Reader::default().feed(&vec![b'x'; 2 << 20]), Err(sse::Overlong));
}
