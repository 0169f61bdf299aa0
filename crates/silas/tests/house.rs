//! Tidy: which room knows which, and the few habits that every file keeps. Nothing here runs Silas.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::Value;
use silas_core::fail::FailPoint;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The arrows of the house: a room and the rooms that it may know, in its tests too.
fn may_know(room: &str) -> &'static [&'static str] {
    match room {
        "silas-core" => &[],
        "silas-store" | "silas-gates" | "silas-sandbox" | "silas-agents" => &["silas-core"],
        "silas-approval" => &["silas-store", "silas-core"],
        "silas-runtime" => {
            &["silas-approval", "silas-gates", "silas-sandbox", "silas-agents", "silas-store", "silas-core"]
        }
        "silas-web" => &["silas-runtime", "silas-core"],
        "silas" => &[
            "silas-web",
            "silas-runtime",
            "silas-approval",
            "silas-gates",
            "silas-sandbox",
            "silas-agents",
            "silas-store",
            "silas-core",
        ],
        stranger => panic!("{stranger} is not one of the nine rooms"),
    }
}

#[test]
fn rooms_know_only_the_rooms_they_may() {
    let packages = packages();
    assert_eq!(packages.len(), 9, "nine rooms");
    for package in &packages {
        let room = package["name"].as_str().unwrap();
        for known in package["dependencies"].as_array().unwrap() {
            let known = known["name"].as_str().unwrap();
            let is_room = known == "silas" || known.starts_with("silas-");
            assert!(!is_room || may_know(room).contains(&known), "{room} must not know {known}");
        }
    }
}

/// The rooms inside the runtime, each known to those after it only.
const ROOMS: [&str; 11] =
    ["house", "running", "hub", "trust", "minds", "questions", "work", "tasks", "conversation", "review", "stream"];

/// Which of them a file belongs to; `None` for words, views and records, which know no room.
fn room_of(file: &Path) -> Option<usize> {
    let module = file.strip_prefix(runtime()).unwrap().components().next().unwrap();
    ROOMS.iter().position(|room| module.as_os_str().to_str().unwrap().trim_end_matches(".rs") == *room)
}

fn runtime() -> PathBuf {
    root().join("crates/silas-runtime/src")
}

/// A room owns its files: whoever wants to know what a room does reads nothing else.
#[test]
fn no_room_of_the_runtime_is_written_by_another() {
    let written = regex::Regex::new(r"(?m)^impl(?:<[^>]*>)? (\w+)(?:<[^>]*>)? \{$").unwrap();
    let mut found = [false; ROOMS.len()];
    for file in files(&runtime(), &["rs"]) {
        for of in written.captures_iter(&read(&file)) {
            let Some(room) = ROOMS.iter().position(|room| of[1].to_lowercase() == *room) else { continue };
            assert_eq!(room_of(&file), Some(room), "{} writes methods of {}", file.display(), &of[1]);
            found[room] = true;
        }
    }
    assert_eq!(found, [true; ROOMS.len()], "each of {ROOMS:?} has a type of its name");
}

/// The catalogue of card kinds is the one thing of a room that those before it may ask: what a card says and how it is ordered
/// is known everywhere, what an answer does only to review, which hands itself in.
#[test]
fn rooms_of_the_runtime_know_only_those_before_them() {
    let known = regex::Regex::new(r"\bcrate::(?:\{([^}]*)\}|(\w+(?:::\w+)?))").unwrap();
    let mut n_known = 0;
    for file in files(&runtime(), &["rs"]).iter().filter(|file| !file.ends_with("src/lib.rs") && !is_test(file)) {
        let own = room_of(file);
        for named in known.captures_iter(&read(file)) {
            let names = named.get(1).or(named.get(2)).unwrap().as_str().split(',').map(str::trim);
            for name in names.filter(|name| *name != "review::kinds") {
                let first = name.split("::").next().unwrap();
                let Some(room) = ROOMS.iter().position(|room| *room == first) else { continue };
                assert!(own >= Some(room), "{} must not know {name}", file.display());
                n_known += 1;
            }
        }
    }
    assert!(n_known > 100, "the rooms were not found");
}

/// What a card says is in the ledger with it, and what must be stored beside it is; so everybody asks the same way.
#[test]
fn one_function_opens_a_card() {
    let product = sources().into_iter().filter(|path| !is_test(path));
    let callers: Vec<String> = product
        .filter(|path| read(path).contains("cards::insert("))
        .map(|path| path.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    assert_eq!(callers, ["crates/silas-runtime/src/question.rs"]);
    assert_eq!(read(&runtime().join("question.rs")).matches("cards::insert(").count(), 1);
}

/// A setting is read where its room's options are made, and by the commands that are about it; whoever else wants to know it is
/// handed it.
#[test]
fn settings_are_read_in_their_rooms() {
    let readers: [(&str, &[&str]); 13] = [
        ("web", &["certificates.rs", "doctor/page.rs", "start.rs", "tls_commands.rs", "wire.rs"]),
        ("tls", &["certificates.rs", "tls_commands.rs"]),
        ("approval", &["wire.rs"]),
        ("undo", &["start.rs", "wire.rs"]),
        ("sandbox", &["start.rs", "wire.rs"]),
        ("keys", &["start.rs"]),
        ("models", &["eval/choice.rs", "eval/purse.rs", "wire.rs"]),
        ("search", &["wire.rs"]),
        ("limits", &["start.rs", "wire.rs"]),
        ("backpressure", &["wire.rs"]),
        ("nonce_store", &["wire.rs"]),
        ("retention", &["wire.rs"]),
        ("log", &["start.rs"]),
    ];
    let binary = root().join("crates/silas/src");
    let product: Vec<PathBuf> = files(&binary, &["rs"]).into_iter().filter(|path| !is_test(path)).collect();
    for (group, expected) in readers {
        let reading = regex::Regex::new(&format!(r"\bconfig\.{group}\b")).unwrap();
        let found = product.iter().filter(|path| reading.is_match(&read(path)));
        let mut found: Vec<&str> = found.map(|path| path.strip_prefix(&binary).unwrap().to_str().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "who reads the settings under {group}");
    }
}

/// The environment and the command line are for the binary alone, and what a secret is has two readers: the door of a workshop
/// and the one who asks a model.
#[test]
fn credentials_are_read_in_their_rooms() {
    let product: Vec<PathBuf> = sources().into_iter().filter(|path| !is_test(path)).collect();
    let binary = root().join("crates/silas/src");
    // What the tests of the sandbox leave out they name in a variable; see above.
    let omission = root().join("crates/silas-sandbox/src/layers/omission.rs");
    for path in product.iter().filter(|path| !path.starts_with(&binary) && **path != omission) {
        let text = read(path);
        for reading in ["env::var", "env::args"] {
            assert!(!text.contains(reading), "{}: {reading}", path.display());
        }
    }
    let vault = root().join("crates/silas-approval/src");
    let readers = product.iter().filter(|path| !path.starts_with(&vault) && read(path).contains("Found::Value("));
    let mut readers: Vec<PathBuf> = readers.map(|path| path.strip_prefix(root()).unwrap().to_path_buf()).collect();
    readers.sort_unstable();
    assert_eq!(readers, ["crates/silas/src/wire.rs", "crates/silas-runtime/src/work/reach.rs"].map(PathBuf::from));
}

#[test]
fn no_behaviour_hides_behind_a_feature() {
    for package in packages() {
        assert_eq!(package["features"].as_object().unwrap().len(), 0, "{} has Cargo features", package["name"]);
    }
}

/// The tests of the sandbox leave out layers of isolation to show that each is needed. Nothing else can: outside of that
/// room's own unit tests the question is answered by a constant, and the room reads no environment and no settings.
#[test]
fn no_layer_of_the_sandbox_can_be_left_out() {
    let room = root().join("crates/silas-sandbox/src");
    let layers = read(&room.join("layers.rs"));
    assert!(layers.contains("#[cfg(not(test))]\npub(crate) const fn in_force(_: Layer) -> bool {\n    true\n}"));
    let for_tests = |text: &str, item: &str| text.contains(&format!("#[cfg(test)]\n{item}"));
    assert!(for_tests(&layers, "pub(crate) mod omission;") && for_tests(&layers, "pub(crate) use omission::in_force;"));
    let tests = room.join("layers");
    for path in files(&room, &["rs"]).into_iter().filter(|path| !path.starts_with(&tests) && !is_test(path)) {
        let text = read(&path);
        for line in text.lines().filter(|line| line.contains("omission::")) {
            assert!(for_tests(&text, line), "{}: {line}", path.display());
        }
        for reading in ["env::var", "env::args", "getenv"] {
            assert!(!text.contains(reading), "{}: {reading}", path.display());
        }
    }
}

/// The rooms; tools and benchmarks of the workspace live elsewhere and no room's product knows them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let is_room = |package: &&Value| package["manifest_path"].as_str().unwrap().contains("/crates/");
    metadata["packages"].as_array().unwrap().iter().filter(is_room).cloned().collect()
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<PathBuf> = sources().into_iter().filter(|path| !read(path).starts_with("//! ")).collect();
    assert!(silent.is_empty(), "these files do not open with `//!`: {silent:#?}");
}

#[test]
fn unsafe_code_lives_in_the_sandbox() {
    let keyword = ["un", "safe"].concat();
    let mut found = Vec::new();
    for path in sources().into_iter().filter(|path| !path.starts_with(root().join("crates/silas-sandbox"))) {
        for (n, line) in read(&path).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            // What stands between quotation marks is a word about code.
            let mut words =
                code.split('"').step_by(2).flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
            if words.any(|word| word == keyword) {
                found.push(format!("{}:{}", path.display(), n + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Once each: a point that nobody names is never tested, and one that two places name says nothing about where.
#[test]
fn each_fail_point_is_named_exactly_where_it_happens() {
    let list = root().join("crates/silas-core/src/fail.rs");
    let product = sources().into_iter().filter(|path| !is_test(path) && *path != list);
    let text: String = product.map(|path| read(&path)).collect();
    let ends = |c: char| !c.is_alphanumeric();
    let named: Vec<&str> =
        text.split("FailPoint::").skip(1).map(|rest| rest.split(ends).next().unwrap_or_default()).collect();
    let times = |name: &str| named.iter().filter(|other| **other == name).count();
    let all = FailPoint::ALL.map(FailPoint::name);
    let wrong: Vec<String> =
        all.iter().filter(|name| times(name) != 1).map(|name| format!("{name}: {} times", times(name))).collect();
    assert!(wrong.is_empty(), "each `FailPoint::…` should be named once in the product: {wrong:#?}");
    let unlisted: Vec<&&str> = named.iter().filter(|name| **name != "ALL" && !all.iter().any(|p| p == *name)).collect();
    assert!(unlisted.is_empty(), "not in FailPoint::ALL: {unlisted:?}");
}

/// Paths of the machine on which something was written, which mean nothing on another one. A path that the sandbox
/// itself uses is a whole string of its own.
#[test]
fn no_machine_paths() {
    let workshop = ["/wor", "k/"].concat();
    let home = ["/ro", "ot/"].concat();
    let mut found = Vec::new();
    for path in sources().into_iter().chain(pages()) {
        for (n, line) in read(&path).lines().enumerate() {
            let without_constants = match path.extension().is_some_and(|end| end == "rs") {
                true => line.replace(&format!("\"{workshop}"), "").replace(&format!("\"{home}"), ""),
                false => line.to_owned(),
            };
            let strays = [format!("{workshop}main"), format!("{workshop}shared")];
            let is_stray = without_constants.contains(&workshop)
                || without_constants.contains(&home)
                || strays.iter().any(|stray| line.contains(stray));
            if is_stray {
                found.push(format!("{}:{}", path.display(), n + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Past this many lines a file holds a second thing that wants a name. Tests and styles are lists, and may be longer.
const LINES_MAX: usize = 500;
const LIST_LINES_MAX: usize = 800;

#[test]
fn no_file_is_a_drawer() {
    let lines = |path: &PathBuf| read(path).lines().count();
    let long: Vec<String> = sources()
        .iter()
        .chain(&files(&root().join("web"), &["js", "css", "html"]))
        .filter(|path| {
            !path.components().any(|part| part.as_os_str() == "vendor" || part.as_os_str() == "node_modules")
        })
        .filter(|path| {
            let is_list = is_test(path) || path.extension().is_some_and(|end| end == "css");
            lines(path) > if is_list { LIST_LINES_MAX } else { LINES_MAX }
        })
        .map(|path| format!("{}: {} lines", path.display(), lines(path)))
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

/// A function that does not fit a screen is two, or says in its own comment why it is one.
const FUNCTION_LINES_MAX: usize = 80;

#[test]
fn a_long_function_says_why() {
    let begins =
        regex::Regex::new(r#"^( *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe |extern "C" )*fn (\w+)"#).unwrap();
    let mut n_reasons = 0;
    let mut without = Vec::new();
    for path in sources().iter().filter(|path| !is_test(path)) {
        let text = read(path);
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate().filter(|(_, line)| !line.ends_with([';', '}'])) {
            let Some(found) = begins.captures(line) else { continue };
            let (end, declared) = (format!("{}}}", &found[1]), format!("{})", &found[1]));
            let is_end = |line: &&str| *line == end || (line.starts_with(&declared) && line.ends_with(';'));
            let n_lines = 1 + lines[n..].iter().position(is_end).expect("it is formatted");
            let above = lines[..n].iter().rev().map(|line| line.trim_start());
            let says_why = above
                .take_while(|line| line.starts_with("///") || line.starts_with("#["))
                .any(|line| line.starts_with("/// Long: "));
            n_reasons += usize::from(says_why);
            if (n_lines > FUNCTION_LINES_MAX) != says_why {
                without.push(format!("{}:{} {}: {n_lines} lines", path.display(), n + 1, &found[2]));
            }
        }
    }
    assert!(n_reasons > 0, "the functions were not found");
    assert!(
        without.is_empty(),
        "more than {FUNCTION_LINES_MAX} lines and no `/// Long: …`, or the other way round: {without:#?}"
    );
}

/// Every code that the sources say has a page, and every page is about a code that they say.
#[test]
fn every_error_has_a_page() {
    let code = regex::Regex::new(r"\bE_[A-Z]+(?:_[A-Z0-9]+)+\b").unwrap();
    let page_files = files(&root().join("web"), &["js"]);
    let is_ours = |path: &&PathBuf| !is_test(path) && !path.components().any(|part| part.as_os_str() == "vendor");
    let texts: Vec<String> = sources().iter().chain(&page_files).filter(is_ours).map(|path| read(path)).collect();
    let said: std::collections::BTreeSet<&str> =
        texts.iter().flat_map(|text| code.find_iter(text).map(|found| found.as_str())).collect();
    let pages = files(&root().join("docs/errors"), &["md"]);
    let names: Vec<String> = pages.iter().map(|page| page.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let without: Vec<&&str> = said.iter().filter(|code| !names.iter().any(|name| name == *code)).collect();
    assert!(without.is_empty(), "no page in docs/errors: {without:?}");
    let index = read(&root().join("docs/errors/README.md"));
    for name in names.iter().filter(|name| *name != "README") {
        assert!(said.contains(name.as_str()), "docs/errors/{name}.md is about a code that nothing says");
        assert!(index.contains(&format!("({name}.md)")), "docs/errors/README.md does not list {name}");
        let text = read(&root().join(format!("docs/errors/{name}.md")));
        for part in ["**What happened.**", "**What it means.**", "**What to do.**"] {
            assert_eq!(text.matches(part).count(), 1, "{name}: {part}");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every Rust file below the `src` directories of the rooms.
fn sources() -> Vec<PathBuf> {
    let rooms = std::fs::read_dir(root().join("crates")).unwrap();
    let found: Vec<PathBuf> = rooms.flat_map(|room| files(&room.unwrap().path().join("src"), &["rs"])).collect();
    assert!(found.len() > 30, "the sources were not found");
    found
}

/// What people read: documents at the top and below `docs`.
fn pages() -> Vec<PathBuf> {
    let top = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let top = top.filter(|path| path.extension().is_some_and(|end| end == "md"));
    top.chain(files(&root().join("docs"), &["md"])).chain(files(&root().join("config"), &["yaml"])).collect()
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

fn files(directory: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| path.extension().is_some_and(|end| end == *ending)) {
            found.push(path);
        }
    }
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
