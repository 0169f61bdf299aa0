//! Cards that want something entered keep to the contract, and a card that says something else is noticed.

use super::model::{Answered, model, model_tested, model_to_test};
use super::model_choice::{model_choice, model_option};
use super::secure_input::{for_model, for_plan, secure_input};
use crate::Words;
use silas_core::card::{Card, CardState, FACT_CHARS_MAX, Face, Fact, INTENT_CHARS_MAX, LABEL_CHARS_MAX, Risk};
use silas_core::input::{Input, KeyState, SecureInput, WantedBy};
use silas_core::model::{KeySource, Listener, ModelGrant, ModelName, Provider, Role};
use silas_core::secret::SecretRef;
use silas_core::{CardId, Timestamp};
use std::time::Duration;

fn wanted(reference: &str, wanted_by: WantedBy) -> SecureInput {
    let ref_id = SecretRef::parse(reference).unwrap();
    let (label, input_hint, guidance) = match &wanted_by {
        WantedBy::Plan { .. } => for_plan(&ref_id),
        WantedBy::Model { model, .. } => for_model(model),
    };
    SecureInput { ref_id, label, input_hint, guidance, wanted_by, expires_at: Timestamp::EPOCH }
}

fn key_of(name: &str) -> WantedBy {
    WantedBy::Model { model: ModelName::parse(name).unwrap(), then: None }
}

/// Everything that a look at who listens can come to.
fn listeners() -> [Option<Listener>; 4] {
    [Some(Listener::Yours), Some(Listener::Another("mallory".to_owned())), Some(Listener::Nobody), None]
}

fn questions() -> Vec<SecureInput> {
    let long = format!("s{}", "e".repeat(79));
    vec![
        wanted("mail", WantedBy::Plan { name: "tidepool".to_owned() }),
        wanted(&long, WantedBy::Plan { name: "a".repeat(28) }),
        wanted("openrouter", key_of("openrouter:anthropic/claude-haiku-4-5")),
        wanted("x", key_of(&format!("compatible:m@https://{}.example/v1", "h".repeat(60)))),
    ]
}

#[test]
fn they_keep_to_the_contract() {
    let tested = ModelName::parse("openai:gpt-5-mini").unwrap();
    let answered = Answered { took: Duration::from_millis(812), role: Role::Proxy, form: "In its form" };
    let questions = questions();
    let faces = questions.iter().map(secure_input).chain([
        model_choice(5),
        model_tested(&tested, Some(&answered), &answered.said(&tested)),
        model_tested(&tested, None, "It did not."),
    ]);
    for face in faces {
        assert!(face.risk.is_none(), "nothing is decided on it: {face:?}");
        assert!(face.intent.chars().count() <= INTENT_CHARS_MAX, "{}", face.intent);
        assert!(!face.ctas.is_empty() && face.ctas.iter().all(|cta| cta.press.verdict().is_none()));
        for fact in &face.facts {
            assert!(fact.text.chars().count() <= FACT_CHARS_MAX && fact.label.len() <= LABEL_CHARS_MAX, "{fact:?}");
        }
    }
    for provider in [Provider::Ollama, Provider::Openrouter, Provider::Compatible] {
        for listener in listeners() {
            let facts = model_option(provider, KeyState::Needed, listener.as_ref()).facts;
            assert!(facts.iter().all(|fact| fact.text.chars().count() <= FACT_CHARS_MAX), "{facts:?}");
        }
    }
}

#[test]
fn the_name_of_a_secret_is_told_in_full() {
    for wanted in questions() {
        let face = secure_input(&wanted);
        let lines: Vec<&String> = face.details.iter().flat_map(|detail| &detail.lines).collect();
        assert!(lines.iter().any(|line| line.ends_with(&format!(" {}", wanted.ref_id))), "{lines:?}");
    }
}

#[test]
fn a_card_that_asks_for_another_secret_than_it_says_is_noticed() {
    let asked = wanted("mail", WantedBy::Plan { name: "tidepool".to_owned() });
    let card = |face: Face| Card {
        id: CardId::parse("card-1").unwrap(),
        state: CardState::Open,
        created_at: Timestamp::EPOCH,
        face,
        offer: None,
        show_first: None,
        instead: None,
        payload: None,
        input: Some(Input::Secret(Box::new(asked.clone()))),
        test_call: false,
        execution: None,
    };
    let words = Words::new(None);
    assert!(words.shows_what_it_asks(&card(secure_input(&asked))));
    let other = wanted("bank", WantedBy::Plan { name: "tidepool".to_owned() });
    assert!(!words.shows_what_it_asks(&card(secure_input(&other))));
}

/// What is said names the model as a person would; what is exact is in the details.
#[test]
fn the_test_of_a_model_is_told_without_its_address() {
    let answered = Answered { took: Duration::from_millis(23), role: Role::Proxy, form: "In its form" };
    let check = |name: &str, expect: &str| {
        let model = ModelName::parse(name).unwrap();
        let said = answered.said(&model);
        assert_eq!(said, expect);
        let face = model_tested(&model, Some(&answered), &said);
        let lines: Vec<&str> = face.details.iter().flat_map(|detail| &detail.lines).map(String::as_str).collect();
        assert!(lines.contains(&name) && lines.ends_with(&["In 23 ms", "Tested for answering", "In its form"]));
    };
    check("compatible:test@http://127.0.0.1:43409/v1", "test on this machine answered in 23 ms.");
    check("openai:gpt-5-mini", "gpt-5-mini at api.openai.com answered in 23 ms.");
}

/// What a list of facts says of one thing.
fn said<'f>(facts: &'f [Fact], label: &str) -> &'f str {
    &facts.iter().find(|fact| fact.label == label).unwrap().text
}

/// Another user, nobody yet, and not being able to tell are all somebody who may read along.
#[test]
fn only_a_program_of_the_owners_own_is_offered_as_private() {
    let name = ModelName::parse("ollama:llama3.2").unwrap();
    let told = [
        (Risk::Low, "Ask a model on this machine", "Answered by a program of yours on this machine."),
        (
            Risk::Medium,
            "Ask a model of another user here",
            "Answered by a program of another user of this machine, mallory, who may read what it is sent.",
        ),
        (
            Risk::Medium,
            "Ask whoever answers on this machine",
            "Nobody answers there now; whoever does later gets what is sent.",
        ),
        (Risk::Medium, "Ask whoever answers on this machine", "Answered by whoever listens there."),
    ];
    for (listener, (risk, intent, answered_by)) in listeners().into_iter().zip(told) {
        let is_private = risk == Risk::Low;
        for roles in [vec![Role::Proxy], Role::ALL.to_vec()] {
            let grant = ModelGrant::new(name.clone(), roles, KeySource::None, None);
            let grant = ModelGrant { listener: listener.clone(), ..grant };
            for face in [model(&grant), model_to_test(&grant)] {
                assert_eq!((face.risk, face.intent.as_str()), (Some(risk), intent));
                assert_eq!(face.breaches(), Vec::<String>::new());
                let leaves = if is_private { "Nothing by Silas itself" } else { "What you say, files it reads" };
                assert_eq!(said(&face.facts, "Leaves"), leaves, "{listener:?}");
                let lines: Vec<&String> = face.details.iter().flat_map(|detail| &detail.lines).collect();
                let whole = format!("{answered_by} Whether it passes on what it is sent, Silas cannot see.");
                assert!(lines.contains(&&whole), "{lines:?}");
            }
        }
        let facts = model_option(Provider::Ollama, KeyState::None, listener.as_ref()).facts;
        assert_eq!(said(&facts, "Leaves") == "Nothing by Silas itself", is_private, "{listener:?}: {facts:?}");
    }
}
