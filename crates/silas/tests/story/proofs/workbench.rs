//! A Silas that carries out one case after the other, each as a plan of its own in a directory of its own.

use super::cases::Case;
use crate::harness::{Line, Silas};
use serde_json::{Value, json};
use silas_core::card::{Card, CardKind, CardState};
use silas_core::token;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Compilers that wait for each other say nothing for long.
const PATIENCE: Duration = Duration::from_secs(180);

/// What came of a case.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Without anybody looking, the check is green after the work. Not tried in every run.
    pub fools_the_check: Option<bool>,
    pub was_red: Option<bool>,
    pub outcome: String,
    pub claim: String,
    pub caveats: Vec<String>,
    /// It was proved and put in place, and the check is green there, without anybody looking.
    pub is_green_in_place: bool,
    /// What the check said after the work.
    pub after: String,
    /// Why it did not come to a result.
    pub trouble: Option<String>,
}

impl Verdict {
    pub(super) fn is_proved(&self) -> bool {
        self.outcome == "proved" || self.claim.starts_with("Proved")
    }
}

pub(super) struct Workbench {
    silas: Silas,
    line: Line,
    place: PathBuf,
}

impl Workbench {
    pub(super) fn new() -> Workbench {
        // Nobody has so much to ask in a minute.
        let limits =
            ["SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_IP"];
        let silas = Silas::start_with(&limits.map(|limit| (limit, "100000")));
        let place = silas.outside().join("cases");
        fs::create_dir(&place).unwrap();
        let (code, said) = silas.command(&["root", "add", place.to_str().unwrap(), "--yes"]);
        assert_eq!(code, 0, "{said}");
        let line = silas.line();
        line.be_patient(PATIENCE);
        Workbench { silas, line, place }
    }

    pub(super) fn carry_out(&mut self, case: &Case) -> Verdict {
        let dir = self.place.join(case.name.replace('/', "-"));
        let fools_the_check = super::is_thorough().then(|| self.fools_the_check(case));
        let mut verdict = Verdict { fools_the_check, ..Verdict::default() };
        self.lay_out(case, &dir);
        let work = self.planned(case, &dir);
        self.read(&work, &mut verdict);
        let _never_made = fs::remove_dir_all(self.scratch());
        verdict.is_green_in_place = verdict.is_proved() && self.shell(&case.check, &dir);
        fs::remove_dir_all(&dir).unwrap();
        verdict
    }

    fn lay_out(&self, case: &Case, dir: &Path) {
        for (name, content) in &case.files {
            let path = dir.join(name.trim_end_matches(" (x)"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            if name.ends_with(" (x)") {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        assert!(case.setup.is_empty() || self.shell(&case.setup, dir), "{}: {}", case.name, case.setup);
    }

    /// In a directory that Silas has nothing to do with.
    fn fools_the_check(&self, case: &Case) -> bool {
        let dir = self.silas.outside().join("plain").join(case.name.replace('/', "-"));
        self.lay_out(case, &dir);
        let is_guarded = case.guard.as_ref().is_none_or(|guard| self.shell(guard, &dir));
        let is_green = is_guarded
            && self.shell(&case.work, &dir)
            && self.shell(&case.check, &dir)
            && case.guard.as_ref().is_none_or(|guard| self.shell(guard, &dir));
        assert!(self.shell(&case.cleanup, &dir), "{}: {}", case.name, case.cleanup);
        is_green
    }

    fn scratch(&self) -> PathBuf {
        self.silas.outside().join("scratch")
    }

    /// As in a sandbox as far as variables go, with a home and a temporary directory that are taken away at the end.
    fn shell(&self, script: &str, dir: &Path) -> bool {
        let scratch = self.scratch();
        fs::create_dir_all(&scratch).unwrap();
        let of_home = |name: &str| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(name);
        let or = |name: &str, usual: &str| std::env::var_os(name).map_or_else(|| of_home(usual), PathBuf::from);
        let mut shell = Command::new("timeout");
        shell.args(["120", "sh", "-ec", script]).current_dir(dir).env_clear();
        shell.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &scratch).env("TMPDIR", &scratch);
        shell.env("CARGO_HOME", or("CARGO_HOME", ".cargo")).env("RUSTUP_HOME", or("RUSTUP_HOME", ".rustup"));
        shell.env("GOCACHE", self.silas.outside().join("go"));
        shell.env("MODULES", modules()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        shell.status().unwrap().success()
    }

    /// Hands in the plan and approves it, as its owner does at the terminal; gives the work when it has ended.
    fn planned(&mut self, case: &Case, dir: &Path) -> Value {
        let said = self.line.ask(&plan(case, dir));
        assert!(said.contains("is in Review"), "{}: {said}", case.name);
        let of_plan = |line: &Line| {
            let asked = |card: &&Card| card.face.kind == CardKind::Plan && card.state == CardState::Open;
            line.cards.iter().filter(asked).find(|card| card.face.asked.as_deref() == Some(&case.name)).cloned()
        };
        self.line.wait(|line| of_plan(line).is_some()).unwrap();
        let card = of_plan(&self.line).unwrap();
        let (is_recorded, said) = self.line.decide(&card, token::Verdict::Approved).unwrap();
        assert!(is_recorded, "{}: {said}", case.name);
        let of_case = |line: &Line| {
            let mut ended = line.work.values().filter(|work| work["running"] == false);
            ended.find(|work| work["title"].as_str() == Some(&case.name)).cloned()
        };
        self.line.wait(|line| of_case(line).is_some()).unwrap();
        of_case(&self.line).unwrap()
    }

    fn read(&mut self, work: &Value, verdict: &mut Verdict) {
        verdict.outcome = work["outcome"].as_str().unwrap_or_default().to_owned();
        self.line.send(&json!({ "type": "proof", "execution": work["execution"] })).unwrap();
        let proof = self.line.wait_for("proof").unwrap()["proof"].clone();
        verdict.claim = proof["claim"].as_str().unwrap_or_default().to_owned();
        let caveats = proof["caveats"].as_array().cloned().unwrap_or_default();
        verdict.caveats = caveats.iter().filter_map(|caveat| caveat.as_str().map(str::to_owned)).collect();
        verdict.was_red = proof["before"][0]["passed"].as_bool().map(|passed| !passed);
        let after = &proof["after"][0];
        let shown = |key: &str| after[key].as_str().unwrap_or_default().chars().take(400).collect::<String>();
        verdict.after = format!("{}: {}", shown("reason"), shown("output"));
        if after.is_null() {
            verdict.trouble = Some(work.to_string());
        }
    }
}

/// Where `./test` puts the modules of npm that some projects have.
fn modules() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_silas"));
    program.parent().and_then(Path::parent).unwrap().join("proof-modules/node_modules")
}

/// Why a case cannot be carried out on this machine.
pub(super) fn missing(case: &Case) -> Option<&'static str> {
    match case.needs.as_deref() {
        Some("root") if !rustix::process::geteuid().is_root() => Some("this is not root"),
        Some("mocha") if !modules().join("mocha").is_dir() => Some("mocha is not installed; ./test does that"),
        Some("env-file") if !knows_env_files() => Some("node is older than --env-file"),
        Some("root" | "mocha" | "env-file") | None => None,
        Some(other) => panic!("{}: what is {other}?", case.name),
    }
}

/// Node has `--env-file` since its version 20.
fn knows_env_files() -> bool {
    let asked = Command::new("/usr/bin/node").args(["--env-file=/dev/null", "--version"]).output();
    asked.is_ok_and(|asked| asked.status.success())
}

/// JSON's strings are YAML's, too.
fn plan(case: &Case, dir: &Path) -> String {
    let commits = if case.commits { "  commits: true\n" } else { "" };
    let declared = if case.changes.is_empty() { String::new() } else { format!("changes: {}\n", json!(case.changes)) };
    let guard = |run: &String| format!("  - name: guard\n    run: {}\n    expect: {{ exit_code: 0 }}\n", json!(run));
    let guard = case.guard.as_ref().map(guard).unwrap_or_default();
    format!(
        "---\nid: task-1\ntype: task\ntitle: {}\nsteps:\n  - run: {}\n{declared}verify:\n  - name: check\n    run: {}\n    expect: {{ \
         exit_code: 0 }}\n{guard}sandbox:\n  directories:\n    - {{ path: {}, access: write }}\n{commits}---\n{}\n",
        json!(case.name),
        json!(case.work),
        json!(case.check),
        json!(dir),
        case.name,
    )
}
