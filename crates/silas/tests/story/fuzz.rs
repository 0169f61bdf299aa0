//! A hundred thousand frames that nobody should send, from a device that is let in: not one of them changes anything.

use crate::harness::{ASKING, Device, OsRandom, Silas};
use crate::http;
use crate::page::Page;
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind};
use silas_core::token::Verdict;
use silas_core::{InstallationId, Nonce, Random};
use silas_web::protocol::ClientMessage;
use std::collections::{BTreeMap, BTreeSet};

const N_FRAMES: usize = 100_000;
/// Pages that send them.
const N_PAGES: u64 = 4;
/// After about so many frames comes one that breaks the rules of WebSockets themselves, which ends the connection.
const BREAK_EVERY: usize = 500;
/// Frames that are sent before the answers are waited for; fewer than fit between the two sides.
const BATCH: usize = 64;

/// Small, fast and repeatable.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

#[test]
fn no_frame_changes_anything() {
    let seed = std::env::var("SILAS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        let mut bytes = [0; 8];
        OsRandom.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    });
    println!("seed {seed}; repeat with SILAS_SEED={seed}");
    let silas = Silas::start_with(&[
        ASKING,
        ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "10000000"),
        ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_IP", "10000000"),
        // The card that waits is not parked meanwhile, however slow this machine is.
        ("SILAS__APPROVAL__PLAN_TIMEOUT_SECONDS", "86400"),
    ]);
    let device = silas.pair();
    let mut line = silas.line();
    line.ask("add task Water the plants");
    line.run(&silas.wish()).unwrap();
    let installation = line.installation();
    let execution = line.work.keys().next().unwrap().clone();
    // A plan that is really asked about: what is poured in names it, and shows its very offer.
    line.say(&silas.wish()).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    let templates = templates(&installation, &execution, &card, &device);
    let said: BTreeSet<&str> = templates.iter().filter_map(|template| template["type"].as_str()).collect();
    assert_eq!(said, types(&silas).iter().map(String::as_str).collect(), "there is one of each");
    let before = (state(&silas), silas.tree());

    std::thread::scope(|scope| {
        for n in 0..N_PAGES {
            let (silas, device, aims) = (&silas, &device, Aims { templates: &templates, card: &card });
            let dice = Dice((seed ^ n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1);
            scope.spawn(move || pour(silas, device, aims, dice, seed));
        }
    });
    let mut after = state(&silas);
    let refused = refusals(&before.0, &mut after, &card);
    for (table, rows) in after {
        let new: Vec<&String> = rows.iter().filter(|row| !before.0[&table].contains(row)).collect();
        assert!(new.is_empty() && rows.len() == before.0[&table].len(), "seed {seed}, {table}: {new:#?}");
    }
    // They came as far as the decision itself, and were refused there for each of the reasons.
    for reason in ["the signature does not fit the decision", "the device is not paired", "not about this card"] {
        assert!(refused.iter().any(|row| row.contains(reason)), "seed {seed}: nobody was told that {reason}");
    }
    assert_eq!(silas.tree(), before.1, "seed {seed}");
    silas.assert_ledger_holds();
    assert!(line.ask("what did you do?").contains("so far"));
    // It still waits for the owner, and their own answer is the one that counts.
    let token = device.answer(card.offer.as_ref().unwrap(), Verdict::Declined);
    let (recorded, message) = line.submit(&card, &token).unwrap();
    assert!(recorded, "seed {seed}: {message}");
}

/// Takes out what the ledger may have more of, and the names of that: that somebody tried to decide about this card, and was
/// refused.
fn refusals(
    before: &BTreeMap<String, Vec<String>>,
    after: &mut BTreeMap<String, Vec<String>>,
    card: &Card,
) -> Vec<String> {
    let ledger = "agent.sqlite ledger";
    let is_refusal = |row: &String| row.contains(" decision_refused {") && row.contains(&card.id.to_string());
    let new: BTreeSet<String> = after[ledger].iter().skip(before[ledger].len()).cloned().collect();
    let rows = after.get_mut(ledger).unwrap();
    let refused: Vec<String> = rows.extract_if(.., |row| is_refusal(row) && new.contains(row)).collect();
    let seqs: BTreeSet<&str> = refused.iter().filter_map(|row| row.split(' ').next()).collect();
    let is_name = |row: &String| row.rsplit(' ').next().is_some_and(|seq| seqs.contains(seq));
    after.get_mut("agent.sqlite ledger_ids").unwrap().retain(|row| !is_name(row));
    refused
}

/// What the frames are made from, and the card that really waits.
#[derive(Clone, Copy)]
struct Aims<'a> {
    templates: &'a [Value],
    card: &'a Card,
}

/// One page's share.
fn pour(silas: &Silas, device: &Device, aims: Aims<'_>, mut dice: Dice, seed: u64) {
    let mut page = Page::open(silas, device, None);
    let (share, mut sent) = (N_FRAMES / N_PAGES as usize, 0);
    while sent < share {
        let n = BATCH.min(share - sent);
        sent += n;
        let frames: Vec<u8> = (0..n).flat_map(|_| http::text_frame(&mutated(&mut dice, aims))).collect();
        page.send_raw(&frames);
        // Everything before this was dealt with.
        page.settle();
        if sent % BREAK_EVERY < BATCH {
            page.send_raw(&broken(&mut dice));
            assert!(page.is_closed(), "seed {seed}, frame {sent}");
            assert_eq!(stranger(silas.port(), &mutated(&mut dice, aims)), Some(4001), "seed {seed}, frame {sent}");
            page = Page::open(silas, device, None);
        }
    }
}

/// How somebody who has not answered the challenge is sent away.
fn stranger(port: u16, says: &str) -> Option<u16> {
    let mut socket = http::upgrade(port, &format!("localhost:{port}"), &format!("http://localhost:{port}")).1;
    let (1, _challenge) = http::read_frame(&mut socket)? else { return None };
    http::write_text(&mut socket, says);
    let (8, reason) = http::read_frame(&mut socket)? else { return None };
    Some(u16::from_be_bytes([*reason.first()?, *reason.get(1)?]))
}

/// Every row of both files but the list of who is connected, and the number that counts these among all changes. The ledger, and
/// so its head, is among them.
fn state(silas: &Silas) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for file in ["agent.sqlite", "db.sqlite"] {
        let db = rusqlite::Connection::open(silas.data().join("store").join(file)).unwrap();
        let mut tables =
            db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sessions'").unwrap();
        let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(!tables.is_empty());
        for table in tables {
            let is_counter = (file, table.as_str()) == ("agent.sqlite", "changes");
            let columns = if is_counter { "host, place" } else { "*" };
            let mut rows = db.prepare(&format!("SELECT {columns} FROM \"{table}\"")).unwrap();
            let n_columns = rows.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                (0..n_columns).map(|n| Ok(shown(row.get_ref(n)?))).collect::<Result<Vec<_>, rusqlite::Error>>()
            };
            let rows = rows.query_map([], row).unwrap().map(|row| row.unwrap().join(" ")).collect();
            found.insert(format!("{file} {table}"), rows);
        }
    }
    found
}

fn shown(value: rusqlite::types::ValueRef<'_>) -> String {
    value.as_str().map_or_else(|_| format!("{value:?}"), str::to_owned)
}

/// Every type of message that there is, as the server itself publishes them.
fn types(silas: &Silas) -> BTreeSet<String> {
    let (_, text) = http::get(silas.port(), "/openapi.json");
    let document: Value = serde_json::from_str(&text).unwrap();
    let kinds = document["components"]["schemas"]["ClientMessage"]["oneOf"].as_array().expect("the types of messages");
    kinds.iter().map(|kind| kind["properties"]["type"]["const"].as_str().unwrap().to_owned()).collect()
}

/// One of each message, well formed: what is signed was signed by nobody, and what has a time is long over. Those about the
/// card that waits are right in all but the signature: it is a stranger's, or the device's for something else.
fn templates(installation: &InstallationId, execution: &str, card: &Card, device: &Device) -> Vec<Value> {
    let nonce = Nonce::new(&OsRandom);
    let stranger = Device::new();
    let at = "2020-01-01T00:00:00.000000Z";
    let signature = json!(stranger.sign("something else"));
    let body = json!({ "text": "run `rm x` in `/` and check with `true`", "timestamp": at, "nonce": nonce, "installation": installation, "scope": "owner" });
    let message = json!({ "body": body, "signature": signature });
    let offer = json!({ "v": 1, "kind": "plan", "scope": "full_plan", "installation": installation, "epoch": 1,
        "work_item_id": "task-1", "plan_hash": "0".repeat(64), "shown": "0".repeat(64), "nonce": nonce, "issued_at": at,
        "expires_at": at, "max_executions": 1, "approval_strength": "tap", "conditions": {} });
    let token =
        json!({ "body": { "offer": offer, "key": stranger.id(), "verdict": "approved" }, "signature": signature });
    let withdrawal = json!({ "body": { "kind": "withdrawal", "installation": installation, "epoch": 1, "key": stranger.id(),
        "what": { "device": stranger.id() }, "nonce": nonce, "timestamp": at }, "signature": signature });
    let offer = card.offer.as_ref().unwrap();
    let by_stranger = stranger.answer(offer, Verdict::Approved);
    let mut in_its_name = by_stranger.clone();
    in_its_name.body.key = device.id();
    let mut for_another = device.answer(offer, Verdict::Approved);
    for_another.signature = device.sign("something else");
    let answered = |token| json!({ "type": "approval_response", "request_id": card.id, "token": token });
    vec![
        answered(json!(by_stranger)),
        answered(json!(in_its_name)),
        answered(json!(for_another)),
        json!({ "type": "renew", "request_id": card.id }),
        json!({ "type": "dismiss", "request_id": card.id }),
        json!({ "type": "model_again", "request_id": card.id }),
        json!({ "type": "auth", "key": stranger.id(), "signature": signature, "resume": { "session": "sess-1", "seen": 3 }, "token": null }),
        json!({ "type": "ack", "seq": 0 }),
        json!({ "type": "message", "message": message }),
        json!({ "type": "approval_response", "request_id": "card-1", "token": token }),
        json!({ "type": "renew", "request_id": "card-1" }),
        json!({ "type": "dismiss", "request_id": "card-1" }),
        json!({ "type": "withdraw", "withdrawal": withdrawal }),
        json!({ "type": "house_rules" }),
        json!({ "type": "root_add", "path": "/nowhere/at-all" }),
        json!({ "type": "proof", "execution": execution }),
        json!({ "type": "bundle", "execution": execution }),
        json!({ "type": "later_edits", "execution": execution }),
        json!({ "type": "way_back", "execution": "exec-1" }),
        json!({ "type": "work_list", "from": 0 }),
        json!({ "type": "grants", "from": 0 }),
        json!({ "type": "activity", "before": 5 }),
        json!({ "type": "evidence", "seq": 5 }),
        json!({ "type": "stop", "execution": execution }),
        json!({ "type": "interrupt" }),
        json!({ "type": "passkey_add", "name": "a key", "public": stranger.public(), "site": { "rp_id": "localhost", "origin": "http://localhost:1" } }),
        json!({ "type": "models" }),
        json!({ "type": "model_add", "grant": { "kind": "model", "model": "ollama:x@http://127.0.0.1:1", "roles": ["proxy"], "key": null, "price": null, "policy_version": 1 } }),
        json!({ "type": "model_check", "role": "proxy" }),
        json!({ "type": "decision_response", "request_id": "card-1", "message": { "body": { "text": "x", "timestamp": "2026-01-01T00:00:00.000000Z", "nonce": "n-1", "installation": "inst-1", "scope": "answer:card-1" }, "signature": null } }),
        json!({ "type": "model_choose", "request_id": "card-1", "model": "ollama:x", "key": "none", "price": { "input": 1, "output": 2 } }),
        json!({ "type": "model_again", "request_id": "card-1" }),
        json!({ "type": "model_another", "request_id": "card-1" }),
        json!({ "type": "verify" }),
        json!({ "type": "sessions" }),
        json!({ "type": "measures" }),
        json!({ "type": "tasks" }),
        json!({ "type": "cards", "from": 5 }),
        json!({ "type": "dead_letters" }),
        json!({ "type": "revive", "message": "msg-1" }),
        json!({ "type": "ledger_text", "seq": 1 }),
        json!({ "type": "forget", "seq": 1, "message": message }),
        json!({ "type": "command_run", "run": { "token": token, "certificate": { "body": { "v": 1, "kind": "terminal",
            "installation": installation, "name": "x", "key": stranger.id(), "public": stranger.public(), "issued_at": at },
            "signature": signature }, "envelope": "{}", "outcome": "exit_0" } }),
        json!({ "type": "ledger", "after": 1 }),
    ]
}

fn mutated(dice: &mut Dice, aims: Aims<'_>) -> String {
    loop {
        let text = mutation(dice, aims.templates);
        // A whole message is heard and written down, whoever signed it, and trusted as little as that deserves. A check of
        // the ledger and a proof are signed by the server; the others put a card into Review or
        // take one out, which decides nothing.
        let writes = serde_json::from_str(&text).is_ok_and(|message| match message {
            ClientMessage::Renew { request_id, .. } | ClientMessage::Dismiss { request_id } => {
                request_id == aims.card.id
            }
            message => matches!(
                message,
                ClientMessage::Message { .. }
                    | ClientMessage::Verify {}
                    | ClientMessage::Bundle { .. }
                    | ClientMessage::HouseRules {}
                    | ClientMessage::PasskeyAdd { .. }
                    | ClientMessage::ModelAdd { .. }
            ),
        });
        if !writes {
            return text;
        }
    }
}

fn mutation(dice: &mut Dice, templates: &[Value]) -> String {
    let mut value = dice.pick(templates).clone();
    match dice.roll(10) {
        0 => noise(dice),
        1 => {
            let depth = 1 + dice.roll(2000);
            format!("{{\"type\":{}1{}}}", "[".repeat(depth), "]".repeat(depth))
        }
        // The same key twice.
        2 => format!("{{\"type\":\"stop\",{}", &value.to_string()[1..]),
        n @ 3..=6 => {
            for _ in 2..n {
                damage(dice, &mut value);
            }
            value.to_string()
        }
        _ => {
            let mut bytes = value.to_string().into_bytes();
            for _ in 0..=dice.roll(4) {
                let at = dice.roll(bytes.len().max(1));
                match dice.roll(3) {
                    0 => bytes[at] = b' ' + dice.roll(95) as u8,
                    1 if bytes.len() > 1 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

fn noise(dice: &mut Dice) -> String {
    let n = dice.roll(300);
    (0..n).filter_map(|_| char::from_u32(dice.roll(0x11_0000) as u32)).collect()
}

/// Changes one thing somewhere inside.
fn damage(dice: &mut Dice, value: &mut Value) {
    let odd = [
        json!(null),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("\u{202e}\u{0}"),
        json!([]),
        json!({}),
        json!(true),
        json!("stop"),
        json!("x".repeat(1000)),
        json!(2_u64.pow(53)),
    ];
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = dice.pick(&names).clone();
            match dice.roll(4) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert(format!("{name}_"), json!(1))),
                2 => drop(fields.insert(name, dice.pick(&odd).clone())),
                _ => damage(dice, fields.get_mut(&name).unwrap()),
            }
        }
        other => *other = dice.pick(&odd).clone(),
    }
}

/// Frames that are none: reserved bits, unknown kinds, no mask, lengths that lie, text that is not UTF-8.
fn broken(dice: &mut Dice) -> Vec<u8> {
    match dice.roll(6) {
        0 => vec![0xf1, 0x80, 0, 0, 0, 0],
        1 => vec![0x83, 0x80, 0, 0, 0, 0],
        2 => vec![0x81, 0x02, b'{', b'}'],
        3 => vec![0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
        4 => vec![0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28],
        // A ping that is longer than one can be, with all that it promises.
        _ => [&[0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0][..], &[0; 256]].concat(),
    }
}
