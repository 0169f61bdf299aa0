//! The harness that all forking tests share, as this suite uses it: cases without a ground.

#[path = "../harness/identity.rs"]
mod identity;
#[path = "../harness/runner.rs"]
mod shared;

pub(crate) use shared::wait;

/// Why the case of this process could not show all that it is about.
static SKIPPED: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Says that this system lacks something that the case needs. A case has a process of its own, so this is about one.
pub(crate) fn skip(why: &str) {
    SKIPPED.get_or_init(|| why.to_owned());
}

pub(crate) type Case = (&'static str, fn());

pub(crate) fn run(groups: &[(&str, &[Case])]) -> i32 {
    let play = |body: fn(), (): &()| {
        body();
        SKIPPED.get().map_or(shared::Shown::Held, |why| shared::Shown::Skipped(why.clone()))
    };
    shared::run(groups, |_| (), play, |_| String::new())
}
