//! Who failed a test is left alone for a minute, then tried by one question, until it answers.

use super::*;
use silas_core::model::list_price;

fn model(name: &str) -> Assigned {
    let model = ModelName::parse(name).unwrap();
    let price = list_price(&model);
    Assigned::added(model, KeySource::None, price)
}

fn unreachable() -> Silence {
    Silence::of(&silas_agents::Error::Unreachable { host: "localhost:9".to_owned() })
}

fn at(secs: u64) -> Timestamp {
    Timestamp::EPOCH.plus(Duration::from_secs(1_000 + secs))
}

#[test]
fn one_question_a_minute_finds_out_whether_it_is_back() {
    let (silences, one, other) = (Silences::default(), model("ollama:a"), model("ollama:b"));
    assert_eq!(silences.instead_of_asking(&one, at(0)), None, "nobody knows anything about it");
    silences.note(&one, unreachable(), at(0));
    assert_eq!(silences.instead_of_asking(&other, at(1)), None);
    for secs in [0, 1, 59] {
        assert_eq!(silences.instead_of_asking(&one, at(secs)), Some(unreachable()));
    }
    assert_eq!(silences.instead_of_asking(&one, at(60)), None, "this one tries");
    let late = Silence::of(&silas_agents::Error::Timeout { host: "localhost:9".to_owned() });
    silences.still(&one, late.clone());
    assert_eq!(silences.instead_of_asking(&one, at(61)), Some(late), "and the next one is told what came of it");
    assert_eq!(silences.instead_of_asking(&one, at(120)), None);
    silences.heard(&one);
    assert_eq!(silences.instead_of_asking(&one, at(121)), None, "it has answered");
}

#[test]
fn a_failure_that_no_test_came_before_silences_nobody_and_another_key_is_tried() {
    let (silences, one) = (Silences::default(), model("ollama:a"));
    silences.still(&one, unreachable());
    assert_eq!(silences.instead_of_asking(&one, at(0)), None);
    silences.note(&one, unreachable(), at(0));
    let with_key = Assigned { key: KeySource::Variable("KEY".to_owned()), ..one.clone() };
    assert_eq!(silences.instead_of_asking(&with_key, at(1)), None);
    silences.forget_all();
    assert_eq!(silences.instead_of_asking(&one, at(1)), None);
}

#[test]
fn what_to_do_is_said_once() {
    let card = Untested::Silent(unreachable()).told();
    assert_eq!(card, "localhost:9 cannot be reached. Check the connection and the address (`silas model list`).");
    let late = || Silence::of(&silas_agents::Error::Timeout { host: "localhost:9".to_owned() });
    assert_eq!(Untested::Silent(late()).told(), "localhost:9 did not answer in time.", "the buttons say the rest");
    let trouble = Trouble::from(Untested::Silent(late()));
    assert_eq!(trouble.todo, "Check it again, or choose another model with `silas model add`.");
    assert!(unreachable().instead().contains("was not sent. localhost:9 cannot be reached. Check the connection"));
}
