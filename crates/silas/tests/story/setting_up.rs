//! What a new owner stumbles over: whose key was paired, a model that does not answer its test, what a wish without a model
//! may spend, and what is left after everything was stopped.

use crate::harness::{Line, Place, TestSilas};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState, Press, Risk};
use silas_core::device::digits;
use silas_core::input::Input;
use silas_core::model::Provider;
use silas_core::token::Verdict;
use std::net::TcpListener;
use std::time::Duration;

#[test]
fn the_terminal_tells_the_digits_of_the_key_that_was_paired() {
    let silas = TestSilas::start();
    let (one, other) = (silas.pair(), silas.pair());
    let line = silas.line();
    let [first, second] = [&one, &other].map(|device| digits(&device.public(), &line.installation()));
    assert_ne!(first, second);
    let (code, list) = silas.command(&["device", "list"]);
    assert_eq!(code, 0);
    let listed = |digits: &str| list.lines().filter(|line| line.contains(&format!("paired with {digits}"))).count();
    assert_eq!((listed(&first), listed(&second)), (1, 1), "{list}");
}

fn send(line: &mut Line, kind: &str, card: &Card, more: Value) -> (bool, String) {
    let mut message = more;
    message["type"] = json!(kind);
    message["request_id"] = json!(card.id);
    line.send(&message).unwrap();
    let answer = line.wait_for("decided").unwrap();
    (answer["recorded"] == true, answer["message"].as_str().unwrap().to_owned())
}

#[test]
fn a_model_that_did_not_answer_its_test_is_tried_again_or_exchanged_and_nothing_is_typed_twice() {
    let nonsense = || Act::Says("nonsense".to_owned());
    let ready = Act::Says(r#"{"word":"ready"}"#.to_owned());
    let acts = vec![nonsense(), nonsense(), nonsense(), nonsense(), ready];
    let server = Server::start(Script::new(Dialect::OpenAi, acts)).unwrap();
    let silas = TestSilas::start();
    silas.pair();
    let mut line = silas.line();
    line.ask("add a model");
    let card = line.card(CardKind::ModelChoice).unwrap();
    for (bad, words) in [
        ("compatible:@http://localhost:1/v1", "name of the model is missing"),
        ("compatible:test", "address of the model is missing"),
        ("compatible:a model@http://localhost:1/v1", "not the name of a model"),
        ("compatible:test@http://far.example/v1", "unencrypted"),
        ("compatible:test@localhost:1", "is not an address"),
    ] {
        let (recorded, message) = send(&mut line, "model_choose", &card, json!({ "model": bad, "key": "none" }));
        assert!(!recorded && message.contains(words) && !message.contains('`'), "{bad}: {message}");
    }
    let model = format!("compatible:test@{}", server.url());
    let chosen = json!({ "model": model, "key": "none", "price": { "input": 0, "output": 0 } });
    assert!(send(&mut line, "model_choose", &card, chosen).0);
    // What it costs is part of what is signed, and is told.
    let consent = line.card(CardKind::Model).unwrap();
    let signed: Value = serde_json::from_str(consent.payload.as_deref().unwrap()).unwrap();
    assert_eq!(signed["price"], json!({ "input": 0, "output": 0 }));
    assert!(consent.face.facts.iter().any(|fact| fact.text == "Costs nothing"), "{:?}", consent.face.facts);
    line.approve(CardKind::Model).unwrap();

    let failed = line.card(CardKind::Report).unwrap();
    let presses: Vec<Press> = failed.face.ctas.iter().map(|cta| cta.press).collect();
    assert_eq!(presses, [Press::Again, Press::Another, Press::Dismiss]);
    assert!(send(&mut line, "model_again", &failed, json!({})).0);
    assert!(!send(&mut line, "model_again", &failed, json!({})).0, "a card is answered once");
    let again = next_report(&mut line, &failed);
    assert_eq!(server.asked().len(), 4);

    assert!(send(&mut line, "model_another", &again, json!({})).0);
    let card = line.card(CardKind::ModelChoice).unwrap();
    let Some(Input::Model(choice)) = &card.input else { panic!("{card:?}") };
    assert_eq!(choice.tried, Some(Provider::Compatible));
    let tried = choice.choices.iter().find(|option| option.provider == Provider::Compatible).unwrap();
    assert_eq!((tried.model.as_str(), tried.url.as_deref()), ("test", Some(server.url().trim_end_matches('/'))));
    assert!(tried.price.is_some_and(|price| price.input == 0));
    let chosen = json!({ "model": model, "key": "none", "price": tried.price });
    assert!(send(&mut line, "model_choose", &card, chosen).0);
    line.approve(CardKind::Model).unwrap();
    let answers = next_report(&mut line, &again);
    assert_eq!(answers.face.intent, "The model answers");
    assert!(answers.face.rationale.contains("It costs nothing."), "{}", answers.face.rationale);
    let (_, list) = silas.command(&["model", "list"]);
    assert!(list.contains("nothing"), "{list}");
    silas.assert_ledger_holds();
}

/// "Leave it" is not "go on asking it": until it answers, a question gets an answer at once, and costs nobody anything.
#[test]
fn a_model_that_failed_its_test_and_was_left_is_not_asked_until_it_answers() {
    let ready = Act::Says(r#"{"word":"ready"}"#.to_owned());
    let good_morning = json!({
        "route": "direct", "reason": "a greeting", "interaction_register": "status",
        "interaction_mode": "act_and_report", "context_profile": "conversation", "continuation_of": null,
        "response": { "message": "Good morning." },
    });
    let acts = vec![Act::Status(401, Vec::new(), String::new()), ready, Act::Says(good_morning.to_string())];
    let server = Server::start(Script::new(Dialect::OpenAi, acts)).unwrap();
    let silas = TestSilas::start();
    silas.pair();
    let mut line = silas.line();
    line.ask("add a model");
    let card = line.card(CardKind::ModelChoice).unwrap();
    let model = format!("compatible:test@{}", server.url());
    let chosen = json!({ "model": model, "key": "none", "price": { "input": 0, "output": 0 } });
    assert!(send(&mut line, "model_choose", &card, chosen).0);
    line.approve(CardKind::Model).unwrap();
    let failed = line.card(CardKind::Report).unwrap();
    let said = &failed.face.rationale;
    assert!(said.ends_with("does not accept the key. Set the key again with `silas model add`."), "{said}");
    assert!(send(&mut line, "dismiss", &failed, json!({})).0);

    for _ in 0..2 {
        let reply = line.ask("good morning");
        assert!(reply.contains("did not pass its test, so your message was not sent"), "{reply}");
        assert!(reply.contains("does not accept the key") && reply.contains("say `add a model`"), "{reply}");
        assert!(!reply.contains("say it again"), "what to do is said once: {reply}");
    }
    assert_eq!(server.asked().len(), 1, "only its test was sent");
    let (_, told) = silas.command(&["activity"]);
    assert!(told.contains("Did not ask a model") && told.contains("It did not pass its test"), "{told}");
    let (code, text) = silas.command(&["model", "check"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(line.ask("good morning"), "Good morning.");
    silas.assert_ledger_holds();
}

/// The next report after one that was answered.
fn next_report(line: &mut Line, before: &Card) -> Card {
    loop {
        let newer = line.cards.iter().find(|card| card.face.kind == CardKind::Report && card.id != before.id).cloned();
        if let Some(card) = newer {
            return card;
        }
        line.wait_for("cards").unwrap();
    }
}

#[test]
fn a_wish_that_asks_no_model_signs_no_money_and_says_what_became_of_it_when_it_is_declined() {
    let silas = TestSilas::start_asking();
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    let root = line.card(CardKind::Root).unwrap();
    assert!(line.decide(&root, Verdict::Declined).unwrap().0);
    let said = loop {
        let entry = line.wait_for("message").unwrap()["entry"].clone();
        if entry["text"].as_str().unwrap().contains("waits no longer") {
            break entry;
        }
    };
    assert_eq!(said["sender"], "silas");
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    let signed: Value = serde_json::from_str(plan.payload.as_deref().unwrap()).unwrap();
    let budget = &signed["budget"];
    assert_eq!([&budget["max_tokens"], &budget["max_cost_microusd"], &budget["max_planner_calls"]], [&json!(0); 3]);
    line.approve(CardKind::Plan).unwrap();
    line.card(CardKind::Done).unwrap();
    silas.assert_ledger_holds();
}

#[test]
fn after_everything_was_stopped_and_taken_back_the_status_says_so_until_something_begins() {
    let silas = TestSilas::start_asking();
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    assert!(line.decide(&plan, Verdict::Declined).unwrap().0);
    let (_, status) = silas.command(&["status"]);
    assert!(!status.contains("Everything was stopped"), "{status}");
    let (code, text) = silas.command(&["stop", "--all", "--revoke"]);
    assert!(code == 0 && text.contains("2 grants revoked. Everything asks you first"), "{text}");
    let (_, status) = silas.command(&["status"]);
    assert!(status.contains("Everything was stopped at") && status.contains("2 grants are gone."), "{status}");
    let (_, status) = silas.command(&["status", "--json"]);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["stopped"]["n_grants"], &status["stopped"]["n_works"]), (&json!(2), &json!(0)));
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.card(CardKind::Done).unwrap();
    let (_, status) = silas.command(&["status"]);
    assert!(!status.contains("Everything was stopped"), "work has begun since: {status}");
}

/// An address of this machine that no other test listens at, so that nobody takes a port there that was given up.
const HERE: &str = "127.0.83.7";

/// The cards about a model at an address of this machine: by the page's road, and by the command's.
pub(crate) fn cards_by_both_roads(silas: &Place, address: &str) -> [Card; 2] {
    let at = |name: &str| format!("compatible:{name}@http://{address}/v1");
    let mut line = silas.line();
    line.ask("add a model");
    let choice = line.card(CardKind::ModelChoice).unwrap();
    let (recorded, message) = send(&mut line, "model_choose", &choice, json!({ "model": at("chosen"), "key": "none" }));
    assert!(recorded, "{message}");
    let (code, text) = silas.command(&["model", "add", &at("typed"), "--no-key"]);
    assert!(code == 1 && text.contains("The card stays in Review."), "{text}");
    ["chosen", "typed"].map(|name| {
        let is_it = |card: &&Card| card.payload.as_ref().is_some_and(|payload| payload.contains(&at(name)));
        line.wait(|line| line.cards.iter().any(|card| is_it(&card))).unwrap();
        line.cards.iter().find(is_it).unwrap().clone()
    })
}

/// What a card about a model says of who answers there.
#[track_caller]
pub(crate) fn assert_told(card: &Card, (risk, intent, leaves, answered_by): (Risk, &str, &str, &str)) {
    let face = &card.face;
    assert_eq!((face.kind, face.risk, face.intent.as_str()), (CardKind::Model, Some(risk), intent));
    assert_eq!(face.facts.iter().find(|fact| fact.label == "Leaves").unwrap().text, leaves);
    let lines: Vec<&String> = face.details.iter().flat_map(|detail| &detail.lines).collect();
    assert!(lines.iter().any(|line| line.starts_with(answered_by)), "{lines:?}");
}

const YOURS: (Risk, &str, &str, &str) = (
    Risk::Low,
    "Ask a model on this machine",
    "Nothing by Silas itself",
    "Answered by a program of yours on this machine.",
);
const NOBODYS: (Risk, &str, &str, &str) = (
    Risk::Medium,
    "Ask whoever answers on this machine",
    "What you say, files it reads",
    "Nobody answers there now; whoever does later gets what is sent.",
);

#[test]
fn who_answers_on_this_machine_is_looked_for_whichever_way_a_model_is_added() {
    let silas = TestSilas::start();
    let ours = TcpListener::bind((HERE, 0)).unwrap();
    for card in cards_by_both_roads(&silas, &ours.local_addr().unwrap().to_string()) {
        assert_told(&card, YOURS);
    }
    // What is not known is not private.
    for card in cards_by_both_roads(&silas, &format!("{HERE}:9")) {
        assert_told(&card, NOBODYS);
    }
    silas.assert_ledger_holds();
}

/// Hours later somebody else may listen there, or nobody.
#[test]
fn a_card_about_a_model_that_asks_again_looks_again() {
    let silas = TestSilas::start();
    let ours = TcpListener::bind((HERE, 0)).unwrap();
    let cards = cards_by_both_roads(&silas, &ours.local_addr().unwrap().to_string());
    drop(ours);
    silas.advance(Duration::from_secs(3600));
    let mut line = silas.line();
    for card in cards {
        assert_told(&card, YOURS);
        let now = |line: &Line| line.cards.iter().find(|other| other.id == card.id).cloned();
        let is = |line: &Line, state| now(line).is_some_and(|card| card.state == state);
        line.wait(|line| is(line, CardState::Parked)).unwrap();
        assert!(send(&mut line, "renew", &card, json!({})).0);
        line.wait(|line| is(line, CardState::Open)).unwrap();
        let again = now(&line).unwrap();
        assert_told(&again, NOBODYS);
        assert_eq!((again.test_call, &again.face.state), (card.test_call, &card.face.state));
        // What was signed for the old words does not count for the new ones.
        let late = line.token(&card, Verdict::Approved).unwrap();
        assert!(!line.submit(&again, &late).unwrap().0);
        let (recorded, message) = line.decide(&again, Verdict::Approved).unwrap();
        assert!(recorded, "{message}");
    }
    silas.assert_ledger_holds();
}
