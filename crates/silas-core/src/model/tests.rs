//! Names, keys and prices, as people write them and as they must not be read.

use super::*;

#[test]
fn names_are_read_and_written_back() {
    for text in [
        "openrouter:anthropic/claude-haiku-4-5",
        "openai:gpt-5-mini",
        "anthropic:claude-sonnet-4-5-20250929",
        "ollama:llama3.2:3b",
        "ollama:qwen3@http://127.0.0.1:9000/v1",
        "compatible:mistral@https://llm.example.org/v1",
    ] {
        assert_eq!(ModelName::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(ModelName::parse("openai:gpt-5").unwrap().host(), "api.openai.com");
    assert!(ModelName::parse("ollama:qwen3").unwrap().is_local());
}

#[test]
fn a_name_that_could_mislead_is_refused() {
    for text in ["gpt-5", "acme:x", "openai:", "openai:a b", "compatible:m", "compatible:m@ftp://x/v1"] {
        assert!(ModelName::parse(text).is_err(), "{text}");
    }
    for url in ["https://user:pw@evil.example/v1", "https://a/v1?x=1", "https:///v1", "https://a/v1#x"] {
        assert!(ModelName::parse(&format!("compatible:m@{url}")).is_err(), "{url}");
    }
}

#[test]
fn only_this_machine_is_reached_without_encryption() {
    assert!(matches!(ModelName::parse("compatible:m@http://llm.example.org/v1"), Err(BadModel::Plain(_))));
    assert!(matches!(ModelName::parse("compatible:m@http://localhost.example.org/v1"), Err(BadModel::Plain(_))));
    for host in ["localhost:1", "127.0.0.1:1", "[::1]:1"] {
        assert!(ModelName::parse(&format!("compatible:m@http://{host}/v1")).unwrap().is_local(), "{host}");
    }
}

#[test]
fn a_key_that_was_pasted_by_mistake_is_not_repeated() {
    let error = KeySource::parse("sk-live-abcdefghijklmnop").unwrap_err().to_string();
    assert!(!error.contains("abcdefgh"), "{error}");
    assert_eq!(KeySource::parse("env:MY_KEY").unwrap().to_string(), "env:MY_KEY");
    assert_eq!(KeySource::parse("secret:openrouter").unwrap().to_string(), "secret:openrouter");
}

#[test]
fn unknown_prices_count_as_expensive() {
    let price = |text: &str| list_price(&ModelName::parse(text).unwrap());
    let dearest = price("openrouter:acme/never-heard-of");
    assert!(dearest.is_unknown());
    assert!(price("compatible:gpt-5-nano@https://x.example/v1").is_unknown());
    assert!(price("openai:gpt-5-codex-max").is_unknown());
    assert_eq!(price("ollama:qwen3"), Price::FREE);
    assert!(price("ollama:qwen3@https://far.example/v1").is_unknown());
    assert_eq!(price("openrouter:anthropic/claude-haiku-4-5"), price("anthropic:claude-haiku-4-5-20251001"));
    assert_eq!(price("openai:gpt-5-mini-2025-08-07").input, 250_000);
    assert!(Price::FREE.of(u64::MAX, u64::MAX) == 0 && dearest.of(u64::MAX, u64::MAX) == u64::MAX);
    // A fraction of a micro-dollar is a micro-dollar.
    assert_eq!(price("openai:gpt-5-nano").of(1, 0), 1);
}

#[test]
fn money_and_tokens_are_counted_as_people_read_them() {
    assert_eq!(dollars(0), "$0.00");
    assert_eq!(dollars(12), "less than 1 cent");
    assert_eq!(dollars(2_500_000), "$2.50");
    assert_eq!(count_tokens(""), 0);
    assert_eq!(count_tokens("seven c"), 2);
    assert_eq!(count_tokens("日本語"), 3);
}
