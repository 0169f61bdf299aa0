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
mod table;

fn main() {
    if let Some(code) = silas_sandbox::secret_client(std::env::args()) {
        std::process::exit(code.into());
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
        ("ordinary", ordinary::CASES),
        ("errors", errors::CASES),
        ("front", front::CASES),
    ];
    let client = broker::StaticClient::build();
    let code = runner::run(&groups);
    drop(client);
    std::process::exit(code);
}
