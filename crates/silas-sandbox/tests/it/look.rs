//! Looking without an approval: only below a directory whose decision holds, and never through a link.

use crate::runner::Case;
use crate::world::{World, allow};
use silas_core::evidence::Allowance;
use silas_core::roots::Access;
use silas_core::work::Directory;
use silas_sandbox::{Error, Look};
use std::fs;

pub(crate) const CASES: &[Case] =
    &[("only_what_lies_in_an_allowed_directory_is_seen", only_what_lies_in_an_allowed_directory_is_seen)];

const FILE: Look = Look::File { from_line: 1, lines: 10 };

fn only_what_lies_in_an_allowed_directory_is_seen() {
    let world = World::new();
    let launcher = world.launcher();
    let project = world.project.display().to_string();
    fs::create_dir_all(world.project.join("deep/er")).unwrap();
    fs::write(world.project.join("deep/er/note"), "one\ntwo\nthree\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.project.join("leak")).unwrap();
    std::os::unix::fs::symlink("/etc", world.project.join("way")).unwrap();
    let directory = world.definition(&[], &[]).directories.into_iter().find(|d| d.access == Access::Write).unwrap();
    let allowance = allow(&directory);
    let see = |path: &str, look| launcher.look(&allowance, path, look);

    let two = Look::File { from_line: 2, lines: 1 };
    assert_eq!(see(&format!("{project}/deep/er/note"), two).unwrap().text, "two\n");
    let names = see(&project, Look::Names { depth: 3 }).unwrap().text;
    assert!(names.contains("deep/er/note") && names.contains(" leak") && !names.contains("passwd"), "{names}");

    for elsewhere in ["/etc/passwd", &format!("{project}/../x"), &format!("{project}x/y")] {
        assert!(see(elsewhere, FILE).is_err(), "{elsewhere}");
    }
    for link in ["leak", "way/passwd", "deep", ""] {
        assert!(see(&format!("{project}/{link}"), FILE).is_err(), "{link}");
    }
    assert!(see(&format!("{project}/way"), Look::Names { depth: 1 }).is_err());

    // A decision that says something else than it was signed for is none.
    let elsewhere = Directory { path: "/etc".to_owned(), ..directory };
    let forged = Allowance { payload: allow(&elsewhere).payload, ..allowance.clone() };
    assert!(matches!(launcher.look(&forged, "/etc/passwd", FILE), Err(Error::Refused(_))));
}
