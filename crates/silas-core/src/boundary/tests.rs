//! Each check refuses alone, the order is kept when several would, and a field too many is never dropped in silence.

use super::*;
use crate::model::KeySource;
use serde_json::json;

fn model() -> ModelName {
    ModelName::parse("openrouter:anthropic/claude-haiku-4-5").unwrap()
}

fn grant() -> ModelGrant {
    ModelGrant::new(model(), vec![Role::Proxy], KeySource::None, None)
}

struct World {
    asker: Taint,
    allowed: Vec<ModelName>,
    local_only: bool,
    receipts: Vec<ModelGrant>,
    has_key: bool,
    payload: Value,
}

impl Default for World {
    fn default() -> Self {
        World {
            asker: Taint::Owner,
            allowed: vec![model()],
            local_only: false,
            receipts: vec![grant()],
            has_key: true,
            payload: json!({ "wish": "hello", "history": [{ "who": "owner", "text": "hi" }] }),
        }
    }
}

fn ask(world: World) -> Result<Projected, &'static str> {
    let model = model();
    let has_key = || world.has_key;
    let call = Call { asker: world.asker, role: Role::Proxy, model: &model, payload: world.payload };
    let policy =
        Policy { allowed: &world.allowed, local_only: world.local_only, receipts: &world.receipts, has_key: &has_key };
    admit(call, &policy).map_err(|refusal| refusal.code())
}

#[test]
fn what_holds_is_admitted_as_it_is() {
    let payload = World::default().payload;
    assert_eq!(ask(World::default()).unwrap().payload(), &payload);
}

#[test]
fn each_check_refuses_and_the_first_one_speaks() {
    let mut world = World { payload: json!({ "wish": "x", "home": "/home/mira" }), ..World::default() };
    assert_eq!(ask(World { payload: world.payload.clone(), ..World::default() }), Err("overshared_payload_blocked"));
    world.has_key = false;
    assert_eq!(
        ask(World { has_key: false, payload: world.payload.clone(), ..World::default() }),
        Err("secret_unavailable")
    );
    let worse = || World { has_key: false, payload: json!({ "home": 1 }), receipts: vec![], ..World::default() };
    assert_eq!(ask(worse()), Err("privacy_confirmation_required"));
    assert_eq!(ask(World { allowed: vec![], ..worse() }), Err("disallowed_provider_model"));
    assert_eq!(ask(World { local_only: true, ..worse() }), Err("disallowed_provider_model"));
    assert_eq!(ask(World { asker: Taint::Auth, allowed: vec![], ..worse() }), Err("out_of_scope"));
    assert_eq!(ask(World { asker: Taint::External, allowed: vec![], ..worse() }), Err("out_of_scope"));
}

#[test]
fn a_consent_is_for_one_model_one_role_and_one_version() {
    let other_version = ModelGrant { policy_version: POLICY_VERSION + 1, ..grant() };
    let other_role = ModelGrant { roles: vec![Role::Planner], ..grant() };
    let other_place = ModelGrant {
        model: ModelName::parse("openrouter:anthropic/claude-haiku-4-5@https://elsewhere.example/v1").unwrap(),
        ..grant()
    };
    for receipt in [other_version, other_role, other_place] {
        assert_eq!(ask(World { receipts: vec![receipt], ..World::default() }), Err("privacy_confirmation_required"));
    }
}

#[test]
fn fields_are_found_wherever_they_hide() {
    for payload in [
        json!({ "wish": { "deep": "x" } }),
        json!({ "history": [{ "who": "owner", "text": "hi", "path": "/etc" }] }),
        json!({ "history": ["a bare string"] }),
        json!([{ "wish": "x" }]),
        json!("wish"),
        json!({ "wish": null, "Wish": null }),
    ] {
        assert_eq!(
            ask(World { payload: payload.clone(), ..World::default() }),
            Err("overshared_payload_blocked"),
            "{payload}"
        );
    }
}
