//! Nobody reads what is told here: stops are begun all the same, and nothing grows without end.

use super::*;
use crate::pace::Paces;
use silas_core::Timestamp;
use std::sync::Mutex;
use tokio::sync::Notify;

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_000_000)
    }
}

/// Notes what was begun; each ends when it is let.
#[derive(Clone, Default)]
struct Noted {
    begun: Arc<Mutex<Vec<ClientMessage>>>,
    may_end: Arc<Notify>,
}

impl Noted {
    fn n_begun(&self) -> usize {
        self.begun.lock().unwrap().len()
    }
}

impl Begins for Noted {
    fn begin(&self, message: ClientMessage, _: u64) -> Answering {
        self.begun.lock().unwrap().push(message);
        let may_end = self.may_end.clone();
        Box::pin(async move {
            may_end.notified().await;
            Some(ServerMessage::Stopped { n_works: 0, models: Vec::new() })
        })
    }

    fn n_stops(&self) -> u64 {
        self.n_begun() as u64
    }
}

struct Line {
    noted: Noted,
    says: mpsc::Sender<String>,
    /// What would be told, if anybody took it out.
    heard: mpsc::Receiver<Heard>,
    listening: tokio::task::JoinHandle<Ended>,
    n_waiting: Arc<AtomicUsize>,
}

fn line() -> Line {
    let (noted, n_waiting) = (Noted::default(), Arc::new(AtomicUsize::new(0)));
    let (says, incoming) = mpsc::channel(1);
    let (to, heard) = mpsc::channel(HEARD_MAX);
    let listening = Hearing {
        begins: noted.clone(),
        clock: Arc::new(StoppedClock),
        pace: Paces::new(100_000, 100_000).of_line(StoppedClock.now()),
        tallies: Arc::default(),
        heard: to,
        n_waiting: n_waiting.clone(),
        shown: watch::Sender::new(0),
    };
    Line { noted, says, heard, listening: tokio::spawn(listening.hear(incoming)), n_waiting }
}

impl Line {
    async fn say(&self, text: &str) {
        self.says.send(text.to_owned()).await.unwrap();
    }

    async fn until(&self, n_begun: usize) {
        let looking = async {
            while self.noted.n_begun() < n_begun {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), looking).await.unwrap();
    }
}

const STOP: &str = r#"{"type":"stop"}"#;

#[tokio::test]
async fn a_stop_is_begun_though_everything_before_it_waits_and_nobody_reads() {
    let mut line = line();
    for _ in 0..WAITING_MAX + 40 {
        line.say(r#"{"type":"house_rules"}"#).await;
    }
    line.say(STOP).await;
    line.until(1).await;
    assert!(matches!(line.noted.begun.lock().unwrap()[..], [ClientMessage::Stop { execution: None }]));
    assert_eq!(line.n_waiting.load(Ordering::SeqCst), WAITING_MAX, "the rest was told to wait");
    // It has its place in the order, too, behind what was said before it.
    let (mut n_messages, mut n_refused, mut is_again) = (0, 0, false);
    while let Ok(heard) = line.heard.try_recv() {
        match heard {
            Heard::Message { n_stops, .. } => n_messages += 1 - n_stops as usize,
            Heard::Answer(_) => n_refused += 1,
            Heard::Again(_) => is_again = true,
        }
    }
    assert_eq!((n_messages, n_refused, is_again), (WAITING_MAX, 40, true));
}

#[tokio::test]
async fn only_so_many_stops_are_carried_out_at_a_time_and_the_next_comes_as_one_is_done() {
    let line = line();
    for _ in 0..AT_ONCE_MAX {
        line.say(STOP).await;
    }
    line.until(AT_ONCE_MAX).await;
    // One lies in the channel; there it stays.
    line.say(STOP).await;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(line.noted.n_begun(), AT_ONCE_MAX);
    line.noted.may_end.notify_one();
    line.until(AT_ONCE_MAX + 1).await;
}

#[tokio::test]
async fn whoever_says_more_than_can_be_told_and_reads_nothing_is_left() {
    let line = line();
    let saying = line.says.clone();
    let noted = line.noted.clone();
    tokio::spawn(async move {
        while saying.send(STOP.to_owned()).await.is_ok() {
            noted.may_end.notify_one();
            tokio::task::yield_now().await;
        }
    });
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), line.listening).await.unwrap();
    assert_eq!(ended.unwrap(), Ended::TooMuch);
    assert!(line.heard.len() <= HEARD_MAX);
}

#[tokio::test]
async fn the_last_answers_are_handed_on_after_all_is_said() {
    let mut line = line();
    line.say(STOP).await;
    line.until(1).await;
    drop(line.says);
    line.noted.may_end.notify_one();
    assert_eq!(line.listening.await.unwrap(), Ended::Said);
    assert!(matches!(line.heard.recv().await, Some(Heard::Again(_))));
    assert!(matches!(line.heard.recv().await, Some(Heard::Answer(ServerMessage::Stopped { .. }))));
    assert!(line.heard.recv().await.is_none());
}
