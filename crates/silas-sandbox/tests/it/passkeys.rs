//! The launcher's own memory of passkeys: whatever the front says, another key does not do where a passkey must.

use crate::revocation::{refusal, take_back};
use crate::runner::Case;
use crate::world::{World, allow, certificate, device_key, offer, public, signed, terminal_key, withdrawal};
use silas_core::canonical;
use silas_core::device::DeviceKind;
use silas_core::evidence::{Evidence, Refusal};
use silas_core::host::HostGrant;
use silas_core::passkey::{DeviceGrantKind, PasskeyGrant, Site};
use silas_core::revocation::Withdrawn;
use silas_core::secret::SecretRef;
use silas_core::signature::PublicKey;
use silas_core::token::{Kind, Verdict};
use silas_core::work::WorkItem;
use silas_sandbox::Error;

pub(crate) const CASES: &[Case] = &[
    ("a_passkey_is_certified_by_a_decision_and_remembered", a_passkey_is_certified_by_a_decision_and_remembered),
    ("what_is_not_a_passkey_is_not_certified", what_is_not_a_passkey_is_not_certified),
];

pub(crate) fn grant(n: u8) -> PasskeyGrant {
    let mut point = [n; 65];
    point[0] = 4;
    let site = Site { rp_id: "localhost".to_owned(), credential: "AAEC".to_owned() };
    PasskeyGrant { kind: DeviceGrantKind::Device, name: "Key".to_owned(), public: PublicKey::P256(point), site }
}

pub(crate) fn decision(grant: &PasskeyGrant, verdict: Verdict) -> Evidence {
    let payload = canonical::text(grant).unwrap();
    signed(&offer(Kind::Device, &payload), payload, verdict)
}

/// A plan that carries a secret to a host, approved by the browser.
fn sending(world: &World, kind: Kind) -> Evidence {
    let mut definition = world.one_change().definition().clone();
    definition.hosts = vec![HostGrant::parse("example.com:443").unwrap()];
    definition.secrets = vec![SecretRef::parse("mail").unwrap()];
    let plan = WorkItem::try_from(definition).unwrap();
    let payload = plan.canonical().unwrap();
    let roots = plan.definition().directories.iter().map(allow).collect();
    Evidence { roots, ..signed(&offer(kind, &payload), payload, Verdict::Approved) }
}

fn a_passkey_is_certified_by_a_decision_and_remembered() {
    let world = World::new();
    let first = grant(7);
    {
        let launcher = world.launcher();
        drop(launcher.open(&sending(&world, Kind::Plan)).unwrap());
        let certified = launcher.certify_passkey(&decision(&first, Verdict::Approved)).unwrap();
        assert_eq!(certified.body.kind, DeviceKind::Passkey);
        assert_eq!(certified.body.key, first.public.id());
    }
    // In the next life, with a front that knows of none.
    let launcher = world.launcher();
    for kind in [Kind::Plan, Kind::Rehearsal] {
        let mut fresh = sending(&world, kind);
        fresh.token.body.offer.nonce = silas_core::Nonce::parse("n-other").unwrap();
        let payload = fresh.payload.clone();
        let again = signed(&fresh.token.body.offer, payload, Verdict::Approved);
        let fresh = Evidence { roots: fresh.roots, ..again };
        assert_eq!(refusal(&launcher, &fresh), Refusal::NoPasskey, "{kind:?}");
    }
    let second = launcher.certify_passkey(&decision(&grant(8), Verdict::Approved)).map(drop);
    assert_eq!(second, Err(Error::Refused(Refusal::NoPasskey)), "nor is another one registered without it");
    assert_eq!(launcher.passkeys(Vec::new()).unwrap().len(), 1);
    // A browser does not take it away; the terminal does, and the bar is as it was before.
    let what = || Withdrawn::Device(first.public.id());
    let browser = certificate(&device_key(), DeviceKind::Browser);
    let refused = launcher.withdraw(&withdrawal(&device_key(), what()), &browser).map(drop);
    assert_eq!(refused, Err(Error::Refused(Refusal::NoPasskey)));
    take_back(&launcher, what()).unwrap();
    assert_ne!(public(&device_key()).id(), public(&terminal_key()).id());
    let again = launcher.certify_passkey(&decision(&first, Verdict::Approved)).map(drop);
    assert!(matches!(&again, Err(Error::Pairing(why)) if why.contains("revoked")), "{again:?}");
}

fn what_is_not_a_passkey_is_not_certified() {
    let world = World::new();
    let launcher = world.launcher();
    let declined = launcher.certify_passkey(&decision(&grant(7), Verdict::Declined)).map(drop);
    assert_eq!(declined, Err(Error::Refused(Refusal::Verdict)));
    let mut other = decision(&grant(7), Verdict::Approved);
    other.payload = canonical::text(&grant(8)).unwrap();
    assert_eq!(launcher.certify_passkey(&other).map(drop), Err(Error::Refused(Refusal::Content)));
    let at_a_number = PasskeyGrant { site: Site { rp_id: "127.0.0.1".to_owned(), ..grant(7).site }, ..grant(7) };
    let answer = launcher.certify_passkey(&decision(&at_a_number, Verdict::Approved)).map(drop);
    assert!(matches!(&answer, Err(Error::Refused(Refusal::Malformed(why))) if why.contains("numbers")), "{answer:?}");
    let browsers = PasskeyGrant { public: public(&device_key()), ..grant(7) };
    let answer = launcher.certify_passkey(&decision(&browsers, Verdict::Approved)).map(drop);
    assert!(matches!(&answer, Err(Error::Refused(Refusal::Malformed(_)))), "{answer:?}");
    assert!(launcher.passkeys(vec![certificate(&device_key(), DeviceKind::Browser)]).unwrap().is_empty());
}
