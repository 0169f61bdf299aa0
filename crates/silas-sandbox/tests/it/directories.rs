//! Plans that change several directories, in any order, beside directories that they may only read: one changeset, one
//! journal, all or none.

use crate::crashes::killed;
use crate::revocation::refusal;
use crate::runner::{self, Case};
use crate::world::{Tree, World, approve, approve_undo, life, note_all, work};
use silas_core::check::Expectation;
use silas_core::event::Phase;
use silas_core::evidence::{Evidence, Refusal};
use silas_core::execution::ExecutionState;
use silas_core::fail::FailPoint;
use silas_core::roots::Access;
use silas_core::work::WorkItem;
use silas_sandbox::{Copies, Error};
use std::path::PathBuf;

pub(crate) const CASES: &[Case] = &[
    ("copies_are_layers_where_that_works", copies_are_layers_where_that_works),
    ("several_directories_change_together", several_directories_change_together),
    ("each_directory_must_be_allowed", each_directory_must_be_allowed),
    ("several_directories_are_all_or_none_across_crashes", several_directories_are_all_or_none_across_crashes),
    ("a_conflict_in_one_directory_stops_all", a_conflict_in_one_directory_stops_all),
    ("what_judges_is_a_conflict_with_its_directory", what_judges_is_a_conflict_with_its_directory),
    ("a_later_edit_in_one_directory_stops_the_undo_of_all", a_later_edit_in_one_directory_stops_the_undo_of_all),
    ("files_are_looked_for_in_every_copy", files_are_looked_for_in_every_copy),
    ("what_judges_is_seen_as_approved_in_every_directory", what_judges_is_seen_as_approved_in_every_directory),
    ("checks_side_by_side_see_their_own_copies", checks_side_by_side_see_their_own_copies),
    ("what_is_silass_own_is_never_opened_to_work", what_is_silass_own_is_never_opened_to_work),
    ("a_directory_that_is_gone_keeps_nothing_from_being_forgotten", a_directory_that_is_gone_can_be_forgotten),
];

/// A project, a library beside it that may be changed too, and notes that may be read.
struct Three {
    world: World,
    library: PathBuf,
    notes: PathBuf,
}

impl Three {
    fn new() -> Three {
        let world = World::new();
        let (library, notes) = (world.project.with_file_name("library"), world.project.with_file_name("notes"));
        for dir in [&library, &notes] {
            std::fs::create_dir(dir).unwrap();
        }
        std::fs::write(library.join("book.txt"), "old book\n").unwrap();
        std::fs::write(library.join("gone.txt"), "old\n").unwrap();
        std::fs::write(notes.join("note.txt"), "read me\n").unwrap();
        Three { world, library, notes }
    }

    /// The directory to read comes first, and the step starts in the first that may be changed.
    fn plan(&self) -> WorkItem {
        let (library, notes) = (self.library.display(), self.notes.display());
        let script = format!(
            "cat {notes}/note.txt > app.txt; cp app.txt {library}/book.txt; rm {library}/gone.txt; \
             mkdir {library}/new && echo x > {library}/new/file; echo spoilt > {notes}/note.txt; true"
        );
        let check = format!("grep -q 'read me' app.txt && grep -q 'read me' {library}/book.txt");
        let mut definition = self.world.definition(&[&script], &[&check]);
        let (read, write) = (Access::Read, Access::Write);
        definition.directories = vec![
            self.world.directory(&self.notes, read),
            self.world.directory(&self.world.project, write),
            self.world.directory(&self.library, write),
        ];
        WorkItem::new(definition).unwrap()
    }

    fn trees(&self) -> (Tree, Tree, Tree) {
        (self.world.tree(), note_all(&self.library), note_all(&self.notes))
    }

    fn stages(&self) -> usize {
        let staged = |dir: &PathBuf| {
            let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().starts_with(".silas-")).count()
        };
        staged(&self.world.project) + staged(&self.library) + staged(&self.notes)
    }
}

fn copies_are_layers_where_that_works() {
    let three = Three::new();
    let launcher = three.world.launcher();
    let copied = launcher.open(&approve(&three.plan())).unwrap().copy().unwrap();
    match (runner::copies(), copied.layered) {
        (Copies::Whole, n) => assert_eq!(n, 0),
        (Copies::Auto, 0) => println!("skipped: no overlay can be mounted here, so copies are whole"),
        (Copies::Auto, n) => assert_eq!(n, 2),
    }
    assert_eq!(copied.files, 6 + 2);
}

fn several_directories_change_together() {
    let three = Three::new();
    let old = three.trees();
    let launcher = three.world.launcher();
    let plan = three.plan();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let changes = workshop.changes().unwrap();
    let named: Vec<_> = changes.changeset.changes.iter().map(|c| (c.directory, c.path.to_string())).collect();
    let expected = [(1, "app.txt"), (2, "book.txt"), (2, "gone.txt"), (2, "new/file")];
    assert_eq!(named, expected.map(|(n, path)| (n, path.to_owned())));
    let shown: Vec<_> = changes.diffs.iter().map(|diff| diff.directory.as_str()).collect();
    let library = three.library.to_str().unwrap();
    assert_eq!(shown, [three.world.project.to_str().unwrap(), library, library, library]);
    let applied = workshop.apply().unwrap();
    assert_eq!(applied.files, 4);
    assert_eq!(std::fs::read_to_string(three.library.join("book.txt")).unwrap(), "read me\n");
    assert_eq!(three.world.read("app.txt"), "read me\n");
    assert_eq!(three.trees().2, old.2);
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!((three.trees(), three.stages()), (old, 0));
}

/// Also those that are only read.
fn each_directory_must_be_allowed() {
    let three = Three::new();
    let launcher = three.world.launcher();
    let good = approve(&three.plan());
    for (n, path) in [&three.notes, &three.world.project, &three.library].into_iter().enumerate() {
        let mut roots = good.roots.clone();
        roots.remove(n);
        let refused = refusal(&launcher, &Evidence { roots, ..good.clone() });
        assert_eq!(refused, Refusal::Root(path.to_str().unwrap().to_owned()));
    }
    launcher.open(&good).unwrap();
}

fn several_directories_are_all_or_none_across_crashes() {
    let new = {
        let three = Three::new();
        run(&three, &approve(&three.plan()));
        three.trees()
    };
    for point in [FailPoint::ApplyStaged, FailPoint::ApplyCommitted, FailPoint::ApplyHalfway, FailPoint::ApplyDone] {
        let three = Three::new();
        let old = three.trees();
        let evidence = approve(&three.plan());
        killed(life(Some(point), || run(&three, &evidence)));
        let launcher = three.world.launcher();
        let recovered = launcher.recover().unwrap().remove(0);
        assert_eq!(recovered.problem, None);
        if point == FailPoint::ApplyStaged {
            assert_eq!((three.trees(), three.stages()), (old, 0));
            continue;
        }
        assert_eq!((recovered.state, three.trees()), (ExecutionState::Applied, new.clone()), "{point:?}");
        drop(launcher);
        let undo = approve_undo(&evidence.execution, recovered.changeset.unwrap());
        killed(life(Some(FailPoint::UndoHalfway), || drop(three.world.launcher().undo(&undo))));
        assert_eq!(three.world.launcher().recover().unwrap().remove(0).state, ExecutionState::Undone);
        assert_eq!((three.trees(), three.stages()), (old, 0), "{point:?}");
    }
}

fn run(three: &Three, evidence: &silas_core::evidence::Evidence) {
    let launcher = three.world.launcher();
    let mut workshop = launcher.open(evidence).unwrap();
    work(&mut workshop, &three.plan()).unwrap();
    workshop.apply().unwrap();
}

fn a_conflict_in_one_directory_stops_all() {
    let three = Three::new();
    let launcher = three.world.launcher();
    let plan = three.plan();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    std::fs::write(three.library.join("book.txt"), "mine\n").unwrap();
    let edited = three.trees();
    let path = three.library.join("book.txt").to_str().unwrap().to_owned();
    assert_eq!(workshop.apply(), Err(Error::Conflict { paths: vec![path] }));
    assert_eq!((three.trees(), three.stages()), (edited, 0));
}

/// The work and the owner both changed what judges: no check can be shown what was approved, and the owner is told which.
fn what_judges_is_a_conflict_with_its_directory() {
    let three = Three::new();
    let judge = three.library.join("judge.sh");
    std::fs::write(&judge, "grep -q new app.txt\n").unwrap();
    let step = format!("echo new > app.txt; echo true > {}", judge.display());
    let mut definition = three.world.definition(&[&step], &[&format!("sh {}", judge.display())]);
    definition.directories = three.plan().definition().directories.clone();
    let plan = WorkItem::new(definition).unwrap();
    let launcher = three.world.launcher();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Phase::Before).unwrap();
    workshop.step(0).unwrap();
    std::fs::write(&judge, "false # mine\n").unwrap();
    let paths = vec![judge.to_str().unwrap().to_owned()];
    assert_eq!(workshop.checks(Phase::After), Err(Error::Conflict { paths }));
}

fn a_later_edit_in_one_directory_stops_the_undo_of_all() {
    let three = Three::new();
    let launcher = three.world.launcher();
    let plan = three.plan();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    std::fs::write(three.library.join("book.txt"), "later\n").unwrap();
    let edited = three.trees();
    let path = three.library.join("book.txt").to_str().unwrap().to_owned();
    let undo = approve_undo(&evidence.execution, applied.changeset);
    assert_eq!(launcher.undo(&undo), Err(Error::LaterEdit { paths: vec![path] }));
    assert_eq!(three.trees(), edited);
}

fn files_are_looked_for_in_every_copy() {
    let three = Three::new();
    let library = three.library.display().to_string();
    let script = format!(
        "rm {library}/gone.txt; mkdir {library}/new; echo x > {library}/new/file; ln -s new/file {library}/link; \
         rm -r src; mkdir src; echo y > src/fresh; ln -s deep/up src/loop; rm {library}/book.txt; true"
    );
    let mut definition = three.world.definition(&[&script], &[]);
    definition.directories.push(three.world.directory(&three.library, Access::Write));
    definition.directories.push(three.world.directory(&three.notes, Access::Read));
    let wanted = [
        (format!("{library}/new/file"), true),
        (format!("{library}/link"), true),
        (format!("{library}/gone.txt"), false),
        (format!("{library}/book.txt"), false),
        (format!("{}/note.txt", three.notes.display()), true),
        ("src/fresh".to_owned(), true),
        ("src/deep/same.txt".to_owned(), false),
        ("src/lib.txt".to_owned(), false),
        ("src/loop".to_owned(), false),
        ("link".to_owned(), true),
    ];
    let check = |(n, (path, _)): (usize, &(String, bool))| silas_core::check::Check {
        name: format!("check {n}"),
        run: silas_core::check::Command::Shell("true".to_owned()),
        expect: Expectation::FileExists(path.clone()),
        timeout: 60,
        network: false,
        protected: true,
    };
    definition.verify = wanted.iter().enumerate().map(check).collect();
    let plan = WorkItem::new(definition).unwrap();
    let launcher = three.world.launcher();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Phase::Before).unwrap();
    workshop.step(0).unwrap();
    for (result, (path, is_there)) in workshop.checks(Phase::After).unwrap().iter().zip(&wanted) {
        assert_eq!(result.passed, *is_there, "{path}: {}", result.reason);
    }
}

/// A check may be named from another directory, or lie behind a link into one. Whatever its way, work that changes it, or
/// takes it away with its directory, proves nothing; work that does what it asks for does.
fn what_judges_is_seen_as_approved_in_every_directory() {
    let fix = "echo new > app.txt";
    let cheats = ["echo true > {library}/judge.sh", "rm {library}/judge.sh; echo exit 0 > {library}/judge.sh"];
    for check in
        ["sh {library}/judge.sh", "sh ../library/judge.sh", "cd {library} && sh judge.sh", "sh tests/linked.sh"]
    {
        for (step, is_proof) in cheats.map(|cheat| (cheat, false)).into_iter().chain([(fix, true)]) {
            let three = Three::new();
            let project = three.world.project.display().to_string();
            let library = three.library.display().to_string();
            std::fs::write(three.library.join("judge.sh"), format!("grep -q new {project}/app.txt\n")).unwrap();
            std::fs::create_dir(three.world.project.join("tests")).unwrap();
            let link = three.world.project.join("tests/linked.sh");
            std::os::unix::fs::symlink("../../library/judge.sh", link).unwrap();
            let (step, check) = (step.replace("{library}", &library), check.replace("{library}", &library));
            let mut definition = three.world.definition(&[&step], &[&check]);
            definition.directories = three.plan().definition().directories.clone();
            let plan = WorkItem::new(definition).unwrap();
            let launcher = three.world.launcher();
            let mut workshop = launcher.open(&approve(&plan)).unwrap();
            let (before, after) = work(&mut workshop, &plan).unwrap();
            assert!(!before[0].passed, "{check}: {before:?}");
            assert_eq!(after[0].passed, is_proof, "{check} after {step}: {after:?}");
            let unseen = workshop.changes().unwrap().unseen;
            let expected = if is_proof { vec![] } else { vec![format!("{library}/judge.sh")] };
            assert_eq!(unseen, expected, "{check} after {step}");
            assert_eq!(workshop.apply().is_ok(), is_proof, "{check} after {step}");
        }
    }
}

/// Each writes where the others look, and sees only what it wrote itself.
fn checks_side_by_side_see_their_own_copies() {
    let three = Three::new();
    let library = three.library.display();
    let check = |n: usize| {
        format!(
            "test ! -e made && test ! -e {library}/made && echo {n} > made && echo {n} > {library}/made && \
             for i in 1 2 3 4 5 6 7 8 9; do test $(cat made {library}/made | tr -d '\\n') = {n}{n} || exit 1; done && \
             test ! -e ~/made && touch ~/made && grep -q 'read me' app.txt"
        )
    };
    let checks: Vec<String> = (0..9).map(check).collect();
    let checks: Vec<&str> = checks.iter().map(String::as_str).collect();
    let whole = three.plan();
    let mut definition = three.world.definition(&[], &checks);
    definition.steps = whole.definition().steps.clone();
    // What they look at is more than can be told from such a script, and would count as judging.
    definition.verify.iter_mut().for_each(|check| check.protected = false);
    definition.directories = whole.definition().directories.clone();
    let plan = WorkItem::new(definition).unwrap();
    let launcher = three.world.launcher();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let (before, after) = work(&mut workshop, &plan).unwrap();
    assert!(before.iter().all(|result| !result.passed), "{before:?}");
    assert!(after.iter().all(|result| result.passed), "{after:?}");
    assert_eq!(workshop.apply(), Err(Error::NotVerified), "they count nothing");
    assert!(!three.library.join("made").exists() && !three.world.project.join("made").exists());
}

fn a_directory_that_is_gone_can_be_forgotten() {
    let mut three = Three::new();
    three.world.undo_window_secs = 0;
    let launcher = three.world.launcher();
    let plan = three.plan();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    std::fs::remove_dir_all(&three.library).unwrap();
    launcher.forget(&evidence.execution).unwrap();
    assert_eq!(three.world.stages(), [""; 0]);
}

/// Whatever the front says: the launcher was told once what is Silas's own.
fn what_is_silass_own_is_never_opened_to_work() {
    let world = World::new();
    let settings = world.project.with_file_name("settings");
    std::fs::create_dir(&settings).unwrap();
    std::fs::write(settings.join("silas.yaml"), "silas: {}\n").unwrap();
    let launcher = world.launcher();
    for access in [Access::Write, Access::Read] {
        let mut definition = world.definition(&["echo new > app.txt"], &["grep -q new app.txt"]);
        definition.directories.push(world.directory(&settings, access));
        let refused = launcher.open(&approve(&WorkItem::new(definition).unwrap())).map(drop);
        let Err(Error::Place { problem, .. }) = refused else { panic!("{refused:?}") };
        assert!(problem.contains("contains Silas's own data or settings"), "{problem}");
    }
}
