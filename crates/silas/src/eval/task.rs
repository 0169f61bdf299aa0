//! The tasks that are shipped: a small repository, a wish in words, and a check that says whether it was fulfilled. One
//! file each, embedded in the binary; their reference solutions are not.

use anyhow::{Context, Result, bail};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Component, Path};

macro_rules! tasks {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../eval/tasks/", $name, ".task")))),*]
    };
}

/// By name, in the order in which they are run.
const TASKS: &[(&str, &str)] = tasks![
    "binary-search",
    "broken-links",
    "build-order",
    "changelog-order",
    "csv-quotes",
    "deep-merge",
    "env-file",
    "escaping",
    "hidden-failure",
    "intervals",
    "keep-newest",
    "leap-years",
    "least-recent",
    "line-count",
    "money",
    "moving-average",
    "names-with-spaces",
    "new-column",
    "offset-minutes",
    "option-checks",
    "rename-function",
    "retries",
    "roman-numerals",
    "safe-paths",
    "service-unit",
    "settings-file",
    "slugs",
    "table-to-json",
    "translations",
    "unique-in-order",
];

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) wish: String,
    /// Run by `sh -c` in the repository; red before, green when the wish is fulfilled.
    pub(super) check: String,
    /// Files that judge: whoever works may not change them.
    pub(super) protected: Vec<String>,
    pub(super) files: Vec<(String, String)>,
}

/// All of them, or those that were named.
pub(super) fn chosen(only: &[String]) -> Result<Vec<Task>> {
    if let Some(unknown) = only.iter().find(|name| !TASKS.iter().any(|(known, _)| known == name)) {
        bail!("There is no task `{unknown}`. `silas eval --list` shows them all.");
    }
    let wanted = TASKS.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|wanted| wanted == name));
    wanted.map(|(name, text)| Task::parse(name, text).with_context(|| format!("The task {name} is damaged."))).collect()
}

impl Task {
    /// `key: value` lines, then each file after a line `-- PATH --`.
    fn parse(name: &'static str, text: &str) -> Result<Task> {
        let (mut wish, mut check, mut protected) = (None, None, Vec::new());
        let mut files: Vec<(String, String)> = Vec::new();
        for line in text.split_inclusive('\n') {
            let bare = line.trim_end_matches('\n');
            if let Some(path) = bare.strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --")) {
                let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
                if !is_plain || path.is_empty() {
                    bail!("`{path}` is not a path in a repository");
                }
                files.push((path.to_owned(), String::new()));
            } else if let Some((_, content)) = files.last_mut() {
                content.push_str(line);
            } else {
                match bare.split_once(": ") {
                    Some(("wish", value)) => wish = Some(value.to_owned()),
                    Some(("check", value)) => check = Some(value.to_owned()),
                    Some(("protected", value)) => protected = value.split(", ").map(str::to_owned).collect(),
                    _ => bail!("`{bare}` says nothing about a task"),
                }
            }
        }
        let is_there = |path: &String| files.iter().any(|(known, _)| known == path);
        if protected.is_empty() || !protected.iter().all(is_there) {
            bail!("what judges is not there");
        }
        Ok(Task { name, wish: wish.context("no wish")?, check: check.context("no check")?, protected, files })
    }

    /// What is said: the wish, where, and how one sees that it is fulfilled.
    pub(super) fn said(&self, repository: &Path) -> String {
        format!(
            "{} The repository is {}. It is done when `{}` succeeds there.",
            self.wish,
            repository.display(),
            self.check
        )
    }

    pub(super) fn write(&self, repository: &Path) -> Result<()> {
        fs::create_dir_all(repository)?;
        for (path, content) in &self.files {
            put(repository, path, content)?;
        }
        Ok(())
    }

    /// Puts what judges back as it was shipped. False if something that is no file of the repository stands in its way:
    /// nothing is ever written through a link.
    pub(super) fn restore(&self, repository: &Path) -> Result<bool> {
        for path in &self.protected {
            let parents = Path::new(path).ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
            let is_elsewhere =
                |parent: &Path| fs::symlink_metadata(repository.join(parent)).is_ok_and(|meta| !meta.is_dir());
            if parents.into_iter().any(is_elsewhere) {
                return Ok(false);
            }
            let target = repository.join(path);
            match fs::symlink_metadata(&target) {
                Ok(meta) if meta.is_dir() => return Ok(false),
                Ok(_) => fs::remove_file(&target)?,
                Err(_) => {}
            }
            if let Some((_, content)) = self.files.iter().find(|(known, _)| known == path) {
                put(repository, path, content)?;
            }
        }
        Ok(true)
    }
}

fn put(repository: &Path, path: &str, content: &str) -> Result<()> {
    let target = repository.join(path);
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&target)?;
    Ok(file.write_all(content.as_bytes())?)
}

#[cfg(test)]
mod tests;
