//! Ten thousand damaged plans: each is read or refused, none is a panic, and what is read can be written back.

use super::*;

const SEED: u64 = 0x5117_a5c0_de00_0001;

/// A small generator (xorshift), so that a failure can be replayed from the printed seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn damage(document: &mut Vec<u8>, dice: &mut Dice) {
    const HOSTILE: [&[u8]; 18] = [
        b"---\n",
        b"\t",
        b"\0",
        b"\xff",
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!binary ",
        b"[",
        b"{",
        b"\"",
        b"'",
        b"|\n",
        b": ",
        b"- ",
        b"\r",
        b"\xe2\x80\xa8",
        b"#",
    ];
    let at = dice.below(document.len());
    let len = dice.below(40).min(document.len() - at);
    match dice.below(5) {
        0 if !document.is_empty() => document[at] ^= 1 << dice.below(8),
        1 => drop(document.drain(at..at + len)),
        2 => drop(document.splice(at..at, HOSTILE[dice.below(HOSTILE.len())].iter().copied())),
        3 => {
            let piece = document[at..at + len].to_vec();
            let to = dice.below(document.len());
            document.splice(to..to, piece);
        }
        _ => document.truncate(at),
    }
}

#[test]
fn damaged_plans_never_panic() {
    let seed = std::env::var("SILAS_SEED").map_or(SEED, |seed| seed.parse().expect("SILAS_SEED is a number"));
    println!("seed {seed}; repeat with SILAS_SEED={seed}");
    // Nothing comes of zero.
    let mut dice = Dice(seed.max(1));
    let rendered = render(&parse(SAMPLE.as_bytes()).unwrap());
    let (mut read, mut refused) = (0, 0);
    for n in 0..10_000 {
        let mut document = [SAMPLE, rendered.as_str()][n % 2].as_bytes().to_vec();
        for _ in 0..=dice.below(3) {
            damage(&mut document, &mut dice);
        }
        match parse(&document) {
            Ok(item) => {
                read += 1;
                assert_eq!(parse(render(&item).as_bytes()).unwrap(), item, "document {n}");
            }
            Err(error) => {
                refused += 1;
                let lines = document.iter().filter(|b| matches!(b, b'\n' | b'\r')).count() as u64 + 1;
                assert!(error.line <= lines && error.column >= 1 && !error.problem.is_empty(), "document {n}: {error}");
            }
        }
    }
    assert!(
        read > 500 && refused > 500,
        "the damage is neither nothing nor everything: {read} read, {refused} refused"
    );
}
