//! Which decisions are a passkey's alone, and what may be registered.

use super::*;
use crate::host::HostGrant;
use crate::plan;
use crate::secret::SecretRef;

fn plan_text(hosts: &[&str], secrets: &[&str]) -> String {
    let text = "---\nid: task-1\ntype: task\ntitle: Tidy\n---\nProse.\n";
    let mut d = plan::parse(text.as_bytes()).unwrap().definition().clone();
    d.hosts = hosts.iter().map(|host| HostGrant::parse(host).unwrap()).collect();
    d.secrets = secrets.iter().map(|secret| SecretRef::parse(secret).unwrap()).collect();
    WorkItem::try_from(d).unwrap().canonical().unwrap()
}

fn grant() -> PasskeyGrant {
    let mut point = [7u8; 65];
    point[0] = 4;
    PasskeyGrant {
        kind: DeviceGrantKind::Device,
        name: "Laptop".to_owned(),
        public: PublicKey::P256(point),
        site: Site { rp_id: "localhost".to_owned(), credential: "AbC-_9".to_owned() },
    }
}

#[test]
fn where_there_is_one_it_alone_decides_what_cannot_be_undone() {
    let (sends, harmless) = (plan_text(&["example.com:443"], &["mail"]), plan_text(&["example.com:443"], &[]));
    let yes = Verdict::Approved;
    for signer in [DeviceKind::Browser, DeviceKind::Terminal] {
        for kind in [Kind::Plan, Kind::Rehearsal] {
            assert_eq!(may_decide(signer, kind, &sends, yes, true), Err(Refusal::NoPasskey));
            assert_eq!(may_decide(signer, kind, &sends, yes, false), Ok(()), "without one it stays decidable");
            assert_eq!(may_decide(signer, kind, &sends, Verdict::Declined, true), Ok(()), "a no needs none");
            assert_eq!(may_decide(signer, kind, &harmless, yes, true), Ok(()));
        }
        assert_eq!(may_decide(signer, Kind::Device, "{}", yes, true), Err(Refusal::NoPasskey), "nor another one");
        assert_eq!(may_decide(signer, Kind::Device, "{}", yes, false), Ok(()), "the first one needs none");
    }
    assert_eq!(may_decide(DeviceKind::Passkey, Kind::Plan, &sends, yes, true), Ok(()));
}

#[test]
fn a_browser_cannot_lower_the_bar() {
    let key = grant().public.id();
    let what = Withdrawn::Device(key.clone());
    let is_it = |other: &KeyId| *other == key;
    assert_eq!(may_withdraw(DeviceKind::Browser, &what, is_it), Err(Refusal::NoPasskey));
    assert_eq!(may_withdraw(DeviceKind::Browser, &what, |_| false), Ok(()));
    assert_eq!(may_withdraw(DeviceKind::Terminal, &what, is_it), Ok(()));
    assert_eq!(may_withdraw(DeviceKind::Passkey, &what, is_it), Ok(()));
}

#[test]
fn a_counter_only_grows_unless_there_is_none() {
    for (last, next, may) in [(0, 0, true), (0, 1, true), (1, 2, true), (2, 2, false), (2, 1, false), (1, 0, false)] {
        assert_eq!(may_follow(last, next), may, "{last} then {next}");
    }
}

#[test]
fn what_is_not_a_passkey_is_not_registered() {
    assert_eq!(grant().check(), Ok(()));
    let with = |change: fn(&mut PasskeyGrant)| {
        let mut grant = grant();
        change(&mut grant);
        grant.check().unwrap_err()
    };
    assert!(with(|grant| grant.public = PublicKey::from_bytes([1; 32])).contains("P-256"));
    assert!(with(|grant| grant.site.rp_id = "127.0.0.1".to_owned()).contains("numbers"));
    assert!(with(|grant| grant.site.rp_id = "::1".to_owned()).contains("numbers"));
    assert!(with(|grant| grant.site.rp_id = "Example.com".to_owned()).contains("name"));
    assert!(with(|grant| grant.site.credential = String::new()).contains("id"));
    assert!(with(|grant| grant.site.credential = "a=".to_owned()).contains("id"));
    assert!(with(|grant| grant.site.credential = "a".repeat(1365)).contains("id"));
    assert!(with(|grant| grant.name = " ".to_owned()).contains("name"));
    assert!(with(|grant| grant.name = "a".repeat(61)).contains("60"));
    assert!(with(|grant| grant.name = "a\u{7}".to_owned()).contains("name"));
}
