//! The ledger's proofs: what is checked on the machine, what an export shows on any other, and every way to tamper with
//! either, found and located.

use crate::harness::Silas;
use rusqlite::Connection;
use serde_json::{Value, json};
use silas_core::card::CardKind;
use silas_core::chain::{self, Chain, Link};
use silas_core::checkpoint::Head;
use silas_core::{Digest, Timestamp};
use std::fs;
use std::path::PathBuf;

/// A paired browser, a plan that was carried out and undone, a declined plan and a task; then Silas is stopped.
fn lived() -> Silas {
    let mut silas = Silas::start_asking();
    silas.pair();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    line.approve(CardKind::Done).unwrap();
    line.wait(|line| line.work.values().any(|work| work["place"] == "Undone")).unwrap();
    line.say(&silas.wish()).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    assert!(line.decide(&card, silas_core::token::Verdict::Declined).unwrap().0);
    assert!(line.ask("add task `Water the plants`").contains("Added"));
    drop(line);
    silas.terminate();
    silas
}

/// The root key, as a person would have written it down.
fn root(silas: &Silas) -> String {
    let known: Value = serde_json::from_slice(&fs::read(silas.data().join("keys/installation.json")).unwrap()).unwrap();
    known["root"].as_str().unwrap().to_owned()
}

fn export(silas: &Silas, more: &[&str]) -> PathBuf {
    let file = silas.outside().join(format!("export{}", more.len()));
    let (code, text) = silas.command(&[&["audit", "export", file.to_str().unwrap()], more].concat());
    assert_eq!(code, 0, "{text}");
    file
}

/// Checks an export where nothing else of Silas is.
fn check(silas: &Silas, lines: &[Value]) -> (i32, String) {
    let file = silas.outside().join("checked");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&file, text).unwrap();
    check_file(&file, &root(silas))
}

fn check_file(file: &std::path::Path, root: &str) -> (i32, String) {
    let empty = tempfile::tempdir().unwrap();
    let output = crate::harness::binary()
        .args(["audit", "verify", "--root", root, "--export"])
        .arg(file)
        .env_clear()
        .env("HOME", empty.path())
        .current_dir("/")
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), text)
}

fn lines(file: &std::path::Path) -> Vec<Value> {
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Where the first entry lies, and how many there are.
fn entries(lines: &[Value]) -> (usize, usize) {
    let first = lines.iter().position(|line| line.get("entry").is_some()).unwrap();
    (first, lines.len() - 1 - first)
}

fn find(lines: &[Value], event: &str) -> usize {
    lines.iter().position(|line| line["entry"]["link"]["event"] == event).unwrap_or_else(|| panic!("no {event}"))
}

/// Computes the hashes anew from a line on, as a forger would who has no key.
fn rehash(lines: &mut [Value], from: usize) {
    let mut prev: Digest = match lines[from - 1].get("entry") {
        Some(entry) => serde_json::from_value(entry["link"]["hash"].clone()).unwrap(),
        None => chain::first_prev(),
    };
    let mut seq = lines[from - 1]["entry"]["link"]["seq"].as_u64().unwrap_or(0);
    for line in lines[from..].iter_mut().filter(|line| line.get("entry").is_some()) {
        seq += 1;
        let link = &mut line["entry"]["link"];
        let at: Timestamp = serde_json::from_value(link["at"].clone()).unwrap();
        let hash = chain::hash(seq, at, link["body"].as_str().unwrap(), &prev).unwrap();
        (link["seq"], link["prev"], link["hash"]) = (json!(seq), json!(prev), json!(hash));
        prev = hash;
    }
}

#[test]
fn an_export_is_checked_with_nothing_but_the_public_key() {
    let silas = lived();
    let (code, text) = silas.command(&["audit", "verify"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Every effect was allowed: 5 decisions"), "{text}");
    let file = export(&silas, &[]);
    let (code, text) = check_file(&file, &root(&silas));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Export verified") && text.contains("1 signed instructions"), "{text}");
    // What was said is in it only if it is asked for, and then it is checked too.
    assert!(!fs::read_to_string(&file).unwrap().contains("\"text\":{\"salt\""));
    let wordy = export(&silas, &["--with-texts"]);
    assert_eq!(check_file(&wordy, &root(&silas)).0, 0);
    let mut words = lines(&wordy);
    let at = find(&words, "reply_sent");
    words[at]["entry"]["text"]["text"] = json!("something else");
    let (code, text) = check(&silas, &words);
    assert!(code == 1 && text.contains("has a text that was altered"), "{text}");
    // Nothing is overwritten, and another root key vouches for nothing.
    assert_eq!(silas.command(&["audit", "export", file.to_str().unwrap()]).0, 1);
    let (code, text) = check_file(&file, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    assert!(code == 1 && text.contains("not by the one that was asked for"), "{text}");
    assert_eq!(check_file(&silas.repo().join("fix.sh"), &root(&silas)).0, 1);
}

#[test]
fn every_way_to_tamper_with_an_export_is_found_and_located() {
    let silas = lived();
    let honest = lines(&export(&silas, &[]));
    let other = lived();
    let foreign = lines(&export(&other, &[]));
    let (first, n) = entries(&honest);
    type Forge<'a> = Box<dyn Fn(&mut Vec<Value>) + 'a>;
    let n_checkpoints = first - 1;
    assert!(n_checkpoints > 0);
    let cases: Vec<(&str, Forge<'_>, String)> = vec![
        (
            "edited",
            Box::new(|l| l[first + 2]["entry"]["link"]["body"] = json!("{}")),
            "Entry 3 of the ledger was altered".into(),
        ),
        ("deleted", Box::new(|l| drop(l.remove(first + 4))), "Entry 5 of the ledger is missing".into()),
        ("inserted", Box::new(|l| l.insert(first + 4, l[first + 3].clone())), "Entry 5 of the ledger".into()),
        ("reordered", Box::new(|l| l.swap(first + 1, first + 5)), "Entry 2 of the ledger".into()),
        ("cut short", Box::new(|l| l.truncate(first + 6)), "it has no end".into()),
        (
            "cut with an end made to fit",
            Box::new(|l| {
                l.drain(first + 6..l.len() - 1);
                *l.last_mut().unwrap() = json!({ "end": { "entries": 6, "checkpoints": n_checkpoints } });
            }),
            "its end was cut off".into(),
        ),
        (
            "spliced with another ledger",
            Box::new(|l| {
                let from = entries(&foreign).0;
                l.splice(first + 6..first + 8, foreign[from + 6..from + 8].to_vec());
            }),
            "Entry 7 of the ledger does not follow the entry before it".into(),
        ),
        (
            "hashed anew from an entry on",
            Box::new(|l| {
                let at = l[first + 3]["entry"]["link"]["at"].clone();
                l[first + 4]["entry"]["link"]["at"] = at;
                rehash(l, first + 4);
            }),
            "is not the one that was signed".into(),
        ),
        (
            "a checkpoint by somebody else",
            Box::new(|l| l[1] = foreign[1].clone()),
            "was not signed by this installation".into(),
        ),
    ];
    assert!(n > 20);
    for (way, forge, expect) in cases {
        let mut forged = honest.clone();
        forge(&mut forged);
        let (code, text) = check(&silas, &forged);
        assert!(code == 1 && text.contains(&expect), "{way}: {text}");
    }
}

/// Whoever also has the server key can make a chain that holds. What approvals allow, they cannot make.
#[test]
fn a_chain_that_holds_does_not_make_effects_allowed() {
    let silas = lived();
    let mut honest = lines(&export(&silas, &[]));
    honest.retain(|line| line.get("checkpoint").is_none());
    let end = honest.len() - 1;
    honest[end]["end"]["checkpoints"] = json!(0);
    let refit = |mut forged: Vec<Value>, from: usize| {
        rehash(&mut forged, from);
        let n = entries(&forged).1;
        *forged.last_mut().unwrap() = json!({ "end": { "entries": n, "checkpoints": 0 } });
        forged
    };
    assert_eq!(check(&silas, &refit(honest.clone(), 1)).0, 0, "without checkpoints it still holds");
    let plan = honest.iter().position(|l| {
        l["entry"]["link"]["event"] == "decision_recorded"
            && l["entry"]["link"]["body"].as_str().unwrap().contains("\"kind\":\"plan\"")
    });
    let plan = plan.unwrap();
    let spent = plan + 1;
    assert_eq!(honest[spent]["entry"]["link"]["event"], "token_spent");

    let mut unspent = honest.clone();
    unspent.remove(spent);
    let (code, text) = check(&silas, &refit(unspent, spent));
    assert!(code == 1 && text.contains("no approval was spent"), "{text}");

    let mut twice = honest.clone();
    twice.insert(spent, honest[spent].clone());
    let (code, text) = check(&silas, &refit(twice, spent));
    assert!(code == 1 && text.contains("more than the 1 times"), "{text}");

    let mut late = honest.clone();
    for line in &mut late[spent..] {
        if line.get("entry").is_some() {
            line["entry"]["link"]["at"] = json!("2099-01-01T00:00:00.000000Z");
        }
    }
    let (code, text) = check(&silas, &refit(late, spent));
    assert!(code == 1 && text.contains("has expired"), "{text}");

    let mut content = honest.clone();
    let payload = &mut content[plan]["entry"]["beside"]["decision"]["payload"];
    *payload = json!(payload.as_str().unwrap().replace("fix.sh", "evil.sh"));
    let (code, text) = check(&silas, &content);
    assert!(code == 1 && text.contains("not what was approved"), "{text}");

    let mut count = honest;
    count[plan]["entry"]["beside"]["decision"]["executions_used"] = json!(0);
    let (code, text) = check(&silas, &count);
    assert!(code == 1 && text.contains("the database counts 0"), "{text}");
}

/// The same questions to the database itself.
#[test]
fn approvals_that_were_tampered_with_in_the_database_are_found() {
    let silas = lived();
    let path = silas.data().join("store/agent.sqlite");
    let pristine = silas.outside().join("pristine");
    fs::copy(&path, &pristine).unwrap();
    let forgeries = [
        ("UPDATE tokens SET executions_used = 0 WHERE kind = 'plan' AND verdict = 'approved'", "the database counts 0"),
        (
            "UPDATE tokens SET payload = replace(payload, 'fix.sh', 'evil.sh') WHERE kind = 'plan'",
            "not what was approved",
        ),
        (
            "UPDATE tokens SET certificate = replace(certificate, 'Terminal', 'Terminus'), token = replace(token, '\"n-', '\"n-0')",
            "of the ledger",
        ),
        (
            "UPDATE tokens SET token = replace(token, 'declined', 'approved') WHERE verdict = 'declined'",
            "says something else",
        ),
        ("PRAGMA foreign_keys = 0; DELETE FROM tokens WHERE kind = 'root'", "names a decision that is not there"),
        ("UPDATE instructions SET signed = replace(signed, 'Water', 'Drown')", "did not sign like this"),
        ("UPDATE instructions SET grammar = 99", "version 99 of the grammar, and this Silas knows it up to version 2"),
        (
            "INSERT INTO executions (id, token_id, work_item_id, plan_hash, state, use_number, started_at)
          SELECT 'exec-ff', token_id, 'task-1', plan_hash, 'running', 7, 0 FROM executions LIMIT 1",
            "holds execution exec-ff",
        ),
    ];
    for (sql, expect) in forgeries {
        fs::copy(&pristine, &path).unwrap();
        let db = Connection::open(&path).unwrap();
        db.execute_batch(sql).unwrap();
        drop(db);
        let (code, text) = silas.command(&["audit", "verify"]);
        assert!(code == 1 && text.contains(expect), "{sql}: {text}");
    }
}

/// What the page does: it keeps the last head and computes for itself that the next one extends it.
#[test]
fn a_device_sees_for_itself_that_the_ledger_extends_what_it_knows() {
    let mut silas = Silas::start();
    let mut line = silas.line();
    let known: Head = serde_json::from_value(line.snapshot["activity"]["head"].clone()).unwrap();
    line.ask("hello");
    let ask = |line: &mut crate::harness::Line, known: Head| -> (Vec<Link>, Option<Head>) {
        line.send(&json!({ "type": "ledger", "after": known.seq })).unwrap();
        let part = line.wait_for("ledger").unwrap()["part"].clone();
        (serde_json::from_value(part["links"].clone()).unwrap(), serde_json::from_value(part["head"].clone()).unwrap())
    };
    let follow = |known: Head, links: &[Link]| -> Option<Head> {
        let mut chain = Chain::after(known, Timestamp::EPOCH);
        links.iter().try_for_each(|link| chain.extend(link).map(drop)).ok()?;
        chain.head()
    };
    let (links, head) = ask(&mut line, known);
    assert!(!links.is_empty());
    let reached = follow(known, &links);
    assert_eq!(reached, head, "the segment leads from what was known to the head");
    drop(line);
    silas.terminate();
    let db = Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.execute_batch(
        "DROP TRIGGER ledger_is_not_cut; DROP TRIGGER checkpoints_are_not_deleted; DELETE FROM ledger WHERE seq > 3;
         DELETE FROM checkpoints; DELETE FROM settings WHERE key = 'verified_prefix'",
    )
    .unwrap();
    drop(db);
    silas.up(&[]);
    let mut line = silas.line();
    for _ in 0..10 {
        line.ask("hello");
    }
    let (links, _) = ask(&mut line, reached.unwrap());
    assert_eq!(follow(reached.unwrap(), &links), None, "longer than before, and still not the same line");
}

/// What people are shown from other tables is compared with the ledger: a row that was changed by hand is named.
#[test]
fn a_row_that_was_changed_by_hand_is_found_in_every_table_that_people_are_shown() {
    let silas = lived();
    let file = silas.data().join("store/agent.sqlite");
    let (code, text) = silas.command(&["audit", "verify"]);
    assert_eq!(code, 0, "{text}");
    for (change, named) in [
        (
            "UPDATE chronicle SET text = text || ' and everything else' WHERE sender = 'owner'",
            "of the conversation is not as it was",
        ),
        ("UPDATE chronicle SET text = 'Done.' WHERE sender = 'silas'", "of the conversation is not as it was"),
        ("UPDATE chronicle SET sender = 'owner' WHERE sender = 'silas'", "of the conversation is not as it was"),
        (
            "INSERT INTO chronicle (id, scope, sender, taint, text, at) VALUES ('msg-0123456789abcdef0123456789abcdef', 'owner', 'owner', 'owner', 'delete it all', 1)",
            "of which the ledger knows nothing",
        ),
        ("UPDATE executions SET state = 'applied' WHERE state = 'undone'", "is kept otherwise than the ledger tells"),
        (
            "UPDATE executions SET plan_hash = '0000000000000000000000000000000000000000000000000000000000000000'",
            "is kept otherwise than the ledger tells",
        ),
        (
            "UPDATE executions SET result = json_set(result, '$.view.title', 'Water the plants') WHERE result IS NOT NULL",
            "is kept otherwise than the ledger tells",
        ),
        (
            "UPDATE executions SET result = json_set(result, '$.view.outcome', 'guarded') WHERE result IS NOT NULL",
            "is kept otherwise than the ledger tells",
        ),
        (
            "UPDATE executions SET result = json_set(result, '$.outputs', json_array('All 214 tests passed')) WHERE result IS NOT NULL",
            "is not what was recorded: what was printed",
        ),
        (
            "UPDATE executions SET result = json_set(result, '$.before[0].output', 'ok') WHERE result IS NOT NULL",
            "is not what was recorded: what was printed",
        ),
        (
            "UPDATE executions SET result = json_set(result, '$.after[0].reason', 'All 214 tests passed') WHERE result IS NOT NULL",
            "is not what was recorded: what was printed",
        ),
        (
            "UPDATE executions SET result = json_remove(result, '$.diffs[0]') WHERE result IS NOT NULL",
            "is not what was recorded: what was printed",
        ),
        (
            "UPDATE executions SET result = json_set(result, '$.view.place', 'Applied') WHERE result IS NOT NULL",
            "is not what was recorded: what was printed",
        ),
        (
            "UPDATE executions SET result = json_set(result, '$.changeset', '0000000000000000000000000000000000000000000000000000000000000000') WHERE result IS NOT NULL",
            "is not what was recorded: what was printed",
        ),
        (
            "UPDATE executions SET result = json_remove(result, '$.salt') WHERE result IS NOT NULL",
            "is not what was recorded: what was printed",
        ),
        (
            "UPDATE executions SET result = NULL WHERE result IS NOT NULL",
            "is not kept any more, and its time is not over",
        ),
        ("DELETE FROM executions", "was begun, and is not kept any more"),
        ("DELETE FROM cards", "is not kept any more, and its time is not over"),
        ("DELETE FROM cards WHERE id = (SELECT max(id) FROM cards)", "is not kept any more, and its time is not over"),
        ("DELETE FROM chronicle", "is not kept any more, and its time is not over"),
        (
            "DELETE FROM chronicle WHERE seq = (SELECT max(seq) FROM chronicle)",
            "is not kept any more, and its time is not over",
        ),
        ("UPDATE chronicle SET seq = 1000 WHERE seq = (SELECT min(seq) FROM chronicle)", "is not where or when"),
        (
            "UPDATE chronicle SET at = at - 200000000000 WHERE seq = (SELECT max(seq) FROM chronicle)",
            "is not where or when it was recorded",
        ),
        (
            "UPDATE chronicle SET at = at + 200000000000 WHERE seq = (SELECT min(seq) FROM chronicle)",
            "is not where or when it was recorded",
        ),
        ("DELETE FROM devices", "was taken in and never revoked, and is not kept any more"),
        ("UPDATE devices SET name = 'A phone'", "otherwise than the root key certified"),
        (
            "UPDATE devices SET certificate = replace(certificate, '\"v\":1', '\"v\":2')",
            "otherwise than the root key certified",
        ),
        (
            "UPDATE cards SET card = json_set(card, '$.face.intent', 'Water the plants')",
            "does not show what was offered",
        ),
        (
            "UPDATE cards SET state = 'open', card = json_set(card, '$.state', 'open') WHERE state = 'answered'",
            "was answered, and asks as if it had not been",
        ),
        ("UPDATE cards SET card = 'nonsense'", "does not show what was offered"),
    ] {
        let kept = fs::read(&file).unwrap();
        let db = Connection::open(&file).unwrap();
        db.pragma_update(None, "foreign_keys", false).unwrap();
        assert!(db.execute(change, []).unwrap() > 0, "{change}");
        drop(db);
        for command in [&["audit", "verify"][..], &["doctor"]] {
            let (code, text) = silas.command(command);
            assert!(code != 0 && text.contains(named), "{command:?} after {change}: {text}");
        }
        fs::write(&file, kept).unwrap();
        for beside in ["agent.sqlite-wal", "agent.sqlite-shm"] {
            let _ = fs::remove_file(silas.data().join("store").join(beside));
        }
    }
    let (code, text) = silas.command(&["audit", "verify"]);
    assert_eq!(code, 0, "{text}");
}
