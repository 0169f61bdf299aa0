//! Every whole plan of `docs/plans.md`, in the repository that the page lays out, up to the end that the page tells.
//!
//! Only what differs from machine to machine is put in for what the page writes: the home, the ports and the model.

use crate::harness::{Line, Place, Silas, TestSilas};
use crate::scripted::{call, finish, in_every_role, shell};
use crate::search_engine::Search;
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::json;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::plan;
use silas_core::token::Verdict;
use silas_core::work::{Definition, WorkItem};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PAGE: &str = include_str!("../../../../docs/plans.md");

/// The plans that a story here runs.
const RUN: [&str; 11] = [
    "task-tides-zone",
    "task-tides-release",
    "task-tides-commit",
    "task-tides-model",
    "task-tides-again",
    "task-tides-planned",
    "task-tides-back",
    "task-tides-both",
    "task-tides-fetch",
    "task-tides-build",
    "task-tides-install",
];

/// A plan of the page, and the sentence about its end.
struct Example {
    plan: String,
    end: String,
}

fn examples() -> Vec<Example> {
    let whole = PAGE.split("```yaml\n").skip(1).filter(|rest| rest.starts_with("---\n"));
    let example = |rest: &str| {
        let (plan, after) = rest.split_once("\n```\n").unwrap();
        Example { plan: plan.to_owned(), end: after.trim_start().lines().next().unwrap().to_owned() }
    };
    whole.map(example).collect()
}

fn id(plan: &str) -> &str {
    plan.lines().find_map(|line| line.strip_prefix("id: ")).unwrap()
}

fn example(wanted: &str) -> Example {
    examples().into_iter().find(|example| id(&example.plan) == wanted).unwrap()
}

/// The page's home, apart from Silas's own data.
fn home(place: &Place) -> PathBuf {
    place.outside().join("home")
}

fn at_home(place: &Place, text: &str) -> String {
    text.replace("/home/me", home(place).to_str().unwrap())
}

/// Makes the repository as the page does.
fn lay_out(place: &Place) {
    let (_, section) = PAGE.split_once("## A repository to try them in").unwrap();
    let script = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    fs::create_dir(home(place)).unwrap();
    let made = Command::new("sh").args(["-euc", script]).env("HOME", home(place)).status().unwrap();
    assert!(made.success());
}

/// Gives a plan to Silas as the page says; how that ended, and what was said about it.
fn submitted(place: &Place, plan: &str) -> (i32, String) {
    let file = place.outside().join("plan.md");
    fs::write(&file, plan).unwrap();
    place.command(&["plan", "submit", file.to_str().unwrap()])
}

fn submit(place: &Place, plan: &str) {
    let (code, text) = submitted(place, plan);
    assert_eq!(code, 0, "{text}");
}

fn open_card(line: &Line, kinds: &[CardKind]) -> Option<Card> {
    line.cards.iter().find(|card| card.state == CardState::Open && kinds.contains(&card.face.kind)).cloned()
}

fn wait_for_card(line: &mut Line, kinds: &[CardKind]) -> Card {
    line.wait(|line| open_card(line, kinds).is_some()).unwrap();
    open_card(line, kinds).unwrap()
}

fn approve(line: &mut Line, card: &Card) {
    let (recorded, message) = line.decide(card, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    line.wait(|line| !line.cards.iter().any(|open| open.id == card.id)).unwrap();
}

/// Says yes to whatever is asked before the plan.
fn until_the_plan(line: &mut Line) -> Card {
    loop {
        let card = wait_for_card(line, &[CardKind::Root, CardKind::Model, CardKind::Plan]);
        if card.face.kind == CardKind::Plan {
            return card;
        }
        approve(line, &card);
    }
}

/// Says yes to the plan too, and gives the card about what came of it.
fn until_the_result(line: &mut Line) -> Card {
    let plan = until_the_plan(line);
    approve(line, &plan);
    wait_for_card(line, &[CardKind::Done, CardKind::Rehearsed, CardKind::Report, CardKind::Refusal])
}

/// The card tells the end that the page tells; what waits is applied when its owner says so.
fn assert_comes_to(line: &mut Line, result: &Card, example: &Example) {
    let outcome = match line.work.values().find(|work| work["running"] == false).unwrap()["outcome"].as_str() {
        Some("proved") => "Proved",
        Some("green_by_exit_code") => "Green by exit code",
        other => panic!("{other:?}: {}", json!(result.face)),
    };
    assert_eq!(example.end, format!("Comes to: *{outcome}*, {}.", result.face.intent), "{}", json!(result.face));
    if result.face.kind == CardKind::Rehearsed {
        assert!(line.decide(result, Verdict::Approved).unwrap().0);
        line.card(CardKind::Done).unwrap();
    }
}

/// A plan that needs nobody else.
fn runs(id: &str) -> TestSilas {
    let (silas, example) = (TestSilas::start(), example(id));
    lay_out(&silas);
    let mut line = silas.line();
    submit(&silas, &at_home(&silas, &example.plan));
    let result = until_the_result(&mut line);
    assert_comes_to(&mut line, &result, &example);
    silas.assert_ledger_holds();
    silas
}

#[test]
fn every_whole_plan_of_the_page_is_run() {
    let on_the_page: Vec<String> = examples().iter().map(|example| id(&example.plan).to_owned()).collect();
    let mut run = RUN.map(str::to_owned).to_vec();
    run.sort();
    let mut sorted = on_the_page.clone();
    sorted.sort();
    assert_eq!(sorted, run);
}

#[test]
fn a_plan_with_commands() {
    runs("task-tides-zone");
}

#[test]
fn everything_that_a_check_can_expect() {
    runs("task-tides-release");
}

#[test]
fn a_plan_that_commits() {
    let silas = runs("task-tides-commit");
    let log = Command::new("git").args(["log", "--format=%s"]).current_dir(home(&silas).join("tidepool")).output();
    assert_eq!(String::from_utf8(log.unwrap().stdout).unwrap(), "Read summer time as it is meant\nbegin\n");
}

#[test]
fn what_is_ignored_is_included() {
    let silas = runs("task-tides-build");
    assert!(home(&silas).join("tidepool/build/table.csv").exists());
}

#[test]
fn what_is_beside_the_change_is_seen_and_not_applied() {
    let silas = runs("task-tides-install");
    assert!(!home(&silas).join("tidepool/node_modules").exists());
}

#[test]
fn what_silas_writes_itself_is_looked_up_anew() {
    runs("task-tides-again");
}

#[test]
fn what_only_silas_can_know_is_refused() {
    let (silas, example) = (TestSilas::start(), example("task-tides-planned"));
    lay_out(&silas);
    let (code, said) = submitted(&silas, &at_home(&silas, &example.plan));
    let why = example.end.strip_prefix("Is refused: ").unwrap();
    assert!(code == 1 && said.split_whitespace().collect::<Vec<_>>().join(" ").contains(why), "{code} {said}");
}

/// What the page shows as Silas's own plan is what Silas has made, but for what was found or drawn when it was made.
fn assert_wrote(place: &Place, card: &Card, example: &Example) {
    let wrote = WorkItem::from_canonical(card.payload.as_ref().unwrap()).unwrap();
    let shown = plan::parse(at_home(place, &example.plan).as_bytes()).unwrap();
    let told = |d: &Definition| {
        let mut d = d.clone();
        for directory in &mut d.directories {
            (directory.device, directory.inode, directory.replaces) = (None, None, None);
        }
        let (restores, merges) = (d.restores.take().is_some(), d.merges.take().is_some());
        d.toolchains.clear();
        (d.id, d.follow_up_of) = (wrote.id().clone(), d.follow_up_of.map(|_| wrote.id().clone()));
        d.budget = d.budget.without_models();
        (
            WorkItem::new(Definition { body: d.body.trim().to_owned(), ..d }).map(|item| plan::render(&item)),
            restores,
            merges,
        )
    };
    assert_eq!(told(wrote.definition()), told(shown.definition()));
}

#[test]
fn what_was_changed_is_put_back_by_a_plan() {
    let silas = runs("task-tides-zone");
    let example = example("task-tides-back");
    // The undo is over, and a plan is the way back.
    silas.advance(Duration::from_secs(3600));
    let mut line = silas.line();
    line.wait(|line| open_card(line, &[CardKind::Done]).is_none()).unwrap();
    line.work.clear();
    line.say("put back the last change").unwrap();
    assert_wrote(&silas, &line.card(CardKind::Plan).unwrap(), &example);
    let result = until_the_result(&mut line);
    assert_comes_to(&mut line, &result, &example);
    silas.assert_ledger_holds();
}

#[test]
fn two_edits_are_laid_together_by_a_plan() {
    let (silas, zone, both) = (TestSilas::start(), example("task-tides-zone"), example("task-tides-both"));
    lay_out(&silas);
    let mut line = silas.line();
    submit(&silas, &at_home(&silas, &zone.plan));
    let card = until_the_plan(&mut line);
    assert!(line.show_me_first(&card).unwrap().0);
    let result = line.card(CardKind::Rehearsed).unwrap();
    let file = home(&silas).join("tidepool/src/tides.py");
    let edited = fs::read_to_string(&file).unwrap().replace("def minutes(text):", "# Mine.\ndef minutes(text):");
    fs::write(&file, edited).unwrap();
    assert!(line.decide(&result, Verdict::Approved).unwrap().0);
    let conflict = line.card(CardKind::Conflict).unwrap();
    assert_wrote(&silas, &conflict, &both);
    line.work.clear();
    assert!(line.decide(&conflict, Verdict::Approved).unwrap().0);
    let result = line.card(CardKind::Rehearsed).unwrap();
    assert_comes_to(&mut line, &result, &both);
    silas.assert_ledger_holds();
}

/// A server on this machine that gives out a table, and writes down who asked for it; it ends with the test.
fn table_server() -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let head: Vec<String> =
                BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let body = "harbour,time\n";
            // Whoever is gone again wanted nothing.
            let _ = write!({ &stream }, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = tell.send(head.join("\n"));
        }
    });
    (port, told)
}

/// A port that nobody is given by chance: below those that the system gives out, and apart from those of other test runs.
fn callback_port() -> u16 {
    let first = 10_000 + u16::try_from(std::process::id() % 20_000).unwrap();
    (first..).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// Opens the address of the login as a browser would, until somebody has answered.
fn log_in(port: u16, over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let _ = stream.write_all(b"GET /?code=7 HTTP/1.0\r\n\r\n");
            let mut answer = String::new();
            if stream.read_to_string(&mut answer).is_ok() && answer.contains(" 204 ") {
                return;
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_plan_that_reaches_a_host_uses_a_secret_and_waits_for_a_login() {
    let (silas, example) = (Silas::start(), example("task-tides-fetch"));
    lay_out(&silas);
    silas.set_secret("tides", "key-of-the-tides");
    let ((port, asked), callback) = (table_server(), callback_port());
    let plan = at_home(&silas, &example.plan).replace("8080", &port.to_string()).replace("8765", &callback.to_string());
    let mut line = silas.line();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| log_in(callback, &over));
        submit(&silas, &plan);
        let result = until_the_result(&mut line);
        over.store(true, Ordering::SeqCst);
        assert_comes_to(&mut line, &result, &example);
    });
    assert!(asked.try_iter().any(|head| head.contains("/table.csv") && head.contains("key-of-the-tides")));
    let login = fs::read_to_string(home(&silas).join("tidepool/login.txt")).unwrap();
    assert_eq!(login, "/?code=7");
    silas.assert_ledger_holds();
}

fn read(path: &str) -> Act {
    call("read_file", json!({ "path": path, "from_line": null, "lines": null }))
}

fn write(path: &str, text: &str) -> Act {
    call("write_file", json!({ "path": path, "text": text }))
}

/// Both ends that the page tells: without a flow for what the model mended it waits, with one it is applied.
#[test]
fn a_plan_with_a_model() {
    let (search, (port, asked), example) = (Search::start(), table_server(), example("task-tides-model"));
    let server = Server::start(Script::new(Dialect::OpenAi, [])).unwrap();
    let model = format!("compatible:test@{}", server.url());
    let env = [&in_every_role(&model)[..], &[("SILAS__SEARCH__URL", search.url.as_str())]].concat();
    search.now_finds("In summer the clocks are an hour ahead.");
    let plan = example.plan.replace("8080", &port.to_string());
    let more = plan.replace("flows: [\"web → report.md\"]", "flows: [\"web → report.md\", \"web → src/**\"]");
    assert_ne!(plan, more);
    for plan in [&plan, &more] {
        let silas = TestSilas::start_with(&env);
        lay_out(&silas);
        let file = fs::read_to_string(home(&silas).join("tidepool/src/tides.py")).unwrap();
        server.now_says([
            call("web_search", json!({ "query": "tide tables and summer time" })),
            write("report.md", "In summer the clocks are an hour ahead.\n"),
            shell(&format!("curl -s http://127.0.0.1:{port}/table.csv")),
            read("src/tides.py"),
            write("src/tides.py", &file.replace("int(hours)", "(int(hours) - 1)")),
            finish(),
        ]);
        let mut line = silas.line();
        submit(&silas, &at_home(&silas, plan));
        let result = until_the_result(&mut line);
        if plan == &more {
            assert_eq!(result.face.intent, "2 files changed in tidepool", "{}", json!(result.face));
        } else {
            assert_comes_to(&mut line, &result, &example);
        }
        assert_eq!(server.faults(), Vec::<String>::new());
        assert!(asked.try_iter().any(|head| head.contains("/table.csv")));
        silas.assert_ledger_holds();
    }
    assert_eq!(search.queries_since(0), ["tide tables and summer time"; 2]);
}
