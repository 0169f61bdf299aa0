//! Every failure of the store is told under its own code, as what it is.

use super::*;
use silas_store::Error;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

fn told(cause: Error) -> Trouble {
    let code = cause.code();
    let trouble = Trouble::from(cause);
    assert_eq!(trouble.code, code);
    assert!(!trouble.message.is_empty() && !trouble.todo.is_empty() && !trouble.to_string().contains('/'), "{trouble}");
    trouble
}

#[test]
fn each_failure_of_the_store_keeps_its_code_and_says_what_to_do() {
    let damaged = told(Error::Damaged { what: "a card of Review", reason: "expected value at line 1".to_owned() });
    assert_eq!(damaged.code, "E_DB_DAMAGED");
    assert!(
        damaged.message.starts_with("A card of Review cannot be read")
            && damaged.todo.contains("`silas restore FILE --replace`"),
        "{damaged}"
    );
    assert!(!damaged.to_string().contains("try again"), "{damaged}");

    let path = || PathBuf::from("/home/me/secret");
    let closed = || io::Error::from(ErrorKind::PermissionDenied);
    for (cause, word) in [
        (Error::Busy, "busy"),
        (Error::Full, "full"),
        (Error::File { path: path(), source: io::Error::from(ErrorKind::StorageFull) }, "full"),
        (Error::File { path: path(), source: closed() }, "silas doctor"),
        (Error::NoDatabase { path: path() }, "silas doctor"),
        (Error::NotReadableHere { path: path() }, "silas doctor"),
        (Error::AlreadyRunning { dir: path() }, "already runs"),
        (Error::ForeignDatabase, "not Silas's"),
        (Error::MigrationUnknown { number: 99, name: "x".to_owned() }, "another version"),
        (Error::MigrationAltered { number: 9, name: "x".to_owned() }, "another version"),
        (Error::MigrationMissing { number: 9, name: "x".to_owned() }, "older version"),
        (Error::MigrationFailed { kept: path(), cause: Box::new(Error::Full) }, "as it was before"),
        (Error::Closed, "Start it again"),
        (Error::Panicked, "bug"),
        (Error::NotWritten { reason: "x".to_owned() }, "was undone"),
        (Error::Statement { sql: "SELECT 1", reason: "x" }, "was undone"),
        (Error::Missing { what: "card", id: "card_1".to_owned() }, "not there any more"),
        (Error::TextTooLong { n_bytes: 9, max: 8 }, "too long"),
    ] {
        let told = told(cause).to_string();
        assert!(told.contains(word), "{word}: {told}");
    }
}
