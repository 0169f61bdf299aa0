//! The harness that all forking tests share, as this suite uses it: cases without a ground.

#[path = "../harness/identity.rs"]
mod identity;
#[path = "../harness/runner.rs"]
mod shared;

pub(crate) use shared::wait;

pub(crate) type Case = (&'static str, fn());

pub(crate) fn run(groups: &[(&str, &[Case])]) -> i32 {
    let play = |body: fn(), (): &()| {
        body();
        shared::Shown::Held
    };
    shared::run(groups, |_| (), play, |_| String::new())
}
