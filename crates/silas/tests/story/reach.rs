//! A plan that reaches a host: the card says which, the command gets there, and every connection is in the log.

use crate::harness::TestSilas;
use silas_core::card::{CardKind, Risk};
use silas_core::token::Verdict;
use std::io::Write;
use std::net::TcpListener;

/// A server on this machine that says the same line to everyone, until the test ends.
fn greeter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A visitor that is gone needs no greeting.
            let _ = { stream }.write_all(b"hello from outside\n");
        }
    });
    port
}

fn reading(port: u16) -> String {
    format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && head -n 1 <&3' > greeting.txt")
}

#[test]
fn a_named_host_is_on_the_card_in_the_proof_and_in_the_log() {
    let silas = TestSilas::start();
    let port = greeter();
    let mut line = silas.line();
    let (run, repo) = (reading(port), silas.repo());
    let hosts = format!("  hosts: [\"127.0.0.1:{port}\"]\n");
    let (run, changes) = (format!("{run}; {run}"), ["greeting.txt"]);
    let wish = silas.planned_with(&run, &changes, "grep -q outside greeting.txt", &[&repo], &hosts);
    line.say(&wish).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    let reach = card.face.facts.iter().find(|fact| fact.label == "May reach").unwrap();
    assert_eq!(reach.text, format!("127.0.0.1:{port}, this machine"));
    assert_eq!(card.face.risk, Some(Risk::High), "what is on this machine is not anybody's to reach");
    assert!(card.payload.as_ref().unwrap().contains(&format!(r#""hosts":["127.0.0.1:{port}"]"#)));
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    let work = line.ended().unwrap();
    assert_eq!(work["outcome"], "proved", "{work}");
    assert_eq!(std::fs::read_to_string(repo.join("greeting.txt")).unwrap(), "hello from outside\n");

    line.send(&serde_json::json!({ "type": "proof", "execution": work["execution"] })).unwrap();
    let proof = line.wait_for("proof").unwrap()["proof"]["steps"].to_string();
    assert!(proof.contains(&format!("127.0.0.1:{port} 2 times")) && !proof.contains("no network"), "{proof}");
    let (code, told) = silas.command(&["activity"]);
    assert_eq!(code, 0);
    assert!(told.contains(&format!("Reached 127.0.0.1:{port} at 127.0.0.1")), "{told}");
    assert!(told.contains("2 times"), "{told}");
    silas.assert_ledger_holds();
}

#[test]
fn without_the_grant_the_same_command_gets_nowhere() {
    let silas = TestSilas::start();
    let port = greeter();
    let mut line = silas.line();
    let wish = format!(
        "run `{}` in `{}` and check with `grep -q outside greeting.txt`",
        reading(port),
        silas.repo().display()
    );
    let work = line.run(&wish).unwrap();
    assert_ne!(work["outcome"], "proved", "{work}");
    let (_, told) = silas.command(&["activity"]);
    assert!(!told.contains("Reached"), "{told}");
}

#[test]
fn a_host_that_cannot_be_granted_is_refused_in_words() {
    let silas = TestSilas::start();
    let mut line = silas.line();
    let repo = silas.repo().display().to_string();
    for (host, why) in [
        ("*.example.org:443", "hosts are named one by one"),
        ("example.org", "a port is needed"),
        ("2130706433:80", "four plain numbers"),
        ("[::ffff:127.0.0.1]:80", "write the IPv4 address itself"),
    ] {
        let said = line.ask(&format!("run `true` in `{repo}` reaching `{host}` and check with `false`"));
        assert!(said.contains(why), "{host}: {said}");
    }
}
