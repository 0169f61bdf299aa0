//! Gates of a run's calls: how many there may be, how often the same, how often the owner hears of it, and how long one may
//! take.

use crate::runner::{Blocked, Gate, Ruling};
use serde_json::{Value, json};
use silas_core::tool::Spec;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much a run may call, and what it is to do instead of more.
#[derive(Clone, Copy)]
pub struct CallLimits {
    pub calls_max: u32,
    /// The same call with the same arguments, in a row. Once more than that tells nothing new.
    pub same_max: u32,
    /// Sentences to the owner; who is told more does not read it.
    pub told_max: u32,
    /// What to do when there are no more calls: "call finish".
    pub instead: &'static str,
}

/// What a run has called so far.
pub struct CallCounts {
    limits: CallLimits,
    so_far: Mutex<SoFar>,
}

#[derive(Default)]
struct SoFar {
    n_asked: u32,
    n_told: u32,
    last: Option<(String, Value)>,
    n_same: u32,
}

impl CallCounts {
    pub fn new(limits: CallLimits) -> Self {
        CallCounts { limits, so_far: Mutex::default() }
    }

    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate for CallCounts {
    fn tool_call(&self, spec: &Spec, arguments: &Value) -> Ruling<Value> {
        let CallLimits { calls_max, same_max, told_max, instead } = self.limits;
        let mut so_far = self.so_far();
        // Whatever comes of it: who is refused may not try for ever.
        so_far.n_asked += 1;
        if so_far.n_asked > calls_max {
            return blocked(format!("{calls_max} calls are allowed, and they are used up; {instead}"));
        }
        let this = (spec.name.clone(), arguments.clone());
        so_far.n_same = if so_far.last.as_ref() == Some(&this) { so_far.n_same + 1 } else { 1 };
        so_far.last = Some(this);
        if so_far.n_same > same_max {
            return blocked(format!(
                "the same call was made {same_max} times in a row and will not say anything else; do something else, or \
                 {instead}"
            ));
        }
        if spec.only_tells_owner() {
            so_far.n_told += 1;
            if so_far.n_told > told_max {
                return blocked(format!("the owner was told {told_max} times already; {instead}"));
            }
        }
        Ruling::Passes
    }
}

/// No command is promised more time than there is left.
pub struct TimeLeft {
    pub secs: u64,
}

impl Gate for TimeLeft {
    fn tool_call(&self, spec: &Spec, arguments: &Value) -> Ruling<Value> {
        let Some((argument, usual_secs)) = &spec.time else { return Ruling::Passes };
        let wanted = arguments[argument.as_str()].as_u64().unwrap_or(*usual_secs);
        let mut arguments = arguments.clone();
        arguments[argument.as_str()] = json!(wanted.min(self.secs.max(1)));
        Ruling::Rewritten(arguments)
    }
}

fn blocked(why: String) -> Ruling<Value> {
    Ruling::Blocked(Blocked { code: "E_TOOL_BLOCKED", why, todo: "" })
}

#[cfg(test)]
mod tests;
