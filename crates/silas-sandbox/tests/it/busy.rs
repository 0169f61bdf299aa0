//! The launcher is kept busy in each way that it can be, and none of them keeps a revocation waiting.
//!
//! A request is held before the first step of the process that carries it out, or where that reads a file, by a pipe in the
//! place of the file. Whether it got there is seen, not guessed; and it stays there until the revocation has its answer, so
//! nothing here depends on how fast anything is.

use crate::pairing::proof;
use crate::runner::Case;
use crate::world::{
    World, allow, approve, approve_undo, certificate, certificate_body, key_helper, offer, public, terminal_key,
    withdrawal,
};
use crate::{passkeys, sample, step};
use ed25519_dalek::SigningKey;
use silas_core::device::DeviceKind;
use silas_core::key_service::{Ask, KeyReply, KeyRequest, SignBody};
use silas_core::revocation::Withdrawn;
use silas_core::roots::Access;
use silas_core::token::{Kind, Verdict};
use silas_core::{Digest, ExecutionId};
use silas_sandbox::{Error, Launcher, Look, terminal_sign};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    ("nothing_that_takes_long_keeps_a_revocation_waiting", nothing_that_takes_long_keeps_a_revocation_waiting),
    ("a_file_that_holds_its_reader_holds_no_revocation", a_file_that_holds_its_reader_holds_no_revocation),
    ("a_slow_key_keeps_a_revocation_waiting_no_longer", a_slow_key_keeps_a_revocation_waiting_no_longer),
    ("a_terminal_that_dawdles_keeps_nobody_waiting", a_terminal_that_dawdles_keeps_nobody_waiting),
    ("as_many_as_there_may_be_leave_room_for_a_revocation", as_many_as_there_may_be_leave_room_for_a_revocation),
    ("revocations_at_once_are_numbered_one_after_the_other", revocations_at_once_are_numbered_one_after_the_other),
];

/// Longer than any revocation takes, shorter than what is held, which is held for good.
const PATIENCE: Duration = Duration::from_secs(30);

type Request = Box<dyn FnOnce(&Launcher) + Send>;

/// A file that holds whoever reads it.
struct Held(PathBuf);

impl Held {
    fn at(path: PathBuf) -> Held {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a string that ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0, "{}", std::io::Error::last_os_error());
        Held(path)
    }

    /// Once somebody reads it. As long as this is there, it has no end.
    fn is_read(&self) -> File {
        loop {
            match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&self.0) {
                Ok(file) => return file,
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

/// Takes something back, and gives up on it after a while.
fn take_back(launcher: &Arc<Launcher>, n: u8) -> Option<u64> {
    let (tell, told) = mpsc::channel();
    let launcher = launcher.clone();
    std::thread::spawn(move || {
        let what = Withdrawn::Device(public(&SigningKey::from_bytes(&[n; 32])).id());
        let certificate = certificate(&terminal_key(), DeviceKind::Terminal);
        let list = launcher.withdraw(&withdrawal(&terminal_key(), what), &certificate).unwrap();
        let _ = tell.send(list.body.number);
    });
    told.recv_timeout(PATIENCE).ok()
}

fn spent(world: &World, execution: &ExecutionId) -> PathBuf {
    world.data.join(format!("launcher/spent/{execution}.json"))
}

/// A process that the launcher started, stopped before its first step; it goes on when this goes.
struct Stopped(i32);

impl Stopped {
    /// The next one that it starts, for what `ask` asks. Nothing if this system lets nobody be stopped so.
    fn next_of(launcher: i32, ask: impl FnOnce()) -> Option<Stopped> {
        let (trace, none) = (libc::PTRACE_O_TRACEFORK, std::ptr::null_mut::<libc::c_void>());
        let wait = |pid| {
            let mut status = 0;
            // SAFETY: `status` outlives the call.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) }, pid);
            assert!(libc::WIFSTOPPED(status), "{status:x}");
            status
        };
        // SAFETY: only numbers are passed, about a child of ours.
        if unsafe { libc::ptrace(libc::PTRACE_SEIZE, launcher, none, trace) } != 0 {
            return None;
        }
        ask();
        loop {
            let status = wait(launcher);
            if status >> 8 == libc::SIGTRAP | libc::PTRACE_EVENT_FORK << 8 {
                break;
            }
            // SAFETY: only numbers are passed: the launcher gets the signal that it was stopped for.
            unsafe { libc::ptrace(libc::PTRACE_CONT, launcher, none, libc::WSTOPSIG(status)) };
        }
        let mut child: libc::c_ulong = 0;
        // SAFETY: `child` outlives the call.
        unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, launcher, none, &raw mut child) };
        let child = i32::try_from(child).unwrap();
        wait(child);
        // SAFETY: only numbers are passed: the launcher goes on, and what it starts from now on is not stopped.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, launcher, none, none) };
        Some(Stopped(child))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let none = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: only numbers are passed, about a process that is stopped for us.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.0, none, none) };
    }
}

/// The only child of this process.
fn launcher_process() -> i32 {
    let own = std::process::id();
    let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap();
    children.trim().parse().unwrap()
}

/// Everything that may be asked of a launcher that serves and that takes a process of its own, other than what takes
/// something back.
fn requests(world: &World, code: &str) -> Vec<(&'static str, Request)> {
    let execution = approve(&world.every_kind()).execution;
    let of = |request: fn(&Launcher, &ExecutionId)| -> Request {
        let execution = execution.clone();
        Box::new(move |launcher| request(launcher, &execution))
    };
    let directory = world.directory(&world.project, Access::Write);
    let look = |look: Look, below: &str| -> Request {
        let (allowance, path) = (allow(&directory), format!("{}{below}", directory.path));
        Box::new(move |launcher| drop(launcher.look(&allowance, &path, look).unwrap()))
    };
    let (plan, step) = (approve(&world.one_change()), step::evidence(&step::envelope("true", None), "n-1"));
    let undo = approve_undo(&execution, Digest::of(b"a change"));
    let (sample, passkey) =
        (sample::order(sample::SENTENCE, 0), passkeys::decision(&passkeys::grant(7), Verdict::Approved));
    let browser = SigningKey::from_bytes(&[7; 32]);
    let (body, shown) = (certificate_body(&browser, DeviceKind::Browser), proof(code, &browser));
    let project = world.project.clone();
    vec![
        ("open", Box::new(move |launcher| drop(launcher.open(&plan).unwrap()))),
        ("begin", Box::new(move |launcher| drop(launcher.begin(&step).unwrap()))),
        ("undo", Box::new(move |launcher| drop(launcher.undo(&undo)))),
        ("later edits", of(|launcher, id| drop(launcher.later_edits(id)))),
        ("recover", of(|launcher, _| drop(launcher.recover()))),
        ("forget", of(|launcher, id| drop(launcher.forget(id)))),
        ("discard", of(|launcher, id| drop(launcher.discard(id)))),
        ("drop a merge", of(|launcher, id| launcher.drop_merge(id).unwrap())),
        ("look at a file", look(Look::File { from_line: 1, lines: 1 }, "/app.txt")),
        ("look at names", look(Look::Names { depth: 1 }, "")),
        ("look whether it fits", look(Look::Fit, "")),
        ("lay out the sample", Box::new(move |launcher| drop(launcher.lay_out_sample(sample)))),
        ("toolchains", Box::new(move |launcher| drop(launcher.toolchains(Some(&project)).unwrap()))),
        ("pairing", Box::new(move |launcher| drop(launcher.certify(body, &shown).unwrap()))),
        ("certify a passkey", Box::new(move |launcher| drop(launcher.certify_passkey(&passkey).unwrap()))),
        ("passkeys", Box::new(|launcher| drop(launcher.passkeys(Vec::new()).unwrap()))),
    ]
}

fn nothing_that_takes_long_keeps_a_revocation_waiting() {
    let world = World::new();
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    launcher.init_keys(&world.data, crate::world::now(), "terminal", false).unwrap();
    let code = launcher.seal(world.seal()).unwrap().pairing_code;
    let (launcher, process) = (Arc::new(launcher), launcher_process());
    for (n, (name, request)) in (1u8..).zip(requests(&world, &code)) {
        let asking = launcher.clone();
        let (begin, begun) = mpsc::channel::<()>();
        let asked = std::thread::spawn(move || {
            begun.recv().unwrap();
            request(&asking);
        });
        let Some(stopped) = Stopped::next_of(process, || begin.send(()).unwrap()) else {
            return crate::runner::skip("this system lets no process be stopped at its first step (ptrace)");
        };
        let revoked = take_back(&launcher, 100 + n);
        drop(stopped);
        asked.join().unwrap();
        assert_eq!(revoked, Some(u64::from(n)), "a revocation waited behind: {name}");
    }
}

/// Whatever lies in the place of the launcher's own files, its loop does not read it.
fn a_file_that_holds_its_reader_holds_no_revocation() {
    let world = World::new();
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let code = launcher.seal(world.seal()).unwrap().pairing_code;
    let launcher = Arc::new(launcher);
    let browser = SigningKey::from_bytes(&[7; 32]);
    let (body, shown) = (certificate_body(&browser, DeviceKind::Browser), proof(&code, &browser));
    let held = Held::at(world.data.join("launcher/revocations.json"));
    let asking = launcher.clone();
    let asked = std::thread::spawn(move || asking.certify(body, &shown).map(drop));
    let reading = held.is_read();
    // Whoever comes from now on finds what was there before: nothing.
    std::fs::remove_file(&held.0).unwrap();
    let revoked = take_back(&launcher, 100);
    drop(reading);
    // An empty list is none that counts.
    assert!(matches!(asked.join().unwrap(), Err(Error::Damaged(_))));
    assert_eq!(revoked, Some(1));
}

/// Like an argon2 that takes its time, for everything but a revocation.
fn slow_key_helper(keys: &Path, request: &KeyRequest, ask: Ask<'_>) -> KeyReply {
    if matches!(request, KeyRequest::Certify { .. } | KeyRequest::Sign { .. }) {
        let _ = std::fs::read(keys.join("slow"));
    }
    key_helper(keys, request, ask)
}

fn a_slow_key_keeps_a_revocation_waiting_no_longer() {
    let world = World::new();
    let launcher = Launcher::fork(slow_key_helper, crate::world::clock()).unwrap();
    launcher.init_keys(&world.data, crate::world::now(), "terminal", false).unwrap();
    let code = launcher.seal(world.seal()).unwrap().pairing_code;
    let launcher = Arc::new(launcher);
    let browser = SigningKey::from_bytes(&[7; 32]);
    let body = certificate_body(&browser, DeviceKind::Browser);
    let shown = proof(&code, &browser);
    let data = world.data.clone();
    let token = offer(Kind::Plan, "x").answered(public(&terminal_key()).id(), Verdict::Approved);
    let requests: Vec<(&str, Request)> = vec![
        ("pairing", Box::new(move |launcher| drop(launcher.certify(body, &shown).unwrap()))),
        ("a signature", Box::new(move |_| drop(terminal_sign(&data, &SignBody::Token(token), &mut || None).unwrap()))),
    ];
    for (n, (name, request)) in (1u8..).zip(requests) {
        let held = Held::at(world.data.join("keys/slow"));
        let asking = launcher.clone();
        let asked = std::thread::spawn(move || request(&asking));
        let reading = held.is_read();
        let revoked = take_back(&launcher, 100 + n);
        drop(reading);
        asked.join().unwrap();
        std::fs::remove_file(&held.0).unwrap();
        assert_eq!(revoked, Some(u64::from(n)), "a revocation waited behind: {name}");
    }
}

fn a_terminal_that_dawdles_keeps_nobody_waiting() {
    let world = World::new();
    let launcher = Arc::new(world.launcher());
    let mut terminal = UnixStream::connect(world.data.join("run/keys.sock")).unwrap();
    terminal.write_all(&1_000_000u32.to_le_bytes()).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    // A byte now and then: always just about to get to the point.
    let dawdling = std::thread::spawn(move || {
        while !over.load(Ordering::SeqCst) {
            let _ = terminal.write_all(b" ");
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    let revoked = take_back(&launcher, 100);
    is_over.store(true, Ordering::SeqCst);
    dawdling.join().unwrap();
    assert_eq!(revoked, Some(1));
}

/// More requests than there are places, all held.
fn as_many_as_there_may_be_leave_room_for_a_revocation() {
    let world = World::new();
    let launcher = Arc::new(world.launcher());
    let execution = approve(&world.one_change()).execution;
    let held = Held::at(spent(&world, &execution));
    let asked: Vec<_> = (0..40)
        .map(|_| {
            let (asking, execution) = (launcher.clone(), execution.clone());
            std::thread::spawn(move || asking.later_edits(&execution).map(drop))
        })
        .collect();
    let reading = held.is_read();
    let revoked = take_back(&launcher, 100);
    // In this order: whoever comes from now on is not held any more.
    std::fs::remove_file(&held.0).unwrap();
    drop(reading);
    // Those that came later find no file at all, those that came first an empty one; none is told that there is no room.
    for asked in asked {
        let answer = asked.join().unwrap();
        assert!(matches!(answer, Err(Error::Damaged(_) | Error::UndoClosed(_))), "{answer:?}");
    }
    assert_eq!(revoked, Some(1));
    let directory = world.definition(&[], &[]).directories.remove(0);
    let look = launcher.look(&allow(&directory), directory.path.as_str(), Look::Names { depth: 1 });
    assert!(look.is_ok(), "{look:?}");
}

fn revocations_at_once_are_numbered_one_after_the_other() {
    let world = World::new();
    let launcher = Arc::new(world.launcher());
    let asked: Vec<_> = (100..108u8)
        .map(|n| {
            let launcher = launcher.clone();
            std::thread::spawn(move || take_back(&launcher, n).unwrap())
        })
        .collect();
    let mut numbers: Vec<u64> = asked.into_iter().map(|asked| asked.join().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
    assert_eq!(launcher.revocations(None).unwrap().unwrap().body.devices.len(), 8);
}
