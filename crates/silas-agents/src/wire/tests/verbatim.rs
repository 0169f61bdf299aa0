//! What is given back to a provider as it came: thoughts with their signatures, calls with their names. And what it is told
//! about thinking and keeping.

use super::*;

/// A stream in Anthropic's form, made of these events.
fn messages(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect()
}

fn chunks(deltas: &[Value]) -> String {
    let chunk = |delta: &Value| format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }));
    deltas.iter().map(chunk).collect()
}

fn begun(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn more(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

/// The request that follows an answer, with one result for each of its calls.
fn next(model: &str, said: Option<Value>, id: &str) -> Value {
    let call = ToolCall { id: Some(id.to_owned()), ..ToolCall::new("look", "{}") };
    let turn = Turn { calls: vec![call], results: vec!["seen".to_owned()], verbatim: said, ..Turn::default() };
    let request = Request { turns: vec![turn], ..dialogue(Mode::ForcedTool) };
    body(&ModelName::parse(model).unwrap(), &request, None)
}

#[test]
fn signed_thoughts_go_back_as_they_came() {
    let stream = messages(&[
        begun(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        more(0, json!({ "type": "thinking_delta", "thinking": "Let me" })),
        more(0, json!({ "type": "thinking_delta", "thinking": " see.\n" })),
        more(0, json!({ "type": "signature_delta", "signature": "EqQB+/=" })),
        begun(1, json!({ "type": "redacted_thinking", "data": "EmwKAh==" })),
        begun(2, json!({ "type": "text", "text": "" })),
        begun(3, json!({ "type": "tool_use", "id": "toolu_01A", "name": "look", "input": {} })),
        more(3, json!({ "type": "input_json_delta", "partial_json": "{\"at\":" })),
        more(3, json!({ "type": "input_json_delta", "partial_json": " \"a\"}" })),
    ]);
    let said = verbatim(Provider::Anthropic, &stream);
    let blocks = json!([
        { "type": "thinking", "thinking": "Let me see.\n", "signature": "EqQB+/=" },
        { "type": "redacted_thinking", "data": "EmwKAh==" },
        { "type": "tool_use", "id": "toolu_01A", "name": "look", "input": { "at": "a" } },
    ]);
    assert_eq!(said.as_ref(), Some(&blocks));
    let body = next("anthropic:claude-sonnet-4-6", said, "toolu_01A");
    assert_eq!(body["messages"][1], json!({ "role": "assistant", "content": blocks }));
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "toolu_01A");
}

#[test]
fn thoughts_of_a_router_are_put_together_and_go_back() {
    let detail = |index: u64, more: Value| {
        let mut detail = json!({ "type": "reasoning.text", "index": index, "format": "anthropic-claude-v1" });
        more.as_object().unwrap().iter().for_each(|(name, value)| detail[name] = value.clone());
        detail
    };
    let stream = chunks(&[
        json!({ "content": "", "reasoning": "Let me", "reasoning_details": [detail(0, json!({ "text": "Let me" }))] }),
        json!({ "reasoning": " see.", "reasoning_details": [detail(0, json!({ "text": " see." }))] }),
        json!({ "reasoning_details": [detail(0, json!({ "signature": "EqQB" }))] }),
        json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "index": 1, "data": "abc", "id": "rs_1" }] }),
        json!({ "tool_calls": [{ "index": 0, "id": "toolu_1", "type": "function",
            "function": { "name": "look", "arguments": "" } }] }),
        json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"at\":\"a\"}" } }] }),
    ]);
    let said = verbatim(Provider::Openrouter, &stream).unwrap();
    assert_eq!(
        said,
        json!({
            "role": "assistant", "content": "",
            "reasoning_details": [
                detail(0, json!({ "text": "Let me see.", "signature": "EqQB" })),
                { "type": "reasoning.encrypted", "index": 1, "data": "abc", "id": "rs_1" },
            ],
            "tool_calls": [{ "id": "toolu_1", "type": "function",
                "function": { "name": "look", "arguments": "{\"at\":\"a\"}" } }],
        })
    );
    let body = next("openrouter:a/b", Some(said.clone()), "toolu_1");
    assert_eq!((&body["messages"][2], &body["messages"][3]["tool_call_id"]), (&said, &json!("toolu_1")));
}

#[test]
fn signatures_on_calls_and_thoughts_as_text_go_back_too() {
    let signed = json!({ "google": { "thought_signature": "CvcB" } });
    let stream = chunks(&[json!({ "tool_calls": [{ "index": 0, "id": "function-call-1", "type": "function",
        "function": { "name": "look", "arguments": "{}" }, "extra_content": signed }] })]);
    let said = verbatim(Provider::Compatible, &stream).unwrap();
    assert_eq!(said["tool_calls"][0]["extra_content"], signed);

    let stream = chunks(&[
        json!({ "reasoning_content": "Hm" }),
        json!({ "reasoning_content": "m.", "content": null }),
        json!({ "content": "So: ", "tool_calls": [{ "index": 0, "id": "c1", "type": "function",
            "function": { "name": "look", "arguments": "{\"at" } }] }),
    ]);
    let said = verbatim(Provider::Compatible, &stream).unwrap();
    assert_eq!((&said["reasoning_content"], &said["content"]), (&json!("Hmm."), &json!("So: ")));
    assert_eq!(said["tool_calls"][0]["function"]["arguments"], "{}", "no provider takes half an object back");
}

/// Our own words for it do where nothing is lost by them, and where a server gives its calls no names.
#[test]
fn what_needs_no_form_of_its_own_has_none() {
    assert_eq!(verbatim(Provider::Openai, &chunks(&[json!({ "content": "Hello." })])), None);
    let text = messages(&[
        begun(0, json!({ "type": "text", "text": "" })),
        more(0, json!({ "type": "text_delta", "text": "Hi" })),
    ]);
    assert_eq!(verbatim(Provider::Anthropic, &text), None);
    let nameless = json!({ "tool_calls": [{ "index": 0, "function": { "name": "look", "arguments": "{}" } }] });
    assert_eq!(verbatim(Provider::Ollama, &chunks(&[nameless])), None);
    // What another provider said is told in our own words.
    let body = next("openai:gpt-5-mini", Some(json!([{ "type": "thinking", "thinking": "x" }])), "toolu_1");
    assert_eq!(body["messages"][2]["tool_calls"][0]["id"], "toolu_1");
    assert!(!body.to_string().contains("thinking"));
}

#[test]
fn effort_is_said_in_each_provider_s_own_way() {
    let told = |name: &str, mode: Mode| {
        let request = Request { output_tokens_max: 16_064, ..dialogue(mode) };
        body(&ModelName::parse(name).unwrap(), &request, Some(Effort::Medium))
    };
    assert_eq!(told("openai:gpt-5", Mode::ForcedTool)["reasoning_effort"], "medium");
    assert_eq!(told("openrouter:a/b", Mode::ForcedTool)["reasoning"], json!({ "effort": "medium" }));
    let new = told("anthropic:claude-opus-4-7", Mode::ForcedTool);
    assert_eq!(
        (&new["thinking"], &new["output_config"]),
        (&json!({ "type": "adaptive" }), &json!({ "effort": "medium" }))
    );
    assert_eq!(new["tool_choice"], json!({ "type": "auto" }), "nobody is made to call something while it thinks");
    let old = told("anthropic:claude-sonnet-4-5-20250929", Mode::ForcedTool);
    assert_eq!(old["thinking"], json!({ "type": "enabled", "budget_tokens": 8_000 }));
    let form = Request { output_tokens_max: 16_064, ..request(Mode::JsonSchema) };
    let form = body(&ModelName::parse("anthropic:claude-opus-4-7").unwrap(), &form, Some(Effort::High));
    assert_eq!(
        (&form["output_config"]["effort"], &form["output_config"]["format"]["type"]),
        (&json!("high"), &json!("json_schema"))
    );
    let untold = body_for("anthropic:claude-opus-4-7", Mode::JsonSchema);
    assert!(untold.get("thinking").is_none() && untold["output_config"].get("effort").is_none());
}

/// The instructions, the tools and everything said so far are kept by the provider, and nothing in them says so.
#[test]
fn a_dialogue_begins_byte_for_byte_like_the_one_before() {
    for name in ["anthropic:claude-haiku-4-5", "openai:gpt-5", "openrouter:a/b", "ollama:qwen3"] {
        let name = ModelName::parse(name).unwrap();
        let first = Request { turns: Vec::new(), ..dialogue(Mode::ForcedTool) };
        // Whoever was seen to think is given more room, and that is no reason to read everything again.
        let later = Request { output_tokens_max: 16_064, ..dialogue(Mode::ForcedTool) };
        let (first, later) = (text(&body(&name, &first, None)), text(&body(&name, &later, None)));
        let value: Value = serde_json::from_str(&first).unwrap();
        let said = serde_json::to_string(&value["messages"]).unwrap();
        let end = first.find(&said).unwrap() + said.len() - 1;
        assert!(later.starts_with(&first[..end]), "{first}\n{later}");
        let is_marked = value["cache_control"] == json!({ "type": "ephemeral" });
        assert_eq!(
            (is_marked, first.matches("cache_control").count()),
            match name.provider() {
                Provider::Anthropic => (true, 1),
                _ => (false, 0),
            }
        );
    }
    let single = body_for("anthropic:claude-haiku-4-5", Mode::JsonSchema);
    assert!(!single.to_string().contains("cache_control"), "what is asked once is not worth keeping");
}
