//! Real attempts to get out of a cell, each beside a control which shows that the attempt works where it may.
//!
//! Every case runs as root (where the tests are started by root) and as an ordinary user. A cell must be started from
//! a process with one thread, which the usual harness is not, so this binary brings its own: it forks for each case.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod broker;
mod calls;
mod errors;
mod files;
mod front;
mod ground;
mod groups;
mod home;
#[path = "../harness/identity.rs"]
mod identity;
mod internet;
mod kernel;
mod limits;
mod names;
mod network;
mod ordinary;
mod paths;
mod processes;
mod runner;
mod secrets;
mod shares;
mod table;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn main() {
    if let Some(code) = silas_sandbox::secret_client(std::env::args_os()) {
        std::process::exit(code.into());
    }
    if let Some(code) = from_where_everybody_gets() {
        std::process::exit(code);
    }
    let groups = [
        ("files", files::CASES),
        ("paths", paths::CASES),
        ("home", home::CASES),
        ("processes", processes::CASES),
        ("kernel", kernel::CASES),
        ("calls", calls::CASES),
        ("network", network::CASES),
        ("broker", broker::CASES),
        ("names", names::CASES),
        ("secrets", secrets::CASES),
        ("limits", limits::CASES),
        ("groups", groups::CASES),
        ("shares", shares::CASES),
        ("ordinary", ordinary::CASES),
        ("errors", errors::CASES),
        ("front", front::CASES),
    ];
    let client = broker::StaticClient::build();
    let code = runner::run(&groups);
    drop(client);
    std::process::exit(code);
}

/// An ordinary user has programs that they can get at, and a project of root's may lie in a directory that only root enters.
/// Then a copy of this program runs instead; its exit code.
fn from_where_everybody_gets() -> Option<i32> {
    let ours = std::env::current_exe().unwrap();
    let is_open = |dir: &Path| std::fs::metadata(dir).unwrap().permissions().mode() & 0o001 != 0;
    if !identity::is_root() || ours.ancestors().all(is_open) {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let copy = dir.path().join("escape");
    std::fs::copy(ours, &copy).unwrap();
    Some(Command::new(copy).args(std::env::args_os().skip(1)).status().unwrap().code().unwrap_or(1))
}
