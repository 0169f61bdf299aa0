//! Whether the models that are set up could be asked. The rules are the runtime's; here is what it cannot know: whether the
//! server runs, and where it finds its keys.

use crate::config::Config;
use crate::home::Home;
use crate::terminal::Line;
use crate::world::{OsRandom, SystemClock};
use crate::{model_commands, wall_clock, wire};
use silas_approval::{Engine, vault};
use silas_core::Clock;
use silas_core::model::KeySource;
use silas_core::probe::Probe;
use silas_runtime::view::ModelsView;
use silas_runtime::{ModelKey, ModelLook, Words, model_probes};
use silas_store::Store;
use std::sync::Arc;
use std::time::Duration;

/// A server that is well says at once what it knows.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn probes(home: &Home, config: &Config) -> Vec<Probe> {
    // What is wrong with keys and databases is said by those who look at them.
    let (Ok(anchor), Ok(reader)) = (home.anchor(), Store::open_read_only(&home.store())) else { return Vec::new() };
    let engine = Engine::new(anchor, Arc::new(SystemClock), Arc::new(OsRandom));
    let (is_running, options) = (home.is_locked(), wire::models(config));
    let served = if is_running { asked(home) } else { None };
    let key = |role, source: &KeySource| {
        let is_there = match (source, &served) {
            (KeySource::None, _) => true,
            // Its own variables and an open vault are the server's to know.
            (_, Some(view)) => match view.models.iter().find(|model| model.role == role) {
                Some(model) => model.has_key,
                None => return ModelKey::Unknown,
            },
            (KeySource::Vault(name), None) => vault::is_kept(&home.vault(), name),
            (KeySource::Variable(_), None) if is_running => return ModelKey::Unknown,
            (KeySource::Variable(name), None) => std::env::var(name).is_ok_and(|value| !value.is_empty()),
        };
        match source {
            _ if is_there => ModelKey::There,
            KeySource::Vault(name) if vault::is_kept(&home.vault(), name) => ModelKey::Locked,
            KeySource::None | KeySource::Vault(_) | KeySource::Variable(_) => ModelKey::Missing,
        }
    };
    let words = Words::new(std::env::var("HOME").ok()).by_the_clock(wall_clock::on_the_wall);
    model_probes(&reader, &engine, &ModelLook { options: &options, words: &words, key: &key, now: SystemClock.now() })
}

fn asked(home: &Home) -> Option<ModelsView> {
    model_commands::models(&mut Line::open_within(home, PATIENCE).ok()?).ok()
}
