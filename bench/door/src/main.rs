//! What the door costs on this machine: the binary, a start until it answers, memory at rest and with a page open, and a
//! turn over the WebSocket, without a model and with one that answers at once; with a second argument, what age costs.
//!
//! Prints numbers and judges none; machines differ, and the same one differs from hour to hour.

mod age;
mod page;

use anyhow::{Context, Result, ensure};
use page::Page;
use scripted_model::{Act, Dialect, Script};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const STARTS: usize = 20;
const TURNS: usize = 500;
/// A start that takes longer is no start.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<()> {
    let binary = std::env::current_exe()?.with_file_name("silas");
    ensure!(binary.exists(), "Build silas beside this first: cargo build --release -p silas -p bench-door");
    let place = match std::env::args_os().nth(1) {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir_in(std::env::current_dir()?)?,
    };
    if let Some(oldest) = std::env::args().nth(2) {
        return age::run(
            &binary,
            place.path(),
            oldest.parse().context("how many decisions and entries the oldest has")?,
        );
    }
    println!("binary: {:.1} MB", std::fs::metadata(&binary)?.len() as f64 / 1e6);

    let first: Vec<Duration> = (0..STARTS)
        .map(|n| Ok(Server::start(&binary, &place.path().join(format!("first-{n}")))?.answered_after))
        .collect::<Result<_>>()?;
    report("first start to /health, with new keys", first);
    let data = place.path().join("data");
    drop(Server::start(&binary, &data)?);
    let again: Vec<Duration> =
        (0..STARTS).map(|_| Ok(Server::start(&binary, &data)?.answered_after)).collect::<Result<_>>()?;
    report("a later start to /health", again);

    let server = Server::start(&binary, &data)?;
    let idle = server.resident_bytes()?;
    let mut page = Page::open(server.port, &data)?;
    let turns: Vec<Duration> = (0..TURNS).map(|_| page.turn("what did you do?")).collect::<Result<_>>()?;
    println!("memory at rest: front {:.1} MB, launcher {:.1} MB", mb(idle.0), mb(idle.1));
    let open = server.resident_bytes()?;
    println!("… with a page open, after {TURNS} turns: front {:.1} MB, launcher {:.1} MB", mb(open.0), mb(open.1));
    report("a turn over the WebSocket, no model", turns);

    let model = instant_model()?;
    add(&binary, &data, &model)?;
    let turns: Vec<Duration> = (0..TURNS).map(|_| page.turn("what is a tide?")).collect::<Result<_>>()?;
    ensure!(model.asked().len() > TURNS, "not every turn asked the model: {} did", model.asked().len());
    report("a turn over the WebSocket, instant model", turns);
    Ok(())
}

/// It passes the test that every model is given when it is added, and then says the same to everything.
fn instant_model() -> Result<scripted_model::Server> {
    let answer = json!({
        "route": "direct", "reason": "words", "interaction_register": "status", "interaction_mode": "default_and_offer",
        "context_profile": "conversation", "continuation_of": null, "response": { "message": "The sea, twice a day." },
    });
    let acts = [json!({ "word": "ready" }), answer].map(|said| Act::Says(said.to_string()));
    Ok(scripted_model::Server::start(Script::new(Dialect::OpenAi, acts))?)
}

/// As its owner would, in the terminal.
fn add(binary: &Path, data: &Path, model: &scripted_model::Server) -> Result<()> {
    let added = Command::new(binary)
        .args(["model", "add", &format!("compatible:instant@{}", model.url()), "--no-key", "--price", "0/0", "--yes"])
        .arg("--data-dir")
        .arg(data)
        .output()?;
    ensure!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    Ok(())
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn report(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let at = |share: usize| took[(took.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("{what}: min {:.1} ms, p50 {:.1}, p95 {:.1}", at(0), at(50), at(95));
}

struct Server {
    child: Child,
    port: u16,
    answered_after: Duration,
}

impl Server {
    fn start(binary: &Path, data: &Path) -> Result<Server> {
        let written = data.join("run/address");
        if written.exists() {
            std::fs::remove_file(&written)?;
        }
        let started = Instant::now();
        let child = Command::new(binary)
            .args(["start", "--port", "0", "--quiet", "--data-dir"])
            .arg(data)
            .env("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "1000000")
            .env("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_IP", "1000000")
            .env("SILAS__LIMITS__LLM_CALLS_PER_MINUTE_PER_SCOPE", "10000")
            .env("SILAS__LIMITS__WS_BEAT_SECONDS", "300")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Server { child, port: 0, answered_after: Duration::ZERO };
        while started.elapsed() < PATIENCE {
            if let Some(port) = port(&written).filter(|port| is_healthy(*port)) {
                (server.port, server.answered_after) = (port, started.elapsed());
                return Ok(server);
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        anyhow::bail!("the server did not come up")
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Of the process that serves, and of the one that starts what was approved.
    fn resident_bytes(&self) -> Result<(u64, u64)> {
        let front = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{front}/task/{front}/children"))?;
        let launcher = children.split_whitespace().next().context("there is no launcher")?.parse()?;
        Ok((resident(front)?, resident(launcher)?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn port(written: &PathBuf) -> Option<u16> {
    std::fs::read_to_string(written).ok()?.rsplit(':').next()?.trim().parse().ok()
}

fn is_healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", port))?;
        write!(socket, "GET /health HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

fn resident(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}
