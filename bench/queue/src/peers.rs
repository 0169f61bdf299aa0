//! The Python peers, each in an interpreter of its own that lives through all rounds and works when it is told to.

use crate::{Contender, Turn};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Handed to Python as it stands.
const PROGRAM: &str = include_str!("../peers.py");
const PEERS: [(&str, &str); 3] = [
    ("litequeue", "litequeue"),
    ("huey", "huey (no acknowledgement: two syncs, not three)"),
    ("persist-queue", "persist-queue"),
];

pub(crate) fn contenders(python: &Path, dir: &Path, n_producers: usize) -> Result<Vec<Contender>> {
    let contender = |(module, name): (&str, &str)| {
        let mut peer = Peer::start(python, module, &dir.join(module), n_producers)?;
        Ok(Contender::new(name, move |span| peer.turn(span.as_secs_f64())))
    };
    PEERS.into_iter().map(contender).collect()
}

/// Ends when its input does.
struct Peer {
    name: String,
    process: Child,
    /// Gone once the end was told.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(python: &Path, module: &str, path: &Path, n_producers: usize) -> Result<Self> {
        let mut process = Command::new(python)
            .args(["-c", PROGRAM, module])
            .arg(path)
            .arg(n_producers.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("that Python cannot be started")?;
        let orders = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().context("its output was asked for")?);
        Ok(Peer { name: module.to_owned(), process, orders, answers })
    }

    fn turn(&mut self, secs: f64) -> Result<Turn> {
        writeln!(self.orders.as_mut().context("it has not been told to end")?, "{secs}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let counted = answer.trim().split_once(' ').and_then(|(n, secs)| Some((n.parse().ok()?, secs.parse().ok()?)));
        let (n_messages, secs) =
            counted.with_context(|| format!("{}: {answer:?} is no count; is it installed?", self.name))?;
        Ok(Turn { n_messages, secs, secs_in_line: None })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.orders = None;
        // It has nothing left to do; how it ends changes no number.
        let _ = self.process.wait();
    }
}
