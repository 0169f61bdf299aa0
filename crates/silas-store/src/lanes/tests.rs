//! The order of the lanes and the limits of the queue.

use super::*;

fn jobs(taken: Vec<(Lane, u32)>) -> Vec<u32> {
    taken.into_iter().map(|(_, job)| job).collect()
}

#[test]
fn interactive_jobs_overtake_background_ones() {
    let queue = Queue::new();
    queue.push(Lane::Background, 1).unwrap();
    queue.push(Lane::Interactive, 2).unwrap();
    queue.push(Lane::Background, 3).unwrap();
    queue.push(Lane::Interactive, 4).unwrap();
    assert_eq!(jobs(queue.take(3)), [2, 4, 1]);
    assert_eq!(jobs(queue.take(3)), [3]);
}

#[test]
fn what_is_put_back_is_next_in_its_lane() {
    let queue = Queue::new();
    for job in [1, 2, 3] {
        queue.push(Lane::Background, job).unwrap();
    }
    let mut taken = queue.take(2);
    let rest = taken.split_off(0);
    queue.put_back(rest);
    queue.push(Lane::Interactive, 9).unwrap();
    assert_eq!(jobs(queue.take(9)), [9, 1, 2, 3]);
}

#[test]
fn a_full_lane_refuses_and_leaves_the_other_open() {
    let queue = Queue::new();
    for job in 0..LANE_JOBS_MAX as u32 {
        queue.push(Lane::Background, job).unwrap();
    }
    assert_eq!(queue.push(Lane::Background, 7), Err((Refused::Full, 7)));
    assert_eq!(queue.push(Lane::Interactive, 7), Ok(()));
}

#[test]
fn a_closed_queue_is_drained_and_then_empty() {
    let queue = Queue::new();
    queue.push(Lane::Interactive, 1).unwrap();
    queue.close();
    assert_eq!(queue.push(Lane::Interactive, 2), Err((Refused::Closed, 2)));
    assert_eq!(jobs(queue.take(9)), [1]);
    assert_eq!(jobs(queue.take(9)), Vec::<u32>::new());
}
