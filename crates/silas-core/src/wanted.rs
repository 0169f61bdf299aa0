//! Hosts that commands asked for and were refused, and the smallest plan that would let them: the same one, with these
//! hosts for these commands.
//!
//! Which names were asked for, and which addresses were tried, is said by whoever watched the command. Nothing here looks anything up, and nothing here
//! allows anything: what comes out is a plan like any other, which the owner signs or does not.

use crate::WorkItemId;
use crate::check::Command;
use crate::host::{HOSTS_MAX, HostGrant};
use crate::work::{Definition, RuleBroken, WorkItem, rule};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Names that are kept of one command; what asks for more is looking for something else than a host.
pub const NAMES_MAX: usize = 16;

/// What is kept of one piece of work. A plan can name no more hosts.
pub const WANTED_MAX: usize = HOSTS_MAX;

/// Hosts for single commands that one plan may have.
pub const HOSTS_FOR_MAX: usize = 256;

/// Of a command, as much as is kept with what it wanted, in characters.
pub const COMMAND_CHARS_MAX: usize = 2000;

/// Where a name leads if the command does not say it.
const USUAL_PORT: u16 = 443;

/// One of the commands that a plan leads to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Counted from 0.
    Step(u32),
    /// By its name.
    Check(String),
    /// Whatever the model runs that the plan leaves the work to.
    Model,
}

/// A host that a plan names for this command only.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFor {
    pub host: HostGrant,
    pub by: By,
}

/// What a command asked for, and what its plan does not name for it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// A name; or an address with the port that was tried.
    pub host: String,
    pub by: By,
    /// The command as a person would type it, from its beginning.
    pub command: String,
}

impl Wanted {
    pub fn new(host: &str, by: By, command: &Command) -> Wanted {
        let command = command.words().chars().take(COMMAND_CHARS_MAX).collect();
        Wanted { host: host.to_owned(), by, command }
    }

    /// What would have to be granted. A name server is not told a port, so it is read from the command where it stands
    /// beside the name.
    pub fn grants(&self) -> Vec<HostGrant> {
        if let Ok(tried) = HostGrant::parse(&self.host) {
            return vec![tried];
        }
        let grant = |port: u16| HostGrant::parse(&format!("{}:{port}", self.host)).ok();
        ports_beside(&self.host, &self.command).into_iter().filter_map(grant).collect()
    }
}

/// The addresses that stand in a text, each once and only the first few: four plain numbers, and nothing around them that makes
/// them part of something else. Whether one is an address or a version shows when somebody tries to reach it.
pub fn addresses_in(text: &str) -> Vec<Ipv4Addr> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut found = Vec::new();
    for word in text.split(|c: char| !is_part(c)) {
        // A sentence may end with one.
        let Ok(address) = word.trim_end_matches('.').parse::<Ipv4Addr>() else { continue };
        let is_one_host = !address.is_loopback() && HostGrant::parse(&format!("{address}:{USUAL_PORT}")).is_ok();
        if is_one_host && !found.contains(&address) && found.len() < NAMES_MAX {
            found.push(address);
        }
    }
    found
}

/// The ports with which a text names a host; the usual one if it names none.
fn ports_beside(host: &str, text: &str) -> Vec<u16> {
    let text = text.to_ascii_lowercase();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut ports = Vec::new();
    for (at, _) in text.match_indices(host) {
        let (before, after) = (&text[..at], &text[at + host.len()..]);
        let goes_on = after.strip_prefix('.').unwrap_or(after).starts_with(is_part);
        if before.ends_with(is_part) || goes_on {
            continue;
        }
        let digits = after.strip_prefix(':').unwrap_or_default();
        let digits = &digits[..digits.bytes().take_while(u8::is_ascii_digit).count()];
        let named = digits.parse::<u16>().ok().filter(|port| *port > 0);
        // Between the scheme and the host there may be a user, and nothing else.
        let is_user = |text: &str| {
            text.is_empty() || (text.ends_with('@') && !text.contains(|c: char| c == '/' || c.is_whitespace()))
        };
        let by_scheme = match before.rsplit_once("://").filter(|(_, user)| is_user(user)) {
            Some((scheme, _)) if scheme.ends_with("https") => Some(443),
            Some((scheme, _)) if scheme.ends_with("http") => Some(80),
            Some((scheme, _)) if scheme.ends_with("ssh") => Some(22),
            _ => None,
        };
        if let Some(port) = named.or(by_scheme)
            && !ports.contains(&port)
        {
            ports.push(port);
        }
    }
    if ports.is_empty() {
        ports.push(USUAL_PORT);
    }
    ports
}

/// The same plan under another id, with what was wanted for whoever wanted it and for nobody else.
pub fn amended(plan: &Definition, id: WorkItemId, wanted: &[Wanted]) -> Result<WorkItem, RuleBroken> {
    let mut d = Definition { id, follow_up_of: Some(plan.id.clone()), ..plan.clone() };
    for one in wanted {
        for host in one.grants() {
            if !d.hosts.contains(&host) {
                d.hosts.push(host.clone());
            } else if !d.hosts_for.iter().any(|only| only.host == host) {
                // It was for every step; named for one command, it still is.
                d.hosts_for.extend(everyone(plan).map(|by| HostFor { host: host.clone(), by }));
            }
            let only = HostFor { host, by: one.by.clone() };
            if !d.hosts_for.contains(&only) {
                d.hosts_for.push(only);
            }
        }
    }
    WorkItem::new(d)
}

/// Whoever reaches a host that a plan names for nobody in particular.
fn everyone(plan: &Definition) -> impl Iterator<Item = By> {
    let steps = (0..plan.steps.len()).map(|n| By::Step(u32::try_from(n).unwrap_or(u32::MAX)));
    let checks = plan.verify.iter().filter(|check| check.network).map(|check| By::Check(check.name.clone()));
    steps.chain(checks)
}

impl Definition {
    /// What a command may reach: the hosts that are named for it, and those that are named for nobody in particular,
    /// which are for the steps and for checks with `network: true`.
    pub fn hosts_of(&self, by: &By) -> Vec<HostGrant> {
        let gets_the_rest = match by {
            By::Step(_) => true,
            By::Check(name) => self.verify.iter().any(|check| check.network && check.name == *name),
            // What a model runs, nobody has read before.
            By::Model => false,
        };
        let may = |host: &&HostGrant| match self.hosts_for.iter().any(|only| only.host == **host) {
            true => self.hosts_for.iter().any(|only| only.host == **host && only.by == *by),
            false => gets_the_rest,
        };
        self.hosts.iter().filter(may).cloned().collect()
    }
}

/// The rules for `hosts_for`.
pub(crate) fn check(d: &Definition) -> Result<(), RuleBroken> {
    rule(d.hosts_for.len() <= HOSTS_FOR_MAX, "sandbox.hosts_for", "at most 256 entries")?;
    for (n, only) in d.hosts_for.iter().enumerate() {
        let key = |field: &str| format!("sandbox.hosts_for[{n}].{field}");
        rule(d.hosts.contains(&only.host), &key("host"), "a host that sandbox.hosts lists")?;
        rule(!d.hosts_for[..n].contains(only), &key("host"), "an entry that is not there twice")?;
        match &only.by {
            By::Step(step) => {
                let exists = usize::try_from(*step).is_ok_and(|step| step < d.steps.len());
                rule(exists, &key("step"), "the number of a step; the first is 1")?;
            }
            By::Check(name) => {
                rule(d.verify.iter().any(|check| check.name == *name), &key("check"), "the name of a check")?;
            }
            By::Model => rule(d.executor.is_some(), &key("model"), "false, because the plan has no executor")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
