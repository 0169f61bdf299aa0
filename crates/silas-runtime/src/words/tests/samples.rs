//! One card for each kind, as the runtime makes it, and one with its texts as long as they can get.

use super::conflicts;
use super::plans::{self, plan};
use super::results;
use crate::review::kinds::model::Answered;
use crate::review::kinds::model_choice::model_option;
use crate::review::kinds::refusal;
use crate::review::kinds::secure_input::{for_model, for_plan};
use crate::words::Words;
use serde_json::{Value, json};
use silas_core::call_order::CallOrder;
use silas_core::card::Face;
use silas_core::exits::{Exit, Lack, Undeclared};
use silas_core::house_rules::HouseRules;
use silas_core::input::{Input, KeyState, ModelChoice, SecureInput, WantedBy};
use silas_core::inquiry::Inquiry;
use silas_core::model::{
    BudgetGrant, BudgetKind, KeySource, Listener, ModelGrant, ModelName, Period, Price, Provider, Role,
};
use silas_core::passkey::{DeviceGrantKind, PasskeyGrant, Site};
use silas_core::roots::{Place, RootGrant, RootKind};
use silas_core::secret::SecretRef;
use silas_core::signature::PublicKey;
use silas_core::token::Kind;
use silas_core::{Digest, ExecutionId, Taint, Timestamp, TokenId, canonical};
use std::time::Duration;

pub(super) struct Sample {
    pub(super) name: &'static str,
    /// Of what would be signed; none where nothing is.
    pub(super) kind: Option<&'static str>,
    pub(super) face: Face,
    pub(super) payload: Option<String>,
    pub(super) input: Option<Input>,
    pub(super) test_call: bool,
    /// Kind and payload of another plan that the card offers.
    pub(super) instead: Option<(&'static str, String)>,
}

pub(super) fn words() -> Words {
    Words::new(Some("/home/mira".to_owned()))
}

pub(super) fn asks(name: &'static str, kind: &'static str, face: Face, payload: String) -> Sample {
    Sample { name, kind: Some(kind), face, payload: Some(payload), input: None, test_call: false, instead: None }
}

pub(super) fn tells(name: &'static str, face: Face) -> Sample {
    Sample { name, kind: None, face, payload: None, input: None, test_call: false, instead: None }
}

fn wants(name: &'static str, face: Face, input: Input) -> Sample {
    Sample { name, kind: None, face, payload: None, input: Some(input), test_call: false, instead: None }
}

pub(super) fn execution() -> ExecutionId {
    ExecutionId::derive(&TokenId::of(&Digest::of(b"token")), 0)
}

pub(super) fn undeclared(exit: Exit, value: &str, lacks: Lack, from: &[&str]) -> Undeclared {
    Undeclared { exit, value: value.to_owned(), lacks, from: from.iter().map(|what| (*what).to_owned()).collect() }
}

fn step(name: &'static str, arguments: &Value, undeclared: Vec<Undeclared>) -> Sample {
    let (kind, execution, nth, tool) = (Kind::Step, execution(), 0, "web_search".to_owned());
    let order = CallOrder { kind, execution, nth, tool, arguments: arguments.to_string(), undeclared };
    asks(name, "step", words().step(&order), canonical::text(&order).unwrap())
}

pub(super) fn grant(model: &str, roles: Vec<Role>) -> ModelGrant {
    let model = ModelName::parse(model).unwrap();
    let key = KeySource::usual(model.provider());
    ModelGrant::new(model, roles, key, None)
}

const LONG_MODEL: &str = "compatible:somebody/a-model-with-a-name-that-is-as-long-as-names-of-models-get-2026-11-16@https://models.of-the-northern-coast.and-its-many-harbours.example/v1";

fn root(name: &'static str, path: &str) -> Sample {
    let place = Place { path: path.to_owned(), device: "2049".to_owned(), inode: "1311".to_owned() };
    let grant = RootGrant { kind: RootKind::Root, place };
    asks(name, "root", words().root(&grant.place), canonical::text(&grant).unwrap())
}

fn passkey(name: &'static str, called: &str, rp_id: &str) -> Sample {
    let site = Site { rp_id: rp_id.to_owned(), credential: "AAECAwQFBgcICQoLDA0ODw".to_owned() };
    let public = PublicKey::from_bytes([7; 32]);
    let grant = PasskeyGrant { kind: DeviceGrantKind::Device, name: called.to_owned(), public, site };
    asks(name, "device", words().passkey(&grant), canonical::text(&grant).unwrap())
}

fn budget(name: &'static str, period: &str, added: u64, cap: u64, spent: u64) -> Sample {
    let period: Period = serde_json::from_value(json!(period)).unwrap();
    let grant =
        BudgetGrant { kind: BudgetKind::Budget, period, microusd: added, cap_microusd: cap, spent_microusd: spent };
    asks(name, "budget", words().budget(&grant), canonical::text(&grant).unwrap())
}

fn secret(name: &'static str, reference: &str, wanted_by: WantedBy) -> Sample {
    let ref_id = SecretRef::parse(reference).unwrap();
    let (label, input_hint, guidance) = match &wanted_by {
        WantedBy::Plan { .. } => for_plan(&ref_id),
        WantedBy::Model { model, .. } => for_model(model),
    };
    let wanted = SecureInput { ref_id, label, input_hint, guidance, wanted_by, expires_at: Timestamp::EPOCH };
    wants(name, words().secure_input(&wanted), Input::Secret(Box::new(wanted)))
}

/// With what was tried and did not answer, or without.
fn choice(name: &'static str, tried: Option<&ModelGrant>) -> Sample {
    let key = |provider| match provider {
        Provider::Ollama => KeyState::None,
        Provider::Anthropic => KeyState::Kept,
        Provider::Openrouter | Provider::Openai | Provider::Compatible => KeyState::Needed,
    };
    let option = |provider| model_option(provider, key(provider), Some(&Listener::Yours));
    let choices = Provider::ALL.into_iter().map(option).collect();
    let mut choice = ModelChoice { choices, tried: None, expires_at: Timestamp::EPOCH };
    if let Some(tried) = tried {
        choice = choice.filled_in(tried, true);
    }
    wants(name, words().model_choice(&choice), Input::Model(choice))
}

/// A question with these answers; `wish` may be as long as a message.
fn asked(name: &'static str, wish: &str, question: &str, options: &[String]) -> Sample {
    let inquiry = Inquiry {
        by: ModelName::parse("anthropic:claude-haiku-4-5").unwrap(),
        to: ModelName::parse("anthropic:claude-haiku-4-5").unwrap(),
        wish: wish.to_owned(),
        question: question.to_owned(),
        options: options.to_vec(),
        taint: Taint::Auth,
        expires_at: Timestamp::EPOCH,
    };
    wants(name, words().inquiry(&inquiry), Input::Inquiry(Box::new(inquiry)))
}

fn tested(name: &'static str, model: &str, took: Option<Duration>, said: &str) -> Sample {
    let model = ModelName::parse(model).unwrap();
    let form = "Its provider holds each answer to the form that is asked for";
    let answered = took.map(|took| Answered { took, role: Role::Proxy, form });
    let said = answered.map_or_else(|| said.to_owned(), |answered| answered.said(&model));
    tells(name, words().model_tested(&model, answered.as_ref(), &said))
}

pub(super) fn samples() -> Vec<Sample> {
    let long_words = "tide tables of every harbour between the two capes ".repeat(8);
    let long_source = "what `curl --silent --location https://tides.example/a/very/long/path/to/a/page.html` printed";
    let query = |value: &str, from: &[&str]| undeclared(Exit::Search, value, Lack::Value, from);
    let queries = vec![
        query(long_words.trim(), &[long_source, "README.md", "a page of tides.example"]),
        query("beacon 77", &[]),
        query("beacon 78", &["README.md"]),
    ];
    let model = |name: &str, roles: Vec<Role>| (words().model(&grant(name, roles.clone())), grant(name, roles));
    let (face, granted) = model("openrouter:anthropic/claude-haiku-4-5", vec![Role::Proxy, Role::Planner]);
    let (long_face, long_grant) = model(LONG_MODEL, Role::ALL.to_vec());
    let to_test = grant("openrouter:anthropic/claude-haiku-4-5", Role::ALL.to_vec());
    let for_key = |model: &str| WantedBy::Model { model: ModelName::parse(model).unwrap(), then: None };
    let price = Some(Price { input: 250_000, output: 2_000_000 });
    let tried = ModelGrant { price, ..grant("compatible:local-7b@http://localhost:9000/v1", Role::ALL.to_vec()) };
    let rules = HouseRules::current();
    let rules_text = canonical::text(&rules).unwrap();
    let mut samples = vec![
        asks("pairing", "house_rules", rules.pairing_face(), rules_text.clone()),
        asks("house_rules", "house_rules", rules.card_face(), rules_text),
        root("root", "/home/mira/code/tidepool"),
        root(
            "root_longest",
            &format!("/home/mira/{}", "a-directory-with-a-rather-long-name/".repeat(8).trim_end_matches('/')),
        ),
        passkey("passkey", "Passkey of Chromium on Linux", "localhost"),
        passkey(
            "passkey_longest",
            "Wide name ".repeat(6).trim_end(),
            "silas.of-the-northern-coast.and-its-harbours.example",
        ),
        asks("model", "model", face, canonical::text(&granted).unwrap()),
        asks("model_longest", "model", long_face, canonical::text(&long_grant).unwrap()),
        Sample {
            test_call: true,
            ..asks("model_to_test", "model", words().model_to_test(&to_test), canonical::text(&to_test).unwrap())
        },
        budget("budget", "2026-11-16", 1_000_000, 2_000_000, 2_000_000),
        budget("budget_longest", "2026-11", 12_345_000_000, 987_654_320_000, 987_654_310_000),
        secret("secret", "mail", WantedBy::Plan { name: "tidepool".to_owned() }),
        secret(
            "secret_longest",
            &format!("s{}", "e".repeat(79)),
            WantedBy::Plan { name: "some-very-long-named-project".to_owned() },
        ),
        secret("key", "openrouter", for_key("openrouter:anthropic/claude-haiku-4-5")),
        secret("key_longest", "compatible", for_key(LONG_MODEL)),
        asked(
            "decision",
            "make the spelling the same everywhere",
            "Which spelling should stay?",
            &["colour, as in the manual".to_owned(), "color, as in the code".to_owned()],
        ),
        asked(
            "decision_longest",
            &long_words,
            &format!("{:.139}?", "Should the table of every harbour be kept ".repeat(4)),
            &["W".repeat(48), "a b ".repeat(12), "q".repeat(47), "The shortest".to_owned()],
        ),
        choice("choice", None),
        choice("choice_again", Some(&tried)),
        tested("tested_failed", "compatible:local-7b@http://localhost:9000/v1", None, "Nobody answers there."),
        tested("tested", "openai:gpt-5-mini", Some(Duration::from_millis(812)), ""),
        tested(
            "tested_longest",
            LONG_MODEL,
            None,
            &"It did not answer within its time. Nothing of yours was sent. ".repeat(4),
        ),
        step("step", &json!({ "query": "beacon 77" }), vec![query("beacon 77", &["a search for tide tables"])]),
        step("step_longest", &json!({ "query": long_words.trim() }), queries),
        step(
            "step_one_longest",
            &json!({ "query": long_words.trim() }),
            vec![query(long_words.trim(), &[long_source, "README.md"])],
        ),
        step("step_always", &json!({ "query": "tide tables" }), Vec::new()),
        plan("plan", plans::PLAN, results::ASKED),
        plan("plan_longest", plans::PLAN_LONGEST, &results::long_wish()),
        plan("plan_high", plans::PLAN_HIGH, results::ASKED),
        plan("plan_irreversible", plans::PLAN_IRREVERSIBLE, results::ASKED),
        plan("plan_secret", plans::PLAN_SECRET, results::ASKED),
        plan("plan_commits", plans::PLAN_COMMITS, results::ASKED),
        plan("plan_without_words", plans::PLAN, ""),
        plans::model_plan(
            "model_plan",
            plans::MODEL_PLAN,
            results::ASKED,
            "Keep the zone when reading a time, then run the tests.",
        ),
        plans::model_plan("model_plan_longest", plans::PLAN_LONGEST, &results::long_wish(), &plans::long_prose()),
        plans::rehearsal("rehearsal", plans::MODEL_PLAN, results::ASKED),
        plans::rehearsal("rehearsal_longest", plans::PLAN_LONGEST, &results::long_wish()),
        plans::unknown("unknown", plans::PLAN_REACHING, results::ASKED),
        plans::unknown("unknown_irreversible", plans::PLAN_IRREVERSIBLE, results::ASKED),
        plans::unknown("unknown_longest", plans::PLAN_LONGEST, &results::long_wish()),
    ];
    let refused = |name, kind, (face, payload)| asks(name, kind, face, payload);
    samples.push(refused("refusal", "rehearsal", refusal::tests::sample()));
    samples.push(refused("refusal_irreversible", "plan", refusal::tests::with_a_secret()));
    samples.push(refused("refusal_longest", "plan", refusal::tests::longest()));
    samples.extend(results::samples());
    samples.extend(conflicts::samples());
    samples
}
