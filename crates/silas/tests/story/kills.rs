//! Silas is killed at two hundred random instants: the front, the launcher, or all of it at once, while it starts, copies,
//! checks, works, applies and undoes. Nothing survives it, no mount, no group, and the next start finds the directory old
//! or new and goes on.
//!
//! The seed is printed; `SILAS_SEED=n` uses another. The instants depend on the machine, so a seed repeats the choices and
//! not the race. `SILAS_SOAK=1` does it five times as often.

use crate::harness::{Gone, Line, Silas};
use crate::traces::Traces;
use silas_core::card::{CardKind, CardState};
use silas_core::token::Verdict;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

const KILLS: u32 = 200;
const KILLS_IN_A_SOAK: u32 = 1000;
/// Installations side by side. Most of a life is waiting for the disk.
const INSTALLATIONS: u32 = 4;
/// The ledger is read in full every so many lives.
const LIVES_PER_AUDIT: u32 = 10;

/// Whom the blow strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Front,
    Launcher,
    Everything,
}

/// How far a life had come, as its owner saw it.
const PHASES: [&str; 4] = ["starting", "asking", "working", "undoing"];

/// A small generator; what matters is that it can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % sides
    }
}

#[test]
fn at_two_hundred_random_instants() {
    let seed = std::env::var("SILAS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let kills = if std::env::var_os("SILAS_SOAK").is_some() { KILLS_IN_A_SOAK } else { KILLS };
    println!("seed {seed}, {kills} kills");
    let threads: Vec<_> = (0..INSTALLATIONS)
        .map(|n| {
            // Every second one has house rules, and so rehearses first.
            std::thread::spawn(move || campaign(Dice(seed ^ u64::from(n) << 32), kills / INSTALLATIONS, n % 2 == 1))
        })
        .collect();
    let mut tally = BTreeMap::new();
    for thread in threads {
        for (what, n) in thread.join().unwrap_or_else(|_| panic!("seed {seed}: see above")) {
            *tally.entry(what).or_insert(0) += n;
        }
    }
    println!("{tally:#?}");
    assert_eq!(tally.values().sum::<u32>(), kills);
}

/// Lives and dies; gives how often whom and when.
fn campaign(mut dice: Dice, kills: u32, rehearses: bool) -> BTreeMap<(Target, &'static str), u32> {
    // A life that is spared for long says more in a minute than a person does.
    let mut silas = Silas::start_with(&[("SILAS__LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "100000")]);
    write_restless_scripts(&silas);
    if rehearses {
        silas.pair();
    }
    let original = silas.tree();
    let mut traces = Traces::of(&silas);
    // One whole story in peace shows how long one takes here and now.
    let begun = Instant::now();
    silas.terminate();
    silas.up(&[]);
    let phase = AtomicU8::new(0);
    let undone = live(&silas, &phase, Some(1));
    assert!(undone.is_ok(), "the story goes to its end in peace");
    let span = begun.elapsed();
    silas.terminate();
    traces.assert_nothing_runs("after a whole story");

    let mut tally = BTreeMap::new();
    for n in 0..kills {
        let target = [Target::Front, Target::Launcher, Target::Everything][dice.roll(3) as usize];
        let after = span.mul_f64(dice.roll(1000) as f64 / 1000.0);
        let phase = AtomicU8::new(0);
        let front = silas.spawn(&[]);
        std::thread::scope(|scope| {
            let owner = scope.spawn(|| live(&silas, &phase, None));
            std::thread::sleep(after);
            strike(target, front, &mut traces);
            assert!(owner.join().unwrap().is_err());
        });
        silas.await_death();
        let when =
            format!("kill {n}, {target:?} after {after:?}, {}", PHASES[usize::from(phase.load(Ordering::SeqCst))]);
        traces.assert_nothing_runs(&when);
        *tally.entry((target, PHASES[usize::from(phase.load(Ordering::SeqCst))])).or_insert(0) += 1;

        if n % LIVES_PER_AUDIT == 0 {
            silas.up(&[]);
            settle(&silas);
            traces.assert_no_groups(&when);
            silas.assert_old_or_new(&original, &when);
            silas.assert_ledger_holds();
            silas.terminate();
        }
    }
    silas.up(&[]);
    settle(&silas);
    traces.assert_no_groups("after all");
    silas.assert_old_or_new(&original, "after all");
    silas.assert_ledger_holds();
    tally
}

/// The socket is there before recovery has ended, and work that was interrupted goes on behind it: waits for both.
fn settle(silas: &Silas) {
    silas.line().wait(|line| line.work.values().all(|work| work["running"] == false)).unwrap();
}

/// Commands that leave as much behind as they can: sleepers of every kind, which name their installation.
pub(crate) fn write_restless_scripts(silas: &Silas) {
    let mark = silas.outside().display().to_string();
    let restless = format!(
        "sh -c 'sleep 900; : {mark}' & (setsid sh -c 'trap \"\" TERM HUP INT; sleep 900; : {mark}' &) \n\
         (setsid sh -c 'setsid sh -c \"sleep 900; : {mark}\" &' &)\n"
    );
    for script in ["fix.sh", "check.sh"] {
        let path = silas.repo().join(script);
        let honest = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{restless}sleep 0.03\n{honest}")).unwrap();
    }
}

/// The owner, who wishes, approves and undoes until Silas is gone, or until so many undos are done.
fn live(silas: &Silas, phase: &AtomicU8, undos: Option<u32>) -> Result<(), Gone> {
    let mut line = loop {
        match Line::open(&silas.data()) {
            Ok(line) => break line,
            // Not up yet; or it never will be, which whoever waits for its death notices.
            Err(Gone) if silas.is_running() => std::thread::sleep(Duration::from_millis(5)),
            Err(Gone) => return Err(Gone),
        }
    };
    let (mut has_wished, mut n_undone) = (false, 0);
    loop {
        let open = line.cards.iter().find(|card| card.state == CardState::Open && card.offer.is_some()).cloned();
        let is_working = line.work.values().any(|work| work["running"] == true);
        match open {
            Some(card) => {
                phase.store(if card.face.kind == CardKind::Done { 3 } else { 2 }, Ordering::SeqCst);
                line.decide(&card, Verdict::Approved)?;
                line.wait(|line| !line.cards.iter().any(|open| open.id == card.id && open.state == CardState::Open))?;
                if card.face.kind == CardKind::Done {
                    has_wished = false;
                    n_undone += 1;
                    if undos == Some(n_undone) {
                        return Ok(());
                    }
                }
            }
            None if !is_working && !has_wished => {
                phase.store(1, Ordering::SeqCst);
                has_wished = true;
                line.say(&silas.wish())?;
            }
            None => drop(line.next()?),
        }
    }
}

fn strike(target: Target, front: u32, traces: &mut Traces) {
    let found = traces.look();
    let victim = match target {
        Target::Front => front.to_string(),
        Target::Everything => format!("-{front}"),
        // One that is not there yet, or is not called so yet, is struck with everything else. What it forks is called the same
        // for a moment, and may have a lower number.
        Target::Launcher => (found.iter().find(|found| found.name == "silas-launcher" && found.parent == front))
            .map_or_else(|| format!("-{front}"), |found| found.pid.to_string()),
    };
    // It may have gone by itself meanwhile.
    let _ = Command::new("kill").args(["-9", "--", &victim]).output().unwrap();
}
