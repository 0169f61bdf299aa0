//! What is said of a command, by what the ledger has of it.

use super::*;
use silas_core::check::Ended;

#[test]
fn a_command_that_ran_is_told_from_one_that_did_not() {
    let untold = CommandRun::outcome_untold(&Ended::Exited(0), "E_SANDBOX_UNSUPPORTED");
    for (outcome, whether, says) in [
        ("exit_0", Whether::Ran, "it ended well"),
        ("exit_3", Whether::Ran, "it ended with exit code 3"),
        ("signal_9", Whether::Ran, "it was ended by signal 9"),
        ("timed_out", Whether::Ran, "it was ended when its time was up"),
        (&untold, Whether::Ran, "it ended well, and what it changed could not be told (E_SANDBOX_UNSUPPORTED)"),
        ("E_SANDBOX_PROGRAM", Whether::DidNot, "it could not be run (E_SANDBOX_PROGRAM)"),
        // Of an earlier version, which did not say which of the two.
        (
            "E_SANDBOX_UNSUPPORTED",
            Whether::Unknown,
            "it was not run, or what it did could not be read (E_SANDBOX_UNSUPPORTED)",
        ),
    ] {
        assert_eq!((Whether::of(outcome), ended(outcome).as_str()), (whether, says), "{outcome}");
    }
}
