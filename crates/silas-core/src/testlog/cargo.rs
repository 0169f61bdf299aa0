//! Reads the output of libtest, section by section. A section that was begun and not ended is no evidence: the code under
//! test left early.

use super::{TestLog, Verdict};
use std::collections::BTreeSet;

struct Section {
    announced: usize,
    tests: Vec<(String, Verdict)>,
}

pub(super) fn read(stdout: &str) -> Result<TestLog, String> {
    let mut log = TestLog::default();
    let mut open: Option<Section> = None;
    let mut n_sections = 0;
    for line in stdout.lines() {
        if let Some(announced) = announced(line) {
            if open.is_some() {
                return Err(left_early());
            }
            open = Some(Section { announced, tests: Vec::new() });
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            n_sections += 1;
            let section = open.take().ok_or_else(|| "A test result without tests".to_owned())?;
            close(section, counts, n_sections, &mut log)?;
        } else if let (Some(section), Some(test)) = (&mut open, test(line)) {
            section.tests.push(test);
        }
    }
    if open.is_some() { Err(left_early()) } else { Ok(log) }
}

/// Where the tests are that are no part of the sources, as cargo names them while it runs them: "Running checks/adds.rs
/// (target/debug/deps/adds-1f)". What lies beside such a file is part of it.
pub(super) fn files(stderr: &str) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for line in stderr.lines() {
        let Some(rest) = line.trim_start().strip_prefix("Running ") else { continue };
        let Some((file, _)) = rest.rsplit_once(" (").filter(|_| !rest.starts_with("unittests ")) else { continue };
        if let Some((directory, _)) = file.rsplit_once('/').filter(|(directory, _)| !directory.starts_with("src")) {
            files.insert(format!("{directory}/"));
        }
        files.insert(file.to_owned());
    }
    files
}

fn left_early() -> String {
    "The tests ended before they were through".to_owned()
}

/// "running 3 tests".
fn announced(line: &str) -> Option<usize> {
    let (n, noun) = line.strip_prefix("running ")?.split_once(' ')?;
    if matches!(noun, "test" | "tests") { n.parse().ok() } else { None }
}

/// "test name ... ok".
fn test(line: &str) -> Option<(String, Verdict)> {
    let (name, said) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let verdict = match said {
        "ok" => Verdict::Passed,
        "FAILED" => Verdict::Failed,
        _ if said.starts_with("ignored") => Verdict::Skipped,
        // With `--show-output` and times: "ok <0.001s>".
        _ if said.starts_with("ok <") => Verdict::Passed,
        _ if said.starts_with("FAILED <") => Verdict::Failed,
        _ => return None,
    };
    // A documentation test is called by its line, which moves with every change above it.
    let name = name.split_once(" (line ").map_or(name, |(name, _)| name);
    Some((name.to_owned(), verdict))
}

/// "ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s".
fn close(section: Section, counts: &str, n: usize, log: &mut TestLog) -> Result<(), String> {
    let count = |noun: &str| -> usize {
        let parts = counts.split([';', '.']).map(str::trim);
        parts.filter_map(|part| part.strip_suffix(noun)?.trim().parse().ok()).next().unwrap_or(0)
    };
    let (passed, failed, ignored) = (count("passed"), count("failed"), count("ignored"));
    if passed + failed + ignored + count("measured") != section.announced {
        return Err("The tests that were announced are not the ones that ended".to_owned());
    }
    let seen = |wanted: Verdict| section.tests.iter().filter(|(_, verdict)| *verdict == wanted).count();
    let missing = [
        (Verdict::Passed, passed.checked_sub(seen(Verdict::Passed))),
        (Verdict::Failed, failed.checked_sub(seen(Verdict::Failed))),
        (Verdict::Skipped, ignored.checked_sub(seen(Verdict::Skipped))),
    ];
    for (name, verdict) in section.tests {
        log.note(name, verdict)?;
    }
    for (verdict, missing) in missing {
        let missing = missing.ok_or_else(|| "More tests were printed than counted".to_owned())?;
        // Terse output and tests that print across their line leave no names.
        for k in 0..missing {
            log.note(format!("{verdict:?} {k} of part {n}"), verdict)?;
        }
    }
    Ok(())
}
