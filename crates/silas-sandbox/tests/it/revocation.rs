//! What was revoked does not run: not when it is asked for, not when it is resumed, not when it is about to be applied,
//! and not in a later life of the launcher.

use crate::runner::Case;
use crate::world::{
    World, allow, approve, certificate, certificate_body, device_key, public, revocation_list, root_key, sign,
    terminal_key, withdrawal, work,
};
use ed25519_dalek::SigningKey;
use silas_core::device::{DeviceKind, Mismatch};
use silas_core::evidence::{Evidence, Refusal};
use silas_core::revocation::{RevocationBody, Withdrawn};
use silas_core::roots::Access;
use silas_sandbox::{Error, Launcher};

pub(crate) const CASES: &[Case] = &[
    ("a_revoked_device_runs_nothing_in_any_life", a_revoked_device_runs_nothing_in_any_life),
    ("work_under_way_is_not_applied", work_under_way_is_not_applied),
    ("a_directory_that_was_taken_back_is_out", a_directory_that_was_taken_back_is_out),
    ("a_plan_needs_its_directories_allowed", a_plan_needs_its_directories_allowed),
    ("an_older_list_is_refused_and_a_newer_one_remembered", an_older_list_is_refused_and_a_newer_one_remembered),
    ("strangers_and_the_revoked_revoke_nobody", strangers_and_the_revoked_revoke_nobody),
    ("a_damaged_list_stops_the_launcher", a_damaged_list_stops_the_launcher),
];

pub(crate) fn device() -> Withdrawn {
    Withdrawn::Device(public(&device_key()).id())
}

/// The terminal takes something back.
pub(crate) fn take_back(launcher: &Launcher, what: Withdrawn) -> Result<u64, Error> {
    let certificate = certificate(&terminal_key(), DeviceKind::Terminal);
    Ok(launcher.withdraw(&withdrawal(&terminal_key(), what), &certificate)?.body.number)
}

pub(crate) fn refusal(launcher: &Launcher, evidence: &Evidence) -> Refusal {
    match launcher.open(evidence).map(drop) {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn a_revoked_device_runs_nothing_in_any_life() {
    let world = World::new();
    let begun = approve(&world.one_change());
    {
        let launcher = world.launcher();
        drop(launcher.open(&begun).unwrap());
        assert_eq!(take_back(&launcher, device()), Ok(1));
        assert_eq!(take_back(&launcher, device()), Ok(1), "once is enough");
        assert_eq!(refusal(&launcher, &approve(&world.one_change())), Refusal::RevokedDevice);
        assert_eq!(refusal(&launcher, &begun), Refusal::RevokedDevice, "not resumed either");
    }
    let launcher = world.launcher();
    assert_eq!(refusal(&launcher, &begun), Refusal::RevokedDevice);
    assert_eq!(launcher.revocations(None).unwrap().unwrap().body.number, 1);
    // Its key is not certified again, whatever code it has.
    let again = launcher.certify(certificate_body(&device_key(), DeviceKind::Browser), "proof");
    assert!(matches!(&again, Err(Error::Pairing(why)) if why.contains("revoked")), "{again:?}");
}

fn work_under_way_is_not_applied() {
    let world = World::new();
    let before = world.tree();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    take_back(&launcher, device()).unwrap();
    assert_eq!(workshop.apply(), Err(Error::Refused(Refusal::RevokedDevice)));
    assert_eq!(world.tree(), before);
    assert!(world.stages().is_empty());
}

fn a_directory_that_was_taken_back_is_out() {
    let world = World::new();
    let before = world.tree();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    take_back(&launcher, Withdrawn::Grant(evidence.roots[0].token.id().unwrap())).unwrap();
    assert_eq!(workshop.apply(), Err(Error::Refused(Refusal::RevokedGrant)));
    drop(workshop);
    assert_eq!(refusal(&launcher, &evidence), Refusal::RevokedGrant);
    assert_eq!(world.tree(), before);
}

fn a_plan_needs_its_directories_allowed() {
    let world = World::new();
    let launcher = world.launcher();
    let path = world.project.to_str().unwrap().to_owned();
    let good = approve(&world.one_change());
    let bare = Evidence { roots: Vec::new(), ..good.clone() };
    assert_eq!(refusal(&launcher, &bare), Refusal::Root(path.clone()));
    // Another directory's decision does not help, nor does one that somebody else signed.
    let beside = world.project.parent().unwrap().join("beside");
    std::fs::create_dir(&beside).unwrap();
    let elsewhere = allow(&world.directory(&beside, Access::Write));
    assert_eq!(refusal(&launcher, &Evidence { roots: vec![elsewhere], ..good.clone() }), Refusal::Root(path));
    let mut forged = good.clone();
    forged.roots[0].token.signature =
        sign(&SigningKey::from_bytes(&[9; 32]), &forged.roots[0].token.body.message().unwrap());
    assert_eq!(refusal(&launcher, &forged), Refusal::Signature);
    let mut turned = good.clone();
    turned.roots[0].payload = turned.roots[0].payload.replace("project", "another");
    assert_eq!(refusal(&launcher, &turned), Refusal::Content);
    launcher.open(&good).unwrap();
}

fn an_older_list_is_refused_and_a_newer_one_remembered() {
    let world = World::new();
    let launcher = world.launcher();
    take_back(&launcher, device()).unwrap();
    let first = launcher.revocations(None).unwrap().unwrap();
    let grant = approve(&world.one_change()).token.id().unwrap();
    assert_eq!(take_back(&launcher, Withdrawn::Grant(grant)), Ok(2));
    // The front knows an older one: the newer comes back.
    assert_eq!(launcher.revocations(Some(first.clone())).unwrap().unwrap().body.number, 2);
    // The front knows a newer one, as after the launcher's memory was restored: it is remembered.
    let newer = revocation_list(RevocationBody { number: 7, ..first.body.clone() });
    assert_eq!(launcher.revocations(Some(newer.clone())), Ok(Some(newer.clone())));
    drop(launcher);
    assert_eq!(world.launcher().revocations(Some(first)), Ok(Some(newer.clone())));
    // One that the root key did not sign changes nothing.
    let mut forged = newer.clone();
    forged.body.number = 9;
    let refused = world.launcher().revocations(Some(forged));
    assert_eq!(refused, Err(Error::Refused(Refusal::Revocations(Mismatch::Signature))));
    assert_eq!(world.launcher().revocations(None), Ok(Some(newer)));
}

fn strangers_and_the_revoked_revoke_nobody() {
    let world = World::new();
    let launcher = world.launcher();
    let stranger = SigningKey::from_bytes(&[9; 32]);
    let what = || Withdrawn::Device(public(&terminal_key()).id());
    let mut own = certificate(&stranger, DeviceKind::Browser);
    own.signature = sign(&stranger, &silas_core::canonical::text(&own.body).unwrap());
    let refused = |by: &SigningKey, certificate| launcher.withdraw(&withdrawal(by, what()), certificate).map(drop);
    assert_eq!(refused(&stranger, &own), Err(Error::Refused(Refusal::Certificate(Mismatch::Signature))));
    let device_certificate = certificate(&device_key(), DeviceKind::Browser);
    assert_eq!(refused(&stranger, &device_certificate), Err(Error::Refused(Refusal::Key)));
    assert_eq!(launcher.revocations(None), Ok(None), "nothing was revoked");
    take_back(&launcher, device()).unwrap();
    assert_eq!(refused(&device_key(), &device_certificate), Err(Error::Refused(Refusal::RevokedDevice)));
    assert_ne!(public(&root_key()), public(&stranger));
}

fn a_damaged_list_stops_the_launcher() {
    let world = World::new();
    {
        let launcher = world.launcher();
        take_back(&launcher, device()).unwrap();
    }
    let file = world.data.join("launcher/revocations.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"number\":1", "\"number\":2")).unwrap();
    let launcher = Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
    let sealed = launcher.seal(world.seal()).map(drop);
    assert!(matches!(&sealed, Err(Error::Damaged(why)) if why.contains("revocations.json")), "{sealed:?}");
}
