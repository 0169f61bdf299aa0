//! The launcher, its workshops and the terminal's door, as the front meets them: real processes, real cells, real files.
//!
//! Forking wants a process with one thread, which the usual harness is not, so this binary brings its own: it forks for
//! each case, as root (where the tests are started by root) and as an ordinary user.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod busy;
mod cheats;
mod commits;
mod conflicts;
mod crashes;
mod directories;
mod editors;
mod evidence;
mod exits;
mod files;
mod fixed;
mod ignored;
mod kept;
mod landing;
mod limits;
mod look;
mod mandate;
mod merging;
mod no_exchange;
mod order;
mod pairing;
mod passkeys;
mod power;
mod processes;
mod reach;
mod rehearsals;
mod revocation;
mod runner;
mod sample;
mod step;
mod unfinished;
mod whole_path;
mod world;

fn main() {
    if let Ok(deed) = std::env::var(power::DEED) {
        return power::child(&deed);
    }
    if let Some(code) = silas_sandbox::secret_client(std::env::args_os()) {
        std::process::exit(code.into());
    }
    let mut groups = vec![
        ("busy", busy::CASES),
        ("whole_path", whole_path::CASES),
        ("order", order::CASES),
        ("evidence", evidence::CASES),
        ("exits", exits::CASES),
        ("files", files::CASES),
        ("fixed", fixed::CASES),
        ("conflicts", conflicts::CASES),
        ("editors", editors::CASES),
        ("crashes", crashes::CASES),
        ("directories", directories::CASES),
        ("commits", commits::CASES),
        ("ignored", ignored::CASES),
        ("kept", kept::CASES),
        ("landing", landing::CASES),
        ("limits", limits::CASES),
        ("look", look::CASES),
        ("mandate", mandate::CASES),
        ("merging", merging::CASES),
        ("no_exchange", no_exchange::CASES),
        ("power", power::CASES),
        ("pairing", pairing::CASES),
        ("passkeys", passkeys::CASES),
        ("processes", processes::CASES),
        ("revocation", revocation::CASES),
        ("reach", reach::CASES),
        ("rehearsals", rehearsals::CASES),
        ("sample", sample::CASES),
        ("step", step::CASES),
        ("unfinished", unfinished::CASES),
    ];
    groups.extend(cheats::GROUPS);
    std::process::exit(runner::run(&groups));
}
