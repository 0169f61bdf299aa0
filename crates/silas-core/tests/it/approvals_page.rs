//! `docs/approvals.md` and the code say the same about every kind of approval.

use silas_core::token::{Kind, Verdict};

const DAY: u64 = 24 * 3600;

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/approvals.md")).unwrap()
}

#[test]
fn every_kind_has_its_row_and_there_is_no_other() {
    let page = page();
    let (table, _) = page.split_once("\n\n## Verdicts").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = Kind::ALL
        .iter()
        .map(|kind| {
            let terms = kind.terms();
            let plural = |n: u64, noun: &str| if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") };
            let secs = terms.lasts_max.as_secs();
            let lasts = if secs < DAY { plural(secs / 60, "minute") } else { plural(secs / DAY, "day") };
            format!(
                "| `{}` | {} | `{}` | {} | {} | {} | {}, {} |",
                word(kind),
                terms.hashed,
                word(&terms.scope),
                terms.asked_by,
                terms.risk,
                terms.usually,
                plural(terms.uses_max.into(), "use"),
                lasts
            )
        })
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn every_verdict_is_explained() {
    for verdict in [Verdict::Approved, Verdict::Declined, Verdict::EditRequested, Verdict::Conditional] {
        assert!(page().contains(&format!("| `{}` |", word(&verdict))), "{verdict:?}");
    }
}

#[test]
fn all_kinds_are_listed() {
    // A kind that is not on the list would have no row; the match makes adding one a compile error here.
    for kind in Kind::ALL {
        match kind {
            Kind::Plan | Kind::HouseRules | Kind::Rehearsal | Kind::Apply => {}
            Kind::Undo | Kind::Root | Kind::Device | Kind::Step | Kind::Model | Kind::Budget => {}
        }
    }
    assert_eq!(Kind::ALL.len(), 10);
}
