//! What the checks after the work see is what an apply would put in place, and nothing else that the work left behind.

use crate::cheats::has;
use crate::files::set_attribute;
use crate::runner::Case;
use crate::world::{World, approve, work};
use silas_core::check::CheckResult;
use silas_core::work::WorkItem;
use silas_sandbox::{Changes, Error};
use std::os::unix::fs::MetadataExt;

pub(crate) const CASES: &[Case] = &[
    ("what_is_named_like_staging_is_not_there", what_is_named_like_staging_is_not_there),
    ("extended_attributes_of_the_work_are_not_there", extended_attributes_of_the_work_are_not_there),
    ("extended_attributes_of_the_owner_are_there", extended_attributes_of_the_owner_are_there),
    ("times_that_the_work_set_are_not_there", times_that_the_work_set_are_not_there),
    ("all_changed_files_have_one_time", all_changed_files_have_one_time),
    ("what_stays_behind_of_a_repository_is_not_there", what_stays_behind_of_a_repository_is_not_there),
    ("what_landed_is_what_was_checked", what_landed_is_what_was_checked),
];

/// One step, and a check that is red before it.
fn went(world: &World, step: &str, check: &str) -> (CheckResult, Changes, Result<u32, Error>) {
    went_by(world, &world.plan(&[step], &[check]))
}

fn went_by(world: &World, plan: &WorkItem) -> (CheckResult, Changes, Result<u32, Error>) {
    let launcher = world.launcher();
    let mut workshop = launcher.open(&approve(plan)).unwrap();
    let (before, after) = work(&mut workshop, plan).unwrap();
    assert!(!before[0].passed, "{:?}", before[0]);
    let changes = workshop.changes().unwrap();
    let applied = workshop.apply().map(|applied| applied.files);
    (after[0].clone(), changes, applied)
}

#[track_caller]
fn is_red(world: &World, step: &str, check: &str) {
    let old = world.tree();
    let (after, _, applied) = went(world, step, check);
    assert!(!after.passed, "{after:?}");
    assert_eq!(applied, Err(Error::NotVerified));
    assert_eq!(world.tree(), old);
}

fn what_is_named_like_staging_is_not_there() {
    let world = World::new();
    world.write("look.sh", "grep -q ok .silas-exec-x/impl");
    is_red(&world, "mkdir .silas-exec-x && echo ok > .silas-exec-x/impl && echo new > app.txt", "sh look.sh");
    world.write("look.sh", "grep -q ok src/.silas-exec-x/impl");
    is_red(&world, "mkdir src/.silas-exec-x && echo ok > src/.silas-exec-x/impl && echo new > app.txt", "sh look.sh");
    // An empty one, and one that only something else is in.
    world.write("look.sh", "test -d .silas-exec-y/made");
    is_red(&world, "mkdir -p .silas-exec-y/made && echo new > app.txt", "sh look.sh");
}

fn extended_attributes_of_the_work_are_not_there() {
    if !has("python3") {
        return;
    }
    let world = World::new();
    for (path, made) in
        [("app.txt", "open('app.txt', 'w').write('new')"), ("src/lib.txt", "0"), ("src", "0"), (".", "0")]
    {
        world.write("look.py", &format!("import os, sys; sys.exit(b'ok' != os.getxattr('{path}', 'user.channel'))"));
        let step =
            format!("python3 -c \"import os; {made}; os.setxattr('{path}', 'user.channel', b'ok')\"; echo x > fresh");
        is_red(&world, &step, "python3 look.py");
    }
}

/// An apply keeps them on what replaces the file, so a check sees them there.
fn extended_attributes_of_the_owner_are_there() {
    let world = World::new();
    if !has("python3") {
        return;
    }
    if !set_attribute(&world.project.join("app.txt"), c"user.note", b"mine") {
        return crate::runner::skip("this file system has no extended attributes");
    }
    let look =
        "import os, sys; sys.exit((b'mine', 'new') != (os.getxattr('app.txt', 'user.note'), open('app.txt').read()))";
    world.write("look.py", look);
    // Also on one that is there to be read only.
    let step = "printf new > fresh; mv fresh app.txt; chmod 444 app.txt";
    let (after, _, applied) = went(&world, step, "python3 look.py");
    assert!(after.passed, "{after:?}");
    assert_eq!(applied, Ok(1));
    assert_eq!(std::fs::metadata(world.project.join("app.txt")).unwrap().mode() & 0o7777, 0o444);
}

fn times_that_the_work_set_are_not_there() {
    let world = World::new();
    for (path, made) in
        [("app.txt", "echo new > app.txt"), ("src/lib.txt", "echo x > src/fresh"), ("src", "echo x > src/fresh")]
    {
        world.write("look.sh", &format!("test $(stat -c %Y {path}) = 12345"));
        is_red(&world, &format!("{made} && touch -d @12345 {path}"), "sh look.sh");
    }
}

fn all_changed_files_have_one_time() {
    let world = World::new();
    world.write(
        "look.sh",
        "test \"$(stat -c %Y.%y app.txt)\" = \"$(stat -c %Y.%y src/lib.txt)\" && grep -q new src/lib.txt",
    );
    let (after, _, applied) = went(&world, "echo new > app.txt && sleep 0.3 && echo new > src/lib.txt", "sh look.sh");
    assert!(after.passed, "{after:?}");
    assert_eq!(applied, Ok(2));
}

fn what_stays_behind_of_a_repository_is_not_there() {
    if !has("git") {
        return;
    }
    let world = crate::commits::repository();
    world.write("look.sh", "grep -q ok .git/impl || git config --get silas.channel || grep -q ok .git/hooks/impl");
    let step = "echo new > app.txt && echo ok > .git/impl && mkdir -p .git/hooks && echo ok > .git/hooks/impl && \
                git config silas.channel ok && git add -A && git commit -qm work";
    let mut definition = world.definition(&[step], &["sh look.sh"]);
    definition.commits = true;
    let (after, _, applied) = went_by(&world, &WorkItem::new(definition).unwrap());
    assert!(!after.passed, "{after:?}");
    assert_eq!(applied, Err(Error::NotVerified));
    // What was committed is there.
    let mut definition = world.definition(&[step], &["test \"$(git log -1 --format=%s)\" = work"]);
    definition.commits = true;
    let (after, _, _) = went_by(&world, &WorkItem::new(definition).unwrap());
    assert!(after.passed, "{after:?}");
}

fn what_landed_is_what_was_checked() {
    let world = World::new();
    std::fs::create_dir(world.project.join("empty")).unwrap();
    world.set_mode("src", 0o750);
    let listing = "find . -path ./.git -prune -o -path './.silas-*' -prune -o -printf '%y %m %p %l\\n' | sort; \
                   find . -path ./.git -prune -o -path './.silas-*' -prune -o -type f -print0 | sort -z | xargs -0 cat";
    world.write("look.sh", &format!("{{ {listing}; }} | LC_ALL=C sort | sha256sum; test -e made/deep/file.txt"));
    let step = "printf 'new\\n' > app.txt; rm gone.txt; chmod 755 run.sh; mkdir -p made/deep .silas-exec-z/a void/void; \
                echo made > made/deep/file.txt; chmod 711 made; chmod 700 src; rmdir empty; rm src/deep/same.txt; \
                ln -sfn src/lib.txt link; ln app.txt second; chmod 4755 run.sh; touch -d @1 src/lib.txt; echo x > .silas-exec-z/a/b";
    let (after, _, applied) = went(&world, step, "sh look.sh");
    assert!(after.passed, "{after:?}");
    assert!(applied.is_ok(), "{applied:?}");
    let now = std::process::Command::new("sh").arg("look.sh").current_dir(&world.project).output().unwrap();
    let now = String::from_utf8_lossy(&now.stdout);
    assert!(after.output.starts_with(&*now), "{now}\n{after:?}");
    assert_eq!(std::fs::metadata(world.project.join("run.sh")).unwrap().mode() & 0o7777, 0o755);
}
