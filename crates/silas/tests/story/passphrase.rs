//! A passphrase on the keys and the vault: what it takes from then on, what works without it after a restart, and that it
//! is kept by nobody.

use crate::harness::{Device, Line, Silas};
use crate::revocation::withdrawal;
use crate::secrets::{processes, search_files, search_memory, spelled};
use crate::vault::{CANARY, secret_card};
use serde_json::json;
use silas_core::TokenId;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::revocation::Withdrawn;
use silas_core::token::Verdict;
use std::collections::BTreeSet;
use std::fs;

const PASSPHRASE: &str = "correct horse battery";

impl Silas {
    #[track_caller]
    fn set_passphrase(&self, lines: &str) {
        let (code, text) = self.command_with(&["key", "passphrase"], &[], lines);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("sealed with your passphrase now"), "{text}");
    }

    fn typing(&self, args: &[&str], typed: &str) -> (i32, String) {
        self.command_with(args, &[], typed)
    }
}

/// A browser's decision over the control socket; its signature is what counts.
fn tap(silas: &Silas, device: &Device, card: &Card) -> (bool, String) {
    let token = device.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    silas.line().submit(card, &token).unwrap()
}

#[test]
fn the_terminal_signs_only_with_the_passphrase() {
    let silas = Silas::start();
    silas.set_passphrase(PASSPHRASE);
    let (_, status) = silas.command(&["status"]);
    assert!(status.contains("Root key: sealed with your passphrase."), "{status}");
    let (_, found) = silas.command(&["doctor"]);
    assert!(found.contains("They are sealed with your passphrase"), "{found}");

    let (code, text) = silas.typing(&["say", "add task `Water the plants`"], "");
    assert!(code != 0 && text.contains("E_APPROVAL_LOCKED"), "{text}");
    let (code, text) = silas.typing(&["say", "add task `Water the plants`"], "correct horse bakery");
    assert!(code != 0 && text.contains("passphrase is wrong"), "{text}");
    assert!(silas.line().tasks().is_empty());
    let (code, text) = silas.typing(&["say", "add task `Water the plants`"], PASSPHRASE);
    assert_eq!(code, 0, "{text}");
    assert_eq!(silas.line().tasks().len(), 1);

    let (code, text) = silas.typing(&["sandbox", "--", "true"], "");
    assert!(code != 0 && text.contains("E_APPROVAL"), "{text}");
    let (code, text) = silas.typing(&["sandbox", "--", "echo", "hello"], PASSPHRASE);
    assert!(code == 0 && text.contains("hello"), "{text}");
    silas.assert_ledger_holds();
}

#[test]
fn a_passphrase_is_set_changed_and_removed() {
    let silas = Silas::start();
    let (code, text) = silas.typing(&["key", "passphrase"], "short");
    assert!(code != 0 && text.contains("at least 8 characters"), "{text}");
    let (code, text) = silas.command(&["key", "passphrase", "--remove"]);
    assert!(code != 0 && text.contains("no passphrase"), "{text}");
    silas.set_passphrase(PASSPHRASE);
    let (code, text) = silas.typing(&["key", "passphrase"], "wrong wrong wrong\nanother passphrase\n");
    assert!(code != 0 && text.contains("Nothing was changed") && text.contains("wrong"), "{text}");
    silas.set_passphrase(&format!("{PASSPHRASE}\nanother passphrase\n"));
    assert_ne!(silas.typing(&["say", "tasks"], PASSPHRASE).0, 0);
    assert_eq!(silas.typing(&["say", "tasks"], "another passphrase").0, 0);
    let (code, text) = silas.typing(&["key", "passphrase", "--remove"], "another passphrase");
    assert!(code == 0 && text.contains("file permissions only"), "{text}");
    let (_, text) = silas.command(&["key", "show"]);
    assert_eq!(text.matches("file permissions only").count(), 3, "{text}");
    assert_eq!(silas.command(&["say", "tasks"]).0, 0);
}

/// After a restart: what comes in is taken, shown and answered; what needs the vault waits, and says for what.
#[test]
fn locked_after_a_restart_silas_listens_and_waits() {
    let mut silas = Silas::start_asking();
    let device = silas.pair();
    silas.set_secret("mail", CANARY);
    silas.set_passphrase(PASSPHRASE);
    let (_, status) = silas.command(&["status"]);
    assert!(status.contains("Vault: open, 1 secret; sealed with your passphrase"), "{status}");
    silas.terminate();
    silas.up(&[]);

    let mut line = silas.line();
    let told = line.snapshot["entries"].to_string();
    assert!(told.contains("The vault is locked since the start") && told.contains("silas unlock"), "{told}");
    let (_, status) = silas.command(&["status"]);
    assert!(status.contains("Vault: locked, 1 secret"), "{status}");
    assert!(silas.command(&["secret", "list"]).1.contains("mail"), "names are no secret");
    let (code, text) = silas.typing(&["secret", "set", "post"], "value");
    assert!(code != 0 && text.contains("E_VAULT_LOCKED"), "{text}");

    // Intake, tasks and cards: as always. A browser needs no passphrase of this machine's.
    let task = device.message("add task `Water the plants`", &line.installation());
    line.send(&json!({ "type": "message", "message": task })).unwrap();
    assert!(line.reply_to("add task `Water the plants`").contains("Water the plants"));
    line.passphrase = Some(PASSPHRASE.to_owned());
    let card = secret_card(&silas, &mut line);
    let (recorded, said) = tap(&silas, &device, &card);
    assert!(!recorded && said.contains("uses the secret mail, and the vault is locked"), "{said}");
    assert!(said.contains("silas unlock"), "{said}");
    assert!(line.work.is_empty());
    let still = silas.line().cards.into_iter().find(|open| open.id == card.id).unwrap();
    assert_eq!(still.state, CardState::Open, "the question waits");

    // What uses no secret is carried out.
    let wish = device.message(&silas.wish(), &line.installation());
    line.send(&json!({ "type": "message", "message": wish })).unwrap();
    line.wait(|line| line.cards.iter().filter(|open| open.face.kind == CardKind::Plan).count() == 2).unwrap();
    let other = line.cards.iter().find(|open| open.face.kind == CardKind::Plan && open.id != card.id).unwrap().clone();
    assert!(tap(&silas, &device, &other).0);
    assert_eq!(line.ended().unwrap()["outcome"], "proved");

    let (code, text) = silas.typing(&["unlock"], "correct horse bakery");
    assert!(code != 0 && text.contains("passphrase is wrong") && text.contains("stays locked"), "{text}");
    let (code, text) = silas.typing(&["unlock"], PASSPHRASE);
    assert!(code == 0 && text.contains("The vault is open"), "{text}");
    let (recorded, said) = tap(&silas, &device, &card);
    assert!(recorded, "{said}");
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    let (code, text) = silas.command(&["lock"]);
    assert!(code == 0 && text.contains("locked"), "{text}");
    let (_, told) = silas.command(&["activity"]);
    assert!(told.contains("Unlocked the vault") && told.contains("Locked the vault"), "{told}");
    silas.assert_ledger_holds();
}

/// Work that was under way with a secret waits behind the locked vault, and goes on when it is opened.
#[test]
fn interrupted_work_with_a_secret_waits_for_the_unlock() {
    let (mut silas, device) = interrupted_with_a_secret();
    let mut line = silas.line();
    waits(&mut line);
    assert!(line.cards.iter().all(|card| card.face.kind != CardKind::Report), "nothing has ended");
    let told = line.snapshot["entries"].to_string();
    assert!(told.contains("was interrupted and uses a secret. It goes on when you run"), "{told}");
    // It waits through another restart, and says so once.
    drop(line);
    silas.kill();
    silas.up(&[]);
    let mut line = silas.line();
    waits(&mut line);
    let told = line.snapshot["entries"].to_string();
    assert_eq!(told.matches("was interrupted and uses a secret").count(), 1, "{told}");
    let task = device.message("add task `Water the plants`", &line.installation());
    line.send(&json!({ "type": "message", "message": task })).unwrap();
    assert!(line.reply_to("add task `Water the plants`").contains("Water the plants"), "intake goes on");
    fs::write(silas.repo().join("go"), "").unwrap();
    let (code, text) = silas.typing(&["unlock"], PASSPHRASE);
    assert_eq!(code, 0, "{text}");
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    assert!(silas.command(&["activity"]).1.contains("Used the secret mail"));
    silas.assert_ledger_holds();
}

/// What waits can be stopped, and does not begin when the vault is opened later.
#[test]
fn work_that_waits_for_the_unlock_can_be_stopped() {
    let (silas, _) = interrupted_with_a_secret();
    let original = silas.tree();
    let mut line = silas.line();
    waits(&mut line);
    let (code, text) = silas.command(&["stop"]);
    assert_eq!(code, 0, "{text}");
    let report = line.card(CardKind::Report).unwrap();
    assert!(format!("{:?}", report.face).contains("You stopped it"), "{:?}", report.face);
    assert_eq!(silas.typing(&["unlock"], PASSPHRASE).0, 0);
    assert!(silas.command(&["secret", "list"]).0 == 0 && silas.tree() == original);
    silas.assert_ledger_holds();
}

/// A plan that has its secret and waits for a file; then the plug is pulled, and the vault is locked.
fn interrupted_with_a_secret() -> (Silas, Device) {
    let mut silas = Silas::start();
    let device = silas.pair();
    silas.set_secret("mail", CANARY);
    let mut line = silas.line();
    let file = silas.write_secret_plan();
    let plan = fs::read_to_string(&file).unwrap();
    let plan = plan.replace("'silas-secret get mail;", "'silas-secret get mail; test -e go || sleep 600;");
    fs::write(&file, plan).unwrap();
    assert_eq!(silas.command(&["plan", "submit", &file]).0, 0);
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    assert!(tap(&silas, &device, &card).0);
    line.wait(|line| line.work.values().any(|work| work.to_string().contains("silas-secret"))).unwrap();
    silas.set_passphrase(PASSPHRASE);
    drop(line);
    silas.kill();
    silas.up(&[]);
    (silas, device)
}

fn waits(line: &mut Line) {
    line.wait(|line| line.work.values().any(|work| work["place"] == "Waits for the vault")).unwrap();
}

/// Pairing and revoking need the root key: the page says so, the terminal asks.
#[test]
fn the_root_key_is_used_once_for_each_passphrase() {
    let silas = Silas::start();
    let first = silas.pair();
    silas.set_passphrase(PASSPHRASE);
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let (status, body) = Device::new().pair(silas.port(), &code);
    assert!(status != 200 && body.contains("locked with your passphrase"), "{status} {body}");
    let (code, text) = silas.typing(&["pair"], "correct horse bakery");
    assert!(code != 0 && text.contains("passphrase is wrong"), "{text}");
    let (code, text) = silas.typing(&["pair"], PASSPHRASE);
    assert_eq!(code, 0, "{text}");
    let pairing_code = text.split("#pair=").nth(1).unwrap().split_whitespace().next().unwrap();
    let second = Device::new();
    let (status, body) = second.pair(silas.port(), pairing_code);
    assert_eq!(status, 200, "{body}");
    // The next one has to be asked for again.
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    assert_ne!(Device::new().pair(silas.port(), &code).0, 200);

    let key = first.id().to_string();
    let (code, text) = silas.typing(&["device", "revoke", &key], "");
    assert_ne!(code, 0, "{text}");
    let (code, text) = silas.typing(&["device", "revoke", &key], PASSPHRASE);
    assert_eq!(code, 0, "{text}");
    let devices = silas.line().snapshot["devices"].clone();
    let revoked = devices.as_array().unwrap().iter().find(|device| device["key"] == json!(first.id())).unwrap().clone();
    assert_eq!(revoked["is_revoked"], true, "{devices}");
    silas.assert_ledger_holds();
}

#[test]
fn a_backup_is_sealed_and_comes_back_with_the_passphrase() {
    let mut silas = Silas::start();
    let device = silas.pair();
    silas.set_secret("mail", CANARY);
    let seeds = ["root.key", "terminal.key"]
        .map(|name| spelled(name, fs::read(silas.data().join("keys").join(name)).unwrap()[8..].to_vec()));
    silas.set_passphrase(PASSPHRASE);
    let file = silas.outside().join("silas.backup");
    let (code, text) = silas.command(&["backup", file.to_str().unwrap()]);
    assert!(code == 0 && text.contains("sealed with your passphrase"), "{text}");
    let bytes = fs::read(&file).unwrap();
    for secret in seeds.iter().chain([&spelled("the secret", CANARY.as_bytes().to_vec())]) {
        assert!(!crate::secrets::finds(&bytes, secret), "{} is in the backup", secret.name);
    }
    silas.terminate();
    fs::remove_dir_all(silas.data()).unwrap();
    let (code, text) = silas.command(&["restore", file.to_str().unwrap()]);
    assert!(code == 0 && text.contains("open with the passphrase of that time"), "{text}");
    silas.up(&[]);
    assert_ne!(silas.typing(&["unlock"], "correct horse bakery").0, 0);
    let (code, text) = silas.typing(&["unlock"], PASSPHRASE);
    assert_eq!(code, 0, "{text}");
    let mut line = silas.line();
    line.passphrase = Some(PASSPHRASE.to_owned());
    let card = secret_card(&silas, &mut line);
    assert!(tap(&silas, &device, &card).0, "the device is still paired");
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    silas.assert_ledger_holds();
}

/// It is asked for by the key helper over the terminal's own socket: neither front nor launcher ever has it.
#[test]
fn the_passphrase_and_the_keys_are_kept_by_nobody() {
    let mut silas = Silas::start_with_log(&[]);
    silas.set_passphrase(PASSPHRASE);
    silas.terminate();
    silas.up(&[]);
    assert_eq!(silas.typing(&["say", "tasks"], PASSPHRASE).0, 0);
    assert_eq!(silas.typing(&["pair"], PASSPHRASE).0, 0);
    assert_eq!(silas.typing(&["unlock"], PASSPHRASE).0, 0);
    let looked_for = [spelled("the passphrase", PASSPHRASE.as_bytes().to_vec())];
    let mut n_searched = 0;
    for pid in processes(&silas) {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        // It waits with the passphrase for one device to be paired; that is what it is for.
        if name.trim() == "silas-key" {
            let status = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
            let core = status.lines().find(|line| line.starts_with("Max core file size")).unwrap_or_default();
            assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
            continue;
        }
        match search_memory(pid, &looked_for) {
            Some((_, found)) => {
                n_searched += 1;
                assert_eq!(found, Vec::<&str>::new(), "in the memory of {pid} ({})", name.trim());
            }
            None => eprintln!("skipped: the memory of {pid} cannot be read by this user; run as root"),
        }
    }
    eprintln!("searched the memory of {n_searched} processes");
    silas.terminate();
    let mut n_files = 0;
    search_files(&silas.outside(), &silas.data().join("none"), &looked_for, &mut n_files);
    assert!(n_files > 8, "{n_files}");
}

/// Rotation with overlap: the new key decides, what the old one allowed stays allowed, and the old one can be taken out.
#[test]
fn a_new_terminal_key_takes_over_and_the_old_grants_hold() {
    let mut silas = Silas::start_asking();
    silas.pair();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    line.approve(CardKind::Done).unwrap();
    silas.set_passphrase(PASSPHRASE);
    let (code, text) = silas.typing(&["key", "rotate", "terminal"], PASSPHRASE);
    assert!(code != 0 && text.contains("Stop Silas first"), "{text}");
    drop(line);
    silas.terminate();
    let (code, text) = silas.typing(&["key", "rotate", "terminal"], "correct horse bakery");
    assert!(code != 0 && text.contains("Nothing was changed"), "{text}");
    let (code, text) = silas.typing(&["key", "rotate", "terminal"], PASSPHRASE);
    assert!(code == 0 && text.contains("new key"), "{text}");
    silas.up(&[]);
    let mut line = silas.line();
    line.passphrase = Some(PASSPHRASE.to_owned());
    // The directory was allowed by the old key, so only the plan asks.
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    let (_, told) = silas.command(&["activity"]);
    assert!(told.contains("A new terminal key"), "{told}");
    silas.assert_ledger_holds();

    let devices = silas.line().snapshot["devices"].clone();
    let new = fs::read_to_string(silas.data().join("keys/installation.json")).unwrap();
    let terminals = devices.as_array().unwrap().iter().filter(|device| device["kind"] == "terminal");
    let keys: Vec<&str> = terminals.map(|device| device["key"].as_str().unwrap()).collect();
    assert_eq!(keys.len(), 2, "{devices}");
    let (current, old): (Vec<&str>, Vec<&str>) = keys.into_iter().partition(|key| new.contains(key));
    let (code, text) = silas.typing(&["device", "revoke", current[0]], PASSPHRASE);
    assert!(code != 0 && text.contains("cannot be revoked"), "{text}");
    let (code, text) = silas.typing(&["device", "revoke", old[0]], PASSPHRASE);
    assert_eq!(code, 0, "{text}");
    silas.assert_ledger_holds();
}

#[test]
fn the_key_of_the_log_is_vouched_for_before_the_root_key_is_sealed() {
    let mut silas = Silas::start();
    let mut line = silas.line();
    assert_eq!(line.run(&silas.wish()).unwrap()["outcome"], "proved");
    let file = silas.outside().join("proof.json");
    let prove = ["work", "proof", "--out", file.to_str().unwrap()];
    let certificate = silas.data().join("store/server.cert");
    silas.terminate();

    // Without a certificate and with nobody to open the root key everything works but this, which says what to do.
    silas.set_passphrase(PASSPHRASE);
    fs::remove_file(&certificate).unwrap();
    silas.up(&[]);
    let (code, text) = silas.command(&prove);
    assert!(code == 1 && text.contains("has not vouched for the key that signs the log"), "{text}");
    assert!(text.contains("silas key passphrase") && !file.exists(), "{text}");
    silas.terminate();

    silas.set_passphrase(&format!("{PASSPHRASE}\n{PASSPHRASE}\n"));
    assert!(certificate.exists());
    silas.up(&[]);
    let (code, text) = silas.command(&prove);
    assert_eq!(code, 0, "{text}");
    let (_, root) = silas.command(&["key", "root"]);
    let (code, text) = silas.command(&["verify", file.to_str().unwrap(), "--key", root.trim()]);
    assert!(code == 0 && text.starts_with("VERIFIED"), "{text}");
}

/// Stopping waits for nobody; taking back asks for the passphrase once, in the terminal, and says so elsewhere.
#[test]
fn everything_is_stopped_at_once_and_revoked_with_the_passphrase() {
    let silas = Silas::start_asking();
    let device = silas.pair();
    let mut line = silas.line();
    let wish = format!("run `sleep 600` in `{}` and check with `test -e never`", silas.repo().display());
    line.say(&wish).unwrap();
    let root = line.card(CardKind::Root).unwrap();
    assert!(tap(&silas, &device, &root).0);
    let plan = line.card(CardKind::Plan).unwrap();
    assert!(tap(&silas, &device, &plan).0);
    line.wait(|line| line.work.values().any(|work| work["steps"][2]["state"] == "running")).unwrap();
    silas.set_passphrase(PASSPHRASE);

    // Nobody types anything: the work is stopped all the same, and it is said what is not done.
    let (code, text) = silas.typing(&["stop", "--all", "--revoke"], "");
    assert!(code != 0 && text.contains("Everything is stopped") && text.contains("the grants hold"), "{text}");
    assert_eq!(line.ended().unwrap()["place"], "Nothing applied");
    let (code, text) = silas.typing(&["stop", "--all", "--revoke"], "correct horse bakery");
    assert!(code != 0 && text.contains("Everything is stopped") && text.contains("the grants hold"), "{text}");
    let grants = silas.command(&["grant", "list"]).1;
    assert!(grants.contains("House rules") && grants.contains("Work in repo"), "{grants}");

    // The page cannot be asked for it, and says where to go.
    let snapshot = silas.line().snapshot;
    let tokens: BTreeSet<TokenId> = snapshot["grants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|grant| serde_json::from_value(grant["token"].clone()).unwrap())
        .collect();
    assert_eq!(tokens.len(), 2);
    let withdrawn =
        withdrawal(&device, Withdrawn::Grants(tokens), line.installation(), snapshot["epoch"].as_u64().unwrap());
    line.send(&json!({ "type": "withdraw", "withdrawal": withdrawn })).unwrap();
    let answer = line.wait_for("withdrawn").unwrap();
    let said = answer["message"].as_str().unwrap();
    assert!(answer["done"] == false && said.contains("silas stop --all --revoke"), "{said}");

    // Once is enough for all of them.
    let (code, text) = silas.typing(&["stop", "--all", "--revoke"], PASSPHRASE);
    assert!(code == 0 && text.contains("2 grants revoked."), "{text}");
    assert!(silas.command(&["grant", "list"]).1.contains("Nothing is granted"));
    silas.assert_ledger_holds();
}
