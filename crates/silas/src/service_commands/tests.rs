//! The unit is what systemd takes, for any path.

use super::*;

#[test]
fn a_path_is_one_word_whatever_is_in_it() {
    let check = |path: &str, expected: &str| assert_eq!(word(Path::new(path)).unwrap(), expected);
    check("/usr/bin/silas", "\"/usr/bin/silas\"");
    check("/home/a b/100% \"x\"/$HOME", "\"/home/a b/100%% \\\"x\\\"/$$HOME\"");
    assert!(word(Path::new("/a\nExecStartPre=/b")).is_err());
}

#[test]
fn systemd_takes_the_unit() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("my data");
    fs::create_dir(&data).unwrap();
    let text = unit(Path::new("/bin/true"), Some(&data), None).unwrap();
    assert!(text.contains("NoNewPrivileges=yes") && text.contains("my data\" start --quiet --log json"), "{text}");
    // What would take the sandbox its means.
    let set = |name: &str| text.lines().any(|line| line.starts_with(&format!("{name}=")));
    for deadly in ["RestrictNamespaces", "PrivateUsers", "ProtectSystem", "PrivateTmp", "SystemCallFilter"] {
        assert!(!set(deadly), "{deadly}");
    }
    let file = dir.path().join("silas.service");
    fs::write(&file, &text).unwrap();
    // Reads the unit and nothing else: no running systemd is needed for it.
    let verified = std::process::Command::new("systemd-analyze")
        .args(["--user", "verify", "--man=no"])
        .arg(&file)
        .env("XDG_RUNTIME_DIR", dir.path())
        .env("HOME", dir.path())
        .output()
        .expect("systemd-analyze, of Debian's package systemd, is needed for this; `./test` installs it");
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_it = said.lines().any(|line| line.contains("silas.service"));
    assert!(verified.status.success() && !about_it, "{said}");
}
