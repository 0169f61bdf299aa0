//! What a model costs. Unknown prices count as expensive, so that a cap errs towards refusing.

use super::{ModelName, Provider};
use serde::{Deserialize, Serialize};

/// Micro-dollars for a million tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: u64,
    pub output: u64,
}

const DOLLAR: u64 = 1_000_000;
/// As dear as anything on the list was when it was made.
const UNKNOWN: Price = dollars(30, 150);

const fn dollars(input: u64, output: u64) -> Price {
    Price { input: input * DOLLAR, output: output * DOLLAR }
}

const fn cents(input: u64, output: u64) -> Price {
    Price { input: input * DOLLAR / 100, output: output * DOLLAR / 100 }
}

/// List prices of autumn 2025, by how a name begins; the longest beginning counts. `silas model add --price` corrects it.
const LIST: [(&str, Price); 17] = [
    ("claude-haiku-4-5", dollars(1, 5)),
    ("claude-sonnet-4", dollars(3, 15)),
    ("claude-opus-4-5", dollars(5, 25)),
    ("claude-opus-4", dollars(15, 75)),
    ("claude-3-5-haiku", cents(80, 400)),
    ("claude-3-7-sonnet", dollars(3, 15)),
    ("gpt-5", cents(125, 1000)),
    ("gpt-5-mini", cents(25, 200)),
    ("gpt-5-nano", cents(5, 40)),
    ("gpt-5-pro", dollars(15, 120)),
    ("gpt-4.1", dollars(2, 8)),
    ("gpt-4.1-mini", cents(40, 160)),
    ("gpt-4.1-nano", cents(10, 40)),
    ("gpt-4o", cents(250, 1000)),
    ("gpt-4o-mini", cents(15, 60)),
    ("o3", dollars(2, 8)),
    ("o4-mini", cents(110, 440)),
];

impl Price {
    pub const FREE: Price = Price { input: 0, output: 0 };

    /// In micro-dollars, rounded up.
    pub fn of(self, input_tokens: u64, output_tokens: u64) -> u64 {
        let part = |tokens: u64, price: u64| (u128::from(tokens) * u128::from(price)).div_ceil(1_000_000);
        let sum = part(input_tokens, self.input) + part(output_tokens, self.output);
        u64::try_from(sum).unwrap_or(u64::MAX)
    }

    pub fn is_unknown(self) -> bool {
        self == UNKNOWN
    }
}

/// What the list says. Only a model that Ollama runs on this machine is free: another server may pass the bill on.
pub fn list_price(name: &ModelName) -> Price {
    if name.provider() == Provider::Ollama && name.is_local() {
        return Price::FREE;
    }
    if name.provider() == Provider::Compatible {
        return UNKNOWN;
    }
    let model = name.model().rsplit('/').next().unwrap_or_default();
    // A date, a point release or a latest-mark may follow; another word makes another model (`gpt-5` and `gpt-5-pro`).
    let is_same = |beginning: &str| {
        let follows = |rest: &str| rest.trim_start_matches("-latest").chars().all(|c| c.is_ascii_digit() || c == '-');
        model.strip_prefix(beginning).is_some_and(follows)
    };
    let best = LIST.iter().filter(|(beginning, _)| is_same(beginning)).max_by_key(|(beginning, _)| beginning.len());
    best.map_or(UNKNOWN, |(_, price)| *price)
}
