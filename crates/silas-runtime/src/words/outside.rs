//! What a plan may reach beyond its directories, on its card: hosts, tools of the home, the port for a login. Where a yes
//! sends something, the button says so before it says anything else: files can be put back, what was sent cannot.

use super::{count, fact, listed};
use silas_core::card::{Detail, Face, Risk};
use silas_core::hidden;
use silas_core::host::HostGrant;
use silas_core::risk;
use silas_core::toolchain::Toolchain;
use silas_core::work::Definition;
use silas_gates::scrub;

/// Longest name of a host or a secret in the words of a button's consequence; the details have every name whole.
const NAMED_CHARS_MAX: usize = 60;
/// What fits on a button, and into the track of a slide.
const BUTTON_CHARS_MAX: usize = 32;

pub(crate) fn network_limit(d: &Definition) -> String {
    match d.hosts.len() {
        0 => "No network".to_owned(),
        n => format!("No network but the {} named here; every connection is logged", count(n, "host")),
    }
}

pub(crate) fn add_to(face: &mut Face, d: &Definition) {
    match d.hosts.as_slice() {
        [] => face.facts.push(fact("May reach", "Nothing, no network")),
        hosts => listed(face, "May reach", ("host", "hosts"), hosts.iter().map(words).collect()),
    }
    if !d.toolchains.is_empty() {
        let line = |tool: &Toolchain| hidden::name(&format!("{}: {}", tool.family.name(), tool.path));
        detail(face, "Tools, to read", d.toolchains.iter().map(line).collect());
    }
    if let Some(port) = d.callback_port {
        let line = format!("While a command runs, programs of this machine reach it at port {port}, for a login");
        detail(face, "Opens a port", vec![line]);
    }
}

/// Where a yes to this plan leads outside, with what: "Reaches tides.example with the secret mail". Names that are too many
/// or too long are counted here and listed on the card. Nothing for a plan that stays in its copy.
pub(crate) fn reaches(d: &Definition) -> Option<String> {
    let (hosts, all_hosts) = named_or_counted(&d.hosts, "host", described);
    let (secrets, all_secrets) = named_or_counted(&d.secrets, "secret", |secret| format!("the secret {secret}"));
    let listed = if all_hosts && all_secrets { "" } else { ", listed below" };
    let port = d.callback_port.map(|port| format!("port {port} for a login"));
    let first = match (d.hosts.is_empty(), d.secrets.is_empty()) {
        (true, true) => return port.map(|port| format!("Opens {port}")),
        (true, false) => format!("Uses {secrets}{listed}, and reaches no host"),
        (false, true) => format!("Reaches {hosts}{listed}"),
        (false, false) if d.hosts.len() == 1 && d.hosts[0].inside().is_some() => {
            format!("Reaches {hosts}, with {secrets}{listed}")
        }
        (false, false) => format!("Reaches {hosts} with {secrets}{listed}"),
    };
    Some(match port {
        Some(port) => format!("{first}, and opens {port}"),
        None => first,
    })
}

/// The same as the sentences with which a consequence begins; `then` is what it means for what has left the machine.
pub(crate) fn first_said(d: &Definition, then: &str) -> String {
    match reaches(d) {
        Some(reaches) if d.hosts.is_empty() => format!("{reaches}. "),
        Some(reaches) => format!("{reaches}. {then} "),
        None => String::new(),
    }
}

/// Files can be put back.
pub(crate) const STAYS_SENT: &str = "What is sent stays sent.";

/// What a yes is called: where it could do harm, by the act that no undo reaches.
pub(crate) fn approved(d: &Definition) -> String {
    let calm = match (d.verify.is_empty(), d.commits) {
        (false, _) => "Do it, apply when proved",
        (true, false) => "Do it, show me the result",
        (true, true) => "Do it, apply nothing",
    };
    let fitting =
        |named: String, counted: String| if named.chars().count() <= BUTTON_CHARS_MAX { named } else { counted };
    match (risk::of_plan(d), d.hosts.as_slice(), d.secrets.as_slice(), d.callback_port) {
        (Risk::Low | Risk::Medium, ..) => calm.to_owned(),
        (_, [host], ..) => fitting(format!("Send to {}", named(host)), "Send to 1 host".to_owned()),
        (_, [_, _, ..], ..) => format!("Send to {}", count(d.hosts.len(), "host")),
        (_, [], [secret], _) => fitting(format!("Do it with the secret {secret}"), "Do it with 1 secret".to_owned()),
        (_, [], [_, _, ..], _) => format!("Do it with {}", count(d.secrets.len(), "secret")),
        (_, [], [], Some(port)) => format!("Do it, open port {port}"),
        (_, [], [], None) => calm.to_owned(),
    }
}

/// One that is short enough by its name, otherwise how many there are; and whether that says all.
fn named_or_counted<T>(of: &[T], noun: &str, words: impl Fn(&T) -> String) -> (String, bool) {
    match of {
        [] => (String::new(), true),
        [only] => {
            let name = words(only);
            if name.chars().count() <= NAMED_CHARS_MAX { (name, true) } else { (count(1, noun), false) }
        }
        more => (count(more.len(), noun), false),
    }
}

fn described(host: &HostGrant) -> String {
    match host.inside() {
        Some(inside) => format!("{}, {inside}", named(host)),
        None => named(host),
    }
}

/// The usual port goes without saying.
pub(crate) fn named(host: &HostGrant) -> String {
    let text = if host.port() == 443 { host.host().to_owned() } else { host.to_string() };
    scrub::visible(&text)
}

/// What a no is called: where a yes could do harm, by what stays.
pub(crate) fn declined(d: &Definition) -> &'static str {
    match (risk::of_plan(d), d.hosts.is_empty()) {
        (Risk::High | Risk::Irreversible, false) => "Send nothing",
        (Risk::High | Risk::Irreversible, true) => "Leave it as it is",
        (Risk::Low | Risk::Medium, _) => "Decline",
    }
}

pub(crate) fn words(host: &HostGrant) -> String {
    match host.inside() {
        Some(inside) => format!("{host}, {inside}"),
        None => host.to_string(),
    }
}

fn detail(face: &mut Face, title: &str, lines: Vec<String>) {
    face.details.push(Detail { title: title.to_owned(), lines });
}
