//! The published examples once more, as a provider sends them: through a real connection, heard piece by piece.

use crate::world::{World, short};
use scripted_model::{Act, Dialect, Script};
use serde_json::{Value, json};
use silas_agents::{Error, Finish, Mode, Offer, Reply, Request, Shape, ToolCall, Usage};
use silas_core::model::ModelName;

fn schema() -> Value {
    json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false })
}

async fn answer(provider: &str, tools: &[&str], stream: &str) -> (Result<Reply, Error>, String) {
    let dialect = if provider == "anthropic" { Dialect::Anthropic } else { Dialect::OpenAi };
    let mut world = World::of(Script::new(dialect, [Act::Garbage(stream.to_owned())]), short());
    world.name = ModelName::parse(&format!("{provider}:test@{}", world.server.url())).unwrap();
    let model = world.minds.model(&world.name, None).unwrap();
    let shape = Shape { name: "answer", about: "Answer.", schema: schema(), mode: Mode::JsonSchema };
    let offer = |name: &&str| Offer { name: (*name).to_owned(), about: "A tool.".to_owned(), schema: schema() };
    let request = Request {
        system: "S".to_owned(),
        user: "U".to_owned(),
        turns: Vec::new(),
        tools: tools.iter().map(offer).collect(),
        shape,
        output_tokens_max: 64,
    };
    let mut heard = String::new();
    let reply = model.call(&request, &mut |piece| heard.push_str(piece)).await;
    assert_eq!(world.server.faults(), Vec::<String>::new());
    (reply, heard)
}

fn usage(input_tokens: u64, output_tokens: u64, microusd: Option<u64>) -> Option<Usage> {
    Some(Usage { input_tokens, output_tokens, microusd, ..Usage::default() })
}

#[tokio::test]
async fn each_provider_is_heard_as_it_speaks() {
    let (complete, length, refused) = (Finish::Complete, Finish::Length, Finish::Refused);
    let examples = [
        ("openai", include_str!("../published/openai-text.sse"), "Hello", complete, usage(19, 10, None)),
        (
            "openai",
            include_str!("../published/openai-tool-call.sse"),
            "{\"location\":\"Paris, France\"}",
            complete,
            None,
        ),
        (
            "openrouter",
            include_str!("../published/openrouter-text.sse"),
            "Hello",
            complete,
            usage(194, 2, Some(950_000)),
        ),
        ("ollama", include_str!("../published/ollama-text.sse"), "Hello", length, usage(17, 40, None)),
        (
            "ollama",
            include_str!("../published/ollama-tool-call.sse"),
            "{\"city\":\"Tokyo\"}",
            complete,
            usage(169, 15, None),
        ),
        ("anthropic", include_str!("../published/anthropic-text.sse"), "Hello!", complete, usage(25, 15, None)),
        (
            "anthropic",
            include_str!("../published/anthropic-tool-use.sse"),
            "Okay, let's check the weather for San Francisco, CA:{\"location\": \"San Francisco, CA\", \"unit\": \"fahrenheit\"}",
            complete,
            usage(472, 89, None),
        ),
        (
            "anthropic",
            include_str!("../published/anthropic-thinking.sse"),
            "27 * 453 = 12,231",
            complete,
            usage(0, 0, None),
        ),
        ("anthropic", include_str!("../published/anthropic-refusal.sse"), "", refused, usage(20, 120, None)),
    ];
    for (provider, stream, text, finish, usage) in examples {
        let (reply, heard) = answer(provider, &[], stream).await;
        assert_eq!(
            reply.unwrap(),
            Reply { text: text.to_owned(), calls: Vec::new(), finish, usage, verbatim: None },
            "{provider}"
        );
        assert_eq!(heard, text);
    }
}

#[tokio::test]
async fn each_provider_is_understood_when_it_calls_a_tool() {
    for (provider, id, stream, text, arguments) in [
        (
            "openai",
            "call_DdmO9pD3xa9XTPNJ32zg2hcA",
            include_str!("../published/openai-tool-call.sse"),
            "",
            "{\"location\":\"Paris, France\"}",
        ),
        ("ollama", "call_lbcjwr0u", include_str!("../published/ollama-tool-call.sse"), "", "{\"city\":\"Tokyo\"}"),
        (
            "anthropic",
            "toolu_01T1x1fJ34qAmk2tNTrN7Up6",
            include_str!("../published/anthropic-tool-use.sse"),
            "Okay, let's check the weather for San Francisco, CA:",
            "{\"location\": \"San Francisco, CA\", \"unit\": \"fahrenheit\"}",
        ),
    ] {
        let (reply, _) = answer(provider, &["get_weather"], stream).await;
        let reply = reply.unwrap();
        let call = ToolCall { id: Some(id.to_owned()), ..ToolCall::new("get_weather", arguments) };
        assert_eq!((reply.text.as_str(), reply.calls), (text, vec![call]), "{provider}");
    }
}

#[tokio::test]
async fn errors_in_the_middle_are_no_answers() {
    let (reply, _) = answer("anthropic", &[], include_str!("../published/anthropic-error.sse")).await;
    assert_eq!(reply.unwrap_err().code(), "E_LLM_BUSY");
    let (reply, _) = answer("openrouter", &[], include_str!("../published/openrouter-error.sse")).await;
    assert_eq!(reply.unwrap_err().code(), "E_LLM_CUT");
}
