//! The plug is pulled at every named instant. After a restart the directory is old or new, the ledger verifies, and the
//! story goes on to its end.

use crate::conflicts::{crash_meeting, crash_merging};
use crate::harness::{Gone, Line, Silas};
use crate::kills;
use crate::models::crash_while_asking;
use crate::paying_once::{crash_consulting, crash_planning};
use crate::rotation::crash_rotating;
use crate::traces::Traces;
use crate::unknown_effect::crash_outside;
use silas_core::card::{CardKind, CardState};
use silas_core::fail::FailPoint;
use silas_core::token::Verdict;
use std::collections::BTreeMap;
use std::path::PathBuf;

type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// Answers whatever waits until the work was applied and undone again.
fn live_on(silas: &Silas, line: &mut Line, original: &Tree) -> Result<(), Gone> {
    loop {
        let open = line.cards.iter().find(|card| card.state == CardState::Open).cloned();
        match open {
            Some(card) if card.offer.is_some() => {
                let (recorded, message) = line.decide(&card, Verdict::Approved)?;
                assert!(recorded, "{:?}: {message}", card.face.kind);
                if card.face.kind == CardKind::Done {
                    assert_eq!(&silas.tree(), original);
                    return Ok(());
                }
                line.wait(|line| !line.cards.iter().any(|open| open.id == card.id))?;
            }
            Some(card) => panic!("the story ended in {:?}: {:?}", card.face.intent, card.face.details),
            None => {
                line.next()?;
            }
        }
    }
}

/// The wish is rehearsed first, as it is by default once a browser was paired.
fn crash_rehearsing(point: FailPoint) {
    crash(point, "true");
}

/// Each plan asks first.
fn crash_asking(point: FailPoint) {
    crash(point, "false");
}

fn crash(point: FailPoint, rehearse_first: &str) {
    let mut silas = Silas::start_with(&[("SILAS__APPROVAL__REHEARSE_FIRST", rehearse_first)]);
    kills::write_restless_scripts(&silas);
    let original = silas.tree();
    silas.pair();
    silas.terminate();
    silas.up(&[("SILAS_FAIL_AT", &point.name())]);

    let first_life = Line::open(&silas.data()).and_then(|mut line| {
        line.say(&silas.wish())?;
        live_on(&silas, &mut line, &original)
    });
    assert!(first_life.is_err(), "{point:?} was never reached");
    silas.await_death();
    Traces::of(&silas).assert_nothing_runs(&format!("{point:?}"));

    silas.up(&[]);
    let mut line = silas.line();
    let tree = silas.tree();
    silas.assert_old_or_new(&original, &format!("{point:?}"));
    silas.assert_ledger_holds();

    let was_undone = matches!(
        point,
        FailPoint::UndoCommitted | FailPoint::UndoHalfway | FailPoint::UndoDone | FailPoint::UndoRecorded
    );
    if was_undone {
        assert_eq!(tree, original, "a committed undo is finished");
        let told = line.ask("what did you do?");
        assert!(told.contains("Put 4 files back"), "{told}");
    } else {
        live_on(&silas, &mut line, &original).unwrap();
    }
    silas.assert_ledger_holds();
    // What was interrupted can be proved like anything else.
    silas.assert_proof_travels();
    assert!(
        std::fs::read_dir(silas.data().join("launcher/work")).unwrap().next().is_none(),
        "{point:?}: a copy was left behind"
    );
}

/// The owner adds a task, and the plug is pulled on its way through the two files.
fn crash_while_adding(point: FailPoint) {
    const WISH: &str = "add task `Call the dentist`";
    let mut silas = Silas::start();
    silas.terminate();
    silas.up(&[("SILAS_FAIL_AT", &point.name())]);
    let first_life = Line::open(&silas.data()).and_then(|mut line| {
        line.say(WISH)?;
        line.wait_for("activity")
    });
    assert!(first_life.is_err(), "{point:?} was never reached");
    silas.await_death();

    silas.up(&[]);
    let mut line = silas.line();
    let titles = |line: &mut Line| -> Vec<String> {
        let tasks = line.tasks();
        tasks.iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&mut line), ["Call the dentist"], "{point:?}");
    let told = |line: &Line, list: &str, text: &str| {
        let list = line.snapshot.pointer(list).unwrap().as_array().unwrap();
        list.iter().filter(|row| row["text"] == text).count()
    };
    assert_eq!(told(&line, "/entries", WISH), 1);
    assert_eq!(told(&line, "/entries", "Added to your tasks: Call the dentist"), 1, "{point:?}: answered once");
    assert_eq!(told(&line, "/activity/rows", "Added a task"), 1, "{point:?}: in the ledger once");
    silas.assert_ledger_holds();

    // A new message is a new wish, also in the same words.
    assert_eq!(line.ask(WISH), "Added to your tasks: Call the dentist");
    assert_eq!(titles(&mut line).len(), 2);
    silas.assert_ledger_holds();
}

/// One test per point and way, so that they run side by side and each failure names its instant.
macro_rules! at {
    ($($way:ident: $story:ident { $($name:ident: $point:ident,)* })*) => {
        $(mod $way {
            use super::*;
            pub(super) const POINTS: &[FailPoint] = &[$(FailPoint::$point),*];
            $(#[test] fn $name() { $story(FailPoint::$point); })*
        })*

        #[test]
        fn every_point_has_its_crash() {
            let tested = [$($way::POINTS),*].concat();
            for point in FailPoint::ALL {
                assert!(tested.contains(&point), "{point:?}");
            }
            let ways =
                [rehearsing::POINTS, adding::POINTS, thinking::POINTS, planning::POINTS, consulting::POINTS, reaching::POINTS, meeting::POINTS, rotating::POINTS].concat();
            assert_eq!(ways, FailPoint::ALL.to_vec(), "a rehearsal comes by all of them");
        }
    };
}

at! {
    rehearsing: crash_rehearsing {
        message_accepted: MessageAccepted,
        card_offered: CardOffered,
        rehearsal_begun: RehearsalBegun,
        decision_recorded: DecisionRecorded,
        execution_admitted: ExecutionAdmitted,
        copy_made: CopyMade,
        checked_before: CheckedBefore,
        steps_run: StepsRun,
        checked_after: CheckedAfter,
        rehearsal_noted: RehearsalNoted,
        rehearsal_kept: RehearsalKept,
        copy_reopened: CopyReopened,
        apply_staged: ApplyStaged,
        apply_committed: ApplyCommitted,
        apply_halfway: ApplyHalfway,
        apply_done: ApplyDone,
        result_recorded: ResultRecorded,
        undo_committed: UndoCommitted,
        undo_halfway: UndoHalfway,
        undo_done: UndoDone,
        undo_recorded: UndoRecorded,
    }
    asking: crash_asking {
        decision_recorded: DecisionRecorded,
        execution_admitted: ExecutionAdmitted,
        copy_made: CopyMade,
        checked_before: CheckedBefore,
        steps_run: StepsRun,
        checked_after: CheckedAfter,
        apply_staged: ApplyStaged,
        apply_committed: ApplyCommitted,
        apply_halfway: ApplyHalfway,
        apply_done: ApplyDone,
        result_recorded: ResultRecorded,
        undo_committed: UndoCommitted,
    }
    adding: crash_while_adding {
        task_prepared: TaskPrepared,
        task_written: TaskWritten,
        outbox_drained: OutboxDrained,
    }
    thinking: crash_while_asking {
        model_reserved: ModelReserved,
    }
    planning: crash_planning {
        plan_requested: PlanRequested,
        plan_kept: PlanKept,
    }
    consulting: crash_consulting {
        planner_answered: PlannerAnswered,
    }
    reaching: crash_outside {
        step_begun: StepBegun,
    }
    meeting: crash_meeting {
        merge_kept: MergeKept,
    }
    merging: crash_merging {
        decision_recorded: DecisionRecorded,
        execution_admitted: ExecutionAdmitted,
        copy_made: CopyMade,
        checked_before: CheckedBefore,
        steps_run: StepsRun,
        checked_after: CheckedAfter,
        rehearsal_noted: RehearsalNoted,
        rehearsal_kept: RehearsalKept,
        result_recorded: ResultRecorded,
        apply_halfway: ApplyHalfway,
    }
    rotating: crash_rotating {
        terminal_key_made: TerminalKeyMade,
        terminal_decided: TerminalDecided,
        server_key_made: ServerKeyMade,
        server_key_decided: ServerKeyDecided,
        vault_resealed: VaultResealed,
        vault_decided: VaultDecided,
        vault_set_aside: VaultSetAside,
        vault_in_place: VaultInPlace,
        root_key_made: RootKeyMade,
        root_decided: RootDecided,
        root_keys_changed: RootKeysChanged,
        root_launcher_told: RootLauncherTold,
        root_store_told: RootStoreTold,
        root_servers_vouched: RootServersVouched,
    }
}
