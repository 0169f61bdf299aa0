//! The rules that every plan keeps: the only way to a [`WorkItem`] goes through them.

use super::{
    BESIDE_MAX, CHECKS_MAX, COMMAND_BYTES_MAX, DIRECTORIES_MAX, Definition, Directory, RuleBroken, STEPS_MAX,
    TIMEOUT_SECS_MAX, TITLE_CHARS_MAX, WorkItem,
};
use crate::check::Command;
use crate::exits::ENTRIES_MAX;
use crate::host::HOSTS_MAX;
use crate::mandate::Mandate;
use crate::planned::Planned;
use crate::relpath::RelPath;
use crate::roots::{Access, contains};
use crate::secret::SECRETS_MAX;
use crate::toolchain::TOOLCHAINS_MAX;
use crate::{hidden, wanted};

impl WorkItem {
    pub fn new(definition: Definition) -> Result<Self, RuleBroken> {
        let d = &definition;
        rule(!d.title.trim().is_empty() && d.title.chars().count() <= TITLE_CHARS_MAX, "title", "1 to 200 characters")?;
        rule(!d.title.chars().any(char::is_control), "title", "one line without control characters")?;
        let b = &d.budget;
        rule(
            (1..=TIMEOUT_SECS_MAX).contains(&b.max_wall_time_seconds),
            "budget.max_wall_time_seconds",
            "1 second to 24 hours",
        )?;
        rule(b.max_attempts >= 1, "budget.max_attempts", "at least 1")?;
        let safe = |n: u64| n <= 1 << 53;
        rule(safe(b.max_tokens), "budget.max_tokens", "at most 2^53")?;
        rule(safe(b.max_cost_microusd), "budget.max_cost_usd", "at most 2^53 micro-dollars")?;
        rule(d.steps.len() <= STEPS_MAX, "steps", "at most 50 steps")?;
        for (n, step) in d.steps.iter().enumerate() {
            command(&step.run, &format!("steps[{n}].run"))?;
            let inside = step.cwd.as_deref().is_none_or(|cwd| !cwd.starts_with('/') && no_dots(cwd));
            rule(
                inside,
                &format!("steps[{n}].cwd"),
                "a path inside the first directory that may be changed, without `..`",
            )?;
        }
        if let Some((key, expected)) = d.executor.as_ref().and_then(Mandate::broken) {
            return Err(RuleBroken { key: format!("executor.{key}"), expected });
        }
        checks(d)?;
        directories(d)?;
        rule(d.hosts.len() <= HOSTS_MAX, "sandbox.hosts", "at most 32 hosts")?;
        rule(d.secrets.len() <= SECRETS_MAX, "sandbox.secrets", "at most 16 secrets")?;
        for (n, host) in d.hosts.iter().enumerate() {
            rule(!d.hosts[..n].contains(host), &format!("sandbox.hosts[{n}]"), "a host that is not listed twice")?;
        }
        wanted::check(d)?;
        for (n, secret) in d.secrets.iter().enumerate() {
            rule(
                !d.secrets[..n].contains(secret),
                &format!("sandbox.secrets[{n}]"),
                "a secret that is not listed twice",
            )?;
        }
        // Lower ports belong to the system, and what listens there is believed.
        let callback = d.callback_port.is_none_or(|port| port >= 1024);
        rule(callback, "sandbox.callback_port", "a port from 1024 to 65535")?;
        rule(d.toolchains.len() <= TOOLCHAINS_MAX, "sandbox.toolchains", "at most 16 toolchains")?;
        for (n, toolchain) in d.toolchains.iter().enumerate() {
            let key = format!("sandbox.toolchains[{n}].path");
            rule(toolchain.path.starts_with('/') && no_dots(&toolchain.path), &key, "an absolute path without `..`")?;
        }
        rule(d.beside.len() <= BESIDE_MAX, "sandbox.beside", "at most 16 directories")?;
        for (n, path) in d.beside.iter().enumerate() {
            let key = format!("sandbox.beside[{n}]");
            let is_plain = RelPath::from_bytes(path.as_bytes()).is_ok();
            let is_git = path.split('/').any(|part| part.eq_ignore_ascii_case(".git"));
            let is_shown = !path.chars().any(hidden::is_hidden) && !path.contains('\\');
            rule(is_plain && !is_git && is_shown, &key, "a path below the directory, such as `node_modules`")?;
            rule(!d.beside[..n].contains(path), &key, "a directory that is not listed twice")?;
        }
        let is_beside = d.beside.is_empty() || !d.include_ignored;
        rule(is_beside, "sandbox.beside", "nothing, because `include_ignored` makes it a part of the work")?;
        d.exits.check(&d.flows)?;
        rule(d.changes.len() <= ENTRIES_MAX, "changes", "at most 32 entries")?;
        for (n, path) in d.changes.iter().enumerate() {
            let key = format!("changes[{n}]");
            rule(path.is_path(), &key, "a path without `.`, `..` or empty parts")?;
            rule(!d.changes[..n].contains(path), &key, "an entry that is not listed twice")?;
        }
        d.planned.as_ref().map_or(Ok(()), Planned::check)?;
        let does_one_thing = d.merges.is_none() || (d.restores.is_none() && !d.commits && d.executor.is_none());
        rule(does_one_thing, "sandbox.merges", "nothing else that brings changes: no restores, commits or executor")?;
        rule(
            (d.steps.is_empty() && d.executor.is_none()) || d.directories.iter().any(|d| d.access == Access::Write),
            "sandbox.directories",
            "at least one directory to work in, because there are steps or an executor",
        )?;
        Ok(WorkItem(definition))
    }
}

fn checks(d: &Definition) -> Result<(), RuleBroken> {
    rule(d.verify.len() <= CHECKS_MAX, "verify", "at most 50 checks")?;
    for (n, check) in d.verify.iter().enumerate() {
        let key = |field: &str| format!("verify[{n}].{field}");
        let named = !check.name.trim().is_empty() && check.name.chars().count() <= TITLE_CHARS_MAX;
        rule(named && !check.name.chars().any(char::is_control), &key("name"), "1 to 200 characters on one line")?;
        rule(!d.verify[..n].iter().any(|c| c.name == check.name), &key("name"), "a name that no other check has")?;
        command(&check.run, &key("run"))?;
        let is_plain = !matches!(check.run, Command::Python(_));
        rule(is_plain, &key("run"), "a command or a list of its words; `python` is for steps")?;
        rule((1..=TIMEOUT_SECS_MAX).contains(&check.timeout), &key("timeout"), "1 second to 24 hours")?;
        rule(
            !check.network || !d.hosts.is_empty(),
            &key("network"),
            "false, because the plan grants no host; name one under sandbox.hosts",
        )?;
    }
    Ok(())
}

fn directories(d: &Definition) -> Result<(), RuleBroken> {
    rule(d.directories.len() <= DIRECTORIES_MAX, "sandbox.directories", "at most 16 directories")?;
    for (n, directory) in d.directories.iter().enumerate() {
        let key = format!("sandbox.directories[{n}].path");
        rule(directory.path.starts_with('/') && no_dots(&directory.path), &key, "an absolute path without `..`")?;
        let earlier = &d.directories[..n];
        rule(!earlier.iter().any(|e| e.path == directory.path), &key, "a directory that is not named already")?;
        // Two copies of one file would not know of each other.
        let both_write = |e: &Directory| e.access == Access::Write && directory.access == Access::Write;
        let nested = |e: &Directory| contains(&e.path, &directory.path) || contains(&directory.path, &e.path);
        let apart = !earlier.iter().any(|e| both_write(e) && nested(e));
        rule(apart, &key, "a directory that lies neither in nor around another that may be changed")?;
    }
    Ok(())
}

pub(crate) fn rule(holds: bool, key: &str, expected: &str) -> Result<(), RuleBroken> {
    if holds { Ok(()) } else { Err(RuleBroken { key: key.to_owned(), expected: expected.to_owned() }) }
}

fn command(run: &Command, key: &str) -> Result<(), RuleBroken> {
    let size = run.argv().iter().map(String::len).sum::<usize>();
    let given = match run {
        Command::Shell(script) => !script.trim().is_empty(),
        Command::Argv(argv) => argv.first().is_some_and(|program| !program.is_empty()),
        Command::Python(script) => !script.python.trim().is_empty(),
    };
    rule(given && size <= COMMAND_BYTES_MAX, key, "a command of at most 16 KiB")?;
    rule(!run.argv().iter().any(|arg| arg.contains('\0')), key, "a command without NUL characters")
}

fn no_dots(path: &str) -> bool {
    !path.split('/').any(|part| part == "..") && !path.contains('\0')
}
