//! What keeps a model from being asked, each by itself.

use super::*;
use silas_core::Digest;
use silas_core::model::ModelName;
use silas_core::probe::State;
use silas_store::model_calls::Caps;

const MODEL: &str = "openrouter:anthropic/claude-haiku-4-5";

fn at() -> Timestamp {
    Timestamp::parse("2026-11-16T10:07:00.000000Z").unwrap()
}

fn options() -> ModelOptions {
    let caps = Caps { day: 2_000_000, month: 20_000_000 };
    let (calls_per_minute, turn_tokens_max, replans_max) = (30, 100_000, 1);
    let patience = std::time::Duration::ZERO;
    ModelOptions {
        named: Vec::new(),
        local_only: false,
        caps,
        calls_per_minute,
        turn_tokens_max,
        patience,
        replans_max,
    }
}

fn grant(policy_version: u32) -> ModelGrant {
    let model = ModelName::parse(MODEL).unwrap();
    let key = KeySource::parse("secret:openrouter").unwrap();
    ModelGrant { policy_version, ..ModelGrant::new(model, Role::ALL.to_vec(), key, None) }
}

fn known(grants: Vec<ModelGrant>, microusd: u64, events: Vec<AuditEvent>) -> Known {
    let spent = |period: Period, cap_microusd| Spent { period: period.to_string(), microusd, cap_microusd };
    let (day, month) = (spent(Period::day(at()), 2_000_000), spent(Period::month(at()), 20_000_000));
    let entry = |(n, event): (usize, AuditEvent)| {
        let (zero, name, body) = (Digest::of(b""), event.name().to_owned(), String::new());
        Entry { seq: n as u64 + 1, at: at(), name, event: Some(event), body, prev: zero, hash: zero }
    };
    Known { grants, day, month, entries: events.into_iter().enumerate().map(entry).collect() }
}

#[track_caller]
fn check(known: &Known, options: &ModelOptions, key: Key, state: State, sentence: &str) {
    let look = Look { options, words: &Words::new(None), key: &|_, _| key, now: at() };
    let found = found(known, &look);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].state, found[0].sentence.as_str()), (state, sentence));
    assert_eq!(found[0].fix.is_some(), state != State::Good);
}

#[test]
fn none_or_all_is_well() {
    let none = "None is set up. Tasks, commands and checks work without one.";
    check(&known(vec![], 0, vec![]), &options(), Key::Missing, State::Good, none);
    let well = "Set up and agreed to: anthropic/claude-haiku-4-5 at openrouter.ai. $0.31 of $2.00 are spent today.";
    check(&known(vec![grant(POLICY_VERSION)], 310_000, vec![]), &options(), Key::There, State::Good, well);
    // What only the server knows is not claimed to be missing.
    check(&known(vec![grant(POLICY_VERSION)], 310_000, vec![]), &options(), Key::Unknown, State::Good, well);
}

#[test]
fn a_key_that_is_missing_or_locked_up() {
    let known = known(vec![grant(POLICY_VERSION)], 0, vec![]);
    let missing =
        "The key for openrouter.ai is not there: the secret openrouter of the vault. Nothing is sent there without it.";
    check(&known, &options(), Key::Missing, State::Warning, missing);
    let locked =
        "The key for openrouter.ai is locked up: the secret openrouter of the vault. Nothing is sent there without it.";
    check(&known, &options(), Key::Locked, State::Warning, locked);
}

#[test]
fn an_agreement_that_ended_or_never_was() {
    let ended = format!(
        "Your agreement with openrouter.ai has ended: it is about version {} of what is sent, and this is version {}. \
         Nothing is sent there until you agree again.",
        POLICY_VERSION - 1,
        POLICY_VERSION
    );
    check(&known(vec![grant(POLICY_VERSION - 1)], 0, vec![]), &options(), Key::There, State::Warning, &ended);
    let named = vec![(Role::Proxy, ModelName::parse(MODEL).unwrap(), KeySource::None)];
    let configured = ModelOptions { named, ..options() };
    let never = "You have not agreed that what you say goes to openrouter.ai. Nothing is sent there.";
    check(&known(vec![], 0, vec![]), &configured, Key::There, State::Warning, never);
    let at_home = ModelOptions { local_only: true, ..options() };
    let elsewhere = "anthropic/claude-haiku-4-5 at openrouter.ai is not asked: `models.local_only` is set.";
    check(&known(vec![grant(POLICY_VERSION)], 0, vec![]), &at_home, Key::There, State::Warning, elsewhere);
}

#[test]
fn a_cap_is_reached_when_it_is_spent_or_when_a_question_would_have_exceeded_it() {
    let agreed = || vec![grant(POLICY_VERSION)];
    let all = "Today's cap for models is reached: $2.00 of $2.00 are spent. What needs one waits for you.";
    check(&known(agreed(), 2_000_000, vec![]), &options(), Key::There, State::Warning, all);
    let refused = AuditEvent::ModelRefused { role: Role::Proxy, code: "E_LLM_CAP".to_owned() };
    let nearly = "Today's cap for models is reached: $1.99 of $2.00 are spent. What needs one waits for you.";
    check(&known(agreed(), 1_990_000, vec![refused.clone()]), &options(), Key::There, State::Warning, nearly);
    let called = AuditEvent::ModelCalled {
        call: CallId::parse("call-1").unwrap(),
        message: None,
        role: Role::Proxy,
        model: MODEL.to_owned(),
        reserved_microusd: 1,
    };
    let look = options();
    let asked_after = known(agreed(), 1_990_000, vec![refused, called]);
    let well = "Set up and agreed to: anthropic/claude-haiku-4-5 at openrouter.ai. $1.99 of $2.00 are spent today.";
    check(&asked_after, &look, Key::There, State::Good, well);
}

#[test]
fn a_last_question_that_failed() {
    let call = CallId::parse("call-1").unwrap();
    let (message, role, model, reserved_microusd) = (None, Role::Proxy, MODEL.to_owned(), 1);
    let called = AuditEvent::ModelCalled { call: call.clone(), message, role, model, reserved_microusd };
    let answered = |outcome: &str| {
        let (call, outcome) = (call.clone(), outcome.to_owned());
        AuditEvent::ModelAnswered { call, outcome, input_tokens: 0, output_tokens: 0, microusd: 0 }
    };
    let events = vec![called, answered("E_LLM_TIMEOUT")];
    let failed = "The last question to anthropic/claude-haiku-4-5 at openrouter.ai got no usable answer, at 10:07 \
                  (E_LLM_TIMEOUT).";
    let agreed = || vec![grant(POLICY_VERSION)];
    check(&known(agreed(), 0, events.clone()), &options(), Key::There, State::Warning, failed);
    let since = [events, vec![answered("answered")]].concat();
    let well = "Set up and agreed to: anthropic/claude-haiku-4-5 at openrouter.ai. $0.00 of $2.00 are spent today.";
    check(&known(agreed(), 0, since), &options(), Key::There, State::Good, well);
}
