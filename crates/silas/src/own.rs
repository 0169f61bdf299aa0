//! What is Silas's own besides its data: its settings, the service that starts it, what it keeps elsewhere about ledgers that
//! it has seen. Whoever may change these may change what Silas allows, so no directory that holds one is ever granted.

use crate::known_head;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static CONFIG: OnceLock<PathBuf> = OnceLock::new();

/// Once, when the arguments are read: the file that was named, as it is seen from here.
pub(crate) fn remember(config: Option<&Path>) {
    if let Some(named) = config {
        // A second call could only repeat the first.
        let _known = CONFIG.set(std::path::absolute(named).unwrap_or_else(|_| named.to_owned()));
    }
}

/// The data directory and all the rest, by their real paths.
pub(crate) fn with(data_dir: &Path) -> Vec<PathBuf> {
    let all = std::iter::once(data_dir.to_owned()).chain(places());
    all.map(|own| silas_sandbox::mounted::real(&own)).collect()
}

/// The rest alone, whether it is there or not.
pub(crate) fn places() -> Vec<PathBuf> {
    let settings =
        config_base().into_iter().flat_map(|base| [base.join("silas"), base.join("systemd/user/silas.service")]);
    settings.chain(known_head::state_dir()).chain(CONFIG.get().cloned()).collect()
}

/// Where settings lie.
pub(crate) fn config_base() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))
}
