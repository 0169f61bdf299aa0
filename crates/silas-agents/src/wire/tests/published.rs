//! Every published example, event by event. What the provider says is in `tests/published`, with its address in the first
//! lines; what Silas makes of it is here.

use super::*;

const EXAMPLES: [(&str, &str); 13] = [
    ("anthropic-error.json", include_str!("../../../tests/published/anthropic-error.json")),
    ("anthropic-error.sse", include_str!("../../../tests/published/anthropic-error.sse")),
    ("anthropic-refusal.sse", include_str!("../../../tests/published/anthropic-refusal.sse")),
    ("anthropic-text.sse", include_str!("../../../tests/published/anthropic-text.sse")),
    ("anthropic-thinking.sse", include_str!("../../../tests/published/anthropic-thinking.sse")),
    ("anthropic-tool-use.sse", include_str!("../../../tests/published/anthropic-tool-use.sse")),
    ("ollama-text.sse", include_str!("../../../tests/published/ollama-text.sse")),
    ("ollama-tool-call.sse", include_str!("../../../tests/published/ollama-tool-call.sse")),
    ("openai-error.json", include_str!("../../../tests/published/openai-error.json")),
    ("openai-text.sse", include_str!("../../../tests/published/openai-text.sse")),
    ("openai-tool-call.sse", include_str!("../../../tests/published/openai-tool-call.sse")),
    ("openrouter-error.sse", include_str!("../../../tests/published/openrouter-error.sse")),
    ("openrouter-text.sse", include_str!("../../../tests/published/openrouter-text.sse")),
];

fn example(name: &str) -> &'static str {
    EXAMPLES.iter().find(|(known, _)| *known == name).unwrap().1
}

fn pieces(pieces: &[&str]) -> Vec<Event> {
    pieces.iter().map(|piece| Event::Piece((*piece).to_owned())).collect()
}

fn call(at: u64, name: &str, id: &str, arguments: &[&str]) -> Vec<Event> {
    let begins = Event::Call { at, name: name.to_owned(), id: Some(id.to_owned()) };
    let more = arguments.iter().map(|piece| Event::Arguments { at, piece: (*piece).to_owned() });
    [begins].into_iter().chain(more).collect()
}

fn used(input_tokens: u64, output_tokens: u64) -> Event {
    Event::Used(Usage { input_tokens, output_tokens, ..Usage::default() })
}

/// The events of an example: as it stands, byte by byte, and with the line ends that the standard also allows.
#[track_caller]
fn check(provider: Provider, name: &str, expected: &[Event]) {
    let stream = example(name);
    assert_eq!(all(provider, stream), expected, "{name}");
    assert_eq!(all(provider, &stream.replace('\n', "\r\n")), expected, "{name}, with CRLF");
    let mut reader = sse::Reader::default();
    let events = stream.bytes().flat_map(|byte| reader.feed(&[byte]).unwrap());
    let split: Vec<Event> = events.flat_map(|data| events_in(provider, &data).unwrap()).collect();
    assert_eq!(split, expected, "{name}, byte by byte");
}

#[test]
fn every_example_says_where_it_was_published() {
    for (name, text) in EXAMPLES {
        let first = text.lines().take(2).collect::<Vec<_>>().join(" ");
        assert!(first.contains("https://"), "{name} names no source");
    }
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/published");
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), EXAMPLES.len(), "an example is not read by any test");
}

#[test]
fn openai() {
    let mut expected = pieces(&["Hello"]);
    expected.extend([Event::Finished(Finish::Complete), used(19, 10), Event::End]);
    check(Provider::Openai, "openai-text.sse", &expected);

    let mut expected = call(
        0,
        "get_weather",
        "call_DdmO9pD3xa9XTPNJ32zg2hcA",
        &["{\"", "location", "\":\"", "Paris", ",", " France", "\"}"],
    );
    expected.extend([Event::Finished(Finish::Complete), Event::End]);
    check(Provider::Openai, "openai-tool-call.sse", &expected);
    assert_eq!(reason(example("openai-error.json")), "Incorrect API key provided");
}

#[test]
fn anthropic() {
    let mut expected = vec![used(25, 1)];
    expected.extend(pieces(&["Hello", "!"]));
    expected.extend([used(0, 15), Event::Finished(Finish::Complete), Event::End]);
    check(Provider::Anthropic, "anthropic-text.sse", &expected);

    let mut expected = vec![used(472, 2)];
    let said = ["Okay", ",", " let", "'s", " check", " the", " weather", " for", " San", " Francisco", ",", " CA", ":"];
    expected.extend(pieces(&said));
    let arguments = ["{\"location\":", " \"San", " Francisc", "o,", " CA\"", ", ", "\"unit\": \"fah", "renheit\"}"];
    expected.extend(call(1, "get_weather", "toolu_01T1x1fJ34qAmk2tNTrN7Up6", &arguments));
    expected.extend([used(0, 89), Event::Finished(Finish::Complete), Event::End]);
    check(Provider::Anthropic, "anthropic-tool-use.sse", &expected);

    // What it thinks to itself is not part of the answer.
    let mut expected = vec![used(0, 0)];
    expected.extend(pieces(&["27 * 453 = 12,231"]));
    expected.extend([used(0, 0), Event::Finished(Finish::Complete), Event::End]);
    check(Provider::Anthropic, "anthropic-thinking.sse", &expected);

    let expected = [used(20, 1), used(0, 120), Event::Finished(Finish::Refused), Event::End];
    check(Provider::Anthropic, "anthropic-refusal.sse", &expected);
    check(Provider::Anthropic, "anthropic-error.sse", &[Event::Broken { is_busy: true }]);
    assert_eq!(reason(example("anthropic-error.json")), "The requested resource could not be found.");
}

#[test]
fn openrouter() {
    let mut expected = pieces(&["Hello"]);
    let charged = Usage { input_tokens: 194, output_tokens: 2, microusd: Some(950_000), ..Usage::default() };
    expected.extend([Event::Finished(Finish::Complete), Event::Used(charged), Event::End]);
    check(Provider::Openrouter, "openrouter-text.sse", &expected);
    check(Provider::Openrouter, "openrouter-error.sse", &[Event::Broken { is_busy: false }]);
}

#[test]
fn ollama() {
    let mut expected = pieces(&["Hello"]);
    expected.extend([Event::Finished(Finish::Length), used(17, 40), Event::End]);
    check(Provider::Ollama, "ollama-text.sse", &expected);
    let mut expected = call(0, "get_weather", "call_lbcjwr0u", &["{\"city\":\"Tokyo\"}"]);
    expected.extend([Event::Finished(Finish::Complete), used(169, 15), Event::End]);
    check(Provider::Ollama, "ollama-tool-call.sse", &expected);
}

/// Fields of a question as each provider documents them:
/// <https://platform.openai.com/docs/api-reference/chat/create>, <https://docs.claude.com/en/api/messages>,
/// <https://openrouter.ai/docs/api-reference/parameters> with its `usage` and `provider`, and
/// <https://github.com/ollama/ollama/blob/main/docs/openai.md>, which passes over what it does not know (`tool_choice`).
#[test]
fn nothing_is_sent_that_is_not_documented() {
    let openai = ["messages", "model", "response_format", "stream", "stream_options", "tool_choice", "tools"];
    for (name, more) in [
        ("openai:gpt-4.1", &["max_completion_tokens"][..]),
        ("openrouter:a/b", &["max_tokens", "usage", "provider"]),
        ("ollama:llama3.2", &["max_tokens"]),
        ("compatible:m@https://x.example/v1", &["max_tokens"]),
    ] {
        for mode in [Mode::JsonSchema, Mode::ForcedTool, Mode::Prose] {
            for field in body_for(name, mode).as_object().unwrap().keys() {
                assert!(openai.contains(&field.as_str()) || more.contains(&field.as_str()), "{name}: {field}");
            }
        }
    }
    let anthropic = [
        "cache_control",
        "max_tokens",
        "messages",
        "model",
        "output_config",
        "stream",
        "system",
        "tool_choice",
        "tools",
    ];
    for mode in [Mode::JsonSchema, Mode::ForcedTool, Mode::Prose] {
        for field in body_for("anthropic:claude-sonnet-4-5", mode).as_object().unwrap().keys() {
            assert!(anthropic.contains(&field.as_str()), "{field}");
        }
    }
}
