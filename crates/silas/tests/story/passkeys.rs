//! A passkey of the owner's: registered from a paired browser, and from then on the only key for what cannot be undone.
//! The authenticator is one of our own making; the browser suite has Chromium's.

use crate::harness::{Device, Line, OsRandom, Silas, counted, now};
use crate::vault::plan_card;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::SigningKey;
use p256::ecdsa::signature::Signer as _;
use serde_json::json;
use silas_core::card::{Card, CardKind, Risk};
use silas_core::revocation::{Withdrawal, WithdrawalBody, WithdrawalKind, Withdrawn};
use silas_core::signature::webauthn::Assertion;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Token, Verdict};
use silas_core::{Digest, KeyId, Nonce};
use std::io::Write as _;
use std::net::TcpListener;

struct Passkey {
    key: SigningKey,
    count: u32,
    /// Of the page on which it is used.
    port: u16,
}

impl Passkey {
    fn new(seed: u8, silas: &Silas) -> Self {
        Passkey { key: SigningKey::from_slice(&[seed; 32]).unwrap(), count: 0, port: silas.port() }
    }

    fn public(&self) -> PublicKey {
        PublicKey::P256(self.key.verifying_key().to_sec1_point(false).as_bytes().try_into().unwrap())
    }

    fn id(&self) -> KeyId {
        self.public().id()
    }

    /// What an authenticator says on our page once its owner was verified; it counts on if it counts.
    fn sign(&mut self, message: &str) -> Signature {
        self.count += 1;
        self.sign_as(message, self.count)
    }

    fn sign_as(&self, message: &str, count: u32) -> Signature {
        let challenge = URL_SAFE_NO_PAD.encode(Digest::of(message.as_bytes()).as_bytes());
        let origin = format!("http://localhost:{}", self.port);
        let client = json!({ "type": "webauthn.get", "challenge": challenge, "origin": origin });
        let client = client.to_string();
        let data = [Digest::of(b"localhost").as_bytes().as_slice(), &[5], &count.to_be_bytes()].concat();
        let signed = [data.as_slice(), Digest::of(client.as_bytes()).as_bytes()].concat();
        let signature: p256::ecdsa::Signature = self.key.sign(&signed);
        let assertion = Assertion::new(&data, client.as_bytes(), signature.to_der().as_bytes()).unwrap();
        Signature::webauthn(self.id(), assertion)
    }

    fn answer(&mut self, card: &Card, verdict: Verdict) -> Token {
        let body = card.offer.as_ref().unwrap().answered(self.id(), verdict);
        let signature = self.sign(&body.message().unwrap());
        Token { body, signature }
    }

    fn ask(&self, line: &mut Line) -> Card {
        let site = json!({ "rp_id": "localhost", "credential": "AAECAwQFBgcICQ" });
        line.send(&json!({ "type": "passkey_add", "name": "My key", "public": self.public(), "site": site })).unwrap();
        line.card(CardKind::Passkey).unwrap()
    }
}

fn browsers(device: &Device, card: &Card) -> Token {
    device.answer(card.offer.as_ref().unwrap(), Verdict::Approved)
}

/// A host of this machine that says one line, and a plan that carries a secret there.
fn sending_plan(silas: &Silas, line: &mut Line, id: &str) -> Card {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A visitor that is gone needs no greeting.
            let _ = { stream }.write_all(b"taken\n");
        }
    });
    let plan = format!(
        "---\nid: {id}\ntitle: Send it\ntype: task\nsteps:\n  - run: \"bash -c 'silas-secret get mail > /dev/null && exec \
         3<>/dev/tcp/127.0.0.1/{port} && head -n 1 <&3' > sent.txt\"\nexits: {{ paths: [sent.txt] }}\nverify:\n  - name: it was taken\n    run: \
         \"{}\"\n    expect: {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: {}, access: write }}\n  \
         hosts: [\"127.0.0.1:{port}\"]\n  secrets: [mail]\n---\nSend it.\n",
        counted("grep -q taken sent.txt"),
        silas.repo().display()
    );
    let file = silas.outside().join(format!("{id}.md"));
    std::fs::write(&file, plan).unwrap();
    let (code, text) = silas.command(&["plan", "submit", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    plan_card(line)
}

#[test]
fn where_there_is_one_no_other_key_decides_what_cannot_be_undone() {
    let mut silas = Silas::start();
    let browser = silas.pair();
    let mut line = silas.line();
    silas.set_secret("mail", "a secret value");
    let mut passkey = Passkey::new(7, &silas);

    // Registered by the browser's own decision; what is not a passkey is not even asked about.
    line.send(&json!({ "type": "passkey_add", "name": "x", "public": browser.public(), "site": { "rp_id": "localhost", "credential": "AA" } }))
        .unwrap();
    assert_eq!(line.wait_for("error").unwrap()["code"], "E_APPROVAL_PASSKEY");
    let asked = passkey.ask(&mut line);
    assert_eq!(asked.face.risk, Some(Risk::High));
    let (recorded, said) = line.submit(&asked, &browsers(&browser, &asked)).unwrap();
    assert!(recorded && said.contains("Registered"), "{said}");
    let (_, text) = silas.command(&["device", "list"]);
    assert!(text.contains("My key  (passkey, for what cannot be undone"), "{text}");

    // A plan that carries a secret to a host: neither the browser nor the terminal is enough any more.
    let card = sending_plan(&silas, &mut line, "task-send");
    assert_eq!(card.face.risk, Some(Risk::Irreversible));
    let (recorded, said) = line.submit(&card, &browsers(&browser, &card)).unwrap();
    assert!(!recorded && said.contains("decided with your passkey"), "{said}");
    let (recorded, said) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(!recorded && said.contains("decided with your passkey"), "{said}");
    // A page of another port of this machine may ask the passkey too: it belongs to `localhost`, whoever serves there.
    let elsewhere =
        Passkey { key: passkey.key.clone(), count: 0, port: passkey.port ^ 1 }.answer(&card, Verdict::Approved);
    let (recorded, said) = line.submit(&card, &elsewhere).unwrap();
    assert!(!recorded && said.contains("another address"), "{said}");
    assert!(line.work.is_empty());
    let (recorded, said) = line.submit(&card, &passkey.answer(&card, Verdict::Approved)).unwrap();
    assert!(recorded, "{said}");
    let work = line.ended().unwrap();
    assert_eq!(work["outcome"], "proved", "{work}");

    // A second passkey needs the first, and a browser cannot take the first away.
    let second = Passkey::new(8, &silas);
    let asked = second.ask(&mut line);
    let (recorded, said) = line.submit(&asked, &browsers(&browser, &asked)).unwrap();
    assert!(!recorded && said.contains("decided with your passkey"), "{said}");
    let body = WithdrawalBody {
        kind: WithdrawalKind::Withdrawal,
        installation: line.installation(),
        epoch: line.snapshot["epoch"].as_u64().unwrap(),
        key: browser.id(),
        what: Withdrawn::Device(passkey.id()),
        nonce: Nonce::new(&OsRandom),
        timestamp: now(),
    };
    let withdrawal = Withdrawal { signature: browser.sign(&body.message().unwrap()), body };
    line.send(&json!({ "type": "withdraw", "withdrawal": withdrawal })).unwrap();
    let answer = line.wait_for("withdrawn").unwrap();
    assert!(answer["done"] == false && answer.to_string().contains("passkey"), "{answer}");

    // A copy of the authenticator shows itself by its counter.
    let (recorded, said) = {
        let body = asked.offer.as_ref().unwrap().answered(passkey.id(), Verdict::Approved);
        let signature = passkey.sign_as(&body.message().unwrap(), 1);
        line.submit(&asked, &Token { body, signature }).unwrap()
    };
    assert!(!recorded && said.contains("counter"), "{said}");
    assert!(line.decide(&asked, Verdict::Declined).unwrap().0, "a no needs no passkey");
    silas.assert_ledger_holds();

    // The proof holds elsewhere, and everything holds after a restart, whatever the database forgets.
    silas.assert_proof_travels();
    drop(line);
    silas.terminate();
    silas.up(&[]);
    let mut line = silas.line();
    let card = sending_plan(&silas, &mut line, "task-send-again");
    let (recorded, said) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(!recorded && said.contains("decided with your passkey"), "{said}");

    passkey.port = silas.port();
    // The terminal is the way back in when an authenticator is lost.
    let (code, text) = silas.command(&["device", "revoke", passkey.id().as_str()]);
    assert_eq!(code, 0, "{text}");
    let (recorded, said) = line.submit(&card, &passkey.answer(&card, Verdict::Approved)).unwrap();
    assert!(!recorded && said.contains("was revoked"), "{said}");
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    silas.assert_ledger_holds();
}

#[test]
fn the_launcher_tells_a_database_that_forgot_its_passkey() {
    let mut silas = Silas::start();
    let browser = silas.pair();
    let mut line = silas.line();
    let passkey = Passkey::new(7, &silas);
    let asked = passkey.ask(&mut line);
    assert!(line.submit(&asked, &browsers(&browser, &asked)).unwrap().0);
    drop(line);
    silas.terminate();
    let database = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    let n = database.execute("DELETE FROM devices WHERE key_id = ?1", [passkey.id().as_str()]).unwrap();
    assert_eq!(n, 1);
    drop(database);
    silas.up(&[]);
    let (_, text) = silas.command(&["device", "list"]);
    assert!(text.contains("My key  (passkey"), "{text}");
}

/// A new root key vouches for the passkey too: nothing that it decided is lost, and it alone goes on deciding.
#[test]
fn a_passkey_outlives_the_root_key_that_certified_it() {
    let mut silas = Silas::start();
    let browser = silas.pair();
    let mut line = silas.line();
    silas.set_secret("mail", "a secret value");
    let mut passkey = Passkey::new(7, &silas);
    let asked = passkey.ask(&mut line);
    assert!(line.submit(&asked, &browsers(&browser, &asked)).unwrap().0);
    let card = sending_plan(&silas, &mut line, "task-before");
    assert!(line.submit(&card, &passkey.answer(&card, Verdict::Approved)).unwrap().0);
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    let (old_root, before) = (silas.root_key(), silas.prove("before.json"));
    let remembered = |silas: &Silas| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(silas.data().join("launcher/passkeys.json")).unwrap()).unwrap()
    };
    let certified = remembered(&silas);
    drop(line);
    silas.terminate();
    silas.rotate("root");
    silas.assert_ledger_holds();
    silas.up(&[]);
    let (_, text) = silas.command(&["device", "list"]);
    assert!(text.contains("My key  (passkey, for what cannot be undone"), "{text}");
    let kept = remembered(&silas);
    assert_eq!(kept.as_array().unwrap().len(), 1, "the same key, vouched for anew: {kept}");
    assert_eq!(kept[0]["body"], certified[0]["body"]);
    assert_ne!(kept[0]["signature"]["key"], certified[0]["signature"]["key"]);

    passkey.port = silas.port();
    // The bar stays where it was, for the engine and for the launcher.
    let mut line = silas.line();
    std::fs::remove_file(silas.repo().join("sent.txt")).unwrap();
    let card = sending_plan(&silas, &mut line, "task-after");
    for token in [browsers(&browser, &card), line.token(&card, Verdict::Approved).unwrap()] {
        let (recorded, said) = line.submit(&card, &token).unwrap();
        assert!(!recorded && said.contains("decided with your passkey"), "{said}");
    }
    line.work.clear();
    let (recorded, said) = line.submit(&card, &passkey.answer(&card, Verdict::Approved)).unwrap();
    assert!(recorded, "{said}");
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    // It still has a say in who comes after it, and its counter goes on from where it was.
    let second = Passkey::new(8, &silas);
    let asked = second.ask(&mut line);
    let body = asked.offer.as_ref().unwrap().answered(passkey.id(), Verdict::Approved);
    let copied = Token { signature: passkey.sign_as(&body.message().unwrap(), 1), body };
    let (recorded, said) = line.submit(&asked, &copied).unwrap();
    assert!(!recorded && said.contains("counter"), "{said}");
    let (recorded, said) = line.submit(&asked, &passkey.answer(&asked, Verdict::Approved)).unwrap();
    assert!(recorded && said.contains("Registered"), "{said}");
    silas.assert_ledger_holds();
    let (new_root, after) = (silas.root_key(), silas.prove("after.json"));
    assert_ne!(new_root, old_root);
    for (proof, root) in [(&before, &old_root), (&after, &new_root)] {
        let (code, text) = silas.command(&["verify", proof, "--key", root]);
        assert!(code == 0 && text.starts_with("VERIFIED"), "{text}");
    }
}
