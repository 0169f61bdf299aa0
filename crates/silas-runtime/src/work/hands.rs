//! The tools of a model that works on a plan: commands, reading and editing in the private copy, and a word to the owner.
//!
//! Inside the copy nothing is an effect, so nothing of this asks; what leaves the copy is decided elsewhere. Everything
//! happens in a cell: what a link in the copy points to is what a cell sees, and no more.

mod commands;
mod files;

use super::job::Failure;
use crate::hub::TellUser;
use crate::minds::search::WebSearch;
use crate::work::Work;
use serde_json::Value;
use silas_agents::tools::Tool;
use silas_core::check::Command;
use silas_core::envelope::ExecutionResult;
use silas_core::file_order::{FileAnswer, FileOrder, Sights};
use silas_core::roots::contains;
use silas_core::work::Directory;
use silas_sandbox::Workshop;
use std::sync::{Arc, Mutex, PoisonError};

/// The open copy, used by one call at a time, and what was really run in it, in order.
pub(super) struct Copy<'a> {
    shop: Mutex<&'a mut Workshop>,
    ran: Mutex<Vec<(Command, ExecutionResult)>>,
    /// What the model has seen of files in this attempt.
    seen: Mutex<Sights>,
}

impl<'a> Copy<'a> {
    pub(super) fn new(shop: &'a mut Workshop) -> Self {
        Copy { shop: Mutex::new(shop), ran: Mutex::default(), seen: Mutex::default() }
    }

    /// What the commands really came to.
    pub(super) fn ran(self) -> Vec<(Command, ExecutionResult)> {
        self.ran.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, command: Command, cwd: Option<String>, timeout_secs: u64) -> Result<ExecutionResult, Failure> {
        let mut shop = self.shop.lock().unwrap_or_else(PoisonError::into_inner);
        // It waits for the command, and meanwhile for the ledger, where the command reaches something.
        let result = tokio::task::block_in_place(|| shop.work_in(command.clone(), cwd, timeout_secs))?;
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).push((command, result.clone()));
        Ok(result)
    }

    fn files(&self, order: FileOrder) -> Result<FileAnswer, Failure> {
        let mut shop = self.shop.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = tokio::task::block_in_place(|| shop.files(order, seen.clone()))?;
        seen.extend(answer.sights.clone());
        Ok(answer)
    }
}

/// Every tool that works in a copy. Which of them a run has is for its plan to say.
pub(super) fn all<'a>(
    copy: &'a Copy<'_>,
    work: &'a Arc<Work>,
    directories: &'a [Directory],
    model: &str,
) -> Vec<Box<dyn Tool<Failure> + 'a>> {
    let mut tools = commands::all(copy);
    tools.extend(files::all(copy, directories));
    tools.push(Box::new(TellUser::new(&work.hub, model)));
    if let Some(search) = work.minds.search() {
        tools.push(Box::new(WebSearch::new(search)));
    }
    tools
}

/// Why a path cannot be meant. Where it leads is decided by the cell; this tells apart what can be seen there at all.
pub(super) fn unmeant(path: &str, directories: &[Directory]) -> Option<String> {
    if path.split('/').any(|part| part == "..") || path.contains('\0') {
        return Some("a path has no `..` in it".to_owned());
    }
    let is_inside = |directory: &Directory| contains(&directory.path, path);
    let is_printed = contains(silas_core::envelope::PRINTED_INSIDE, path);
    if path.starts_with('/') && !is_printed && !directories.iter().any(is_inside) {
        let names: Vec<&str> = directories.iter().map(|directory| directory.path.as_str()).collect();
        return Some(format!("only these directories can be read: {}", names.join(", ")));
    }
    None
}

fn text(arguments: &Value, name: &str) -> String {
    arguments[name].as_str().unwrap_or_default().to_owned()
}

fn text_or_none(arguments: &Value, name: &str) -> Option<String> {
    arguments[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
