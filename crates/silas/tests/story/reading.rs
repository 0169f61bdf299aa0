//! Questions about the owner's files are answered from them: models look into the directories that the owner allowed, and
//! into no other, and whatever a repository or a model wants, nothing runs and nothing is changed.

use crate::harness::{ASKING, Line, TestSilas};
use crate::scripted::{in_every_role, next_reply, proposal, to_planner};
use crate::search_engine::Search;
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};
use silas_core::card::CardKind;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const CLOCK: &str =
    "from datetime import datetime\n\n\ndef stamp(seconds):\n    return datetime.fromtimestamp(seconds)\n";

struct World {
    server: Server,
    silas: TestSilas,
}

impl World {
    /// One model in every role, which is agreed to, and a directory that may be read.
    fn new(more: &[(&str, &str)]) -> (World, Line) {
        let server = Server::start(Script::new(Dialect::OpenAi, [Act::Says("{}".to_owned())])).unwrap();
        let model = format!("compatible:test@{}", server.url());
        let mut settings = in_every_role(&model).to_vec();
        settings.push(("SILAS__LIMITS__LLM_CALLS_PER_MINUTE_PER_SCOPE", "10000"));
        settings.extend(more);
        let silas = TestSilas::start_with(&settings);
        fs::write(silas.repo().join("clock.py"), CLOCK).unwrap();
        let (code, said) = silas.command(&["root", "add", silas.repo().to_str().unwrap(), "--yes"]);
        assert_eq!(code, 0, "{said}");
        let mut line = silas.line();
        server.now_says([answers("Hello.")]);
        line.say("say something").unwrap();
        line.approve(CardKind::Model).unwrap();
        assert_eq!(next_reply(&mut line), "Hello.");
        (World { server, silas }, line)
    }

    fn path(&self, name: &str) -> String {
        self.silas.repo().join(name).display().to_string()
    }

    fn asked_since(&self, n: usize) -> Vec<Value> {
        self.server.asked().into_iter().skip(n).map(|asked| asked.body).collect()
    }

    /// What the model heard after these calls, and what it answered.
    fn hears(&self, line: &mut Line, question: &str, calls: Vec<(String, String)>) -> String {
        let n = self.server.asked().len();
        self.server.now_says([Act::Calls(calls), answers("So it is.")]);
        assert_eq!(line.ask(question), "So it is.");
        let asked = self.asked_since(n);
        assert_eq!((asked.len(), self.server.faults()), (2, vec![]));
        asked[1]["messages"].to_string()
    }
}

fn answers(message: &str) -> Act {
    Act::Says(crate::scripted::direct(message))
}

fn read(path: &str, from_line: Option<u64>) -> (String, String) {
    ("read_file".to_owned(), json!({ "path": path, "from_line": from_line, "lines": null }).to_string())
}

fn search(path: &str, pattern: &str) -> (String, String) {
    ("search_files".to_owned(), json!({ "path": path, "pattern": pattern, "names": null }).to_string())
}

fn list(path: &str, names: Option<&str>) -> (String, String) {
    ("list_files".to_owned(), json!({ "path": path, "depth": null, "names": names }).to_string())
}

fn git_read(path: &str, what: &str, revision: Option<&str>) -> (String, String) {
    let arguments =
        json!({ "path": path, "what": what, "revision": revision, "from_line": null, "lines": null }).to_string();
    ("git_read".to_owned(), arguments)
}

fn offered(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[test]
fn a_question_about_code_is_answered_from_its_files() {
    let (world, mut line) = World::new(&[]);
    let (repo, clock) = (world.silas.repo().display().to_string(), world.path("clock.py"));
    let before = world.silas.tree();
    let n = world.server.asked().len();
    let answer = "It gives out local time: `clock.py:5` calls fromtimestamp without a zone.";
    world.server.now_says([
        Act::Calls(vec![search(&repo, "def stamp"), list(&repo, Some("*.py"))]),
        Act::Calls(vec![read(&clock, None)]),
        answers(answer),
    ]);
    line.say("what does this code do?").unwrap();
    let mut steps = Vec::new();
    let entry = loop {
        let message = line.next().unwrap();
        match message["type"].as_str() {
            Some("looking") => {
                let texts = message["looking"].as_array().unwrap().iter();
                steps.push(texts.map(|step| step["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>());
            }
            Some("message") if message["entry"]["sender"] == "silas" => break message["entry"].clone(),
            _ => {}
        }
    };
    assert_eq!((entry["text"].as_str(), &entry["in_models_words"]), (Some(answer), &json!(true)));
    // Whoever watches sees what is looked at, and the answer takes its place.
    let longest = steps.iter().max_by_key(|steps| steps.len()).unwrap();
    assert!(longest.iter().any(|step| step == "Searching `repo` for `def stamp`"), "{steps:?}");
    assert!(longest.iter().any(|step| step == "Looking for `*.py` in `repo`"), "{steps:?}");
    assert_eq!(longest.last().map(String::as_str), Some("Reading `clock.py`"), "{steps:?}");
    assert_eq!(world.silas.line().snapshot["looking"], json!([]));

    let asked = world.asked_since(n);
    assert_eq!(
        offered(&asked[0]),
        ["read_file", "list_files", "search_files", "git_read", "tell_user", "route_decision"]
    );
    let found = asked[1]["messages"].to_string();
    assert!(found.contains("clock.py:4: def stamp(seconds):") && found.contains("⟦from outside"), "{found}");
    let lines = asked[2]["messages"].to_string();
    assert!(lines.contains("5\\t    return datetime.fromtimestamp(seconds)"), "{lines}");
    // No card was needed, nothing was touched, and each look is in the ledger.
    assert!(line.cards.is_empty(), "{:?}", line.cards);
    assert_eq!(world.silas.tree(), before);
    let (_, ledger) = world.silas.command(&["audit", "list", "--last", "60"]);
    assert_eq!((ledger.matches("tool_called").count(), ledger.matches("tool_returned").count()), (3, 3), "{ledger}");
    // What was said with files in it is told again as somebody else's.
    let n = world.server.asked().len();
    world.server.now_says([answers("No.")]);
    assert_eq!(line.ask("is that all?"), "No.");
    let again = world.asked_since(n)[0]["messages"].to_string();
    assert!(again.contains("[silas] ⟦from outside"), "{again}");

    // The same in a terminal.
    world.server.now_says([Act::Calls(vec![read(&clock, Some(4))]), answers("Line 4 begins it.")]);
    let (code, talk) = world.silas.command_with(&["chat"], &[], "where does stamp begin?\n");
    assert!(
        code == 0 && talk.contains("Reading `clock.py` from line 4") && talk.contains("Line 4 begins it."),
        "{talk}"
    );
    world.silas.assert_ledger_holds();
}

#[test]
fn a_model_that_wants_out_sees_nothing_else() {
    let web = Search::start();
    web.now_finds("Nothing.");
    let (world, mut line) = World::new(&[("SILAS__SEARCH__URL", web.url.as_str())]);
    let (repo, data) = (world.silas.repo(), world.silas.data());
    fs::write(world.silas.outside().join("beside.txt"), "the beacon is 77\n").unwrap();
    fs::write(repo.join("secret.txt"), "the beacon is 99\n").unwrap();
    fs::write(repo.join("odd\nname"), "beneath\n").unwrap();
    let before = world.silas.tree();
    std::os::unix::fs::symlink("/etc/passwd", repo.join("leak")).unwrap();
    std::os::unix::fs::symlink(world.silas.outside(), repo.join("way")).unwrap();
    let inside = |name: &str| world.path(name);

    let refused = [
        read("/etc/passwd", None),
        read(&inside("../beside.txt"), None),
        read(&format!("{}/beside.txt", world.silas.outside().display()), None),
        search(world.silas.outside().to_str().unwrap(), "beacon"),
        list(data.to_str().unwrap(), None),
        read("clock.py", None),
    ];
    // Six refused calls in a row end a dialogue, so there are five in one and one in the next.
    for some in refused.chunks(3) {
        let heard = world.hears(&mut line, "what is in my other files?", some.to_vec());
        assert_eq!(heard.matches("lies in one of these").count(), some.len(), "{heard}");
        assert!(!heard.contains("root:x:") && !heard.contains("the beacon is 77"), "{heard}");
    }
    let links =
        vec![read(&inside("leak"), None), read(&inside("way/beside.txt"), None), search(&inside("way"), "beacon")];
    let heard = world.hears(&mut line, "and by those links?", links);
    assert_eq!(heard.matches("It could not be read").count(), 3, "{heard}");
    assert!(!heard.contains("root:x:") && !heard.contains("beacon is"), "{heard}");

    // What is far too large, and what has an odd name, is bounded and right.
    fs::File::create(repo.join("huge")).unwrap().set_len(1 << 30).unwrap();
    let odd = vec![read(&inside("huge"), None), search(repo.to_str().unwrap(), "beneath")];
    let heard = world.hears(&mut line, "what about the large one?", odd);
    assert!(heard.contains("Lines 1 to 1") && heard.len() < 120_000, "{}", heard.len());
    fs::remove_file(repo.join("huge")).unwrap();
    let heard = world.hears(&mut line, "and the odd one?", vec![read(&inside(r"odd\x0aname"), None)]);
    assert!(heard.contains("1\\tbeneath"), "{heard}");

    // Options are no revisions, and git writes nothing.
    let options = vec![
        git_read(repo.to_str().unwrap(), "log", Some("--output=made")),
        git_read(&inside("--upload-pack=x"), "log", None),
    ];
    world.hears(&mut line, "what does git say?", options);

    // What it has read here does not go out with a search.
    let n = web.queries_since(0).len();
    world.server.now_says([
        Act::Calls(vec![read(&inside("secret.txt"), None)]),
        Act::Calls(vec![("web_search".to_owned(), json!({ "query": "beacon 99" }).to_string())]),
        answers("Nothing."),
    ]);
    assert_eq!(line.ask("look it up"), "Nothing.");
    assert_eq!(web.queries_since(n), Vec::<String>::new());
    fs::remove_file(repo.join("leak")).unwrap();
    fs::remove_file(repo.join("way")).unwrap();
    assert_eq!(world.silas.tree(), before, "files are never altered by reading");
    assert!(line.cards.is_empty());
    world.silas.assert_ledger_holds();
}

fn git(at: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=Me", "-c", "user.email=me@home"];
    let mut git = Command::new("git");
    git.current_dir(at)
        .args(identity)
        .args(words)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{words:?} {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository that names a program wherever it can; each would leave a trace in the working tree.
#[test]
fn a_hostile_repository_tells_its_history_and_runs_nothing() {
    let (world, mut line) = World::new(&[]);
    let repo = world.silas.repo();
    git(&repo, &["init", "-q", "-b", "main"]);
    git(&repo, &["add", "clock.py"]);
    git(&repo, &["commit", "-q", "-m", "A clock"]);
    fs::write(repo.join("clock.py"), CLOCK.replace("seconds)\n", "seconds, utc)\n")).unwrap();
    fs::write(repo.join(".gitattributes"), "* diff=trap filter=trap\n").unwrap();
    let trap = repo.join(".git/trap.sh");
    fs::write(&trap, format!("#!/bin/sh\necho \"$*\" >> {}\ncat\n", repo.join("ran").display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    let shown = trap.display();
    let config = format!(
        "[core]\n\tfsmonitor = {shown}\n\tpager = {shown}\n[diff]\n\texternal = {shown}\n[diff \"trap\"]\n\ttextconv = {shown}\n\
         \tcommand = {shown}\n[filter \"trap\"]\n\tclean = {shown}\n\tsmudge = {shown}\n\tprocess = {shown}\n[gpg]\n\tprogram = {shown}\n\
         [log]\n\tshowSignature = true\n"
    );
    fs::write(repo.join(".git/config"), config).unwrap();
    fs::create_dir_all(repo.join(".git/hooks")).unwrap();
    for hook in ["post-index-change", "reference-transaction", "post-checkout"] {
        fs::copy(&trap, repo.join(".git/hooks").join(hook)).unwrap();
    }
    let before = world.silas.tree();
    let (whole, clock) = (repo.display().to_string(), world.path("clock.py"));
    let calls = vec![
        git_read(&whole, "log", None),
        git_read(&clock, "diff", None),
        git_read(&whole, "show", Some("HEAD")),
        git_read(&clock, "blame", None),
    ];
    let heard = world.hears(&mut line, "what changed here lately?", calls);
    assert!(heard.contains("Me: A clock") && heard.contains("Not Committed Yet"), "{heard}");
    assert!(heard.contains("+    return datetime.fromtimestamp(seconds, utc)"), "{heard}");
    assert_eq!(world.silas.tree(), before, "nothing ran, nothing was written");
    // The trap is real: git by itself falls into it.
    let _ = Command::new("git").current_dir(&repo).arg("diff").output().unwrap();
    assert!(repo.join("ran").exists());
    world.silas.assert_ledger_holds();
}

#[test]
fn a_planner_reads_before_it_plans() {
    let (world, mut line) = World::new(&[ASKING]);
    let repo = world.silas.repo();
    let markdown = format!(
        "---\nid: task-1\ntype: task\ntitle: x\nsteps:\n  - run: \"echo utc >> clock.py\"\nverify:\n  - name: it is said\n    \
         run: grep -q utc clock.py\n    expect: {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: {}, access: write }}\n\
         ---\n\n# What to do\nSay utc.\n",
        repo.display()
    );
    let n = world.server.asked().len();
    world.server.now_says([
        to_planner(),
        Act::Calls(vec![search(repo.to_str().unwrap(), "fromtimestamp"), read(&world.path("clock.py"), None)]),
        Act::Says(proposal("I read clock.py.", &markdown).to_string()),
    ]);
    line.say("make the clock say utc").unwrap();
    let card = line.card(CardKind::Plan).unwrap();
    assert!(serde_json::to_string(&card.face).unwrap().contains("echo utc >> clock.py"));
    let asked = world.asked_since(n);
    assert_eq!((asked.len(), world.server.faults()), (3, vec![]));
    assert_eq!(
        offered(&asked[1]),
        ["read_file", "list_files", "search_files", "git_read", "request_research", "validate_plan", "agent_response"]
    );
    let system = asked[1]["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("Read what you must know first") && !system.contains("You cannot see files"), "{system}");
    let heard = asked[2]["messages"].to_string();
    assert!(heard.contains("clock.py:5:") && heard.contains("4\\tdef stamp(seconds):"), "{heard}");
    world.silas.assert_ledger_holds();
}

#[test]
fn reading_that_does_not_end_is_ended_and_explained() {
    let (world, mut line) = World::new(&[]);
    // The last act is repeated for ever.
    let looks = Act::Calls(vec![list(world.silas.repo().to_str().unwrap(), None)]);
    world.server.now_says([looks]);
    let said = line.ask("what is all this?");
    assert!(said.contains("came to no answer"), "{said}");
    world.server.now_says([answers("Yes.")]);
    assert_eq!(line.ask("are you there"), "Yes.");
    world.silas.assert_ledger_holds();
}

/// The proxy hands over, and says which work this goes on with.
fn goes_on_with(id: &str) -> Act {
    let mut decision: Value = serde_json::from_str(&crate::scripted::route_to_planner()).unwrap();
    decision["continuation_of"] = json!(id);
    Act::Says(decision.to_string())
}

fn recall(about: Option<&str>) -> Act {
    Act::Calls(vec![("earlier_work".to_owned(), json!({ "about": about }).to_string())])
}

#[test]
fn finished_work_is_told_from_its_record_and_gone_on_with() {
    let (world, mut line) = World::new(&[ASKING]);
    let repo = world.silas.repo();
    line.say(&world.silas.wish()).unwrap();
    line.approve(CardKind::Plan).unwrap();
    let work = line.ended().unwrap();
    let id = work["work_item"].as_str().unwrap().to_owned();
    assert_eq!(work["place"], "Applied", "{work}");

    // A question about it is answered from what is known of it.
    let n = world.server.asked().len();
    world.server.now_says([recall(None), answers("It made a and b new.")]);
    assert_eq!(line.ask("what did you change earlier, and is it proved?"), "It made a and b new.");
    let asked = world.asked_since(n);
    assert!(offered(&asked[0]).contains(&"earlier_work"), "{:?}", offered(&asked[0]));
    let heard = asked[1]["messages"].to_string();
    for known in
        [id.as_str(), "state: applied", "changed: src/a.txt (+1 -1)", "ran: sh fix.sh", "red before, green after"]
    {
        assert!(heard.contains(known), "{known}: {heard}");
    }
    assert!(heard.contains("⟦from outside"), "{heard}");
    // It is found by a file or by what changed in one, and what is not there is not found.
    for (about, finds) in [("b.txt", true), ("NEW b", true), (id.as_str(), true), ("tide tables", false)] {
        let n = world.server.asked().len();
        world.server.now_says([recall(Some(about)), answers("So.")]);
        line.ask(&format!("what about {about}?"));
        let asked = world.asked_since(n);
        let heard = asked[1]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        assert_eq!((heard.contains(&id), heard.contains("There is no such work")), (finds, !finds), "{about}: {heard}");
    }

    // A wish that continues it names it, and the plan says so.
    let plan = |continuation_of: Option<&str>| {
        let markdown = format!(
            "---\nid: task-1\ntype: task\ntitle: x\nsteps:\n  - run: \"echo more >> src/a.txt\"\nverify:\n  - name: more\n    \
             run: grep -q more src/a.txt\n    expect: {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: {}, access: \
             write }}\n---\n\n# What to do\nMore.\n",
            repo.display()
        );
        let mut proposal = proposal("More of it.", &markdown);
        proposal["plan_action"]["continuation_of"] = json!(continuation_of);
        Act::Says(proposal.to_string())
    };
    let follows = |line: &mut Line| {
        let card = line.card(CardKind::Plan).unwrap();
        let payload: Value = serde_json::from_str(card.payload.as_deref().unwrap()).unwrap();
        line.decide(&card, silas_core::token::Verdict::Declined).unwrap();
        line.wait(|line| line.cards.iter().all(|other| other.id != card.id)).unwrap();
        payload["follow_up_of"].clone()
    };
    world.server.now_says([recall(None), goes_on_with(&id), plan(None)]);
    line.say("go deeper there").unwrap();
    assert_eq!(follows(&mut line), json!(id));
    let n = world.server.asked().len();
    world.server.now_says([to_planner(), recall(Some("src/a.txt")), plan(Some(&id))]);
    line.say("and more of a").unwrap();
    assert_eq!(follows(&mut line), json!(id));
    assert!(offered(&world.asked_since(n)[1]).contains(&"earlier_work"));

    // An id that nobody told it is none that it can go on with, though there is such work.
    let n = world.server.asked().len();
    world.server.now_says([goes_on_with(&id), plan(None)]);
    line.say("once more, from memory").unwrap();
    assert_eq!(follows(&mut line), json!(null));
    assert!(!world.asked_since(n)[1]["messages"].to_string().contains("It goes on with"));
    world.server.now_says([to_planner(), plan(Some(&id))]);
    let refused = line.ask("and again from memory");
    assert!(refused.contains("no work that it was told of") && refused.contains(&id), "{refused}");
    assert!(line.cards.iter().all(|card| card.face.kind != CardKind::Plan));
    world.silas.assert_ledger_holds();
}
