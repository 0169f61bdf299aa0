//! A Silas to talk to, on a temporary directory, that reads like a conversation: as a process of its own ([`Silas`]), or in
//! this one, by a clock that can be moved ([`TestSilas`]).

mod device;
mod here;
mod line;
mod process;

pub(crate) use device::{Device, proof};
pub(crate) use here::TestSilas;
pub(crate) use line::{Gone, Line};

use silas_core::message::{MessageBody, OWNER_SCOPE};
use silas_core::{Clock, InstallationId, Nonce, Random, Timestamp};
use silas_sandbox::SystemClock;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Generous: a loaded machine is slow, a hang is forever.
const PATIENCE: Duration = Duration::from_secs(180);

/// The program. The keyring of whoever runs the tests is not theirs to touch.
pub(crate) fn binary() -> Command {
    binary_under(&[])
}

fn binary_under(under: &[&str]) -> Command {
    let mut words = under.iter().copied().chain([env!("CARGO_BIN_EXE_silas")]);
    let mut silas = Command::new(words.next().unwrap());
    silas.args(words);
    silas.env("SILAS__KEYS__KEYRING", "false");
    // A page of a test says nothing while something else is looked at, and a loaded machine takes its time.
    silas.env("SILAS__LIMITS__WS_BEAT_SECONDS", "300");
    silas
}

pub(crate) struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).unwrap();
    }
}

pub(crate) fn now() -> Timestamp {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    Timestamp::from_micros(micros.try_into().unwrap())
}

/// What repairs the repository. Whoever types the names of the files has said that they may change.
pub(crate) const FIX: &str = "sh fix.sh src/a.txt src/b.txt gone.txt more/c.txt";

/// Says test by test what it found, so that its tests are counted.
const CHECK: &str = "\
n=0
look() { n=$((n + 1)); says=$1; shift; if \"$@\"; then echo \"ok $n - $says\"; else echo \"not ok $n - $says\"; failed=1; fi; }
look 'a is new' grep -q new src/a.txt
look 'b is new' grep -q new src/b.txt
look 'gone is gone' test ! -e gone.txt
echo 1..3
exit ${failed:-0}
";

/// A check by exit code as one test that is counted; the repository's own counts already.
pub(crate) fn counted(check: &str) -> String {
    if check == "sh check.sh" {
        return check.to_owned();
    }
    format!("echo 1..1; {check} && echo ok 1 - it holds || ! echo not ok 1 - it holds")
}

/// The setting with which each plan asks first.
pub(crate) const ASKING: (&str, &str) = ("SILAS__APPROVAL__REHEARSE_FIRST", "false");

/// Where one installation lives, beside a small repository with a failing check, which `sh fix.sh` repairs by changing
/// three files.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    /// By which whoever talks to it dates messages.
    clock: Arc<dyn Clock>,
}

/// An installation whose server is a process of its own.
pub(crate) struct Silas {
    place: Place,
    child: Option<Child>,
    env: Vec<(String, String)>,
    started_in: PathBuf,
    /// Where the log goes; the test's own error output otherwise.
    log: Option<PathBuf>,
    /// A program that starts the server, with its arguments.
    under: &'static [&'static str],
}

impl std::ops::Deref for Silas {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

impl Silas {
    pub(crate) fn start() -> Self {
        Silas::start_with(&[])
    }

    /// For stories about the plan's own card: each plan asks first, also where the house rules would let it be rehearsed.
    pub(crate) fn start_asking() -> Self {
        Silas::start_with(&[ASKING])
    }

    /// Starts with settings, as `("SILAS__UNDO__WINDOW_SECONDS", "1")`.
    pub(crate) fn start_with(env: &[(&str, &str)]) -> Self {
        let place = Place::new();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = Silas { place, child: None, env, started_in: PathBuf::from("/"), log: None, under: &[] };
        silas.up(&[]);
        silas
    }

    /// Starts with settings, after `prepare` was at the data directory.
    pub(crate) fn prepared(env: &[(&str, &str)], prepare: impl FnOnce(&Path)) -> Self {
        let place = Place::new();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = Silas { place, child: None, env, started_in: PathBuf::from("/"), log: None, under: &[] };
        prepare(&silas.data());
        silas.up(&[]);
        silas
    }

    /// Started beside its repository, as a person would; otherwise it starts at the root and is offered no directory.
    pub(crate) fn start_in_its_place() -> Self {
        let place = Place::new();
        let started_in = place.dir.path().to_owned();
        let mut silas = Silas { place, child: None, env: Vec::new(), started_in, log: None, under: &[] };
        silas.up(&[]);
        silas
    }

    /// Started in its repository, with settings: that directory is offered before anybody asks for anything.
    pub(crate) fn start_in_its_repository(env: &[(&str, &str)]) -> Self {
        let place = Place::new();
        let started_in = place.dir.path().join("repo");
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = Silas { place, child: None, env, started_in, log: None, under: &[] };
        silas.up(&[]);
        silas
    }

    /// With settings, and everything that it logs in a file beside its data.
    pub(crate) fn start_with_log(env: &[(&str, &str)]) -> Self {
        let place = Place::new();
        let log = Some(place.dir.path().join("log"));
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = Silas { place, child: None, env, started_in: PathBuf::from("/"), log, under: &[] };
        silas.up(&[]);
        silas
    }

    /// Started by another program, as `setpriv`.
    pub(crate) fn start_under(under: &'static [&'static str], env: &[(&str, &str)]) -> Self {
        let place = Place::new();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut silas = Silas { place, child: None, env, started_in: PathBuf::from("/"), log: None, under };
        silas.up(&[]);
        silas
    }
}

impl Place {
    fn new() -> Self {
        Place::with_clock(|_| Arc::new(SystemClock))
    }

    fn with_clock(clock: impl FnOnce(&Path) -> Arc<dyn Clock>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = clock(dir.path());
        let place = Place { dir, clock };
        place.write_repository();
        place
    }

    pub(crate) fn line(&self) -> Line {
        Line::open_by(self.clock.clone(), &self.data()).unwrap()
    }

    fn write_repository(&self) {
        let repo = self.repo();
        fs::create_dir_all(repo.join("src")).unwrap();
        fs::write(repo.join("src/a.txt"), "old a\n").unwrap();
        fs::write(repo.join("src/b.txt"), "old b\n").unwrap();
        fs::write(repo.join("gone.txt"), "to be deleted\n").unwrap();
        fs::write(
            repo.join("fix.sh"),
            "printf 'new a\\n' > src/a.txt; printf 'new b\\n' > src/b.txt; rm gone.txt; mkdir -p more; echo c > more/c.txt\n",
        )
        .unwrap();
        fs::write(repo.join("check.sh"), CHECK).unwrap();
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("data")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn wish(&self) -> String {
        format!("run `{FIX}` in `{}` and check with `sh check.sh`", self.repo().display())
    }

    /// A plan of the owner's for the repository: one command, what it may change, and one check whose test is counted.
    pub(crate) fn planned(&self, run: &str, changes: &[&str], check: &str) -> String {
        self.planned_with(run, changes, check, &[&self.repo()], "")
    }

    /// The same for these directories, with more under `sandbox`; each is a plan of its own.
    pub(crate) fn planned_with(&self, run: &str, changes: &[&str], check: &str, dirs: &[&Path], more: &str) -> String {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let dirs: String = dirs
            .iter()
            .map(|dir| format!("    - {{ path: {}, access: write }}\n", quoted(dir.to_str().unwrap())))
            .collect();
        format!(
            "---\nid: task-{}\ntype: task\ntitle: {}\nbudget: {{ max_wall_time_seconds: 300 }}\nchanges: {}\nsteps:\n  - run: {}\nverify:\n  - name: it holds\n    run: {}\n    \
             expect: {{ exit_code: 0 }}\nsandbox:\n{more}  directories:\n{dirs}---\n\nDo this.\n",
            NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            quoted(&run.chars().take(60).collect::<String>()),
            serde_json::to_string(changes).unwrap(),
            quoted(run),
            quoted(&counted(check)),
        )
    }

    /// Every file of the repository with its content.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(dir: &Path, base: &Path, tree: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(base).unwrap().to_owned();
                if name.to_string_lossy().starts_with(".silas-") {
                    continue;
                }
                if path.is_dir() {
                    walk(&path, base, tree);
                } else {
                    tree.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        let mut tree = BTreeMap::new();
        walk(&self.repo(), &self.repo(), &mut tree);
        tree
    }

    #[track_caller]
    pub(crate) fn assert_old_or_new(&self, original: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
        let tree = self.tree();
        if tree.get(Path::new("src/a.txt")).unwrap() == b"new a\n" {
            assert_eq!(tree.get(Path::new("src/b.txt")).unwrap(), b"new b\n", "{when}: a mix");
            assert!(!tree.contains_key(Path::new("gone.txt")) && tree.contains_key(Path::new("more/c.txt")), "{when}");
        } else {
            assert_eq!(&tree, original, "{when}: a mix");
        }
    }

    pub(crate) fn port(&self) -> u16 {
        let address = fs::read_to_string(self.data().join("run/address")).unwrap();
        address.rsplit(':').next().unwrap().trim().parse().unwrap()
    }

    /// Pairs a browser that signs the house rules.
    pub(crate) fn pair(&self) -> Device {
        let device = Device::new();
        let code = silas_sandbox::terminal_pairing_code(&self.data()).unwrap();
        let (status, body) = device.pair(self.port(), &code);
        assert_eq!(status, 200, "{body}");
        device
    }

    /// Runs a command of the binary and gives its exit code and everything it printed.
    pub(crate) fn command(&self, args: &[&str]) -> (i32, String) {
        self.command_with(args, &[], "")
    }

    /// The same with variables and with something piped in.
    pub(crate) fn command_with(&self, args: &[&str], env: &[(&str, &str)], input: &str) -> (i32, String) {
        let mut child = binary()
            .arg("--data-dir")
            .arg(self.data())
            .args(args.iter().flat_map(|arg| ["--"].into_iter().filter(|_| arg.starts_with("---")).chain([*arg])))
            .current_dir("/")
            // What this account has seen of the ledger stays in the test's own directory.
            .env("XDG_STATE_HOME", self.outside().join("state"))
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), text)
    }

    /// The newest proof as a file, which whoever knows the root key can verify.
    #[track_caller]
    pub(crate) fn assert_proof_travels(&self) {
        let file = self.outside().join("proof.json").to_str().unwrap().to_owned();
        let (code, text) = self.command(&["work", "proof", "--out", &file]);
        assert_eq!(code, 0, "{text}");
        let (_, root) = self.command(&["key", "root"]);
        let (code, text) = self.command(&["verify", &file, "--key", root.trim()]);
        assert!(code == 0 && text.starts_with("VERIFIED. "), "{code} {text}");
    }

    #[track_caller]
    pub(crate) fn assert_ledger_holds(&self) {
        let (code, text) = self.command(&["audit", "verify"]);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("unbroken"), "{text}");
    }
}

fn message_body(text: &str, installation: InstallationId, timestamp: Timestamp) -> MessageBody {
    MessageBody {
        text: text.to_owned(),
        timestamp,
        nonce: Nonce::new(&OsRandom),
        installation,
        scope: OWNER_SCOPE.to_owned(),
    }
}

/// What `silas plan check` says about a plan with this line in its front matter: whether it is sound, and its words.
pub(crate) fn plan_check(line: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.md");
    fs::write(&file, format!("---\nid: task-1\ntype: task\ntitle: Tidy\n{line}\n---\nProse.\n")).unwrap();
    let output = binary().args(["plan", "check"]).arg(&file).current_dir("/").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}
