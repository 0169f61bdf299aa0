//! Processes that are killed at any moment, again and again on the same directory.
//!
//! The system's cache survives a killed process, so here even buffered promises count.

use crate::child;
use crate::workload::{self, Promise, Strength, promise_in};
use crate::world::{announced_seed, is_soak, place, seed};
use power_loss::Chance;
use std::fs;
use std::path::Path;
use std::time::Duration;

const LIVES: usize = 6;
const LIVES_IN_SOAK: usize = 200;

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let lives = if is_soak() { LIVES_IN_SOAK } else { LIVES };
    for workload in workload::ALL {
        let place = place();
        let (dir, marks) = (place.path().join("dir"), place.path().join("marks"));
        let mut chance = Chance::new(announced_seed());
        let mut on_disk = Vec::new();
        let mut n_killed = 0;
        for life in 0..lives {
            fs::write(&marks, b"").unwrap();
            let child_seed = chance.number();
            let mut running = child::command(workload.name(), &dir, &marks, child_seed).spawn().unwrap();
            let n_marks = chance.below(150);
            while lines(&marks).len() < n_marks && running.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            n_killed += usize::from(running.try_wait().unwrap().is_none());
            running.kill().unwrap();
            running.wait().unwrap();
            let said = lines(&marks).into_iter().map(|line| {
                let Promise { what, .. } = promise_in(&line);
                Promise { strength: Strength::Durable, what }
            });
            let promises: Vec<Promise> = on_disk.into_iter().chain(said).collect();
            let survey = workload.check(&dir, &promises);
            let survey = survey.unwrap_or_else(|why| panic!("life {life}, seed {}: {why}", seed()));
            on_disk = survey.on_disk;
        }
        assert!(n_killed > lives / 2, "{n_killed} of {lives} were killed while they worked");
    }
}

/// Each mark is one write, so there is no half of one.
fn lines(marks: &Path) -> Vec<String> {
    fs::read_to_string(marks).unwrap().lines().map(str::to_owned).collect()
}
