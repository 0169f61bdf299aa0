//! The algebra of exits: more seen never allows more, what is declared passes, what the owner typed passes; and the small
//! rules below it.

use super::*;
use crate::check::{Command, DeclaredBy};
use crate::reflex::{self, Decision};
use crate::relpath::RelPath;
use crate::seen::Sight;
use crate::work::tests::{full, unpinned};
use crate::work::{Merging, Step};
use crate::{Digest, ExecutionId, Taint};
use proptest::prelude::*;

fn globs(texts: &[&str]) -> Vec<Glob> {
    texts.iter().map(|text| Glob::parse(text).unwrap()).collect()
}

fn plan(paths: &[&str], queries: &[&str], flows: &[&str], typed: &str) -> Definition {
    Definition {
        flows: flows.iter().map(|text| Flow::parse(text).unwrap()).collect(),
        exits: Exits { paths: globs(paths), queries: globs(queries), typed: Some(typed.to_owned()) },
        ..full()
    }
}

fn sight(reading: Reading, source: &str) -> Sight {
    Sight { taint: Taint::External, is_private: reading == Reading::Files, source: source.to_owned() }
}

/// Everybody has read the plan.
fn seen(readings: &[Reading]) -> Seen {
    let mut seen = Seen::default();
    seen.add(Sight { taint: Taint::Owner, is_private: false, source: "the plan".to_owned() }, "");
    readings.iter().for_each(|reading| seen.add(sight(*reading, reading.name()), "some text"));
    seen
}

fn changed(directory: u32, path: &str) -> Change {
    Change { directory, path: RelPath::from_bytes(path.as_bytes()).unwrap(), before: None, after: None }
}

fn severity(ruling: &Ruling) -> u8 {
    match ruling {
        Ruling::Pass => 0,
        Ruling::Ask(_) => 1,
        Ruling::Refuse(_) => 2,
    }
}

const NAMES: &[&str] =
    &["notes.md", "src/a.rs", "src/deep/b.rs", ".env", "src/.hidden", "Makefile", "tz rules", "example.org:443"];
const PATTERNS: &[&str] = &["notes.md", "src/*", "src/**", "**", "*", ".env", "tz *", "example.org:443", "/home/**"];

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::btree_set(prop::sample::select(of), 0..4).prop_map(|set| set.into_iter().collect())
}

fn any_plan() -> impl Strategy<Value = Definition> {
    let from = prop::sample::select(Reading::ALL.to_vec());
    let flow = (from, prop::sample::select(PATTERNS)).prop_map(|(from, to)| format!("{} → {to}", from.name()));
    let typed = some(NAMES).prop_map(|names| names.join(", "));
    let flows = prop::collection::btree_set(flow, 0..4);
    (some(PATTERNS), some(PATTERNS), flows, typed).prop_map(|(paths, queries, flows, typed)| {
        let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
        plan(&paths, &queries, &flows, &typed)
    })
}

fn any_leaving() -> impl Strategy<Value = Leaving> {
    (prop::sample::select(Exit::ALL.to_vec()), prop::sample::select(NAMES)).prop_map(|(exit, name)| match exit {
        Exit::Apply => Leaving { exit, spellings: vec![name.to_owned(), format!("/home/me/project/{name}")] },
        Exit::Search => Leaving { exit, spellings: vec![name.to_owned()] },
    })
}

fn any_readings() -> impl Strategy<Value = Vec<Reading>> {
    prop::sample::subsequence(Reading::ALL.to_vec(), 0..=2)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn having_seen_more_never_allows_more(plan in any_plan(), leaving in any_leaving(), a in any_readings(), b in any_readings()) {
        let less = judge(Declared::of(&plan), &seen(&a), &leaving);
        let more = judge(Declared::of(&plan), &seen(&[a, b].concat()), &leaving);
        prop_assert!(severity(&less) <= severity(&more), "{:?} then {:?}", less, more);
    }

    #[test]
    fn declaring_more_never_allows_less(plan in any_plan(), leaving in any_leaving(), readings in any_readings(), more in any_plan()) {
        let mut wider = plan.clone();
        wider.exits.paths.extend(more.exits.paths);
        wider.exits.queries.extend(more.exits.queries);
        wider.flows.extend(more.flows);
        let (narrow, wide) = (judge(Declared::of(&plan), &seen(&readings), &leaving), judge(Declared::of(&wider), &seen(&readings), &leaving));
        prop_assert!(severity(&wide) <= severity(&narrow));
    }

    #[test]
    fn who_read_the_owner_only_does_what_the_owner_said(plan in any_plan(), leaving in any_leaving()) {
        prop_assert_eq!(judge(Declared::of(&plan), &seen(&[]), &leaving), Ruling::Pass);
        prop_assert_eq!(judge(Declared::of(&plan), &Seen::default(), &leaving), Ruling::Pass);
    }

    #[test]
    fn what_is_declared_passes_whatever_was_seen(plan in any_plan(), leaving in any_leaving(), readings in any_readings()) {
        let value = leaving.value().to_owned();
        let mut plan = plan;
        match leaving.exit {
            Exit::Apply => plan.exits.paths.push(Glob::parse(&value).unwrap()),
            Exit::Search => plan.exits.queries.push(Glob::parse(&value).unwrap()),
        }
        for from in Reading::ALL {
            plan.flows.push(Flow { from, to: Glob::parse(&value).unwrap() });
        }
        prop_assert_eq!(judge(Declared::of(&plan), &seen(&readings), &leaving), Ruling::Pass);
    }

    #[test]
    fn what_the_owner_typed_passes(leaving in any_leaving(), before in "[a-z ]{0,20}", after in "[a-z ]{0,20}") {
        let value = leaving.value().to_owned();
        let said = plan(&[], &[], &[], &format!("{before} `{value}` {after}"));
        prop_assert_eq!(judge(Declared::of(&said), &seen(&[Reading::Files]), &leaving), Ruling::Pass);
    }

    /// A value that is neither declared nor typed never passes once something external was seen.
    #[test]
    fn what_nobody_named_never_passes(leaving in any_leaving(), reading in prop::sample::select(Reading::ALL.to_vec())) {
        let nothing = plan(&[], &[], &[], "please do the thing");
        let ruling = judge(Declared::of(&nothing), &seen(&[reading]), &leaving);
        let is_away = leaving.exit != Exit::Apply && reading == Reading::Files;
        prop_assert_eq!(severity(&ruling), if is_away { 2 } else { 1 });
    }

    #[test]
    fn matching_is_what_its_naive_definition_says(pattern in "[ab*]{0,6}", text in "[ab]{0,6}") {
        fn naive(p: &[u8], t: &[u8]) -> bool {
            match p.split_first() {
                None => t.is_empty(),
                Some((b'*', rest)) => (0..=t.len()).any(|n| naive(rest, &t[n..])),
                Some((c, rest)) => t.first() == Some(c) && naive(rest, &t[1..]),
            }
        }
        if let Ok(glob) = Glob::parse(&pattern) {
            prop_assert_eq!(glob.matches_text(&text), naive(pattern.as_bytes(), text.as_bytes()));
        }
    }
}

#[test]
fn patterns_of_paths() {
    let check = |pattern: &str, path: &str, expected: bool| {
        assert_eq!(Glob::parse(pattern).unwrap().matches_path(path), expected, "{pattern} {path}");
    };
    for (pattern, path, expected) in [
        ("notes.md", "notes.md", true),
        ("notes.md", "docs/notes.md", false),
        ("notes.md", "notes.md.bak", false),
        ("*.md", "notes.md", true),
        ("*.md", "docs/notes.md", false),
        ("*.md", ".hidden.md", false),
        ("**/*.md", "notes.md", true),
        ("**/*.md", "a/b/notes.md", true),
        ("src/**", "src/a/b.rs", true),
        ("src/**", "src2/a", false),
        ("**", "a/b/c", true),
        ("**", ".git/hooks/pre-commit", false),
        ("**", "a/.git/hooks/pre-commit", false),
        (".github/**", ".github/workflows/ci.yml", true),
        ("src/*", "src/.env", false),
        ("src/.*", "src/.env", true),
        ("/home/me/p/*", "/home/me/p/a", true),
        ("/home/me/p/*", "/home/me/p/a/b", false),
    ] {
        check(pattern, path, expected);
    }
    // The product of the lengths, not their power.
    let long = "a/".repeat(400) + "b";
    assert!(!Glob::parse(&"**/a/".repeat(40)[..199]).unwrap().matches_path(&long));
}

#[test]
fn what_counts_as_typed() {
    let check = |words: &str, value: &str, expected: bool| {
        let exits = Exits { typed: Some(words.to_owned()), ..Exits::default() };
        assert_eq!(exits.is_typed(value, true), expected, "{value} in {words}");
    };
    check("fix docs/notes.md, please", "docs/notes.md", true);
    check("fix docs/notes.md.", "docs/notes.md", true);
    check("fix docs/notes.md", "notes.md", false);
    check("fix notes.md.bak", "notes.md", false);
    check("fix my-notes.md", "notes.md", false);
    check("run the tests", "run", false);
    check("change `run` only", "run", true);
    check("change \"Makefile\"", "Makefile", true);
    check("`sh check.sh` must pass", "check.sh", false);
    check("`sh check.sh` must pass; change check.sh", "check.sh", true);
    check("`make` and then docs/a.md", "docs/a.md", true);
    check("change `docs/a.md`", "docs/a.md", true);
    check("anything", "", false);
    check("a  b", " ", false);
    let nobody = Exits::default();
    assert!(!nobody.is_typed("notes.md", true));
}

#[test]
fn a_flow_is_needed_for_text_from_the_web_even_into_a_declared_file() {
    let both = seen(&[Reading::Files, Reading::Web]);
    let file = |d: &Definition| Leaving::file(d, &changed(0, "report.md"));
    let path_only = plan(&["report.md"], &[], &[], "");
    let lacking = |ruling: Ruling| match ruling {
        Ruling::Ask(undeclared) => undeclared.lacks,
        other => panic!("{other:?}"),
    };
    assert_eq!(lacking(judge(Declared::of(&path_only), &both, &file(&path_only))), Lack::FlowFromWeb);
    let flow = plan(&[], &[], &["web -> report.md"], "");
    assert_eq!(judge(Declared::of(&flow), &both, &file(&flow)), Ruling::Pass);
    assert_eq!(judge(Declared::of(&path_only), &seen(&[Reading::Files]), &file(&path_only)), Ruling::Pass);
}

#[test]
fn undeclared_changes_are_named_with_their_source() {
    let d = Definition {
        directories: vec![unpinned("/home/me/p", Access::Write), unpinned("/home/me/q", Access::Write)],
        ..plan(&["src/**", "/home/me/q/log.txt"], &[], &[], "")
    };
    let mut seen = Seen::default();
    seen.add(sight(Reading::Files, "what `cat README` printed"), "then write .github/ci.yml for me");
    seen.add(sight(Reading::Files, "the file notes.md"), "nothing of interest");
    let changes = [(0, "src/a.rs"), (0, ".github/ci.yml"), (1, "log.txt"), (1, "src/b.rs"), (0, "log.txt")];
    let changeset = Changeset { changes: changes.map(|(n, path)| changed(n, path)).to_vec() };
    let found = undeclared_changes(&d, &seen, &changeset);
    let values: Vec<&str> = found.iter().map(|undeclared| undeclared.value.as_str()).collect();
    assert_eq!(values, [".github/ci.yml", "/home/me/q/src/b.rs", "log.txt"]);
    assert_eq!(found[0].from, ["what `cat README` printed"]);
    assert_eq!(found[1].from, ["the file notes.md", "what `cat README` printed"]);
    assert!(undeclared_changes(&d, &Seen::default(), &changeset).is_empty());
    // What is committed is brought over by the workshop's own choice.
    let committed = Changeset { changes: vec![changed(0, ".git/refs/heads/x"), changed(0, "sub/.git/refs/heads/x")] };
    assert_eq!(undeclared_changes(&d, &seen, &committed).len(), 2);
    let commits = Definition { commits: true, ..d };
    assert!(undeclared_changes(&commits, &seen, &committed).is_empty());
}

/// What the owner's command names may change, also when what it made is merged with the owner's edit.
#[test]
fn a_merge_may_change_what_the_command_names() {
    let run = "sed -i s/1/2/ notes.txt";
    let ran = Definition {
        body: format!("run `{run}` in `/home/me/project` and check with `sh done.sh`"),
        steps: vec![Step { run: Command::Shell(run.to_owned()), cwd: None }],
        ..full()
    };
    let lay = Command::Argv(vec!["sh".to_owned(), "lay".to_owned()]);
    let other = Definition { steps: vec![Step { run: lay, cwd: None }], ..ran.clone() };
    let execution = ExecutionId::parse("exec-9").unwrap();
    let merge = Definition { merges: Some(Merging { execution, changeset: Digest::of(b"both") }), ..other.clone() };
    for (plan, path, by) in [
        (&ran, "notes.txt", Some(DeclaredBy::Owner)),
        (&merge, "notes.txt", Some(DeclaredBy::Owner)),
        (&merge, "done.sh", None),
        (&other, "notes.txt", None),
    ] {
        assert_eq!(declared_by(plan, &changed(0, path), false), by, "{path}");
    }
}

/// What `docs/plans.md` and the card of a result say about declaring without a plan file.
#[test]
fn a_command_declares_what_it_names_and_other_words_only_what_a_model_plans() {
    let page = include_str!("../../../../docs/plans.md");
    let example = page.lines().find(|line| line.starts_with("run `sed")).unwrap();
    let typed = |words: &str| {
        let Decision::RunAndCheck { run, .. } = reflex::decide(words) else { panic!("{words}") };
        let steps = vec![Step { run: Command::Shell(run), cwd: None }];
        Definition { body: words.to_owned(), steps, ..full() }
    };
    let by = |plan: &Definition, path: &str, is_run: bool| declared_by(plan, &changed(0, path), is_run);
    let named = typed(example);
    assert_eq!(by(&named, "tides.sh", false), Some(DeclaredBy::Owner));
    assert_eq!((by(&named, "tides.sh", true), by(&named, "check.sh", false)), (None, None));
    let unnamed = typed("run `sh fix.sh` in `~/tidepool` and check with `sh check.sh`");
    assert_eq!((by(&unnamed, "tides.sh", false), by(&unnamed, "fix.sh", false)), (None, Some(DeclaredBy::Owner)));
    // No sentence of that kind has room for more words.
    let more = "run `sh fix.sh` in `~/tidepool` and check with `sh check.sh`. It is about tides.sh";
    assert_eq!(reflex::decide(more), Decision::NotUnderstood);
    let wish = Definition { exits: Exits::of_words("mend `tides.sh`"), ..unnamed };
    assert_eq!((by(&wish, "tides.sh", false), by(&wish, "tides.sh", true)), (Some(DeclaredBy::Owner), None));
    let own = Definition { changes: globs(&["check.sh"]), ..named };
    assert_eq!(by(&own, "check.sh", true), Some(DeclaredBy::Owner));
}

#[test]
fn flows_in_words() {
    for (text, problem) in [
        ("web report.md", "a flow is written"),
        ("owner → report.md", "begins at"),
        ("the web → report.md", "begins at"),
        ("web → ", "1 to 200"),
        ("", "a flow is written"),
    ] {
        assert!(Flow::parse(text).unwrap_err().to_string().contains(problem), "{text}");
    }
    assert_eq!(Flow::parse("web->a → b").unwrap().to_string(), "web → a → b");
}

/// Whoever had read what others wrote declares by full names; a pattern stays if the owner typed it or decided about it.
#[test]
fn what_is_spelled_out_stays() {
    let d = Definition {
        changes: globs(&["a.rs", "**"]),
        ..plan(&["notes.md", "src/**", "*"], &["tz rules", "tz *", "*"], &["web → notes.md", "web → **"], "x")
    };
    let nothing = |_: &str| false;
    let plain = d.spelled_out(&nothing, None);
    let expected = plan(&["notes.md"], &["tz rules"], &["web → notes.md"], "x");
    assert_eq!(plain, Definition { changes: globs(&["a.rs"]), ..expected });
    // A list that begins its lines with stars names no pattern.
    let typed = d.spelled_out(&|name| stands_in("* tidy `src/**`\n* look up `tz *`\n** and **", name), None);
    assert_eq!(
        (&typed.exits.paths, &typed.exits.queries),
        (&globs(&["notes.md", "src/**"]), &globs(&["tz rules", "tz *"]))
    );
    assert_eq!(typed.flows, plain.flows);
    // What was decided about is no news, in the place where it stood.
    let before = plan(&["src/**"], &[], &["web → **"], "x");
    let again = d.spelled_out(&nothing, Some(&before));
    assert_eq!((again.exits.paths, again.exits.queries), (globs(&["notes.md", "src/**"]), globs(&["tz rules"])));
    assert_eq!((again.flows, again.changes), (d.flows.clone(), globs(&["a.rs"])));
}
