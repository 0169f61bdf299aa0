//! Plans over several directories, and owners who go on working while a plan runs.

use crate::harness::{Line, Silas};
use serde_json::json;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::token::Verdict;
use std::fs;
use std::path::PathBuf;

/// Allows every directory that is asked for, until the plan is there.
fn allow_all(line: &mut Line) -> Card {
    loop {
        let open = |kind| move |card: &&Card| card.face.kind == kind && card.offer.is_some();
        if let Some(plan) = line.cards.iter().find(open(CardKind::Plan)).cloned() {
            return plan;
        }
        if let Some(root) = line.cards.iter().find(open(CardKind::Root)).cloned() {
            let (recorded, message) = line.decide(&root, Verdict::Approved).unwrap();
            assert!(recorded, "{message}");
            line.wait(|line| !line.cards.iter().any(|card| card.id == root.id)).unwrap();
            continue;
        }
        line.next().unwrap();
    }
}

fn beside(silas: &Silas, name: &str) -> PathBuf {
    let dir = silas.outside().join(name);
    fs::create_dir(&dir).unwrap();
    dir
}

#[test]
fn several_directories_are_changed_and_put_back_together() {
    let silas = Silas::start();
    let original = silas.tree();
    let (library, notes) = (beside(&silas, "library"), beside(&silas, "notes"));
    fs::write(library.join("book.txt"), "old\n").unwrap();
    fs::write(notes.join("note.txt"), "noted\n").unwrap();
    let mut line = silas.line();
    let (repo, book) = (silas.repo(), library.join("book.txt"));
    line.say(&format!(
        "run `cp {0}/note.txt src/a.txt; cp {0}/note.txt {1}` in `{2}` and `{3}` reading `{0}` and check with `grep noted src/a.txt {1}`",
        notes.display(),
        book.display(),
        repo.display(),
        library.display(),
    ))
    .unwrap();
    let plan = allow_all(&mut line);
    assert_eq!(plan.face.intent, "Run 1 command in 2 directories");
    let may_change = plan.face.details.iter().find(|detail| detail.title == "May change").unwrap();
    assert_eq!(may_change.lines, [&repo, &library].map(|dir| format!("{}, not .git", dir.display())));
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    let done = line.card(CardKind::Done).unwrap();
    assert_eq!(done.face.intent, "2 files changed in 2 directories");
    let named: Vec<_> = done.face.diffs.iter().map(|diff| PathBuf::from(&diff.directory)).collect();
    assert_eq!(named, [repo.clone(), library.clone()]);
    assert_eq!(fs::read_to_string(&book).unwrap(), "noted\n");
    assert_eq!(fs::read_to_string(repo.join("src/a.txt")).unwrap(), "noted\n");
    let (recorded, message) = line.decide(&done, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    assert_eq!((silas.tree(), fs::read_to_string(&book).unwrap().as_str()), (original, "old\n"));
    silas.assert_ledger_holds();
}

/// Looks until some process was started with these words; a check that waits cannot say so itself.
fn await_process(words: &str) {
    let is_it = |entry: fs::DirEntry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(words))
    };
    for _ in 0..6_000 {
        if fs::read_dir("/proc").unwrap().flatten().any(is_it) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the check was not started for a minute");
}

/// Stops the second run of the checks until the owner has saved something, and gives the card that follows.
fn saved_during_the_checks(saved: &str) -> (Silas, Line, Option<Card>) {
    let silas = Silas::start();
    let gate = beside(&silas, "gate");
    let mut line = silas.line();
    line.say(&format!(
        "run `sh fix.sh` in `{}` reading `{1}` and check with `sh check.sh && {{ while ! test -e {1}/go; do sleep 0.02; done; ! test -e veto; }}`",
        silas.repo().display(),
        gate.display(),
    ))
    .unwrap();
    allow_all(&mut line);
    line.approve(CardKind::Plan).unwrap();
    let is_checking = |line: &Line| line.work.values().any(|work| work["steps"][3]["state"] == "running");
    line.wait(is_checking).unwrap();
    await_process(gate.join("go").to_str().unwrap());
    fs::write(silas.repo().join(saved), "mine\n").unwrap();
    fs::write(gate.join("go"), "").unwrap();
    line.ended().unwrap();
    line.wait(|line| line.cards.iter().any(|card| card.face.kind != CardKind::Plan)).unwrap();
    let card = line.cards.iter().find(|card| card.face.kind != CardKind::Plan).cloned();
    (silas, line, card)
}

#[test]
fn what_the_owner_saves_elsewhere_is_checked_together_with_the_work() {
    let (silas, mut line, card) = saved_during_the_checks("other.txt");
    let card = card.unwrap();
    assert_eq!((card.face.kind, card.face.intent.as_str()), (CardKind::Done, "4 files changed in repo"));
    let title = "You changed this meanwhile, and the checks ran again with it";
    let told = card.face.details.iter().find(|detail| detail.title == title).unwrap();
    assert_eq!(told.lines, ["other.txt"]);
    assert_eq!(fs::read_to_string(silas.repo().join("other.txt")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "new a\n");
    line.decide(&card, Verdict::Approved).unwrap();
    assert_eq!(fs::read_to_string(silas.repo().join("other.txt")).unwrap(), "mine\n");
    silas.assert_ledger_holds();
}

#[test]
fn what_does_not_hold_together_is_not_applied() {
    let (silas, _line, card) = saved_during_the_checks("veto");
    let card = card.unwrap();
    assert_eq!(card.face.kind, CardKind::Report, "{:?}", card.face);
    assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "old a\n");
    assert_eq!(fs::read_to_string(silas.repo().join("veto")).unwrap(), "mine\n");
}

#[test]
fn what_both_changed_is_a_conflict() {
    let (silas, _line, card) = saved_during_the_checks("src/b.txt");
    let card = card.unwrap();
    assert_eq!((card.face.kind, card.face.intent.as_str()), (CardKind::Conflict, "You edited the same file"));
    assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "old a\n");
    assert_eq!(fs::read_to_string(silas.repo().join("src/b.txt")).unwrap(), "mine\n");
}

fn git(silas: &Silas, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.arg("-C").arg(silas.repo()).args(["-c", "user.name=Owner", "-c", "user.email=owner@localhost"]);
    let output = command.args(arguments).env("GIT_OPTIONAL_LOCKS", "0").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_a_plan_commits_arrives_and_goes_with_its_files() {
    let silas = Silas::start();
    git(&silas, &["init", "-q", "-b", "main"]);
    git(&silas, &["add", "-A"]);
    git(&silas, &["commit", "-qm", "first"]);
    let mut line = silas.line();
    line.say(&format!(
        "run `sh fix.sh && git add -A && git commit -qm fixed` in `{}` with commits and check with `sh check.sh`",
        silas.repo().display()
    ))
    .unwrap();
    let plan = allow_all(&mut line);
    let limits = plan.face.details.iter().find(|detail| detail.title == "Limits").unwrap();
    assert!(limits.lines.iter().any(|line| line.starts_with("Commits in a private clone")), "{limits:?}");
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    let done = line.card(CardKind::Done).unwrap();
    assert_eq!(git(&silas, &["log", "--format=%s"]), "fixed\nfirst\n");
    assert_eq!(git(&silas, &["status", "--porcelain"]), "");
    let (recorded, message) = line.decide(&done, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    assert_eq!(git(&silas, &["log", "--format=%s"]), "first\n");
    assert_eq!(git(&silas, &["status", "--porcelain"]), "");
}

#[test]
fn the_last_change_can_be_put_back_when_its_undo_is_over() {
    let silas = Silas::start_with(&[("SILAS__UNDO__WINDOW_SECONDS", "1")]);
    let original = silas.tree();
    let mut line = silas.line();
    let reply = line.ask("put back the last change");
    assert!(reply.contains("nothing to put back"), "{reply}");
    line.run(&silas.wish()).unwrap();
    let changed = silas.tree();
    assert_ne!(changed, original);
    // The offer to undo goes when its time is over.
    line.card(CardKind::Done).unwrap();
    let is_offered =
        |line: &Line| line.cards.iter().any(|c| c.face.kind == CardKind::Done && c.state == CardState::Open);
    line.wait(|line| !is_offered(line)).unwrap();
    let mut reply = line.ask("put back the last change");
    while reply.contains("can still be undone") {
        reply = line.ask("put back the last change");
    }
    assert!(reply.contains("A plan that puts back the last change in repo"), "{reply}");
    let plan = line.approve(CardKind::Plan).unwrap();
    assert!(plan.face.details.iter().any(|detail| detail.title == "Puts back"), "{:?}", plan.face.details);
    line.wait(|line| line.work.len() == 2 && line.work.values().all(|work| work["running"] == false)).unwrap();
    assert_eq!(silas.tree(), original);
    silas.assert_ledger_holds();
}

/// As the page does it: from the card or the proof of exactly this work, with other work applied after it.
#[test]
fn a_way_back_is_planned_for_exactly_the_work_that_it_was_asked_for() {
    let silas = Silas::start_with(&[("SILAS__UNDO__WINDOW_SECONDS", "3600")]);
    let mut line = silas.line();
    let original = silas.tree();
    let work = line.run(&silas.wish()).unwrap();
    let asked = json!({ "type": "way_back", "execution": work["execution"] });
    line.send(&asked).unwrap();
    assert_eq!(line.wait_for("error").unwrap()["code"], "E_SANDBOX_UNDO_OPEN");

    let look = json!({ "type": "later_edits", "execution": work["execution"] });
    line.send(&look).unwrap();
    assert_eq!(line.wait_for("later_edits").unwrap()["edits"], json!([]));
    let (path, text) = silas.tree().into_iter().find(|(path, text)| original.get(path) != Some(text)).unwrap();
    fs::write(silas.repo().join(&path), "mine\n").unwrap();
    line.send(&look).unwrap();
    let edits = line.wait_for("later_edits").unwrap()["edits"].clone();
    assert_eq!(edits[0]["path"], path.to_str().unwrap());
    assert!(edits[0]["lines"].as_array().unwrap().contains(&json!({ "removed": "mine" })), "{edits}");
    fs::write(silas.repo().join(&path), text).unwrap();
    line.send(&look).unwrap();
    assert_eq!(line.wait_for("later_edits").unwrap()["edits"], json!([]), "as Silas left it, undo takes nothing away");

    let done = line.card(CardKind::Done).unwrap();
    let token = line.token(&done, Verdict::Approved).unwrap();
    line.send(&json!({ "type": "approval_response", "request_id": done.id, "token": token })).unwrap();
    let answered = line.wait_for("answered").unwrap()["answered"].clone();
    assert_eq!((&answered["card"], &answered["verdict"]), (&json!(done.id), &json!("approved")));
    assert!(answered["device"].as_str().unwrap().contains("terminal"), "{answered}");
    line.wait(|line| line.work.values().all(|work| work["place"] == "Undone")).unwrap();
    line.send(&asked).unwrap();
    assert_eq!(line.wait_for("error").unwrap()["code"], "E_SANDBOX_UNDO_CLOSED");
}

#[test]
fn the_way_back_of_one_work_is_a_card_that_is_asked_once() {
    let silas = Silas::start_with(&[("SILAS__UNDO__WINDOW_SECONDS", "1")]);
    let original = silas.tree();
    let mut line = silas.line();
    let first = line.run(&silas.wish()).unwrap();
    fs::create_dir(silas.repo().join("other")).unwrap();
    let repo = silas.repo();
    line.say(&format!("run `echo new > other/new.txt` in `{}` and check with `test -s other/new.txt`", repo.display()))
        .unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.wait(|line| line.work.len() == 2 && line.work.values().all(|work| work["running"] == false)).unwrap();
    let ask = |line: &mut Line| {
        line.send(&json!({ "type": "way_back", "execution": first["execution"] })).unwrap();
        loop {
            let answer = line.next().unwrap();
            match answer["type"].as_str() {
                Some("asked") => return Some(answer["card"].clone()),
                Some("error") => return None,
                _ => {}
            }
        }
    };
    // The offers to undo go when their time is over; until then the answer is that one tap undoes it.
    line.wait(|line| !line.cards.iter().any(|card| card.face.kind == CardKind::Done)).unwrap();
    let card = loop {
        if let Some(card) = ask(&mut line) {
            break card;
        }
    };
    assert_eq!(ask(&mut line).unwrap()["id"], card["id"], "asked for twice it is the same card");
    let plan = line.approve(CardKind::Plan).unwrap();
    assert_eq!(json!(plan.id), card["id"]);
    line.wait(|line| line.work.len() == 3 && line.work.values().all(|work| work["running"] == false)).unwrap();
    let mut expected = original;
    expected.insert("other/new.txt".into(), b"new\n".to_vec());
    assert_eq!(silas.tree(), expected, "the first change is back, and the later one stays");
    silas.assert_ledger_holds();
}

/// A plan as a person writes it, given to Silas as a file or pasted into the page.
#[test]
fn a_plan_file_is_submitted_approved_and_proved() {
    let silas = Silas::start();
    let repo = silas.repo();
    let plan = format!(
        "---\nid: task-greet\ntitle: Say hello\ntype: task\nsteps:\n  - python: |\n      open('hello.txt', 'w').write('hello')\nverify:\n  \
         - name: it greets\n    run: cat hello.txt\n    expect: {{ equals: hello }}\nsandbox:\n  directories:\n    \
         - {{ path: {}, access: write }}\n---\nGreet whoever comes.\n",
        repo.display()
    );
    let file = silas.outside().join("greet.md");
    fs::write(&file, &plan).unwrap();
    let (code, text) = silas.command(&["plan", "submit", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("may plans work in"), "{text}");
    let mut line = silas.line();
    let card = allow_all(&mut line);
    assert_eq!(
        (card.face.intent.as_str(), card.face.asked.as_deref()),
        ("Run 1 command in repo", Some("Greet whoever comes."))
    );
    line.approve(CardKind::Plan).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    assert_eq!(fs::read_to_string(repo.join("hello.txt")).unwrap(), "hello");

    // Twice is two plans; a bad one is refused with its place, and a very long one before anything is sent.
    let reply = line.ask(&plan.replace("title: Say hello", "titel: Say hello"));
    assert!(reply.contains("The plan cannot be read. line 3") && reply.contains("nothing was planned"), "{reply}");
    assert!(line.ask(&plan).contains("is in Review"));
    fs::write(&file, plan + &"x".repeat(40_000)).unwrap();
    let (code, text) = silas.command(&["plan", "submit", file.to_str().unwrap()]);
    assert!(code != 0 && text.contains("at most 32,768 bytes"), "{text}");
    silas.assert_ledger_holds();
}
