//! Devices that come and go: what is said while one is away reaches it, all of it and nothing twice.

use crate::harness::Silas;
use crate::page::Page;
use serde_json::{Value, json};

const TALKATIVE: [(&str, &str); 2] = [
    ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "10000"),
    ("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_IP", "10000"),
];

fn sessions(silas: &Silas) -> Vec<Value> {
    let mut line = silas.line();
    line.send(&json!({ "type": "sessions" })).unwrap();
    line.wait_for("sessions").unwrap()["sessions"].as_array().unwrap().clone()
}

fn session_of_browser(silas: &Silas) -> Value {
    sessions(silas).into_iter().find(|session| session["session_type"] == "stream").unwrap()
}

#[test]
fn a_page_that_was_away_is_given_exactly_what_it_missed() {
    let silas = Silas::start_with(&TALKATIVE);
    let device = silas.pair();
    let mut line = silas.line();
    line.ask("message 0");
    let mut page = Page::open(&silas, &device, None);
    let begun = page.welcome["seq"].as_u64().unwrap();
    assert_eq!((&page.welcome["resumed"], &page.welcome["head"]), (&json!(false), &json!(begun)));
    assert!(page.welcome["snapshot"]["entries"].to_string().contains("message 0"));
    // While it is there, every entry comes once, with the next number.
    line.ask("message 1");
    let live = page.read_until(begun + 2);
    assert_eq!(live.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [begun + 1, begun + 2]);
    assert_eq!(live[0].1, "message 1");
    page.acknowledge(begun + 2);
    page.settle();
    assert_eq!(session_of_browser(&silas)["n_waiting"], 0);
    // It was sent one more that it never showed, and is then away for longer than a page of the outbox is.
    line.ask("message 2");
    page.read_until(begun + 4);
    let has = page.has(begun + 3);
    drop(page);
    for n in 3..70 {
        line.ask(&format!("message {n}"));
    }
    let mut page = Page::open(&silas, &device, Some(&has));
    let head = begun + 2 * 69;
    assert_eq!(
        (&page.welcome["resumed"], &page.welcome["seq"], &page.welcome["head"]),
        (&json!(true), &json!(begun + 3), &json!(head))
    );
    assert_eq!(page.welcome["snapshot"]["entries"], json!([]));
    // Acknowledged were only the first ones; the rest came since it was last here.
    assert_eq!(page.welcome["since"]["n_entries"], json!(head - begun - 2));
    let missed = page.read_until(head);
    assert_eq!(missed.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), (begun + 4..=head).collect::<Vec<_>>());
    let asked: Vec<&String> = missed.iter().map(|(_, text)| text).filter(|text| text.starts_with("message")).collect();
    assert_eq!(asked, (3..70).map(|n| format!("message {n}")).collect::<Vec<_>>().iter().collect::<Vec<_>>());
}

#[test]
fn a_session_outlives_a_kill_and_goes_on_where_it_was() {
    let mut silas = Silas::start();
    let device = silas.pair();
    let mut page = Page::open(&silas, &device, None);
    let seq = page.welcome["seq"].as_u64().unwrap();
    silas.line().ask("before");
    page.read_until(seq + 2);
    page.acknowledge(seq + 2);
    page.settle();
    let (has, session) = (page.has(seq + 2), page.welcome["session"].clone());
    silas.kill();
    silas.up(&[]);
    let known = session_of_browser(&silas);
    assert_eq!((&known["session"], &known["active"], &known["n_waiting"]), (&session, &json!(false), &json!(0)));
    silas.line().ask("after");
    let mut page = Page::open(&silas, &device, Some(&has));
    assert_eq!((&page.welcome["session"], &page.welcome["resumed"]), (&session, &json!(true)));
    assert_eq!(page.read_until(seq + 4)[0].1, "after");
    // Who names what is not there is shown the whole.
    for bad in [json!({ "session": session, "seen": 9999 }), json!({ "session": "sess-other", "seen": seq })] {
        let page = Page::open(&silas, &device, Some(&bad));
        assert_eq!((&page.welcome["resumed"], &page.welcome["since"]), (&json!(false), &json!(null)), "{bad}");
        assert!(page.welcome["snapshot"]["entries"].to_string().contains("after"));
    }
}

#[test]
fn the_owner_sees_who_follows_and_what_waits_for_whom() {
    let silas = Silas::start();
    let device = silas.pair();
    let page = Page::open(&silas, &device, None);
    let (_, text) = silas.command(&["sessions"]);
    assert!(text.contains("test browser: connected, 0 messages since"), "{text}");
    assert!(text.contains("Terminal: a command that runs now"), "{text}");
    drop(page);
    let mut line = silas.line();
    line.ask("hello");
    // The end of a connection is noticed in its own time.
    while session_of_browser(&silas)["active"] == true {
        std::thread::yield_now();
    }
    let (_, text) = silas.command(&["status"]);
    assert!(text.contains("test browser: last here 20") && text.contains(", 2 not shown there yet"), "{text}");
}

#[test]
fn a_connected_page_that_takes_nothing_in_is_named_by_the_doctor() {
    let silas = Silas::start();
    let device = silas.pair();
    let mut page = Page::open(&silas, &device, None);
    silas.line().ask("hello");
    page.settle();
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    db.execute("UPDATE channel_outbox SET at = at - 120000000", []).unwrap();
    let (_, text) = silas.command(&["doctor"]);
    assert!(text.contains("Connected, but does not take them in: test browser."), "{text}");
    page.acknowledge(page.welcome["seq"].as_u64().unwrap() + 2);
    page.settle();
    let (_, text) = silas.command(&["doctor"]);
    assert!(text.contains("Whoever is connected has them."), "{text}");
}
