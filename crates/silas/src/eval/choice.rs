//! Which models are measured: the one that is named, else what the configuration names, else what the owner added.
//!
//! Only names are taken over. A key in the owner's vault stays there: it is asked for unseen, and lives in the environment
//! of the servers that the eval starts and nowhere else.

use crate::config::Loaded;
use crate::exit::BadInput;
use crate::home::Home;
use crate::model_commands;
use crate::passphrase;
use crate::terminal::Line;
use anyhow::{Context, Result, bail};
use clap::Args;
use silas_core::model::{KeySource, ModelGrant, ModelName, Role};

#[derive(Args, Default)]
pub(crate) struct ModelArgs {
    /// PROVIDER:MODEL or PROVIDER:MODEL@URL for everything; by default the models that your Silas uses.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The environment variable that holds the key.
    #[arg(long, value_name = "VARIABLE", conflicts_with = "no_key")]
    key_env: Option<String>,
    /// The provider asks for no key.
    #[arg(long)]
    no_key: bool,
    /// What a million tokens cost in dollars, in and out, as 0.25/2.00. Unknown prices count as expensive.
    #[arg(long, value_name = "IN/OUT")]
    price: Option<String>,
}

pub(super) struct Choice {
    pub(super) roles: Vec<(Role, ModelName)>,
    /// What the eval's own installation is asked to agree to, one for each model.
    pub(super) grants: Vec<ModelGrant>,
    /// For its servers. Keys are among them, so this is never printed.
    pub(super) variables: Vec<(String, String)>,
}

impl Choice {
    pub(super) fn make(args: &ModelArgs, loaded: &Loaded, home: Option<&Home>) -> Result<Choice> {
        let price = args.price.as_deref().map(model_commands::parse_price).transpose()?;
        let mut variables = loaded.as_variables(&["models", "limits"]);
        let mut choice = Choice { roles: Vec::new(), grants: Vec::new(), variables: Vec::new() };
        for (role, model, source) in named(args, loaded, home)? {
            let known = choice.grants.iter_mut().find(|grant| grant.model == model);
            let key = match known {
                Some(grant) => {
                    grant.roles.push(role);
                    grant.key.clone()
                }
                None => {
                    let key = choice.key(&model, &source)?;
                    choice.grants.push(ModelGrant::new(model.clone(), vec![role], key.clone(), price));
                    key
                }
            };
            let name = role.name().to_uppercase();
            variables.push((format!("SILAS__MODELS__{name}"), model.to_string()));
            variables.push((format!("SILAS__MODELS__{name}_KEY"), key.to_string()));
            choice.roles.push((role, model));
        }
        choice.variables.extend(variables);
        Ok(choice)
    }

    /// Where the servers find the key. One that they could not reach is asked for here and handed to them.
    fn key(&mut self, model: &ModelName, source: &KeySource) -> Result<KeySource> {
        match source {
            KeySource::None => Ok(KeySource::None),
            KeySource::Variable(name) if std::env::var_os(name).is_some_and(|value| !value.is_empty()) => {
                Ok(source.clone())
            }
            KeySource::Variable(name) => {
                bail!(
                    "The key of {model} should be in the variable {name}, which is not set. Set it, or use --key-env."
                )
            }
            KeySource::Vault(_) => {
                let value = passphrase::ask_value(&format!("Key of {model} (it is not taken out of your vault): "))?;
                let value = std::str::from_utf8(value.expose()).context("A key is plain text.")?.trim().to_owned();
                if value.is_empty() {
                    bail!("Without its key {model} cannot be asked. Nothing was sent.");
                }
                let name = format!("SILAS_EVAL_KEY_{}", self.grants.len() + 1);
                self.variables.push((name.clone(), value));
                Ok(KeySource::Variable(name))
            }
        }
    }
}

/// Each role that has a model, with where its key is.
fn named(args: &ModelArgs, loaded: &Loaded, home: Option<&Home>) -> Result<Vec<(Role, ModelName, KeySource)>> {
    let given = match &args.key_env {
        Some(name) => Some(KeySource::parse(&format!("env:{name}")).map_err(|bad| BadInput(bad.to_string()))?),
        None => args.no_key.then_some(KeySource::None),
    };
    if let Some(name) = &args.model {
        let model = ModelName::parse(name).map_err(|bad| BadInput(bad.to_string()))?;
        let key = given.unwrap_or_else(|| KeySource::usual(model.provider()));
        return Ok(Role::ALL.into_iter().map(|role| (role, model.clone(), key.clone())).collect());
    }
    let models = &loaded.config.models;
    let configured = |role| match role {
        Role::Proxy => (models.proxy.clone(), models.proxy_key.clone()),
        Role::Planner => (models.planner.clone(), models.planner_key.clone()),
        Role::Executor => (models.executor.clone(), models.executor_key.clone()),
    };
    let added = added(home)?;
    let mut found = Vec::new();
    for role in Role::ALL {
        let (model, key) = configured(role);
        let other = || added.iter().find(|(known, _)| *known == role).map(|(_, model)| model.clone());
        let Some(model) = model.or_else(other) else { continue };
        // What is known about a model that was added is its name; one on this machine mostly asks for no key.
        let usual = || match KeySource::usual(model.provider()) {
            KeySource::Variable(name) if std::env::var_os(&name).is_none() => vault(),
            KeySource::None if !model.is_local() => vault(),
            usual => Ok(usual),
        };
        let key = match given.clone().or(key) {
            Some(key) => key,
            None => usual()?,
        };
        found.push((role, model, key));
    }
    if !found.iter().any(|(role, ..)| *role == Role::Proxy) {
        bail!(
            "No model is set up. Name one with `silas eval --model PROVIDER:MODEL`, or start Silas with the models that you \
             added."
        );
    }
    Ok(found)
}

fn vault() -> Result<KeySource> {
    Ok(KeySource::parse("secret:model")?)
}

/// What the owner's own Silas uses, if it runs and can be asked.
fn added(home: Option<&Home>) -> Result<Vec<(Role, ModelName)>> {
    let Some(Ok(mut line)) = home.map(Line::open) else { return Ok(Vec::new()) };
    let view = model_commands::models(&mut line)?;
    view.models.into_iter().map(|model| Ok((model.role, ModelName::parse(&model.model)?))).collect()
}
