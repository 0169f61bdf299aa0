//! The card names the value and its source, keeps the contract's lengths, and fits exactly one order.

use super::*;
use crate::Words;
use silas_core::card::{Card, CardState, FACT_CHARS_MAX, INTENT_CHARS_MAX, LABEL_CHARS_MAX};
use silas_core::exits::{Lack, Undeclared};
use silas_core::token::Kind;
use silas_core::{CardId, Digest, ExecutionId, Timestamp, TokenId, canonical};

fn order(query: &str, from: &[&str]) -> CallOrder {
    CallOrder {
        kind: Kind::Step,
        execution: ExecutionId::derive(&TokenId::of(&Digest::of(b"token")), 0),
        nth: 0,
        tool: "web_search".to_owned(),
        arguments: format!("{{\"query\":\"{query}\"}}"),
        undeclared: vec![Undeclared {
            exit: Exit::Search,
            value: query.to_owned(),
            lacks: Lack::Value,
            from: from.iter().map(|what| (*what).to_owned()).collect(),
        }],
    }
}

#[test]
fn value_and_source_are_on_the_card_whole() {
    let long = "beacon ".repeat(20);
    for (query, from) in
        [("beacon 77", &["a search"][..]), (long.trim(), &["the page\u{202e} x", "another"]), ("q", &[])]
    {
        let face = step(&order(query, from));
        assert!(face.intent.chars().count() <= INTENT_CHARS_MAX);
        for fact in &face.facts {
            assert!(fact.text.chars().count() <= FACT_CHARS_MAX && fact.label.chars().count() <= LABEL_CHARS_MAX);
        }
        let all = serde_json::to_string(&face).unwrap();
        assert!(all.contains(query) && !all.contains('\u{202e}'), "{all}");
        assert!(from.iter().all(|what| all.contains(what.split('\u{202e}').next().unwrap())), "{all}");
    }
    let always = CallOrder { undeclared: Vec::new(), ..order("x", &[]) };
    assert_eq!(step(&always).facts[0].text, "One call, listed below");
}

#[test]
fn a_card_of_another_call_is_noticed() {
    let words = Words::new(None);
    let card = |face: Face, order: &CallOrder| Card {
        id: CardId::parse("card-1").unwrap(),
        state: CardState::Open,
        created_at: Timestamp::EPOCH,
        face,
        offer: None,
        show_first: None,
        instead: None,
        payload: Some(canonical::text(order).unwrap()),
        input: None,
        test_call: false,
        execution: None,
    };
    let (harmless, wanted) = (order("tide tables", &["a"]), order("beacon 77", &["a"]));
    assert!(words.shows_what_it_asks(&card(step(&wanted), &wanted)));
    assert!(!words.shows_what_it_asks(&card(step(&harmless), &wanted)));
}
