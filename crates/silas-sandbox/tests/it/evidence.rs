//! Every road to an unapproved run that we know, and the refusal it meets at the launcher.

use crate::runner::Case;
use crate::world::{
    World, approve, approve_undo, certificate, device_key, now, offer, public, root_key, server_body, sign, signed,
    work,
};
use ed25519_dalek::SigningKey;
use serde_json::Value;
use silas_core::device::{DeviceKind, Mismatch};
use silas_core::evidence::{Evidence, Refusal};
use silas_core::handover::{Handover, HandoverBody};
use silas_core::roots::Access;
use silas_core::token::{Kind, Offer, Verdict};
use silas_core::work::{Definition, Directory, WorkItem};
use silas_core::{Digest, ExecutionId, InstallationId, Timestamp, canonical};
use silas_sandbox::{Error, Launcher, Seal};
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("nothing_before_the_seal", nothing_before_the_seal),
    ("every_altered_field_is_refused", every_altered_field_is_refused),
    ("offers_that_do_not_fit_are_refused", offers_that_do_not_fit_are_refused),
    ("strangers_sign_nothing", strangers_sign_nothing),
    ("the_server_key_approves_nothing", the_server_key_approves_nothing),
    ("the_root_key_of_before_vouches_for_nobody", the_root_key_of_before_vouches_for_nobody),
    ("an_execution_runs_once", an_execution_runs_once),
    ("one_use_is_one_execution", one_use_is_one_execution),
    ("plans_are_what_they_were_approved_as", plans_are_what_they_were_approved_as),
    ("an_undo_is_its_own_decision", an_undo_is_its_own_decision),
    ("places_are_pinned", places_are_pinned),
];

fn refused(launcher: &Launcher, evidence: &Evidence) -> Refusal {
    match launcher.open(evidence).map(drop) {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn nothing_before_the_seal() {
    let world = World::new();
    let launcher = Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
    let evidence = approve(&world.one_change());
    assert_eq!(launcher.open(&evidence).map(drop), Err(Error::NotSealed));
    assert_eq!(launcher.undo(&evidence), Err(Error::NotSealed));
    assert_eq!(launcher.recover(), Err(Error::NotSealed));
    assert_eq!(launcher.forget(&evidence.execution), Err(Error::NotSealed));
}

/// Changes one leaf of the evidence at a time, whatever it is, and shows each result to the launcher.
fn every_altered_field_is_refused() {
    let world = World::new();
    let launcher = world.launcher();
    let good = approve(&world.one_change());
    let value = serde_json::to_value(&good).unwrap();
    let mut paths = Vec::new();
    leaves(&value, String::new(), &mut paths);
    let mut n_shown = 0;
    for path in &paths {
        for twist in [0, 1] {
            let mut altered = value.clone();
            let leaf = altered.pointer_mut(path).unwrap();
            *leaf = alter(leaf, twist);
            let Ok(evidence) = serde_json::from_value::<Evidence>(altered) else { continue };
            if evidence == good {
                continue;
            }
            n_shown += 1;
            refused(&launcher, &evidence);
        }
    }
    assert!(n_shown >= 20, "{n_shown} of {} leaves could be altered", paths.len());
    launcher.open(&good).unwrap();
}

fn leaves(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, v)| leaves(v, format!("{at}/{key}"), found)),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, v)| leaves(v, format!("{at}/{n}"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(at),
    }
}

fn alter(leaf: &Value, twist: usize) -> Value {
    match leaf {
        Value::Number(n) => Value::from(n.as_u64().unwrap() + 1),
        Value::String(text) => {
            // One character near the front or near the end becomes another of its kind.
            let at = if twist == 0 { text.len().saturating_sub(2) } else { text.len() / 2 };
            let old = text.as_bytes()[at];
            let new = if old == b'1' || old == b'a' {
                b'2'
            } else if old.is_ascii_digit() {
                b'1'
            } else {
                b'a'
            };
            let mut bytes = text.clone().into_bytes();
            bytes[at] = new;
            Value::from(String::from_utf8(bytes).unwrap())
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Value::from("other"),
    }
}

fn offers_that_do_not_fit_are_refused() {
    let world = World::new();
    let launcher = world.launcher();
    let payload = world.one_change().canonical().unwrap();
    let check = |change: &dyn Fn(&mut Offer), verdict: Verdict, expected: Refusal| {
        let mut offer = offer(Kind::Plan, &payload);
        change(&mut offer);
        assert_eq!(refused(&launcher, &signed(&offer, payload.clone(), verdict)), expected);
    };
    let ok = Verdict::Approved;
    check(&|_| {}, Verdict::Declined, Refusal::Verdict);
    check(&|_| {}, Verdict::EditRequested, Refusal::Verdict);
    check(&|_| {}, Verdict::Conditional, Refusal::Verdict);
    check(&|o| o.installation = InstallationId::parse("inst-elsewhere").unwrap(), ok, Refusal::Installation);
    check(&|o| o.epoch = 3, ok, Refusal::Epoch);
    check(&|o| o.kind = Kind::Undo, ok, Refusal::Kind);
    check(&|o| o.scope = Kind::Undo.scope(), ok, Refusal::Kind);
    check(&|o| o.expires_at = now(), ok, Refusal::Expired);
    check(&|o| o.expires_at = Timestamp::EPOCH, ok, Refusal::Expired);
    check(&|o| o.issued_at = now().plus(Duration::from_secs(120)), ok, Refusal::NotYet);
    check(&|o| o.plan_hash = Digest::of(b"something else"), ok, Refusal::Content);
    check(&|o| o.max_executions = 0, ok, Refusal::Bounds);
    check(&|o| o.max_executions = 2, ok, Refusal::Bounds);
    check(&|o| o.expires_at = now().plus(Duration::from_secs(30 * 86_400)), ok, Refusal::Bounds);
    check(&|o| o.v = 2, ok, Refusal::Malformed("unknown version".to_owned()));
    assert_eq!(world.works(), 0);
}

fn strangers_sign_nothing() {
    let world = World::new();
    let launcher = world.launcher();
    let good = approve(&world.one_change());
    let stranger = SigningKey::from_bytes(&[9; 32]);
    // Their own key under our device's certificate.
    let mut evidence = good.clone();
    evidence.token.signature = sign(&stranger, &good.token.body.message().unwrap());
    assert_eq!(refused(&launcher, &evidence), Refusal::Signature);
    // A certificate that they signed themselves.
    let mut body = good.token.body.clone();
    body.key = public(&stranger).id();
    let mut evidence = good.clone();
    evidence.token.signature = sign(&stranger, &body.message().unwrap());
    evidence.token.body = body;
    evidence.certificate = certificate(&stranger, DeviceKind::Browser);
    evidence.certificate.signature = sign(&stranger, &canonical::text(&evidence.certificate.body).unwrap());
    assert_eq!(refused(&launcher, &evidence), Refusal::Certificate(Mismatch::Signature));
    // The certificate of one device, the decision of another.
    let mut evidence = good;
    evidence.certificate = certificate(&stranger, DeviceKind::Browser);
    assert_eq!(refused(&launcher, &evidence), Refusal::Key);
    assert_ne!(public(&root_key()), public(&device_key()));
}

/// The front holds this key, and the root key has signed something about it. Neither makes a decision of it.
fn the_server_key_approves_nothing() {
    let world = World::new();
    let server = SigningKey::from_bytes(&[11; 32]);
    let launcher = Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
    launcher.init_keys(&world.data, now(), "terminal", false).unwrap();
    let vouched = launcher.certify_server(&world.data, server_body(&server)).unwrap();
    launcher.seal(world.seal()).unwrap();
    let mut evidence = approve(&world.one_change());
    evidence.token.body.key = public(&server).id();
    evidence.token.signature = sign(&server, &evidence.token.body.message().unwrap());
    evidence.execution = ExecutionId::derive(&evidence.token.id().unwrap(), 0);
    // As it is, it cannot even be handed over.
    let mut value = serde_json::to_value(&evidence).unwrap();
    value["certificate"] = serde_json::to_value(&vouched).unwrap();
    assert!(serde_json::from_value::<Evidence>(value).is_err());
    for kind in [DeviceKind::Browser, DeviceKind::Terminal] {
        evidence.certificate = certificate(&server, kind);
        evidence.certificate.signature = vouched.signature.clone();
        assert_eq!(refused(&launcher, &evidence), Refusal::Certificate(Mismatch::Signature));
    }
}

/// The root key handed over. Evidence with a certificate of the old one is refused, and so is a seal with it.
fn the_root_key_of_before_vouches_for_nobody() {
    let world = World::new();
    let old = SigningKey::from_bytes(&[77; 32]);
    let body = HandoverBody {
        v: HandoverBody::VERSION,
        installation: crate::world::installation(),
        number: 1,
        from: public(&old),
        to: public(&root_key()),
        revocations: 0,
        at: now(),
    };
    let message = body.message().unwrap();
    let handover = Handover { signature: sign(&old, &message), accepted: sign(&root_key(), &message), body };
    let launcher = Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
    launcher.seal(Seal { handovers: vec![handover], ..world.seal() }).unwrap();
    let good = approve(&world.one_change());
    let mut forged = good.clone();
    forged.certificate.signature = sign(&old, &canonical::text(&forged.certificate.body).unwrap());
    assert_eq!(refused(&launcher, &forged), Refusal::Certificate(Mismatch::Signature));
    let mut forged = good.clone();
    let root = &mut forged.roots[0].certificate;
    root.signature = sign(&old, &canonical::text(&root.body).unwrap());
    assert_eq!(refused(&launcher, &forged), Refusal::Certificate(Mismatch::Signature));
    launcher.open(&good).unwrap();
    drop(launcher);
    let mut seal = world.seal();
    seal.anchor.root = public(&old);
    let launcher = Launcher::fork(crate::world::key_helper, crate::world::clock()).unwrap();
    assert!(matches!(launcher.seal(seal), Err(Error::Root(_))));
}

fn an_execution_runs_once() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    assert_eq!(launcher.open(&evidence).map(drop), Err(Error::Busy));
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    assert_eq!(launcher.open(&evidence).map(drop), Err(Error::AlreadySpent));
    // Nor in another life of Silas, nor as a second use that was not granted.
    drop(launcher);
    let launcher = world.launcher();
    assert_eq!(launcher.open(&evidence).map(drop), Err(Error::AlreadySpent));
    let mut second = evidence.clone();
    second.execution = ExecutionId::derive(&second.token.id().unwrap(), 1);
    assert_eq!(refused(&launcher, &second), Refusal::Execution);
    // A record that cannot be read is not taken for no record.
    let record = world.data.join(format!("launcher/spent/{}.json", evidence.execution));
    std::fs::write(record, "{").unwrap();
    assert!(matches!(launcher.open(&evidence).map(drop), Err(Error::Damaged(_))));
}

fn one_use_is_one_execution() {
    let world = World::new();
    let launcher = world.launcher();
    let first = approve(&world.one_change());
    let use_number = |n| {
        let execution = ExecutionId::derive(&first.token.id().unwrap(), n);
        Evidence { execution, ..first.clone() }
    };
    launcher.open(&use_number(0)).unwrap().discard();
    assert_eq!(refused(&launcher, &use_number(1)), Refusal::Execution);
    assert_eq!(refused(&launcher, &use_number(2)), Refusal::Execution);
}

fn plans_are_what_they_were_approved_as() {
    let world = World::new();
    let launcher = world.launcher();
    let sign_text = |payload: &str| signed(&offer(Kind::Plan, payload), payload.to_owned(), Verdict::Approved);
    let plan = world.one_change().canonical().unwrap();
    let unknown = plan.replacen("\"hosts\":[]", "\"hosts\":[\"example.org\"]", 1);
    assert_ne!(unknown, plan);
    for payload in ["", "{}", "not json", &unknown, &format!("{plan} ")] {
        assert!(matches!(refused(&launcher, &sign_text(payload)), Refusal::Malformed(_)), "{payload}");
    }
    let mut definition = world.definition(&[], &["true"]);
    definition.directories = vec![world.directory(&world.project, Access::Read)];
    let refused = launcher.open(&approve(&WorkItem::new(definition).unwrap())).map(drop);
    assert!(matches!(refused, Err(Error::NotAvailable(_))), "{refused:?}");
}

fn an_undo_is_its_own_decision() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    let early = approve_undo(&evidence.execution, Digest::of(b"x"));
    assert!(matches!(launcher.undo(&early), Err(Error::Busy)));
    work(&mut workshop, &plan).unwrap();
    let applied = workshop.apply().unwrap();
    drop(workshop);
    let refusal = |evidence: &Evidence| match launcher.undo(evidence) {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(&evidence), Refusal::Kind);
    assert_eq!(refusal(&approve_undo(&evidence.execution, Digest::of(b"x"))), Refusal::Content);
    let good = approve_undo(&evidence.execution, applied.changeset);
    assert_eq!(refused(&launcher, &good), Refusal::Kind);
    let mut altered = good.clone();
    altered.payload = altered.payload.replacen("undo", "plan", 1);
    assert_eq!(refusal(&altered), Refusal::Content);
    let mut late = offer(Kind::Undo, &good.payload);
    late.expires_at = now();
    assert_eq!(refusal(&signed(&late, good.payload.clone(), Verdict::Approved)), Refusal::Expired);
    let wrong_kind = good.payload.replacen("undo", "plan", 1);
    let wrong_kind = signed(&offer(Kind::Undo, &wrong_kind), wrong_kind, Verdict::Approved);
    assert_eq!(refusal(&wrong_kind), Refusal::Kind);
    let unknown = approve_undo(&ExecutionId::parse("exec-unknown").unwrap(), applied.changeset);
    assert!(matches!(launcher.undo(&unknown), Err(Error::UndoClosed(_))));
    assert_eq!(world.read("app.txt"), "new\n");
    launcher.undo(&good).unwrap();
    assert_eq!(world.read("app.txt"), "old\n");
}

fn places_are_pinned() {
    let world = World::new();
    let launcher = world.launcher();
    let evidence = approve(&world.one_change());
    let place = |evidence: &Evidence| match launcher.open(evidence).map(drop) {
        Err(Error::Place { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    let elsewhere = world.project.with_file_name("elsewhere");
    std::fs::rename(&world.project, &elsewhere).unwrap();
    assert!(place(&evidence).contains("missing"));
    std::os::unix::fs::symlink(&elsewhere, &world.project).unwrap();
    assert!(place(&evidence).contains("symlink"));
    std::fs::remove_file(&world.project).unwrap();
    std::fs::write(&world.project, "x").unwrap();
    assert!(place(&evidence).contains("not a directory"));
    std::fs::remove_file(&world.project).unwrap();
    std::fs::create_dir(&world.project).unwrap();
    assert!(place(&evidence).contains("another directory"));
    std::fs::remove_dir(&world.project).unwrap();
    // A symlink further up is one too.
    let parent = world.project.parent().unwrap();
    std::os::unix::fs::symlink(parent, parent.join("up")).unwrap();
    std::fs::rename(&elsewhere, &world.project).unwrap();
    let through = Directory {
        path: parent.join("up/project").to_str().unwrap().to_owned(),
        ..world.directory(&world.project, Access::Write)
    };
    let working_in = |directories: Vec<Directory>| {
        WorkItem::new(Definition { directories, ..world.one_change().definition().clone() }).unwrap()
    };
    let plan = |directory| approve(&working_in(vec![directory]));
    assert!(place(&plan(through)).contains("symlink"));
    let unpinned = Directory { device: None, inode: None, ..world.directory(&world.project, Access::Write) };
    assert!(place(&plan(unpinned)).contains("which directory"));
    let odd =
        Directory { path: format!("{}/.", world.project.display()), ..world.directory(&world.project, Access::Write) };
    assert!(place(&plan(odd)).contains("real path"));
    let own = world.directory(&world.data, Access::Write);
    assert!(place(&plan(own)).contains("own data"));
    let whole = world.directory(parent, Access::Write);
    assert!(place(&plan(whole)).contains("own data"));
    let read = working_in(vec![
        world.directory(&world.project, Access::Write),
        world.directory(&world.data.join("launcher"), Access::Read),
    ]);
    assert!(place(&approve(&read)).contains("own data"));
    launcher.open(&evidence).unwrap();
}
