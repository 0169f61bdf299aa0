//! Real attempts to get out of a cell, each beside a control which shows that the attempt works where it may.
//!
//! Every case runs as root (where the tests are started by root) and as an ordinary user. A cell must be started from
//! a process with one thread, which the usual harness is not, so this binary brings its own: it forks for each case.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod errors;
mod files;
mod front;
mod ground;
mod groups;
mod kernel;
mod limits;
mod network;
mod ordinary;
mod processes;
mod runner;

fn main() {
    let groups = [
        ("files", files::CASES),
        ("processes", processes::CASES),
        ("kernel", kernel::CASES),
        ("network", network::CASES),
        ("limits", limits::CASES),
        ("groups", groups::CASES),
        ("ordinary", ordinary::CASES),
        ("errors", errors::CASES),
        ("front", front::CASES),
    ];
    std::process::exit(runner::run(&groups));
}
