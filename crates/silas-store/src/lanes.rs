//! A bounded queue of two lanes: what a person waits for goes before what nobody watches.
//!
//! It never blocks who pushes: a full lane says so at once, and the caller tells its own caller to come back.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs that may wait in one lane. At the speed of a slow disk this is about a second of work; more would only be
/// answered after its caller has given up.
pub(crate) const LANE_JOBS_MAX: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lane {
    /// Somebody waits for the answer.
    Interactive,
    /// Upkeep. Runs when no interactive job waits, or in the room that they leave in a group.
    Background,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    Full,
    Closed,
}

pub(crate) struct Queue<J> {
    lanes: Mutex<Lanes<J>>,
    arrived: Condvar,
}

struct Lanes<J> {
    interactive: VecDeque<J>,
    background: VecDeque<J>,
    is_closed: bool,
}

impl<J> Lanes<J> {
    fn of(&mut self, lane: Lane) -> &mut VecDeque<J> {
        match lane {
            Lane::Interactive => &mut self.interactive,
            Lane::Background => &mut self.background,
        }
    }

    fn pop(&mut self) -> Option<(Lane, J)> {
        let interactive = self.interactive.pop_front().map(|job| (Lane::Interactive, job));
        interactive.or_else(|| self.background.pop_front().map(|job| (Lane::Background, job)))
    }
}

impl<J> Queue<J> {
    pub(crate) fn new() -> Self {
        let lanes = Lanes { interactive: VecDeque::new(), background: VecDeque::new(), is_closed: false };
        Queue { lanes: Mutex::new(lanes), arrived: Condvar::new() }
    }

    pub(crate) fn push(&self, lane: Lane, job: J) -> Result<(), (Refused, J)> {
        let mut lanes = self.lock();
        if lanes.is_closed {
            return Err((Refused::Closed, job));
        }
        if lanes.of(lane).len() >= LANE_JOBS_MAX {
            return Err((Refused::Full, job));
        }
        lanes.of(lane).push_back(job);
        self.arrived.notify_one();
        Ok(())
    }

    /// Waits for one job and takes up to `max` of those that are there. Empty only when the queue is closed and drained.
    pub(crate) fn take(&self, max: usize) -> Vec<(Lane, J)> {
        let mut lanes = self.lock();
        let mut taken = Vec::new();
        loop {
            while taken.len() < max
                && let Some(job) = lanes.pop()
            {
                taken.push(job);
            }
            if !taken.is_empty() || lanes.is_closed {
                return taken;
            }
            lanes = self.arrived.wait(lanes).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns jobs that were taken and not run to where they came from. They were accepted once, so no limit applies.
    pub(crate) fn put_back(&self, jobs: Vec<(Lane, J)>) {
        let mut lanes = self.lock();
        for (lane, job) in jobs.into_iter().rev() {
            lanes.of(lane).push_front(job);
        }
    }

    /// Refuses new jobs; those that wait are still taken.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.arrived.notify_all();
    }

    /// Nothing under this lock can panic halfway, so a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, Lanes<J>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
