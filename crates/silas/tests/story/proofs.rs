//! What may call itself *Proved*: small projects with a red check, and work that turns it green, honestly or by getting at
//! whatever judges. Each is carried out by the real program; what it calls the result is compared with what it is.
//!
//! The cases lie in `tests/proofs`. `cargo test -p silas --test story proofs -- --nocapture` prints the figures, and
//! `SILAS_PROOFS=NAME` carries out only the cases whose names contain that, with what came of each. Then, and in
//! `./test soak`, each is also tried where nobody looks: a cheat that turns nothing green shows nothing. Of the largest set an
//! everyday run carries out one in eight, always the same ones.

mod cases;
mod workbench;

use cases::{Case, Kind};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use workbench::{Verdict, Workbench};

/// Installations that work side by side; each takes one case after the other.
const WORKBENCHES: usize = 3;

/// Whether each case is also tried by itself.
fn is_thorough() -> bool {
    std::env::var_os("SILAS_SOAK").is_some() || std::env::var_os("SILAS_PROOFS").is_some()
}

fn carried_out(kinds: &[Kind]) -> BTreeMap<Case, Verdict> {
    let only = std::env::var("SILAS_PROOFS").unwrap_or_default();
    let wanted = |case: &Case| {
        kinds.contains(&case.kind) && case.name.contains(&only) && (is_thorough() || case.is_for_every_day())
    };
    let (missing, cases): (Vec<Case>, Vec<Case>) =
        cases::all().into_iter().filter(wanted).partition(|case| workbench::missing(case).is_some());
    for case in &missing {
        println!("skipped: {}, {}", case.name, workbench::missing(case).unwrap_or_default());
    }
    let (next, verdicts, began) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..WORKBENCHES.min(cases.len()) {
            scope.spawn(|| {
                let mut workbench = Workbench::new();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let verdict = workbench.carry_out(case);
                    if !only.is_empty() {
                        println!("{}: {verdict:#?}", case.name);
                    }
                    verdicts.lock().unwrap().insert(case.clone(), verdict);
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().unwrap();
    println!(
        "{} cases in {:.1} s, {} called proved, {} without proof for another reason than their check",
        verdicts.len(),
        began.elapsed().as_secs_f64(),
        verdicts.values().filter(|verdict| verdict.is_proved()).count(),
        verdicts.values().filter(|verdict| verdict.trouble.is_some()).count(),
    );
    for (case, verdict) in verdicts.iter().filter(|(_, verdict)| verdict.trouble.is_some()) {
        println!("{} was not checked again: {}", case.name, verdict.claim);
    }
    verdicts
}

/// Those of which `wrong` is so, each with its reason to be here and what was said of it.
fn those(verdicts: &BTreeMap<Case, Verdict>, wrong: impl Fn(&Case, &Verdict) -> bool) -> Vec<String> {
    let found = verdicts.iter().filter(|(case, verdict)| wrong(case, verdict));
    found.map(|(case, verdict)| format!("{}: {} {verdict:?}", case.name, case.why)).collect()
}

/// Nothing that got at its judges is called proved. What SECURITY leaves open may be, with a word of warning on the badge.
#[test]
fn work_that_gets_at_its_judges_is_not_proved() {
    let verdicts = carried_out(&[Kind::Cheat, Kind::Landing, Kind::Open]);
    let harmless =
        those(&verdicts, |_, verdict| verdict.fools_the_check == Some(false) || verdict.was_red == Some(false));
    let fooled = those(&verdicts, |case, verdict| match case.kind {
        Kind::Cheat => verdict.is_proved(),
        Kind::Landing => verdict.is_proved() && !verdict.is_green_in_place,
        Kind::Open | Kind::Honest => false,
    });
    let silent = those(&verdicts, |_, verdict| verdict.is_proved() && verdict.caveats.is_empty());
    assert!(
        harmless.is_empty() && fooled.is_empty() && silent.is_empty(),
        "{} are called proved:\n{}\n\nnobody is warned of these {}:\n{}\n\nthese {} show nothing, because their check is not red \
         and then green:\n{}",
        fooled.len(),
        fooled.join("\n"),
        silent.len(),
        silent.join("\n"),
        harmless.len(),
        harmless.join("\n"),
    );
}

#[test]
fn honest_work_is_proved() {
    let verdicts = carried_out(&[Kind::Honest]);
    let unproved = those(&verdicts, |_, verdict| !verdict.is_proved() || !verdict.is_green_in_place);
    assert!(
        unproved.is_empty(),
        "{} honest ones are not proved, or not green where they were put:\n{}",
        unproved.len(),
        unproved.join("\n")
    );
}

/// Otherwise the figures of the other two are about less than they say.
#[test]
fn there_are_enough_cases() {
    let cases = cases::all();
    let n_of = |kind: Kind| cases.iter().filter(|case| case.kind == kind).count();
    println!("{} cheats, {} of the open class, {} honest", n_of(Kind::Cheat), n_of(Kind::Open), n_of(Kind::Honest));
    assert!(n_of(Kind::Cheat) >= 80 && n_of(Kind::Honest) >= 20);
}
