//! A bounded queue of two lanes: what a person waits for goes before what nobody watches. And the seats beside it: whoever
//! holds one may run jobs, because the seat is what running takes (the writer's connection, or one to read with).
//!
//! It never blocks who pushes: a full lane says so at once, and the caller tells its own caller to come back. The store's
//! own threads take seats; so may a caller that would only sit and wait for its answer, if a seat happens to be free.
//! Who gives a seat back while jobs wait wakes a thread, so no job lies there because its caller went away.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

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

/// A place in a lane. Within a lane, jobs are taken in the order of their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket {
    lane: Lane,
    n: u64,
}

/// A job that was taken, with the place that it had.
pub(crate) type Taken<J> = (Ticket, J);

pub(crate) struct Queue<J, S> {
    state: Mutex<State<J, S>>,
    /// For the store's threads: a job waits and a seat is free.
    work: Condvar,
    /// For those who want a seat without a job.
    seat_back: Condvar,
}

struct State<J, S> {
    interactive: VecDeque<Taken<J>>,
    background: VecDeque<Taken<J>>,
    n_pushed: u64,
    free: Vec<S>,
    /// Who sits on the other seats.
    holders: Vec<ThreadId>,
    /// Those who want a seat without a job go first; under load they would never get one otherwise.
    n_want_seat: usize,
    is_closed: bool,
}

impl<J, S> State<J, S> {
    fn of(&mut self, lane: Lane) -> &mut VecDeque<Taken<J>> {
        match lane {
            Lane::Interactive => &mut self.interactive,
            Lane::Background => &mut self.background,
        }
    }

    fn push(&mut self, lane: Lane, job: J) -> Result<Ticket, (Refused, J)> {
        if self.is_closed {
            return Err((Refused::Closed, job));
        }
        if self.of(lane).len() >= LANE_JOBS_MAX {
            return Err((Refused::Full, job));
        }
        self.n_pushed += 1;
        let ticket = Ticket { lane, n: self.n_pushed };
        self.of(lane).push_back((ticket, job));
        Ok(ticket)
    }

    fn is_empty(&self) -> bool {
        self.interactive.is_empty() && self.background.is_empty()
    }

    fn can_work(&self) -> bool {
        !self.free.is_empty() && self.n_want_seat == 0
    }

    fn sit(&mut self) -> Option<S> {
        let seat = self.free.pop()?;
        self.holders.push(std::thread::current().id());
        Some(seat)
    }

    fn take(&mut self, max: usize) -> Vec<Taken<J>> {
        let n_interactive = self.interactive.len().min(max);
        let n_background = self.background.len().min(max - n_interactive);
        self.interactive.drain(..n_interactive).chain(self.background.drain(..n_background)).collect()
    }
}

impl<J, S> Queue<J, S> {
    /// Without a seat nothing runs; [`Queue::add_seat`] brings them.
    pub(crate) fn new() -> Self {
        let state = State {
            interactive: VecDeque::new(),
            background: VecDeque::new(),
            n_pushed: 0,
            free: Vec::new(),
            holders: Vec::new(),
            n_want_seat: 0,
            is_closed: false,
        };
        Queue { state: Mutex::new(state), work: Condvar::new(), seat_back: Condvar::new() }
    }

    pub(crate) fn add_seat(&self, seat: S) {
        self.lock().free.push(seat);
    }

    /// Jobs in the fuller lane.
    pub(crate) fn n_waiting(&self) -> usize {
        let state = self.lock();
        state.interactive.len().max(state.background.len())
    }

    pub(crate) fn push(&self, lane: Lane, job: J) -> Result<Ticket, (Refused, J)> {
        let mut state = self.lock();
        let ticket = state.push(lane, job)?;
        if state.can_work() {
            self.work.notify_one();
        }
        Ok(ticket)
    }

    /// For a caller that comes for the job itself, with [`Queue::take_for`]: no thread is woken. If all seats are taken
    /// then, who gives one back sees the job.
    pub(crate) fn push_quietly(&self, lane: Lane, job: J) -> Result<Ticket, (Refused, J)> {
        self.lock().push(lane, job)
    }

    /// Waits for a seat and a job, and takes up to `max` of those that are there. `None` once the queue is closed and
    /// drained.
    pub(crate) fn take(&self, max: usize) -> Option<(S, Vec<Taken<J>>)> {
        let mut state = self.lock();
        loop {
            if state.is_closed && state.is_empty() {
                return None;
            }
            if !state.is_empty()
                && state.can_work()
                && let Some(seat) = state.sit()
            {
                return Some((seat, state.take(max)));
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes what comes next, if a seat is free at this moment and the job of the ticket still waits behind or in it.
    pub(crate) fn take_for(&self, ticket: Ticket, max: usize) -> Option<(S, Vec<Taken<J>>)> {
        let mut state = self.lock();
        let is_waiting = state.of(ticket.lane).front().is_some_and(|(first, _)| first.n <= ticket.n);
        if !is_waiting || !state.can_work() {
            return None;
        }
        let seat = state.sit()?;
        Some((seat, state.take(max)))
    }

    /// Takes this one job past all others, if it still waits and a seat is free at this moment.
    pub(crate) fn take_only(&self, ticket: Ticket) -> Option<(S, J)> {
        let mut state = self.lock();
        let at = state.of(ticket.lane).binary_search_by_key(&ticket.n, |(waiting, _)| waiting.n).ok()?;
        if !state.can_work() {
            return None;
        }
        let seat = state.sit()?;
        let (_, job) = state.of(ticket.lane).remove(at)?;
        Some((seat, job))
    }

    /// Waits for a seat that nobody works on, before all jobs. `None` once the queue is closed.
    pub(crate) fn seat(&self) -> Option<S> {
        let mut state = self.lock();
        state.n_want_seat += 1;
        while state.free.is_empty() && !state.is_closed {
            state = self.seat_back.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.n_want_seat -= 1;
        if state.is_closed {
            // The threads stood back for this one.
            self.work.notify_all();
            return None;
        }
        state.sit()
    }

    pub(crate) fn give_back(&self, seat: S) {
        let mut state = self.lock();
        let me = std::thread::current().id();
        if let Some(at) = state.holders.iter().position(|holder| *holder == me) {
            state.holders.swap_remove(at);
        }
        state.free.push(seat);
        if state.n_want_seat > 0 || state.is_closed {
            self.seat_back.notify_all();
        }
        if !state.is_empty() && state.can_work() {
            self.work.notify_one();
        }
    }

    /// Returns jobs that were taken and not run to where they came from. They were accepted once, so no limit applies.
    pub(crate) fn put_back(&self, jobs: Vec<Taken<J>>) {
        let mut state = self.lock();
        for (ticket, job) in jobs.into_iter().rev() {
            state.of(ticket.lane).push_front((ticket, job));
        }
    }

    /// Refuses new jobs; those that wait are still taken.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.work.notify_all();
        self.seat_back.notify_all();
    }

    /// Takes one seat away for good, when whoever sits on it has finished. For a closed and drained queue.
    pub(crate) fn retire(&self) -> S {
        let mut state = self.lock();
        loop {
            match state.free.pop() {
                Some(seat) => return seat,
                None => state = self.seat_back.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Whether this very thread sits on a seat: then it cannot wait for the seats to come back.
    pub(crate) fn is_held_here(&self) -> bool {
        self.lock().holders.contains(&std::thread::current().id())
    }

    /// Nothing under this lock can panic halfway, so a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, State<J, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
