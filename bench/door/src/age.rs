//! What age costs: the same Silas new, with a thousand and with a million decisions and entries of the ledger behind it, side by
//! side in one run. Nothing of what a turn does should grow.

use crate::page::{OsRandom, Page};
use crate::{Server, report};
use anyhow::{Context, Result, ensure};
use silas_core::event::AuditEvent;
use silas_core::{Clock, Timestamp};
use silas_store::{Commit, Store};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const TURNS: usize = 200;
const WELCOMES: usize = 20;
const STARTS: usize = 5;
/// Entries that one transaction writes while an age is made up.
const ENTRIES_AT_ONCE: usize = 10_000;
/// Of a second, as the kernel counts processor time.
const TICK_MS: f64 = 10.0;

pub(crate) fn run(binary: &Path, place: &Path, oldest: usize) -> Result<()> {
    let mut lives = Vec::new();
    for n in [0, 1_000, oldest] {
        let data = place.join(format!("age-{n}"));
        let server = Server::start(binary, &data)?;
        drop(Page::open(server.port, &data)?);
        drop(server);
        grow_old(&data, n)?;
        // What is new in the ledger is looked at once, by whoever finds it first; that start is not measured.
        drop(Server::start(binary, &data)?);
        let starts =
            (0..STARTS).map(|_| Ok(Server::start(binary, &data)?.answered_after)).collect::<Result<Vec<_>>>()?;
        let server = Server::start(binary, &data)?;
        let page = Page::open(server.port, &data)?;
        lives.push(Life {
            n,
            data,
            server,
            page,
            starts,
            turns: Vec::new(),
            statuses: Vec::new(),
            welcomes: Vec::new(),
        });
    }
    // In turns, so that whatever else the machine does befalls all alike.
    for round in 0..TURNS {
        for life in &mut lives {
            life.turns.push(life.page.turn("tasks")?);
            if round % (TURNS / WELCOMES) == 0 {
                let begun = Instant::now();
                drop(Page::open(life.server.port, &life.data)?);
                life.welcomes.push(begun.elapsed());
                life.statuses.push(status(binary, &life.data)?);
            }
        }
    }
    for life in lives {
        let age = format!("{} decisions and entries", life.n);
        report(&format!("{age}: a later start to /health"), life.starts);
        report(&format!("{age}: pairing and the first word to a page"), life.welcomes);
        report(&format!("{age}: silas status"), life.statuses);
        report(&format!("{age}: a turn over the WebSocket"), life.turns);
        let mut page = life.page;
        let before = processor_ms(life.server.pid())?;
        for _ in 0..TURNS {
            page.turn("tasks")?;
        }
        let per_turn = (processor_ms(life.server.pid())? - before) / TURNS as f64;
        println!("{age}: processor time of the front, per turn: {per_turn:.2} ms");
    }
    Ok(())
}

struct Life {
    n: usize,
    data: std::path::PathBuf,
    server: Server,
    page: Page,
    starts: Vec<Duration>,
    turns: Vec<Duration>,
    statuses: Vec<Duration>,
    welcomes: Vec<Duration>,
}

/// So many decisions that are used up and run out, and as many entries of the ledger.
fn grow_old(data: &Path, n: usize) -> Result<()> {
    let store = Store::open(&data.join("store"), Arc::new(OsRandom), Arc::new(SystemClock))?;
    let mut left = n;
    while left > 0 {
        let part = left.min(ENTRIES_AT_ONCE);
        left -= part;
        let writing = store.write(move |tx| {
            for _ in 0..part {
                tx.record(&AuditEvent::StreamStopped {})?;
            }
            Ok(Commit(()))
        });
        writing.wait()?;
    }
    drop(store);
    let mut database = rusqlite::Connection::open(data.join("store/agent.sqlite"))?;
    let tx = database.transaction()?;
    tx.execute(
        "WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ?1)
         INSERT INTO tokens (token_id, kind, verdict, token, certificate, payload, executions_used, max_executions, expires_at)
         SELECT printf('tok-old-%08d', n), CASE n % 2 WHEN 0 THEN 'plan' ELSE 'undo' END, 'approved', token, certificate, payload,
             1, 1, 1000000 FROM i, (SELECT token, certificate, payload FROM tokens LIMIT 1) WHERE ?1 > 0",
        [i64::try_from(n)?],
    )?;
    tx.commit()?;
    Ok(())
}

fn status(binary: &Path, data: &Path) -> Result<Duration> {
    let begun = Instant::now();
    let ended = Command::new(binary).arg("--data-dir").arg(data).arg("status").stdout(Stdio::null()).status()?;
    ensure!(ended.success(), "silas status failed");
    Ok(begun.elapsed())
}

fn processor_ms(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = stat.rsplit_once(')').context("no name")?.1;
    let ticks: Vec<f64> = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() * TICK_MS)
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
        Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}
