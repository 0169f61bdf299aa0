//! Both faces of a conflict: edits that go together, and edits that do not.

use super::plans::{MODEL_PLAN, PLAN_IRREVERSIBLE, PLAN_LONGEST, by_a_model};
use super::results::Found;
use super::samples::{Sample, asks, execution, words};
use crate::review::kinds::conflict::Ways;
use silas_core::changeset::DiffLine;
use silas_core::token::Kind;
use silas_core::work::{Definition, Merging, WorkItem};
use silas_core::{Digest, Timestamp};
use silas_sandbox::{Case, Collided, Collision, Merged};

fn conflict(name: &'static str, front: &str, found: &Found, files: Vec<Collided>, is_merged: bool) -> Sample {
    let item = by_a_model(front, super::results::ASKED, "Keep the zone when reading a time, then run the tests.");
    let changeset = Digest::of(b"both");
    let merged = is_merged.then_some(Merged { changeset, until: Timestamp::EPOCH });
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let collision = Collision { n_files: u32::try_from(files.len()).unwrap(), files, merged };
    let merge = is_merged.then(|| {
        let merges = Some(Merging { execution: execution(), changeset });
        let (executor, hosts, hosts_for, secrets) = (None, Vec::new(), Vec::new(), Vec::new());
        WorkItem::new(Definition { merges, executor, hosts, hosts_for, secrets, ..item.definition().clone() }).unwrap()
    });
    let ways = Ways { merge: merge.as_ref(), redo: (&item, Kind::Plan) };
    let face = words().conflict(&found.facts(), &execution(), &paths, &collision, Some(ways));
    let redo = item.canonical().unwrap();
    match merge {
        Some(merge) => {
            let sample = asks(name, "rehearsal", face, merge.canonical().unwrap());
            Sample { instead: Some(("plan", redo)), ..sample }
        }
        None => asks(name, "plan", face, redo),
    }
}

fn collided(path: &str, case: Case, yours: &[&str], silas: &[&str]) -> Collided {
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let n = |lines: &[&str]| u32::try_from(lines.len()).unwrap();
    let mut compare = vec![DiffLine::Gap(17)];
    compare.extend(owned(yours).into_iter().map(DiffLine::Removed));
    compare.extend(owned(silas).into_iter().map(DiffLine::Added));
    compare.push(DiffLine::Same("print(start)".to_owned()));
    Collided {
        path: path.to_owned(),
        case,
        at: Some(Timestamp::parse("2026-11-16T07:16:00.000000Z").unwrap()),
        line: 18,
        n_lines: n(yours),
        yours: owned(yours),
        n_silas: n(silas),
        silas: owned(silas),
        compare,
        ..Collided::default()
    }
}

pub(super) fn samples() -> Vec<Sample> {
    let (yours, silas) = (["start = when.strftime(\"%H:%M h\")"], ["start = local(when, zone, HM)"]);
    let apart = ["end = local(when, zone, HM)"];
    let long = "tide tables of every harbour between the two capes ".repeat(8);
    let many = Found::longest(10);
    let all = many
        .paths()
        .iter()
        .map(|path| collided(path, Case::Overlap, &[long.as_str(); 40], &[long.as_str(); 40]))
        .collect();
    let one = |case, silas: &[&str]| vec![collided("tides/report.py", case, &yours, silas)];
    let ordinary = Found::ordinary();
    vec![
        conflict("conflict_merge", MODEL_PLAN, &ordinary, one(Case::Apart, &apart), true),
        conflict("conflict", MODEL_PLAN, &ordinary, one(Case::Overlap, &silas), false),
        conflict("conflict_irreversible", PLAN_IRREVERSIBLE, &ordinary, one(Case::Apart, &apart), true),
        conflict("conflict_longest", PLAN_LONGEST, &many, all, false),
    ]
}
