//! What is too large to be read: a request, and a number. It is refused with a code, changes nothing, and keeps nobody
//! waiting.

use crate::harness::{Device, Silas};
use crate::http;
use crate::page::Page;
use crate::secure_input::{asked, body, header};
use serde_json::json;
use silas_core::card::{CardKind, CardState};
use silas_core::secret::SECRET_BYTES_MAX;
use silas_core::token::Verdict;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The largest body that `/pair` reads.
const PAIR_BYTES_MAX: usize = 64 * 1024;
/// The same of a secret: its value with every byte escaped, and the frame.
const GIVE_BYTES_MAX: usize = 2 * SECRET_BYTES_MAX + 64;
/// What is announced where less is sent. Nobody waits for that.
const ANNOUNCED: usize = 1 << 30;

/// Announces a body and sends this much of it. The status that came back, and the rest; a server that waits for what is
/// missing, instead of ending the connection, makes this fail.
fn begun(port: u16, path: &str, more: &str, announced: usize, sent: &str) -> (u16, String) {
    // After a whole request another may come. After half of one there is nothing that could.
    let connection = if announced == sent.len() { "Connection: close\r\n" } else { "" };
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n{connection}{more}Content-Type: \
         application/json\r\nContent-Length: {announced}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(sent.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("the connection is not left open");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned())
}

#[test]
fn a_request_to_pair_has_room_for_so_much() {
    let silas = Silas::start();
    let port = silas.port();
    let at: SocketAddr = (Ipv4Addr::LOCALHOST, port).into();
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let device = Device::new();
    let request = device.pair_request(at, &code);
    let padded = |n: usize| format!("{request}{}", " ".repeat(n - request.len()));
    let too_long = padded(PAIR_BYTES_MAX + 1);
    for announced in [too_long.len(), ANNOUNCED] {
        assert_eq!(begun(port, "/pair", "", announced, &too_long).0, 413, "{announced} bytes announced");
    }
    let (_, list) = silas.command(&["device", "list"]);
    assert!(!list.contains("test browser"), "nobody was paired: {list}");
    // The code is as good as before, and all the room there is can be used.
    let (status, answer) = http::post(port, "/pair", &padded(PAIR_BYTES_MAX));
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn a_secret_has_room_for_so_much() {
    let silas = Silas::start();
    let device = silas.pair();
    let mut line = silas.line();
    let card = asked(&silas, &mut line);
    let (port, path) = (silas.port(), "/secrets/mail");
    let give = |body: &str, announced: usize| {
        let signed = format!("Authorization: {}\r\n", header(&silas, &device, path, body));
        begun(port, path, &signed, announced, body)
    };
    let one_more = body(&"s".repeat(SECRET_BYTES_MAX + 1));
    let longest = format!("{{\"value\":\"{}\"}}", "s".repeat(GIVE_BYTES_MAX));
    let part = &longest[..=GIVE_BYTES_MAX];
    for (body, announced) in [(one_more.as_str(), one_more.len()), (part, part.len()), (part, ANNOUNCED)] {
        let (status, answer) = give(body, announced);
        assert!(status == 413 && answer.contains("E_VAULT_SIZE") && !answer.contains("sss"), "{status} {answer}");
    }
    let (_, listed) = silas.command(&["secret", "list"]);
    assert!(listed.contains("There are no secrets"), "{listed}");
    line.ask("tasks");
    assert!(line.cards.iter().any(|open| open.id == card.id && open.state == CardState::Open), "it still asks");
    let all = body(&"s".repeat(SECRET_BYTES_MAX));
    assert_eq!(give(&all, all.len()), (200, r#"{"stored":true}"#.to_owned()));
    line.card(CardKind::Plan).unwrap();
}

/// No number that another reader would take for a different one is signed. Whoever sends one is told so; nothing has failed.
#[test]
fn a_number_that_cannot_be_signed_is_refused_and_is_no_failure() {
    let silas = Silas::start_with_log(&[crate::harness::ASKING]);
    let device = silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    let plan = line.card(CardKind::Plan).unwrap();
    line.ask("add a model");
    let choice = line.card(CardKind::ModelChoice).unwrap();
    let mut page = Page::open(&silas, &device, None);

    let grant = |input: serde_json::Value| {
        json!({ "type": "model_add", "grant": {
            "kind": "model", "model": "compatible:m@http://localhost:9/v1", "roles": ["proxy"], "key": "none",
            "price": { "input": input, "output": 0 }, "policy_version": 1,
        } })
    };
    for (number, code) in [
        (json!(u64::MAX), "E_APPROVAL_NUMBER"),
        (json!((1_u64 << 53) + 1), "E_APPROVAL_NUMBER"),
        (json!(1.5), "E_CHANNEL_MESSAGE"),
        (json!(-1), "E_CHANNEL_MESSAGE"),
    ] {
        page.send_raw(&http::text_frame(&grant(number.clone()).to_string()));
        let answer = page.next_of(&["asked", "error"]);
        assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!(code)), "{number}: {answer}");
        assert!(answer["todo"].as_str().is_some_and(|todo| !todo.is_empty() && !todo.contains("log")), "{answer}");
    }
    let chosen = json!({
        "type": "model_choose", "request_id": choice.id, "model": "compatible:m@http://localhost:9/v1", "key": "none",
        "price": { "input": u64::MAX, "output": 0 },
    });
    page.send_raw(&http::text_frame(&chosen.to_string()));
    let answer = page.next_of(&["decided"]);
    assert_eq!(answer["recorded"], false, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("too large to be written down exactly"), "{answer}");
    // The same in the offer of a decision: signed by nobody, since nobody can, and about no card.
    let token = serde_json::to_value(device.answer(plan.offer.as_ref().unwrap(), Verdict::Approved)).unwrap();
    for (field, number) in [("epoch", json!(u64::MAX)), ("max_executions", json!(u32::MAX))] {
        let mut token = token.clone();
        token["body"]["offer"][field] = number;
        let decision = json!({ "type": "approval_response", "request_id": plan.id, "token": token });
        page.send_raw(&http::text_frame(&decision.to_string()));
        let answer = page.next_of(&["decided", "error"]);
        assert_eq!((&answer["type"], &answer["recorded"]), (&json!("decided"), &json!(false)), "{field}: {answer}");
    }
    line.ask("tasks");
    assert!(line.cards.iter().all(|card| card.face.kind != CardKind::Model), "nothing is asked for it");
    assert!(line.cards.iter().any(|card| card.id == plan.id && card.state == CardState::Open));
    let log = std::fs::read_to_string(silas.outside().join("log")).unwrap();
    assert!(!log.contains("ERROR"), "{log}");
    silas.assert_ledger_holds();
}
