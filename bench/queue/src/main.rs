//! Put, lease and acknowledge, each committed and synced by itself: our queue beside plain SQLite and, given a Python that
//! has them, beside litequeue, huey and persist-queue.
//!
//! Prints numbers and judges none. A shared disk changes its speed by a factor of ten within seconds, so everybody has a
//! short turn in each of many rounds, and what is compared are the turns of one round.

mod ours;
mod peers;
mod plain;

use anyhow::Result;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PRODUCERS: usize = 16;
/// How many rounds there are and how long a turn is. Alone it is short, so that all turns of a round meet the same machine.
/// Together it is long: plain SQLite sleeps while it waits for a lock, and a turn ends only with its last sleeper.
const ALONE: (usize, Duration) = (200, Duration::from_millis(20));
const TOGETHER: (usize, Duration) = (4, Duration::from_secs(3));
const BODY: &str = "about a hundred bytes, which is what a message or a small row of the product has, more or less";

/// What came of one turn.
struct Turn {
    n_messages: u64,
    secs: f64,
    /// How much of it the producer stood in line for a processor. Known where all the work is done on its own thread.
    secs_in_line: Option<f64>,
}

/// One line of the table.
struct Contender {
    name: String,
    turn: Box<dyn FnMut(Duration) -> Result<Turn>>,
    turns: Vec<Turn>,
}

impl Contender {
    fn new(name: impl Into<String>, turn: impl FnMut(Duration) -> Result<Turn> + 'static) -> Self {
        Contender { name: name.into(), turn: Box::new(turn), turns: Vec::new() }
    }

    /// Messages a second over all turns.
    fn overall(&self) -> f64 {
        self.n_messages() / self.turns.iter().map(|turn| turn.secs).sum::<f64>()
    }

    /// The same without the time in line, which neighbours on the machine cause and which makes all contenders alike.
    fn at_work(&self) -> Option<f64> {
        let secs = self.turns.iter().map(|turn| Some(turn.secs - turn.secs_in_line?)).sum::<Option<f64>>()?;
        Some(self.n_messages() / secs)
    }

    fn n_messages(&self) -> f64 {
        self.turns.iter().map(|turn| turn.n_messages as f64).sum()
    }

    /// Messages a second of single turns: of the slow ones, of most, of the fast ones.
    fn percentiles(&self) -> [f64; 3] {
        let mut rates: Vec<f64> = self.turns.iter().map(|turn| turn.n_messages as f64 / turn.secs).collect();
        rates.sort_by(f64::total_cmp);
        [10, 50, 90].map(|percent| rates[rates.len() * percent / 100])
    }
}

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let place = tempfile::tempdir_in(args.next().map_or_else(std::env::current_dir, Ok)?)?;
    let python = args.next();
    if python.is_none() {
        println!("(litequeue, huey and persist-queue: name a Python that has them as the second argument)");
    }
    for (n_producers, (n_rounds, turn)) in [(1, ALONE), (PRODUCERS, TOGETHER)] {
        let dir = place.path().join(n_producers.to_string());
        std::fs::create_dir(&dir)?;
        let mut contenders = vec![plain::bare(&dir, n_producers)?, floor(&dir)?, plain::alike(&dir, n_producers)?];
        contenders.extend(ours::contenders(&dir, n_producers)?);
        if let Some(python) = &python {
            contenders.extend(peers::contenders(python, &dir, n_producers)?);
        }
        for _ in 0..n_rounds {
            for contender in &mut contenders {
                let done = (contender.turn)(turn)?;
                contender.turns.push(done);
            }
        }
        print(n_producers, &contenders);
    }
    Ok(())
}

/// The first line is what the others are compared with, over all their turns.
fn print(n_producers: usize, contenders: &[Contender]) {
    let what = format!("{n_producers} at once, messages a second");
    println!(
        "\n{what:<50} {:>7} {:>7} {:>7} {:>7} {:>6} {:>8} {:>6}",
        "p10", "p50", "p90", "all", "ratio", "at work", "ratio"
    );
    let first = &contenders[0];
    for contender in contenders {
        let ([low, middle, high], all) = (contender.percentiles(), contender.overall());
        print!("{:<50} {low:>7.0} {middle:>7.0} {high:>7.0} {all:>7.0}", contender.name);
        print!(" {:>6.2}", all / first.overall());
        match (contender.at_work(), first.at_work()) {
            (Some(own), Some(first)) => println!(" {own:>8.0} {:>6.2}", own / first),
            _ => println!(" {:>8} {:>6}", "-", "-"),
        }
    }
}

/// What one who syncs three times for a message can reach at most: blocks of a file that exists are written over, as in a
/// write-ahead log that began anew.
fn floor(dir: &Path) -> Result<Contender> {
    use std::io::{Seek, SeekFrom};
    const BLOCKS: u64 = 1024;
    let mut file = std::fs::File::create(dir.join("floor"))?;
    file.write_all(&vec![0; 4096 * BLOCKS as usize])?;
    file.sync_all()?;
    let file = std::sync::Mutex::new((file, 0));
    Ok(Contender::new("disk: three times 4 KiB and fdatasync, one thread", move |span| {
        send(1, span, |_| {
            let mut file = file.lock().map_err(|_| anyhow::anyhow!("a producer panicked"))?;
            let (file, n_syncs) = &mut *file;
            for _ in 0..3 {
                file.seek(SeekFrom::Start(*n_syncs % BLOCKS * 4096))?;
                file.write_all(&[*n_syncs as u8; 4096])?;
                file.sync_data()?;
                *n_syncs += 1;
            }
            Ok(())
        })
    }))
}

/// Sends messages for the span, from as many threads, each with its number; one at least, also where a thread came late to
/// its turn.
fn send(n_threads: usize, span: Duration, one: impl Fn(usize) -> Result<()> + Sync) -> Result<Turn> {
    let n_sent = AtomicU64::new(0);
    let started = Instant::now();
    let producer = |thread| -> Result<(f64, f64)> {
        let (begun, in_line) = (Instant::now(), secs_in_line()?);
        loop {
            one(thread)?;
            n_sent.fetch_add(1, Ordering::Relaxed);
            if started.elapsed() >= span {
                return Ok((begun.elapsed().as_secs_f64(), secs_in_line()? - in_line));
            }
        }
    };
    let spent: Vec<(f64, f64)> = std::thread::scope(|scope| {
        let producer = &producer;
        let threads: Vec<_> = (0..n_threads).map(|thread| scope.spawn(move || producer(thread))).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow::anyhow!("a producer panicked"))?);
        joined.collect::<Result<_>>()
    })?;
    let n_messages = n_sent.into_inner();
    Ok(match spent[..] {
        [(secs, in_line)] => Turn { n_messages, secs, secs_in_line: Some(in_line) },
        _ => Turn { n_messages, secs: started.elapsed().as_secs_f64(), secs_in_line: None },
    })
}

/// How long this thread could have run and was not let to, ever since, as the kernel counts it.
fn secs_in_line() -> Result<f64> {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos: u64 = counted.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(nanos as f64 / 1e9)
}
