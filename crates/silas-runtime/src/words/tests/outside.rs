//! What is sent, where and with what stands in the button that sends it, on every card that has one.

use super::plans::{self, item};
use super::samples::{Sample, samples, words};
use silas_core::card::{CardKind, Press, Risk};
use silas_core::host::HostGrant;
use silas_core::work::{Definition, WorkItem};

/// Whether these words name what the plan reaches and carries, or how much of it there is.
fn names_what_leaves(text: &str, d: &Definition) -> bool {
    let host = match d.hosts.as_slice() {
        [] => text.contains("reaches no host"),
        [only] => text.contains(only.host()) || text.contains("1 host"),
        more => text.contains(&format!("{} hosts", more.len())),
    };
    let secret = match d.secrets.as_slice() {
        [] => true,
        [only] => text.contains(only.as_str()) || text.contains("1 secret"),
        more => text.contains(&format!("{} secrets", more.len())),
    };
    host && secret
}

#[test]
fn every_button_that_sends_something_says_where_and_with_what() {
    let mut looked_at = Vec::new();
    for Sample { name, kind, face, payload, instead, .. } in samples() {
        let is_harmful = matches!(face.risk, Some(Risk::High | Risk::Irreversible));
        // What was tried out already is applied; that sends nothing.
        if !is_harmful || !matches!(kind, Some("plan" | "rehearsal")) {
            continue;
        }
        for cta in &face.ctas {
            let asks = match cta.press {
                Press::Approve | Press::Rehearse => payload.clone(),
                Press::Redo => instead.clone().map(|(_, payload)| payload),
                _ => continue,
            };
            let item = WorkItem::from_canonical(&asks.unwrap()).unwrap();
            let d = item.definition();
            if d.hosts.is_empty() && d.secrets.is_empty() {
                continue;
            }
            assert!(names_what_leaves(&cta.consequence, d), "{name}: {}", cta.consequence);
            let is_first = cta.consequence.starts_with("Reaches ") || cta.consequence.starts_with("Uses ");
            assert!(is_first, "{name}: {}", cta.consequence);
            looked_at.push((face.kind, cta.press));
        }
    }
    for seen in [
        (CardKind::Plan, Press::Approve),
        (CardKind::Plan, Press::Rehearse),
        (CardKind::Conflict, Press::Approve),
        (CardKind::Conflict, Press::Redo),
        (CardKind::Refusal, Press::Approve),
        (CardKind::UnknownEffect, Press::Approve),
    ] {
        assert!(looked_at.contains(&seen), "{seen:?} is in no sample");
    }
}

#[track_caller]
fn check(outside: &str, label: &str, consequence: &str) {
    let front = plans::PLAN.replace("sandbox:\n", &format!("sandbox:\n{outside}"));
    let face = words().plan(&item(&front, "Send it."));
    let said = &face.ctas[0];
    assert_eq!((said.label.as_str(), said.consequence.as_str()), (label, consequence));
    assert_eq!(face.breaches(), Vec::<String>::new());
}

#[test]
fn the_words_of_a_yes() {
    let files = "Changes files in tidepool if counted tests turn green; if not, you see it first.";
    let calm = "Do it, apply when proved";
    let sent = "What is sent stays sent.";
    check("", calm, files);
    check("  hosts: [\"tides.example:443\"]\n", calm, &format!("Reaches tides.example. {sent} {files}"));
    check(
        "  hosts: [\"tides.example:443\"]\n  secrets: [mail]\n",
        "Send to tides.example",
        &format!("Reaches tides.example with the secret mail. {sent} {files}"),
    );
    check(
        "  hosts: [\"192.168.1.9:80\"]\n  secrets: [mail]\n",
        "Send to 192.168.1.9:80",
        &format!("Reaches 192.168.1.9:80, a private network, with the secret mail. {sent} {files}"),
    );
    check(
        "  hosts: [\"tides.example:443\", \"a.example:8443\"]\n  secrets: [mail, tables]\n  callback_port: 8765\n",
        "Send to 2 hosts",
        &format!("Reaches 2 hosts with 2 secrets, listed below, and opens port 8765 for a login. {sent} {files}"),
    );
    let long = format!("{}.example:443", ["a-label-of-a-name"; 5].join("."));
    assert!(HostGrant::parse(&long).is_ok());
    check(
        &format!("  hosts: [\"{long}\"]\n  secrets: [mail]\n"),
        "Send to 1 host",
        &format!("Reaches 1 host with the secret mail, listed below. {sent} {files}"),
    );
    let no_host = "Uses the secret mail, and reaches no host.";
    check("  secrets: [mail]\n", "Do it with the secret mail", &format!("{no_host} {files}"));
    check("  callback_port: 8765\n", "Do it, open port 8765", &format!("Opens port 8765 for a login. {files}"));
}
