//! The workshop insists on its order, whatever the front asks.

use crate::runner::Case;
use crate::world::{World, approve, once_free, work};
use silas_core::event::Phase::{After, Before};
use silas_sandbox::Error;

pub(crate) const CASES: &[Case] = &[
    ("nothing_out_of_order", nothing_out_of_order),
    ("red_is_not_applied", red_is_not_applied),
    ("green_before_is_not_a_proof", green_before_is_not_a_proof),
    ("without_a_check_nothing_is_applied", without_a_check_nothing_is_applied),
    ("time_is_what_was_approved", time_is_what_was_approved),
];

fn is_order<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Order(_))), "{result:?}");
}

fn nothing_out_of_order() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.plan(&["echo new > app.txt", "true"], &["grep -q new app.txt", "true"]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    is_order(workshop.checks(Before));
    is_order(workshop.step(0));
    is_order(workshop.changes());
    is_order(workshop.apply());
    workshop.copy().unwrap();
    is_order(workshop.copy());
    is_order(workshop.checks(After));
    is_order(workshop.step(0));
    assert_eq!(workshop.checks(Before).unwrap().len(), 2);
    is_order(workshop.checks(Before));
    is_order(workshop.checks(After));
    is_order(workshop.step(1));
    workshop.step(0).unwrap();
    is_order(workshop.step(0));
    is_order(workshop.checks(Before));
    is_order(workshop.checks(After));
    is_order(workshop.changes());
    workshop.step(1).unwrap();
    is_order(workshop.step(2));
    is_order(workshop.apply());
    workshop.checks(After).unwrap();
    is_order(workshop.checks(After));
    is_order(workshop.step(1));
    workshop.apply().unwrap();
    assert!(workshop.apply().is_err());
    assert_eq!(world.read("app.txt"), "new\n");
}

fn red_is_not_applied() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let plan = world.plan(&["echo wrong > app.txt"], &["grep -q new app.txt"]);
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    assert_eq!(workshop.apply(), Err(Error::NotVerified));
    workshop.discard();
    assert_eq!(world.tree(), old);
    assert_eq!((world.works(), world.stages().len()), (0, 0));
    assert_eq!(launcher.open(&evidence).map(drop), Err(Error::AlreadySpent));
}

fn green_before_is_not_a_proof() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.plan(&["echo new > app.txt"], &["true"]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    assert_eq!(workshop.apply(), Err(Error::NotVerified));
    assert_eq!(world.read("app.txt"), "old\n");
}

fn without_a_check_nothing_is_applied() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.plan(&["echo new > app.txt"], &[]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    assert_eq!(workshop.changes().unwrap().changeset.changes.len(), 1);
    assert_eq!(workshop.apply(), Err(Error::NotVerified));
    assert_eq!(world.read("app.txt"), "old\n");
}

fn time_is_what_was_approved() {
    let world = World::new();
    let launcher = world.launcher();
    // On a busy machine the shortest of these may be over before the step begins.
    for secs in [2, 8, 32, 128] {
        let mut definition = world.definition(&["sleep 1000"], &["true"]);
        definition.budget.max_wall_time_seconds = secs;
        let plan = silas_core::work::WorkItem::new(definition).unwrap();
        let evidence = approve(&plan);
        let mut workshop = launcher.open(&evidence).unwrap();
        let step = workshop.copy().and_then(|_| workshop.checks(Before)).and_then(|_| workshop.step(0));
        assert_eq!(workshop.checks(After).map(drop), Err(Error::TimeUp), "{step:?}");
        drop(workshop);
        assert_eq!(once_free(|| launcher.open(&evidence)).map(drop), Err(Error::TimeUp));
        match step {
            Err(Error::TimeUp) => {}
            step => {
                let ended = step.unwrap().metadata.ended;
                return assert!(matches!(ended, silas_core::check::Ended::TimedOut { .. }), "{ended:?}");
            }
        }
    }
    panic!("the step never began");
}
