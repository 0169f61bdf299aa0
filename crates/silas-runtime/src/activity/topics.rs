//! What each entry of the ledger is about, for whoever looks for something in Activity. Tells nothing itself.

use crate::view::{Icon, Topic};
use silas_core::event::AuditEvent;
use silas_core::token::Kind;

/// The code with which a question was not asked because of the cap.
const OVER_CAP: &str = "E_LLM_CAP";

pub(super) fn topics(event: &AuditEvent, icon: Icon) -> Vec<Topic> {
    let is = [
        (Topic::Change, is_change(event)),
        (Topic::Decision, is_decision(event)),
        // Every refusal is told with its icon, so none is left out here.
        (Topic::Refusal, icon == Icon::Refused),
        (Topic::Spending, is_spending(event)),
    ];
    is.into_iter().filter(|(_, is)| *is).map(|(topic, _)| topic).collect()
}

fn is_change(event: &AuditEvent) -> bool {
    matches!(
        event,
        AuditEvent::WorkApplied { .. }
            | AuditEvent::WorkRehearsed { .. }
            | AuditEvent::WorkUndone { .. }
            | AuditEvent::TaskAdded { .. }
            | AuditEvent::TaskCompleted { .. }
            | AuditEvent::TaskReopened { .. }
    )
}

fn is_decision(event: &AuditEvent) -> bool {
    matches!(
        event,
        AuditEvent::DecisionRecorded { .. }
            | AuditEvent::HouseRulesSigned { .. }
            | AuditEvent::RootGranted { .. }
            | AuditEvent::ModelAllowed { .. }
            | AuditEvent::BudgetExtended { .. }
            | AuditEvent::DevicePaired { .. }
            | AuditEvent::PasskeyRegistered { .. }
            | AuditEvent::DeviceRevoked { .. }
            | AuditEvent::GrantRevoked { .. }
            | AuditEvent::DeadLetterRevived { .. }
            | AuditEvent::TextForgotten { .. }
    )
}

fn is_spending(event: &AuditEvent) -> bool {
    match event {
        AuditEvent::ModelAnswered { .. } | AuditEvent::BudgetExtended { .. } => true,
        AuditEvent::DecisionRecorded { kind, .. } => *kind == Kind::Budget,
        AuditEvent::ModelRefused { code, .. } => code == OVER_CAP,
        _ => false,
    }
}
