//! Taking back: a browser, a directory, the house rules; in the terminal, in the page, and after a restart.

use crate::harness::{Device, Silas, now, proof};
use crate::http;
use serde_json::{Value, json};
use silas_core::card::CardKind;
use silas_core::revocation::{Withdrawal, WithdrawalBody, WithdrawalKind, Withdrawn};
use silas_core::token::Verdict;
use silas_core::{InstallationId, Nonce};
use std::net::TcpStream;

/// An open page of a device, as far as the welcome.
fn page(silas: &Silas, device: &Device) -> TcpStream {
    let port = silas.port();
    let mut socket = http::upgrade(port, &format!("localhost:{port}"), &format!("http://localhost:{port}")).1;
    let hello = message(&mut socket);
    let session = json!({ "kind": "session", "challenge": hello["challenge"], "installation": hello["installation"], "key": device.id() });
    let text = silas_core::canonical::text(&session).unwrap();
    let auth = json!({ "type": "auth", "key": device.id(), "signature": device.sign(&text) }).to_string();
    http::write_text(&mut socket, &auth);
    socket
}

fn message(socket: &mut TcpStream) -> Value {
    let (1, text) = http::read_frame(socket).unwrap() else { panic!("the connection was closed") };
    serde_json::from_slice(&text).unwrap()
}

/// Reads on until the server closes, and gives the code.
fn close_code(socket: &mut TcpStream) -> u16 {
    loop {
        match http::read_frame(socket).unwrap() {
            (8, payload) => return u16::from_be_bytes([payload[0], payload[1]]),
            _ => continue,
        }
    }
}

pub(crate) fn withdrawal(device: &Device, what: Withdrawn, installation: InstallationId, epoch: u64) -> Withdrawal {
    let body = WithdrawalBody {
        kind: WithdrawalKind::Withdrawal,
        installation,
        epoch,
        key: device.id(),
        what,
        nonce: Nonce::new(&crate::harness::OsRandom),
        timestamp: now(),
    };
    Withdrawal { signature: device.sign(&body.message().unwrap()), body }
}

/// Which device each entry about a revoked one names, as often as the ledger tells of one.
fn revoked_by(silas: &Silas) -> Vec<(String, String)> {
    let database = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let mut entries = database.prepare("SELECT body FROM ledger WHERE event = 'device_revoked' ORDER BY seq").unwrap();
    let bodies = entries.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let told = bodies.map(|body| serde_json::from_str::<Value>(&body.unwrap()).unwrap());
    told.map(|told| (told["key"].as_str().unwrap().to_owned(), told["by"].as_str().unwrap_or("nobody").to_owned()))
        .collect()
}

/// Lists are put in force as they were signed: nobody is told that nothing was revoked, and each entry names who asked.
#[test]
fn devices_that_are_revoked_at_once_are_all_revoked_each_by_whoever_asked() {
    let silas = Silas::start_asking();
    let (signers, lost) = ([silas.pair(), silas.pair()], [0; 6].map(|_| silas.pair()));
    let mut line = silas.line();
    let epoch = line.snapshot["epoch"].as_u64().unwrap();
    let mut asked = Vec::new();
    for (n, device) in lost.iter().enumerate() {
        let signer = &signers[n % signers.len()];
        let withdrawal = withdrawal(signer, Withdrawn::Device(device.id()), line.installation(), epoch);
        line.send(&json!({ "type": "withdraw", "withdrawal": withdrawal })).unwrap();
        asked.push((device.id().to_string(), signer.id().to_string()));
    }
    for _ in &lost {
        let answer = line.wait_for("withdrawn").unwrap();
        assert_eq!(answer["done"], true, "{answer}");
    }
    let mut told = revoked_by(&silas);
    told.sort();
    asked.sort();
    assert_eq!(told, asked);
}

/// A page that is closed in the same moment takes nothing back of what it asked for.
#[test]
fn a_revocation_is_finished_when_the_page_that_asked_for_it_is_gone() {
    let silas = Silas::start_asking();
    let signer = silas.pair();
    let line = silas.line();
    let (installation, epoch) = (line.installation(), line.snapshot["epoch"].as_u64().unwrap());
    for n in 1..=4 {
        let lost = silas.pair();
        let mut open = page(&silas, &signer);
        assert_eq!(message(&mut open)["type"], "welcome");
        let withdrawal = withdrawal(&signer, Withdrawn::Device(lost.id()), installation.clone(), epoch);
        http::write_text(&mut open, &json!({ "type": "withdraw", "withdrawal": withdrawal }).to_string());
        // Closed for writing only: what a closed connection has not read yet would take with it what was sent.
        open.shutdown(std::net::Shutdown::Write).unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while revoked_by(&silas).len() < n {
            assert!(std::time::Instant::now() < until, "the revocation was left half done");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn revoking_a_browser_closes_its_page_and_voids_what_it_signed() {
    let mut silas = Silas::start_asking();
    let lost = silas.pair();
    let mut open = page(&silas, &lost);
    assert_eq!(message(&mut open)["type"], "welcome");
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    let root = line.card(CardKind::Root).unwrap();
    assert!(line.submit(&root, &lost.answer(root.offer.as_ref().unwrap(), Verdict::Approved)).unwrap().0);
    let plan = line.card(CardKind::Plan).unwrap();
    let kept = lost.answer(plan.offer.as_ref().unwrap(), Verdict::Approved);
    let (code, text) = silas.command(&["device", "list"]);
    assert!(code == 0 && text.contains("test browser") && text.contains("terminal"), "{text}");
    let (code, text) = silas.command(&["device", "revoke", lost.id().as_str()]);
    assert!(code == 0 && text.contains("2 grants that it signed"), "{text}");
    assert_eq!(close_code(&mut open), 4001);
    assert_eq!(close_code(&mut page(&silas, &lost)), 4001, "it does not get in again");
    // What it signed before does not count, here or after a restart, and the card still waits.
    let (recorded, message) = line.submit(&plan, &kept).unwrap();
    assert!(!recorded && message.contains("was revoked"), "{message}");
    assert!(!line.snapshot["grants"].is_null());
    let (_, grants) = silas.command(&["grant", "list"]);
    assert!(grants.contains("Nothing is granted"), "{grants}");
    drop(line);
    silas.terminate();
    silas.up(&[]);
    let mut line = silas.line();
    let (recorded, message) = line.submit(&plan, &kept).unwrap();
    assert!(!recorded && message.contains("was revoked"), "{message}");
    // The last browser is gone: the bar is not lowered, the terminal still works, and asks for what went with it.
    let (_, text) = silas.command(&["device", "list"]);
    assert!(text.contains("revoked") && text.contains("No browser is paired"), "{text}");
    let (recorded, message) = line.decide(&plan, Verdict::Approved).unwrap();
    assert!(!recorded && message.contains("plans are not allowed in"), "{message}");
    assert!(line.work.is_empty());
    line.approve(CardKind::HouseRules).unwrap();
    let told = line.ask("what did you do?");
    assert!(told.contains("Revoked test browser") && told.contains("You signed the house rules"), "{told}");
    silas.assert_ledger_holds();
    let (code, text) = silas.command(&["device", "revoke", &silas.called("device")[0]]);
    assert!(code != 0 && text.contains("way back in"), "{text}");
}

#[test]
fn a_grant_is_listed_in_words_and_revoked_at_once() {
    let silas = Silas::start_asking();
    silas.pair();
    let mut line = silas.line();
    assert_eq!(line.run(&silas.wish()).unwrap()["outcome"], "proved");
    let (_, text) = silas.command(&["grant", "list"]);
    assert!(text.contains("House rules  (1,000 of 1,000 left · until "), "{text}");
    assert!(text.contains("Work in repo  (No limit · since "), "{text}");
    let names = silas.called("grant");
    let (_, text) = silas.command(&["grant", "show", &names[1]]);
    assert!(text.contains("Signed on") && text.contains("Nothing there changes without your yes"), "{text}");
    let (code, text) = silas.command(&["grant", "revoke", &names[1]]);
    assert!(code == 0 && text.contains("holds from now on"), "{text}");
    let (_, text) = silas.command(&["grant", "list"]);
    assert!(!text.contains("Work in repo"), "{text}");
    // The directory is asked for again.
    line.say(&silas.wish()).unwrap();
    line.card(CardKind::Root).unwrap();
    let (code, text) = silas.command(&["grant", "revoke", &names[1]]);
    assert!(code == 1 && text.contains(&format!("There is no grant {}", names[1])), "{text}");
    // Without house rules nothing is dropped or begun again; a card asks for them when the owner wants.
    assert_eq!(silas.command(&["grant", "revoke", &names[0]]).0, 0);
    let (code, text) = silas.command(&["grant", "house-rules"]);
    assert!(code == 0 && text.contains("wait in Review"), "{text}");
    line.approve(CardKind::HouseRules).unwrap();
    let (_, text) = silas.command(&["grant", "list"]);
    assert!(text.contains("House rules"), "{text}");
}

#[test]
fn stopping_everything_can_take_every_grant_back() {
    let silas = Silas::start_asking();
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let (code, text) = silas.command(&["grant", "list"]);
    assert!(code == 0 && text.contains("House rules") && text.contains("Work in"), "{text}");
    let (code, text) = silas.command(&["stop", "--all"]);
    assert!(code == 0 && !text.contains("Revok"), "stopping alone takes no grant: {text}");
    let (code, text) = silas.command(&["stop", "--all", "--revoke"]);
    assert!(code == 0 && text.contains("Everything is stopped"), "{text}");
    assert!(text.contains("Revoking: House rules") && text.contains("Revoking: Work in"), "{text}");
    let (_, grants) = silas.command(&["grant", "list"]);
    assert!(grants.contains("Nothing is granted"), "{grants}");
    let (code, text) = silas.command(&["stop", "--all", "--revoke"]);
    assert!(code == 0 && text.contains("Nothing is granted"), "with nothing left it says so: {text}");
    assert_eq!(silas.command(&["audit", "verify"]).0, 0);
}

#[test]
fn a_plan_in_a_directory_that_was_taken_back_is_refused() {
    let silas = Silas::start_asking();
    let device = silas.pair();
    let original = silas.tree();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    // The page signs the withdrawal with its own key.
    let grants: Vec<Value> = serde_json::from_value(silas.line().snapshot["grants"].clone()).unwrap();
    let root = grants.iter().find(|grant| grant["title"] == "Work in repo").unwrap();
    let token = serde_json::from_value(root["token"].clone()).unwrap();
    let epoch = line.snapshot["epoch"].as_u64().unwrap();
    let withdrawn = withdrawal(&device, Withdrawn::Grant(token), line.installation(), epoch);
    let mut altered = withdrawn.clone();
    altered.body.what = Withdrawn::Device(device.id());
    line.send(&json!({ "type": "withdraw", "withdrawal": altered })).unwrap();
    let answer = line.wait_for("withdrawn").unwrap();
    assert!(answer["done"] == false && answer["message"].as_str().unwrap().contains("signature"), "{answer}");
    line.send(&json!({ "type": "withdraw", "withdrawal": withdrawn })).unwrap();
    assert_eq!(line.wait_for("withdrawn").unwrap()["done"], true);
    let (recorded, message) = line.decide(&plan, Verdict::Approved).unwrap();
    assert!(!recorded && message.contains("plans are not allowed in"), "{message}");
    assert_eq!(silas.tree(), original);
    assert!(line.work.is_empty());
    // The approval could not be used, so it was not taken: it is nowhere among the grants, and the card still waits.
    let (_, text) = silas.command(&["grant", "list"]);
    assert!(!text.contains("1 of 1 left"), "{text}");
    line.card(CardKind::Plan).unwrap();
}

#[test]
fn a_browser_that_is_paired_again_gets_a_new_key_and_loses_the_old_one() {
    let silas = Silas::start();
    let old = silas.pair();
    let line = silas.line();
    let fresh = Device::new();
    let (_, screen) = http::get(silas.port(), "/pair");
    assert!(serde_json::from_str::<Value>(&screen).unwrap()["house_rules"].is_null(), "{screen}");
    // The old key signed the house rules, so the new one is asked to.
    let (_, screen) = http::get(silas.port(), &format!("/pair?replaces={}", old.id()));
    let screen: Value = serde_json::from_str(&screen).unwrap();
    let rules = serde_json::from_value(screen["house_rules"]["offer"].clone()).unwrap();
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let public = String::from(fresh.public());
    let epoch = line.snapshot["epoch"].as_u64().unwrap();
    let replaces = withdrawal(&old, Withdrawn::Device(old.id()), line.installation(), epoch);
    let body = json!({ "public": public, "name": "test browser", "proof": proof(&code, &public),
        "house_rules": fresh.answer(&rules, Verdict::Approved), "replaces": replaces });
    let (status, answer) = http::post(silas.port(), "/pair", &body.to_string());
    assert_eq!(status, 200, "{answer}");
    assert_eq!(close_code(&mut page(&silas, &old)), 4001);
    assert_eq!(message(&mut page(&silas, &fresh))["type"], "welcome");
    let (_, text) = silas.command(&["grant", "list"]);
    assert!(text.contains("House rules"), "{text}");
    assert!(silas.line().cards.is_empty(), "nothing is asked twice");
}

#[test]
fn asking_for_a_change_allows_nothing() {
    let silas = Silas::start();
    let original = silas.tree();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    // `conditional` is offered by no card: a narrower plan is a plan of its own.
    let (recorded, message) = line.decide(&plan, Verdict::Conditional).unwrap();
    assert!(!recorded && message.contains("does not offer"), "{message}");
    // A plan can be had shown first, so what should be different is said about its result.
    let (code, text) = silas.command(&["change"]);
    assert!(code != 0 && text.contains("does not offer that"), "{text}");
    assert!(line.show_me_first(&plan).unwrap().0);
    line.card(CardKind::Rehearsed).unwrap();
    let (code, text) = silas.command(&["change"]);
    assert!(code == 0 && text.contains("Say it again with what should be different"), "{text}");
    line.wait(|line| line.cards.is_empty()).unwrap();
    assert_eq!(silas.tree(), original);
    assert!(line.ask("what did you do?").contains("You asked to change a result"));
}

#[test]
fn a_restored_backup_does_not_bring_a_revoked_browser_back() {
    let mut silas = Silas::start();
    let lost = silas.pair();
    let backup = silas.outside().join("backup.silas");
    let backup = backup.to_str().unwrap();
    assert_eq!(silas.command(&["backup", backup]).0, 0);
    assert_eq!(silas.command(&["device", "revoke", lost.id().as_str()]).0, 0);
    silas.terminate();
    let (code, text) = silas.command(&["restore", backup, "--replace"]);
    assert_eq!(code, 0, "{text}");
    silas.up(&[]);
    assert_eq!(close_code(&mut page(&silas, &lost)), 4001);
    let (_, text) = silas.command(&["device", "list"]);
    assert!(text.contains("revoked"), "{text}");
}
