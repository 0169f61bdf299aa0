//! Single commands, signed for themselves: who can have one, how often, and what is remembered of it.

use crate::revocation::{device, take_back};
use crate::runner::Case;
use crate::world::{World, approve, key_helper, now, offer, public, signed, terminal_key, work};
use silas_core::check::{Command, Ended};
use silas_core::envelope::{Envelope, EnvelopeKind, Executor, Life, SandboxConfig};
use silas_core::evidence::{Evidence, Refusal};
use silas_core::roots::{Access, Place};
use silas_core::token::{Kind, Verdict};
use silas_core::toolchain::{Family, Toolchain};
use silas_core::work::{Definition, Step, WorkItem};
use silas_core::{ExecutionId, Nonce};
use silas_sandbox::{CellLimits, Error, Finished, Launcher, Seal, ToolPlaces};
use std::collections::BTreeMap;
use std::io::{Read, Write, pipe};
use std::os::fd::AsFd;
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("a_signed_command_runs_once", a_signed_command_runs_once),
    ("only_its_own_kind_of_decision_counts", only_its_own_kind_of_decision_counts),
    ("a_revoked_device_has_no_command_run", a_revoked_device_has_no_command_run),
    ("a_front_can_have_nothing_signed", a_front_can_have_nothing_signed),
    ("what_a_command_changed_is_told", what_a_command_changed_is_told),
    ("a_flood_is_thrown_away_unread", a_flood_is_thrown_away_unread),
    ("nothing_leads_to_silas_itself", nothing_leads_to_silas_itself),
    ("a_toolchain_is_one_or_is_refused", a_toolchain_is_one_or_is_refused),
    ("it_is_forgotten_when_it_cannot_be_used_any_more", it_is_forgotten_when_it_cannot_be_used_any_more),
    ("settled_work_is_forgotten_and_open_work_is_not", settled_work_is_forgotten_and_open_work_is_not),
    ("a_step_of_python_runs_in_a_plan", a_step_of_python_runs_in_a_plan),
    ("a_server_is_talked_to_and_goes_with_its_handle", a_server_is_talked_to_and_goes_with_its_handle),
];

pub(crate) fn envelope(script: &str, write: Option<Place>) -> Envelope {
    let args = Command::Shell(script.to_owned());
    Envelope {
        kind: EnvelopeKind::Step,
        step_index: 0,
        task_description: String::new(),
        action: Executor::of(&args),
        args,
        life: Life::Run,
        timeout_seconds: 60,
        max_output_bytes: 1000,
        sandbox_config: SandboxConfig {
            work_dir: write.as_ref().map(|place| place.path.clone()),
            filesystem_read: Vec::new(),
            filesystem_write: write.into_iter().collect(),
            hosts: Vec::new(),
            toolchains: Vec::new(),
            max_memory_mb: 512,
            max_cpu_seconds: 60,
            max_processes: 64,
            max_file_mb: 64,
            env: BTreeMap::new(),
            state: None,
        },
    }
}

pub(crate) fn evidence(envelope: &Envelope, nonce: &str) -> Evidence {
    let payload = envelope.canonical().unwrap();
    let mut offer = offer(Kind::Step, &payload);
    offer.nonce = Nonce::parse(nonce).unwrap();
    offer.expires_at = offer.issued_at.plus(Duration::from_secs(60));
    signed(&offer, payload, Verdict::Approved)
}

/// Without input; gives what was printed.
fn run(launcher: &Launcher, evidence: &Evidence) -> Result<(Finished, String), Error> {
    let hand = launcher.begin(evidence)?;
    let (stdin, _) = pipe().unwrap();
    let (mut printed, stdout) = pipe().unwrap();
    hand.start(stdin.as_fd(), stdout.as_fd(), stdout.as_fd())?;
    drop(stdout);
    let mut text = String::new();
    printed.read_to_string(&mut text).unwrap();
    Ok((hand.wait()?, text))
}

fn a_signed_command_runs_once() {
    let world = World::new();
    let launcher = world.launcher();
    let good = evidence(&envelope("echo hello; exit 3", None), "n-1");
    let (finished, text) = run(&launcher, &good).unwrap();
    assert_eq!((finished.ended, text.as_str()), (Ended::Exited(3), "hello\n"));
    assert_eq!(run(&launcher, &good).map(|_| ()), Err(Error::AlreadySpent));
    // Another life remembers it too.
    drop(launcher);
    assert_eq!(run(&world.launcher(), &good).map(|_| ()), Err(Error::AlreadySpent));
    assert_eq!(world.works(), 0, "nothing of the copies is left");
}

#[track_caller]
fn refused(launcher: &Launcher, evidence: &Evidence) -> Refusal {
    match launcher.begin(evidence).map(drop) {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

fn only_its_own_kind_of_decision_counts() {
    let world = World::new();
    let launcher = world.launcher();
    let step = envelope("true", None);
    let good = evidence(&step, "n-1");
    let other = evidence(&envelope("false", None), "n-2");
    assert_eq!(refused(&launcher, &approve(&world.one_change())), Refusal::Kind);
    assert!(matches!(launcher.open(&good).map(drop), Err(Error::Refused(Refusal::Kind))));
    assert_eq!(refused(&launcher, &Evidence { payload: other.payload, ..good.clone() }), Refusal::Content);
    assert_eq!(
        refused(&launcher, &Evidence { execution: ExecutionId::derive(&good.token.id().unwrap(), 1), ..good.clone() }),
        Refusal::Execution
    );
    let payload = step.canonical().unwrap();
    let with = |change: &dyn Fn(&mut silas_core::token::Offer)| {
        let mut offer = offer(Kind::Step, &payload);
        offer.expires_at = offer.issued_at.plus(Duration::from_secs(60));
        change(&mut offer);
        signed(&offer, payload.clone(), Verdict::Approved)
    };
    assert_eq!(refused(&launcher, &with(&|o| o.max_executions = 2)), Refusal::Bounds);
    assert_eq!(
        refused(&launcher, &with(&|o| o.expires_at = o.issued_at.plus(Duration::from_secs(61)))),
        Refusal::Bounds
    );
    let old = silas_core::Timestamp::from_micros(now().micros() - 120_000_000);
    let expired = with(&|o| {
        o.issued_at = old;
        o.expires_at = old.plus(Duration::from_secs(60));
    });
    assert_eq!(refused(&launcher, &expired), Refusal::Expired);
    let declined = signed(&with(&|_| {}).token.body.offer, payload.clone(), Verdict::Declined);
    assert_eq!(refused(&launcher, &declined), Refusal::Verdict);
    run(&launcher, &good).unwrap();
}

fn a_revoked_device_has_no_command_run() {
    let world = World::new();
    let launcher = world.launcher();
    let step = evidence(&envelope("true", None), "n-1");
    take_back(&launcher, device()).unwrap();
    assert_eq!(refused(&launcher, &step), Refusal::RevokedDevice);
}

/// A server's launcher signs nothing for its front, whatever it asks; a command's signs commands and nothing else.
fn a_front_can_have_nothing_signed() {
    let world = World::new();
    let payload = envelope("true", None).canonical().unwrap();
    let key = public(&terminal_key()).id();
    let mut step = offer(Kind::Step, &payload);
    step.expires_at = step.issued_at.plus(Duration::from_secs(60));
    let step = step.answered(key.clone(), Verdict::Approved);
    let plan = offer(Kind::Plan, &payload).answered(key, Verdict::Approved);
    let server = world.launcher();
    assert!(matches!(server.sign_step(&step, None), Err(Error::Terminal(_))));
    assert_eq!(server.seal_for_command(world.seal()), Err(Error::AlreadySealed));
    drop(server);
    let command = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    assert_eq!(command.sign_step(&step, None), Err(Error::NotSealed));
    command.seal_for_command(world.seal()).unwrap();
    assert!(matches!(command.sign_step(&plan, None), Err(Error::Terminal(_))));
    command.sign_step(&step, None).unwrap();
    let door = silas_sandbox::terminal_pairing_code(&world.data);
    assert!(matches!(door, Err(Error::Terminal(_))), "it opens no door");
}

fn what_a_command_changed_is_told() {
    let world = World::new();
    let launcher = world.launcher();
    let place = world.directory(&world.project, Access::Write).place().unwrap();
    let before = world.tree();
    let step = envelope("echo new > app.txt; rm gone.txt; ls .git", Some(place.clone()));
    let (finished, text) = run(&launcher, &evidence(&step, "n-1")).unwrap();
    assert_eq!(text, "HEAD\n");
    let paths: Vec<String> =
        finished.changed[0].changes.changeset.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(paths, ["app.txt", "gone.txt"]);
    assert_eq!((finished.untold, world.tree()), (None, before), "the original is as it was");
    // Nothing can be told of a copy that holds what is no file; the command ran all the same.
    let piped = envelope("mkfifo pipe; echo done; exit 3", Some(place.clone()));
    let (finished, text) = run(&launcher, &evidence(&piped, "n-3")).unwrap();
    assert_eq!((finished.ended, text.as_str(), finished.changed.len()), (Ended::Exited(3), "done\n", 0));
    assert!(matches!(finished.untold, Some(Error::Unsupported { path, .. }) if path == "pipe"));
    // What was approved is that directory, not whatever has its name.
    std::fs::rename(&world.project, world.data.join("away")).unwrap();
    std::fs::create_dir(&world.project).unwrap();
    let replaced = launcher.begin(&evidence(&step, "n-2")).map(drop);
    assert!(matches!(replaced, Err(Error::Place { .. })), "{replaced:?}");
}

/// The disk would stay full for as long as the flood is read.
fn a_flood_is_thrown_away_unread() {
    let world = World::new();
    on_a_small_disk(&world.data);
    let launcher = world.launcher();
    let place = world.directory(&world.project, Access::Write).place().unwrap();
    let flood = |script: &str, nonce: &str| {
        let mut step = envelope(script, Some(place.clone()));
        step.sandbox_config.max_file_mb = 8 << 10;
        run(&launcher, &evidence(&step, nonce))
    };
    let (finished, _) = flood("head -c 200000000 /dev/zero > big; sleep 100", "n-1").unwrap();
    assert!(finished.is_disk_nearly_full);
    assert_eq!(finished.changed.len(), 0, "nobody has looked");
    assert_eq!(world.works(), 0, "and it is gone");
    // Sizes are added up before anything is read.
    let (finished, _) = flood("truncate -s 3G a; truncate -s 3G b", "n-2").unwrap();
    assert_eq!((finished.ended, finished.changed.len()), (Ended::Exited(0), 0));
    let sparse = finished.untold.unwrap();
    assert!(sparse.to_string().contains("sandbox.copy_mb_max"), "{sparse}");
    let (finished, _) = flood("echo small > a", "n-3").unwrap();
    assert_eq!(finished.changed[0].changes.changeset.changes.len(), 1);
}

/// Lays a file system of 64 MB over a directory, for this process and those that it starts.
fn on_a_small_disk(dir: &std::path::Path) {
    // SAFETY: no arguments; this process has one thread.
    let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
    let flags = if uid == 0 { libc::CLONE_NEWNS } else { libc::CLONE_NEWNS | libc::CLONE_NEWUSER };
    // SAFETY: only flags are passed.
    assert_eq!(unsafe { libc::unshare(flags) }, 0);
    if uid != 0 {
        std::fs::write("/proc/self/setgroups", "deny").unwrap();
        std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).unwrap();
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).unwrap();
    }
    let dir = std::ffi::CString::new(dir.to_str().unwrap()).unwrap();
    // SAFETY: the strings outlive the calls; the mounts are in this process's own namespace.
    unsafe {
        let (none, null) = (c"none".as_ptr(), std::ptr::null::<libc::c_void>());
        assert_eq!(libc::mount(none, c"/".as_ptr(), null.cast(), libc::MS_REC | libc::MS_PRIVATE, null), 0);
        let options = c"size=64m,mode=700".as_ptr().cast();
        assert_eq!(libc::mount(none, dir.as_ptr(), c"tmpfs".as_ptr(), 0, options), 0);
    }
}

fn nothing_leads_to_silas_itself() {
    let world = World::new();
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let limits = CellLimits { closed_ports: vec![8420], ..CellLimits::default() };
    launcher.seal(Seal { limits, ..world.seal() }).unwrap();
    for (host, nonce) in [("localhost:8420", "n-1"), ("127.0.0.1:8420", "n-2"), ("[::1]:8420", "n-3")] {
        let mut step = envelope("true", None);
        step.sandbox_config.hosts = vec![silas_core::host::HostGrant::parse(host).unwrap()];
        let refused = launcher.begin(&evidence(&step, nonce)).map(drop).unwrap_err();
        assert!(refused.to_string().contains("Silas itself"), "{host}: {refused}");
    }
    let mut step = envelope("true", None);
    step.sandbox_config.hosts = vec![silas_core::host::HostGrant::parse("localhost:8421").unwrap()];
    run(&launcher, &evidence(&step, "n-4")).unwrap();
}

fn a_toolchain_is_one_or_is_refused() {
    let world = World::new();
    let home = world.data.parent().unwrap().join("home");
    std::fs::create_dir_all(home.join(".cargo/bin")).unwrap();
    std::fs::write(home.join(".cargo/bin/tool"), "#!/bin/sh\necho found\n").unwrap();
    std::fs::set_permissions(home.join(".cargo/bin/tool"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    std::fs::write(home.join(".cargo/credentials.toml"), "secret").unwrap();
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let tools = ToolPlaces { home: Some(home.clone()), ..ToolPlaces::default() };
    launcher.seal(Seal { tools, ..world.seal() }).unwrap();
    let found = launcher.toolchains(Some(&world.project)).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let with = |toolchains: Vec<Toolchain>, nonce: &str| {
        let mut step = envelope("tool; ls -A $CARGO_HOME", None);
        step.sandbox_config.toolchains = toolchains;
        evidence(&step, nonce)
    };
    let (_, text) = run(&launcher, &with(found.clone(), "n-1")).unwrap();
    assert_eq!(text, "found\nbin\n");
    // The whole of Cargo's home, with its credentials, is not a toolchain, whoever signs it.
    let place = world.directory(&home.join(".cargo"), Access::Read).place().unwrap();
    let whole = Toolchain::at(Family::Cargo, place);
    assert!(matches!(launcher.begin(&with(vec![whole.clone()], "n-2")).map(drop), Err(Error::Place { .. })));
    let plan = |toolchains| {
        let definition = world.definition(&["tool >> app.txt"], &["grep -q found app.txt"]);
        WorkItem::new(Definition { toolchains, ..definition }).unwrap()
    };
    assert!(matches!(launcher.open(&approve(&plan(vec![whole]))).map(drop), Err(Error::Place { .. })));
    let plan = plan(found);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let (before, after) = work(&mut workshop, &plan).unwrap();
    assert!(!before[0].passed && after[0].passed, "{after:?}");
}

fn it_is_forgotten_when_it_cannot_be_used_any_more() {
    let world = World::new();
    let launcher = world.launcher();
    run(&launcher, &evidence(&envelope("true", None), "n-1")).unwrap();
    let steps = world.data.join("launcher/steps");
    let names = || std::fs::read_dir(&steps).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names().len(), 1);
    // An hour ago is not long enough for a clock that may be set back; two days are.
    let old = names()[0].clone();
    for (ago_secs, n_left) in [(3600, 2), (2 * 24 * 3600, 1)] {
        let at = now().micros() - ago_secs * 1_000_000;
        std::fs::write(steps.join(&old), at.to_string()).unwrap();
        run(&launcher, &evidence(&envelope("true", None), &format!("n-{ago_secs}"))).unwrap();
        assert_eq!(names().len(), n_left, "{ago_secs}");
        if n_left == 2 {
            std::fs::remove_file(steps.join(names().into_iter().find(|name| *name != old).unwrap())).unwrap();
        }
    }
}

/// What the launcher remembers of a plan goes when nothing can be asked about it any more, and not before.
fn settled_work_is_forgotten_and_open_work_is_not() {
    let world = World::new();
    let launcher = world.launcher();
    let plan = world.one_change();
    let approved = approve(&plan);
    let mut workshop = launcher.open(&approved).unwrap();
    work(&mut workshop, &plan).unwrap();
    let record = world.data.join("launcher/spent").join(format!("{}.json", approved.execution));
    let aged = |secs: i64| {
        let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
        let then = silas_core::Timestamp::from_micros(now().micros() - secs * 1_000_000);
        value["first_spent_at"] = serde_json::to_value(then).unwrap();
        std::fs::write(&record, value.to_string()).unwrap();
    };
    workshop.discard();
    launcher.recover().unwrap();
    assert!(record.exists(), "just ended");
    aged(40 * 24 * 3600);
    launcher.recover().unwrap();
    assert!(record.exists(), "still told of a while ago");
    aged(100 * 24 * 3600);
    launcher.recover().unwrap();
    assert!(!record.exists(), "long settled");
    // Its approval does not come back with that: by the launcher's own clock it is expired by then.
    let mut old = approved.token.body.offer.clone();
    old.issued_at = silas_core::Timestamp::from_micros(now().micros() - 100 * 24 * 3_600_000_000);
    old.expires_at = old.issued_at.plus(Duration::from_secs(300));
    let old = signed(&old, approved.payload.clone(), Verdict::Approved);
    assert!(matches!(launcher.open(&old).map(drop), Err(Error::Refused(Refusal::Expired))));
}

fn a_step_of_python_runs_in_a_plan() {
    if !std::path::Path::new("/usr/bin/python3").exists() {
        println!("skipped: there is no /usr/bin/python3");
        return;
    }
    let world = World::new();
    let launcher = world.launcher();
    let script =
        "import sys\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\nopen('app.txt', 'w').write('new\\n')";
    let steps = vec![Step { run: Command::python(script), cwd: None }];
    let plan = WorkItem::new(Definition { steps, ..world.definition(&[], &["grep -q new app.txt"]) }).unwrap();
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    workshop.copy().unwrap();
    workshop.checks(silas_core::event::Phase::Before).unwrap().remove(0);
    let result = workshop.step(0).unwrap();
    assert!(result.success, "{result:?}");
    assert_eq!((&result.execution_id, result.step_index), (&evidence.execution, 0));
    assert_eq!(result.metadata.executor, Executor::PythonExec);
    assert_eq!(result.for_model.peek().return_value, "to stdout\n");
    assert_eq!(result.for_model.peek().artifacts["stderr"], "to stderr\n");
    assert!(workshop.checks(silas_core::event::Phase::After).unwrap().remove(0).passed);
}

/// What external servers will be: long-lived, talked to over pipes, with a directory of their own.
fn a_server_is_talked_to_and_goes_with_its_handle() {
    let world = World::new();
    let launcher = world.launcher();
    let mut serve = envelope("echo $$ >> ~/seen; while read line; do echo heard $line; done", None);
    serve.life = Life::Serve;
    serve.sandbox_config.state = Some("a-server".to_owned());
    let hand = launcher.begin(&evidence(&serve, "n-1")).unwrap();
    let (stdin, mut say) = pipe().unwrap();
    let (mut hear, stdout) = pipe().unwrap();
    hand.start(stdin.as_fd(), stdout.as_fd(), stdout.as_fd()).unwrap();
    drop((stdin, stdout));
    say.write_all(b"one\n").unwrap();
    let mut answer = [0; 10];
    hear.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"heard one\n");
    drop(hand);
    // Its end of the pipe closes when it is gone, though nobody closed its input.
    assert_eq!(hear.read(&mut answer).unwrap(), 0);
    drop(say);
    let state = world.data.join("launcher/state/a-server/seen");
    assert_eq!(std::fs::read_to_string(state).unwrap().lines().count(), 1);
}
