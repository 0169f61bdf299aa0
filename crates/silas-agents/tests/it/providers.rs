//! Both dialects in all three forms, through a real connection to a server that checks what it is sent.

use crate::world::{KEY, READY, World, short};
use scripted_model::{Act, Dialect, Form, Script};
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
