//! An honest proof verifies and says what happened; whatever is changed in it, every leaf and every byte, is refused by
//! name. Lies that are hashed and signed along are found by what they contradict.

mod rehearsed;
mod world;

use super::*;
use crate::books;
use crate::chain;
use crate::check::Outcome;
use crate::device::Mismatch;
use crate::event::AuditEvent;
use crate::evidence;
use serde_json::{Value, json};
use world::{World, check_result};

#[track_caller]
fn refused(world: &World) -> Refusal {
    verify(&world.text(), None).unwrap_err()
}

#[test]
fn an_honest_proof_says_what_happened() {
    let world = World::honest();
    let (bundle, proven) = verify(&world.text(), Some(&world.root())).unwrap();
    assert_eq!(bundle.to_text().unwrap(), world.text());
    assert_eq!(proven.outcome, Outcome::Proved);
    assert_eq!(proven.plan.definition().title, "Format the code");
    assert_eq!(proven.device.body.name, "Phone");
    assert_eq!((proven.first_entry, proven.last_entry), (41, 53));
    assert_eq!(proven.reach.hosts.get("example.org:443"), Some(&1));
    assert_eq!((proven.reach.refused, proven.n_resumed, proven.n_unknown), (1, 1, 1));
    assert_eq!(proven.landed.changeset.changes.len(), 1);
    assert_eq!(proven.undone_at, None);
    // Nor is what came before the copy that counts.
    assert!(proven.worked < proven.applied_at.since(proven.started_at));
    assert!(!proven.before[0].passed && proven.after[0].passed);
}

#[test]
fn an_undo_is_part_of_the_story() {
    let world = World::undone();
    let (_, proven) = verify(&world.text(), None).unwrap();
    assert!(proven.undone_at.is_some());
}

#[test]
fn another_root_key_is_named() {
    let world = World::honest();
    let other = world.server();
    let found = String::from(world.root());
    assert_eq!(verify(&world.text(), Some(&other)).unwrap_err(), Refusal::OtherRoot { found });
}

#[test]
fn what_is_no_proof_is_bad_input() {
    for text in ["", "{}", "[1]", "not json", "{\"format\":\"silas-ledger\"}"] {
        let refusal = verify(text, None).unwrap_err();
        assert!(refusal.is_bad_input(), "{text}: {refusal}");
    }
    let honest = World::honest().text();
    let refused = |text: &str| {
        let refusal = verify(text, None).unwrap_err();
        (refusal.is_bad_input(), refusal.to_string())
    };
    let cut = "The file cannot be read as a proof: it ends in the middle";
    for at in [30, 500, honest.len() / 2, honest.len() - 2] {
        let at = honest.floor_char_boundary(at);
        assert_eq!(refused(&honest[..at]), (true, cut.to_owned()), "{at}");
    }
    let (is_bad_input, said) = refused(&honest.replacen("\"v\":", "\"v\"=", 1));
    assert!(is_bad_input && said.contains("cannot be read as a proof: it is damaged"), "{said}");
    // What reads as JSON and was altered is refused as a proof.
    let (is_bad_input, said) = refused(&honest.replacen("\"purpose\":\"ledger\"", "\"purpose\":\"browser\"", 1));
    assert!(!is_bad_input && said.contains("cannot be read as a proof") && !said.contains("written"), "{said}");
}

/// Everything that is not an object or a list, with the way to it.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(n, value)| leaves(value, &format!("{path}/{n}"), found));
        }
        _ => found.push(path.to_owned()),
    }
}

/// Other values of the same type, so that the file still reads.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            let mut turned: Vec<char> = text.chars().collect();
            if let Some(last) = turned.last_mut() {
                *last = if *last == 'a' { 'b' } else { 'a' };
            }
            vec![json!(turned.iter().collect::<String>()), json!(format!("{text}x")), json!("")]
        }
        Value::Number(number) => {
            let n = number.as_i64().unwrap();
            vec![json!(n + 1), json!(n - 1), json!(0)]
        }
        Value::Bool(is) => vec![json!(!is)],
        Value::Null => vec![json!("x"), json!(1)],
        Value::Array(_) | Value::Object(_) => vec![json!(["x"]), json!({ "x": 1 })],
    }
}

fn as_file(value: &Value) -> String {
    crate::canonical::text(value).unwrap() + "\n"
}

#[test]
fn every_leaf_that_is_changed_is_refused_by_name() {
    for world in [World::honest(), World::undone(), World::rehearsed_by_rules(), World::rehearsed_by_plan()] {
        let honest: Value = serde_json::from_str(&world.text()).unwrap();
        let mut paths = Vec::new();
        leaves(&honest, "", &mut paths);
        assert!(paths.len() > 100, "{}", paths.len());
        for path in paths {
            let was = honest.pointer(&path).unwrap().clone();
            for other in others(&was).into_iter().filter(|other| *other != was) {
                let mut changed = honest.clone();
                *changed.pointer_mut(&path).unwrap() = other.clone();
                let verified = verify(&as_file(&changed), Some(&world.root()));
                let refusal = verified.err().unwrap_or_else(|| panic!("{path}: {was} became {other}"));
                assert!(!refusal.to_string().is_empty(), "{path}");
            }
        }
    }
}

#[test]
fn every_field_that_is_missing_or_added_is_refused() {
    fn objects(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.push(path.to_owned());
                fields.iter().for_each(|(key, value)| objects(value, &format!("{path}/{key}"), found));
            }
            Value::Array(items) => {
                found.push(path.to_owned());
                items.iter().enumerate().for_each(|(n, value)| objects(value, &format!("{path}/{n}"), found));
            }
            _ => {}
        }
    }
    for world in [World::undone(), World::rehearsed_by_rules()] {
        let honest: Value = serde_json::from_str(&world.text()).unwrap();
        let mut paths = Vec::new();
        objects(&honest, "", &mut paths);
        for path in paths {
            let n_inside = match honest.pointer(&path).unwrap() {
                Value::Object(fields) => fields.len(),
                Value::Array(items) => items.len(),
                _ => 0,
            };
            for n in 0..=n_inside {
                let mut changed = honest.clone();
                match changed.pointer_mut(&path).unwrap() {
                    Value::Object(fields) => match fields.keys().nth(n).cloned() {
                        Some(key) => drop(fields.remove(&key)),
                        None => drop(fields.insert("extra".to_owned(), json!(1))),
                    },
                    Value::Array(items) if n < items.len() => drop(items.remove(n)),
                    Value::Array(items) => items.push(items.last().cloned().unwrap_or(json!("x"))),
                    _ => {}
                }
                if changed != honest {
                    assert!(verify(&as_file(&changed), Some(&world.root())).is_err(), "{path}, {n}");
                }
            }
        }
    }
}

#[test]
fn every_byte_that_is_changed_is_refused() {
    let world = World::honest();
    let honest = world.text();
    for at in 0..honest.len() {
        let mut bytes = honest.clone().into_bytes();
        bytes[at] ^= if at % 2 == 0 { 0x01 } else { 0x20 };
        let Ok(changed) = String::from_utf8(bytes) else { continue };
        assert!(verify(&changed, Some(&world.root())).is_err(), "byte {at} of {}", honest.len());
    }
    for changed in [honest.clone() + "\n", format!(" {honest}"), honest.trim_end().to_owned()] {
        assert_eq!(verify(&changed, None).unwrap_err(), Refusal::Spelling);
    }
}

/// Whoever has the server key can hash and sign a chain anew. What it tells must still fit the decision and itself.
#[test]
fn a_chain_that_was_written_anew_is_found_by_what_it_contradicts() {
    let mut lie = World::honest();
    lie.edit("work_applied", |event| event["outcome"] = json!("guarded"));
    assert_eq!(refused(&lie), Refusal::Outcome { seq: 53, recorded: Outcome::Guarded, computed: Outcome::Proved });

    let mut lie = World::honest();
    lie.edit("work_applied", |event| event["changeset"] = json!(crate::Digest::of(b"other")));
    assert_eq!(refused(&lie), Refusal::Changeset(53));

    let mut lie = World::honest();
    lie.edit("token_spent", |event| event["use_number"] = json!(1));
    let spent = books::Reason::Decision(evidence::Refusal::Execution);
    assert_eq!(refused(&lie), Refusal::Books(books::Fault { seq: 42, reason: spent }));

    let mut lie = World::honest();
    lie.drop_event("token_spent");
    assert!(matches!(refused(&lie), Refusal::Books(books::Fault { reason: books::Reason::NotSpent, .. })));

    let mut lie = World::honest();
    lie.drop_event("step_run");
    assert_eq!(refused(&lie), Refusal::Steps { ran: 0, planned: 1 });

    let mut lie = World::honest();
    lie.edit("step_run", |event| event["step"] = json!(1));
    assert!(matches!(refused(&lie), Refusal::Order(_)));

    let mut lie = World::honest();
    lie.drop_event("work_applied");
    assert_eq!(refused(&lie), Refusal::NotApplied);

    let mut lie = World::honest();
    lie.edit("decision_recorded", |event| event["verdict"] = json!("declined"));
    assert!(matches!(refused(&lie), Refusal::Books(books::Fault { reason: books::Reason::OtherDecision, .. })));
}

#[test]
fn results_must_be_of_the_plans_checks_and_bear_out_what_they_say() {
    let wrong = |world: &World| match refused(world) {
        Refusal::Checks { what, .. } => what,
        other => panic!("{other}"),
    };
    let mut lie = World::honest();
    lie.results(1, vec![check_result("another", true)]);
    assert_eq!(wrong(&lie), "they are of other checks");
    lie.results(1, vec![check_result("formatted", false)]);
    assert_eq!(wrong(&lie), "they are not as many as it counts");
    let mut open = check_result("formatted", true);
    open.protected = false;
    lie.results(1, vec![open]);
    assert_eq!(wrong(&lie), "the plan says otherwise who could change a check");
    let mut red = check_result("formatted", true);
    red.exit_code = Some(1);
    lie.results(1, vec![red]);
    assert_eq!(wrong(&lie), "one is green whose exit code is not");
    let mut hollow = check_result("formatted", true);
    hollow.tests.as_mut().unwrap().passed = 0;
    lie.results(1, vec![hollow]);
    assert_eq!(wrong(&lie), "one is green whose tests are not");
    // Green before: then it proves nothing, whatever the entry says.
    let mut lie = World::honest();
    lie.edit_counted("checks_run", 0, |event| (event["passed"], event["failed"]) = (json!(1), json!(0)));
    lie.results(0, vec![check_result("formatted", true)]);
    assert!(matches!(refused(&lie), Refusal::Outcome { computed: Outcome::Guarded, .. }));
}

#[test]
fn a_proof_begins_with_its_decision_and_ends_with_its_work() {
    let mut early = World::honest();
    early.push_first(AuditEvent::StreamStopped {});
    assert_eq!(refused(&early), Refusal::NoDecision);
    let mut late = World::honest();
    late.push(AuditEvent::StreamStopped {});
    assert_eq!(refused(&late), Refusal::Beyond(54));
}

#[test]
fn what_vouches_for_the_checkpoint_must_be_the_roots_word_about_the_server() {
    let mut lie = World::honest();
    lie.certify_server_with(9);
    assert_eq!(refused(&lie), Refusal::Server(Mismatch::Signature));
    let mut lie = World::honest();
    lie.sign_checkpoint_with(9);
    assert_eq!(refused(&lie), Refusal::Checkpoint);
    // A device may decide; it may not vouch for the ledger.
    let mut lie = World::honest();
    lie.sign_checkpoint_with(2);
    assert_eq!(refused(&lie), Refusal::Checkpoint);
    let mut lie = World::honest();
    lie.checkpoint_at(3);
    assert_eq!(refused(&lie), Refusal::Uncovered { signed: 44, last: 53 });
}

#[test]
fn texts_are_bound_to_their_entries() {
    let mut lie = World::honest();
    lie.bundle_mut(|bundle| bundle.entries.iter_mut().for_each(|entry| entry.text = None));
    assert!(matches!(refused(&lie), Refusal::TextMissing(_)));
    let mut lie = World::honest();
    lie.bundle_mut(|bundle| {
        let entry = bundle.entries.iter_mut().find(|entry| entry.link.event == "checks_run").unwrap();
        let text = entry.text.as_mut().unwrap();
        text.text = text.text.replace("Exit code 1", "Exit code 2");
    });
    assert!(matches!(refused(&lie), Refusal::Chain(chain::Broken { reason: chain::Reason::TextAltered, .. })));
    // A text that nobody needs is nobody's business.
    let mut lie = World::honest();
    lie.bundle_mut(|bundle| {
        let text = bundle.entries.iter().find_map(|entry| entry.text.clone());
        bundle.entries[1].text = text;
    });
    assert_eq!(refused(&lie), Refusal::Needless(42));
}

#[test]
fn what_is_too_long_is_shown_less() {
    let landed = World::landed();
    let whole = landed.to_text(usize::MAX).unwrap().unwrap();
    assert_eq!(crate::canonical::read::<Landed>(&whole).unwrap(), landed);
    let shorter: Landed = crate::canonical::read(&landed.to_text(whole.len() - 1).unwrap().unwrap()).unwrap();
    assert_eq!(shorter.changeset, landed.changeset);
    assert!(shorter.diffs[0].lines.is_none() && !shorter.diffs[0].is_verbatim);
    assert_eq!(landed.to_text(100).unwrap(), None);
}
