//! A proof leaves its machine: written by one Silas, checked where there is none, refused wherever a byte of it is not what
//! was written. And the commands that look at work.

use crate::harness::{ASKING, Place, TestSilas};
use serde_json::{Value, json};
use silas_core::card::CardKind;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CALC: &str = "def add(a, b):\n    return a - b\n";
const TEST: &str = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n";
const PATCH: &str =
    "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n";

fn with_a_bug() -> TestSilas {
    let silas = TestSilas::start_asking();
    fs::create_dir_all(silas.repo().join("tests")).unwrap();
    fs::write(silas.repo().join("calc.py"), CALC).unwrap();
    fs::write(silas.repo().join("tests/test_calc.py"), TEST).unwrap();
    fs::write(silas.repo().join("fix.patch"), PATCH).unwrap();
    silas
}

/// Another machine: another home, no data, no configuration.
struct Elsewhere {
    dir: tempfile::TempDir,
}

impl Elsewhere {
    fn new() -> Self {
        Elsewhere { dir: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn silas(&self, args: &[&str]) -> (i32, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_silas"))
            .args(args)
            .current_dir(self.dir.path())
            .env_clear()
            .env("HOME", self.dir.path())
            .output()
            .unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), text)
    }

    fn verify(&self, text: &str, more: &[&str]) -> (i32, String) {
        fs::write(self.file("proof.json"), text).unwrap();
        self.silas(&[&["verify", "proof.json"], more].concat())
    }
}

fn json_of(said: (i32, String)) -> Value {
    assert_eq!(said.0, 0, "{}", said.1);
    serde_json::from_str(&said.1).unwrap_or_else(|e| panic!("{e}: {}", said.1))
}

#[test]
fn the_golden_bug_fix_is_proved_on_another_machine_and_then_undone() {
    let silas = with_a_bug();
    silas.pair();
    let original = silas.tree();
    let mut line = silas.line();
    let dir = silas.repo().display().to_string();
    let wish = format!("run `patch -p1 -i fix.patch` in `{dir}` and check with `/usr/bin/python3 -m pytest -q tests`");
    let done = line.run(&wish).unwrap();
    assert_eq!(done["outcome"], "proved", "is pytest installed for /usr/bin/python3? {done}");
    line.card(CardKind::Done).unwrap();

    let elsewhere = Elsewhere::new();
    let file = elsewhere.file("written.json");
    let (code, text) = silas.command(&["work", "proof", "--out", file.to_str().unwrap()]);
    assert!(code == 0 && text.contains("silas verify FILE --key"), "{text}");
    let (code, text) = silas.command(&["work", "proof", &silas.called("work")[0], "--out", file.to_str().unwrap()]);
    assert!(code == 1 && text.contains("is there already. Name a file that is not there yet."), "{text}");
    let nowhere = elsewhere.file("nope");
    let (code, text) = silas.command(&["work", "proof", "--out", nowhere.join("x.json").to_str().unwrap()]);
    let missing = format!("there is no directory {}.", nowhere.display());
    assert!(code == 1 && text.contains(&missing) && !text.contains("not there yet"), "{text}");
    let written = fs::read_to_string(&file).unwrap();
    let (code, root) = silas.command(&["key", "root"]);
    assert_eq!(code, 0, "{root}");
    let root = root.trim();
    assert!(silas.command(&["status"]).1.contains(root));

    let (code, text) = elsewhere.verify(&written, &["--key", root]);
    assert_eq!(code, 0, "{text}");
    for said in [
        "VERIFIED. Proved: red before, green after",
        "The owner approved exactly this plan: Signed on",
        "Checks ran on the untouched copy: 1 check of the owner's: 1 red",
        "pytest: 1 test passed. They used the tests and scripts from before the work.",
        "✗ fail → ✓ pass",
        "calc.py (+1 −1)",
        "Faked test results would go unnoticed.",
        "the work may have been undone since",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(!text.contains("was taken from the file itself"), "{text}");
    let (code, text) = elsewhere.verify(&written, &[]);
    assert!(code == 5 && text.starts_with("CONSISTENT, NOT VERIFIED. ") && text.contains(root), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("VERIFIED")) && text.contains("--key ROOTKEY"), "{text}");
    let (code, text) = elsewhere.verify(&written, &["--json"]);
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &told["verified"], &told["consistent"]), (5, &json!(false), &json!(true)));
    assert!(!elsewhere.file(".local").exists() && !elsewhere.file(".config").exists());

    // The badge opens the same facts.
    let verified = json_of(elsewhere.verify(&written, &["--json", "--key", root]));
    assert_eq!(verified["verified"], true);
    let shown = json_of(silas.command(&["work", "show", "--json"]));
    for fact in ["claim", "caveats", "before", "after", "diffs", "outcome", "title", "execution"] {
        assert_eq!(verified[fact], shown["proof"][fact], "{fact}");
    }
    assert_eq!(shown["proof"]["no_bundle"], Value::Null);
    let n_steps = |told: &Value| told.as_array().unwrap().len();
    assert_eq!(n_steps(&verified["steps"]), n_steps(&shown["proof"]["steps"]));
    // Asked again, it is the same file.
    let again = elsewhere.file("again.json");
    assert_eq!(silas.command(&["work", "proof", "--out", again.to_str().unwrap()]).0, 0);
    assert_eq!(fs::read_to_string(&again).unwrap(), written);

    tampered_copies_are_refused(&elsewhere, &written, root);

    let (code, text) = silas.command(&["work", "undo", &silas.called("work")[0]]);
    assert!(code == 0 && text.contains("Put 1 file back"), "{text}");
    assert_eq!(silas.tree(), original);
    // What was proved stays proved, and a new file says that it was taken back.
    assert_eq!(elsewhere.verify(&written, &["--key", root]).0, 0);
    let undone = elsewhere.file("undone.json");
    assert_eq!(silas.command(&["work", "proof", &silas.called("work")[0], "--out", undone.to_str().unwrap()]).0, 0);
    let (code, text) = elsewhere.verify(&fs::read_to_string(&undone).unwrap(), &["--key", root]);
    assert!(code == 0 && text.contains("It was undone"), "{text}");
    silas.assert_ledger_holds();
}

fn tampered_copies_are_refused(elsewhere: &Elsewhere, written: &str, root: &str) {
    for (from, to, why) in [
        ("return a + b", "return a * b", "has a text that was altered"),
        ("1 test passed", "9 test passed", "has a text that was altered"),
        ("\"verdict\":\"approved\"", "\"verdict\":\"declined\"", "signature does not fit"),
        ("patch -p1 -i fix.patch", "patch -p1 -i bad.patch", "not what was approved"),
        ("\"name\":\"", "\"name\":\"x", "not signed by this installation's root key"),
        ("\"executions_used\":1", "\"executions_used\":2", "the database counts 2"),
        ("\"claim\":\"checkpoint\"", "\"claim\":\"verified_prefix\"", "checkpoint was not signed"),
        ("\"purpose\":\"ledger\"", "\"purpose\":\"browser\"", "cannot be read as a proof"),
        ("\"format\":", " \"format\":", "not spelled as Silas spells it"),
        ("work_applied", "work_applies", "was altered"),
    ] {
        assert!(written.contains(from), "{from}");
        let (code, text) = elsewhere.verify(&written.replacen(from, to, 1), &["--key", root]);
        assert!(code == 1 && text.contains("NOT VERIFIED") && text.contains(why), "{from}: {code} {text}");
    }
    let (code, text) = elsewhere.verify(&written[..written.len() / 2], &[]);
    assert!(code == 2 && text.contains("cannot be read as a proof: it ends in the middle"), "{text}");
    let other = String::from(silas_core::signature::PublicKey::from_bytes([9; 32]));
    let (code, text) = elsewhere.verify(written, &["--key", &other]);
    for said in [
        "NOT VERIFIED. The key that you gave is another one than the bundle's.",
        &format!("stands on root key {root}, and you gave {other}."),
        "it does not come from the Silas whose key you gave",
        "Run `silas key root` where the file should come from.",
    ] {
        assert!(code == 1 && text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("never true"), "the file may be sound: {text}");
    let (code, text) = elsewhere.verify(written, &["--key", "hello"]);
    assert!(code == 2 && text.contains("The key after --key is not"), "{text}");
    let (code, text) = elsewhere.verify("{\"some\":\"json\"}", &[]);
    assert!(code == 2 && text.contains("not a proof"), "{text}");
    let (code, text) = elsewhere.silas(&["verify", "nowhere.json"]);
    assert!(code == 2 && text.contains("cannot be read"), "{text}");
    let refused = elsewhere.verify(&written.replacen("a + b", "a * b", 1), &["--json"]);
    let refused: Value = serde_json::from_str(&refused.1).unwrap();
    assert!(refused["verified"] == false && refused["reason"].as_str().unwrap().contains("altered"), "{refused}");
}

/// Who reads a proof elsewhere is not its owner. What was declared before the work is a fact about the checks, and they did not
/// see it as it was.
#[test]
fn what_was_declared_is_told_to_anybody_as_the_owners_and_as_a_fact() {
    let silas = TestSilas::start();
    let done = work(&silas, &silas.wish());
    assert_eq!((&done["state"], &done["outcome"]), (&json!("applied"), &json!("proved")));
    let elsewhere = Elsewhere::new();
    let file = elsewhere.file("declared.json");
    assert_eq!(silas.command(&["work", "proof", "--out", file.to_str().unwrap()]).0, 0);
    let (written, root) = (fs::read_to_string(&file).unwrap(), silas.command(&["key", "root"]).1);
    let told = json_of(elsewhere.verify(&written, &["--json", "--key", root.trim()]));
    let lines = |field: &str| -> Vec<String> {
        told[field].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
    };
    let about = "By the owner's own words the work is about: ";
    assert!(lines("known").iter().any(|line| line.starts_with(about) && line.contains("src/a.txt")), "{told}");
    assert!(!lines("does_not_show").iter().any(|line| line.contains("the work is about")), "{told}");
    let seen = "as it was before the work, except what was declared before the work as what it may change. They saw as the \
                work left it: ";
    assert!(lines("shows").iter().any(|line| line.contains(seen) && line.contains("src/a.txt")), "{told}");
    let (code, text) = elsewhere.verify(&written, &["--key", root.trim()]);
    let known =
        text.split("\nKnown of the checks\n").nth(1).and_then(|rest| rest.split("\nThis does not show\n").next());
    assert!(code == 0 && known.is_some_and(|known| known.contains("own words the work is about")), "{text}");
    assert!(!text.contains("By your"), "{text}");
    // On the owner's own machine it is theirs.
    let shown = json_of(silas.command(&["work", "show", "--json"]));
    let caveats = shown["proof"]["caveats"].to_string();
    assert!(caveats.contains("By your own words the work is about: "), "{caveats}");
}

/// Runs one wish in the repository, whose directory is allowed by the first of them.
fn work(silas: &Place, wish: &str) -> Value {
    let before = json_of(silas.command(&["work", "list", "--json"]))["work"].as_array().unwrap().len();
    let (code, text) = silas.command(&["say", wish]);
    assert_eq!(code, 0, "{text}");
    if before == 0 {
        assert_eq!(silas.command(&["approve"]).0, 0);
        let mut line = silas.line();
        line.card(CardKind::Plan).unwrap();
    }
    silas.command(&["approve"]);
    let all = json_of(silas.command(&["work", "list", "--json"]));
    assert_eq!(all["work"].as_array().unwrap().len(), before + 1);
    all["work"][0].clone()
}

#[test]
fn work_is_listed_shown_and_taken_back_one_by_one() {
    let silas = TestSilas::start();
    let (code, text) = silas.command(&["work", "list"]);
    assert!(code == 0 && text.contains("No work yet"), "{text}");
    assert_eq!(silas.command(&["work", "show"]).0, 1);
    let original = silas.tree();
    let first = work(&silas, &silas.wish());
    assert_eq!((&first["state"], &first["outcome"], &first["files"]), (&json!("applied"), &json!("proved"), &json!(4)));
    let dir = silas.repo().display().to_string();
    let second = work(&silas, &silas.planned("echo hi > note.txt", &["note.txt"], "test -e note.txt"));
    let red = work(&silas, &format!("run `true` in `{dir}` and check with `test -e never.txt`"));
    assert_eq!((&red["state"], &red["outcome"], &red["undo_until"]), (&json!("ended"), &json!("failed"), &Value::Null));

    let names = silas.called("work");
    let (code, text) = silas.command(&["work", "list"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(code == 0 && lines.len() == 3, "{text}");
    assert!(
        lines[0].starts_with(&names[0]) && lines[0].contains("ended") && lines[0].contains("a check is red"),
        "{text}"
    );
    assert!(lines[1].contains("applied") && lines[1].contains("proved, can be undone until"), "{text}");

    let (code, text) = silas.command(&["work", "show", &names[1]]);
    assert!(
        code == 0
            && text.contains("Proved: red before, green after")
            && text.contains(&format!("work undo {}", names[1])),
        "{text}"
    );
    let (code, text) = silas.command(&["work", "show", &names[0]]);
    assert!(code == 0 && text.contains("Nothing was put in place"), "{text}");
    let none = silas.outside().join("none.json");
    let (code, text) = silas.command(&["work", "proof", &names[0], "--out", none.to_str().unwrap()]);
    assert!(code == 1 && text.contains("Nothing was put in place") && !none.exists(), "{text}");
    for (bad, exit, said) in [("0", 2, "places move"), ("1", 2, "places move"), ("exec-nobody", 2, "names no work")] {
        let (code, text) = silas.command(&["work", "show", bad]);
        assert!(code == exit && text.contains(said), "{text}");
    }
    let (code, text) = silas.command(&["work", "undo", &names[0]]);
    assert!(code == 1 && text.contains("nothing of it was put in place"), "{text}");

    // The older one first, by its id; the newer one stays.
    let undone = json_of(silas.command(&["work", "undo", first["execution"].as_str().unwrap(), "--json"]));
    assert_eq!(undone["undone"], true);
    assert!(silas.repo().join("note.txt").exists() && silas.repo().join("gone.txt").exists());
    let (code, text) = silas.command(&["work", "undo", &names[2]]);
    assert!(code == 1 && text.contains("undone already"), "{text}");
    let (code, text) = silas.command(&["work", "undo"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(silas.tree(), original);
    assert_eq!(silas.command(&["work", "undo"]).0, 1);
    let all = json_of(silas.command(&["work", "list", "--json"]));
    assert_eq!(all["work"][1]["execution"], second["execution"]);
    assert_eq!(all["work"][1]["state"], "undone");
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

/// Every file with its content; a directory that lost its last file is nobody's change.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let find = ["-type", "f", "-not", "-path", "./.silas-*"];
    let output = Command::new("find").arg(".").args(find).current_dir(dir).output().unwrap();
    let mut paths: Vec<PathBuf> = String::from_utf8(output.stdout).unwrap().lines().map(PathBuf::from).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(dir.join(path)).unwrap())).collect()
}

/// What `silas work diff` prints, applied to a copy of the original by patch(1) and by git, is what the work made.
#[test]
fn a_diff_can_be_applied_elsewhere_and_a_moved_file_is_shown_as_moved() {
    let silas = TestSilas::start();
    let song: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    fs::write(silas.repo().join("song.txt"), &song).unwrap();
    fs::write(silas.repo().join("same.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(silas.repo().join("open.txt"), "no end").unwrap();
    fs::create_dir_all(silas.repo().join("docs/deep")).unwrap();
    fs::write(silas.repo().join("docs/deep/a.md"), "one page\n").unwrap();
    fs::write(
        silas.repo().join("fix.sh"),
        "sed -i 's/line 3$/LINE 3/; s/line 30$/LINE 30/' song.txt; mkdir -p moved; mv song.txt moved/song.txt\n\
         mv same.txt moved/; printf 'no end, still' > open.txt; printf '#!/bin/sh\\n' > tool.sh; chmod +x tool.sh\n\
         rm gone.txt; echo new > src/a.txt; mv docs papers\n",
    )
    .unwrap();
    let wish = silas.planned("sh fix.sh", &["**"], "test -e moved/song.txt");
    let original = silas.outside().join("original");
    copy(&silas.repo(), &original);
    let done = work(&silas, &wish);
    assert_eq!(done["state"], "applied", "{done}");
    let (code, patch) = silas.command(&["work", "diff"]);
    assert_eq!(code, 0, "{patch}");
    assert!(patch.contains("rename from song.txt\nrename to moved/song.txt\n"), "{patch}");
    assert!(patch.contains("rename from same.txt\nrename to moved/same.txt\n"), "{patch}");
    assert!(patch.contains("rename from docs/deep/a.md\nrename to papers/deep/a.md\n"), "{patch}");
    let file = silas.outside().join("work.patch");
    fs::write(&file, &patch).unwrap();
    for (name, program) in [("by-patch", vec!["patch", "-p1", "-s", "-i"]), ("by-git", vec!["git", "apply"])] {
        let copied = silas.outside().join(name);
        copy(&original, &copied);
        let output = Command::new(program[0]).args(&program[1..]).arg(&file).current_dir(&copied).output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}\n{patch}");
        assert_eq!(files(&copied), files(&silas.repo()), "{name}");
    }
    let told = json_of(silas.command(&["work", "diff", "--json"]));
    assert_eq!(told["left_out"], json!([]));
    let page = json_of(silas.command(&["work", "show", "--json"]))["proof"]["patch"].clone();
    assert_eq!(page, json!({ "text": patch, "left_out": [], "n_hidden": 0 }), "what the page saves is what is printed");
    let moved = told["diffs"].as_array().unwrap().iter().find(|diff| diff["path"] == "moved/song.txt").unwrap();
    assert_eq!(
        (&moved["renamed_from"], &moved["added"], &moved["removed"]),
        (&json!("song.txt"), &json!(2), &json!(2))
    );

    // What is not shown whole is named and left out.
    fs::write(silas.repo().join("fix.sh"), "head -c 9 /dev/urandom | tr -d 'a-z' > b.bin; printf '\\0' >> b.bin\n")
        .unwrap();
    work(&silas, &silas.planned("sh fix.sh", &["b.bin"], "test -e b.bin"));
    let (code, text) = silas.command(&["work", "diff"]);
    assert!(code == 4 && text.contains("not shown whole: b.bin"), "{code} {text}");
}

/// What was forgotten cannot be shown to anybody, and the ledger holds without it.
#[test]
fn what_was_forgotten_cannot_be_proved_any_more() {
    let silas = TestSilas::start_with(&[ASKING, ("SILAS__UNDO__WINDOW_SECONDS", "1")]);
    silas.pair();
    work(&silas, &silas.wish());
    let listed = || silas.command(&["audit", "list", "--last", "100"]).1;
    // While it can be taken back it is needed.
    while !listed().contains("undo_window_closed") {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let entries = listed();
    let applied = entries.lines().find(|line| line.contains("work_applied")).unwrap();
    let (code, text) = silas.command(&["audit", "forget", applied.split_whitespace().next().unwrap(), "--yes"]);
    assert_eq!(code, 0, "{text}");
    let file = silas.outside().join("p.json");
    let (code, text) = silas.command(&["work", "proof", "--out", file.to_str().unwrap()]);
    assert!(code == 1 && text.contains("no such work") && !file.exists(), "{text}");
    silas.assert_ledger_holds();
}
