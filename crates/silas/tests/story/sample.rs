//! The first minute: the sample project appears, is mended in a private copy, applied and put back, without a model, and in the
//! terminal as in the page.

use crate::harness::{Line, Silas, binary};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, Press, Risk};
use silas_core::check::Outcome;
use silas_core::sample::{CHECKS, FILES, FIX};
use silas_core::token::Verdict;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TAP: &str = "Try it on a sample project";
const NEXT: &str = "run COMMAND in ~/DIRECTORY and check with COMMAND";

/// A Silas in a home of its own, which is empty.
fn at_home() -> (tempfile::TempDir, Silas) {
    let home = tempfile::tempdir().unwrap();
    let silas = Silas::start_with(&[("HOME", home.path().to_str().unwrap())]);
    (home, silas)
}

fn sample(home: &tempfile::TempDir) -> PathBuf {
    home.path().canonicalize().unwrap().join("silas-sample")
}

fn tree(path: &Path) -> BTreeMap<&'static str, String> {
    FILES.iter().map(|file| (file.path, fs::read_to_string(path.join(file.path)).unwrap())).collect()
}

fn as_laid_out() -> BTreeMap<&'static str, String> {
    FILES.iter().map(|file| (file.path, file.text.to_owned())).collect()
}

/// The card of the result, with everything that a stranger should see on it.
fn assert_shows_the_fix(card: &Card) {
    assert_eq!((card.face.intent.as_str(), card.face.risk), ("Apply 1 changed file to silas-sample", Some(Risk::Low)));
    let evidence = card.face.evidence.as_ref().unwrap();
    assert_eq!(evidence.outcome, Outcome::Proved);
    let told: Vec<_> =
        evidence.before.iter().zip(&evidence.after).map(|(b, a)| (b.name.as_str(), b.passed, a.passed)).collect();
    let names = CHECKS.map(|check| check.name);
    assert_eq!(told, [(names[0], false, true), (names[1], true, true), (names[2], true, true)]);
    assert!(evidence.before[0].output.contains("high water on 2026-07-15 should be at 05:12 17:37"));
    let ran = card.face.details.iter().find(|detail| detail.title == "What was run").unwrap();
    assert_eq!(ran.lines, [FIX]);
    assert_eq!((card.face.diffs.len(), card.face.diffs[0].added, card.face.diffs[0].removed), (1, 1, 1));
}

/// The next thing that Silas says with these words in it.
fn hears(line: &mut Line, words: &str) -> String {
    loop {
        let message = line.wait_for("message").unwrap();
        let text = message["entry"]["text"].as_str().unwrap();
        if message["entry"]["sender"] == "silas" && text.contains(words) {
            return text.to_owned();
        }
    }
}

/// The directory in which Silas was started is offered too, but nobody asked for that.
#[test]
fn the_first_card_is_the_one_that_was_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let silas = Silas::start_in_its_repository(&[("HOME", home.path().to_str().unwrap())]);
    silas.pair();
    let mut line = silas.line();
    let intents = |line: &Line| line.cards.iter().map(|card| card.face.intent.clone()).collect::<Vec<_>>();
    line.wait(|line| line.cards.len() == 1).unwrap();
    assert_eq!(intents(&line), ["Let plans work in repo"]);
    line.ask(TAP);
    line.wait(|line| line.cards.len() == 2).unwrap();
    assert_eq!(intents(&line), ["Let plans work in silas-sample", "Let plans work in repo"]);
    let first = line.cards[0].clone();
    assert!(line.decide(&first, Verdict::Approved).unwrap().0);
    line.wait(|line| line.cards.iter().any(|card| card.face.kind == CardKind::Rehearsed)).unwrap();
    assert_eq!(line.cards[0].face.kind, CardKind::Rehearsed, "{:?}", intents(&line));

    // Once a wish needs that directory, it is asked about in its turn.
    line.say(&silas.wish()).unwrap();
    line.ask("add task look at the sample");
    let again = silas.line();
    assert_eq!(again.cards.len(), 2, "{:?}", intents(&again));
    assert_eq!(again.cards[0].face.intent, "Let plans work in repo");
}

#[test]
fn the_whole_road_without_a_model() {
    let (home, silas) = at_home();
    silas.pair();
    let mut line = silas.line();
    assert!(line.snapshot["understood"].as_array().unwrap().contains(&json!(TAP.to_lowercase())));
    let said = line.ask(TAP);
    assert!(said.contains("~/silas-sample") && said.contains("may plans work there?"), "{said}");
    assert_eq!(tree(&sample(&home)), as_laid_out());
    // What must be asked, and nothing else: the directory, then the result.
    let root = line.approve(CardKind::Root).unwrap();
    assert_eq!(root.face.intent, "Let plans work in silas-sample");
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert_eq!(line.cards.len(), 1, "{:?}", line.cards);
    assert_shows_the_fix(&card);
    assert_eq!(tree(&sample(&home)), as_laid_out(), "nothing was applied");

    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    let done = line.card(CardKind::Done).unwrap();
    assert!(tree(&sample(&home))["tides.sh"].contains("ahead=2 ;; # summer"));
    let work = line.ended().unwrap();
    line.send(&json!({ "type": "proof", "execution": work["execution"] })).unwrap();
    assert_eq!(line.wait_for("proof").unwrap()["proof"]["outcome"], json!("proved"));
    assert!(line.decide(&done, Verdict::Approved).unwrap().0);
    assert_eq!(tree(&sample(&home)), as_laid_out(), "put back");
    let told = line.ask("what did you do?");
    for row in ["Laid out the sample project", "In ~/silas-sample, because you asked", "Proved and applied 1 file"] {
        assert!(told.contains(row), "{row}: {told}");
    }
    assert_eq!(told.matches("Laid out the sample project").count(), 1, "{told}");
    // Once more: it lies there as it was and is allowed, so there is one card.
    line.say(TAP).unwrap();
    line.card(CardKind::Rehearsed).unwrap();
    assert!(!line.cards.iter().any(|card| card.face.kind == CardKind::Root));
    assert!(!home.path().join("silas-sample-2").exists());
    silas.assert_ledger_holds();
}

#[test]
fn it_ends_with_what_to_do_next_whether_put_back_or_kept() {
    let (home, silas) = at_home();
    silas.pair();
    let mut line = silas.line();
    line.say(TAP).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Rehearsed).unwrap();
    let done = line.card(CardKind::Done).unwrap();
    let token = line.token(&done, Verdict::Approved).unwrap();
    line.send(&json!({ "type": "approval_response", "request_id": done.id, "token": token })).unwrap();
    let said = hears(&mut line, "exactly as before");
    assert!(said.contains("whole road") && said.ends_with(NEXT), "{said}");

    line.say(TAP).unwrap();
    line.approve(CardKind::Rehearsed).unwrap();
    let done = line.card(CardKind::Done).unwrap();
    let press = done.face.ctas.iter().find(|cta| cta.press == Press::Dismiss).unwrap();
    assert_eq!(press.label, "Done");
    line.send(&json!({ "type": "dismiss", "request_id": done.id })).unwrap();
    assert!(hears(&mut line, "whole road").ends_with(NEXT));
    // The mended one is the owner's now; the next is a fresh one, which has to be allowed anew.
    let said = line.ask(TAP);
    assert!(said.contains("~/silas-sample-2"), "{said}");
    assert_eq!(line.card(CardKind::Root).unwrap().face.intent, "Let plans work in silas-sample-2");
    assert_eq!(tree(&home.path().join("silas-sample-2")), as_laid_out());
    assert!(tree(&sample(&home))["tides.sh"].contains("ahead=2 ;; # summer"));
    silas.assert_ledger_holds();
}

/// Whoever says no has a project and nothing else.
#[test]
fn no_leaves_the_sample_as_it_is() {
    let (home, silas) = at_home();
    silas.pair();
    let mut line = silas.line();
    line.say(TAP).unwrap();
    let root = line.card(CardKind::Root).unwrap();
    assert!(line.decide(&root, Verdict::Declined).unwrap().0);
    line.wait(|line| line.cards.is_empty()).unwrap();
    assert_eq!(tree(&sample(&home)), as_laid_out());
    line.say(TAP).unwrap();
    line.approve(CardKind::Root).unwrap();
    let card = line.card(CardKind::Rehearsed).unwrap();
    assert!(line.decide(&card, Verdict::Declined).unwrap().0);
    assert_eq!(tree(&sample(&home)), as_laid_out());
    silas.assert_ledger_holds();
}

/// Without a paired browser no house rule holds: the plan asks first, and its card has the command.
#[test]
fn the_same_in_a_talk() {
    let (home, silas) = at_home();
    let env = [("HOME", home.path().to_str().unwrap())];
    let (code, text) = silas.command_with(&["chat"], &env, "try it on a sample project\n1\ny\n1\ny\n/undo\n");
    assert_eq!(code, 0, "{text}");
    for words in [
        "New here? Say: try it on a sample project",
        "Let plans work in silas-sample",
        FIX,
        "Proved: red before, green after",
        "exactly as before",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(tree(&sample(&home)), as_laid_out());
    let (_, text) = silas.command_with(&["chat"], &env, "/quit\n");
    assert!(!text.contains("New here?") && text.contains("whole road"), "{text}");
    silas.assert_ledger_holds();
}

#[test]
fn what_stands_in_the_way_is_said_and_nothing_is_asked() {
    let nowhere = Silas::start_with(&[("HOME", "/nonexistent/home")]);
    let mut line = nowhere.line();
    let said = line.ask(TAP);
    assert!(said.contains("does not exist") && said.contains("Nothing of it was left behind."), "{said}");
    assert!(line.cards.is_empty());
    assert!(!line.ask("what did you do?").contains("Laid out"));
    let (home, silas) = at_home();
    fs::create_dir(sample(&home)).unwrap();
    fs::write(sample(&home).join("mine"), "mine\n").unwrap();
    let mut line = silas.line();
    assert!(line.ask(TAP).contains("~/silas-sample-2"));
    assert_eq!(fs::read_to_string(sample(&home).join("mine")).unwrap(), "mine\n");
}

/// What a stranger does: `silas` with nothing but a home, and what it prints.
struct FirstRun {
    home: tempfile::TempDir,
    silas: PathBuf,
    /// As whom, if as somebody else.
    user: Option<&'static str>,
}

impl FirstRun {
    fn new(user: Option<&'static str>) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let mut silas = PathBuf::from(env!("CARGO_BIN_EXE_silas"));
        if let Some(user) = user {
            silas = home.path().join("silas");
            // By another process: one that is started meanwhile would hold it open, and what is written to cannot be run.
            let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_silas")).arg(&silas).status().unwrap();
            assert!(copied.success());
            let id = Some(user.parse().unwrap());
            std::os::unix::fs::chown(home.path(), id, id).unwrap();
            fs::set_permissions(&silas, fs::Permissions::from_mode(0o755)).unwrap();
        }
        FirstRun { home, silas, user }
    }

    fn command(&self) -> Command {
        let mut command = match self.user {
            None => Command::new(&self.silas),
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", user, "--regid", user, "--clear-groups", "--"]).arg(&self.silas);
                command
            }
        };
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.home.path()).current_dir(self.home.path());
        command
    }

    /// Everything that a start prints, until it is up or has ended.
    fn printed(&self, args: &[&str]) -> (Option<i32>, String) {
        let out = self.home.path().join("printed");
        let file = fs::File::create(&out).unwrap();
        let mut child = self
            .command()
            .args(args)
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if fs::read_to_string(&out).unwrap().contains("INFO started") {
                assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
                child.wait().unwrap();
                break None;
            }
            assert!(std::time::Instant::now() < until, "{}", fs::read_to_string(&out).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        (code, fs::read_to_string(&out).unwrap())
    }
}

/// As root, or whoever runs the tests, and as an ordinary user where that can be tried.
fn everybody() -> Vec<Option<&'static str>> {
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    let can_be_other = is_root && Command::new("setpriv").arg("--version").output().is_ok();
    if is_root && !can_be_other {
        println!("skipped as an ordinary user: setpriv is missing");
    }
    if can_be_other { vec![None, Some("65534")] } else { vec![None] }
}

#[test]
fn the_first_start_says_where_to_tap_and_what_to_try() {
    for user in everybody() {
        let first = FirstRun::new(user);
        let (code, text) = first.printed(&["start", "--port", "0"]);
        assert_eq!(code, None, "{text}");
        for words in [
            "Open this in your browser and tap once",
            "http://localhost:",
            "#pair=",
            "Try it on a sample project",
            "silas chat",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let own = text.lines().filter(|line| !line.contains(" INFO ")).count();
        assert!(own <= 12, "{own} lines are too many:\n{text}");
        // The next time it does not teach.
        let (_, text) = first.printed(&["start", "--port", "0"]);
        assert!(text.contains("To pair a browser") && !text.contains("sample project"), "{text}");
    }
}

#[test]
fn a_port_that_is_taken_is_a_clear_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let first = FirstRun::new(None);
    let (code, text) = first.printed(&["start", "--port", &port]);
    assert_eq!(code, Some(1), "{text}");
    for words in [port.as_str(), "is taken", "silas start --port"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_a_clear_sentence() {
    let first = FirstRun::new(None);
    fs::write(first.home.path().join("file"), "").unwrap();
    let (code, text) = first.printed(&["--data-dir", "file/data"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot be made ready") && text.contains("--data-dir DIR"), "{text}");
    let (code, text) = first.printed(&["--data-dir", "/proc/silas"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot be made ready") && text.contains("--data-dir DIR"), "{text}");
    let output = binary().env_remove("HOME").env_remove("XDG_DATA_HOME").current_dir("/").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && text.contains("HOME is not set"), "{text}");
}

/// The message of the tap is the owner's own, signed like any other; an unsigned one gets nothing laid out.
#[test]
fn a_message_that_nobody_signed_lays_out_nothing() {
    let (home, silas) = at_home();
    let device = silas.pair();
    let line = silas.line();
    let mut message: Value = serde_json::to_value(device.message(TAP, &line.installation())).unwrap();
    message["signature"]["sig"] = json!("AAAA");
    let mut page = crate::page::Page::open(&silas, &device, None);
    page.send_raw(&crate::http::text_frame(&json!({ "type": "message", "message": message }).to_string()));
    page.settle();
    assert!(!sample(&home).exists());
}
