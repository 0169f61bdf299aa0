//! New keys for root, server, vault and terminal: what goes on, what the old ones can no longer do, and the plug pulled at
//! every instant of the exchange.

use crate::harness::{Device, Silas, binary};
use crate::secrets::{finds, search_files, spelled};
use crate::vault::{CANARY, secret_card};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::Value;
use silas_core::card::CardKind;
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::fail::FailPoint;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::Verdict;
use silas_core::{Timestamp, canonical};
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

impl Silas {
    #[track_caller]
    pub(crate) fn rotate(&self, which: &str) -> String {
        let (code, text) = self.command(&["key", "rotate", which]);
        assert_eq!(code, 0, "{which}: {text}");
        text
    }

    pub(crate) fn root_key(&self) -> String {
        self.command(&["key", "root"]).1.trim().to_owned()
    }

    #[track_caller]
    pub(crate) fn prove(&self, name: &str) -> String {
        let file = self.outside().join(name).to_str().unwrap().to_owned();
        let (code, text) = self.command(&["work", "proof", "--out", &file]);
        assert_eq!(code, 0, "{text}");
        file
    }

    #[track_caller]
    pub(crate) fn export(&self, name: &str) -> String {
        let file = self.outside().join(name).to_str().unwrap().to_owned();
        let (code, text) = self.command(&["audit", "export", &file]);
        assert_eq!(code, 0, "{text}");
        file
    }
}

/// The key of a file that is not sealed.
pub(crate) fn seed(path: &Path) -> SigningKey {
    SigningKey::from_bytes(fs::read(path).unwrap()[8..].try_into().unwrap())
}

pub(crate) fn sign(key: &SigningKey, text: &str) -> Signature {
    let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
    Signature::ed25519(public.id(), key.sign(text.as_bytes()).to_bytes())
}

/// Files before and after the exchange are judged by the key of their time, and by no other.
#[test]
fn a_new_root_key_takes_over_and_everything_goes_on() {
    let mut silas = Silas::start_asking();
    let device = silas.pair();
    let lost = silas.pair();
    let mut line = silas.line();
    let original = silas.tree();
    line.run(&silas.wish()).unwrap();
    let (code, text) = silas.command(&["device", "revoke", lost.id().as_str()]);
    assert_eq!(code, 0, "{text}");
    let (old_root, before, old_export) = (silas.root_key(), silas.prove("before.json"), silas.export("before.export"));
    let (code, text) = silas.command(&["key", "rotate", "root"]);
    assert!(code != 0 && text.contains("Stop Silas first"), "{text}");
    drop(line);
    silas.terminate();
    let text = silas.rotate("root");
    assert!(text.contains("Your devices, grants and revocations stay"), "{text}");
    let new_root = silas.root_key();
    assert!(new_root != old_root && text.contains(&new_root) && text.contains(&old_root), "{text}");
    silas.assert_ledger_holds();
    silas.up(&[]);

    // What was applied before can be taken back.
    let mut line = silas.line();
    line.approve(CardKind::Done).unwrap();
    line.wait(|_| silas.tree() == original).unwrap();
    // The directory was allowed before, the browser was paired before, and the revoked one stays revoked.
    line.say(&silas.wish()).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    let by_lost = lost.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    let (recorded, said) = line.submit(&card, &by_lost).unwrap();
    assert!(!recorded && said.contains("revoked"), "{said}");
    let by_device = device.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    assert!(line.submit(&card, &by_device).unwrap().0);
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    silas.pair();
    let (_, told) = silas.command(&["activity"]);
    assert!(told.contains("A new root key"), "{told}");
    silas.assert_ledger_holds();
    let shown = silas.command(&["key", "show"]).1;
    assert!(shown.contains(&format!("Public root key: {new_root}")) && shown.contains(&old_root), "{shown}");

    let (after, new_export) = (silas.prove("after.json"), silas.export("after.export"));
    for (proof, export, good, bad) in
        [(&before, &old_export, &old_root, &new_root), (&after, &new_export, &new_root, &old_root)]
    {
        assert_eq!(silas.command(&["verify", proof, "--key", good]).0, 0);
        assert_eq!(silas.command(&["audit", "verify", "--export", export, "--root", good]).0, 0);
        let (code, text) = silas.command(&["verify", proof, "--key", bad]);
        assert!(code != 0 && text.contains("root key"), "{text}");
        let (code, text) = silas.command(&["audit", "verify", "--export", export, "--root", bad]);
        assert!(code != 0 && text.contains("not by the one that was asked for"), "{text}");
    }
}

/// What a thief of the old root key would write, dated before the hand-over.
pub(crate) fn forged_certificate(silas: &Silas, root: &SigningKey, device: &Device) -> Certificate {
    let known: Value = serde_json::from_slice(&fs::read(silas.data().join("keys/installation.json")).unwrap()).unwrap();
    let body = CertificateBody {
        v: 1,
        kind: DeviceKind::Browser,
        installation: serde_json::from_value(known["installation"].clone()).unwrap(),
        name: "Phone".to_owned(),
        key: device.id(),
        public: device.public(),
        issued_at: Timestamp::from_micros(1),
        site: None,
    };
    Certificate { signature: sign(root, &canonical::text(&body).unwrap()), body }
}

pub(crate) fn put_device(silas: &Silas, certificate: &Certificate) {
    let database = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    database
        .execute(
            "INSERT INTO devices (key_id, kind, name, issued_at, certificate) VALUES (?1, 'browser', 'Phone', 1, ?2)",
            (certificate.body.key.as_str(), serde_json::to_string(certificate).unwrap()),
        )
        .unwrap();
}

/// Keys that are put back from before a hand-over are refused, by the launcher and by a restore.
#[test]
fn the_old_root_key_does_not_come_back() {
    let mut silas = Silas::start();
    silas.line();
    let backup = silas.outside().join("before.backup").to_str().unwrap().to_owned();
    assert_eq!(silas.command(&["backup", &backup]).0, 0);
    silas.terminate();
    let keys = silas.data().join("keys");
    let kept: Vec<_> =
        fs::read_dir(&keys).unwrap().map(|e| e.unwrap().path()).map(|p| (fs::read(&p).unwrap(), p)).collect();
    silas.rotate("root");
    let (code, text) = silas.command(&["restore", &backup, "--replace"]);
    assert!(code != 0 && text.contains("would bring the old key back"), "{text}");
    let new: Vec<_> =
        fs::read_dir(&keys).unwrap().map(|e| e.unwrap().path()).map(|p| (fs::read(&p).unwrap(), p)).collect();
    for (bytes, path) in kept {
        fs::write(path, bytes).unwrap();
    }
    let (code, text) = silas.command(&["start", "--port", "0", "--quiet"]);
    assert!(code != 0 && text.contains("has handed over to another since"), "{text}");
    for (bytes, path) in new {
        fs::write(path, bytes).unwrap();
    }
    let later = silas.outside().join("after.backup").to_str().unwrap().to_owned();
    assert_eq!(silas.command(&["backup", &later]).0, 0);
    let (code, text) = silas.command(&["restore", &later, "--replace"]);
    assert_eq!(code, 0, "{text}");
    silas.up(&[]);
    assert_eq!(silas.line().run(&silas.wish()).unwrap()["outcome"], "proved");
    silas.assert_ledger_holds();
}

/// What the old key signed stays good, here and elsewhere; what it signs later is in `inv_02.rs`.
#[test]
fn a_new_server_key_signs_and_the_old_one_no_more() {
    let mut silas = Silas::start();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let before = silas.prove("before.json");
    drop(line);
    silas.terminate();
    let text = silas.rotate("server");
    assert!(text.contains("What it signs from now on is refused"), "{text}");
    silas.assert_ledger_holds();
    silas.up(&[]);
    let root = silas.root_key();
    assert_eq!(silas.line().ask("add task `Water the plants`"), "Added to your tasks: Water the plants");
    let (after, export) = (silas.prove("after.json"), silas.export("after.export"));
    for proof in [&before, &after] {
        assert_eq!(silas.command(&["verify", proof, "--key", &root]).0, 0);
    }
    let (code, text) = silas.command(&["audit", "verify", "--export", &export, "--root", &root]);
    assert!(code == 0 && !text.contains("not vouched"), "{text}");
    assert!(silas.command(&["activity"]).1.contains("A new key signs the log"));
    silas.rotate_again_and_hold();
}

impl Silas {
    /// A second exchange follows the first.
    fn rotate_again_and_hold(&mut self) {
        self.terminate();
        self.rotate("server");
        self.up(&[]);
        self.assert_ledger_holds();
        let export = self.export("twice.export");
        let root = self.root_key();
        assert_eq!(self.command(&["audit", "verify", "--export", &export, "--root", &root]).0, 0);
    }
}

/// Damaged material is an error and never a new key.
#[test]
fn damaged_server_keys_and_certificates_are_errors() {
    let mut silas = Silas::start();
    silas.line();
    silas.terminate();
    silas.rotate("server");
    let (certificate, key) = (silas.data().join("store/server.cert"), silas.data().join("store/server.key"));
    let (good, good_key) = (fs::read(&certificate).unwrap(), fs::read(&key).unwrap());
    let start = ["start", "--port", "0", "--quiet"];
    fs::write(&certificate, &good[..good.len() / 2]).unwrap();
    for command in [&start[..], &["audit", "verify"], &["key", "rotate", "server"], &["key", "rotate", "root"]] {
        let (code, text) = silas.command(command);
        assert!(code != 0 && text.contains("server.cert is damaged"), "{command:?}: {text}");
    }
    // Gone, it is missed, and nobody puts a lone new one in its place, which would look as if all were well.
    fs::remove_file(&certificate).unwrap();
    let passphrase = ["key", "passphrase"];
    for command in
        [&start[..], &["audit", "verify"], &["key", "rotate", "server"], &["key", "rotate", "root"], &passphrase]
    {
        let (code, text) = silas.command_with(command, &[], "correct horse battery\n");
        assert!(code != 0 && text.contains("store/server.cert is gone"), "{command:?}: {text}");
        assert!(!certificate.exists(), "{command:?}");
        assert_eq!(fs::read(&key).unwrap(), good_key, "{command:?}");
    }
    // A lone one that somebody made before is refused too.
    let only: serde_json::Value = serde_json::from_slice(&good).unwrap();
    fs::write(&certificate, only[1].to_string()).unwrap();
    let (code, text) = silas.command(&start);
    assert!(code != 0, "{text}");
    fs::write(&certificate, &good).unwrap();
    let mut other = good_key.clone();
    other[20] ^= 1;
    fs::write(&key, &other).unwrap();
    for command in [&start[..], &["key", "rotate", "server"]] {
        let (code, text) = silas.command(command);
        assert!(code != 0 && text.contains("not the key of which store/server.cert speaks"), "{command:?}: {text}");
    }
    fs::write(&key, &good_key[..20]).unwrap();
    assert_ne!(silas.command(&["key", "rotate", "server"]).0, 0);
    fs::write(&key, &good_key).unwrap();
    silas.up(&[]);
    silas.assert_ledger_holds();
}

#[test]
fn a_new_vault_key_seals_every_secret_anew() {
    let mut silas = Silas::start();
    silas.set_secret("mail", CANARY);
    silas.terminate();
    let (entry, lock) = (silas.data().join("store/vault/mail.secret"), silas.data().join("store/vault/lock.json"));
    let (sealed, key): (Vec<u8>, Value) =
        (fs::read(&entry).unwrap(), serde_json::from_slice(&fs::read(&lock).unwrap()).unwrap());
    let old_key = spelled("the old key", key["key"]["file"]["key"].as_str().unwrap().as_bytes().to_vec());
    let text = silas.rotate("vault");
    assert!(text.contains("sealed anew: 1") && !text.contains(CANARY), "{text}");
    assert_ne!(fs::read(&entry).unwrap(), sealed);
    silas.up(&[]);
    let mut line = silas.line();
    let card = secret_card(&silas, &mut line);
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    assert!(silas.command(&["activity"]).1.contains("A new key for the vault"));
    silas.assert_ledger_holds();
    drop(line);
    silas.terminate();
    let looked_for = [spelled("the secret", CANARY.as_bytes().to_vec()), old_key];
    let mut n_files = 0;
    search_files(&silas.outside(), &silas.data().join("keys"), &looked_for, &mut n_files);
    assert!(n_files > 8, "{n_files}");
    assert!(!finds(&fs::read(&lock).unwrap(), &looked_for[1]), "the old key is gone");
}

/// What was decided is finished by a start that has no passphrase; a wrong one decides nothing.
#[test]
fn a_new_root_key_under_a_passphrase_needs_it_once() {
    const PASSPHRASE: &str = "correct horse battery";
    let mut silas = Silas::start();
    let device = silas.pair();
    let (code, text) = silas.command_with(&["key", "passphrase"], &[], PASSPHRASE);
    assert_eq!(code, 0, "{text}");
    silas.terminate();
    let old = silas.root_key();
    for which in ["root", "server"] {
        let (code, text) = silas.command_with(&["key", "rotate", which], &[], "correct horse bakery");
        assert!(code != 0 && text.contains("passphrase is wrong"), "{text}");
    }
    assert_eq!(silas.root_key(), old);
    rotate_and_die(&silas, "root", FailPoint::RootDecided, PASSPHRASE);
    silas.up(&[]);
    silas.assert_ledger_holds();
    assert_ne!(silas.root_key(), old);
    let mut line = silas.line();
    let task = device.message("add task `Water the plants`", &line.installation());
    line.send(&serde_json::json!({ "type": "message", "message": task })).unwrap();
    assert!(line.reply_to("add task `Water the plants`").contains("Water the plants"));
    assert_ne!(silas.command_with(&["say", "tasks"], &[], "correct horse bakery").0, 0);
    assert_eq!(silas.command_with(&["say", "tasks"], &[], PASSPHRASE).0, 0);
    silas.assert_ledger_holds();
}

/// In a process group of its own, which goes with it.
#[track_caller]
fn rotate_and_die(silas: &Silas, which: &str, point: FailPoint, typed: &str) {
    let mut child = binary()
        .arg("--data-dir")
        .arg(silas.data())
        .args(["key", "rotate", which])
        .env("XDG_STATE_HOME", silas.outside().join("state"))
        .env("SILAS_FAIL_AT", point.name())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    // One that asks for nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
    assert_eq!(child.wait().unwrap().code(), None, "{point:?} was never reached");
}

/// Pulls the plug in the middle of an exchange, and looks what a person finds next: commands first, then a start.
pub(crate) fn crash_rotating(point: FailPoint) {
    let which = match point.name() {
        name if name.starts_with("Terminal") => "terminal",
        name if name.starts_with("Server") => "server",
        name if name.starts_with("Vault") => "vault",
        _ => "root",
    };
    let mut silas = Silas::start_asking();
    let device = silas.pair();
    silas.set_secret("mail", CANARY);
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    line.approve(CardKind::Done).unwrap();
    drop(line);
    silas.terminate();
    rotate_and_die(&silas, which, point, "");

    // Commands that come before the next start find a whole installation too, each in a copy of what the crash left.
    for (n, look) in [&["audit", "verify"][..], &["key", "show"], &["doctor"], &["secret", "list"]].iter().enumerate() {
        let copy = silas.outside().join(format!("left-{n}"));
        copy_tree(&silas.data(), &copy);
        let mut looking = binary();
        looking.arg("--data-dir").arg(&copy).args(*look).env("XDG_STATE_HOME", copy.join("state"));
        let looked = looking.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&[looked.stdout, looked.stderr].concat()).into_owned();
        let is_whole = match look[0] {
            "audit" | "key" => looked.status.success(),
            _ => !text.contains("damaged") && !text.contains("does not fit") && !text.contains("missing"),
        };
        assert!(is_whole, "{point:?}: {look:?}: {text}");
        fs::remove_dir_all(&copy).unwrap();
    }
    silas.up(&[]);
    silas.assert_ledger_holds();
    let mut line = silas.line();
    let card = secret_card(&silas, &mut line);
    let token = device.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    let (recorded, said) = line.submit(&card, &token).unwrap();
    assert!(recorded, "{point:?}: {said}");
    assert_eq!(line.ended().unwrap()["outcome"], "proved", "{point:?}");
    let (proof, export, root) = (silas.prove("proof.json"), silas.export("whole.export"), silas.root_key());
    assert_eq!(silas.command(&["verify", &proof, "--key", &root]).0, 0, "{point:?}");
    assert_eq!(silas.command(&["audit", "verify", "--export", &export, "--root", &root]).0, 0, "{point:?}");
    silas.pair();
    drop(line);
    silas.terminate();
    for trace in ["keys/root.next", "keys/terminal.next", "keys/handover.json", "store/server.next"] {
        assert!(!silas.data().join(trace).exists(), "{point:?}: {trace} was left behind");
    }
    for trace in ["store/vault.making", "store/vault.next", "store/vault.old"] {
        assert!(!silas.data().join(trace).exists(), "{point:?}: {trace} was left behind");
    }
    // The exchange can be had again.
    silas.rotate(which);
    silas.up(&[]);
    silas.assert_ledger_holds();
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (kind, target) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
