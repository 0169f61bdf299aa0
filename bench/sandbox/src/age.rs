//! What a launcher's age costs: the same rehearsal, and the same command of `silas sandbox`, with nothing, a thousand and a
//! hundred thousand records of settled work behind it, in turns. Nothing of it should grow.

use crate::approved::Rehearsing;
use crate::{Line, Silas, succeeds};
use anyhow::{Context, Result};
use std::path::Path;
use std::time::Duration;

const RECORDS: [usize; 3] = [0, 1_000, 100_000];

struct Life {
    n: usize,
    rehearsing: Rehearsing,
    silas: Option<Silas>,
    rehearsal: Line,
    command: Line,
}

pub(crate) fn run(rounds: u32) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let place = dir.path().canonicalize()?;
    let mut lives = Vec::new();
    for n in RECORDS {
        let place = place.join(n.to_string());
        let project = place.join("project");
        std::fs::create_dir_all(&project)?;
        std::fs::write(project.join("file.txt"), "old\n")?;
        let mut rehearsing = Rehearsing::new(&place, &project)?;
        // The first one is thrown away, and its record is what all others look like.
        rehearsing.rehearse()?;
        rehearsing.discard()?;
        let record = std::fs::read_dir(place.join("data/launcher/spent"))?.next().context("no record")??.path();
        let record = std::fs::read(record)?;
        grow_old(&place.join("data"), &record, n)?;
        let silas = Silas::beside_this_program(&place);
        if silas.is_some() {
            grow_old(&place.join("own"), &record, n)?;
        }
        let line = |what| Line { what, pause: Duration::ZERO, took: Vec::new() };
        let (rehearsal, command) =
            (line("  a rehearsal, until it is kept"), line("  silas sandbox, the whole command"));
        lives.push(Life { n, rehearsing, silas, rehearsal, command });
    }
    for _ in 0..rounds {
        for life in &mut lives {
            life.rehearsal.time(|| life.rehearsing.rehearse())?;
            life.rehearsing.discard()?;
            if let Some(silas) = &life.silas {
                life.command.time(|| succeeds(&mut silas.command()))?;
            }
        }
    }
    println!("{rounds} rounds; {:<36} {:>8} {:>8} {:>8}", "milliseconds", "min", "p50", "p95");
    for mut life in lives {
        println!("{} settled records", life.n);
        life.rehearsal.print();
        life.command.print();
    }
    Ok(())
}

fn grow_old(data: &Path, record: &[u8], n: usize) -> Result<()> {
    let spent = data.join("launcher/spent");
    std::fs::create_dir_all(&spent)?;
    for n in 0..n {
        std::fs::write(spent.join(format!("exec-old-{n:08}.json")), record)?;
    }
    Ok(())
}
