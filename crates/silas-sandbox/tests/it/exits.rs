//! The workshop itself lets out only what a plan names, where a model chose the commands; whatever the front asks for.

use crate::runner::Case;
use crate::world::{World, approve};
use silas_core::check::Command;
use silas_core::event::Phase;
use silas_core::exits::{Exits, Glob};
use silas_core::mandate::Mandate;
use silas_core::work::{Definition, WorkItem};
use silas_sandbox::{Error, Workshop};

pub(crate) const CASES: &[Case] = &[
    ("what_a_plan_names_is_applied", what_a_plan_names_is_applied),
    ("what_it_does_not_name_is_kept_and_not_applied", what_it_does_not_name_is_kept_and_not_applied),
    ("fixed_commands_are_what_was_approved", fixed_commands_are_what_was_approved),
];

fn left_to_a_model(world: &World, paths: &[&str]) -> WorkItem {
    let exits = Exits { paths: paths.iter().map(|path| Glob::parse(path).unwrap()).collect(), ..Exits::default() };
    let definition = world.definition(&[], &["grep -q new app.txt"]);
    WorkItem::new(Definition { executor: Some(Mandate::default()), exits, ..definition }).unwrap()
}

/// A model runs this in the copy, and the checks turn green.
fn worked(shop: &mut Workshop, script: &str) {
    shop.copy().unwrap();
    shop.checks(Phase::Before).unwrap();
    shop.work(Command::Shell(script.to_owned()), 60).unwrap();
    assert!(shop.checks(Phase::After).unwrap().iter().all(|result| result.passed));
    shop.changes().unwrap();
}

fn what_a_plan_names_is_applied() {
    let world = World::new();
    let launcher = world.launcher();
    let mut shop = launcher.open(&approve(&left_to_a_model(&world, &["app.txt", "made/**"]))).unwrap();
    worked(&mut shop, "echo new > app.txt; mkdir made; echo x > made/x");
    assert_eq!(shop.apply().unwrap().files, 2);
    assert_eq!(world.read("app.txt"), "new\n");
}

fn what_it_does_not_name_is_kept_and_not_applied() {
    for (paths, script) in [
        (&["app.txt"][..], "echo new > app.txt; echo x > other.txt"),
        (&["**"], "echo new > app.txt; mkdir .github; echo x > .github/x"),
        (&[], "echo new > app.txt"),
        (&["app.txt"], "echo new > app.txt; rm gone.txt"),
    ] {
        let world = World::new();
        let launcher = world.launcher();
        let before = world.tree();
        let mut shop = launcher.open(&approve(&left_to_a_model(&world, paths))).unwrap();
        worked(&mut shop, script);
        assert!(matches!(shop.apply(), Err(Error::Order(_))), "{script}");
        assert_eq!(world.tree(), before, "{script}");
        // It is not lost either: one decision about exactly this puts it in place.
        shop.keep().unwrap();
        assert_eq!(world.tree(), before);
    }
}

fn fixed_commands_are_what_was_approved() {
    let world = World::new();
    let plan = world.plan(&["echo new > app.txt; echo x > other.txt"], &["grep -q new app.txt"]);
    let mut shop = world.launcher().open(&approve(&plan)).unwrap();
    crate::world::work(&mut shop, &plan).unwrap();
    assert_eq!(shop.apply().unwrap().files, 2);
}
