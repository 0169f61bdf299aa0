//! A cut end and an old copy show against what this account has seen, and against a witness from elsewhere.

use crate::harness::Silas;
use std::path::Path;
use std::process::Command;

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

/// Cuts the last entries together with everything in the file that could tell of them.
fn cut_the_end(silas: &Silas) {
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.execute_batch(
        "DROP TRIGGER ledger_is_not_cut; DROP TRIGGER checkpoints_are_not_deleted;
         DELETE FROM ledger WHERE seq > 3; DELETE FROM checkpoints WHERE seq > 3;
         DELETE FROM settings WHERE key = 'verified_prefix';
         DELETE FROM chronicle WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE instr(body, chronicle.id));
         DELETE FROM cards WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE instr(body, cards.id));",
    )
    .unwrap();
}

#[test]
fn a_cut_end_is_noticed_by_whoever_has_seen_it() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    let (code, text) = silas.command(&["activity"]);
    assert_eq!(code, 0, "{text}");
    silas.terminate();
    silas.assert_ledger_holds();
    cut_the_end(&silas);
    let (code, text) = silas.command(&["audit", "verify"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("DOES NOT CONTINUE") && text.contains("ends at entry 3"), "{text}");
    // Also when it has grown past that again: the entry is another one.
    silas.up(&[]);
    for _ in 0..8 {
        silas.line().ask("hello");
    }
    for command in [&["status"][..], &["activity"], &["audit", "verify", "--new"]] {
        let (code, text) = silas.command(command);
        assert_eq!(code, 1, "{text}");
        assert!(text.contains("DOES NOT CONTINUE"), "{text}");
    }
}

#[test]
fn an_end_that_was_cut_without_its_checkpoint_shows_by_itself() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    silas.terminate();
    let db = rusqlite::Connection::open(silas.data().join("store/agent.sqlite")).unwrap();
    db.execute_batch("DROP TRIGGER ledger_is_not_cut; DELETE FROM ledger WHERE seq > 3;").unwrap();
    let (code, text) = silas.command(&["audit", "verify"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("its end was cut off"), "{text}");
}

#[test]
fn an_old_copy_is_noticed() {
    let mut silas = Silas::start();
    drop(silas.line());
    silas.terminate();
    let old = silas.outside().join("old");
    copy(&silas.data(), &old);
    silas.up(&[]);
    silas.line().ask("hello");
    let (code, text) = silas.command(&["status"]);
    assert_eq!(code, 0, "{text}");
    silas.terminate();
    std::fs::remove_dir_all(silas.data()).unwrap();
    copy(&old, &silas.data());
    let (code, text) = silas.command(&["audit", "verify"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("old copy of the data directory"), "{text}");
    let (code, text) = silas.command(&["backup", silas.outside().join("b").to_str().unwrap()]);
    assert_eq!(code, 1, "{text}");
}

#[test]
fn a_witness_from_elsewhere_is_asked() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    assert_eq!(silas.command(&["status"]).0, 0);
    silas.terminate();
    let state = silas.outside().join("state/silas");
    let seen = std::fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().path());
    let seen = seen.into_iter().find(|path| path.extension().is_some_and(|end| end == "head")).unwrap();
    let witness = silas.outside().join("witness");
    std::fs::rename(seen, &witness).unwrap();
    let ask = |silas: &Silas| silas.command(&["audit", "verify", "--witness", witness.to_str().unwrap()]);
    let (code, text) = ask(&silas);
    assert_eq!(code, 0, "{text}");
    cut_the_end(&silas);
    // This account has forgotten what it saw of the cut ledger; the witness has not.
    std::fs::remove_dir_all(state).unwrap();
    let (code, text) = ask(&silas);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("The witness is"), "{text}");
}

/// A command on another data directory of the same account.
fn at(silas: &Silas, data: &Path, args: &[&str]) -> (i32, String) {
    let output = crate::harness::binary()
        .arg("--data-dir")
        .arg(data)
        .args(args)
        .env("XDG_STATE_HOME", silas.outside().join("state"))
        .current_dir("/")
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), text)
}

#[test]
fn a_backup_that_is_tried_out_elsewhere_disturbs_nobody() {
    let silas = Silas::start();
    silas.line().ask("hello");
    let (backup, scratch) = (silas.outside().join("a.bak"), silas.outside().join("scratch"));
    assert_eq!(silas.command(&["backup", backup.to_str().unwrap()]).0, 0);
    let (code, text) = at(&silas, &scratch, &["restore", backup.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    silas.line().ask("hello again");
    for args in [&["status"][..], &["audit", "verify"], &["backup", silas.outside().join("b.bak").to_str().unwrap()]] {
        let (code, text) = silas.command(args);
        assert_eq!(code, 0, "{args:?}: {text}");
    }
    let (code, text) = at(&silas, &scratch, &["audit", "verify"]);
    assert_eq!(code, 0, "{text}");
    silas.assert_ledger_holds();
}

#[test]
fn a_directory_that_is_moved_keeps_its_history() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    silas.terminate();
    let (old, moved) = (silas.outside().join("old"), silas.outside().join("moved"));
    copy(&silas.data(), &old);
    silas.up(&[]);
    silas.line().ask("hello");
    assert_eq!(silas.command(&["status"]).0, 0);
    silas.terminate();
    std::fs::rename(silas.data(), &moved).unwrap();
    let (code, text) = at(&silas, &moved, &["audit", "verify"]);
    assert_eq!(code, 0, "{text}");
    // An old copy is one wherever it lies.
    let (code, text) = at(&silas, &old, &["audit", "verify"]);
    assert!(code == 1 && text.contains("old copy of the data directory"), "{text}");
}

#[test]
fn going_back_past_a_restore_is_noticed_and_can_be_accepted() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    let backup = silas.outside().join("a.bak");
    assert_eq!(silas.command(&["backup", backup.to_str().unwrap()]).0, 0);
    silas.terminate();
    let old = silas.outside().join("old");
    copy(&silas.data(), &old);
    let (code, text) = silas.command(&["restore", backup.to_str().unwrap(), "--replace"]);
    assert_eq!(code, 0, "{text}");
    silas.assert_ledger_holds();
    std::fs::remove_dir_all(silas.data()).unwrap();
    copy(&old, &silas.data());
    let (code, text) = silas.command(&["audit", "verify"]);
    assert!(code == 1 && text.contains("DOES NOT CONTINUE") && text.contains("silas audit accept"), "{text}");
    let (code, text) = silas.command(&["doctor"]);
    assert!(code == 1 && text.contains("silas audit accept"), "{text}");
    let (code, text) = silas.command(&["audit", "accept"]);
    assert!(code == 1 && text.contains("DOES NOT CONTINUE"), "{text}");
    assert_eq!(silas.command(&["audit", "verify"]).0, 1, "looking accepts nothing");
    let (code, text) = silas.command(&["audit", "accept", "--yes"]);
    assert!(code == 0 && text.contains("Accepted"), "{text}");
    silas.assert_ledger_holds();
    let (code, text) = silas.command(&["audit", "accept"]);
    assert!(code == 0 && text.contains("nothing to accept"), "{text}");
}

#[test]
fn what_an_earlier_version_has_seen_still_counts() {
    let mut silas = Silas::start();
    silas.line().ask("hello");
    assert_eq!(silas.command(&["status"]).0, 0);
    silas.terminate();
    // One head for the installation, wherever it lay.
    let state = silas.outside().join("state/silas");
    let line = std::fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().path());
    let line = line.into_iter().find(|path| path.to_string_lossy().ends_with(".1.head")).unwrap();
    let only = line.to_string_lossy().replace(".1.head", ".head");
    std::fs::rename(&line, &only).unwrap();
    std::fs::remove_file(only.replace(".head", ".places")).unwrap();
    let seen = std::fs::read(&only).unwrap();
    silas.assert_ledger_holds();
    assert!(line.exists() && !Path::new(&only).exists(), "taken over");
    cut_the_end(&silas);
    for entry in [line.to_string_lossy().into_owned(), only.replace(".head", ".places")] {
        std::fs::remove_file(entry).unwrap();
    }
    std::fs::write(&only, seen).unwrap();
    let (code, text) = silas.command(&["audit", "verify"]);
    assert!(code == 1 && text.contains("DOES NOT CONTINUE"), "{text}");
}

/// INV-01: the server's key signs heads of the ledger. A decision that it signs is a stranger's.
#[test]
fn the_server_key_decides_nothing() {
    use silas_core::card::CardKind;
    use silas_core::token::Verdict;
    let silas = Silas::start();
    let bytes = std::fs::read(silas.data().join("store/server.key")).unwrap();
    let server = crate::harness::Device::from_seed(bytes[8..].try_into().unwrap());
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    let card = line.card(CardKind::Root).unwrap();
    let token = server.answer(card.offer.as_ref().unwrap(), Verdict::Approved);
    let (recorded, message) = line.submit(&card, &token).unwrap();
    assert!(!recorded && message.contains("not paired"), "{message}");
}
