//! Cards that want something entered keep to the contract, and a card that says something else is noticed.

use super::*;
use crate::Words;
use silas_core::card::{Card, CardState, FACT_CHARS_MAX, INTENT_CHARS_MAX, LABEL_CHARS_MAX};
use silas_core::input::Input;
use silas_core::{CardId, Timestamp};

fn wanted(reference: &str, wanted_by: WantedBy) -> SecureInput {
    let ref_id = SecretRef::parse(reference).unwrap();
    let (label, input_hint, guidance) = match &wanted_by {
        WantedBy::Plan { .. } => for_plan(&ref_id),
        WantedBy::Model { model, .. } => for_model(model),
    };
    SecureInput { ref_id, label, input_hint, guidance, wanted_by, expires_at: Timestamp::EPOCH }
}

fn model(name: &str) -> WantedBy {
    WantedBy::Model { model: ModelName::parse(name).unwrap(), then: None }
}

fn questions() -> Vec<SecureInput> {
    let long = format!("s{}", "e".repeat(79));
    vec![
        wanted("mail", WantedBy::Plan { name: "tidepool".to_owned() }),
        wanted(&long, WantedBy::Plan { name: "a".repeat(28) }),
        wanted("openrouter", model("openrouter:anthropic/claude-haiku-4-5")),
        wanted("x", model(&format!("compatible:m@https://{}.example/v1", "h".repeat(60)))),
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
    for host in [None, Some("openrouter.ai")] {
        assert!(leaving(host).iter().all(|fact| fact.text.chars().count() <= FACT_CHARS_MAX));
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
