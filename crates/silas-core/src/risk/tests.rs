//! What each way out of the machine puts at stake.

use super::*;
use crate::host::HostGrant;
use crate::mandate::Mandate;
use crate::plan;
use crate::secret::SecretRef;
use crate::wanted::{By, HostFor};

#[test]
fn only_a_secret_that_meets_a_host_cannot_be_undone() {
    let text = "---\nid: task-1\ntype: task\ntitle: Tidy\n---\nProse.\n";
    let plain = plan::parse(text.as_bytes()).unwrap().definition().clone();
    let public = vec![HostGrant::parse("example.com:443").unwrap()];
    let inside = vec![HostGrant::parse("127.0.0.1:5432").unwrap()];
    let secrets = vec![SecretRef::parse("mail").unwrap()];
    let with = |hosts: &[HostGrant], secrets: &[SecretRef], callback_port| {
        let (hosts, secrets) = (hosts.to_vec(), secrets.to_vec());
        of_plan(&Definition { hosts, secrets, callback_port, ..plain.clone() })
    };
    assert_eq!(with(&[], &[], None), Risk::Medium);
    assert_eq!(with(&public, &[], None), Risk::Medium);
    assert_eq!(with(&inside, &[], None), Risk::High);
    assert_eq!(with(&[], &secrets, None), Risk::High);
    assert_eq!(with(&[], &[], Some(8080)), Risk::High);
    assert_eq!(with(&public, &secrets, None), Risk::Irreversible);
    assert_eq!(with(&inside, &secrets, Some(8080)), Risk::Irreversible);
}

#[test]
fn a_host_for_what_a_model_has_had_its_hands_in_is_high() {
    let text = "---\nid: task-1\ntype: task\ntitle: Tidy\nsteps: [{run: ls}]\nverify: [{name: c, run: ls, expect: {exit_code: 0}}]\n\
                sandbox: {hosts: [\"example.com:443\"], directories: [{path: /a, access: write}]}\n---\nProse.\n";
    let plain = plan::parse(text.as_bytes()).unwrap().definition().clone();
    let led = Definition { executor: Some(Mandate::default()), ..plain.clone() };
    let with = |d: &Definition, by: By| {
        of_plan(&Definition { hosts_for: vec![HostFor { host: d.hosts[0].clone(), by }], ..d.clone() })
    };
    assert_eq!(with(&led, By::Step(0)), Risk::Medium);
    assert_eq!(with(&led, By::Check("c".to_owned())), Risk::High);
    assert_eq!(with(&led, By::Model), Risk::High);
    assert_eq!(with(&plain, By::Check("c".to_owned())), Risk::Medium);
}

#[test]
fn a_file_that_anybody_may_write_to_is_no_low_risk() {
    use crate::changeset::FileMode::{File, Link};
    for (before, after, expected) in [
        (Some(File(0o644)), Some(File(0o666)), true),
        (Some(File(0o755)), Some(File(0o777)), true),
        (None, Some(File(0o666)), true),
        (Some(Link), Some(File(0o602)), true),
        (Some(File(0o755)), Some(File(0o4755)), true),
        (Some(File(0o755)), Some(File(0o2755)), true),
        (Some(File(0o777)), Some(File(0o777)), false),
        (Some(File(0o666)), Some(File(0o664)), false),
        (Some(File(0o644)), Some(File(0o755)), false),
        (Some(File(0o666)), None, false),
        (None, Some(Link), false),
    ] {
        assert_eq!(opens(before, after), expected, "{before:?} {after:?}");
    }
}
