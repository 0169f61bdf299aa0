//! What a card wants entered is read back as it was written, and the same question is known again.

use super::*;

fn wanted(by: WantedBy, at: i64) -> SecureInput {
    SecureInput {
        ref_id: SecretRef::parse("mail").unwrap(),
        label: "Value of mail".to_owned(),
        input_hint: None,
        guidance: Guidance { instructions: "Paste it.".to_owned(), help_url: None },
        wanted_by: by,
        expires_at: Timestamp::from_micros(at),
    }
}

#[test]
fn it_is_read_back_as_it_was_written() {
    let model = ModelName::parse("openai:gpt-5-mini").unwrap();
    for by in [WantedBy::Plan { name: "tidepool".to_owned() }, WantedBy::Model { model, then: None }] {
        let input = Input::Secret(Box::new(wanted(by, 7)));
        let text = serde_json::to_string(&input).unwrap();
        assert!(text.starts_with(r#"{"type":"secret","ref_id":"mail""#), "{text}");
        assert_eq!(serde_json::from_str::<Input>(&text).unwrap(), input);
        let more = text.replacen('{', r#"{"value":"x","#, 1);
        assert!(serde_json::from_str::<Input>(&more).is_err(), "a card has no place for a value");
    }
}

#[test]
fn the_same_question_is_known_again_whenever_it_was_asked() {
    let plan = |name: &str, at| wanted(WantedBy::Plan { name: name.to_owned() }, at);
    assert!(plan("tidepool", 1).is_same_as(&plan("tidepool", 2)));
    assert!(!plan("tidepool", 1).is_same_as(&plan("harbour", 1)));
    let mut input = Input::Secret(Box::new(plan("tidepool", 1)));
    input.set_expires_at(Timestamp::from_micros(9));
    assert_eq!(input.expires_at(), Timestamp::from_micros(9));
}
