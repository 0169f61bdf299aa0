//! Leaving layers out. This file is compiled into the unit tests of this crate and nowhere else.
#![allow(clippy::unwrap_used)]

use super::Layer;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU32, Ordering};

/// A bit for each layer that is left out, in this process and those it forks.
static OMITTED: AtomicU32 = AtomicU32::new(0);

pub(super) fn omit(layers: &[Layer]) {
    OMITTED.store(layers.iter().fold(0, |bits, layer| bits | bit(*layer)), Ordering::SeqCst);
}

pub(crate) fn in_force(layer: Layer) -> bool {
    OMITTED.load(Ordering::SeqCst) & bit(layer) == 0
}

fn bit(layer: Layer) -> u32 {
    1 << (layer as u8)
}

/// What happens to the environment of a program when nobody cares.
pub(crate) fn leak_environment(env: &mut Vec<CString>) {
    if !in_force(Layer::Environment) {
        for (name, value) in std::env::vars_os() {
            env.push(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).unwrap());
        }
    }
}
