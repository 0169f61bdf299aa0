//! The plug is pulled while a message is being thought about, or while work asks for advice: what was answered and paid for
//! is not asked again.

use crate::executing::{RIGHT, World, call, finish, plan, research};
use crate::harness::{ASKING, Line, Silas};
use crate::scripted::{shell, to_planner};
use rusqlite::Connection;
use scripted_model::{Act, Dialect};
use serde_json::json;
use silas_core::card::CardKind;
use silas_core::fail::FailPoint;

const WISH: &str = "and mend the time zones for good";

/// How many calls of models were paid for, or are held to be, and how many answers are kept.
fn books(silas: &Silas) -> (usize, usize) {
    let db = Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().try_into().unwrap();
    (count("SELECT count(*) FROM model_calls"), count("SELECT count(*) FROM turn_answers"))
}

fn spent(silas: &Silas) -> i64 {
    let db = Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.query_row("SELECT coalesce(sum(coalesce(cost, reserved)), 0) FROM model_calls", [], |row| row.get(0)).unwrap()
}

fn two_plans(line: &mut Line) {
    line.wait(|line| line.cards.iter().filter(|card| card.face.kind == CardKind::Plan).count() == 2).unwrap();
}

/// Killed after `n` questions of this turn were answered, while the next one is; then everything goes on.
fn killed_after(n: usize) {
    let mut world = World::new(Dialect::OpenAi, &[ASKING]);
    let repo = world.silas.repo();
    let mut line = world.planned("", Vec::new());
    line.card(CardKind::Plan).unwrap();
    let (before, paid_before, spent_before) = (world.server.asked().len(), books(&world.silas).0, spent(&world.silas));
    let list = call("list_files", json!({ "path": repo.display().to_string(), "depth": 1, "names": null }));
    let acts = [
        to_planner(),
        research("Where are time zones handled?"),
        Act::Calls(vec![list]),
        finish("stamp() in clock.py uses local time."),
        plan(&repo, ""),
    ];
    let mut first_life: Vec<Act> = acts[..n].to_vec();
    first_life.push(Act::Silence);
    world.server.now_says(first_life);
    line.say(WISH).unwrap();
    world.server.await_asked(before + n + 1);
    world.silas.kill();
    drop(line);
    assert_eq!(books(&world.silas), (paid_before + n + 1, n), "kept until there is an answer");
    let spent_by_then = spent(&world.silas);

    world.server.now_says(acts[n..].to_vec());
    world.silas.up(&[]);
    two_plans(&mut world.silas.line());
    let asked = world.server.asked().len() - before;
    assert_eq!(asked, acts.len() + 1, "killed after {n}: only what nobody had answered is asked again");
    assert_eq!(world.server.faults(), Vec::<String>::new());
    // The one that was cut off is held to have cost its reserve; everything else is in the books once.
    assert_eq!(books(&world.silas), (paid_before + acts.len() + 1, 0));
    let (first, second) = (spent_by_then - spent_before, spent(&world.silas) - spent_by_then);
    assert!(first > 0 && second > 0, "{first} {second}");
    let told = world.server.asked();
    let planner = told.last().unwrap().body["messages"].to_string();
    assert!(planner.contains("uses local time"), "what was found out is known to who plans: {planner}");
    world.silas.assert_ledger_holds();
}

#[test]
fn killed_while_the_planner_thinks_after_research() {
    killed_after(4);
}

#[test]
fn killed_while_somebody_looks_something_up() {
    killed_after(3);
}

#[test]
fn killed_while_the_planner_is_asked_first() {
    killed_after(1);
}

/// The plug is pulled between two hands: when the wish was handed to the planner, or when its answer was handed back. What was
/// answered by then is not asked again, and the plan comes once.
pub(crate) fn crash_planning(point: FailPoint) {
    let mut world = World::new(Dialect::OpenAi, &[ASKING]);
    let repo = world.silas.repo();
    let mut line = world.planned("", Vec::new());
    line.card(CardKind::Plan).unwrap();
    drop(line);
    let (before, paid_before) = (world.server.asked().len(), books(&world.silas).0);
    world.silas.terminate();
    world.silas.up(&[("SILAS_FAIL_AT", &point.name())]);
    world.server.now_says([to_planner(), plan(&repo, "")]);
    // The plug may be pulled before it has heard that it was heard.
    let _gone = world.silas.line().say(WISH);
    world.silas.await_death();
    let by_then = world.server.asked().len() - before;
    assert_eq!(by_then, if point == FailPoint::PlanKept { 2 } else { 1 }, "{point:?}");

    world.silas.up(&[]);
    let mut line = world.silas.line();
    two_plans(&mut line);
    assert_eq!(world.server.asked().len() - before, 2, "{point:?}: each of them was asked once");
    assert_eq!(books(&world.silas), (paid_before + 2, 0), "{point:?}");
    let said = line.snapshot["entries"].as_array().unwrap().iter().filter(|entry| entry["text"] == WISH).count();
    assert_eq!(said, 1, "{point:?}");
    world.silas.assert_ledger_holds();
}

/// How many calls of models are in the books, and how many answers are kept for work.
fn work_books(silas: &Silas) -> (usize, usize) {
    let db = Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().try_into().unwrap();
    (count("SELECT count(*) FROM model_calls"), count("SELECT count(*) FROM consulted_answers"))
}

/// The plan is approved, and the plug is pulled when the planner has answered whoever works and nothing was made of it yet.
fn until_the_planner_answered(world: &mut World, point: FailPoint, more: &str, work: Vec<Act>) {
    // Who signed the house rules has interrupted work begun again.
    world.silas.pair();
    let mut line = world.planned(more, work);
    line.card(CardKind::Plan).unwrap();
    drop(line);
    world.silas.kill();
    world.silas.up(&[("SILAS_FAIL_AT", &point.name())]);
    let mut line = world.silas.line();
    line.approve(CardKind::Plan).unwrap();
    drop(line);
    world.silas.await_death();
}

/// What a check prints is never quite the same twice, here with the time in it: the advice is known again nevertheless.
pub(crate) fn crash_consulting(point: FailPoint) {
    let mut world = World::new(Dialect::OpenAi, &[ASKING]);
    let advice = json!({ "message": "Pass the zone to fromtimestamp.", "needs_approval": false, "plan_action": null });
    let stuck = |n: u32| finish(&format!("Try {n} done nothing."));
    let work = vec![stuck(1), stuck(2), stuck(3), Act::Says(advice.to_string())];
    until_the_planner_answered(&mut world, point, "", work);
    let (paid, kept) = work_books(&world.silas);
    assert_eq!((world.work_asked().len(), kept), (4, 1));

    world.server.now_says([shell(RIGHT), finish("Mended.")]);
    world.silas.up(&[]);
    world.silas.line().card(CardKind::Done).unwrap();
    let asked = world.work_asked();
    assert_eq!((asked.len(), world.server.faults()), (6, vec![]), "the planner is not asked again");
    let told = asked[4]["messages"].to_string();
    assert!(told.contains("Attempt 4 of 5") && told.contains("Pass the zone to fromtimestamp."), "{told}");
    assert_eq!(work_books(&world.silas), (paid + 2, 0), "and with the end nothing is kept");
    world.silas.assert_ledger_holds();
}

/// The same for the other plan that is asked for when all attempts have failed.
#[test]
fn another_plan_is_paid_for_once() {
    let mut world = World::new(Dialect::OpenAi, &[ASKING]);
    let Act::Says(other) = plan(&world.silas.repo(), "") else { panic!() };
    let other = Act::Says(other.replace("wherever it runs", "in every zone").replace("propose", "revise"));
    let work = vec![finish("Nothing to do."), other];
    until_the_planner_answered(&mut world, FailPoint::PlannerAnswered, "budget: { max_attempts: 1 }\n", work);
    let (paid, kept) = work_books(&world.silas);
    assert_eq!((world.work_asked().len(), kept), (2, 1));

    world.server.now_says([]);
    world.silas.up(&[]);
    let mut line = world.silas.line();
    line.card(CardKind::Report).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    assert!(card.face.quote.unwrap().text.contains("in every zone"));
    assert_eq!((world.work_asked().len(), world.server.faults()), (2, vec![]), "nobody is asked again");
    assert_eq!(work_books(&world.silas), (paid, 0));
    world.silas.assert_ledger_holds();
}
