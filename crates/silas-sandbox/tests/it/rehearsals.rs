//! Rehearsals: begun only as the house rules or a decision allow, never applied by themselves, kept for a while, and
//! applied by a decision about exactly what was kept. Every road around that ends in a refusal.

use crate::runner::Case;
use crate::world::{World, allow, approve, approve_undo, life, now, offer, once_free, signed, work};
use silas_core::evidence::{Evidence, Refusal};
use silas_core::execution::ExecutionState;
use silas_core::fail::FailPoint;
use silas_core::host::HostGrant;
use silas_core::house_rules::{HouseRule, HouseRules, RehearsalBudget};
use silas_core::rehearsal::ApplyOrder;
use silas_core::revocation::Withdrawn;
use silas_core::token::{Kind, Verdict};
use silas_core::work::{Budget, Definition, WorkItem};
use silas_core::{Digest, ExecutionId, canonical};
use silas_sandbox::{Error, Launcher, Waits};

pub(crate) const CASES: &[Case] = &[
    ("a_rehearsal_is_kept_and_applied_by_a_decision", a_rehearsal_is_kept_and_applied_by_a_decision),
    ("a_plan_shown_first_goes_the_same_way", a_plan_shown_first_goes_the_same_way),
    ("without_a_check_one_tap_applies", without_a_check_one_tap_applies),
    ("a_rehearsal_cannot_apply", a_rehearsal_cannot_apply),
    ("what_the_house_rules_do_not_allow", what_the_house_rules_do_not_allow),
    ("the_budget_of_a_day", the_budget_of_a_day),
    ("no_rehearsal_is_counted_less_than_once", no_rehearsal_is_counted_less_than_once),
    ("what_was_settled_long_ago_is_not_read", what_was_settled_long_ago_is_not_read),
    ("what_is_red_or_nothing_is_not_kept", what_is_red_or_nothing_is_not_kept),
    ("only_exactly_what_was_kept_is_applied", only_exactly_what_was_kept_is_applied),
    ("a_copy_that_was_tampered_with_is_refused", a_copy_that_was_tampered_with_is_refused),
    ("edits_while_it_waits", edits_while_it_waits),
    ("discarding_leaves_nothing", discarding_leaves_nothing),
    ("what_waited_long_enough_goes", what_waited_long_enough_goes),
    ("not_more_wait_than_may", not_more_wait_than_may),
    ("revoked_meanwhile", revoked_meanwhile),
    ("the_plug_is_pulled_around_a_rehearsal", the_plug_is_pulled_around_a_rehearsal),
];

fn rules(budget: RehearsalBudget) -> String {
    let rules = vec![HouseRule::ResumeInterrupted, HouseRule::Rehearse(budget)];
    canonical::text(&HouseRules { kind: Kind::HouseRules, rules }).unwrap()
}

const BUDGET: RehearsalBudget = RehearsalBudget { per_day: 5, max_wall_time_seconds: 600 };

/// One decision about the house rules; every rehearsal is a use of it.
fn sign_rules(payload: String) -> Evidence {
    let mut rules = offer(Kind::HouseRules, &payload);
    rules.max_executions = 10;
    signed(&rules, payload, Verdict::Approved)
}

fn under(rules: &Evidence, plan: &WorkItem, use_number: u32) -> Evidence {
    let roots = plan.definition().directories.iter().map(allow).collect();
    let execution = ExecutionId::derive(&rules.token.id().unwrap(), use_number);
    Evidence { roots, plan: Some(plan.canonical().unwrap()), execution, ..rules.clone() }
}

pub(crate) fn rehearsal(plan: &WorkItem) -> Evidence {
    under(&sign_rules(rules(BUDGET)), plan, 0)
}

/// "Do it, show me first."
fn shown_first(plan: &WorkItem) -> Evidence {
    let payload = plan.canonical().unwrap();
    let roots = plan.definition().directories.iter().map(allow).collect();
    Evidence { roots, ..signed(&offer(Kind::Rehearsal, &payload), payload, Verdict::Approved) }
}

pub(crate) fn order(plan: &WorkItem, execution: &ExecutionId, waits: &Waits) -> ApplyOrder {
    ApplyOrder {
        kind: Kind::Apply,
        execution: execution.clone(),
        plan_hash: Digest::of(plan.canonical().unwrap().as_bytes()),
        changeset: waits.changeset,
        findings: waits.findings,
    }
}

pub(crate) fn approve_order(order: &ApplyOrder, plan: &WorkItem) -> Evidence {
    let payload = canonical::text(order).unwrap();
    let roots = plan.definition().directories.iter().map(allow).collect();
    let signed = signed(&offer(Kind::Apply, &payload), payload, Verdict::Approved);
    Evidence { roots, plan: Some(plan.canonical().unwrap()), ..signed }
}

pub(crate) fn rehearse(launcher: &Launcher, plan: &WorkItem, evidence: &Evidence) -> Result<Waits, Error> {
    let mut workshop = launcher.open(evidence)?;
    work(&mut workshop, plan)?;
    workshop.changes()?;
    workshop.keep()
}

pub(crate) fn apply(launcher: &Launcher, evidence: &Evidence) -> Result<silas_sandbox::Applied, Error> {
    let mut workshop = launcher.open(evidence)?;
    workshop.reopen()?;
    workshop.apply()
}

fn state_of(launcher: &Launcher, execution: &ExecutionId) -> ExecutionState {
    let recovered = launcher.recover().unwrap();
    recovered.iter().find(|one| one.execution == *execution).unwrap().state
}

fn refusal(launcher: &Launcher, evidence: &Evidence) -> Refusal {
    match launcher.open(evidence) {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn a_rehearsal_is_kept_and_applied_by_a_decision() {
    let world = World::new();
    let old = world.tree();
    let plan = world.every_kind();
    let evidence = rehearsal(&plan);
    let launcher = world.launcher();
    let waits = rehearse(&launcher, &plan, &evidence).unwrap();
    assert_eq!((waits.files, world.works(), world.tree()), (6, 1, old.clone()));
    // It is over: nothing more can be run under it.
    assert_eq!(launcher.open(&evidence).map(drop), Err(Error::AlreadySpent));
    drop(launcher);

    // A day may pass and Silas may come and go in between.
    let launcher = world.launcher();
    let told = launcher.recover().unwrap();
    assert_eq!((told[0].state, told[0].waits.clone()), (ExecutionState::Rehearsed, Some(waits.clone())));
    assert_eq!(world.works(), 1);
    let decision = approve_order(&order(&plan, &evidence.execution, &waits), &plan);
    let applied = apply(&launcher, &decision).unwrap();
    assert_eq!((applied.changeset, world.read("app.txt").as_str()), (waits.changeset, "new\n"));
    assert_eq!((world.works(), state_of(&launcher, &evidence.execution)), (0, ExecutionState::Applied));
    assert_eq!(launcher.open(&decision).map(drop), Err(Error::AlreadySpent));
    // Undo is about the run, as for any other.
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
}

fn a_plan_shown_first_goes_the_same_way() {
    let world = World::new();
    let plan = world.one_change();
    let evidence = shown_first(&plan);
    let launcher = world.launcher();
    let waits = rehearse(&launcher, &plan, &evidence).unwrap();
    assert_eq!(world.read("app.txt"), "old\n");
    apply(&launcher, &approve_order(&order(&plan, &evidence.execution, &waits), &plan)).unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
}

fn without_a_check_one_tap_applies() {
    let world = World::new();
    let plan = world.plan(&["echo new > app.txt"], &[]);
    let evidence = approve(&plan);
    let launcher = world.launcher();
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    assert_eq!(workshop.apply().map(drop), Err(Error::NotVerified), "not by itself");
    workshop.changes().unwrap();
    let waits = workshop.keep().unwrap();
    assert_eq!(world.read("app.txt"), "old\n");
    apply(&launcher, &approve_order(&order(&plan, &evidence.execution, &waits), &plan)).unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
}

fn a_rehearsal_cannot_apply() {
    let world = World::new();
    let old = world.tree();
    let plan = world.one_change();
    let launcher = world.launcher();
    for evidence in [rehearsal(&plan), shown_first(&plan)] {
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        workshop.changes().unwrap();
        assert_eq!(workshop.apply().map(drop), Err(Error::Refused(Refusal::Kind)));
        // Nor can it open something that waits.
        assert!(matches!(workshop.reopen(), Err(Error::Order(_))));
        assert_eq!((world.tree(), world.stages().len()), (old.clone(), 0));
    }
}

fn what_the_house_rules_do_not_allow() {
    let world = World::new();
    let launcher = world.launcher();
    let check = |evidence: &Evidence, why: &str| match refusal(&launcher, evidence) {
        Refusal::HouseRules(problem) => assert!(problem.contains(why), "{problem}"),
        other => panic!("{other:?}"),
    };
    let plan = |change: &dyn Fn(&mut Definition)| {
        let mut definition = world.definition(&["true"], &["false"]);
        change(&mut definition);
        WorkItem::new(definition).unwrap()
    };
    let hosts = plan(&|d| d.hosts = vec![HostGrant::parse("example.com:443").unwrap()]);
    check(&rehearsal(&hosts), "reaches a host");
    check(&rehearsal(&plan(&|d| d.commits = true)), "commits");
    check(&rehearsal(&plan(&|d| d.callback_port = Some(4000))), "opens a port");
    let long = plan(&|d| d.budget = Budget { max_wall_time_seconds: 601, ..Budget::default() });
    check(&rehearsal(&long), "more time");
    let honest = world.one_change();
    let named = canonical::text(&HouseRules { kind: Kind::HouseRules, rules: vec![HouseRule::DropOldVersions] });
    check(&under(&sign_rules(named.unwrap()), &honest, 0), "do not name rehearsals");
    // Rules that nobody signed, a plan that is missing, a directory that nobody allowed, a use beyond the last.
    let generous = rules(RehearsalBudget { per_day: 1000, max_wall_time_seconds: 86_400 });
    assert_eq!(refusal(&launcher, &Evidence { payload: generous, ..rehearsal(&honest) }), Refusal::Content);
    let missing = Evidence { plan: None, ..rehearsal(&honest) };
    assert!(matches!(refusal(&launcher, &missing), Refusal::Malformed(_)));
    let path = world.project.to_str().unwrap().to_owned();
    assert_eq!(refusal(&launcher, &Evidence { roots: Vec::new(), ..rehearsal(&honest) }), Refusal::Root(path));
    assert_eq!(refusal(&launcher, &under(&sign_rules(rules(BUDGET)), &honest, 10)), Refusal::Execution);
    // A plan's approval is none for a rehearsal's evidence and the other way round.
    let turned = Evidence { payload: rehearsal(&honest).payload, ..approve(&honest) };
    assert_eq!(refusal(&launcher, &turned), Refusal::Content);
}

fn the_budget_of_a_day() {
    let world = World::in_memory();
    let launcher = world.launcher();
    let plan = world.one_change();
    let signed = sign_rules(rules(BUDGET));
    for use_number in 0..BUDGET.per_day {
        launcher.open(&under(&signed, &plan, use_number)).unwrap().discard();
    }
    let next = under(&signed, &plan, BUDGET.per_day);
    assert!(matches!(refusal(&launcher, &next), Refusal::HouseRules(problem) if problem.contains("used up")));
    // One use is for one plan, also after a restart.
    drop(launcher);
    let launcher = world.launcher();
    assert_eq!(launcher.open(&under(&signed, &plan, 0)).map(drop), Err(Error::AlreadySpent));
    let other = under(&signed, &world.every_kind(), 0);
    assert_eq!(refusal(&launcher, &other), Refusal::Execution);
}

fn no_rehearsal_is_counted_less_than_once() {
    let world = World::in_memory();
    let launcher = world.launcher();
    let plan = world.one_change();
    let signed = sign_rules(rules(BUDGET));
    for use_number in 0..BUDGET.per_day {
        launcher.open(&under(&signed, &plan, use_number)).unwrap().discard();
    }
    let next = under(&signed, &plan, BUDGET.per_day);
    let is_used_up =
        || matches!(refusal(&launcher, &next), Refusal::HouseRules(problem) if problem.contains("used up"));
    // An earlier version counted the records themselves.
    let counted = world.data.join("launcher/counted");
    std::fs::remove_dir_all(&counted).unwrap();
    std::fs::create_dir(&counted).unwrap();
    assert!(is_used_up() && is_used_up());
    // What was counted and cut off before its record was made is spent.
    std::fs::remove_file(world.data.join(format!("launcher/spent/{}.json", under(&signed, &plan, 0).execution)))
        .unwrap();
    assert!(is_used_up());
    // Other rules have their own.
    let others = sign_rules(rules(RehearsalBudget { per_day: 1, ..BUDGET }));
    launcher.open(&under(&others, &plan, 0)).unwrap().discard();
    assert!(matches!(refusal(&launcher, &under(&others, &plan, 1)), Refusal::HouseRules(_)));
}

/// Nobody can read this record, and a rehearsal does not notice: what it takes does not depend on how many there are.
fn what_was_settled_long_ago_is_not_read() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let first = rehearsal(&plan);
    launcher.open(&first).unwrap().discard();
    std::fs::write(world.data.join("launcher/spent/exec-long-ago.json"), "{").unwrap();
    let signed = sign_rules(rules(RehearsalBudget { per_day: 4, ..BUDGET }));
    let waits = rehearse(&launcher, &plan, &under(&signed, &plan, 0)).unwrap();
    let order = order(&plan, &under(&signed, &plan, 0).execution, &waits);
    apply(&launcher, &approve_order(&order, &plan)).unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
    // Whoever starts does.
    assert!(matches!(launcher.recover(), Err(Error::Damaged(_))));
}

fn what_is_red_or_nothing_is_not_kept() {
    let world = World::new();
    let launcher = world.launcher();
    let red = world.plan(&["echo other > app.txt"], &["grep -q new app.txt"]);
    assert_eq!(rehearse(&launcher, &red, &rehearsal(&red)), Err(Error::NotVerified));
    let nothing = world.plan(&["true"], &[]);
    assert!(matches!(rehearse(&launcher, &nothing, &shown_first(&nothing)), Err(Error::Order(_))));
    let plan = world.one_change();
    let mut workshop = launcher.open(&rehearsal(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    assert!(matches!(workshop.keep(), Err(Error::Order(_))), "nobody has looked at the changes");
    drop(launcher);
    let launcher = world.launcher();
    launcher.recover().unwrap();
    assert_eq!(world.works(), 0);
}

fn only_exactly_what_was_kept_is_applied() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.one_change();
    let rules = sign_rules(rules(BUDGET));
    let evidence = under(&rules, &plan, 0);
    let waits = rehearse(&launcher, &plan, &evidence).unwrap();
    let other_plan = world.every_kind();
    let other = under(&rules, &other_plan, 1);
    let other_waits = rehearse(&launcher, &other_plan, &other).unwrap();
    let honest = order(&plan, &evidence.execution, &waits);

    // Each thing that the order names, exchanged: another run, plan, changes, findings.
    let lies = [
        ApplyOrder { execution: other.execution.clone(), ..honest.clone() },
        ApplyOrder { changeset: other_waits.changeset, ..honest.clone() },
        ApplyOrder { findings: other_waits.findings, ..honest.clone() },
    ];
    for lie in lies {
        assert_eq!(refusal(&launcher, &approve_order(&lie, &plan)), Refusal::Content, "{lie:?}");
    }
    let lie = ApplyOrder { plan_hash: Digest::of(other_plan.canonical().unwrap().as_bytes()), ..honest.clone() };
    assert_eq!(refusal(&launcher, &approve_order(&lie, &plan)), Refusal::Content);
    assert_eq!(refusal(&launcher, &approve_order(&lie, &other_plan)), Refusal::Content);
    // An order in an undo's clothes, a run that never was, and one that was not rehearsed.
    let lie = ApplyOrder { kind: Kind::Undo, ..honest.clone() };
    assert_eq!(refusal(&launcher, &approve_order(&lie, &plan)), Refusal::Kind);
    let never = under(&rules, &plan, 7).execution;
    let never = approve_order(&ApplyOrder { execution: never, ..honest.clone() }, &plan);
    assert!(matches!(launcher.open(&never).map(drop), Err(Error::NotAvailable(_))));
    let begun = approve(&plan);
    let workshop = launcher.open(&begun).unwrap();
    drop(workshop);
    launcher.recover().unwrap();
    let not_rehearsed = approve_order(&ApplyOrder { execution: begun.execution, ..honest.clone() }, &plan);
    assert!(matches!(launcher.open(&not_rehearsed).map(drop), Err(Error::NotAvailable(_))));
    // A decision that is none, and a decision of another kind about the same bytes.
    let payload = canonical::text(&honest).unwrap();
    for (kind, verdict) in [(Kind::Apply, Verdict::Declined), (Kind::Undo, Verdict::Approved)] {
        let token = signed(&offer(kind, &payload), payload.clone(), verdict).token;
        let evidence = Evidence { token, ..approve_order(&honest, &plan) };
        assert!(matches!(refusal(&launcher, &evidence), Refusal::Verdict | Refusal::Kind), "{kind:?}");
    }
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
    apply(&launcher, &approve_order(&honest, &plan)).unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
}

fn a_copy_that_was_tampered_with_is_refused() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = rehearsal(&plan);
    let waits = rehearse(&launcher, &plan, &evidence).unwrap();
    let copy = world.data.join("launcher/work").join(evidence.execution.as_str()).join("copy-0");
    let layer = copy.join("upper");
    let changed = if layer.is_dir() { layer } else { copy }.join("app.txt");
    std::fs::write(&changed, "evil\n").unwrap();
    let decision = approve_order(&order(&plan, &evidence.execution, &waits), &plan);
    assert_eq!(apply(&launcher, &decision).map(drop), Err(Error::Refused(Refusal::Content)));
    assert_eq!((world.tree(), world.stages().len()), (old, 0));
    // The same decision counts once the copy is what it was.
    std::fs::write(&changed, "new\n").unwrap();
    once_free(|| apply(&launcher, &decision)).unwrap();
    assert_eq!(world.read("app.txt"), "new\n");
}

fn edits_while_it_waits() {
    // On the same file: a conflict, and the owner's text stands.
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = rehearsal(&plan);
    let waits = rehearse(&launcher, &plan, &evidence).unwrap();
    world.save("app.txt", "mine\n");
    let decision = approve_order(&order(&plan, &evidence.execution, &waits), &plan);
    assert_eq!(apply(&launcher, &decision).map(drop), Err(Error::Conflict { paths: vec!["app.txt".to_owned()] }));
    assert_eq!(world.read("app.txt"), "mine\n");

    // Elsewhere: the checks run again on both together, and may say no.
    for (edit, is_fine) in [("library two\n", true), ("broken\n", false)] {
        let world = World::new();
        let launcher = world.launcher();
        let plan = world.plan(&["echo new > app.txt"], &["grep -q new app.txt", "grep -q library src/lib.txt"]);
        let evidence = rehearsal(&plan);
        let waits = rehearse(&launcher, &plan, &evidence).unwrap();
        world.save("src/lib.txt", edit);
        let decision = approve_order(&order(&plan, &evidence.execution, &waits), &plan);
        let mut workshop = launcher.open(&decision).unwrap();
        workshop.reopen().unwrap();
        assert_eq!(workshop.apply().map(drop), Err(Error::MovedOn { paths: vec!["src/lib.txt".to_owned()] }));
        workshop.checks(silas_core::event::Phase::After).unwrap();
        if is_fine {
            workshop.apply().unwrap();
            assert_eq!((world.read("app.txt").as_str(), world.read("src/lib.txt").as_str()), ("new\n", edit));
        } else {
            assert_eq!(workshop.apply().map(drop), Err(Error::NotVerified));
            workshop.discard();
            assert_eq!((world.read("app.txt").as_str(), world.works()), ("old\n", 0));
            assert_eq!(state_of(&launcher, &evidence.execution), ExecutionState::Ended);
        }
    }
}

fn discarding_leaves_nothing() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = rehearsal(&plan);
    let waits = rehearse(&launcher, &plan, &evidence).unwrap();
    launcher.discard(&evidence.execution).unwrap();
    launcher.discard(&evidence.execution).unwrap();
    assert_eq!((world.works(), state_of(&launcher, &evidence.execution)), (0, ExecutionState::Ended));
    assert_eq!(std::fs::read_dir(world.data.join("launcher/waiting")).unwrap().count(), 0);
    let decision = approve_order(&order(&plan, &evidence.execution, &waits), &plan);
    assert!(matches!(launcher.open(&decision).map(drop), Err(Error::NotAvailable(_))));
    assert_eq!(world.read("app.txt"), "old\n");
}

fn what_waited_long_enough_goes() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = rehearsal(&plan);
    let waits = rehearse(&launcher, &plan, &evidence).unwrap();
    assert!(waits.until > now() && waits.until.since(now()) <= silas_core::rehearsal::KEPT_FOR);
    // As if a day had passed.
    let note = world.data.join(format!("launcher/waiting/{}.json", evidence.execution));
    let mut known: serde_json::Value = serde_json::from_slice(&std::fs::read(&note).unwrap()).unwrap();
    known["until"] = serde_json::to_value(now()).unwrap();
    std::fs::write(&note, known.to_string()).unwrap();
    let decision = approve_order(&order(&plan, &evidence.execution, &waits), &plan);
    assert!(matches!(launcher.open(&decision).map(drop), Err(Error::NotAvailable(_))));
    assert_eq!((state_of(&launcher, &evidence.execution), world.works()), (ExecutionState::Ended, 0));
    assert!(!note.exists());
}

fn not_more_wait_than_may() {
    let world = World::in_memory();
    let launcher = world.launcher();
    let plan = world.plan(&["echo new > app.txt"], &[]);
    let signed = sign_rules(rules(RehearsalBudget { per_day: 1000, ..BUDGET }));
    let many = silas_core::rehearsal::WAITING_MAX;
    for n in 0..10 {
        rehearse(&launcher, &plan, &under(&signed, &plan, n)).unwrap();
    }
    let more = sign_rules(rules(RehearsalBudget { per_day: 999, ..BUDGET }));
    for n in 10..many {
        rehearse(&launcher, &plan, &under(&more, &plan, n - 10)).unwrap();
    }
    let next = under(&more, &plan, 9);
    assert!(matches!(launcher.open(&next).map(drop), Err(Error::NotAvailable(why)) if why.contains("discard some")));
    launcher.discard(&under(&signed, &plan, 0).execution).unwrap();
    launcher.open(&next).unwrap();
}

fn revoked_meanwhile() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let rules = sign_rules(rules(BUDGET));
    let evidence = under(&rules, &plan, 0);
    // The rules go while it runs: it is not even kept.
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.changes().unwrap();
    crate::revocation::take_back(&launcher, Withdrawn::Grant(evidence.token.id().unwrap())).unwrap();
    assert_eq!(workshop.keep().map(drop), Err(Error::Refused(Refusal::RevokedGrant)));
    // And no other rehearsal begins.
    assert_eq!(refusal(&launcher, &under(&rules, &plan, 1)), Refusal::RevokedGrant);
    // A directory that is taken back while a result waits is not written to.
    let shown = shown_first(&plan);
    let waits = rehearse(&launcher, &plan, &shown).unwrap();
    let decision = approve_order(&order(&plan, &shown.execution, &waits), &plan);
    let root = decision.roots[0].token.id().unwrap();
    crate::revocation::take_back(&launcher, Withdrawn::Grant(root)).unwrap();
    assert_eq!(refusal(&launcher, &decision), Refusal::RevokedGrant);
    assert_eq!(world.read("app.txt"), "old\n");
}

fn the_plug_is_pulled_around_a_rehearsal() {
    for point in [FailPoint::CheckedAfter, FailPoint::RehearsalNoted, FailPoint::RehearsalKept] {
        let world = World::new();
        let old = world.tree();
        let plan = world.every_kind();
        let evidence = rehearsal(&plan);
        crate::crashes::killed(life(Some(point), || drop(rehearse(&world.launcher(), &plan, &evidence))));
        let launcher = world.launcher();
        let state = state_of(&launcher, &evidence.execution);
        if point == FailPoint::RehearsalKept {
            assert_eq!((state, world.works()), (ExecutionState::Rehearsed, 1));
        } else {
            assert_eq!((state, world.works()), (ExecutionState::Running, 0), "{point:?}");
            rehearse(&launcher, &plan, &evidence).unwrap();
        }
        let waits = launcher.recover().unwrap()[0].waits.clone().unwrap();
        apply(&launcher, &approve_order(&order(&plan, &evidence.execution, &waits), &plan)).unwrap();
        assert_ne!(world.tree(), old, "{point:?}");
    }
    for point in [FailPoint::CopyReopened, FailPoint::ApplyStaged, FailPoint::ApplyCommitted, FailPoint::ApplyHalfway] {
        let world = World::new();
        let old = world.tree();
        let plan = world.every_kind();
        let evidence = rehearsal(&plan);
        let waits = rehearse(&world.launcher(), &plan, &evidence).unwrap();
        let decision = approve_order(&order(&plan, &evidence.execution, &waits), &plan);
        crate::crashes::killed(life(Some(point), || drop(apply(&world.launcher(), &decision))));
        let launcher = world.launcher();
        if state_of(&launcher, &evidence.execution) == ExecutionState::Rehearsed {
            assert_eq!((world.tree(), world.stages().len(), world.works()), (old.clone(), 0, 1), "{point:?}");
            apply(&launcher, &decision).unwrap();
        }
        assert_eq!((world.works(), world.read("app.txt").as_str()), (0, "new\n"), "{point:?}");
        launcher.undo(&approve_undo(&evidence.execution, waits.changeset)).unwrap();
        assert_eq!(world.tree(), old, "{point:?}");
    }
}
