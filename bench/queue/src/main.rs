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
/// How many rounds there are and how long a turn is: short, so that all turns of a round meet the same disk, though long
/// enough that starting the threads does not count.
const ALONE: (usize, Duration) = (200, Duration::from_millis(20));
const TOGETHER: (usize, Duration) = (20, Duration::from_millis(250));
const BODY: &str = "about a hundred bytes, which is what a message or a small row of the product has, more or less";

/// One line of the table. Gives the messages a second of one turn.
struct Contender {
    name: String,
    turn: Box<dyn FnMut(Duration) -> Result<f64>>,
    rates: Vec<f64>,
}

impl Contender {
    fn new(name: impl Into<String>, turn: impl FnMut(Duration) -> Result<f64> + 'static) -> Self {
        Contender { name: name.into(), turn: Box::new(turn), rates: Vec::new() }
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
                contender.rates.push((contender.turn)(turn)?);
            }
        }
        print(n_producers, contenders);
    }
    Ok(())
}

/// The first line is what the others are compared with, turn by turn.
fn print(n_producers: usize, contenders: Vec<Contender>) {
    let (what, beside) = (format!("{n_producers} at once, messages a second"), "of the first");
    println!("\n{what:<50} {:>8} {:>8} {:>8} {beside:>14}", "p10", "median", "p90");
    let first = contenders[0].rates.clone();
    for Contender { name, rates, .. } in contenders {
        let ratio = percentile(rates.iter().zip(&first).map(|(own, first)| own / first).collect(), 50);
        let (low, high) = (percentile(rates.clone(), 10), percentile(rates.clone(), 90));
        println!("{name:<50} {low:>8.0} {:>8.0} {high:>8.0} {ratio:>14.2}", percentile(rates, 50));
    }
}

fn percentile(mut values: Vec<f64>, percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() * percent / 100]
}

/// What one who syncs three times for a message can reach at most: blocks of a file that exists are written over, as in a
/// write-ahead log that began anew.
fn floor(dir: &Path) -> Result<Contender> {
    use std::io::{Seek, SeekFrom};
    const BLOCKS: u64 = 1024;
    let mut file = std::fs::File::create(dir.join("floor"))?;
    file.write_all(&vec![0; 4096 * BLOCKS as usize])?;
    file.sync_all()?;
    let mut n_syncs = 0;
    Ok(Contender::new("disk: three times 4 KiB and fdatasync, one thread", move |span| {
        let started = Instant::now();
        let mut n_messages = 0;
        while started.elapsed() < span {
            for _ in 0..3 {
                file.seek(SeekFrom::Start(n_syncs % BLOCKS * 4096))?;
                file.write_all(&[n_syncs as u8; 4096])?;
                file.sync_data()?;
                n_syncs += 1;
            }
            n_messages += 1;
        }
        Ok(n_messages as f64 / started.elapsed().as_secs_f64())
    }))
}

/// Sends messages for the span, from as many threads, each with its number. Gives how many there were a second.
fn send(n_threads: usize, span: Duration, one: impl Fn(usize) -> Result<()> + Sync) -> Result<f64> {
    let n_sent = AtomicU64::new(0);
    let started = Instant::now();
    let producer = |thread| -> Result<()> {
        // One at least, also where the thread came late to its turn.
        loop {
            one(thread)?;
            n_sent.fetch_add(1, Ordering::Relaxed);
            if started.elapsed() >= span {
                return Ok(());
            }
        }
    };
    std::thread::scope(|scope| {
        let producer = &producer;
        let threads: Vec<_> = (0..n_threads).map(|thread| scope.spawn(move || producer(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a producer panicked"))?)
    })?;
    Ok(n_sent.into_inner() as f64 / started.elapsed().as_secs_f64())
}
