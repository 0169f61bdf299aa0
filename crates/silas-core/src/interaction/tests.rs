//! The order of precedence, as a table.

use super::*;
use InteractionMode::{ActAndReport, ConfirmOnlyWhenRequired, DefaultAndOffer};

#[test]
fn risk_comes_first_then_the_planner_then_the_proxy_then_the_register() {
    let nobody = Signals {
        proxy_mode: None,
        planner_override: None,
        risk_requires_confirmation: false,
        register: InteractionRegister::Execution,
    };
    assert_eq!(resolve_mode(nobody), ActAndReport);
    let proxy = Signals { proxy_mode: Some(DefaultAndOffer), ..nobody };
    assert_eq!(resolve_mode(proxy), DefaultAndOffer);
    let planner = Signals { planner_override: Some(ConfirmOnlyWhenRequired), ..proxy };
    assert_eq!(resolve_mode(planner), ConfirmOnlyWhenRequired);
    let planner = Signals { planner_override: Some(ActAndReport), ..proxy };
    assert_eq!(resolve_mode(Signals { risk_requires_confirmation: true, ..planner }), ConfirmOnlyWhenRequired);
    for (register, mode) in [
        (InteractionRegister::Exploration, DefaultAndOffer),
        (InteractionRegister::Status, DefaultAndOffer),
        (InteractionRegister::Review, ConfirmOnlyWhenRequired),
    ] {
        assert_eq!(resolve_mode(Signals { register, ..nobody }), mode);
    }
}
