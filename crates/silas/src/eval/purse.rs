//! What an eval may spend: what is left of the owner's caps for the day and the month. It reads their books and never
//! writes them; what evals have spent is kept in a file of its own, so that the next one counts it.

use crate::config::Loaded;
use crate::home::Home;
use crate::known_head;
use anyhow::{Context, Result};
use silas_core::Timestamp;
use silas_core::model::Period;
use silas_store::{Store, model_calls};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// In micro-dollars.
const CENT: u64 = 10_000;

pub(super) struct Purse {
    /// What evals have spent, by day and by month; only those of now are kept.
    spent: BTreeMap<String, u64>,
    /// `None` for an account without a home: then only this eval is counted.
    file: Option<PathBuf>,
    left: u64,
}

impl Purse {
    /// `cap_cents` is what this eval may spend at most, if less than what is left.
    pub(super) fn open(loaded: &Loaded, home: Option<&Home>, now: Timestamp, cap_cents: Option<u64>) -> Result<Purse> {
        let models = &loaded.config.models;
        let (day, month) = (Period::day(now), Period::month(now));
        let file = known_head::state_dir().map(|dir| dir.join("eval.json"));
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let before: BTreeMap<String, u64> = match text {
            Some(text) => serde_json::from_str(&text).context("eval.json in Silas's state directory is damaged.")?,
            None => BTreeMap::new(),
        };
        let mut left = cap_cents.map_or(u64::MAX, |cents| cents.saturating_mul(CENT));
        let mut spent = BTreeMap::new();
        for (period, cents) in [(day, models.daily_cap_cents), (month, models.monthly_cap_cents)] {
            let by_evals = before.get(period.as_str()).copied().unwrap_or(0);
            let (by_owner, added) = books(home, &period)?;
            let cap = cents.saturating_mul(CENT).saturating_add(added);
            left = left.min(cap.saturating_sub(by_owner).saturating_sub(by_evals));
            spent.insert(period.as_str().to_owned(), by_evals);
        }
        Ok(Purse { spent, file, left })
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Whole cents, because caps are; none means that nothing more may be asked.
    pub(super) fn left_cents(&self) -> u64 {
        self.left / CENT
    }

    pub(super) fn spend(&mut self, microusd: u64) -> Result<()> {
        self.left = self.left.saturating_sub(microusd);
        for spent in self.spent.values_mut() {
            *spent = spent.saturating_add(microusd);
        }
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir)?;
        }
        let draft = file.with_extension("new");
        fs::write(&draft, serde_json::to_string_pretty(&self.spent)?)?;
        fs::rename(&draft, file).with_context(|| format!("{} cannot be written.", file.display()))
    }
}

/// What the owner's own Silas spent, and what was added to its cap.
fn books(home: Option<&Home>, period: &Period) -> Result<(u64, u64)> {
    let Some(home) = home.filter(|home| home.store().join("agent.sqlite").exists()) else { return Ok((0, 0)) };
    let store = Store::open_read_only(&home.store()).context("What was spent today cannot be read.")?;
    let period = period.clone();
    let reading = store.read(move |tx| Ok((model_calls::spent(tx, &period)?, model_calls::extended(tx, &period)?)));
    Ok(reading.wait()?)
}
