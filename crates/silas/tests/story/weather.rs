//! Hostile weather: providers that turn away, break off, fall silent and ask for patience, in the middle of work and of talk.
//! Nothing is lost, nothing is paid for twice, and whoever looks sees what is waited for. By a clock that is moved.

use crate::executing::{RIGHT, finish, markdown, plan};
use crate::harness::{Line, Place, TestSilas};
use crate::scripted::{direct, in_every_role, next_reply, shell, to_planner};
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};
use silas_core::card::CardKind;
use std::fs;
use std::path::Path;
use std::time::Duration;

const CLOCK: &str = "from datetime import datetime, timezone\n\n\ndef stamp(seconds):\n    return datetime.fromtimestamp(seconds).isoformat()\n";
const TEST: &str = "import os, time, unittest\nfrom clock import stamp\n\n\nclass Stamp(unittest.TestCase):\n    def test_everywhere(self):\n        for zone in ('UTC', 'Asia/Tokyo'):\n            os.environ['TZ'] = zone\n            time.tzset()\n            self.assertEqual(stamp(0), '1970-01-01T00:00:00+00:00')\n";
/// What comes of the work, and nothing else.
const LOOK: &str = "cat clock.py";
const MINUTE: Duration = Duration::from_secs(60);

struct World {
    server: Server,
    silas: TestSilas,
}

impl World {
    fn new(more: &[(&str, &str)]) -> World {
        World::of(Dialect::OpenAi, more)
    }

    fn of(dialect: Dialect, more: &[(&str, &str)]) -> World {
        let server = Server::start(Script::new(dialect, [])).unwrap();
        let model = match dialect {
            Dialect::OpenAi => format!("openai:gpt-5-nano@{}", server.url()),
            Dialect::Anthropic => format!("anthropic:claude-haiku-4-5@{}", server.url()),
        };
        let mut settings = in_every_role(&model).to_vec();
        settings.push(crate::harness::ASKING);
        settings.extend(more);
        let silas = TestSilas::start_with(&settings);
        fs::write(silas.repo().join("clock.py"), CLOCK).unwrap();
        fs::write(silas.repo().join("test_clock.py"), TEST).unwrap();
        World { server, silas }
    }

    /// A plan is approved, and its work begins with these answers.
    fn begun(&self, more: &str, work: Vec<Act>) -> Line {
        let repo = self.silas.repo();
        self.server.now_says([to_planner(), plan(&repo, more), plan(&repo, more)].into_iter().chain(work));
        let mut line = self.silas.line();
        line.say("fix the time-zone bug in this repo").unwrap();
        line.approve(CardKind::Model).unwrap();
        line.approve(CardKind::Root).unwrap();
        line.approve(CardKind::Plan).unwrap();
        line
    }

    /// The mended file is in its place, and everything that was paid for is in the books once.
    fn is_done(&self, line: &mut Line) {
        line.card(CardKind::Done).unwrap();
        let mended = String::from_utf8(self.silas.tree()[Path::new("clock.py")].clone()).unwrap();
        assert!(mended.contains("fromtimestamp(seconds, timezone.utc)"), "{mended}");
        assert_eq!(self.server.faults(), Vec::<String>::new());
        self.silas.assert_ledger_holds();
    }

    /// How many questions ended like this, by the ledger.
    fn n_settled(&self, outcome: &str) -> usize {
        let db = rusqlite::Connection::open(self.silas.data().join("store/agent.sqlite")).unwrap();
        let sql = "SELECT count(*) FROM ledger WHERE event = 'model_answered' AND body LIKE ?";
        db.query_row(sql, [format!("%\"outcome\":\"{outcome}\"%")], |row| row.get::<_, u32>(0)).unwrap() as usize
    }
}

/// Until the provider is waited for, as a page is told that comes now; gives until when.
fn waits(silas: &Place) -> String {
    for _ in 0..1_000 {
        let asked = silas.line().snapshot["waiting_for"].clone();
        if let Some(until) = asked.as_array().unwrap().iter().find_map(|one| one["waits_until"].as_str()) {
            return until.to_owned();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nobody is waited for: {}", silas.line().snapshot);
}

fn says_so(silas: &Place) {
    let (code, text) = silas.command(&["status"]);
    assert!(code == 0 && text.contains("aiting for the provider until "), "{text}");
    assert!(!text.contains("All quiet") && text.contains("`silas stop --all` ends the waiting"), "{text}");
}

fn later(secs: &str) -> Act {
    Act::Status(429, vec![("retry-after", secs.to_owned())], String::new())
}

fn overloaded() -> Act {
    Act::Status(529, Vec::new(), String::new())
}

#[test]
fn retry_after_is_obeyed_in_the_middle_of_work() {
    let world = World::new(&[]);
    let mut line = world.begun("", vec![shell(LOOK), later("120"), shell(RIGHT), finish("Mended.")]);
    let until = waits(&world.silas);
    assert_eq!(world.server.asked().len(), 5, "it is left alone");
    says_so(&world.silas);
    line.wait(|line| line.work.values().any(|w| w.to_string().contains("Waiting for the provider until "))).unwrap();
    // Before its time nothing is asked.
    world.silas.advance(MINUTE);
    assert_eq!((waits(&world.silas), world.server.asked().len()), (until, 5));
    world.silas.advance(MINUTE);
    world.is_done(&mut line);
    // Proxy, planner twice and three of the work were answered; the one that was turned away cost nothing.
    assert_eq!((world.server.asked().len(), world.n_settled("answered"), world.n_settled("E_LLM_BUSY")), (7, 6, 1));
}

#[test]
fn a_provider_that_is_overloaded_is_asked_again_later() {
    let world = World::new(&[]);
    let work = [shell(LOOK)].into_iter().chain((0..5).map(|_| overloaded())).chain([shell(RIGHT), finish("Mended.")]);
    let mut line = world.begun("", work.collect());
    waits(&world.silas);
    assert_eq!(world.server.asked().len(), 7, "three times at once, and then it is left alone");
    says_so(&world.silas);
    world.silas.advance(MINUTE);
    world.is_done(&mut line);
    assert_eq!((world.server.asked().len(), world.n_settled("answered"), world.n_settled("E_LLM_BUSY")), (11, 6, 1));
}

#[test]
fn a_stream_that_is_cut_in_half_is_asked_for_again() {
    let world = World::new(&[]);
    let half = Act::Cut("{\"summary\": \"I was about to".to_owned());
    let mut line = world.begun("", vec![shell(LOOK), half, shell(RIGHT), finish("Mended.")]);
    waits(&world.silas);
    says_so(&world.silas);
    world.silas.advance(MINUTE);
    world.is_done(&mut line);
    assert_eq!((world.n_settled("answered"), world.n_settled("E_LLM_CUT")), (6, 1));
}

/// Half an hour is all the time that the plan has; what is waited is not counted.
#[test]
fn half_an_hour_without_an_answer_ends_nothing() {
    let world = World::new(&[("SILAS__MODELS__TIMEOUT_SECONDS", "5")]);
    let work = vec![shell(LOOK), Act::Silence, Act::Silence, Act::Silence, shell(RIGHT), finish("Mended.")];
    let mut line = world.begun("budget: { max_wall_time_seconds: 1200 }\n", work);
    for n in 5..8 {
        world.server.await_asked(n);
        waits(&world.silas);
        says_so(&world.silas);
        world.silas.advance(10 * MINUTE);
    }
    world.is_done(&mut line);
    assert_eq!((world.n_settled("answered"), world.n_settled("E_LLM_TIMEOUT")), (6, 3));
}

/// Silas goes away while it waits, for longer than the plan has time, and goes on with what it was answered before.
#[test]
fn a_restart_while_the_provider_is_waited_for_loses_nothing() {
    let half = || Act::Cut("{\"summary\": \"I was about to".to_owned());
    for bad in [later("120"), half(), Act::Silence] {
        let mut world = World::new(&[("SILAS__MODELS__TIMEOUT_SECONDS", "5")]);
        // Interrupted work goes on under the house rules.
        world.silas.pair();
        drop(world.begun("", vec![shell(LOOK), bad, later("600")]));
        waits(&world.silas);
        let asked = world.server.asked().len();
        world.silas.sleep_for(120 * MINUTE);
        world.server.await_asked(asked + 1);
        waits(&world.silas);
        says_so(&world.silas);
        world.server.now_says([shell(RIGHT), finish("Mended.")]);
        world.silas.advance(10 * MINUTE);
        world.is_done(&mut world.silas.line());
        assert_eq!(world.n_settled("answered"), 6, "what was answered before is told again, and not paid for");
    }
}

#[test]
fn work_is_stopped_while_the_provider_is_waited_for() {
    let world = World::new(&[]);
    let original = world.silas.tree();
    let mut line = world.begun("", vec![shell(RIGHT), later("120")]);
    waits(&world.silas);
    line.send(&json!({ "type": "stop" })).unwrap();
    line.ended().unwrap();
    assert_eq!(line.card(CardKind::Report).unwrap().face.intent, "Stopped before it was done");
    assert_eq!((world.silas.tree(), world.server.asked().len()), (original, 5));
    let (_, text) = world.silas.command(&["status"]);
    assert!(!text.contains("aiting for the provider"), "{text}");
}

#[test]
fn patience_has_an_end_and_says_so() {
    let world = World::new(&[("SILAS__MODELS__PATIENCE_MINUTES", "30")]);
    let mut line = world.begun("on_stuck: report\n", vec![shell(LOOK), later("1200"), later("1200")]);
    waits(&world.silas);
    world.silas.advance(20 * MINUTE);
    line.ended().unwrap();
    let card = line.card(CardKind::Report).unwrap();
    assert!(card.face.details.iter().any(|detail| detail.lines.join(" ").contains("overloaded")), "{:?}", card.face);
}

#[test]
fn the_owner_s_words_wait_in_sight_and_are_stopped() {
    let world = World::new(&[]);
    let mut line = world.silas.line();
    world.server.now_says([Act::Says(direct("Good morning."))]);
    line.say("good morning").unwrap();
    line.approve(CardKind::Model).unwrap();
    while next_reply(&mut line) != "Good morning." {}
    for is_stopped in [true, false] {
        world.server.now_says([later("600"), Act::Says(direct("Four."))]);
        line.say("what is two and two").unwrap();
        waits(&world.silas);
        says_so(&world.silas);
        if is_stopped {
            line.send(&json!({ "type": "stop" })).unwrap();
            while next_reply(&mut line) != "Stopped before anything was said." {}
        } else {
            world.silas.advance(10 * MINUTE);
            while next_reply(&mut line) != "Four." {}
        }
    }
    assert_eq!(world.server.asked().len(), 4);
}

/// Work that asks and asks has two thirds of the minute; what the owner says meanwhile has the rest.
#[test]
fn the_owner_s_words_do_not_wait_behind_work_for_a_rate_limit() {
    let world = World::new(&[("SILAS__LIMITS__LLM_CALLS_PER_MINUTE_PER_SCOPE", "9")]);
    let mut line = world.begun("", (0..7).map(|_| shell(LOOK)).chain([shell(RIGHT), finish("Mended.")]).collect());
    // Three questions were the wish's; six are for work, and then the minute is over for it, but not for the owner.
    line.wait(|line| line.work.values().any(|w| w.to_string().contains("often enough in this minute"))).unwrap();
    world.silas.advance(MINUTE);
    line.wait(|line| line.work.values().any(|w| !w.to_string().contains("often enough in this minute"))).unwrap();
    world.is_done(&mut line);
}

/// In the bodies as they were sent: each begins byte for byte like the one before it, except where old results were left out.
#[test]
fn each_question_of_a_long_run_begins_like_the_one_before() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let world = World::of(dialect, &[("SILAS__LIMITS__LLM_CALLS_PER_MINUTE_PER_SCOPE", "1000")]);
        let long = |n: usize| shell(&format!("seq {n}00000 {n}02000"));
        // The owner's own plan: one that a model writes may use up less than this takes.
        let work = (1..20).map(long).chain([shell(RIGHT), finish("Mended.")]);
        world.server.now_says([Act::Says(direct("Fine."))].into_iter().chain(work));
        let mut line = world.silas.line();
        line.say("how are you").unwrap();
        line.approve(CardKind::Model).unwrap();
        line.say(&markdown(&world.silas.repo(), "budget: { max_tokens: 1000000 }\n")).unwrap();
        line.approve(CardKind::Root).unwrap();
        line.approve(CardKind::Plan).unwrap();
        world.is_done(&mut line);
        let asked: Vec<String> = world.server.asked().into_iter().skip(1).map(|asked| asked.text).collect();
        assert_eq!(asked.len(), 21);
        let n_left_out = |text: &str| text.matches("[left out: it is long ago").count();
        let mut n_evictions = 0;
        for (before, now) in asked.iter().zip(&asked[1..]) {
            let body: Value = serde_json::from_str(before).unwrap();
            let messages = body["messages"].to_string();
            let end = before.find(&messages).unwrap() + messages.len() - 1;
            if n_left_out(now) == n_left_out(before) {
                assert!(now.starts_with(&before[..end]), "{before}\n\n{now}");
            } else {
                n_evictions += 1;
            }
        }
        assert!((1..=3).contains(&n_evictions), "seldom, and much at once: {n_evictions}");
    }
}
