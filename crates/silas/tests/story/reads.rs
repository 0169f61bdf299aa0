//! Reading over HTTP: signed, once, fresh; numbers for operators; and nothing for anybody else.

use crate::harness::{ASKING, Device, Silas, now};
use crate::http;
use base64::Engine as _;
use serde_json::{Value, json};
use silas_core::{Nonce, Timestamp};
use std::time::Duration;

const TOKEN: &str = "fedcba9876543210fedcba9876543210";

fn header(silas: &Silas, device: &Device, path: &str, at: Timestamp) -> String {
    let (nonce, key) = (Nonce::new(&crate::harness::OsRandom), device.id());
    let installation = silas.line().installation();
    let proof = json!({ "kind": "read", "path": path, "installation": installation, "key": key, "timestamp": at, "nonce": nonce });
    let signature = device.sign(&silas_core::canonical::text(&proof).unwrap());
    let credentials = json!({ "key": key, "timestamp": at, "nonce": nonce, "signature": signature }).to_string();
    format!("Silas {}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(credentials))
}

fn read(port: u16, path: &str, authorization: &str) -> (u16, String) {
    http::raw(
        port,
        &format!(
            "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: {authorization}\r\nConnection: close\r\n\r\n"
        ),
    )
}

#[test]
fn a_device_reads_review_activity_and_work_and_nobody_else_does() {
    let silas = Silas::start_asking();
    let device = silas.pair();
    let port = silas.port();
    let mut line = silas.line();
    line.run(&silas.wish()).unwrap();
    let ask = |path: &str| {
        let (status, body) = read(port, path, &header(&silas, &device, path, now()));
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    let review = ask("/api/review");
    assert_eq!(review["cards"][0]["face"]["kind"], "done", "{review}");
    assert_eq!(ask("/api/review?from=1")["cards"].as_array().unwrap().len(), 0);
    assert!(ask("/api/activity")["rows"].as_array().unwrap().iter().any(|row| row["text"] == "You approved a plan"));
    assert_eq!(ask("/api/work")["work"][0]["outcome"], "proved");

    let path = "/api/review";
    let good = header(&silas, &device, path, now());
    assert_eq!(read(port, path, &good).0, 200);
    let refused = |what: &str, authorization: &str| {
        let (status, body) = read(port, path, authorization);
        assert_eq!(status, 401, "{what}: {body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((body.as_object().unwrap().len(), &body["code"]), (3, &json!("E_CHANNEL_AUTH")), "{what}");
    };
    refused("the same request again", &good);
    refused("a signature for another path", &header(&silas, &device, "/api/work", now()));
    refused("an old one", &header(&silas, &device, path, now().plus(Duration::from_secs(3600))));
    refused("a stranger's", &header(&silas, &Device::new(), path, now()));
    refused("none", "");
    refused("the access token of nobody", &format!("Bearer {TOKEN}"));
    // Whoever is revoked reads nothing more.
    let (code, text) = silas.command(&["device", "revoke", device.id().as_str()]);
    assert_eq!(code, 0, "{text}");
    refused("a revoked device's", &header(&silas, &device, path, now()));
}

#[test]
fn a_request_is_not_answered_again_after_a_restart() {
    let mut silas = Silas::start();
    let device = silas.pair();
    let path = "/api/review";
    let kept = header(&silas, &device, path, now());
    assert_eq!(read(silas.port(), path, &kept).0, 200);
    silas.terminate();
    silas.up(&[]);
    let (status, body) = read(silas.port(), path, &kept);
    assert!(status == 401 && body.contains("dated before Silas was started"), "{status} {body}");
    assert_eq!(read(silas.port(), path, &header(&silas, &device, path, now())).0, 200);
}

#[test]
fn metrics_are_for_devices_and_for_the_token() {
    let silas = Silas::start_with(&[ASKING, ("SILAS__CHANNELS__WEB__AUTH_TOKEN", TOKEN)]);
    let device = silas.pair();
    let port = silas.port();
    for authorization in ["", "Bearer ", "Bearer fedcba9876543210fedcba9876543211", "Basic Zm9vOmJhcg=="] {
        let (status, body) = read(port, "/metrics", authorization);
        assert!(status == 401 && !body.contains("silas_"), "{authorization}: {status} {body}");
    }
    let mut line = silas.line();
    line.ask("what did you do?");
    line.run(&silas.wish()).unwrap();
    let collect = || read(port, "/metrics", &format!("Bearer {TOKEN}")).1;
    let page = collect();
    let value = |page: &str, name: &str| -> u64 {
        let line = page.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name} in {page}"));
        line.trim().parse().unwrap()
    };
    assert_eq!(value(&page, "silas_turns_total"), 2);
    assert_eq!(value(&page, "silas_cards{state=\"open\"}"), 1);
    assert_eq!(value(&page, "silas_queue_messages{state=\"dead\"}"), 0);
    assert_eq!(value(&page, "silas_sandbox_runs_total{kind=\"checks\"}"), 2);
    assert_eq!(value(&page, "silas_turned_away_total{reason=\"auth\"}"), 4);
    assert_eq!(value(&page, "silas_queue_fullest_key "), 0);
    assert_eq!(value(&page, "silas_queue_key_max "), 256);
    assert_eq!(value(&page, "silas_store_waiting{lane=\"writes\"}"), 0);
    assert_eq!(value(&page, "silas_store_waiting_max{lane=\"reads\"}"), 1024);
    assert_eq!(value(&page, "silas_overloaded "), 0);
    assert_eq!(value(&page, "silas_sockets "), 0);
    assert!(value(&page, "silas_durable_commits_total") > 3);
    assert!(value(&page, "silas_changes_total{file=\"agent\"}") > 3);
    assert!(value(&page, "process_resident_memory_bytes") > 1 << 20);
    // Counted on from where it was, not from the start again.
    line.ask("what did you do?");
    assert_eq!(value(&collect(), "silas_turns_total"), 3);
    assert_eq!(read(port, "/metrics", &header(&silas, &device, "/metrics", now())).0, 200);
    // Every line is what a collector reads: a comment, or a name and a number.
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, number) = line.rsplit_once(' ').unwrap();
        assert!(number.parse::<u64>().is_ok() && name.starts_with(|c: char| c.is_ascii_lowercase()), "{line}");
    }
}

#[test]
fn the_document_is_served_as_it_is_written() {
    let silas = Silas::start();
    let (status, served) = http::get(silas.port(), "/openapi.json");
    let written = include_str!("../../../../docs/openapi.json");
    assert_eq!(status, 200);
    assert_eq!(serde_json::from_str::<Value>(&served).unwrap(), serde_json::from_str::<Value>(written).unwrap());
    assert_eq!(http::get(silas.port(), "/api.html").0, 200);
}
