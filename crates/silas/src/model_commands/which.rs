//! Which model is meant, where the command does not say: the providers by number, as the page's card has them.

use crate::exit::BadInput;
use anyhow::{Result, bail};
use silas_core::model::{ModelName, Provider};
use silas_runtime::{provider_title, suggested_model};
use std::io::{BufRead, IsTerminal, Write};

/// Asks whoever is at the terminal; in a pipe there is nobody, so the way to write it is told.
pub(super) fn ask() -> Result<ModelName> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        bail!(BadInput(how_to_write_it()));
    }
    for (n, provider) in Provider::ALL.into_iter().enumerate() {
        let what = match provider {
            Provider::Ollama => "on this machine; needs no key",
            Provider::Compatible => "any address that speaks as OpenAI does",
            Provider::Openrouter | Provider::Openai | Provider::Anthropic => "what you say goes there; needs a key",
        };
        println!("  {}  {:<14} {what}", n + 1, provider_title(provider));
    }
    let said = read("Which provider? ")?;
    let number = said.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let Some(provider) = number.and_then(|n| Provider::ALL.get(n).copied()) else {
        bail!("Nothing was chosen. Nothing was changed.");
    };
    let usual = suggested_model(provider);
    let model = match read(&format!(
        "Which model?{} ",
        if usual.is_empty() { String::new() } else { format!(" [{usual}]") }
    ))? {
        said if said.is_empty() => usual.to_owned(),
        said => said,
    };
    let url =
        if provider == Provider::Compatible { format!("@{}", read("At which address? ")?) } else { String::new() };
    Ok(ModelName::parse(&format!("{}:{model}{url}", provider.name()))?)
}

fn read(question: &str) -> Result<String> {
    prompt!("{question}");
    std::io::stdout().flush()?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed)?;
    Ok(typed.trim().to_owned())
}

fn how_to_write_it() -> String {
    let mut text = "Which model? Write PROVIDER:MODEL, or PROVIDER:MODEL@URL for one at another address:\n".to_owned();
    for provider in Provider::ALL {
        let model = match provider {
            Provider::Compatible => "my-model@http://localhost:8000/v1".to_owned(),
            _ => suggested_model(provider).to_owned(),
        };
        text.push_str(&format!("  silas model add {}:{model}\n", provider.name()));
    }
    text.push_str("Nothing was changed.");
    text
}
