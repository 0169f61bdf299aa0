//! Editors save in many ways and at the worst moment. Whatever was saved last is in place or kept beside; it is never gone.

use crate::crashes::killed;
use crate::runner::{Case, wait};
use crate::world::{World, approve, approve_undo, life, work};
use silas_core::fail::FailPoint;
use silas_sandbox::Error;
use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::path::Path;

pub(crate) const CASES: &[Case] = &[
    ("a_save_between_commit_and_exchange_is_kept", a_save_between_commit_and_exchange_is_kept),
    ("a_save_in_the_middle_of_an_undo_is_kept", a_save_in_the_middle_of_an_undo_is_kept),
    ("a_save_between_two_recoveries_is_kept", a_save_between_two_recoveries_is_kept),
    ("an_editor_that_never_stops_saving_loses_nothing", an_editor_that_never_stops_saving_loses_nothing),
    ("a_file_that_is_held_open_keeps_what_is_written_later", a_file_that_is_held_open_keeps_what_is_written_later),
];

type Save = fn(&Path, &str);

const STYLES: [(&str, Save); 5] = [
    ("in place", in_place),
    ("truncated first", truncated_first),
    ("renamed over", renamed_over),
    ("with a backup", with_a_backup),
    ("deleted and made anew", deleted_and_made_anew),
];

fn in_place(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

fn truncated_first(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(path).unwrap();
    file.set_len(0).unwrap();
    file.rewind().unwrap();
    let (first, second) = text.split_at(text.len() / 2);
    file.write_all(first.as_bytes()).unwrap();
    file.write_all(second.as_bytes()).unwrap();
}

fn renamed_over(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, text).unwrap();
    File::open(&draft).unwrap().sync_all().unwrap();
    std::fs::rename(draft, path).unwrap();
}

fn with_a_backup(path: &Path, text: &str) {
    let backup = path.with_extension("bak");
    // Whoever finds nothing to back up makes a new file.
    let _ = std::fs::rename(path, &backup);
    std::fs::write(path, text).unwrap();
    let _ = std::fs::remove_file(backup);
}

fn deleted_and_made_anew(path: &Path, text: &str) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, text).unwrap();
}

/// Every text in the project, what Silas keeps there included.
fn texts(world: &World) -> Vec<String> {
    let mut texts = Vec::new();
    let mut pending = vec![world.project.clone()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                pending.push(path);
            } else if meta.is_file() {
                texts.push(String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned());
            }
        }
    }
    texts
}

fn is_kept(world: &World, text: &str, when: &str) {
    assert!(texts(world).iter().any(|found| found == text), "{when}: {text:?} is gone: {:?}", texts(world));
}

/// A changed, a deleted, an unchanged and a new file, and one whose mode alone changes.
const PATHS: [&str; 5] = ["app.txt", "gone.txt", "src/lib.txt", "made/deep/file.txt", "run.sh"];

fn save_all(world: &World, save: Save, round: &str) {
    for path in PATHS {
        let path = world.project.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        save(&path, &mine(&path, round));
    }
}

fn mine(path: &Path, round: &str) -> String {
    format!("my text for {} ({round})\n", path.file_name().unwrap().display())
}

fn all_kept(world: &World, round: &str, when: &str) {
    PATHS.iter().for_each(|path| is_kept(world, &mine(Path::new(path), round), when));
}

fn run(world: &World) -> silas_core::evidence::Evidence {
    let plan = world.every_kind();
    let evidence = approve(&plan);
    let launcher = world.launcher();
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let _ = workshop.apply();
    evidence
}

pub(crate) fn a_save_between_commit_and_exchange_is_kept() {
    for (style, save) in STYLES {
        for point in [FailPoint::ApplyCommitted, FailPoint::ApplyHalfway] {
            let world = World::new();
            killed(life(Some(point), || drop(run(&world))));
            save_all(&world, save, "apply");
            let launcher = world.launcher();
            let recovered = launcher.recover().unwrap().remove(0);
            let when = format!("{style}, {point:?}");
            assert_eq!(recovered.problem, None, "{when}");
            all_kept(&world, "apply", &when);
            let Some(changeset) = recovered.changeset else { continue };
            // Whatever an undo finds, it brings nothing of the owner's to an end.
            match launcher.undo(&approve_undo(&recovered.execution, changeset)) {
                Ok(_) | Err(Error::LaterEdit { .. }) => {}
                Err(other) => panic!("{when}: {other:?}"),
            }
            all_kept(&world, "apply", &when);
        }
    }
}

pub(crate) fn a_save_in_the_middle_of_an_undo_is_kept() {
    for (style, save) in STYLES {
        for point in [FailPoint::UndoCommitted, FailPoint::UndoHalfway] {
            let world = World::new();
            let evidence = run(&world);
            let changeset = world.launcher().recover().unwrap().remove(0).changeset.unwrap();
            let undo = approve_undo(&evidence.execution, changeset);
            killed(life(Some(point), || drop(world.launcher().undo(&undo))));
            save_all(&world, save, "undo");
            let recovered = world.launcher().recover().unwrap().remove(0);
            assert_eq!(recovered.problem, None, "{style}, {point:?}");
            all_kept(&world, "undo", &format!("{style}, {point:?}"));
        }
    }
}

fn a_save_between_two_recoveries_is_kept() {
    for (style, save) in STYLES {
        let world = World::new();
        killed(life(Some(FailPoint::ApplyHalfway), || drop(run(&world))));
        save_all(&world, save, "first");
        killed(life(Some(FailPoint::ApplyHalfway), || drop(world.launcher().recover())));
        let after_first = texts(&world);
        save_all(&world, save, "second");
        assert_eq!(world.launcher().recover().unwrap().remove(0).problem, None, "{style}");
        all_kept(&world, "second", style);
        // What the first recovery had already put aside is still aside.
        let staged = |text: &&String| text.contains("(first)");
        for text in after_first.iter().filter(staged) {
            let replaced = PATHS.iter().any(|path| mine(Path::new(path), "first") == **text);
            assert!(replaced, "{style}: {text}");
        }
    }
}

/// A process that begins to save when it sees that an apply is under way, and goes on until it is over.
pub(crate) fn an_editor_that_never_stops_saving_loses_nothing() {
    for (style, save) in STYLES {
        let world = World::new();
        for n in 0..150 {
            world.write(&format!("many-{n:03}.txt"), "old\n");
        }
        let (stop, last) = (world.data.join("stop"), world.data.join("last"));
        let edited = world.project.join("many-149.txt");
        // SAFETY: this process has one thread.
        let editor = unsafe { libc::fork() };
        assert!(editor >= 0);
        if editor == 0 {
            let mut n = 0;
            while !stop.exists() {
                if n == 0 && world.stages().is_empty() {
                    continue;
                }
                n += 1;
                save(&edited, &format!("edit {n}\n"));
                std::fs::write(&last, format!("edit {n}\n")).unwrap();
            }
            // SAFETY: ends this child without tidying up what its parent owns too.
            unsafe { libc::_exit(0) };
        }
        let plan = world.plan(&["for f in many-*; do echo new > $f; done"], &["grep -q new many-149.txt"]);
        let evidence = approve(&plan);
        let launcher = world.launcher();
        let mut workshop = launcher.open(&evidence).unwrap();
        work(&mut workshop, &plan).unwrap();
        match workshop.apply() {
            Ok(applied) => {
                // Its save is also in the way of the undo, or was put aside before.
                let undone = launcher.undo(&approve_undo(&evidence.execution, applied.changeset));
                assert!(matches!(undone, Ok(_) | Err(Error::LaterEdit { .. })), "{style}: {undone:?}");
            }
            // Its save was in the way of the apply already.
            Err(Error::Conflict { .. }) => assert_eq!(world.read("many-000.txt"), "old\n", "{style}"),
            Err(other) => panic!("{style}: {other:?}"),
        }
        std::fs::write(&stop, "").unwrap();
        assert_eq!(wait(editor), 0, "{style}");
        if let Ok(text) = std::fs::read_to_string(&last) {
            is_kept(&world, &text, style);
        }
    }
}

/// A program that opened a file before, and writes when it has long been exchanged.
fn a_file_that_is_held_open_keeps_what_is_written_later() {
    let mut world = World::new();
    world.undo_window_secs = 3600;
    let mut held = OpenOptions::new().append(true).open(world.project.join("app.txt")).unwrap();
    let evidence = run(&world);
    held.write_all(b"late\n").unwrap();
    is_kept(&world, "old\nlate\n", "after the apply");
    let launcher = world.launcher();
    let changeset = launcher.recover().unwrap().remove(0).changeset.unwrap();
    launcher.undo(&approve_undo(&evidence.execution, changeset)).unwrap();
    assert_eq!(world.read("app.txt"), "old\nlate\n");
}
