//! Secrets: a program gets the value of what its plan names, and of nothing else.

use crate::ground::{Ground, PYTHON, run as run_alone, text};
use crate::internet::{Log, VALUE};
use crate::needs_python;
use crate::runner::{Case, Shown};
use silas_core::check::Ended;
use silas_core::secret::SecretRef;
use silas_sandbox::cell::{self, Brokers, CellOutcome, CellSpec, Error, SECRET_PROGRAM_DIR};

pub(crate) const CASES: &[Case] = &[
    ("asked_for_by_name", asked_for_by_name),
    ("not_in_the_plan", not_in_the_plan),
    ("unknown_to_silas", unknown_to_silas),
    ("without_any_secret", without_any_secret),
    ("by_talking_to_the_socket", by_talking_to_the_socket),
    ("lying_around", lying_around),
    ("without_being_written_down", without_being_written_down),
];

fn spec(ground: &Ground, secrets: &[&str], argv: &[&str]) -> CellSpec {
    let mut spec = ground.spec(argv);
    spec.env[0].1 = format!("/usr/bin:/bin:{SECRET_PROGRAM_DIR}");
    spec.secrets = secrets.iter().map(|name| SecretRef::parse(name).unwrap()).collect();
    spec
}

fn run(spec: &CellSpec) -> (CellOutcome, Vec<String>) {
    let mut log = Log::default();
    let outcome = cell::run_with(
        spec,
        cell::Streams::Kept,
        None,
        Brokers { outside: &mut log, resolver: &cell::system_resolver },
    );
    (outcome.unwrap_or_else(|e| panic!("{}: {e}", e.code())), log.asked)
}

fn sh(ground: &Ground, secrets: &[&str], script: &str) -> (CellOutcome, Vec<String>) {
    run(&spec(ground, secrets, &["/bin/sh", "-c", script]))
}

fn asked_for_by_name(ground: &Ground) -> Shown {
    let (outcome, asked) = sh(ground, &["github", "other"], "silas-secret get github && silas-secret get github");
    assert_eq!(outcome.ended, Ended::Exited(0), "{}", text(&outcome.stderr));
    assert_eq!(outcome.stdout, [VALUE, VALUE].concat());
    assert_eq!(asked, ["github", "github"]);
    Shown::Held
}

fn not_in_the_plan(ground: &Ground) -> Shown {
    let (outcome, asked) = sh(ground, &["other"], "silas-secret get github");
    assert_eq!(outcome.ended, Ended::Exited(1));
    assert_eq!(outcome.stdout, b"");
    let said = "silas-secret: The plan does not name the secret github, so it cannot be used here.";
    assert_eq!(text(&outcome.stderr), said);
    assert_eq!(asked, [""; 0]);
    Shown::Held
}

fn unknown_to_silas(ground: &Ground) -> Shown {
    let (outcome, asked) = sh(ground, &["other"], "silas-secret get other");
    assert_eq!(outcome.ended, Ended::Exited(1));
    assert_eq!(text(&outcome.stderr), "silas-secret: Silas has no secret called other that it can open now.");
    assert_eq!(asked, ["other"]);
    for misuse in ["silas-secret", "silas-secret put other", "silas-secret get a b"] {
        let (outcome, asked) = sh(ground, &["other"], misuse);
        assert_eq!((outcome.ended, asked.len()), (Ended::Exited(2), 0), "{misuse}");
    }
    Shown::Held
}

fn without_any_secret(ground: &Ground) -> Shown {
    let outcome = run_alone(&spec(ground, &[], &["/bin/sh", "-c", "ls /run 2>&1; silas-secret get github"]));
    assert_eq!(outcome.ended, Ended::Exited(127), "{}", text(&outcome.stdout));
    Shown::Held
}

fn by_talking_to_the_socket(ground: &Ground) -> Shown {
    needs_python!();
    let code = "import socket, os
def ask(question):
    s = socket.socket(socket.AF_UNIX); s.connect('/run/silas/secret.sock'); s.settimeout(100)
    data = b''
    try:
        s.sendall(question); s.shutdown(socket.SHUT_WR)
        while True:
            some = s.recv(4096)
            if not some: return data[:3]
            data += some
    except OSError: return data[:3]
print(ask(b'get github\\n'), ask(b'get ../github\\n'), ask(b'get \\xff\\n'), ask(b'get gith'), ask(b'x' * 5000), ask(b'get github\\nget other\\n'))
idle = [socket.socket(socket.AF_UNIX) for _ in range(8)]
for s in idle: s.connect('/run/silas/secret.sock')
print(ask(b'get github\\n'))
for act in [lambda: os.unlink('/run/silas/secret.sock'), lambda: open('/run/silas/silas-secret', 'ab')]:
    try: act(); print('changed')
    except OSError: print('refused')
";
    let (outcome, asked) = run(&spec(ground, &["github", "other"], &[PYTHON, "-c", code]));
    let expected = "b'ok\\n' b'no ' b'' b'' b'' b'no '\nb'ok\\n'\nrefused\nrefused";
    assert_eq!(text(&outcome.stdout), expected, "{}", text(&outcome.stderr));
    assert_eq!(asked, ["github", "github"]);
    Shown::Held
}

/// The value is nowhere until it is asked for.
fn lying_around(ground: &Ground) -> Shown {
    let script = "env; cat /proc/*/environ /proc/*/cmdline /run/silas/secret.sock 2>/dev/null; ls -R /run /tmp";
    let (outcome, asked) = sh(ground, &["github"], script);
    assert!(!text(&outcome.stdout).contains("s3cret"), "{}", text(&outcome.stdout));
    assert_eq!(asked, [""; 0]);
    Shown::Held
}

fn without_being_written_down(ground: &Ground) -> Shown {
    let spec = spec(ground, &["github"], &["/bin/sh", "-c", "silas-secret get github; sleep 60"]);
    let error = cell::run(&spec, None).unwrap_err();
    assert!(matches!(error, Error::Unrecorded), "{error}");
    Shown::Held
}
