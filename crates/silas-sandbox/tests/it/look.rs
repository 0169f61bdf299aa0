//! Looking without an approval: only below a directory whose decision holds, and never through a link.

use crate::runner::Case;
use crate::world::{World, allow};
use silas_core::evidence::Allowance;
use silas_core::roots::Access;
use silas_core::work::Directory;
use silas_sandbox::{Error, History, Launcher, Look, Looked};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

pub(crate) const CASES: &[Case] = &[
    ("only_what_lies_in_an_allowed_directory_is_seen", only_what_lies_in_an_allowed_directory_is_seen),
    ("files_are_found_by_name_and_lines_by_what_they_say", files_are_found_by_name_and_lines_by_what_they_say),
    (
        "what_is_long_binary_or_oddly_named_is_bounded_and_right",
        what_is_long_binary_or_oddly_named_is_bounded_and_right,
    ),
    ("git_tells_and_runs_nothing_of_the_repository_s", git_tells_and_runs_nothing_of_the_repository_s),
    ("only_a_whole_repository_in_sight_is_asked", only_a_whole_repository_in_sight_is_asked),
];

const FILE: Look = Look::File { from_line: 1, lines: 10 };

fn only_what_lies_in_an_allowed_directory_is_seen() {
    let world = World::new();
    let launcher = world.launcher();
    let project = world.project.display().to_string();
    fs::create_dir_all(world.project.join("deep/er")).unwrap();
    fs::write(world.project.join("deep/er/note"), "one\ntwo\nthree\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.project.join("leak")).unwrap();
    std::os::unix::fs::symlink("/etc", world.project.join("way")).unwrap();
    let directory = directory(&world);
    let allowance = allow(&directory);
    let see = |path: &str, look| launcher.look(&allowance, path, look);

    let two = Look::File { from_line: 2, lines: 1 };
    assert_eq!(see(&format!("{project}/deep/er/note"), two).unwrap().text, "two\n");
    let names = see(&project, Look::Names { depth: 3 }).unwrap().text;
    assert!(names.contains("deep/er/note") && names.contains(" leak") && !names.contains("passwd"), "{names}");

    for elsewhere in ["/etc/passwd", &format!("{project}/../x"), &format!("{project}x/y")] {
        for look in [FILE, lines_with("."), Look::Matching { names: "*".to_owned() }, log()] {
            assert!(see(elsewhere, look.clone()).is_err(), "{elsewhere} {look:?}");
        }
    }
    for link in ["leak", "way/passwd", "deep", ""] {
        assert!(see(&format!("{project}/{link}"), FILE).is_err(), "{link}");
    }
    for look in [Look::Names { depth: 1 }, lines_with("root"), Look::Matching { names: "*".to_owned() }] {
        assert!(see(&format!("{project}/way"), look).is_err());
    }
    assert_eq!(see(&project, lines_with("root:")).unwrap().text, "");

    // A decision that says something else than it was signed for is none.
    let elsewhere = Directory { path: "/etc".to_owned(), ..directory };
    let forged = Allowance { payload: allow(&elsewhere).payload, ..allowance.clone() };
    assert!(matches!(launcher.look(&forged, "/etc/passwd", FILE), Err(Error::Refused(_))));
}

fn directory(world: &World) -> Directory {
    world.definition(&[], &[]).directories.into_iter().find(|d| d.access == Access::Write).unwrap()
}

fn lines_with(pattern: &str) -> Look {
    Look::Lines { of: pattern.to_owned(), names: None }
}

fn log() -> Look {
    Look::History(History::Log { at: None })
}

/// Everything below the project of a world, by the path there.
struct Eyes {
    launcher: Launcher,
    allowance: Allowance,
    project: String,
}

impl Eyes {
    fn of(world: &World) -> Eyes {
        let (launcher, project) = (world.launcher(), world.project.display().to_string());
        Eyes { launcher, allowance: allow(&directory(world)), project }
    }

    fn try_see(&self, path: &str, look: Look) -> Result<Looked, Error> {
        let path = format!("{}/{path}", self.project);
        self.launcher.look(&self.allowance, path.trim_end_matches('/'), look)
    }

    fn see(&self, path: &str, look: Look) -> String {
        self.try_see(path, look).unwrap().text
    }
}

fn files_are_found_by_name_and_lines_by_what_they_say() {
    let world = World::new();
    let eyes = Eyes::of(&world);
    put(&world, "src/one.rs", "fn first() {}\nfn second() {}\n");
    put(&world, "src/deep/two.rs", "// nothing\r\nlet first = 1;\r\n");
    put(&world, "src/deep/three.txt", "first\n");
    put(&world, "out/made.rs", "fn first() {}\n");
    put(&world, ".gitignore", "out/\n");

    let matching = |path: &str, names: &str| {
        let text = eyes.see(path, Look::Matching { names: names.to_owned() });
        text.lines().map(|line| line.trim_start().split_once(' ').unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(matching("", "*.rs"), ["src/deep/two.rs", "src/one.rs"]);
    assert_eq!(matching("src", "deep/t*"), ["deep/three.txt", "deep/two.rs"]);
    assert_eq!(matching("out", "*.rs"), ["made.rs"], "whoever names what is ignored wants to see it");

    let found = eyes.see("", lines_with(r"\bfirst\b"));
    assert_eq!(found, "src/deep/three.txt:1: first\nsrc/deep/two.rs:2: let first = 1;\nsrc/one.rs:1: fn first() {}");
    let some = Look::Lines { of: "^fn ".to_owned(), names: Some("*.rs".to_owned()) };
    assert_eq!(eyes.see("src", some), "one.rs:1: fn first() {}\none.rs:2: fn second() {}");
    assert_eq!(eyes.see("src/one.rs", lines_with("second")), "one.rs:2: fn second() {}");
    assert!(eyes.try_see("", lines_with("(")).unwrap_err().to_string().contains("no regular expression"));
    assert!(eyes.try_see("", lines_with("(a{1000}){1000}")).is_err(), "a pattern that takes too much");
}

fn what_is_long_binary_or_oddly_named_is_bounded_and_right() {
    let world = World::new();
    let eyes = Eyes::of(&world);
    let many: String = (1..=100_000).map(|n| format!("line {n}\n")).collect();
    put(&world, "many.txt", &many);
    put(&world, "wide.txt", &format!("{}needle{}\nend\n", "x".repeat(1 << 20), "y".repeat(1 << 20)));
    fs::write(world.project.join("program"), b"\x7fELF\0needle\n").unwrap();
    fs::write(world.project.join("a\nb \\c"), "needle\n").unwrap();
    let huge = fs::File::create(world.project.join("huge")).unwrap();
    huge.set_len(1 << 30).unwrap();

    let lines = |from_line, lines| Look::File { from_line, lines };
    let last = eyes.try_see("many.txt", lines(99_999, 50)).unwrap();
    assert_eq!((last.text.as_str(), last.is_cut), ("line 99999\nline 100000\n", false));
    let all = eyes.try_see("many.txt", lines(1, u64::MAX)).unwrap();
    assert!(all.is_cut && all.text.len() == 48 << 10 && all.text.starts_with("line 1\n"));
    assert_eq!(eyes.see("many.txt", lines(100_001, 9)), "");
    assert_eq!(eyes.see("wide.txt", lines(2, 1)), "end\n");
    let nothing = eyes.try_see("huge", lines(2, 1)).unwrap();
    assert!(nothing.text.len() <= 48 << 10);

    let found = eyes.try_see("", lines_with("needle")).unwrap();
    let [odd, wide] = found.text.lines().collect::<Vec<_>>()[..] else { panic!("{}", found.text) };
    assert_eq!(odd, r"a\x0ab \\c:1: needle");
    assert!(wide.starts_with("wide.txt:1: …x") && wide.contains("needle") && wide.chars().count() < 300, "{wide}");
    assert_eq!(found.passed_over.as_deref(), Some("Passed over: 1 that are no text, 1 that are larger than 16 MB."));
    // It is read by the name that it is listed by.
    assert_eq!(eyes.see(r"a\x0ab \\c", lines(1, 1)), "needle\n");
    let every = eyes.try_see("", lines_with("line")).unwrap();
    assert!(every.is_cut && every.text.lines().count() == 200, "{}", every.text.len());
}

fn git(at: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=Me", "-c", "user.email=me@home", "-c", "core.fsmonitor=false"];
    let mut git = Command::new("git");
    git.current_dir(at)
        .args(identity)
        .args(words)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{words:?} {}", String::from_utf8_lossy(&output.stderr));
}

/// Whatever a repository can name as a program is named, and leaves a trace when it runs.
fn arm(world: &World) -> std::path::PathBuf {
    let trace = world.project.join("ran");
    let program = world.project.join(".git/trap.sh");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", trace.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let trap = program.display();
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {trap}\n\tpager = {trap}\n\thooksPath = .git/hooks\n\
         \tsshCommand = {trap}\n\tattributesFile = .gitattributes\n[pager]\n\tlog = {trap}\n\tdiff = {trap}\n\tblame = {trap}\n\
         [diff]\n\texternal = {trap}\n[diff \"trap\"]\n\tcommand = {trap}\n\ttextconv = {trap}\n\
         [filter \"trap\"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n\trequired = true\n\
         [gpg]\n\tprogram = {trap}\n[log]\n\tshowSignature = true\n[alias]\n\tlog = !{trap}\n\tdiff = !{trap}\n"
    );
    fs::write(world.project.join(".git/config"), config).unwrap();
    for hook in ["post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout", "fsmonitor-watchman"] {
        let hook = world.project.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::copy(&program, hook).unwrap();
    }
    fs::write(world.project.join(".gitattributes"), "* diff=trap filter=trap\n").unwrap();
    trace
}

fn git_tells_and_runs_nothing_of_the_repository_s() {
    let world = World::new();
    let project = &world.project;
    put(&world, "tide.txt", "low\nhigh\n");
    git(project, &["init", "-q", "-b", "main"]);
    git(project, &["add", "tide.txt"]);
    git(project, &["commit", "-q", "-m", "Tides"]);
    put(&world, "tide.txt", "low\nhigher\n");
    git(project, &["commit", "-q", "-am", "Higher"]);
    put(&world, "tide.txt", "lower\nhigher\n");
    put(&world, "sub/new.txt", "x\n");
    let trace = arm(&world);
    let before = world.tree();

    let eyes = Eyes::of(&world);
    let ask = |path: &str, history: History| eyes.see(path, Look::History(history));
    let log = ask("", History::Log { at: None });
    assert!(log.lines().count() == 2 && log.contains("Me: Higher") && log.contains("Me: Tides"), "{log}");
    assert_eq!(ask("tide.txt", History::Log { at: Some("HEAD~1".to_owned()) }).lines().count(), 1);
    assert_eq!(ask("sub", History::Log { at: None }), "");
    let diff = ask("", History::Diff { between: None });
    assert!(diff.contains("-low\n") && diff.contains("+lower\n") && !diff.contains("-high\n"), "{diff}");
    let diff = ask("tide.txt", History::Diff { between: Some("HEAD~1..main".to_owned()) });
    assert!(diff.contains("-high\n+higher\n"), "{diff}");
    let show = ask("", History::Show { at: None });
    assert!(show.contains("Higher") && show.contains("+higher\n"), "{show}");
    let blame = ask("tide.txt", History::Blame { at: None, from_line: 1, lines: 5 });
    assert!(blame.contains("Not Committed Yet") && blame.contains("(Me "), "{blame}");
    let unknown = eyes.try_see("", Look::History(History::Log { at: Some("nowhere".to_owned()) })).unwrap_err();
    assert!(unknown.to_string().contains("nowhere"), "{unknown}");
    let option = History::Log { at: Some("--output=ran".to_owned()) };
    assert!(eyes.try_see("", Look::History(option)).is_err());

    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap_or_default());
    assert_eq!(world.tree(), before, "reading changes nothing");
    // The traps are real: git by itself falls into them.
    let plain = Command::new("git").current_dir(project).args(["diff"]).output().unwrap();
    assert!(trace.exists(), "{plain:?}");
}

fn only_a_whole_repository_in_sight_is_asked() {
    let world = World::new();
    let eyes = Eyes::of(&world);
    put(&world, "here/a", "a\n");
    let refused = |path: &str| eyes.try_see(path, log()).unwrap_err().to_string();
    assert!(refused("here").contains("no repository"), "{}", refused("here"));
    // One inside the allowed directory is found from below.
    git(&world.project.join("here"), &["init", "-q", "-b", "main"]);
    git(&world.project.join("here"), &["add", "a"]);
    git(&world.project.join("here"), &["commit", "-q", "-m", "Here"]);
    assert!(eyes.see("here/a", log()).contains("Here"));
    // One that says that it is elsewhere is not followed there.
    put(&world, "there/.git", "gitdir: ../here/.git\n");
    assert!(refused("there").contains("part of another"));
    fs::create_dir(world.project.join("linked")).unwrap();
    std::os::unix::fs::symlink("../here/.git", world.project.join("linked/.git")).unwrap();
    assert!(refused("linked").contains("part of another"));
    put(&world, "here/.git/objects/info/alternates", "/elsewhere\n");
    assert!(refused("here").contains("part of another"));
}

fn put(world: &World, path: &str, text: &str) {
    fs::create_dir_all(world.project.join(path).parent().unwrap()).unwrap();
    fs::write(world.project.join(path), text).unwrap();
}
