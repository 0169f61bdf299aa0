//! What counts as a way out, and what the hash of the findings covers.

use super::*;
use crate::host::HostGrant;
use crate::plan;
use crate::secret::SecretRef;

fn definition() -> Definition {
    let text = "---\nid: task-1\ntype: task\ntitle: Tidy\n---\nProse.\n";
    plan::parse(text.as_bytes()).unwrap().definition().clone()
}

#[test]
fn every_way_out_of_the_copy_is_seen() {
    assert_eq!(exit_of(&definition()), None);
    let hosts = vec![HostGrant::parse("example.com:443").unwrap()];
    assert_eq!(exit_of(&Definition { hosts, ..definition() }), Some("the plan reaches a host"));
    let secrets = vec![SecretRef::parse("mail").unwrap()];
    assert_eq!(exit_of(&Definition { secrets, ..definition() }), Some("the plan uses a secret"));
    assert_eq!(exit_of(&Definition { callback_port: Some(8080), ..definition() }), Some("the plan opens a port"));
    assert_eq!(exit_of(&Definition { commits: true, ..definition() }), Some("the plan commits"));
    let tools = vec!["shell_exec".to_owned(), "web_search".to_owned()];
    let executor = Some(crate::mandate::Mandate { tools, ..Default::default() });
    assert_eq!(exit_of(&Definition { executor, ..definition() }), Some("the plan searches the web"));
}

#[test]
fn another_result_or_another_diff_is_another_finding() {
    let result = |passed: bool| CheckResult {
        name: "tests".to_owned(),
        run: "make test".to_owned(),
        passed,
        reason: String::new(),
        output: String::new(),
        exit_code: Some(0),
        took_ms: 1,
        protected: true,
        tests: None,
        asked: Vec::new(),
        basis: None,
    };
    let diff = |added: u32| FileDiff {
        directory: String::new(),
        path: crate::relpath::RelPath::from_bytes(b"a").unwrap(),
        renamed_from: None,
        mode_before: None,
        mode_after: None,
        added,
        removed: 0,
        lines: None,
        is_verbatim: false,
    };
    let hash = |before: bool, after: bool, added: u32| {
        let (before, after, diffs) = ([result(before)], [result(after)], [diff(added)]);
        Findings { before: &before, after: &after, diffs: &diffs }.hash().unwrap()
    };
    let honest = hash(false, true, 1);
    assert_eq!(hash(false, true, 1), honest);
    for other in [hash(true, true, 1), hash(false, false, 1), hash(false, true, 2), hash(true, false, 1)] {
        assert_ne!(other, honest);
    }
}
