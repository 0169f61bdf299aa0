//! Work that is interrupted, and the question whether what is left keeps the promises made before.
//!
//! A new part of the store joins all campaigns by implementing [`Workload`] and entering [`ALL`].

use crate::queues::Queues;
use crate::records::Records;
use crate::sagas::Sagas;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

pub(crate) trait Workload: Sync {
    /// By which the child process finds it.
    fn name(&self) -> &'static str;

    /// Works in a data directory, possibly one that an earlier life left behind, and says what was acknowledged when it
    /// was. Equal seeds do equal things, though threads interleave as they like.
    fn run(&self, dir: &Path, seed: u64, marks: &Marks);

    /// Opens what is left, as a restart would, and holds it against the promises. An error is a broken promise.
    fn check(&self, dir: &Path, promises: &[Promise]) -> Result<Survey, String>;
}

pub(crate) const ALL: &[&dyn Workload] = &[&Records, &Sagas, &Queues];

/// What was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    pub(crate) strength: Strength,
    /// What it is about, in the workload's own words.
    pub(crate) what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    /// Survives a loss of power.
    Durable,
    /// Survives the process; with the power it may go, though only together with everything later.
    Buffered,
}

/// What a check saw, so that a campaign can show that it was not looking at nothing.
pub(crate) struct Survey {
    /// Durable promises that were kept.
    pub(crate) n_kept: usize,
    /// Buffered ones that were lost, as they may.
    pub(crate) n_forgiven: usize,
    /// Everything promised so far that is there: after a restart it is on disk for good.
    pub(crate) on_disk: Vec<Promise>,
}

/// Where a workload says what was acknowledged.
pub(crate) struct Marks(Mutex<File>);

impl Marks {
    pub(crate) fn to(path: &Path) -> Self {
        Marks(Mutex::new(OpenOptions::new().append(true).create(true).open(path).unwrap()))
    }

    /// One write for one promise: a mark is there wholly or not at all.
    pub(crate) fn promise(&self, strength: Strength, what: &str) {
        let word = match strength {
            Strength::Durable => "durable",
            Strength::Buffered => "buffered",
        };
        self.0.lock().unwrap().write_all(format!("{word} {what}\n").as_bytes()).unwrap();
    }
}

/// Reads a mark back.
pub(crate) fn promise_in(mark: &str) -> Promise {
    let (word, what) = mark.trim_end().split_once(' ').unwrap();
    let strength = match word {
        "durable" => Strength::Durable,
        "buffered" => Strength::Buffered,
        other => panic!("{other} is no strength of a promise"),
    };
    Promise { strength, what: what.to_owned() }
}
