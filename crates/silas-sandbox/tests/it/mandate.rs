//! A workshop that stays open for a model: as many commands as the plan says, in the copy and nowhere else, and checks that
//! are asked again only while they are red.

use crate::runner::Case;
use crate::world::{World, approve};
use silas_core::check::Command;
use silas_core::event::Phase::{After, Before};
use silas_core::exits::Glob;
use silas_core::file_order::{FileOrder, Sights};
use silas_core::mandate::Mandate;
use silas_core::work::{Budget, WorkItem};
use silas_sandbox::{Error, Workshop};

pub(crate) const CASES: &[Case] = &[
    ("a_second_attempt_goes_on_in_the_same_copy", a_second_attempt_goes_on_in_the_same_copy),
    ("nothing_is_run_that_the_plan_does_not_leave_to_a_model", nothing_is_run_that_the_plan_does_not_leave_to_a_model),
    ("commands_and_attempts_are_counted", commands_and_attempts_are_counted),
    ("a_command_of_a_model_reaches_nothing", a_command_of_a_model_reaches_nothing),
    ("files_are_changed_where_a_command_would_change_them", files_are_changed_where_a_command_would_change_them),
];

fn plan(world: &World, max_tool_calls: u32, max_attempts: u32) -> WorkItem {
    let mut definition = world.definition(&[], &["grep -q new app.txt"]);
    definition.executor = Some(Mandate { max_tool_calls, ..Mandate::default() });
    definition.budget = Budget { max_attempts, ..definition.budget };
    definition.exits.paths = ["app.txt", "made.txt"].map(|path| Glob::parse(path).unwrap()).to_vec();
    WorkItem::new(definition).unwrap()
}

fn shell(workshop: &mut Workshop, script: &str) -> Result<String, Error> {
    workshop.work(Command::Shell(script.to_owned()), 30).map(|result| result.output())
}

fn is_order<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Order(_))), "{result:?}");
}

fn a_second_attempt_goes_on_in_the_same_copy() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let mut workshop = launcher.open(&approve(&plan(&world, 9, 3))).unwrap();
    workshop.copy().unwrap();
    is_order(shell(&mut workshop, "true"));
    assert!(!workshop.checks(Before).unwrap()[0].passed);
    is_order(workshop.again());
    shell(&mut workshop, "echo half > made.txt; echo nearly > app.txt").unwrap();
    assert!(!workshop.checks(After).unwrap()[0].passed);
    is_order(shell(&mut workshop, "true"));
    assert!(workshop.apply().is_err());
    assert_eq!(world.tree(), old);
    workshop.again().unwrap();
    assert_eq!(shell(&mut workshop, "cat made.txt app.txt").unwrap(), "half\nnearly\n");
    shell(&mut workshop, "echo new > app.txt").unwrap();
    assert!(workshop.checks(After).unwrap()[0].passed);
    is_order(workshop.again());
    let changes = workshop.changes().unwrap();
    assert_eq!(changes.changeset.changes.len(), 2);
    workshop.apply().unwrap();
    assert_eq!((world.read("app.txt").as_str(), world.read("made.txt").as_str()), ("new\n", "half\n"));
}

/// Orders about files see what a command in the copy sees and can change no more than one.
fn files_are_changed_where_a_command_would_change_them() {
    let world = World::new();
    let old = world.tree();
    let launcher = world.launcher();
    let mut workshop = launcher.open(&approve(&plan(&world, 10, 3))).unwrap();
    workshop.copy().unwrap();
    let order = |path: &str| FileOrder::Read { path: path.to_owned(), from_line: 1, lines: None };
    let write = |path: &str| FileOrder::Write { path: path.to_owned(), text: "mine".to_owned() };
    is_order(workshop.files(order("app.txt"), Sights::new()));
    workshop.checks(Before).unwrap();
    shell(&mut workshop, "echo half > app.txt; ln -s /etc/hostname out; ln -s app.txt in").unwrap();
    let read = workshop.files(order("app.txt"), Sights::new()).unwrap();
    assert_eq!((read.shown.as_str(), read.said.as_str(), read.is_done), ("1\thalf\n", "", true));
    assert_eq!(workshop.files(order("in"), Sights::new()).unwrap().sights, read.sights, "a link is its file");
    let out = workshop.files(order("out"), Sights::new()).unwrap();
    assert!(!out.shown.contains(std::fs::read_to_string("/etc/hostname").unwrap_or_default().trim()), "{out:?}");
    for path in ["/etc/made", "/made", "/proc/made", "/usr/made"] {
        let refused = workshop.files(write(path), Sights::new()).unwrap();
        assert!(!refused.is_done && refused.said.starts_with("Not written"), "{path}: {refused:?}");
    }
    assert!(workshop.files(write("made.txt"), Sights::new()).unwrap().is_done);
    assert_eq!(shell(&mut workshop, "cat made.txt; stat -c %a made.txt").unwrap(), "mine644\n");
    assert_eq!(world.tree(), old);
    is_order(workshop.files(order("app.txt"), Sights::new()));
}

fn nothing_is_run_that_the_plan_does_not_leave_to_a_model() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.plan(&["true"], &["grep -q new app.txt"]);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Before).unwrap();
    workshop.step(0).unwrap();
    is_order(shell(&mut workshop, "echo new > app.txt"));
    workshop.checks(After).unwrap();
    is_order(workshop.again());
}

fn commands_and_attempts_are_counted() {
    let world = World::new();
    let launcher = world.launcher();
    let mut workshop = launcher.open(&approve(&plan(&world, 2, 2))).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Before).unwrap();
    is_order(workshop.work(Command::Argv(Vec::new()), 1));
    is_order(shell(&mut workshop, &"x".repeat(65 << 10)));
    shell(&mut workshop, "true").unwrap();
    workshop.checks(After).unwrap();
    workshop.again().unwrap();
    shell(&mut workshop, "true").unwrap();
    is_order(shell(&mut workshop, "true"));
    workshop.checks(After).unwrap();
    is_order(workshop.again());
}

fn a_command_of_a_model_reaches_nothing() {
    let world = World::new();
    let mut definition = plan(&world, 9, 1).definition().clone();
    definition.hosts = vec![silas_core::host::HostGrant::parse("example.org:443").unwrap()];
    definition.secrets = vec![silas_core::secret::SecretRef::parse("token").unwrap()];
    let launcher = world.launcher();
    let mut workshop = launcher.open(&approve(&WorkItem::new(definition).unwrap())).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Before).unwrap();
    let seen = shell(&mut workshop, "cat /etc/hosts; cat /proc/net/dev | tail -n +3; ls /tmp; env").unwrap();
    assert!(!seen.contains("example.org") && !seen.contains("SILAS_SECRET"), "{seen}");
}
