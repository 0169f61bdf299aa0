//! The order of the lanes, the limits of the queue, and who gets a seat.

use super::*;

/// One seat, unless a test takes more.
fn queue() -> Queue<u32, &'static str> {
    let queue = Queue::new();
    queue.add_seat("seat");
    queue
}

/// Takes up to `max` and gives the seat back.
fn take(queue: &Queue<u32, &'static str>, max: usize) -> Option<Vec<u32>> {
    let (seat, taken) = queue.take(max)?;
    queue.give_back(seat);
    Some(taken.into_iter().map(|(_, job)| job).collect())
}

fn taken(found: Option<(&'static str, Vec<Taken<u32>>)>) -> Option<Vec<u32>> {
    found.map(|(_, taken)| taken.into_iter().map(|(_, job)| job).collect())
}

#[test]
fn interactive_jobs_overtake_background_ones() {
    let queue = queue();
    queue.push(Lane::Background, 1).unwrap();
    queue.push(Lane::Interactive, 2).unwrap();
    queue.push(Lane::Background, 3).unwrap();
    queue.push(Lane::Interactive, 4).unwrap();
    assert_eq!(take(&queue, 3), Some(vec![2, 4, 1]));
    assert_eq!(take(&queue, 3), Some(vec![3]));
}

#[test]
fn what_is_put_back_is_next_in_its_lane() {
    let queue = queue();
    for job in [1, 2, 3] {
        queue.push(Lane::Background, job).unwrap();
    }
    let (seat, rest) = queue.take(2).unwrap();
    queue.put_back(rest);
    queue.give_back(seat);
    queue.push(Lane::Interactive, 9).unwrap();
    assert_eq!(take(&queue, 9), Some(vec![9, 1, 2, 3]));
}

#[test]
fn a_full_lane_refuses_and_leaves_the_other_open() {
    let queue = queue();
    for job in 0..LANE_JOBS_MAX as u32 {
        queue.push(Lane::Background, job).unwrap();
    }
    assert_eq!(queue.push(Lane::Background, 7), Err((Refused::Full, 7)));
    assert_eq!(queue.push_quietly(Lane::Background, 7), Err((Refused::Full, 7)));
    queue.push(Lane::Interactive, 7).unwrap();
}

#[test]
fn a_closed_queue_is_drained_and_then_its_seat_is_retired() {
    let queue = queue();
    queue.push(Lane::Interactive, 1).unwrap();
    queue.close();
    assert_eq!(queue.push(Lane::Interactive, 2), Err((Refused::Closed, 2)));
    assert_eq!(queue.push_quietly(Lane::Interactive, 2), Err((Refused::Closed, 2)));
    assert_eq!(take(&queue, 9), Some(vec![1]));
    assert_eq!(take(&queue, 9), None);
    assert_eq!(queue.seat(), None);
    assert_eq!(queue.retire(), "seat");
}

#[test]
fn who_waits_may_take_a_free_seat_and_takes_what_comes_first() {
    let queue = queue();
    let first = queue.push_quietly(Lane::Background, 1).unwrap();
    let second = queue.push_quietly(Lane::Background, 2).unwrap();
    let third = queue.push_quietly(Lane::Interactive, 3).unwrap();
    let (seat, group) = queue.take_for(second, 2).unwrap();
    assert_eq!(group, [(third, 3), (first, 1)]);
    // Nobody else can run anything meanwhile, and whoever has had a turn has nothing to take a seat for.
    assert_eq!(taken(queue.take_for(second, 2)), None);
    assert_eq!(queue.take_only(second), None);
    queue.give_back(seat);
    assert_eq!(taken(queue.take_for(first, 2)), None);
    assert_eq!(taken(queue.take_for(second, 2)), Some(vec![2]));
}

#[test]
fn one_job_alone_can_be_taken_past_the_others() {
    let queue = queue();
    queue.push(Lane::Interactive, 1).unwrap();
    let second = queue.push(Lane::Interactive, 2).unwrap();
    queue.push(Lane::Interactive, 3).unwrap();
    let (seat, job) = queue.take_only(second).unwrap();
    assert_eq!(job, 2);
    queue.give_back(seat);
    assert_eq!(queue.take_only(second), None);
    assert_eq!(take(&queue, 9), Some(vec![1, 3]));
}

#[test]
fn a_thread_knows_whether_it_sits() {
    let queue = queue();
    assert!(!queue.is_held_here());
    let seat = queue.seat().unwrap();
    assert!(queue.is_held_here());
    std::thread::scope(|scope| assert!(!scope.spawn(|| queue.is_held_here()).join().unwrap()));
    queue.give_back(seat);
    assert!(!queue.is_held_here());
}

/// Whoever gave the job up: the one who sits sees it when the seat comes back, and wakes a thread for it.
#[test]
fn a_quiet_job_that_found_no_seat_is_not_forgotten() {
    let queue = queue();
    let seat = queue.seat().unwrap();
    let ticket = queue.push_quietly(Lane::Interactive, 1).unwrap();
    assert_eq!(taken(queue.take_for(ticket, 9)), None);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| take(&queue, 9));
        queue.give_back(seat);
        assert_eq!(thread.join().unwrap(), Some(vec![1]));
    });
}

/// Otherwise a checkpoint would never find the writer at rest.
#[test]
fn who_wants_a_seat_alone_gets_it_before_any_job() {
    let queue = queue();
    let seat = queue.seat().unwrap();
    std::thread::scope(|scope| {
        let resting = scope.spawn(|| queue.seat());
        while queue.lock().n_want_seat == 0 {
            std::thread::yield_now();
        }
        let ticket = queue.push(Lane::Interactive, 1).unwrap();
        queue.lock().free.push(seat);
        assert_eq!(taken(queue.take_for(ticket, 9)), None);
        queue.seat_back.notify_all();
        assert_eq!(resting.join().unwrap(), Some("seat"));
    });
}
