//! Plans over several directories, and owners who go on working while a plan runs.

use crate::harness::{FIX, Line, Place, TestSilas, counted};
use serde_json::json;
use silas_core::card::{Card, CardKind, CardState};
use silas_core::token::Verdict;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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

fn beside(silas: &Place, name: &str) -> PathBuf {
    let dir = silas.outside().join(name);
    fs::create_dir(&dir).unwrap();
    dir
}

#[test]
fn several_directories_are_changed_and_put_back_together() {
    let silas = TestSilas::start();
    let original = silas.tree();
    let (library, notes) = (beside(&silas, "library"), beside(&silas, "notes"));
    fs::write(library.join("book.txt"), "old\n").unwrap();
    fs::write(notes.join("note.txt"), "noted\n").unwrap();
    let mut line = silas.line();
    let (repo, book) = (silas.repo(), library.join("book.txt"));
    let run = format!("cp {0}/note.txt src/a.txt; cp {0}/note.txt {1}", notes.display(), book.display());
    let check = format!("grep noted src/a.txt {}", book.display());
    let reads = format!("\n    - {{ path: {}, access: read }}\n---\n", notes.display());
    let wish = silas.planned_with(&run, &["src/a.txt", book.to_str().unwrap()], &check, &[&repo, &library], "");
    line.say(&wish.replacen("\n---\n", &reads, 1)).unwrap();
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
fn saved_during_the_checks(saved: &str) -> (TestSilas, Line, Option<Card>) {
    let silas = TestSilas::start();
    let gate = beside(&silas, "gate");
    // What is in a file that is there is seen at once; a file that comes later need not be.
    fs::write(gate.join("go"), "no").unwrap();
    let mut line = silas.line();
    line.say(&format!(
        "run `{FIX}` in `{}` reading `{1}` and check with `sh check.sh && {{ while ! grep -q yes {1}/go; do sleep 0.02; done; ! test -e veto; }}`",
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
    fs::write(gate.join("go"), "yes").unwrap();
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
    assert_eq!(
        (card.face.kind, card.face.intent.as_str()),
        (CardKind::Conflict, "The same file was changed meanwhile")
    );
    assert_eq!(fs::read_to_string(silas.repo().join("src/a.txt")).unwrap(), "old a\n");
    assert_eq!(fs::read_to_string(silas.repo().join("src/b.txt")).unwrap(), "mine\n");
}

fn git(silas: &Place, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.arg("-C").arg(silas.repo()).args(["-c", "user.name=Owner", "-c", "user.email=owner@localhost"]);
    let output = command.args(arguments).env("GIT_OPTIONAL_LOCKS", "0").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_a_plan_commits_arrives_and_goes_with_its_files() {
    let silas = TestSilas::start();
    git(&silas, &["init", "-q", "-b", "main"]);
    git(&silas, &["add", "-A"]);
    git(&silas, &["commit", "-qm", "first"]);
    let mut line = silas.line();
    line.say(&format!(
        "run `{FIX} && git add -A && git commit -qm fixed` in `{}` with commits and check with `sh check.sh`",
        silas.repo().display()
    ))
    .unwrap();
    let plan = allow_all(&mut line);
    let limits = plan.face.details.iter().find(|detail| detail.title == "Limits").unwrap();
    assert!(limits.lines.iter().any(|line| line.starts_with("Commits in a private clone")), "{limits:?}");
    line.approve(CardKind::Plan).unwrap();
    let work = line.ended().unwrap();
    assert_eq!(work["outcome"], "proved", "{work}");
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
    let silas = TestSilas::start_with(&[("SILAS__UNDO__WINDOW_SECONDS", "1")]);
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
    let silas = TestSilas::start_with(&[("SILAS__UNDO__WINDOW_SECONDS", "3600")]);
    let mut line = silas.line();
    let original = silas.tree();
    let work = line.run(&silas.wish()).unwrap();
    let asked = json!({ "type": "way_back", "execution": work["execution"] });
    line.send(&asked).unwrap();
    assert_eq!(line.wait_for("asked").unwrap()["card"]["face"]["kind"], "done", "it can be undone with one tap");

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
    let silas = TestSilas::start_with(&[("SILAS__UNDO__WINDOW_SECONDS", "1")]);
    let original = silas.tree();
    let mut line = silas.line();
    let first = line.run(&silas.wish()).unwrap();
    fs::create_dir(silas.repo().join("other")).unwrap();
    line.say(&silas.planned("echo new > other/new.txt", &["other/new.txt"], "test -s other/new.txt")).unwrap();
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
    let silas = TestSilas::start();
    let repo = silas.repo();
    let plan = format!(
        "---\nid: task-greet\ntitle: Say hello\ntype: task\nsteps:\n  - python: |\n      open('hello.txt', 'w').write('hello')\nexits: {{ paths: \
         [hello.txt] }}\nverify:\n  - name: it greets\n    run: \"{}\"\n    expect: {{ exit_code: 0 }}\nsandbox:\n  directories:\n    \
         - {{ path: {}, access: write }}\n---\nGreet whoever comes.\n",
        counted("grep -qx hello hello.txt"),
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

#[test]
fn what_is_too_large_is_told_before_anybody_is_asked() {
    let env = [("SILAS__SANDBOX__LAYERED_COPIES", "false"), ("SILAS__SANDBOX__COPY_MB_MAX", "16")];
    let silas = TestSilas::start_with(&env);
    fs::File::create(silas.repo().join("disk.img")).unwrap().set_len(32 << 20).unwrap();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    loop {
        let message = line.next().unwrap();
        if message["entry"]["text"].as_str().is_some_and(|text| text.contains("`sandbox.copy_mb_max`")) {
            break;
        }
    }
    let asks = |card: &Card| matches!(card.face.kind, CardKind::Plan | CardKind::Rehearsed) && card.offer.is_some();
    assert!(!line.cards.iter().any(asks), "{:?}", line.cards);
    // Where nothing is copied it is no reason.
    let silas = TestSilas::start_with(&env[1..]);
    fs::File::create(silas.repo().join("disk.img")).unwrap().set_len(32 << 20).unwrap();
    line = silas.line();
    assert!(!line.run(&silas.wish()).unwrap()["outcome"].is_null());
}

#[test]
fn what_git_ignores_is_left_out_and_said() {
    let silas = TestSilas::start_asking();
    fs::write(silas.repo().join(".gitignore"), "built/\n").unwrap();
    let mut line = silas.line();
    let repo = silas.repo();
    line.say(&format!(
        "run `sh fix.sh; mkdir built; echo x > built/a; echo x > built/b` in `{}` and check with `sh check.sh`",
        repo.display()
    ))
    .unwrap();
    allow_all(&mut line);
    line.approve(CardKind::Plan).unwrap();
    line.ended().unwrap();
    let result = |card: &&Card| matches!(card.face.kind, CardKind::Done | CardKind::Rehearsed);
    line.wait(|line| line.cards.iter().any(|card| result(&card))).unwrap();
    let card = line.cards.iter().find(result).unwrap();
    let said: Vec<&String> = card.face.details.iter().flat_map(|detail| &detail.lines).collect();
    assert!(
        said.iter().any(|line| line.contains("2 ignored files were left out") && line.contains("built")),
        "{said:?}"
    );
    assert!(!repo.join("built").exists());
}

/// The next thing that is said with these words in it.
fn hear(line: &mut Line, words: &str) -> String {
    loop {
        let message = line.next().unwrap();
        if let Some(text) = message["entry"]["text"].as_str().filter(|text| text.contains(words)) {
            return text.to_owned();
        }
    }
}

/// A hard link that leads out of the directory: known before anybody works, so it is said before.
#[test]
fn a_file_with_another_name_elsewhere_is_refused_before_the_work_that_is_about_it() {
    let silas = TestSilas::start();
    fs::hard_link(silas.repo().join("src/a.txt"), silas.outside().join("the same")).unwrap();
    let mut line = silas.line();
    let about = silas.planned("echo new > src/a.txt", &["src/a.txt"], "grep -q new src/a.txt");
    line.say(&about).unwrap();
    line.approve(CardKind::Root).unwrap();
    let said = hear(&mut line, "src/a.txt has another name");
    assert!(said.contains("a hard link") && said.contains("nothing was planned"), "{said}");
    assert!(said.contains("Make it a file of its own first") && !said.contains("emove it"), "{said}");
    assert!(!line.cards.iter().any(|card| matches!(card.face.kind, CardKind::Plan | CardKind::Rehearsed)));
    // So is a command that the owner typed; one that only looks at it is not.
    let run = |run: &str| format!("run `{run}` in `{}` and check with `sh check.sh`", silas.repo().display());
    line.say(&run("sh -c 'sed -i s/a/b/ $0' src/a.txt")).unwrap();
    hear(&mut line, "src/a.txt has another name");
    assert!(!line.cards.iter().any(|card| matches!(card.face.kind, CardKind::Plan | CardKind::Rehearsed)));
    line.say(&run("cp src/a.txt src/c.txt")).unwrap();
    hear(&mut line, "hard links");
    // The same holds for what cannot be kept of a file in another way.
    fs::set_permissions(silas.repo().join("src/b.txt"), fs::Permissions::from_mode(0o4755)).unwrap();
    line.say(&silas.planned("echo new > src/b.txt", &["src/b.txt"], "grep -q new src/b.txt")).unwrap();
    let said = hear(&mut line, "src/b.txt is a program that runs as somebody else");
    assert!(said.contains("Change it yourself") && said.contains("nothing was planned"), "{said}");
    line.say(&run("echo new >> src/b.txt")).unwrap();
    hear(&mut line, "src/b.txt is a program that runs as somebody else");
    fs::set_permissions(silas.repo().join("src/b.txt"), fs::Permissions::from_mode(0o644)).unwrap();
    // Where nobody says which files change, it is said which cannot.
    line.say(&run("sh fix.sh")).unwrap();
    let said = hear(&mut line, "hard links");
    assert!(said.contains("1 file there with another name elsewhere") && said.contains("src/a.txt"), "{said}");
    let about = silas.planned("echo new > src/b.txt", &["src/b.txt"], "grep -q new src/b.txt");
    line.say(&about).unwrap();
    hear(&mut line, "hard links");
}

/// A command may name such a file and only read it, and of many nobody can say what they do. Then it is said what cannot be
/// changed, and what the command really did decides.
#[test]
fn a_command_that_leaves_a_hard_link_alone_is_work_like_any_other() {
    let silas = TestSilas::start_asking();
    let (repo, elsewhere) = (silas.repo(), silas.outside().join("the same"));
    fs::hard_link(repo.join("src/a.txt"), &elsewhere).unwrap();
    let mut line = silas.line();
    let run = |run: &str, made: &str| format!("run `{run}` in `{}` and check with `test -e {made}`", repo.display());
    line.say(&run("sort src/a.txt > sorted.txt", "sorted.txt")).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Plan).unwrap();
    line.ended().unwrap();
    line.approve(CardKind::Rehearsed).unwrap();
    line.card(CardKind::Done).unwrap();
    assert_eq!(fs::read_to_string(repo.join("sorted.txt")).unwrap(), "old a\n");
    line.say(&run("sh fix.sh src/a.txt", "more/c.txt")).unwrap();
    hear(&mut line, "cannot be changed: src/a.txt");
    line.approve(CardKind::Plan).unwrap();
    let report = line.card(CardKind::Report).unwrap();
    let why = "src/a.txt is one of several names of one file (a hard link)";
    assert!(report.face.details[0].lines[0].starts_with(why), "{:?}", report.face.details);
    assert_eq!(fs::read_to_string(repo.join("src/a.txt")).unwrap(), "old a\n");
    assert_eq!(fs::metadata(&elsewhere).unwrap().ino(), fs::metadata(repo.join("src/a.txt")).unwrap().ino());
}

/// What was applied last is taken back, whatever was put away; and a card that was put away takes no time from its work.
#[test]
fn undo_takes_back_what_was_applied_last_also_if_its_card_was_put_away() {
    let silas = TestSilas::start_with(&[("SILAS__UNDO__WINDOW_SECONDS", "3600")]);
    let mut line = silas.line();
    for (n, name) in ["first.txt", "second.txt"].into_iter().enumerate() {
        line.say(&silas.planned(&format!("echo hi > {name}"), &[name], &format!("test -e {name}"))).unwrap();
        if n == 0 {
            line.approve(CardKind::Root).unwrap();
        }
        line.approve(CardKind::Plan).unwrap();
        line.wait(|line| line.work.len() == n + 1 && line.work.values().all(|work| work["running"] == false)).unwrap();
    }
    let there = || ["first.txt", "second.txt"].map(|name| silas.repo().join(name).exists());
    assert_eq!(there(), [true, true]);
    for left in [[true, false], [false, false]] {
        let newest = line.cards.iter().filter(|card| card.face.kind == CardKind::Done);
        let newest = newest.max_by_key(|card| card.created_at).unwrap().clone();
        line.send(&json!({ "type": "dismiss", "request_id": newest.id })).unwrap();
        line.wait(|line| line.cards.iter().all(|card| card.id != newest.id)).unwrap();
        let (code, text) = silas.command(&["undo"]);
        assert_eq!((code, there()), (0, left), "{text}");
    }
    let (code, text) = silas.command(&["undo"]);
    assert!(code == 1 && text.contains("no undo window is open"), "{text}");
    silas.assert_ledger_holds();
}
