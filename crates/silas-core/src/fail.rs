//! Fail points: named instants at which a test pulls the plug.
//!
//! Only debug builds can be armed; in a release build [`point`] is empty. What "pulling the plug" means is decided by
//! the binary, which arms one point before anything else happens.

/// Every instant at which a crash must leave the world old or new. A test drives Silas through each of them, and
/// another one checks that each is named exactly where it happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailPoint {
    MessageAccepted,
    CardOffered,
    RehearsalBegun,
    DecisionRecorded,
    ExecutionAdmitted,
    CopyMade,
    CheckedBefore,
    StepsRun,
    CheckedAfter,
    RehearsalNoted,
    RehearsalKept,
    CopyReopened,
    ApplyStaged,
    ApplyCommitted,
    ApplyHalfway,
    ApplyDone,
    ResultRecorded,
    UndoCommitted,
    UndoHalfway,
    UndoDone,
    UndoRecorded,
    TaskPrepared,
    TaskWritten,
    OutboxDrained,
    ModelReserved,
    PlanRequested,
    PlanKept,
    PlannerAnswered,
    StepBegun,
    MergeKept,
    TerminalKeyMade,
    TerminalDecided,
    ServerKeyMade,
    ServerKeyDecided,
    VaultResealed,
    VaultDecided,
    VaultSetAside,
    VaultInPlace,
    RootKeyMade,
    RootDecided,
    RootKeysChanged,
    RootLauncherTold,
    RootStoreTold,
    RootServersVouched,
}

impl FailPoint {
    pub const ALL: [FailPoint; 44] = [
        FailPoint::MessageAccepted,
        FailPoint::CardOffered,
        FailPoint::RehearsalBegun,
        FailPoint::DecisionRecorded,
        FailPoint::ExecutionAdmitted,
        FailPoint::CopyMade,
        FailPoint::CheckedBefore,
        FailPoint::StepsRun,
        FailPoint::CheckedAfter,
        FailPoint::RehearsalNoted,
        FailPoint::RehearsalKept,
        FailPoint::CopyReopened,
        FailPoint::ApplyStaged,
        FailPoint::ApplyCommitted,
        FailPoint::ApplyHalfway,
        FailPoint::ApplyDone,
        FailPoint::ResultRecorded,
        FailPoint::UndoCommitted,
        FailPoint::UndoHalfway,
        FailPoint::UndoDone,
        FailPoint::UndoRecorded,
        FailPoint::TaskPrepared,
        FailPoint::TaskWritten,
        FailPoint::OutboxDrained,
        FailPoint::ModelReserved,
        FailPoint::PlanRequested,
        FailPoint::PlanKept,
        FailPoint::PlannerAnswered,
        FailPoint::StepBegun,
        FailPoint::MergeKept,
        FailPoint::TerminalKeyMade,
        FailPoint::TerminalDecided,
        FailPoint::ServerKeyMade,
        FailPoint::ServerKeyDecided,
        FailPoint::VaultResealed,
        FailPoint::VaultDecided,
        FailPoint::VaultSetAside,
        FailPoint::VaultInPlace,
        FailPoint::RootKeyMade,
        FailPoint::RootDecided,
        FailPoint::RootKeysChanged,
        FailPoint::RootLauncherTold,
        FailPoint::RootStoreTold,
        FailPoint::RootServersVouched,
    ];

    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

#[cfg(debug_assertions)]
static ARMED: std::sync::OnceLock<(FailPoint, fn() -> !)> = std::sync::OnceLock::new();

/// Arms one point for the life of this process and its children. The first call wins.
#[cfg(debug_assertions)]
pub fn arm(point: FailPoint, pull_the_plug: fn() -> !) {
    ARMED.get_or_init(|| (point, pull_the_plug));
}

/// Does nothing, unless a test armed exactly this point.
#[inline]
pub fn point(_point: FailPoint) {
    #[cfg(debug_assertions)]
    if let Some((armed, pull_the_plug)) = ARMED.get()
        && *armed == _point
    {
        pull_the_plug();
    }
}
