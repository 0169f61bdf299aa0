//! Many losses of power: recorded runs of every workload, crash images of each, and every image opened and checked.

use crate::child;
use crate::workload::{self, Promise, Workload, promise_in};
use crate::world::{is_soak, place, seed};
use power_loss::{Chance, Log, Recording, Syncing};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Recorded runs and images of each.
struct Size {
    logs: usize,
    images: usize,
}

const USUAL: Size = Size { logs: 20, images: 15 };
/// What a person can wait for: some ten minutes for all workloads together.
const SOAK: Size = Size { logs: 100, images: 20 };
/// After so many a campaign has said what it has to say.
const FAILURES_MAX: usize = 5;
/// One run in so many goes on where a crash left the directory, so that recovery itself is interrupted too.
const SECOND_LIFE_EVERY: usize = 3;

#[test]
fn a_loss_of_power_loses_nothing_that_was_promised() {
    let size = if is_soak() { SOAK } else { USUAL };
    for workload in workload::ALL {
        let result = Campaign::new(*workload, Syncing::Claimed).run(seed(), &size, FAILURES_MAX);
        let tally = &result.tally;
        println!("{}, seed {}: {tally:?}", workload.name(), seed());
        assert!(
            result.failures.is_empty(),
            "{} of {} failed:\n{}",
            result.failures.len(),
            tally.n_images,
            result.said()
        );
        // None of this is worth anything if the images lost nothing, or nothing had been promised.
        assert!(tally.n_kept > tally.n_images, "{tally:?}");
        assert!(tally.n_forgiven > 0 && tally.n_writes_spoiled > tally.n_images, "{tally:?}");
    }
}

/// The same campaign must notice when nothing is synced, or it notices nothing.
#[test]
fn with_syncing_off_the_campaign_finds_the_loss() {
    for workload in workload::ALL {
        let result = Campaign::new(*workload, Syncing::Off).run(seed(), &USUAL, 1);
        println!("{}, seed {}, nothing synced: {}", workload.name(), seed(), result.said());
        assert_eq!(result.failures.len(), 1, "{:?}", result.tally);
    }
}

/// Looks again at what a campaign found: `SILAS_POWER_LOG` is the log it kept, `SILAS_SEED` the seed of the image.
#[test]
fn replay() {
    let Some(path) = std::env::var_os("SILAS_POWER_LOG").map(PathBuf::from) else { return };
    let place = place();
    let image = place.path().join("image");
    let log = Log::read(&path).unwrap();
    let crash = log.crash(seed(), &image).unwrap();
    let before = log.tell().unwrap()[..crash.cut].join("\n");
    println!("{before}\n{crash:?}");
    let before = fs::read_to_string(before_path(&path)).unwrap();
    let promises: Vec<Promise> = before.lines().chain(crash.marks.iter().map(String::as_str)).map(promise_in).collect();
    let name = path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
    let workload = workload::ALL.iter().find(|workload| workload.name() == name).unwrap();
    workload.check(&image, &promises).map(|_| ()).unwrap();
}

#[derive(Debug, Default)]
struct Tally {
    n_images: usize,
    n_operations: usize,
    n_writes_spoiled: usize,
    n_names_lost: usize,
    n_kept: usize,
    n_forgiven: usize,
}

struct Campaign<'w> {
    workload: &'w dyn Workload,
    syncing: Syncing,
    place: TempDir,
    tally: Tally,
    failures: Vec<String>,
}

/// What a recorded run begins with.
struct Life {
    dir: PathBuf,
    /// What the directory holds for good.
    before: Vec<Promise>,
}

impl<'w> Campaign<'w> {
    fn new(workload: &'w dyn Workload, syncing: Syncing) -> Self {
        Campaign { workload, syncing, place: place(), tally: Tally::default(), failures: Vec::new() }
    }

    /// Stops early once it has found so many failures.
    fn run(mut self, seed: u64, size: &Size, enough: usize) -> Self {
        let mut chance = Chance::new(seed);
        let mut left_behind: Option<Life> = None;
        for n in 0..size.logs {
            let life = match left_behind.take() {
                Some(life) if n % SECOND_LIFE_EVERY == SECOND_LIFE_EVERY - 1 => life,
                _ => self.first_life(n),
            };
            let log = self.record(&life, chance.number());
            for _ in 0..size.images {
                let seed = chance.number();
                let image = self.place.path().join(format!("image-{n}-{seed:016x}"));
                match self.crash(&log, seed, &life, &image) {
                    Ok(before) => {
                        if let Some(old) = left_behind.replace(Life { dir: image, before }) {
                            remove(&old.dir);
                        }
                    }
                    Err(why) => {
                        let kept = self.keep(&log, &life, seed);
                        let again = format!("SILAS_SEED={seed} SILAS_POWER_LOG={}", kept.display());
                        self.failures
                            .push(format!("{why}\n  again: {again} cargo test -p silas-store --test power replay"));
                        remove(&image);
                    }
                }
                if self.failures.len() >= enough {
                    return self;
                }
            }
            remove(&life.dir);
        }
        self
    }

    fn first_life(&self, n: usize) -> Life {
        let dir = self.place.path().join(format!("dir-{n}"));
        fs::create_dir(&dir).unwrap();
        Life { dir, before: Vec::new() }
    }

    fn record(&mut self, life: &Life, seed: u64) -> Log {
        let path = self.place.path().join("log");
        let recording = Recording::start(&life.dir, &path, self.syncing).unwrap();
        let mut command = child::command(self.workload.name(), &life.dir, &recording.marks(), seed);
        recording.watch(&mut command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        let log = Log::read(&path).unwrap();
        log.compare(&life.dir).unwrap();
        self.tally.n_operations += log.n_operations();
        log
    }

    /// What lies on the disk for good after the crash and the restart, or which promise was broken.
    fn crash(&mut self, log: &Log, seed: u64, life: &Life, image: &Path) -> Result<Vec<Promise>, String> {
        let crash = log.crash(seed, image).unwrap();
        self.tally.n_images += 1;
        self.tally.n_writes_spoiled += crash.writes_spoiled;
        self.tally.n_names_lost += crash.names_lost;
        let said = crash.marks.iter().map(|mark| promise_in(mark));
        let promises: Vec<Promise> = life.before.iter().cloned().chain(said).collect();
        let survey = self.workload.check(image, &promises).map_err(|why| {
            format!("image {seed}, cut after {} of {} operations: {why}", crash.cut, log.n_operations())
        })?;
        self.tally.n_kept += survey.n_kept;
        self.tally.n_forgiven += survey.n_forgiven;
        Ok(survey.on_disk)
    }

    /// Puts the log where it stays when the test is over.
    fn keep(&self, log: &Log, life: &Life, seed: u64) -> PathBuf {
        if self.syncing == Syncing::Off {
            // Found on purpose; nobody wants to look at it again.
            return PathBuf::from("(not kept)");
        }
        let path = std::env::temp_dir().join(format!("{}.{seed:016x}.log", self.workload.name()));
        log.save(&path).unwrap();
        let before: String = life.before.iter().map(|promise| format!("durable {}\n", promise.what)).collect();
        fs::write(before_path(&path), before).unwrap();
        path
    }

    fn said(&self) -> String {
        self.failures.join("\n")
    }
}

fn before_path(log: &Path) -> PathBuf {
    log.with_extension("before")
}

fn remove(dir: &Path) {
    fs::remove_dir_all(dir).unwrap();
}
