//! What each way out of the machine puts at stake.

use super::*;
use crate::host::HostGrant;
use crate::plan;
use crate::secret::SecretRef;

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
