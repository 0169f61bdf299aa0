//! The power fails somewhere in an apply, an undo, or the recovery from either. What the disk holds then becomes a real
//! directory, Silas starts on it, and what is found is old or new, byte for byte; what was told is true.
//!
//! The recorder does not keep permissions, so every file here has those that an image gives it.

use crate::runner::{Case, is_soak};
use crate::world::{Tree, World, approve, approve_undo, work};
use power_loss::{Chance, Log, Recording, Syncing};
use silas_core::Digest;
use silas_core::evidence::Evidence;
use silas_core::execution::ExecutionState;
use silas_core::work::WorkItem;
use silas_sandbox::Launcher;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const CASES: &[Case] = &[
    ("a_loss_of_power_leaves_old_or_new", a_loss_of_power_leaves_old_or_new),
    ("a_kill_after_any_operation_leaves_old_or_new", a_kill_after_any_operation_leaves_old_or_new),
    ("with_syncing_off_the_loss_is_found", with_syncing_off_the_loss_is_found),
];

/// Tells this binary that it is the process whose power fails.
pub(crate) const DEED: &str = "SILAS_POWER_DEED";
const PLACE: &str = "SILAS_POWER_PLACE";
const MARKS: &str = "SILAS_POWER_MARKS";

/// Crash images of each recording; one in three is interrupted again while it recovers.
const IMAGES: usize = 24;
const IMAGES_SOAK: usize = 600;
/// Few files are synced one by one, many together; each way has its own recording.
const N_FILES: [usize; 2] = [3, 60];

/// How many of the kills are followed by kills inside the recovery, and by how many each.
const N_KILLS_AGAIN: usize = 8;
const KILLS_IN_RECOVERY: usize = 4;

/// What the process said before the power failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Said {
    Nothing,
    Applied,
    UndoBegins,
    Undone,
}

struct Stage {
    world: World,
    place: PathBuf,
}

impl Stage {
    fn new(n_files: usize) -> Stage {
        let world = World::in_memory();
        for name in ["run.sh", "app.txt"] {
            world.set_mode(name, 0o644);
        }
        for n in 0..n_files {
            fs::create_dir_all(world.project.join(format!("dir-{}", n % 7))).unwrap();
            world.write(&format!("dir-{}/file-{n}.txt", n % 7), &format!("old {n}\n"));
        }
        fs::create_dir_all(world.data.join("launcher/work")).unwrap();
        fs::create_dir_all(world.data.join("run")).unwrap();
        let place = world.project.parent().unwrap().to_owned();
        Stage { world, place }
    }

    fn plan(&self) -> WorkItem {
        let script = "for f in dir-*/file-*; do echo new >> $f; done; rm gone.txt; mkdir -p made/deep; \
                      echo made > made/deep/file.txt; ln -sfn src/lib.txt link; echo new > app.txt";
        self.world.plan(&[script], &["grep -q new app.txt"])
    }

    /// What cannot be recorded and nobody needs: the copies that are made by programs in cells, and sockets.
    fn except(&self) -> [PathBuf; 2] {
        [self.world.data.join("launcher/work"), self.world.data.join("run")]
    }

    fn record(&self, deed: &str, evidence: &Path, log: &Path, syncing: Syncing) -> Log {
        let except = self.except();
        let except = except.each_ref().map(PathBuf::as_path);
        let recording = Recording::start_except(&self.place, &except, log, syncing).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(DEED, deed).env(PLACE, &self.place).env(MARKS, recording.marks());
        command.env("SILAS_POWER_EVIDENCE", evidence);
        recording.watch(&mut command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let log = Log::read(log).unwrap();
        if syncing != Syncing::Off {
            log.compare_except(&self.place, &except).unwrap();
        }
        log
    }

    /// Puts what the disk held in the place of what is there. The directories themselves stay, as they do on a disk.
    fn restore(&self, image: &Path) {
        for (dir, from) in [(&self.world.project, "project"), (&self.world.data, "data")] {
            empty(dir);
            copy(&image.join(from), dir);
        }
    }
}

fn empty(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&path).unwrap(), target).unwrap();
        } else if path.is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The process whose power fails: applies, says so, undoes, says so; or recovers.
pub(crate) fn child(deed: &str) {
    let path = |name: &str| PathBuf::from(std::env::var_os(name).unwrap());
    let (place, marks) = (path(PLACE), path(MARKS));
    let say = |text: &str| {
        let mut marks = fs::OpenOptions::new().append(true).open(&marks).unwrap();
        marks.write_all(text.as_bytes()).unwrap();
    };
    let world = World::at(&place);
    let launcher = world.launcher();
    if deed == "recover" {
        launcher.recover().unwrap();
        return say("recovered");
    }
    let evidence: Evidence = serde_json::from_slice(&fs::read(path("SILAS_POWER_EVIDENCE")).unwrap()).unwrap();
    let plan = WorkItem::from_canonical(&evidence.payload).unwrap();
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    say("applied");
    drop(workshop);
    say("undo begins");
    launcher.undo(&approve_undo(&evidence.execution, applied.changeset)).unwrap();
    say("undone");
}

fn said(marks: &[String]) -> Said {
    let of = |mark: &String| match mark.as_str() {
        "applied" => Said::Applied,
        "undo begins" => Said::UndoBegins,
        "undone" => Said::Undone,
        _ => Said::Nothing,
    };
    marks.iter().map(of).max().unwrap_or(Said::Nothing)
}

/// Names, kinds and contents; permissions are not in the images.
fn content(tree: &Tree) -> Vec<(&[u8], &[u8])> {
    tree.iter().map(|(path, (_, content))| (path.as_slice(), content.as_slice())).collect()
}

/// Starts Silas on what is there and says what is wrong with it.
fn judge(stage: &Stage, evidence: &Evidence, said: Said, old: &Tree, new: &Tree) -> Result<ExecutionState, String> {
    let launcher: Launcher = stage.world.launcher();
    let recovered = launcher.recover().map_err(|e| format!("recovery failed: {e}"))?;
    let told = recovered.into_iter().find(|told| told.execution == evidence.execution);
    let (state, changeset) = match told {
        Some(told) if told.problem.is_some() || !told.conflicts.is_empty() => return Err(format!("{told:?}")),
        Some(told) => (told.state, told.changeset),
        // The record of the spending itself was lost, so nothing was done.
        None => (ExecutionState::Running, None),
    };
    let now = stage.world.tree();
    let (is_old, is_new) = (content(&now) == content(old), content(&now) == content(new));
    let fits = match state {
        ExecutionState::Running | ExecutionState::Undone => is_old,
        ExecutionState::Applied => is_new,
        ExecutionState::Rehearsed | ExecutionState::Ended => false,
    };
    if !fits {
        return Err(format!("{state:?}, but the directory is a mix: {:?}", content(&now)));
    }
    let is_true = match said {
        Said::Nothing => true,
        Said::Applied => state == ExecutionState::Applied,
        Said::UndoBegins => state != ExecutionState::Running,
        Said::Undone => state == ExecutionState::Undone,
    };
    if !is_true {
        return Err(format!("{said:?} was said, but now it is {state:?}"));
    }
    if state == ExecutionState::Applied {
        let changeset: Digest = changeset.ok_or("no changeset")?;
        launcher.undo(&approve_undo(&evidence.execution, changeset)).map_err(|e| format!("undo: {e}"))?;
        if content(&stage.world.tree()) != content(old) {
            return Err("the undo is not exact".to_owned());
        }
    }
    if stage.world.stages().is_empty() { Ok(state) } else { Err("a staging directory is left".to_owned()) }
}

#[derive(Default, Debug)]
struct Tally {
    old: usize,
    applied: usize,
    undone: usize,
    interrupted_again: usize,
    names_lost: usize,
}

/// What the campaign found wrong, and what it saw.
fn campaign(syncing: Syncing, n_images: usize, seed: u64) -> (Vec<String>, Tally) {
    let (mut found, mut tally) = (Vec::new(), Tally::default());
    for n_files in N_FILES {
        let stage = Stage::new(n_files);
        let outside = tempfile::tempdir().unwrap();
        let at = |name: &str| outside.path().join(name);
        let evidence = approve(&stage.plan());
        fs::write(at("evidence"), serde_json::to_vec(&evidence).unwrap()).unwrap();
        let old = stage.world.tree();
        let new = applied_tree(n_files);
        let log = stage.record("apply and undo", &at("evidence"), &at("log"), syncing);
        for n in 0..n_images {
            let mut seed = seed.wrapping_add(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n_files as u64;
            let image = at("image");
            let crash = log.crash(seed, &image).unwrap();
            let said = said(&crash.marks);
            stage.restore(&image);
            fs::remove_dir_all(&image).unwrap();
            tally.names_lost += crash.names_lost;
            let mut story = format!("{n_files} files, seed {seed}, cut {} ({said:?})", crash.cut);
            if n % 3 == 0 && syncing != Syncing::Off {
                let again = stage.record("recover", &at("evidence"), &at("log-again"), syncing);
                seed = Chance::new(seed).below(usize::MAX) as u64;
                let crash = again.crash(seed, &image).unwrap();
                stage.restore(&image);
                fs::remove_dir_all(&image).unwrap();
                story.push_str(&format!(", again at {} of {}", crash.cut, again.n_operations()));
                tally.interrupted_again += 1;
            }
            match judge(&stage, &evidence, said, &old, &new) {
                Ok(ExecutionState::Applied) => tally.applied += 1,
                Ok(ExecutionState::Undone) => tally.undone += 1,
                Ok(ExecutionState::Running | ExecutionState::Rehearsed | ExecutionState::Ended) => tally.old += 1,
                Err(why) => found.push(format!("{story}: {why}")),
            }
        }
    }
    (found, tally)
}

fn applied_tree(n_files: usize) -> Tree {
    let stage = Stage::new(n_files);
    let plan = stage.plan();
    let launcher = stage.world.launcher();
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    stage.world.tree()
}

fn seed() -> u64 {
    std::env::var("SILAS_SEED").map_or(20_261_115, |text| text.parse().unwrap())
}

pub(crate) fn a_loss_of_power_leaves_old_or_new() {
    let (found, tally) = campaign(Syncing::Claimed, if is_soak() { IMAGES_SOAK } else { IMAGES }, seed());
    println!("seed {}: {tally:?}", seed());
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found[..found.len().min(5)].join("\n"));
    // None of this is worth anything if the cuts all fell in one place, or lost nothing.
    assert!(tally.old > 0 && tally.applied > 0 && tally.undone > 0 && tally.names_lost > 0, "{tally:?}");
}

/// Every single operation of an apply and of an undo, and for some of them every operation of the recovery too.
pub(crate) fn a_kill_after_any_operation_leaves_old_or_new() {
    let stage = Stage::new(2);
    let outside = tempfile::tempdir().unwrap();
    let at = |name: &str| outside.path().join(name);
    let evidence = approve(&stage.plan());
    fs::write(at("evidence"), serde_json::to_vec(&evidence).unwrap()).unwrap();
    let (old, new, image) = (stage.world.tree(), applied_tree(2), at("image"));
    let log = stage.record("apply and undo", &at("evidence"), &at("log"), Syncing::Claimed);
    let put = |log: &Log, cut: usize| {
        let crash = log.killed_after(cut, &image).unwrap();
        stage.restore(&image);
        fs::remove_dir_all(&image).unwrap();
        said(&crash.marks)
    };
    let look = |said: Said, story: &str| {
        judge(&stage, &evidence, said, &old, &new).unwrap_or_else(|why| panic!("{story}: {why}"))
    };
    let stride_again = if is_soak() { 1 } else { (log.n_operations() / N_KILLS_AGAIN).max(1) };
    let mut seen = Vec::new();
    for cut in 0..=log.n_operations() {
        let said = put(&log, cut);
        seen.push(look(said, &format!("killed after {cut}")));
        if cut % stride_again == 0 {
            put(&log, cut);
            let again = stage.record("recover", &at("evidence"), &at("log-again"), Syncing::Claimed);
            let stride = (again.n_operations() / KILLS_IN_RECOVERY).max(1);
            for second in (0..again.n_operations()).step_by(if is_soak() { 1 } else { stride }) {
                put(&again, second);
                look(said, &format!("killed after {cut}, and again after {second}"));
            }
        }
    }
    println!("{} operations", log.n_operations());
    for state in [ExecutionState::Running, ExecutionState::Applied, ExecutionState::Undone] {
        assert!(seen.contains(&state), "{state:?}");
    }
}

/// The same campaign must notice when nothing is synced, or it notices nothing.
fn with_syncing_off_the_loss_is_found() {
    let (found, tally) = campaign(Syncing::Off, IMAGES, seed());
    assert!(!found.is_empty(), "{tally:?}");
}
