//! What comes next when a model works on a plan, decided from numbers alone. (RUNTIME §5.2.1)

/// Where the work stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Progress {
    /// Attempts that have ended.
    pub(super) attempts: u32,
    pub(super) attempts_max: u32,
    pub(super) model_calls: u32,
    pub(super) model_calls_max: u32,
    /// What the checks said after the last attempt.
    pub(super) is_green: bool,
    /// Whether a planner could be asked for advice, and has not been yet.
    pub(super) may_consult: bool,
    /// Why nothing more can be tried, if that is so.
    pub(super) exhausted: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Move {
    Attempt,
    /// Ask the planner what to do differently.
    Consult,
    /// The checks have the last word.
    Judge,
    GiveUp(String),
}

/// Attempts after which advice is worth its price.
const STUCK_AFTER: u32 = 3;

pub(super) fn next_move(progress: &Progress) -> Move {
    let Progress { attempts, attempts_max, model_calls, model_calls_max, is_green, may_consult, exhausted } = progress;
    if *attempts > 0 && *is_green {
        return Move::Judge;
    }
    if let Some(why) = exhausted {
        return Move::GiveUp(why.clone());
    }
    if attempts >= attempts_max {
        return Move::GiveUp(format!(
            "The checks were still red after {attempts} attempts, which is all the plan allows."
        ));
    }
    if model_calls >= model_calls_max {
        return Move::GiveUp(format!("The model was asked {model_calls} times, which is all the plan allows."));
    }
    if *attempts >= STUCK_AFTER && *may_consult { Move::Consult } else { Move::Attempt }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress {
            attempts: 1,
            attempts_max: 5,
            model_calls: 4,
            model_calls_max: 30,
            is_green: false,
            may_consult: true,
            exhausted: None,
        }
    }

    #[test]
    fn green_ends_it_and_red_goes_on_until_something_is_used_up() {
        let check = |progress: Progress, expected: &str| {
            assert!(
                format!("{:?}", next_move(&progress)).contains(expected),
                "{progress:?}: {:?}",
                next_move(&progress)
            );
        };
        check(Progress { attempts: 0, ..progress() }, "Attempt");
        // Green before the first attempt is no result of it.
        check(Progress { attempts: 0, is_green: true, ..progress() }, "Attempt");
        check(progress(), "Attempt");
        check(Progress { is_green: true, ..progress() }, "Judge");
        check(Progress { is_green: true, attempts: 5, model_calls: 30, ..progress() }, "Judge");
        check(Progress { attempts: 3, ..progress() }, "Consult");
        check(Progress { attempts: 3, may_consult: false, ..progress() }, "Attempt");
        check(Progress { attempts: 5, ..progress() }, "still red after 5 attempts");
        check(Progress { model_calls: 30, ..progress() }, "asked 30 times");
        check(Progress { exhausted: Some("no money".to_owned()), ..progress() }, "no money");
        check(Progress { exhausted: Some("no money".to_owned()), is_green: true, ..progress() }, "Judge");
    }
}
