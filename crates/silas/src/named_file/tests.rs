//! What is said of a file that cannot be made names what is in the way.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_file_that_cannot_be_made_says_what_is_in_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let made = make(&at("new.json")).unwrap();
    assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let said = |name: &str| make(&at(name)).unwrap_err().to_string();
    let shown = |name: &str| at(name).display().to_string();
    assert_eq!(
        said("new.json"),
        format!("Nothing was written: {} is there already. Name a file that is not there yet.", shown("new.json"))
    );
    assert_eq!(
        said("nope/x.json"),
        format!(
            "Nothing was written: there is no directory {}. Make it first, or name a file elsewhere.",
            shown("nope")
        )
    );
    assert_eq!(
        said("new.json/x.json"),
        format!("Nothing was written: {} is not a directory. Name a file elsewhere.", shown("new.json"))
    );
}
