//! Plans that commit: what they committed arrives with their files, and goes with them.

use crate::crashes::killed;
use crate::runner::Case;
use crate::world::{World, approve, approve_undo, life, work};
use silas_core::execution::ExecutionState;
use silas_core::fail::FailPoint;
use silas_core::work::WorkItem;
use silas_sandbox::Error;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

pub(crate) const CASES: &[Case] = &[
    ("commits_arrive_with_the_files_and_go_with_them", commits_arrive_with_the_files_and_go_with_them),
    ("a_commit_can_be_what_is_asked_for", a_commit_can_be_what_is_asked_for),
    ("commits_are_all_or_none_across_crashes", commits_are_all_or_none_across_crashes),
    ("a_branch_that_moved_meanwhile_is_a_conflict", a_branch_that_moved_meanwhile_is_a_conflict),
    ("a_branch_that_moved_since_is_a_later_edit", a_branch_that_moved_since_is_a_later_edit),
    ("hooks_and_settings_stay_behind", hooks_and_settings_stay_behind),
    ("what_cannot_be_brought_over_is_refused", what_cannot_be_brought_over_is_refused),
];

pub(crate) fn git(world: &World, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(&world.project).args(["-c", "user.name=Owner", "-c", "user.email=owner@localhost"]);
    command.args(arguments).env("GIT_OPTIONAL_LOCKS", "0").env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn repository() -> World {
    let world = World::new();
    std::fs::remove_dir_all(world.project.join(".git")).unwrap();
    git(&world, &["init", "-q", "-b", "main"]);
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-qm", "first"]);
    git(&world, &["branch", "packed"]);
    git(&world, &["pack-refs", "--all"]);
    world
}

fn plan(world: &World, step: &str) -> WorkItem {
    let mut definition = world.definition(&[step], &["grep -q new app.txt"]);
    definition.commits = true;
    WorkItem::new(definition).unwrap()
}

const COMMIT: &str = "echo new > app.txt && echo x > fresh.txt && git add -A && git commit -qm work && \
                      git branch feature/one && git tag v1 && git branch -f packed HEAD";

fn commits_arrive_with_the_files_and_go_with_them() {
    let world = repository();
    let old = world.tree();
    let launcher = world.launcher();
    let plan = plan(&world, COMMIT);
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let paths: Vec<String> =
        workshop.changes().unwrap().changeset.changes.iter().map(|change| change.path.to_string()).collect();
    for path in [".git/index", ".git/refs/heads/main", ".git/refs/heads/feature/one", ".git/refs/tags/v1", "app.txt"] {
        assert!(paths.contains(&path.to_owned()), "{path}: {paths:?}");
    }
    assert_eq!(world.tree(), old);
    let applied = workshop.apply().unwrap();
    assert_eq!(git(&world, &["log", "--format=%s", "main"]), "work\nfirst\n");
    for name in ["feature/one", "v1", "packed"] {
        assert_eq!(git(&world, &["rev-parse", name]), git(&world, &["rev-parse", "main"]));
    }
    assert_eq!(git(&world, &["status", "--porcelain"]), "");
    git(&world, &["fsck", "--strict"]);
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    assert_eq!(world.tree(), old);
    assert_eq!(git(&world, &["log", "--format=%s", "packed"]), "first\n");
}

/// The check sees the commit after the work, and the owner's own repository where the work is taken back.
fn a_commit_can_be_what_is_asked_for() {
    let world = repository();
    let launcher = world.launcher();
    let mut definition = plan(&world, COMMIT).definition().clone();
    let check = "git log --format=%s main | grep -q work && test -z \"$(git status --porcelain)\"";
    definition.verify[0].run = silas_core::check::Command::Shell(crate::world::speaking(check));
    let plan = WorkItem::new(definition).unwrap();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let (before, after) = work(&mut workshop, &plan).unwrap();
    assert!(!before[0].passed && after[0].passed, "{before:?}\n{after:?}");
    workshop.apply().unwrap();
}

fn commits_are_all_or_none_across_crashes() {
    for point in [FailPoint::ApplyStaged, FailPoint::ApplyHalfway] {
        let world = repository();
        let old = world.tree();
        let plan = plan(&world, COMMIT);
        let evidence = approve(&plan);
        killed(life(Some(point), || {
            let launcher = world.launcher();
            let mut workshop = launcher.open(&evidence).unwrap();
            work(&mut workshop, &plan).unwrap();
            let _ = workshop.apply();
        }));
        let launcher = world.launcher();
        let told = launcher.recover().unwrap().remove(0);
        assert_eq!(told.problem, None);
        if point == FailPoint::ApplyStaged {
            assert_eq!(world.tree(), old);
            continue;
        }
        assert_eq!(told.state, ExecutionState::Applied);
        assert_eq!(git(&world, &["log", "--format=%s", "feature/one"]), "work\nfirst\n");
        git(&world, &["fsck", "--strict"]);
        launcher.undo(&approve_undo(&evidence.execution, told.changeset.unwrap())).unwrap();
        assert_eq!(world.tree(), old);
    }
}

fn a_branch_that_moved_meanwhile_is_a_conflict() {
    let world = repository();
    let launcher = world.launcher();
    let plan = plan(&world, COMMIT);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    git(&world, &["commit", "-q", "--allow-empty", "-m", "mine"]);
    let edited = world.tree();
    match workshop.apply() {
        Err(Error::Conflict { paths }) => assert!(paths.contains(&".git/refs/heads/main".to_owned()), "{paths:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.tree(), edited);
    // Another git that is at work counts too.
    let world = repository();
    let launcher = world.launcher();
    let plan = self::plan(&world, COMMIT);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    world.write(".git/index.lock", "");
    assert!(matches!(workshop.apply(), Err(Error::Conflict { .. })));
    std::fs::remove_file(world.project.join(".git/index.lock")).unwrap();
    workshop.apply().unwrap();
}

fn a_branch_that_moved_since_is_a_later_edit() {
    let world = repository();
    let launcher = world.launcher();
    let plan = plan(&world, COMMIT);
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    git(&world, &["commit", "-q", "--allow-empty", "-m", "mine"]);
    match launcher.undo(&approve_undo(&evidence.execution, applied.changeset)) {
        Err(Error::LaterEdit { paths }) => assert!(paths.contains(&".git/refs/heads/main".to_owned()), "{paths:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(git(&world, &["log", "--format=%s", "main"]), "mine\nwork\nfirst\n");
}

fn hooks_and_settings_stay_behind() {
    let world = repository();
    world.write(".git/hooks/post-commit", "#!/bin/sh\necho hooked > hooked.txt\n");
    let hook = world.project.join(".git/hooks/post-commit");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings = world.read(".git/config");
    let launcher = world.launcher();
    let step = format!(
        "{COMMIT} && mkdir -p .git/hooks && echo evil > .git/hooks/pre-push && git config core.pager evil && \
         git config core.fsmonitor 'touch evil.txt'"
    );
    let plan = plan(&world, &step);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    assert_eq!(world.read(".git/config"), settings);
    assert!(!world.project.join(".git/hooks/pre-push").exists() && !world.project.join("hooked.txt").exists());
    assert_eq!(git(&world, &["log", "--format=%s %an", "-1"]), "work Silas\n");
}

fn what_cannot_be_brought_over_is_refused() {
    let world = repository();
    let launcher = world.launcher();
    let deletes = plan(&world, "echo new > app.txt; git branch -q -D packed");
    let mut workshop = launcher.open(&approve(&deletes)).unwrap();
    let refused = work(&mut workshop, &deletes).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { ref path, .. } if path == "refs/heads/packed"), "{refused:?}");
    // A branch that leads nowhere.
    let broken =
        plan(&world, "echo new > app.txt; echo 0123456789012345678901234567890123456789 > .git/refs/heads/bad");
    let mut workshop = launcher.open(&approve(&broken)).unwrap();
    assert!(matches!(work(&mut workshop, &broken), Err(Error::NotAvailable(_))));
    std::fs::remove_dir_all(world.project.join(".git")).unwrap();
    let none = plan(&world, COMMIT);
    let mut workshop = launcher.open(&approve(&none)).unwrap();
    assert!(matches!(workshop.copy(), Err(Error::NotAvailable(_))));
}
