//! Every way in which a provider can fail ends in a clean, explained outcome, after a known number of requests.

use crate::world::{KEY, READY, World, impatient, short};
use scripted_model::{Act, Dialect, Part, Script};
use silas_agents::{Error, Outcome, Timeouts};
use silas_core::model::ModelName;
use std::time::Duration;

const BOTH: [Dialect; 2] = [Dialect::OpenAi, Dialect::Anthropic];

fn says(text: &str) -> Act {
    Act::Says(text.to_owned())
}

fn status(status: u16) -> Act {
    Act::Status(status, Vec::new(), "{\"error\":{\"message\":\"no\"}}".to_owned())
}

/// The code of what went wrong, and after how many requests.
async fn fails(world: &World) -> (&'static str, usize) {
    let error = world.check().await.unwrap_err();
    assert!(!error.to_string().contains(KEY) && !error.todo().is_empty(), "{error}");
    (error.code(), world.n_asked())
}

#[tokio::test]
async fn a_storm_of_429_ends_after_three_requests() {
    for dialect in BOTH {
        let world = World::new(dialect, [status(429)]);
        assert_eq!(fails(&world).await, ("E_LLM_BUSY", 3));
        assert_eq!(world.books.settled.lock().unwrap()[0].microusd, 0);
    }
}

#[tokio::test]
async fn retry_after_is_honoured_or_told() {
    let wait = |secs: &str| Act::Status(429, vec![("retry-after", secs.to_owned())], String::new());
    let world = World::new(Dialect::OpenAi, [wait("0"), says(READY)]);
    assert!(matches!(world.check().await.unwrap(), Outcome::Usable(_)));
    assert_eq!(world.n_asked(), 2);
    // Nobody waits for an hour: it is said instead, after one request.
    let world = World::new(Dialect::OpenAi, [wait("3600"), says(READY)]);
    let error = world.check().await.unwrap_err();
    assert_eq!(world.n_asked(), 1);
    assert!(matches!(error, Error::Busy { retry_after: Some(after), .. } if after == Duration::from_secs(3600)));
}

#[tokio::test]
async fn a_server_that_recovers_is_asked_again() {
    for dialect in BOTH {
        let world = World::new(dialect, [status(503), status(500), says(READY)]);
        assert!(matches!(world.check().await.unwrap(), Outcome::Usable(_)));
        assert_eq!(world.n_asked(), 3);
    }
}

#[tokio::test]
async fn what_will_not_change_is_not_asked_again() {
    for (act, code) in [(status(401), "E_LLM_KEY"), (status(403), "E_LLM_KEY"), (status(402), "E_LLM_CREDIT")] {
        let world = World::new(Dialect::Anthropic, [act]);
        assert_eq!(fails(&world).await, (code, 1));
    }
    // The form may have been the trouble, so each is tried once.
    let world = World::new(Dialect::OpenAi, [status(404)]);
    assert_eq!(fails(&world).await, ("E_LLM_MODEL", 3));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = World::new(Dialect::OpenAi, [says(READY)]);
    let to = format!("{}/chat/completions", elsewhere.server.url());
    let world = World::new(Dialect::OpenAi, [Act::Status(307, vec![("location", to)], String::new())]);
    assert_eq!(fails(&world).await.0, "E_LLM_REJECTED");
    assert_eq!(elsewhere.n_asked(), 0);
}

#[tokio::test]
async fn malformed_twice_is_unusable_after_two_requests() {
    for dialect in BOTH {
        let world = World::new(dialect, [says("{\"word\": \"rea")]);
        assert!(matches!(world.check().await.unwrap(), Outcome::Unusable { .. }));
        assert_eq!(world.n_asked(), 2);
        let repair = world.server.asked()[1].text.clone();
        assert!(repair.contains("[SCHEMA VALIDATION ERROR]"));
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_is_not_taken_for_an_answer() {
    for dialect in BOTH {
        let world = World::new(dialect, [Act::Cut(READY.to_owned())]);
        assert_eq!(fails(&world).await, ("E_LLM_CUT", 1));
        // It may have been billed: the whole reserve counts.
        let (settled, reserved) = (world.books.settled.lock().unwrap(), world.books.reserved.lock().unwrap());
        assert_eq!(settled[0].microusd, reserved[0].microusd_max);
    }
}

#[tokio::test]
async fn a_question_that_was_taken_and_not_answered_is_paid_for_and_not_repeated() {
    for dialect in BOTH {
        let world = World::new(dialect, [Act::HangsUp]);
        assert_eq!(fails(&world).await, ("E_LLM_CUT", 1));
        let (settled, reserved) = (world.books.settled.lock().unwrap(), world.books.reserved.lock().unwrap());
        assert_eq!(settled[0].microusd, reserved[0].microusd_max);
    }
}

#[tokio::test]
async fn what_has_no_end_is_left() {
    for dialect in BOTH {
        for (part, code, n) in [
            (Part::Headers, "E_LLM_GARBLED", 1),
            (Part::Line, "E_LLM_GARBLED", 1),
            (Part::Event, "E_LLM_GARBLED", 1),
            // The form may have been the trouble, so each is tried once.
            (Part::ErrorBody, "E_LLM_REJECTED", 3),
        ] {
            let world = World::new(dialect, [Act::Endless(part)]);
            assert_eq!(fails(&world).await, (code, n), "{part:?}");
        }
    }
}

/// Neither the proxy nor the planner has a tool: a call of one is text like any other, and not what was asked for.
#[tokio::test]
async fn a_call_of_a_tool_that_does_not_exist_is_no_answer() {
    let call = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",",
        "\"function\":{\"name\":\"delete_everything\",\"arguments\":\"{\\\"path\\\":\\\"/\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let world = World::new(Dialect::OpenAi, [Act::Garbage(call.to_owned())]);
    assert!(matches!(world.check().await.unwrap(), Outcome::Unusable { .. }));
    assert_eq!(world.n_asked(), 2);
}

#[tokio::test]
async fn five_megabytes_are_left_where_they_are() {
    for dialect in BOTH {
        let world = World::new(dialect, [Act::Flood(5 << 20)]);
        assert_eq!(fails(&world).await, ("E_LLM_LONG", 1));
        // What was not read backs up at the sender: socket buffers at most, not the whole.
        assert!(world.server.n_sent() < 6 << 20);
    }
}

#[tokio::test]
async fn a_model_that_repeats_itself_for_ever_is_cut_off() {
    for dialect in BOTH {
        let world = World::new(dialect, [Act::Loops("again and ".to_owned())]);
        assert_eq!(fails(&world).await, ("E_LLM_LONG", 1));
    }
}

#[tokio::test]
async fn silence_is_waited_for_only_so_long() {
    for dialect in BOTH {
        let world = World::of(Script::new(dialect, [Act::Silence]), impatient());
        assert_eq!(fails(&world).await, ("E_LLM_TIMEOUT", 1));
        let pauses = Act::Pauses("{\"wo".to_owned(), "rd".to_owned());
        let world = World::of(Script::new(dialect, [pauses]), impatient());
        assert_eq!(fails(&world).await, ("E_LLM_TIMEOUT", 1));
    }
}

#[tokio::test]
async fn the_whole_of_a_call_has_an_end_too() {
    let whole = Timeouts { whole: Duration::from_millis(300), ..short() };
    let world = World::of(Script::new(Dialect::OpenAi, [Act::Silence]), whole);
    assert_eq!(fails(&world).await, ("E_LLM_TIMEOUT", 1));
}

#[tokio::test]
async fn garbage_is_called_that() {
    for dialect in BOTH {
        for garbage in ["data: <html>\n\n", "data: {\"type\":7}\n\ndata: [\n\n"] {
            let world = World::new(dialect, [Act::Garbage(garbage.to_owned())]);
            let (code, n) = fails(&world).await;
            assert!((code == "E_LLM_GARBLED" || code == "E_LLM_CUT") && n == 1, "{code} after {n}");
        }
    }
}

#[tokio::test]
async fn nobody_there_is_said_so() {
    let mut world = World::new(Dialect::OpenAi, [says(READY)]);
    // A port at which nothing has listened for decades.
    world.name = ModelName::parse("compatible:test@http://127.0.0.1:1/v1").unwrap();
    let error = world.check().await.unwrap_err();
    assert_eq!(error.code(), "E_LLM_UNREACHABLE");
}

#[tokio::test]
async fn usage_that_cannot_be_true_costs_the_reserve() {
    for dialect in BOTH {
        for (claim, is_reserve) in [(Some((0, 0)), true), (None, true), (Some((u64::MAX, u64::MAX)), false)] {
            let world = World::new(dialect, [Act::Claims(READY.to_owned(), claim)]);
            world.check().await.unwrap();
            let (settled, reserved) = (world.books.settled.lock().unwrap(), world.books.reserved.lock().unwrap());
            assert_eq!(settled[0].microusd == reserved[0].microusd_max, is_reserve, "{claim:?}: {settled:?}");
            assert!(settled[0].microusd >= reserved[0].microusd_max);
        }
    }
}

#[tokio::test]
async fn a_provider_that_repeats_the_key_is_not_quoted() {
    let echo = format!("{{\"error\":{{\"message\":\"Incorrect key: {KEY} or {}****, see help\"}}}}", &KEY[..12]);
    let world = World::new(Dialect::OpenAi, [Act::Status(422, Vec::new(), echo)]);
    let error = world.check().await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("Incorrect key: [secret]") && !shown.contains(&KEY[..10]), "{shown}");
}

#[tokio::test]
async fn leaving_ends_the_request() {
    let world = World::new(Dialect::OpenAi, [Act::Loops("x".to_owned()), says(READY)]);
    tokio::select! {
        biased;
        () = async { while world.n_asked() == 0 { tokio::task::yield_now().await } } => {}
        _ = world.check() => {}
    }
    // The connection is gone with the call; the next one is not disturbed.
    assert!(matches!(world.check().await.unwrap(), Outcome::Usable(_)));
    // Reserved twice, settled once: what was left counts as spent.
    assert_eq!((world.books.reserved.lock().unwrap().len(), world.books.settled.lock().unwrap().len()), (2, 1));
}
