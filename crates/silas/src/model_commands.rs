//! `silas model`: which models Silas may ask, what that means, and whether they answer.
//!
//! Adding one is a decision like any other: the card says what leaves this machine and to whom, and nothing is sent before
//! it was signed. A key is never an argument and is never shown.

mod which;

use crate::exit::BadInput;
use crate::home::Home;
use crate::secret_commands;
use crate::terminal::{Extent, Line, print_card};
use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use silas_core::card::{Card, Press};
use silas_core::model::{KeySource, ModelGrant, ModelName, Price, Role, dollars};
use silas_runtime::view::{ModelView, ModelsView, Spent};
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum ModelCommand {
    /// Choose a model: shows what will be sent to whom, asks you, and tests it.
    Add(AddArgs),
    /// Ask the models that are set up one small question, with nothing of yours in it.
    Check {
        /// Only this one.
        #[arg(long = "for", value_enum)]
        role: Option<ForRole>,
    },
    /// Show which model does what, where it is, and what was spent.
    List {
        /// Everything as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub(crate) struct AddArgs {
    /// PROVIDER:MODEL, or PROVIDER:MODEL@URL. Providers: openrouter, openai, anthropic, ollama, compatible. Without it you are
    /// asked.
    model: Option<String>,
    /// What it is for.
    #[arg(long = "for", value_enum, default_value = "all")]
    role: ForRole,
    /// The environment variable of the server that holds the key.
    #[arg(long, value_name = "VARIABLE", conflicts_with_all = ["secret", "no_key"])]
    key_env: Option<String>,
    /// The secret of the vault that holds the key. One that is not there yet is asked for, unseen.
    #[arg(long, value_name = "NAME", conflicts_with = "no_key")]
    secret: Option<String>,
    /// The provider asks for no key.
    #[arg(long)]
    no_key: bool,
    /// What a million tokens cost in dollars, in and out, as 0.25/2.00. Unknown prices count as expensive.
    #[arg(long, value_name = "IN/OUT")]
    price: Option<String>,
    #[arg(long, help = format!("Agree without being asked. {UNASKED}"))]
    yes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForRole {
    /// Answering, and deciding whether a plan is needed.
    Proxy,
    /// Writing plans.
    Planner,
    /// Working on plans.
    Executor,
    All,
}

impl ForRole {
    fn roles(self) -> Vec<Role> {
        match self {
            ForRole::Proxy => vec![Role::Proxy],
            ForRole::Planner => vec![Role::Planner],
            ForRole::Executor => vec![Role::Executor],
            ForRole::All => Role::ALL.to_vec(),
        }
    }
}

pub(crate) fn run(home: &Home, command: ModelCommand) -> Result<ExitCode> {
    match command {
        ModelCommand::Add(args) => {
            let grant = grant(&args)?;
            let mut line = Line::open(home)?;
            add(home, &mut line, &args, &grant)
        }
        ModelCommand::Check { role } => {
            let mut line = Line::open(home)?;
            check(&mut line, role.map_or(Role::ALL.to_vec(), ForRole::roles))
        }
        ModelCommand::List { json } => {
            let mut line = Line::open(home)?;
            let models = models(&mut line)?;
            if json {
                verbatim!("{}", serde_json::to_string_pretty(&models)?);
            } else {
                print_models(&models);
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn grant(args: &AddArgs) -> Result<ModelGrant> {
    let model = match &args.model {
        Some(model) => ModelName::parse(model).map_err(|bad| BadInput(bad.to_string()))?,
        None => which::ask()?,
    };
    let price = args.price.as_deref().map(parse_price).transpose()?;
    let source = |text: String| KeySource::parse(&text).map_err(|bad| BadInput(bad.to_string()));
    let key = match (&args.key_env, &args.secret) {
        (Some(name), _) => source(format!("env:{name}"))?,
        (_, Some(name)) => source(format!("secret:{name}"))?,
        _ if args.no_key => KeySource::None,
        _ => KeySource::usual(model.provider()),
    };
    Ok(ModelGrant::new(model, args.role.roles(), key, price))
}

/// `0.25/2.00`, exactly: prices are compared and added, so no float is between.
pub(crate) fn parse_price(text: &str) -> Result<Price> {
    let (input, output) = text.split_once('/').ok_or_else(|| {
        BadInput(format!(
            "`{text}` is not a price: write two, in and out, in dollars for a million tokens, as 0.25/2.00."
        ))
    })?;
    Ok(Price { input: parse_dollars(input)?, output: parse_dollars(output)? })
}

fn parse_dollars(text: &str) -> Result<u64> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 6 || fraction.len() > 6 || !digits(whole) || !digits(fraction) {
        bail!(BadInput(format!("`{text}` is not a price in dollars, such as 0.25.")));
    }
    let micro: u64 = format!("{fraction:0<6}").parse()?;
    Ok(whole.parse::<u64>()? * 1_000_000 + micro)
}

fn add(home: &Home, line: &mut Line<'_>, args: &AddArgs, grant: &ModelGrant) -> Result<ExitCode> {
    line.send(&json!({ "type": "model_add", "grant": grant }))?;
    let answer = line.wait_for(|message| message["type"] == "asked")?;
    let card: Card = serde_json::from_value(answer["card"].clone())?;
    print_card(&card, Extent::Whole);
    if !args.yes && !agrees()? {
        println!("Nothing was changed. The card stays in Review.");
        return Ok(ExitCode::FAILURE);
    }
    let (recorded, message) = line.decide(&card, Press::Approve)?;
    println!("{message}");
    if !recorded {
        return Ok(ExitCode::FAILURE);
    }
    if let KeySource::Vault(reference) = &grant.key
        && !secret_commands::is_kept(home, reference)?
    {
        secret_commands::set(home, reference.clone(), &format!("Key of {}: ", grant.model))?;
    }
    let models = models(line)?;
    for model in models.models.iter().filter(|model| model.is_configured && model.model != grant.model.to_string()) {
        println!("The configuration names {} as {}, and goes before this.", model.model, model.role.name());
    }
    check(line, grant.roles.clone())
}

/// What holds without `--yes`, in the words of every command that asks by [`agrees`].
pub(crate) const UNASKED: &str = "Otherwise one line is read, from a terminal or a pipe: anything but y or yes is a no";

/// One line from whoever is there; anything but a yes is a no.
pub(crate) fn agrees() -> Result<bool> {
    if std::io::stdin().is_terminal() {
        prompt!("\nAgree? [y/N] ");
        std::io::stdout().flush()?;
    }
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes"))
}

fn check(line: &mut Line<'_>, roles: Vec<Role>) -> Result<ExitCode> {
    let known = models(line)?;
    if known.models.is_empty() {
        println!("No model is set up. `silas model add` adds one; everything else works without.");
        return Ok(ExitCode::FAILURE);
    }
    let mut all_answer = true;
    let mut tested: Vec<&str> = Vec::new();
    for model in known.models.iter().filter(|model| roles.contains(&model.role)) {
        // One model in two roles is one connection: asking it twice would only cost twice.
        if tested.contains(&model.model.as_str()) {
            continue;
        }
        tested.push(&model.model);
        line.send(&json!({ "type": "model_check", "role": model.role }))?;
        match line.wait_for(|message| message["type"] == "done") {
            Ok(answer) => println!("{}", text(&answer["message"])),
            Err(trouble) => {
                all_answer = false;
                println!("{trouble}");
            }
        }
    }
    Ok(if all_answer { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn models(line: &mut Line<'_>) -> Result<ModelsView> {
    line.send(&json!({ "type": "models" }))?;
    let answer = line.wait_for(|message| message["type"] == "models")?;
    Ok(serde_json::from_value(answer["models"].clone())?)
}

fn print_models(known: &ModelsView) {
    if known.models.is_empty() {
        println!("No model is set up. `silas model add` adds one; everything else works without.");
    }
    for ModelView { role, model, host, is_local, key, has_key, price, is_configured, is_agreed } in &known.models {
        let from = if *is_configured { "from the configuration" } else { "added by you" };
        println!("{}: {model}  ({from})", role.name());
        println!("  Goes to     {}", if *is_local { "a program on this machine" } else { host });
        println!("  Key         {key}{}", if *has_key { "" } else { ", which is not there" });
        println!("  Costs       {price}");
        if !is_agreed {
            println!("  You have not agreed yet that what you say goes there, so it is not used.");
        }
    }
    let line = |name: &str, spent: &Spent| {
        println!(
            "{name}: {} of {} spent ({}, UTC)",
            dollars(spent.microusd),
            dollars(spent.cap_microusd),
            spent.period
        );
    };
    line("Today", &known.day);
    line("This month", &known.month);
    if known.local_only {
        println!("Only models on this machine may be used (`models.local_only`).");
    }
}
