//! What `silas doctor` says about isolation on this machine: whether cells work, what limits them, what the front could
//! still reach, which tools of the home are found, and whether all of it happens inside a container.

use crate::start;
use anyhow::{Context, Result};
use silas_core::probe::Probe;
use silas_core::toolchain;
use silas_sandbox::probes::{self, Socket};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Tried where work is done, if there is such a place already: some file systems cannot be shown to a program under
/// another owner. The directory is gone when the probe has ended. Must be asked while this process has one thread.
pub(super) fn probes(data_dir: &Path) -> Result<Vec<Probe>> {
    let place = Some(data_dir.join("run")).filter(|run| run.is_dir()).unwrap_or_else(std::env::temp_dir);
    let dir = place.canonicalize()?.join(format!("silas-doctor-{}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&dir).context("No directory can be made for a probe.")?;
    let mut found = probes::probes(&dir);
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_dir());
    found.extend(probes::front(&dir, &start::front_reads(), home.as_deref(), &sockets()));
    fs::remove_dir(&dir).context("The directory of a probe cannot be removed.")?;
    found.push(tools(data_dir));
    found.extend(container());
    Ok(found)
}

/// Those whose listeners do things for others.
fn sockets() -> Vec<Socket> {
    const SESSION_BUS: &str = "your D-Bus session bus, which starts programs";
    const SYSTEM_BUS: &str = "the D-Bus system bus, which starts services";
    const DOCKER: &str = "the Docker engine, which makes anybody root";
    const PODMAN: &str = "the Podman engine, which runs containers as you";
    const AGENT: &str = "your SSH agent, which signs with your keys";
    let user = fs::metadata("/proc/self").map_or(0, |own| own.uid());
    let named = |name: &str, prefix: &str| {
        let value = std::env::var(name).ok()?;
        let path = value.split([',', ';']).find_map(|part| part.strip_prefix(prefix))?;
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    let mut sockets = vec![
        (PathBuf::from(format!("/run/user/{user}/bus")), SESSION_BUS),
        (PathBuf::from("/run/dbus/system_bus_socket"), SYSTEM_BUS),
        (PathBuf::from("/var/run/docker.sock"), DOCKER),
        (PathBuf::from(format!("/run/user/{user}/docker.sock")), DOCKER),
        (PathBuf::from("/run/podman/podman.sock"), PODMAN),
        (PathBuf::from(format!("/run/user/{user}/podman/podman.sock")), PODMAN),
    ];
    sockets.extend(named("DBUS_SESSION_BUS_ADDRESS", "unix:path=").map(|path| (path, SESSION_BUS)));
    sockets.extend(named("DOCKER_HOST", "unix://").map(|path| (path, DOCKER)));
    sockets.extend(named("SSH_AUTH_SOCK", "").map(|path| (path, AGENT)));
    let mut each: Vec<Socket> = Vec::new();
    for (path, what) in sockets {
        // One socket has many names: `/var/run` is `/run`.
        let path = path.canonicalize().unwrap_or(path);
        if !each.iter().any(|socket| socket.path == path) {
            each.push(Socket { path, what });
        }
    }
    each
}

fn tools(data_dir: &Path) -> Probe {
    const NAME: &str = "Tools";
    let data_dir = data_dir.canonicalize().unwrap_or_else(|_| data_dir.to_owned());
    match toolchain::words(&probes::toolchains(&start::tool_places(), &[data_dir])) {
        none if none.is_empty() => Probe::good(NAME, "Commands find those of /usr; none were found in your home."),
        words => Probe::good(NAME, format!("Commands find those of /usr, and of your home, to read: {words}.")),
    }
}

fn container() -> Option<Probe> {
    let is_one = ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists())
        || std::env::var_os("container").is_some();
    is_one.then(|| {
        Probe::warning(
            "Container",
            "Silas runs inside a container, whose own rules decide what can be isolated further.",
            "docs/containers.md has the settings that were tried.",
        )
    })
}
