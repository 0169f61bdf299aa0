//! Both dialects in all three forms, through a real connection to a server that checks what it is sent.

use crate::world::{KEY, READY, World, short};
use scripted_model::{Act, Dialect, Form, Script};
use serde_json::{Value, json};
use silas_agents::Outcome;

fn usable<T>(outcome: &Outcome<T>) -> bool {
    matches!(outcome, Outcome::Usable(_))
}

#[tokio::test]
async fn each_dialect_answers_in_the_most_binding_form() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let world = World::new(dialect, [Act::Says(READY.to_owned())]);
        assert!(usable(&world.check().await.unwrap()));
        assert_eq!((world.n_asked(), world.server.faults()), (1, vec![]));
        let settled = world.books.settled.lock().unwrap()[0].clone();
        let reserved = world.books.reserved.lock().unwrap()[0];
        assert!(settled.outcome == "answered" && settled.microusd > 0 && settled.microusd < reserved.microusd_max);
    }
}

#[tokio::test]
async fn what_a_server_cannot_do_is_found_out_once() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        for (forms, n_first) in [(vec![Form::ForcedTool, Form::Prose], 2), (vec![Form::Prose], 3)] {
            let script = Script { forms, ..Script::new(dialect, [Act::Says(READY.to_owned())]) };
            let world = World::of(script, short());
            assert!(usable(&world.check().await.unwrap()));
            assert_eq!(world.n_asked(), n_first);
            assert!(usable(&world.check().await.unwrap()));
            assert_eq!((world.n_asked(), world.server.faults()), (n_first + 1, vec![]));
        }
    }
}

#[tokio::test]
async fn the_key_is_sent_in_its_header_and_nowhere_else() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let world = World::new(dialect, [Act::Says(READY.to_owned())]);
        world.check().await.unwrap();
        for asked in world.server.asked() {
            assert!(!asked.text.contains(KEY) && !asked.line.contains(KEY));
            assert_eq!(asked.headers.values().filter(|value| value.contains(KEY)).count(), 1);
        }
    }
}

/// Thoughts use up the room for an answer. Nobody says beforehand who thinks, so the first answer shows it.
#[tokio::test]
async fn whoever_was_seen_to_think_is_given_room_for_it() {
    let chunk = |delta: Value, end: Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] }))
    };
    let thought = chunk(json!({ "reasoning_content": "Which word?" }), json!(null));
    let cut = format!("{thought}{}data: [DONE]\n\n", chunk(json!({}), json!("length")));
    let answer = format!("{}data: [DONE]\n\n", chunk(json!({ "content": READY }), json!("stop")));
    let world = World::new(Dialect::OpenAi, [Act::Garbage(cut), Act::Garbage(answer)]);
    assert!(matches!(world.check().await, Ok(Outcome::Usable(_))));
    let limits: Vec<u64> =
        world.server.asked().iter().map(|asked| asked.body["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!(limits[1] - limits[0], 16_000);
    let reserved = world.books.reserved.lock().unwrap();
    assert!(reserved[1].tokens_max >= reserved[0].tokens_max + 16_000, "it is paid for, so it is reserved");
}

/// What a provider had kept from the question before costs less there, and so it does in the books.
#[tokio::test]
async fn what_was_kept_costs_less() {
    let price = |kept: u64| async move {
        let delta = json!({ "choices": [{ "index": 0, "delta": { "content": READY }, "finish_reason": "stop" }] });
        let used = json!({ "choices": [], "usage": { "prompt_tokens": 1000, "completion_tokens": 10,
            "prompt_tokens_details": { "cached_tokens": kept } } });
        let stream = format!("data: {delta}\n\ndata: {used}\n\ndata: [DONE]\n\n");
        let world = World::new(Dialect::OpenAi, [Act::Garbage(stream)]);
        assert!(matches!(world.check().await, Ok(Outcome::Usable(_))));
        world.books.settled.lock().unwrap()[0].microusd
    };
    let (all, half) = (price(0).await, price(800).await);
    let one = all / 1_010;
    assert_eq!(all - half, one * 400, "800 tokens at half the price");
    assert_eq!(price(5_000).await, all - one * 500, "no more can have been kept than was sent");
}
