//! Results to look at: proved, unproven, applied, not applied, in the way of the owner's own changes.

use super::samples::{Sample, asks, execution, tells, undeclared, words};
use crate::words::ResultFacts;
use crate::words::chooser::Chooser;
use silas_core::changeset::{ChangeOrder, DiffLine, FileDiff, FileMode};
use silas_core::check::{Basis, CheckResult, CountedBy, Outcome};
use silas_core::exits::{Exit, Lack, Undeclared};
use silas_core::rehearsal::{ApplyOrder, Findings};
use silas_core::relpath::RelPath;
use silas_core::runner::Runner;
use silas_core::taint::Taint;
use silas_core::testlog::Tests;
use silas_core::token::Kind;
use silas_core::{Digest, canonical};

pub(super) const ASKED: &str = "Tide times are an hour off since the clocks changed. Fix it in tidepool.";

/// What a model calls its check, to be believed.
pub(super) const BRAG: &str = "All 214 project tests and the security review";

pub(super) fn long_wish() -> String {
    "Every morning the tide table shows times that are an hour off since the clocks changed in the night. ".repeat(9)
}

fn check(run: &str, passed: bool, protected: bool) -> CheckResult {
    let tests = Tests { runner: Runner::Pytest, passed: 12, failed: u32::from(!passed), skipped: 0 };
    CheckResult {
        name: format!("{BRAG} of {run}"),
        run: run.to_owned(),
        passed,
        reason: format!("Exit code {}, expected 0", i32::from(!passed)),
        output: String::new(),
        exit_code: Some(i32::from(!passed)),
        took_ms: 210,
        protected,
        tests: protected.then_some(tests),
        asked: Vec::new(),
        basis: None,
    }
}

fn changed(path: &str, added: u32) -> FileDiff {
    let mut lines = vec![
        DiffLine::Same("def parse_time(text, zone):".to_owned()),
        DiffLine::Removed("    return datetime.fromisoformat(text)".to_owned()),
    ];
    let more = (1..added).map(|n| DiffLine::Added(format!("    when = datetime.fromisoformat(text)  # {n}")));
    lines.extend(more);
    lines.push(DiffLine::Gap(12));
    lines.push(DiffLine::Added("    return when.replace(tzinfo=ZoneInfo(zone))".to_owned()));
    FileDiff {
        directory: String::new(),
        path: RelPath::from_bytes(path.as_bytes()).unwrap(),
        renamed_from: None,
        mode_before: None,
        mode_after: None,
        added,
        removed: 1,
        lines: Some(lines),
        is_verbatim: true,
    }
}

/// Everything that a result is computed from, owned.
pub(super) struct Found {
    asked: String,
    directory: &'static str,
    before: Vec<CheckResult>,
    after: Vec<CheckResult>,
    diffs: Vec<FileDiff>,
    undeclared: Vec<Undeclared>,
    remarks: Vec<String>,
    commands: Vec<String>,
    pub(super) chooser: Chooser,
    left_out: Vec<String>,
}

impl Found {
    pub(super) fn ordinary() -> Self {
        let basis = Basis {
            tested: vec!["tides/parse.py".to_owned(), "tides/report.py".to_owned()],
            ..Basis::new(CountedBy::Tests)
        };
        let results = |first: bool| {
            let first = CheckResult {
                basis: first.then(|| basis.clone()),
                ..check("python3 -m pytest -q tests/clocks.py", first, true)
            };
            vec![first, check("python3 -m pytest -q", true, true)]
        };
        Found {
            asked: ASKED.to_owned(),
            directory: "tidepool",
            before: results(false),
            after: results(true),
            diffs: vec![changed("tides/parse.py", 4), changed("tides/report.py", 1)],
            undeclared: Vec::new(),
            remarks: Vec::new(),
            commands: vec!["sh fix.sh".to_owned()],
            chooser: Chooser::Owner,
            left_out: Vec::new(),
        }
    }

    pub(super) fn longest(n_files: usize) -> Self {
        let runs = [
            "cd tables && PYTHONPATH=../lib TZ=Europe/Lisbon python3 -m pytest -q --strict-markers tests/clocks/of-the-northern-coast.py tests/clocks/of-the-southern-coast.py",
            "python3 -m pytest -q",
            "mypy tides",
            "sh spelling-of-the-harbours.sh",
            "sh links.sh",
        ];
        let results = |passed| runs.iter().map(|run| check(run, passed, false)).collect::<Vec<_>>();
        let path =
            |n: usize| format!("{}/generated-tables-of-the-year-{n:03}.py", "a-directory-with-a-long-name".repeat(5));
        let source = "what `curl --silent --location https://tides.example/a/very/long/path/to/a/page.html` printed";
        let paths: Vec<String> = (0..n_files).map(path).collect();
        let unnamed = |path: &String| undeclared(Exit::Apply, path, Lack::FlowFromWeb, &[source, "README.md"]);
        Found {
            asked: long_wish(),
            directory: "some-very-long-named-project-here",
            before: results(false),
            after: results(true),
            undeclared: paths.iter().map(unnamed).collect(),
            diffs: paths.iter().map(|path| changed(path, 2)).collect(),
            remarks: vec![paths[0].clone(), paths[1].clone()],
            commands: vec!["sh prepare-the-tables-of-every-harbour.sh --with --every --option --there --is".to_owned()],
            chooser: Chooser::Model("a-model-with-a-name-that-is-as-long-as-names-of-models-get".to_owned()),
            left_out: vec![
                "12,345 ignored files were left out, neither checked nor applied: node_modules, target".to_owned(),
            ],
        }
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.diffs.iter().map(|diff| diff.path.to_string()).collect()
    }

    pub(super) fn facts(&self) -> ResultFacts<'_> {
        let outcome = Outcome::of(&self.before, &self.after);
        ResultFacts {
            asked: Some(&self.asked),
            directory: self.directory,
            commands: &self.commands,
            ended: &[],
            chooser: Some(&self.chooser),
            outcome,
            before: &self.before,
            after: &self.after,
            diffs: &self.diffs,
            flags: &self.remarks,
            unseen: &self.remarks,
            left_out: &self.left_out,
            outputs: &self.remarks,
            taint: Taint::External,
            orders_found: u32::from(!self.undeclared.is_empty()),
            last_moment: &self.remarks,
            is_in_two_steps: !self.remarks.is_empty(),
            in_part: None,
            moved_on: &self.remarks,
            undeclared: &self.undeclared,
            wanted: &[],
            took_ms: 130_000,
            cost_microusd: 50_000,
        }
    }

    fn files(&self) -> u32 {
        u32::try_from(self.diffs.len()).unwrap()
    }

    fn rehearsed(&self, name: &'static str) -> Sample {
        let order = ApplyOrder {
            kind: Kind::Apply,
            execution: execution(),
            plan_hash: Digest::of(b"plan"),
            changeset: Digest::of(b"changes"),
            findings: Findings { before: &self.before, after: &self.after, diffs: &self.diffs }.hash().unwrap(),
        };
        let face = words().rehearsed(&self.facts(), self.files(), 300);
        asks(name, "apply", face, canonical::text(&order).unwrap())
    }

    fn done(&self, name: &'static str) -> Sample {
        let order = ChangeOrder { kind: Kind::Undo, execution: execution(), changeset: Digest::of(b"changes") };
        asks(name, "undo", words().done(&self.facts(), self.files(), 300), canonical::text(&order).unwrap())
    }
}

/// More lines than a card has, a file that is no text, and changes that are in no line.
fn half_seen() -> Found {
    let file = |mode: u32| Some(FileMode::File(mode));
    let link = |to: &str| format!("symlink to {to}");
    let plain = |path: &str| FileDiff {
        removed: 0,
        lines: Some(Vec::new()),
        mode_before: file(0o644),
        mode_after: file(0o644),
        ..changed(path, 0)
    };
    let first = |n: u32| (1..=n).map(|n| DiffLine::Added(format!("TIDES[{n}] = {n}"))).collect::<Vec<_>>();
    let cut = [first(3), vec![DiffLine::NotShown(2048), DiffLine::Gap(7)]].concat();
    let linked = vec![DiffLine::Removed("zone = UTC".to_owned()), DiffLine::Added(link("/etc/passwd"))];
    Found {
        diffs: vec![
            FileDiff { added: 2051, lines: Some(cut), is_verbatim: false, ..plain("tides/tables.py") },
            FileDiff { lines: None, is_verbatim: false, ..plain("tides/map.png") },
            FileDiff { mode_after: file(0o755), ..plain("tides/report.py") },
            FileDiff {
                added: 3,
                lines: Some(first(3)),
                mode_before: None,
                mode_after: file(0o755),
                ..plain("hooks/late.sh")
            },
            FileDiff {
                added: 1,
                removed: 1,
                lines: Some(linked),
                mode_after: Some(FileMode::Link),
                is_verbatim: false,
                ..plain("zone.cfg")
            },
            FileDiff {
                removed: 1,
                mode_after: None,
                lines: Some(vec![DiffLine::Removed("zone = UTC".to_owned())]),
                ..plain("old.cfg")
            },
        ],
        ..Found::ordinary()
    }
}

/// Nobody counted, the work changed what judged it, and something stood beside it.
fn by_exit_code() -> Found {
    let basis = Basis {
        changed: vec!["verify.sh".to_owned()],
        beside: vec!["node_modules".to_owned()],
        why_not: Some("Its tests cannot be counted".to_owned()),
        ..Basis::new(CountedBy::ExitCode)
    };
    let result =
        |passed: bool| CheckResult { tests: None, basis: Some(basis.clone()), ..check("sh verify.sh", passed, true) };
    Found { before: vec![result(false)], after: vec![result(true)], ..Found::ordinary() }
}

pub(super) fn samples() -> Vec<Sample> {
    // More than the details list by themselves, once; elsewhere more than the card does.
    let (ordinary, longest, longer) = (Found::ordinary(), Found::longest(60), Found::longest(12));
    let ci = undeclared(Exit::Apply, ".github/ci.yml", Lack::Value, &["what `cat README.md` printed"]);
    let with_ci = Found {
        diffs: vec![changed("tides/parse.py", 4), changed(".github/ci.yml", 2)],
        undeclared: vec![ci],
        ..Found::ordinary()
    };
    let unproven = Found { before: Vec::new(), after: Vec::new(), ..Found::ordinary() };
    let open = Found {
        before: vec![check("python3 -m pytest -q", false, false)],
        after: vec![check("python3 -m pytest -q", true, false)],
        ..Found::ordinary()
    };
    let by_exit_code = by_exit_code();
    // Nothing to show but that it failed; and everything at once.
    let red = Found { after: Found::ordinary().before, diffs: Vec::new(), ..Found::ordinary() };
    let all_red = Found { after: Found::longest(12).before, ..Found::longest(12) };
    let stopped = Found { after: Vec::new(), diffs: Vec::new(), commands: Vec::new(), ..Found::ordinary() };
    let why = "The command ended with 1.\nLook at what it printed, and say it again.";
    vec![
        ordinary.rehearsed("rehearsed"),
        unproven.rehearsed("unproven"),
        with_ci.rehearsed("undeclared"),
        longest.rehearsed("rehearsed_longest"),
        half_seen().rehearsed("half_seen"),
        by_exit_code.rehearsed("by_exit_code"),
        by_exit_code.done("done_by_exit_code"),
        ordinary.done("done"),
        open.done("done_open"),
        longer.done("done_longest"),
        tells("report", words().report(&red.facts(), "The check is still red", why)),
        tells(
            "report_longest",
            words().report(&all_red.facts(), "50 checks are still red after 5 attempts", &why.repeat(40)),
        ),
        tells("report_stopped", words().report(&stopped.facts(), "Stopped before it was done", "You stopped it.")),
        tells("later_edit", words().later_edit(&ordinary.facts(), &ordinary.paths()[1..])),
    ]
}
