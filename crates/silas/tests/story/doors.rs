//! Who gets in: an unpaired connection can only pair, a foreign `Host` or `Origin` gets nothing.

use crate::harness::{Device, Silas, proof};
use crate::http;
use crate::page::Page;
use serde_json::{Value, json};
use silas_core::token::{Offer, Verdict};
use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};

/// The close code of a frame, if it is a close.
fn close_code(frame: Option<(u8, Vec<u8>)>) -> Option<u16> {
    let (8, payload) = frame? else { return None };
    Some(u16::from_be_bytes([payload[0], payload[1]]))
}

#[test]
fn an_unpaired_connection_learns_nothing_and_is_closed_with_4001() {
    let silas = Silas::start();
    let port = silas.port();
    let stranger = Device::new();
    let answers = [
        "{}".to_owned(),
        json!({ "type": "stop" }).to_string(),
        json!({ "type": "auth", "key": stranger.id(), "signature": stranger.sign("anything") }).to_string(),
    ];
    for answer in answers {
        let (status, mut socket) =
            http::upgrade(port, &format!("localhost:{port}"), &format!("http://localhost:{port}"));
        assert_eq!(status, 101);
        let (1, hello) = http::read_frame(&mut socket).unwrap() else { panic!() };
        let hello: Value = serde_json::from_slice(&hello).unwrap();
        assert_eq!(hello["type"], "challenge");
        assert_eq!(hello.as_object().unwrap().len(), 3, "{hello}");
        http::write_text(&mut socket, &answer);
        assert_eq!(close_code(http::read_frame(&mut socket)), Some(4001), "{answer}");
    }
}

#[test]
fn whoever_says_nothing_or_no_text_is_closed_with_4001() {
    let silas = Silas::start();
    let port = silas.port();
    let greeted = || {
        let mut socket = http::upgrade(port, &format!("localhost:{port}"), &format!("http://localhost:{port}")).1;
        http::read_frame(&mut socket).unwrap();
        socket
    };
    let mut silent = greeted();
    let mut binary = greeted();
    std::io::Write::write_all(&mut binary, &[0x82, 0x82, 0, 0, 0, 0, b'{', b'}']).unwrap();
    assert_eq!(close_code(http::read_frame(&mut binary)), Some(4001));
    assert_eq!(close_code(http::read_frame(&mut silent)), Some(4001), "five seconds are over");
}

#[test]
fn a_paired_device_gets_in_with_a_fresh_signature_only() {
    let silas = Silas::start();
    let device = silas.pair();
    let port = silas.port();
    let connect = || http::upgrade(port, &format!("localhost:{port}"), &format!("http://localhost:{port}")).1;
    let mut socket = connect();
    let (_, hello) = http::read_frame(&mut socket).unwrap();
    let hello: Value = serde_json::from_slice(&hello).unwrap();
    let session = json!({ "kind": "session", "challenge": hello["challenge"], "installation": hello["installation"], "key": device.id() });
    let text = silas_core::canonical::text(&session).unwrap();
    let auth = json!({ "type": "auth", "key": device.id(), "signature": device.sign(&text) }).to_string();
    http::write_text(&mut socket, &auth);
    let (1, welcome) = http::read_frame(&mut socket).unwrap() else { panic!() };
    let welcome: Value = serde_json::from_slice(&welcome).unwrap();
    assert_eq!((&welcome["type"], &welcome["device"]), (&json!("welcome"), &json!("test browser")));
    // The same answer to another challenge is a replay.
    let mut socket = connect();
    http::read_frame(&mut socket).unwrap();
    http::write_text(&mut socket, &auth);
    assert_eq!(close_code(http::read_frame(&mut socket)), Some(4001));
}

#[test]
fn a_foreign_host_or_origin_gets_nothing() {
    let silas = Silas::start();
    let port = silas.port();
    for host in ["evil.example", "localhost", "localhost:1", "127.0.0.1.nip.io", &format!("evil.example:{port}")] {
        for path in ["/", "/health", "/pair", "/app.js", "/ws"] {
            let (status, body) =
                http::raw(port, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
            assert_eq!((status, body.as_str()), (421, ""), "{host} {path}");
        }
    }
    let ours = format!("localhost:{port}");
    for origin in
        ["http://evil.example", "null", "https://localhost", &format!("http://127.0.0.1:{port}"), "http://localhost:1"]
    {
        assert_eq!(http::upgrade(port, &ours, origin).0, 403, "{origin}");
        let request = format!(
            "POST /pair HTTP/1.1\r\nHost: {ours}\r\nOrigin: {origin}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
        );
        assert_eq!(http::raw(port, &request), (403, String::new()), "{origin}");
    }
    let without = format!("POST /pair HTTP/1.1\r\nHost: {ours}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
    assert_eq!(http::raw(port, &without).0, 403);
    let twice = format!("GET /health HTTP/1.1\r\nHost: {ours}\r\nHost: {ours}\r\nConnection: close\r\n\r\n");
    assert_ne!(http::raw(port, &twice).0, 200);
}

/// Whatever is answered, and to whom: what a browser may do with it is said.
#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let silas = Silas::start();
    let port = silas.port();
    let ours = format!("localhost:{port}");
    let get = |path: &str, host: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let answers = [
        (200, get("/", &ours)),
        (404, get("/nothing-here", &ours)),
        (421, get("/", "evil.example")),
        (403, http::upgrade_request(&ours, "http://evil.example")),
        (101, http::upgrade_request(&ours, &format!("http://{ours}"))),
    ];
    let policy = BTreeMap::from([
        ("default-src", "'none'"),
        ("script-src", "'self'"),
        ("style-src", "'self'"),
        ("img-src", "'self' data:"),
        ("connect-src", "'self'"),
        ("manifest-src", "'self'"),
        ("worker-src", "'self'"),
        ("base-uri", "'none'"),
        ("form-action", "'self'"),
        ("frame-ancestors", "'none'"),
    ]);
    for (expected, request) in answers {
        let (status, headers) = http::head(port, &request);
        assert_eq!(status, expected, "{request}");
        let one = |name: &str| {
            let found: Vec<&str> = headers.iter().filter(|(it, _)| it == name).map(|(_, value)| &**value).collect();
            assert_eq!(found.len(), 1, "{expected}: {name} is there {} times", found.len());
            found[0]
        };
        let said = one("content-security-policy").split(';').map(|part| part.trim().split_once(' ').unwrap());
        assert_eq!(said.collect::<BTreeMap<_, _>>(), policy, "{expected}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        ] {
            assert_eq!(one(name), value, "{expected}: {name}");
        }
        // Nobody else's page is ever let in on an answer.
        assert!(!headers.iter().any(|(name, _)| name.starts_with("access-control-")), "{expected}: {headers:?}");
    }
}

#[test]
fn a_server_that_goes_away_says_so() {
    let mut silas = Silas::start();
    let device = silas.pair();
    let mut pages = [Page::open(&silas, &device, None), Page::open(&silas, &device, None)];
    silas.terminate();
    for page in &mut pages {
        assert_eq!(page.close_code(), Some(1001));
    }
}

#[test]
fn the_other_loopback_name_is_sent_on_to_the_one_address() {
    let silas = Silas::start();
    let port = silas.port();
    let (status, _) =
        http::raw(port, &format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"));
    assert_eq!(status, 308);
    assert_eq!(http::get(port, "/").0, 200);
    assert_eq!(http::get(port, "/nothing-here").0, 404);
    let (status, health) = http::get(port, "/health");
    assert_eq!(
        (status, health.as_str()),
        (
            200,
            r#"{"status":"ok","connections":0,"backpressure":{"turns":"free","writes":"free","reads":"free","sockets":"free"}}"#
        )
    );
}

/// Whoever names the other loopback address gets the same door under the same one name: never an open one.
#[test]
fn a_host_of_version_6_is_loopback_too() {
    if let Err(missing) = std::net::TcpListener::bind("[::1]:0") {
        println!("skipped: this machine has no ::1 ({missing})");
        return;
    }
    let silas = Silas::start_with(&[("SILAS__CHANNELS__WEB__HOST", "::1")]);
    let port = silas.port();
    let at: SocketAddr = (Ipv6Addr::LOCALHOST, port).into();
    assert!(http::get_at(at, "/health").1.starts_with(r#"{"status":"ok","#));
    assert!(!silas.data().join("run/network-address").exists(), "nobody else is let in");
    let asking = |host: &str, path: &str| {
        http::raw_at(at, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).0
    };
    let own = format!("[::1]:{port}");
    assert_eq!(asking(&own, "/"), 308, "a person is sent on to the one name");
    for (host, path) in
        [(own.as_str(), "/health"), (&own, "/pair"), ("rebound.example", "/"), ("[::1]", "/"), ("", "/")]
    {
        assert_eq!(asking(host, path), 421, "{host} {path}");
    }
    assert_eq!(http::upgrade_at(at, &own, &format!("http://{own}")).0, 421);
    assert_eq!(http::upgrade_at(at, &format!("localhost:{port}"), &format!("http://{own}")).0, 403);
    let device = Device::new();
    assert_eq!(device.pair_at(at, "a guess").0, 403);
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let (status, answer) = device.pair_at(at, &code);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(Page::open_at(at, &device, None).ask(&json!({ "type": "tasks" })), "tasks");
}

#[test]
fn pairing_needs_the_code_and_uses_it_up() {
    let silas = Silas::start();
    let port = silas.port();
    let (status, body) = Device::new().pair(port, "a-guess");
    assert_eq!(status, 403, "{body}");
    assert!(body.contains("silas pair"), "{body}");
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let (first, second) = (Device::new(), Device::new());
    assert_eq!(first.pair(port, &code).0, 200);
    assert_eq!(second.pair(port, &code).0, 403, "one code, one device");
    // A proof belongs to one key: an eavesdropper cannot use it for another.
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let stolen = proof(&code, &String::from(first.public()));
    let body = json!({ "public": String::from(second.public()), "name": "x", "proof": stolen, "house_rules": null });
    assert_eq!(http::post(port, "/pair", &body.to_string()).0, 403);
}

#[test]
fn the_first_device_cannot_pair_around_the_house_rules() {
    let silas = Silas::start();
    let port = silas.port();
    let device = Device::new();
    let pair = |house_rules: Value| {
        let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
        let public = String::from(device.public());
        let body = json!({ "public": public, "name": "x", "proof": proof(&code, &public), "house_rules": house_rules });
        http::post(port, "/pair", &body.to_string())
    };
    assert_eq!(pair(Value::Null).0, 403);
    let screen: Value = serde_json::from_str(&http::get(port, "/pair").1).unwrap();
    let offer: Offer = serde_json::from_value(screen["house_rules"]["offer"].clone()).unwrap();
    let declined = device.answer(&offer, Verdict::Declined);
    assert_eq!(pair(json!(declined)).0, 403);
    let widened = Offer { max_executions: 999_999, ..offer.clone() };
    assert_eq!(pair(json!(device.answer(&widened, Verdict::Approved))).0, 403);
    assert_eq!(pair(json!(device.answer(&offer, Verdict::Approved))).0, 200);
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let silas = Silas::start();
    let (code, text) = silas.command(&["start", "--port", "0", "--quiet"]);
    assert!(code != 0 && text.contains("already runs"), "{text}");
    // The first one is none the worse for it.
    let mut line = silas.line();
    assert!(line.ask("what did you do?").contains("so far"));
}

#[test]
fn the_first_run_can_be_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let init = || {
        let output = crate::harness::binary()
            .args(["init", "--data-dir"])
            .arg(dir.path().join("data"))
            .current_dir("/")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        std::fs::read(dir.path().join("data/keys/installation.json")).unwrap()
    };
    assert_eq!(init(), init());
}

#[test]
fn strangers_that_hold_connections_keep_nobody_out_and_nothing_up() {
    use std::io::Write;
    let mut silas = Silas::start();
    let port = silas.port();
    let mut held = Vec::new();
    for _ in 0..400 {
        let mut socket = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        // Whoever has been there longest has to go.
        let _sent_away = socket.write_all(b"GET / HTTP/1.1\r\nHost: loc");
        held.push(socket);
    }
    // Whoever comes now and says what they want is answered, and the owner's terminal has its own door besides.
    assert_eq!(http::get(port, "/health").0, 200);
    let (code, text) = silas.command(&["status"]);
    assert_eq!(code, 0, "{text}");
    assert!(silas.line().ask("what did you do?").contains("so far"));
    // The same of those who promise a body and do not send it.
    drop(held);
    let mut held = Vec::new();
    for _ in 0..400 {
        let mut socket = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = format!(
            "POST /pair HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\nContent-Length: 9\r\n\r\n{{"
        );
        let _sent_away = socket.write_all(head.as_bytes());
        held.push(socket);
    }
    assert_eq!(http::get(port, "/health").0, 200, "they keep everybody out");
    // And a server that is told to go does not wait for them.
    silas.terminate();
    drop(held);
}
