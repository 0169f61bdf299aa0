//! Secrets: set in the terminal, used by a plan that names them, listed by name, and found nowhere but in the vault.

use crate::harness::{Line, Silas, counted};
use crate::secrets::{assert_no_process_shows, finds, search_files, spelled};
use crate::typist::at_terminal;
use silas_core::card::{Card, CardKind, Risk};
use silas_core::token::Verdict;
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub(crate) const CANARY: &str = "canary-7f3a-9c41-value";

impl Silas {
    #[track_caller]
    pub(crate) fn set_secret(&self, name: &str, value: &str) {
        let (code, text) = self.command_with(&["secret", "set", name], &[], value);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains(name) && !text.contains(value), "{text}");
    }

    /// A plan that asks for the secret, prints it, and leaves its length.
    pub(crate) fn write_secret_plan(&self) -> String {
        let plan = format!(
            "---\nid: task-use-secret\ntitle: Use the secret\ntype: task\nsteps:\n  - run: 'silas-secret get mail; \
             silas-secret get mail | wc -c | tr -d \" \" > length.txt'\nexits: {{ paths: [length.txt] }}\nverify:\n  - name: it was \
             given\n    run: \"{}\"\n    expect: {{ exit_code: 0 }}\nsandbox:\n  directories:\n    - {{ path: {}, access: write \
             }}\n  secrets: [mail]\n---\nUse it.\n",
            counted(&format!("grep -q {} length.txt", CANARY.len())),
            self.repo().display()
        );
        let file = self.outside().join("plan.md");
        fs::write(&file, plan).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

/// Submits the plan and answers everything up to its own card.
pub(crate) fn secret_card(silas: &Silas, line: &mut Line) -> Card {
    let file = silas.write_secret_plan();
    let input = line.passphrase.clone().unwrap_or_default();
    let (code, text) = silas.command_with(&["plan", "submit", &file], &[], &input);
    assert_eq!(code, 0, "{text}");
    plan_card(line)
}

/// The card of a plan that was sent; its directory is allowed on the way, if that is still asked.
pub(crate) fn plan_card(line: &mut Line) -> Card {
    let is_open = |kind: CardKind| move |card: &Card| card.face.kind == kind;
    line.wait(|line| line.cards.iter().any(is_open(CardKind::Plan)) || line.cards.iter().any(is_open(CardKind::Root)))
        .unwrap();
    if !line.cards.iter().any(is_open(CardKind::Plan)) {
        line.approve(CardKind::Root).unwrap();
    }
    line.card(CardKind::Plan).unwrap()
}

#[test]
fn a_secret_is_given_to_the_plan_that_names_it_and_is_nowhere_else() {
    let mut silas = Silas::start_with_log(&[]);
    silas.pair();
    let mut line = silas.line();
    silas.set_secret("mail", CANARY);
    let card = secret_card(&silas, &mut line);
    assert_eq!(card.face.risk, Some(Risk::High));
    assert!(line.decide(&card, Verdict::Approved).unwrap().0);
    let work = line.ended().unwrap();
    assert_eq!(work["outcome"], "proved", "{work}");

    let (_, told) = silas.command(&["activity"]);
    for sentence in ["Keeps the secret mail", "Used the secret mail"] {
        assert!(told.contains(sentence), "{told}");
    }
    let (code, listed) = silas.command(&["secret", "list"]);
    assert!(code == 0 && listed.contains("mail") && listed.contains("set "), "{listed}");
    let (_, status) = silas.command(&["status"]);
    assert!(status.contains("Vault: open, 1 secret; protected by file permissions only."), "{status}");
    let (_, texts) = silas.command(&["audit", "list"]);
    assert!(texts.contains("secret_stored") && texts.contains("credential_used"), "{texts}");
    assert!(texts.contains("[secret]"), "what was printed is told without the value: {texts}");

    let canary = [spelled("the secret", CANARY.as_bytes().to_vec())];
    for printed in [&told, &listed, &status, &texts] {
        assert!(!finds(printed.as_bytes(), &canary[0]), "{printed}");
    }
    assert_no_process_shows(&silas, &canary[0]);
    let export = silas.outside().join("export");
    assert_eq!(silas.command(&["audit", "export", "--with-texts", export.to_str().unwrap()]).0, 0);
    silas.assert_ledger_holds();
    drop(line);
    silas.terminate();
    // Not even in the vault as it is: it is sealed there, and the repository has its length only.
    let mut n_files = 0;
    search_files(&silas.outside(), &silas.data().join("keys"), &canary, &mut n_files);
    assert!(n_files > 8, "{n_files}");
    let entry = silas.data().join("store/vault/mail.secret");
    assert_eq!(fs::metadata(&entry).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Silas lies where nobody but its owner may go, as it does in a home of root's: what asks for secrets inside is the same
/// program, which a cell's user could not even pass through to.
#[test]
fn a_secret_is_given_where_silas_lies_in_a_closed_directory() {
    const CLOSED: &str = "d=$(mktemp -d) && cp \"$0\" \"$d/silas\" && exec \"$d/silas\" \"$@\"";
    let home = tempfile::tempdir().unwrap();
    let silas = Silas::start_under(&["sh", "-c", CLOSED], &[("TMPDIR", home.path().to_str().unwrap())]);
    silas.set_secret("mail", CANARY);
    let mut line = silas.line();
    let card = secret_card(&silas, &mut line);
    line.decide(&card, Verdict::Approved).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
}

#[test]
fn secrets_are_removed_refused_and_replaced_in_words() {
    let silas = Silas::start();
    let (code, text) = silas.command(&["secret", "list"]);
    assert!(code == 0 && text.contains("There are no secrets"), "{text}");
    silas.set_secret("mail", "first");
    silas.set_secret("mail", CANARY);
    let (code, text) = silas.command(&["secret", "rm", "post"]);
    assert!(code != 0 && text.contains("E_VAULT_UNKNOWN"), "{text}");
    let (code, text) = silas.command(&["secret", "set", "../mail"]);
    assert!(code != 0 && text.contains("not the name of a secret"), "{text}");
    let (code, text) = silas.command_with(&["secret", "set", "mail"], &[], "\n");
    assert!(code != 0 && text.contains("no value"), "{text}");
    let (code, text) = silas.command_with(&["secret", "set", "mail"], &[], &"x".repeat(70_000));
    assert!(code != 0 && text.contains("65536 bytes"), "{text}");
    let (code, text) = silas.command(&["lock"]);
    assert!(code != 0 && text.contains("nothing to lock it with"), "{text}");

    // The value that was set last is the one that is used.
    let mut line = silas.line();
    let card = secret_card(&silas, &mut line);
    line.decide(&card, Verdict::Approved).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    let (code, text) = silas.command(&["secret", "rm", "mail"]);
    assert!(code == 0 && text.contains("mail is removed"), "{text}");
    let (_, told) = silas.command(&["activity"]);
    assert!(told.contains("Removed the secret mail"), "{told}");
    silas.assert_ledger_holds();
}

#[test]
fn what_is_typed_at_a_terminal_is_not_shown() {
    let silas = Silas::start();
    let typed = format!("{CANARY}\n");
    let (code, shown) = at_terminal(&silas, &["secret", "set", "mail"], &[("Value of mail: ", &typed)]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Value of mail: ") && shown.contains("mail is in the vault"), "{shown}");
    assert!(!shown.contains("canary"), "{shown}");
    let mut line = silas.line();
    let card = secret_card(&silas, &mut line);
    line.decide(&card, Verdict::Approved).unwrap();
    assert_eq!(line.ended().unwrap()["outcome"], "proved", "the value arrived whole");
}

/// A secret that went away between the plan and its approval is asked for, and the approval is not used up.
#[test]
fn a_secret_that_is_gone_when_the_plan_is_approved_is_asked_for() {
    let silas = Silas::start();
    silas.set_secret("mail", "first");
    let mut line = silas.line();
    let card = secret_card(&silas, &mut line);
    assert_eq!(silas.command(&["secret", "rm", "mail"]).0, 0);
    let (recorded, message) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(!recorded && message.contains("the vault has none of that name"), "{message}");
    let asked = line.card(CardKind::SecureInput).unwrap();
    assert_eq!((asked.face.risk, asked.offer.is_none()), (None, true));
    silas.set_secret("mail", CANARY);
    line.wait(|line| !line.cards.iter().any(|card| card.face.kind == CardKind::SecureInput)).unwrap();
    let (recorded, message) = line.decide(&card, Verdict::Approved).unwrap();
    assert!(recorded, "{message}");
    assert_eq!(line.ended().unwrap()["outcome"], "proved");
    silas.assert_ledger_holds();
}

#[test]
fn a_damaged_vault_is_an_error_and_never_a_new_one() {
    let mut silas = Silas::start();
    silas.set_secret("mail", CANARY);
    silas.terminate();
    let lock = silas.data().join("store/vault/lock.json");
    let sound = fs::read(&lock).unwrap();
    for damage in [Some(&sound[..20]), None] {
        match damage {
            Some(bytes) => fs::write(&lock, bytes).unwrap(),
            None => fs::remove_file(&lock).unwrap(),
        }
        silas.up(&[]);
        silas.await_death();
        let (_, found) = silas.command(&["doctor"]);
        assert!(damage.is_none() || found.contains("lock.json is damaged"), "{found}");
        assert_eq!(fs::read(&lock).ok().as_deref(), damage);
    }
    fs::write(&lock, sound).unwrap();
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o600)).unwrap();
    silas.up(&[]);
    assert!(silas.command(&["secret", "list"]).1.contains("mail"));
}

/// A single command with a host asks for no passkey, because it can carry no secret there: nobody gives it one.
#[test]
fn a_single_command_has_no_secret_to_carry_to_a_host() {
    let silas = Silas::start();
    silas.set_secret("mail", CANARY);
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("127.0.0.1:{}", outside.local_addr().unwrap().port());
    let script = "command -v silas-secret; silas-secret get mail; ls /run; env; echo looked";
    let (code, text) = silas.command(&["sandbox", "--host", &host, "--", "sh", "-c", script]);
    assert!(code == 0 && text.contains("looked"), "{text}");
    assert!(!text.contains(CANARY) && !text.contains("/silas-secret"), "{text}");
    let (code, text) = silas.command(&["sandbox", "--host", &host, "--secret", "mail", "--", "true"]);
    assert!(code != 0 && text.contains("unexpected argument"), "{text}");
}
