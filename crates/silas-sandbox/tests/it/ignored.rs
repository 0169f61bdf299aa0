//! What git ignores in the original is no work product: not shown, not checked, not applied; and how a plan asks for more.

use crate::commits::{git, repository};
use crate::rehearsals;
use crate::runner::Case;
use crate::world::{World, approve, approve_undo, work};
use silas_core::check::CheckResult;
use silas_core::work::{Definition, WorkItem};
use silas_sandbox::{Bounds, Changes, Copies, Error, Seal};

pub(crate) const CASES: &[Case] = &[
    ("what_is_ignored_is_left_out_and_counted", what_is_ignored_is_left_out_and_counted),
    ("checks_see_what_is_ignored_as_the_owner_has_it", checks_see_what_is_ignored_as_the_owner_has_it),
    ("what_is_tracked_counts_although_it_is_ignored", what_is_tracked_counts_although_it_is_ignored),
    ("where_the_repository_is_a_link_it_is_read", where_the_repository_is_a_link_it_is_read),
    ("what_a_repository_inside_tracks_counts", what_a_repository_inside_tracks_counts),
    ("a_repository_inside_has_its_own_rules", a_repository_inside_has_its_own_rules),
    ("where_nobody_knows_what_is_tracked_everything_counts", where_nobody_knows_what_is_tracked_everything_counts),
    ("what_is_no_repository_is_passed_by", what_is_no_repository_is_passed_by),
    ("the_rules_are_those_of_the_original", the_rules_are_those_of_the_original),
    ("a_plan_may_include_what_is_ignored", a_plan_may_include_what_is_ignored),
    ("build_output_may_stand_beside_the_change", build_output_may_stand_beside_the_change),
    ("what_waits_is_what_was_kept", what_waits_is_what_was_kept),
    (
        "large_directories_are_no_trouble_where_nothing_is_copied",
        large_directories_are_no_trouble_where_nothing_is_copied,
    ),
    ("nothing_ignored_is_in_the_way_of_an_apply", nothing_ignored_is_in_the_way_of_an_apply),
    ("bounds_are_the_owners", bounds_are_the_owners),
    ("there_may_be_any_amount_of_build_output", there_may_be_any_amount_of_build_output),
];

struct Went {
    before: Vec<CheckResult>,
    after: Vec<CheckResult>,
    changes: Changes,
    applied: Result<u32, Error>,
}

fn went(world: &World, definition: Definition) -> Went {
    let plan = WorkItem::new(definition).unwrap();
    let launcher = world.launcher();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let (before, after) = work(&mut workshop, &plan).unwrap();
    let changes = workshop.changes().unwrap();
    let applied = workshop.apply().map(|applied| applied.files);
    Went { before, after, changes, applied }
}

fn paths(changes: &Changes) -> Vec<String> {
    changes.changeset.changes.iter().map(|change| change.path.to_string()).collect()
}

fn project() -> World {
    let world = repository();
    world.write(".gitignore", "target/\n*.pyc\n/node_modules\n");
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-qm", "rules"]);
    std::fs::create_dir(world.project.join("target")).unwrap();
    world.write("target/built", "old build\n");
    world
}

const BUILD: &str = "echo new > app.txt; echo x > target/built; mkdir -p target/deep node_modules/a src/target; \
                     echo x > target/deep/file; echo x > node_modules/a/index.js; echo x > src/a.pyc; echo x > src/target/y";

fn what_is_ignored_is_left_out_and_counted() {
    let world = project();
    let went = went(&world, world.definition(&[BUILD], &["grep -q new app.txt"]));
    assert_eq!(paths(&went.changes), ["app.txt"]);
    assert_eq!(went.changes.left_out.files, 5, "{:?}", went.changes.left_out);
    let mut places = went.changes.left_out.places.clone();
    places.sort();
    assert_eq!(places, ["node_modules", "src/a.pyc", "src/target", "target"]);
    assert_eq!(went.applied, Ok(1));
    assert_eq!(world.read("target/built"), "old build\n");
    assert!(!world.project.join("node_modules").exists());
}

fn checks_see_what_is_ignored_as_the_owner_has_it() {
    let world = project();
    let steps = ["echo new > app.txt; echo forged > target/built; mkdir node_modules; echo x > node_modules/x"];
    let checks = ["grep -q new app.txt", "grep -q 'old build' target/built", "! test -e node_modules"];
    let went = went(&world, world.definition(&steps, &checks));
    assert!(!went.before[0].passed && went.before[1].passed, "{:?}", went.before);
    assert!(went.after.iter().all(|result| result.passed), "{:?}", went.after);
    assert_eq!(went.applied, Ok(1));
}

fn what_is_tracked_counts_although_it_is_ignored() {
    let world = project();
    git(&world, &["add", "-f", "target/built"]);
    git(&world, &["commit", "-qm", "built"]);
    let went = went(&world, world.definition(&[BUILD], &["grep -q new app.txt"]));
    assert_eq!(paths(&went.changes), ["app.txt", "target/built"]);
    assert_eq!(went.applied, Ok(2));
    assert_eq!(world.read("target/built"), "x\n");
    assert!(!world.project.join("target/deep").exists());
}

/// A repository that ignores `*.log` and tracks `app.log`, as do those inside it.
fn with_a_log(at: &[&str]) -> World {
    let world = repository();
    for at in at {
        let dir = world.project.join(at);
        std::fs::create_dir_all(&dir).unwrap();
        git(&world, &["init", "-q", "-b", "main", at]);
        std::fs::write(dir.join(".gitignore"), "*.log\n").unwrap();
        std::fs::write(dir.join("app.log"), "old\n").unwrap();
        git(&world, &["-C", at, "add", "-f", ".gitignore", "app.log"]);
        git(&world, &["-C", at, "commit", "-qm", "log"]);
    }
    world
}

/// What counts of a tracked log, one that is not, and a new file, in that directory.
fn counted(world: &World, at: &str) -> Vec<String> {
    let step = format!("cd {at}; echo DONE >> app.log; echo DONE > other.log; echo DONE > fresh.txt");
    let went = went(world, world.definition(&[&step], &[&format!("grep -q DONE {at}/fresh.txt")]));
    assert!(went.after[0].passed, "{:?}", went.after);
    assert!(went.applied.is_ok(), "{:?}", went.applied);
    paths(&went.changes)
}

fn where_the_repository_is_a_link_it_is_read() {
    let world = with_a_log(&["."]);
    let elsewhere = world.project.with_file_name("elsewhere");
    std::fs::rename(world.project.join(".git"), &elsewhere).unwrap();
    std::os::unix::fs::symlink("../elsewhere", world.project.join(".git")).unwrap();
    assert_eq!(counted(&world, "."), ["app.log", "fresh.txt"]);
}

fn what_a_repository_inside_tracks_counts() {
    let inside = ["sub/app.log", "sub/fresh.txt"];
    assert_eq!(counted(&with_a_log(&["sub"]), "sub"), inside);
    // A submodule, whose repository lies in the other.
    let world = with_a_log(&["sub"]);
    let modules = world.project.join(".git/modules");
    std::fs::create_dir(&modules).unwrap();
    std::fs::rename(world.project.join("sub/.git"), modules.join("sub")).unwrap();
    world.write("sub/.git", "gitdir: ../.git/modules/sub\n");
    assert_eq!(counted(&world, "sub"), inside);
    // One in a directory that is in none.
    let world = with_a_log(&["sub"]);
    std::fs::remove_dir_all(world.project.join(".git")).unwrap();
    assert_eq!(counted(&world, "sub"), inside);
    // One that says where it is in a way that nobody understands: there everything counts, and only there.
    let world = with_a_log(&["sub", "other"]);
    std::fs::remove_dir_all(world.project.join("sub/.git")).unwrap();
    world.write("sub/.git", "elsewhere\n");
    let step = "echo DONE > sub/other.log; echo DONE > other/other.log; echo DONE > fresh.txt";
    let went = went(&world, world.definition(&[step], &["grep -q DONE fresh.txt"]));
    assert_eq!(paths(&went.changes), ["fresh.txt", "sub/other.log"]);
}

fn a_repository_inside_has_its_own_rules() {
    // What the other ignores is not ignored there; a submodule in an ignored directory is one all the same.
    let world = with_a_log(&["parts/lib"]);
    world.write(".gitignore", "parts/\n*.txt\n");
    git(&world, &["add", "-f", "parts/lib"]);
    assert_eq!(counted(&world, "parts/lib"), ["parts/lib/app.log", "parts/lib/fresh.txt"]);
    // One that the other neither tracks nor looks at is ignored as a whole.
    let world = with_a_log(&["parts/lib"]);
    world.write(".gitignore", "parts/\n");
    let step = "echo DONE >> parts/lib/app.log; echo DONE > fresh.txt";
    let went = went(&world, world.definition(&[step], &["grep -q DONE fresh.txt"]));
    assert_eq!(paths(&went.changes), ["fresh.txt"]);
    // What it excludes for itself, it excludes; and so it does when it is opened again.
    let world = with_a_log(&["sub"]);
    world.write("sub/.git/info/exclude", "*.tmp\n");
    let step = "echo DONE > sub/a.tmp; echo DONE > a.tmp; echo DONE >> sub/app.log";
    let plan = world.plan(&[step], &["grep -q DONE a.tmp"]);
    let launcher = world.launcher();
    let evidence = rehearsals::rehearsal(&plan);
    let waits = rehearsals::rehearse(&launcher, &plan, &evidence).unwrap();
    let order = rehearsals::order(&plan, &evidence.execution, &waits);
    let applied = rehearsals::apply(&launcher, &rehearsals::approve_order(&order, &plan)).unwrap();
    assert_eq!((applied.files, world.project.join("sub/a.tmp").exists()), (2, false));
    assert_eq!(world.read("sub/app.log"), "old\nDONE\n");
}

fn where_nobody_knows_what_is_tracked_everything_counts() {
    let all = ["app.log", "fresh.txt", "other.log"];
    for odd in ["elsewhere\n", "gitdir: ../nowhere\n", ""] {
        let world = with_a_log(&["."]);
        std::fs::remove_dir_all(world.project.join(".git")).unwrap();
        world.write(".git", odd);
        assert_eq!(counted(&world, "."), all, "{odd:?}");
    }
    let world = with_a_log(&["."]);
    std::fs::remove_dir_all(world.project.join(".git")).unwrap();
    std::os::unix::fs::symlink("../nowhere", world.project.join(".git")).unwrap();
    assert_eq!(counted(&world, "."), all);
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        let world = with_a_log(&["."]);
        std::os::unix::fs::chown(world.project.join(".git"), Some(12345), Some(12345)).unwrap();
        assert_eq!(counted(&world, "."), all);
    } else {
        let world = with_a_log(&["."]);
        world.set_mode(".git/index", 0);
        assert_eq!(counted(&world, "."), all);
    }
}

fn what_is_no_repository_is_passed_by() {
    // To git an empty directory of that name is none, and the repository around tracks what is beside it.
    let world = with_a_log(&["."]);
    std::fs::create_dir_all(world.project.join("src/.git")).unwrap();
    world.write("src/app.log", "old\n");
    git(&world, &["add", "-f", "src/app.log"]);
    assert_eq!(counted(&world, "src"), ["src/app.log", "src/fresh.txt"]);
}

fn the_rules_are_those_of_the_original() {
    let world = project();
    // Neither more nor less is ignored because the work says so, and rules without a repository count too.
    let step = "echo new > app.txt; echo '*.txt' > .gitignore; mkdir sub; echo '*' > sub/.gitignore; echo x > sub/made; \
                echo x > target/built";
    let went = went(&world, world.definition(&[step], &["grep -q new app.txt"]));
    assert_eq!(paths(&went.changes), [".gitignore", "app.txt", "sub/.gitignore", "sub/made"]);
    let world = World::new();
    std::fs::remove_dir_all(world.project.join(".git")).unwrap();
    world.write(".gitignore", "__pycache__/\n");
    let step = "echo new > app.txt; mkdir -p src/__pycache__; echo x > src/__pycache__/a.pyc";
    let went = self::went(&world, world.definition(&[step], &["grep -q new app.txt"]));
    assert_eq!(paths(&went.changes), ["app.txt"]);
    assert_eq!(went.changes.left_out.places, ["src/__pycache__"]);
}

fn a_plan_may_include_what_is_ignored() {
    let world = project();
    let old = world.tree();
    let mut definition = world.definition(&[BUILD], &["grep -q new app.txt"]);
    definition.include_ignored = true;
    let plan = WorkItem::new(definition).unwrap();
    let launcher = world.launcher();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let changes = workshop.changes().unwrap();
    assert_eq!(changes.changeset.changes.len(), 6, "{:?}", paths(&changes));
    assert_eq!(changes.left_out.files, 0);
    let applied = workshop.apply().unwrap();
    assert_eq!(world.read("target/built"), "x\n");
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
}

fn build_output_may_stand_beside_the_change() {
    let world = project();
    let step = "echo new > app.txt; mkdir -p node_modules/a; echo ok > node_modules/a/x; echo new > target/built; \
                echo x > .hidden; mkdir -p .silas-exec-q; echo x > .silas-exec-q/f";
    let check = "grep -q new app.txt && grep -q ok node_modules/a/x && grep -q 'old build' target/built && \
                 test ! -e .silas-exec-q";
    let without = went(&world, world.definition(&[step], &[check]));
    assert!(!without.after[0].passed, "{:?}", without.after);
    let mut definition = world.definition(&[step], &[check]);
    // What is not ignored cannot stand beside anything.
    definition.beside = vec!["node_modules".to_owned(), "src".to_owned(), ".silas-exec-q".to_owned()];
    let went = went(&world, definition);
    assert!(went.after[0].passed, "{:?}", went.after);
    assert_eq!(went.changes.beside, ["node_modules"]);
    assert_eq!(paths(&went.changes), [".hidden", "app.txt"]);
    assert_eq!(went.applied, Ok(2));
    assert!(!world.project.join("node_modules").exists());
}

fn what_waits_is_what_was_kept() {
    let world = project();
    let plan = world.plan(&[BUILD], &["grep -q new app.txt"]);
    let launcher = world.launcher();
    let evidence = rehearsals::rehearsal(&plan);
    let waits = rehearsals::rehearse(&launcher, &plan, &evidence).unwrap();
    // What is ignored may change meanwhile, and what is ignored may.
    world.write("target/built", "newer build\n");
    let order = rehearsals::order(&plan, &evidence.execution, &waits);
    let applied = rehearsals::apply(&launcher, &rehearsals::approve_order(&order, &plan)).unwrap();
    assert_eq!(applied.files, 1);
    assert_eq!(world.read("app.txt"), "new\n");
    assert_eq!(world.read("target/built"), "newer build\n");
}

/// A file as large as `mb`, of which nothing is written.
fn sparse(world: &World, path: &str, mb: u64) {
    std::fs::File::create(world.project.join(path)).unwrap().set_len(mb << 20).unwrap();
}

fn large_directories_are_no_trouble_where_nothing_is_copied() {
    if crate::runner::copies() == Copies::Whole {
        return;
    }
    let world = project();
    sparse(&world, "disk.img", 6 << 10);
    sparse(&world, "target/other.img", 6 << 10);
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    let went = went(&world, world.definition(&["echo new > app.txt"], &["grep -q new app.txt"]));
    assert_eq!(went.applied, Ok(1));
    // One that the work changes is read, and taken back whole.
    std::fs::File::create(world.project.join("disk.img")).unwrap().set_len(20 << 20).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    let steps = ["printf x | dd of=disk.img bs=1 seek=5 conv=notrunc 2>/dev/null; touch src/lib.txt"];
    let went = self::went(&world, world.definition(&steps, &["grep -qa x disk.img"]));
    assert_eq!(paths(&went.changes), ["disk.img"]);
    assert_eq!(went.applied, Ok(1), "{:?}", went.after);
}

fn bounds_are_the_owners() {
    let is_whole = crate::runner::copies() == Copies::Whole;
    let world = project();
    let refused = |bounds: Bounds, step: &str| {
        let launcher = silas_sandbox::Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
        launcher.seal(Seal { bounds, ..world.seal() }).unwrap();
        let plan = world.plan(&[step], &["grep -q new app.txt"]);
        let mut workshop = launcher.open(&approve(&plan)).unwrap();
        work(&mut workshop, &plan).map(drop)
    };
    let usual = Bounds::default();
    let named = |result: Result<(), Error>, key: &str| match result {
        Err(Error::TooLarge(why)) => assert!(why.contains(key), "{why}"),
        other => panic!("{other:?}"),
    };
    named(
        refused(Bounds { changes_max: 2, ..usual }, "echo new > app.txt; echo x > a; echo x > b"),
        "sandbox.changes_max",
    );
    named(
        refused(Bounds { bytes_max: 1 << 20, ..usual }, "head -c 2000000 /dev/zero > big; echo new > app.txt"),
        "sandbox.copy_mb_max",
    );
    // Who chose the directory did not choose what the work writes.
    named(
        refused(Bounds { bytes_max: 1 << 20, ..usual }, "head -c 1500000 /dev/zero > big; echo new > app.txt"),
        if is_whole { "With what the work wrote, the private copy holds" } else { "The work wrote more than 1 MB" },
    );
    let few = refused(Bounds { entries_max: 4, ..usual }, "echo new > app.txt");
    if is_whole { named(few, "sandbox.copy_files_max") } else { few.unwrap() }
}

/// It is not read, so it is in nobody's way, beside the change or not.
fn there_may_be_any_amount_of_build_output() {
    let build = "mkdir -p node_modules/a; head -c 6000000 /dev/zero > node_modules/a/x; echo new > app.txt";
    for beside in [&[][..], &["node_modules".to_owned()]] {
        let world = project();
        let launcher = silas_sandbox::Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
        launcher.seal(Seal { bounds: Bounds { bytes_max: 2 << 20, ..Bounds::default() }, ..world.seal() }).unwrap();
        let check =
            if beside.is_empty() { "grep -q new app.txt" } else { "grep -q new app.txt && test -s node_modules/a/x" };
        let plan =
            WorkItem::new(Definition { beside: beside.to_vec(), ..world.definition(&[build], &[check]) }).unwrap();
        let mut workshop = launcher.open(&approve(&plan)).unwrap();
        let (_, after) = work(&mut workshop, &plan).unwrap();
        assert!(after[0].passed, "{after:?}");
        assert_eq!(workshop.changes().unwrap().left_out.places, ["node_modules"]);
        assert_eq!(workshop.apply().unwrap().files, 1);
        assert!(!world.project.join("node_modules").exists());
    }
}

fn nothing_ignored_is_in_the_way_of_an_apply() {
    let world = project();
    let old = world.tree();
    let plan = world.plan(&["rm -r target; echo x > target; echo new > app.txt"], &["grep -q new app.txt"]);
    let launcher = world.launcher();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let refused = work(&mut workshop, &plan).and_then(|_| workshop.apply().map(drop)).unwrap_err();
    assert!(matches!(&refused, Error::Unsupported { path, .. } if path == "target"), "{refused:?}");
    assert!(refused.to_string().ends_with("Have the work use another name, or move yours away."), "{refused}");
    assert_eq!(world.tree(), old);
}
