//! What a plan may reach beyond its directories, on its card: hosts, tools of the home, the port for a login.

use super::{count, fact, listed};
use silas_core::card::{Detail, Face, Risk};
use silas_core::hidden;
use silas_core::host::HostGrant;
use silas_core::risk;
use silas_core::toolchain::Toolchain;
use silas_core::work::Definition;

pub(super) fn network_limit(d: &Definition) -> String {
    match d.hosts.len() {
        0 => "No network".to_owned(),
        n => format!("No network but the {} named here; every connection is logged", count(n, "host")),
    }
}

pub(super) fn add_to(face: &mut Face, d: &Definition) {
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

/// What a no is called: where a yes could do harm, by what stays.
pub(super) fn declined(d: &Definition) -> &'static str {
    match (risk::of_plan(d), d.hosts.is_empty()) {
        (Risk::High | Risk::Irreversible, false) => "Send nothing",
        (Risk::High | Risk::Irreversible, true) => "Leave it as it is",
        (Risk::Low | Risk::Medium, _) => "Decline",
    }
}

pub(super) fn words(host: &HostGrant) -> String {
    match host.inside() {
        Some(inside) => format!("{host}, {inside}"),
        None => host.to_string(),
    }
}

fn detail(face: &mut Face, title: &str, lines: Vec<String>) {
    face.details.push(Detail { title: title.to_owned(), lines });
}
