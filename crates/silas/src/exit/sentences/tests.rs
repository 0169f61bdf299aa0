//! What a chain of causes reads like.

use super::{apart, sentences};
use anyhow::anyhow;

#[track_caller]
fn check(cause: anyhow::Error, expect: &str) {
    assert_eq!(sentences(&cause), expect);
}

#[test]
fn causes_are_sentences() {
    let missing = || std::io::Error::from_raw_os_error(2);
    check(
        anyhow!(missing()).context("/nope cannot be opened.").context("Nothing was restored, and nothing was changed."),
        "Nothing was restored, and nothing was changed. /nope cannot be opened. No such file or directory.",
    );
    check(anyhow!("it is locked").context("The vault stays locked"), "The vault stays locked. It is locked.");
    check(anyhow!("file is not a database").context("The database answered: file is not a database"), {
        "The database answered: file is not a database."
    });
    check(anyhow!("silas.yaml is odd"), "silas.yaml is odd.");
    let named = || super::super::Unreadable::new(std::path::Path::new("ff"), &missing());
    check(anyhow!(named()), "ff cannot be read: there is no such file or directory.");
    check(anyhow!(named()).context("nothing was done"), {
        "Nothing was done. ff cannot be read: there is no such file or directory."
    });
    check(anyhow!("Wrong. (E_CFG_VALUE)"), "Wrong. (E_CFG_VALUE)");
}

#[test]
fn a_code_stands_last() {
    assert_eq!(apart("Locked. (E_VAULT_LOCKED)"), ("Locked.", Some("E_VAULT_LOCKED")));
    assert_eq!(apart("Locked (for now)"), ("Locked (for now)", None));
    assert_eq!(apart("One. (E_A)\nTwo. (E_B)"), ("One. (E_A)\nTwo. (E_B)", None));
}
