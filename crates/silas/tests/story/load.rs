//! Many at once: a thousand pages that stay, two hundred messages a second, and limits that hold when they are lower.
//!
//! Of two hundred messages ten are turns (signed, written to disk, answered by reflex, and both told to every page: twenty
//! thousand frames a second), a hundred ask for the tasks and ninety for the cards. Which rate was reached is printed; a
//! soak asserts it in a run by itself (`SILAS_SOAK=alone`), because beside other tests it would measure those.

use crate::harness::{Device, OsRandom, Silas, now};
use crate::http;
use crate::page::Page;
use serde_json::{Value, json};
use silas_core::message::{MessageBody, OWNER_SCOPE};
use silas_core::{InstallationId, Nonce};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

const N_SOCKETS: usize = 1000;
const PER_SECOND: u64 = 200;
/// What may be missing of it in a soak, in per cent: the last answers come after the last message.
const BELOW_MAX: f64 = 5.0;
/// Of so many messages one is a turn, which all the others are told about; the rest are questions.
const TURN_EVERY: u64 = 20;
/// A loaded machine is slow, a hang is forever.
const PATIENCE: Duration = Duration::from_secs(300);
/// What a thousand pages may cost beyond the pages themselves, whatever goes through them.
const GROWTH_BYTES_MAX: u64 = 256 << 20;

/// What came in at one page.
#[derive(Default)]
struct Seen {
    answers: AtomicU64,
    errors: AtomicU64,
    /// The last number of the Stream.
    seq: AtomicU64,
    /// Entries that were skipped or came again.
    gaps: AtomicU64,
}

#[test]
fn a_thousand_pages_and_two_hundred_messages_a_second() {
    let soak = std::env::var("SILAS_SOAK").ok();
    let (secs, is_alone) = (if soak.is_some() { 60 } else { 10 }, soak.as_deref() == Some("alone"));
    let silas = Silas::start_with(&[
        ("SILAS__LIMITS__CONNECTIONS_MAX", "1100"),
        ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "1000000"),
        ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_IP", "1000000"),
    ]);
    let device = Arc::new(silas.pair());
    let installation = silas.line().installation();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pace = if is_alone { MissedTickBehavior::Burst } else { MissedTickBehavior::Delay };
    let reached = runtime.block_on(async {
        let patience = PATIENCE + Duration::from_secs(secs);
        let talking = tokio::time::timeout(patience, crowd(&silas, device, installation, secs, pace));
        talking.await.expect("everybody is answered in the end")
    });
    if is_alone {
        let enough = PER_SECOND as f64 * (1.0 - BELOW_MAX / 100.0);
        assert!(reached >= enough, "{reached:.1} messages a second were dealt with, of {PER_SECOND}");
    }
    // Nobody was lost on the way, and the one who owns it all was never kept out.
    assert!(silas.line().ask("what did you do?").contains("so far"));
    silas.assert_ledger_holds();
}

/// How many messages a second were dealt with: written, answered, and told to whoever is to hear of them.
async fn crowd(
    silas: &Silas,
    device: Arc<Device>,
    installation: InstallationId,
    secs: u64,
    pace: MissedTickBehavior,
) -> f64 {
    let mut pages = Vec::new();
    for _ in 0..N_SOCKETS {
        pages.push(open(silas.port(), &device).await);
    }
    let at_rest = silas.resident_bytes();
    let (stop, stopped) = watch::channel(false);
    let mut writers = Vec::new();
    let mut seen = Vec::new();
    let mut readers = tokio::task::JoinSet::new();
    for (reader, writer, seq) in pages {
        let mine = Arc::new(Seen { seq: AtomicU64::new(seq), ..Seen::default() });
        seen.push(mine.clone());
        writers.push(writer);
        readers.spawn(listen(reader, mine, stopped.clone()));
    }

    let mut every = tokio::time::interval(Duration::from_micros(1_000_000 / PER_SECOND));
    // What a loaded machine was too slow to write is not written all at once; where the rate counts, it is caught up with.
    every.set_missed_tick_behavior(pace);
    let began = Instant::now();
    let (mut turns, mut asked) = (0, vec![0; N_SOCKETS]);
    for n in 0..secs * PER_SECOND {
        every.tick().await;
        let place = usize::try_from(n).unwrap() % N_SOCKETS;
        let text = match n % TURN_EVERY {
            0 => {
                turns += 1;
                said(&device, &installation, n)
            }
            odd if odd % 2 == 1 => json!({ "type": "tasks" }).to_string(),
            _ => json!({ "type": "cards", "from": 0 }).to_string(),
        };
        asked[place] += u64::from(n % TURN_EVERY != 0);
        writers[place].write_all(&http::text_frame(&text)).await.unwrap();
    }

    let written = began.elapsed();

    // Whoever answers a few a second has most of them still to answer now; whoever keeps up has few.
    let n_asked: u64 = asked.iter().sum();
    let n_answered: u64 = seen.iter().map(|seen| seen.answers.load(Ordering::Relaxed)).sum();
    println!("{n_answered} of {n_asked} questions were answered when the last message was written");
    assert!(2 * n_answered >= n_asked, "{n_answered} of {n_asked} were answered when the last was written");

    // Each question is answered where it was asked; each turn, and the answer to it, is told everywhere, once and in order.
    let first = seen[0].seq.load(Ordering::Relaxed);
    let done = |seen: &Seen, asked: u64, head: u64| {
        seen.answers.load(Ordering::Relaxed) >= asked && seen.seq.load(Ordering::Relaxed) >= head
    };
    assert!(turns > 0 && first > 0);
    let head = head_of(silas, 2 * turns).await;
    while !seen.iter().zip(&asked).all(|(seen, asked)| done(seen, *asked, head)) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let n_messages = secs * PER_SECOND;
    let [wrote, reached] = [written, began.elapsed()].map(|took| n_messages as f64 / took.as_secs_f64());
    println!(
        "{n_messages} messages ({turns} turns, {n_asked} questions) to {N_SOCKETS} pages: {wrote:.1} a second were written, \
         {reached:.1} a second were dealt with, of {PER_SECOND} wanted"
    );
    // At its highest, and not when all is over.
    let grown = silas.peak_bytes().saturating_sub(at_rest);
    println!("{N_SOCKETS} pages at rest: {} MiB; {turns} turns: at most {} MiB more", at_rest >> 20, grown >> 20);
    stop.send_replace(true);
    while readers.join_next().await.is_some() {}
    for (seen, asked) in seen.iter().zip(&asked) {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        assert_eq!((read(&seen.errors), read(&seen.gaps), read(&seen.answers)), (0, 0, *asked));
    }
    assert!(grown < GROWTH_BYTES_MAX, "{} MiB at rest and at most {} MiB more", at_rest >> 20, grown >> 20);
    reached
}

/// The number of the last entry, once so many are there.
async fn head_of(silas: &Silas, n_entries: u64) -> u64 {
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.busy_timeout(PATIENCE).unwrap();
    loop {
        let (n, head): (i64, i64) = db
            .query_row("SELECT count(*), coalesce(max(seq), 0) FROM channel_outbox", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        if u64::try_from(n).unwrap() >= n_entries {
            return u64::try_from(head).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn said(device: &Device, installation: &InstallationId, n: u64) -> String {
    let body = MessageBody {
        text: format!("hello, for the {n}th time"),
        timestamp: now(),
        nonce: Nonce::new(&OsRandom),
        installation: installation.clone(),
        scope: OWNER_SCOPE.to_owned(),
    };
    let signature = device.sign(&body.message().unwrap());
    json!({ "type": "message", "message": { "body": body, "signature": signature } }).to_string()
}

/// A page that is in: its two halves, and the number at which it begins.
async fn open(port: u16, device: &Device) -> (OwnedReadHalf, OwnedWriteHalf, u64) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    socket
        .write_all(http::upgrade_request(&format!("localhost:{port}"), &format!("http://localhost:{port}")).as_bytes())
        .await
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    let (mut reader, mut writer) = socket.into_split();
    let hello: Value = serde_json::from_slice(&frame(&mut reader).await.unwrap().1).unwrap();
    writer.write_all(&http::text_frame(&device.auth(&hello, None).to_string())).await.unwrap();
    let welcome: Value = serde_json::from_slice(&frame(&mut reader).await.unwrap().1).unwrap();
    assert_eq!(welcome["type"], "welcome");
    (reader, writer, welcome["seq"].as_u64().unwrap())
}

async fn listen(mut reader: OwnedReadHalf, seen: Arc<Seen>, mut stopped: watch::Receiver<bool>) {
    loop {
        let (opcode, text) = tokio::select! {
            frame = frame(&mut reader) => frame.expect("the server hung up"),
            _ = stopped.changed() => return,
        };
        assert_eq!(opcode, 1, "{}", String::from_utf8_lossy(&text));
        // Only what is looked at is parsed: there are many.
        if text.starts_with(b"{\"type\":\"message\"") {
            let message: Value = serde_json::from_slice(&text).unwrap();
            let seq = message["seq"].as_u64().unwrap();
            let before = seen.seq.swap(seq, Ordering::Relaxed);
            seen.gaps.fetch_add(u64::from(seq != before + 1), Ordering::Relaxed);
        } else if text.starts_with(b"{\"type\":\"tasks\"") || text.starts_with(b"{\"type\":\"cards_page\"") {
            seen.answers.fetch_add(1, Ordering::Relaxed);
        } else if text.starts_with(b"{\"type\":\"error\"") {
            seen.errors.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn frame(reader: &mut OwnedReadHalf) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    reader.read_exact(&mut head).await.ok()?;
    let length = match head[1] & 0x7f {
        126 => u64::from(reader.read_u16().await.ok()?),
        127 => reader.read_u64().await.ok()?,
        short => u64::from(short),
    };
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    reader.read_exact(&mut payload).await.ok()?;
    Some((head[0] & 0x0f, payload))
}

#[test]
fn devices_at_one_address_share_what_it_may_say() {
    let silas = Silas::start_with(&[
        ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "3"),
        ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_IP", "4"),
    ]);
    let (one, two) = (silas.pair(), silas.pair());
    let (mut one, mut two) = (Page::open(&silas, &one, None), Page::open(&silas, &two, None));
    let asks = |page: &mut Page| page.ask(&json!({ "type": "tasks" }));
    let answers = [asks(&mut one), asks(&mut one), asks(&mut one), asks(&mut two), asks(&mut two)];
    assert_eq!(answers, ["tasks", "tasks", "tasks", "tasks", "E_CHANNEL_BUSY"]);
    // The terminal comes from no address.
    assert_eq!(silas.command(&["task", "list"]).0, 0);
}

#[test]
fn lower_limits_hold() {
    let silas = Silas::start_with(&[
        ("SILAS__LIMITS__CONNECTIONS_MAX", "8"),
        ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "3"),
    ]);
    let (device, other) = (silas.pair(), silas.pair());
    let port = silas.port();
    let mut pages: Vec<Page> = (0..7).map(|_| Page::open(&silas, &device, None)).collect();
    let mut others = Page::open(&silas, &other, None);
    let try_one_more = || http::upgrade(port, &format!("localhost:{port}"), &format!("http://localhost:{port}")).0;
    assert_eq!(try_one_more(), 503);
    assert_eq!(
        http::get(port, "/health").1,
        r#"{"status":"overloaded","connections":8,"backpressure":{"turns":"free","writes":"free","reads":"free","sockets":"full"}}"#
    );
    // A device that asks too often is told so, at whichever of its pages, and no other device notices.
    let answers: Vec<String> =
        [0, 1, 0, 0, 1, 2].iter().map(|page| pages[*page].ask(&json!({ "type": "tasks" }))).collect();
    assert_eq!(answers, ["tasks", "tasks", "tasks", "E_CHANNEL_BUSY", "E_CHANNEL_BUSY", "E_CHANNEL_BUSY"]);
    assert_eq!(others.ask(&json!({ "type": "tasks" })), "tasks");
    // What can only take away is never told to wait.
    pages[0].send_raw(&http::text_frame(&json!({ "type": "stop" }).to_string()));
    assert_eq!(pages[0].next_of(&["stopped", "error"])["n_works"], 0);
    // What is larger than a message can be ends that connection and no other.
    pages[2].send_raw(&http::text_frame(&"x".repeat(200 * 1024)));
    assert!(pages[2].is_closed());
    // A frame that only announces more than there can be is not waited for, nor is memory set aside for it.
    pages[3].send_raw(&[0x81, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0]);
    assert!(pages[3].is_closed());
    let until = Instant::now() + PATIENCE;
    while try_one_more() != 101 {
        assert!(Instant::now() < until, "the place was not given back");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(others.ask(&json!({ "type": "tasks" })), "tasks");
    assert!(silas.line().ask("what did you do?").contains("so far"));
}

/// Two tabs of a browser are one device: what one has asked the other cannot ask, and a tab that is opened anew is no way
/// around it.
#[test]
fn two_tabs_of_one_device_share_one_pace() {
    let silas = Silas::start_with(&[("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "4")]);
    let (device, phone) = (silas.pair(), silas.pair());
    let tasks = json!({ "type": "tasks" });
    let (mut left, mut right) = (Page::open(&silas, &device, None), Page::open(&silas, &device, None));
    let answers: Vec<String> = (0..3).flat_map(|_| [left.ask(&tasks), right.ask(&tasks)]).collect();
    assert_eq!(answers, ["tasks", "tasks", "tasks", "tasks", "E_CHANNEL_BUSY", "E_CHANNEL_BUSY"]);
    drop((left, right));
    assert_eq!(Page::open(&silas, &device, None).ask(&tasks), "E_CHANNEL_BUSY", "opened anew");
    assert_eq!(Page::open(&silas, &phone, None).ask(&tasks), "tasks", "another device has its own");
}

#[test]
fn a_page_hears_that_the_line_is_alive_and_one_that_is_gone_loses_its_place() {
    let silas = Silas::start_with(&[("SILAS__LIMITS__WS_BEAT_SECONDS", "1")]);
    let device = silas.pair();
    let mut page = Page::open(&silas, &device, None);
    assert_eq!(page.next_of(&["beat"])["type"], "beat");
    // It answers no ping, as a phone that has left the house.
    assert!(page.is_closed());
    let until = Instant::now() + PATIENCE;
    while !http::get(silas.port(), "/health").1.starts_with(r#"{"status":"ok","connections":0,"#) {
        assert!(Instant::now() < until, "the place was not given back");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// With every place of the owner's queue taken, anybody is told that Silas is overloaded, and nobody how much of what waits.
#[test]
fn health_tells_that_the_queue_is_full() {
    let mut silas = Silas::start();
    let _paired = silas.pair();
    silas.terminate();
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    // Not due before tomorrow, so that they wait however fast this machine is.
    let due = now().micros() + 24 * 3600 * 1_000_000;
    for n in 0..256 {
        let body = format!(
            r#"{{"id":"msg-{n}","channel":"cli","text":"later","at":"2026-01-01T00:00:00.000000Z","taint":"owner"}}"#
        );
        db.execute(
            "INSERT INTO queue (message_id, queue, key, kind, body, trace_id, state, attempts, available_at, fence)
             VALUES (?1, 'turns', 'owner', 'user_message', ?2, ?1, 'ready', 0, ?3, 0)",
            rusqlite::params![format!("msg-{n}"), body, due],
        )
        .unwrap();
    }
    drop(db);
    silas.up(&[]);
    let (status, health) = http::get(silas.port(), "/health");
    let expected = r#"{"status":"overloaded","connections":0,"backpressure":{"turns":"full","writes":"free","reads":"free","sockets":"free"}}"#;
    assert_eq!((status, health.as_str()), (200, expected));
    let mut line = silas.line();
    line.say("hello").unwrap();
    assert_eq!(line.wait_for("error").unwrap()["code"], "busy_retry");
}
