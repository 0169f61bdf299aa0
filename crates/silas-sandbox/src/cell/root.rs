//! The root directory of a cell: the system's programs read-only, a few generated files, and what was granted.
//!
//! Runs in the child, in its own mount namespace, after it has taken on its user id. Works on descriptors only: no
//! path of the host is looked up once the new root is attached, and no symlink inside a granted directory is followed.

use super::names;
use super::outlets::{SECRET_PROGRAM, SECRET_SOCKET};
use super::overlay;
use super::prepared::{Caller, Prepared, PreparedMount};
use super::report::{Failure, Step, at};
use super::sys;
use crate::layers::{Layer, in_force};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;

const ROOT_OPTIONS: [(&CStr, &CStr); 3] = [(c"size", c"4m"), (c"nr_inodes", c"4096"), (c"mode", c"755")];
/// Scratch space lives in memory, so it is bounded; work that needs more belongs into a granted directory.
const TMP_OPTIONS: [(&CStr, &CStr); 3] = [(c"size", c"512m"), (c"nr_inodes", c"65536"), (c"mode", c"1777")];
const SHM_OPTIONS: [(&CStr, &CStr); 3] = [(c"size", c"64m"), (c"nr_inodes", c"1024"), (c"mode", c"1777")];

/// Either links into `/usr` or, on systems without a merged `/usr`, directories of their own.
const SYSTEM_DIRS: [&str; 5] = ["bin", "sbin", "lib", "lib32", "lib64"];
/// What the dynamic linker and the C library read; everything else of `/etc` is the host's own business.
const ETC_ENTRIES: [&str; 5] = ["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime"];
const ETC_FILES: [(&CStr, &str); 6] = [
    (c"passwd", "silas:x:1000:1000:silas:/tmp:/bin/sh\n"),
    (c"group", "silas:x:1000:\n"),
    (c"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    (c"resolv.conf", names::RESOLV_CONF),
    (c"hosts", "127.0.0.1 localhost silas\n::1 localhost\n"),
    (c"hostname", "silas\n"),
];
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
const DEVICE_LINKS: [(&CStr, &CStr); 4] = [
    (c"fd", c"/proc/self/fd"),
    (c"stdin", c"/proc/self/fd/0"),
    (c"stdout", c"/proc/self/fd/1"),
    (c"stderr", c"/proc/self/fd/2"),
];
/// Parts of `/proc` through which the kernel itself is configured.
const PROC_READ_ONLY: [&CStr; 4] = [c"sys", c"sysrq-trigger", c"irq", c"bus"];

/// Parts of `/proc` that tell of keys, which belong to a user and to no namespace.
const PROC_COVERED: [&CStr; 2] = [c"keys", c"key-users"];

/// Something of the host that will be shown at the same name in the cell.
enum Shown {
    Tree(OwnedFd),
    Link(CString),
}

/// Builds the root and moves into it. `granted` holds the trees that the caller has already made, one for each source of
/// each mount and, where secrets are granted, one of our own program, or is empty when they are to be made here.
/// Answers the socket at which secrets are asked for, if there are any.
pub(super) fn enter(cell: &Prepared<'_>, mut granted: Vec<OwnedFd>) -> Result<Option<UnixListener>, Failure> {
    // Everything of the host is opened first: the new root is about to cover it.
    let base = at(Step::Base, 0);
    let usr_place = sys::open_real(c"/usr").map_err(&base)?;
    let usr = read_only_tree(&usr_place).map_err(&base)?;
    let system = shown(&SYSTEM_DIRS, "/").map_err(&base)?;
    let etc = shown(&ETC_ENTRIES, "/etc").map_err(&base)?;
    let trust = if cell.spec.hosts.is_empty() { Vec::new() } else { certificates().map_err(&base)? };
    let secrets = at(Step::Secrets, 0);
    let client = match (cell.outlets.has_secrets, cell.caller) {
        (false, _) => None,
        (true, Caller::Root) if in_force(Layer::User) => granted.pop(),
        (true, Caller::Root | Caller::Ordinary { .. }) => Some(own_program().map_err(&secrets)?),
    };
    let devices = DEVICES.iter().map(|name| device(name)).collect::<io::Result<Vec<_>>>().map_err(&base)?;
    let granted = match cell.caller {
        Caller::Root if in_force(Layer::User) => granted,
        Caller::Root | Caller::Ordinary { .. } => own_trees(&cell.mounts)?,
    };

    let nosuid = sys::ATTR_NOSUID | sys::ATTR_NODEV;
    let granted = overlay::put_together(&cell.mounts, granted, &usr_place)?;
    let root = sys::new_filesystem(c"tmpfs", &ROOT_OPTIONS, nosuid).map_err(&base)?;
    // Any directory will do to hang the new root on, and this one is known to exist.
    sys::attach(&root, &usr_place).map_err(&base)?;
    let tmp = fill_base(&root, &usr, system, &devices).map_err(&base)?;
    fill_etc(&root, etc, trust, &cell.outlets.hosts_lines()).map_err(&base)?;
    let asked_at = client.map(|client| offer_secrets(&root, &client)).transpose().map_err(&secrets)?;
    // The kernel shows processes only to whoever has a pid namespace of their own.
    if in_force(Layer::Processes) {
        attach_proc(&root).map_err(at(Step::Proc, 0))?;
    }

    let own = [device_of(&root).map_err(&base)?, device_of(&tmp).map_err(&base)?];
    for (index, (mount, tree)) in cell.mounts.iter().zip(&granted).enumerate() {
        attach_granted(&root, &own, mount, tree).map_err(at(Step::Mount, index))?;
    }

    for names in &cell.sockets {
        cover_socket(&root, names).map_err(at(Step::Sockets, 0))?;
    }

    sys::add_attributes_here(&root, nosuid | sys::ATTR_RDONLY).map_err(at(Step::PivotRoot, 0))?;
    sys::change_root(&root).map_err(at(Step::PivotRoot, 0))?;
    Ok(asked_at)
}

fn fill_base(
    root: &OwnedFd,
    usr: &OwnedFd,
    system: Vec<(CString, Shown)>,
    devices: &[(CString, OwnedFd)],
) -> io::Result<OwnedFd> {
    let nosuid = sys::ATTR_NOSUID | sys::ATTR_NODEV;
    sys::attach(usr, &make_dir(root, c"usr")?)?;
    for (name, what) in system {
        show(root, &name, what)?;
    }

    let dev = make_dir(root, c"dev")?;
    for (name, node) in devices {
        drop(sys::make_file(&dev, name)?);
        sys::attach(node, &sys::open_child(&dev, name)?)?;
    }
    for (name, points_to) in DEVICE_LINKS {
        sys::make_symlink(&dev, name, points_to)?;
    }
    let shm = sys::new_filesystem(c"tmpfs", &SHM_OPTIONS, nosuid | sys::ATTR_NOEXEC)?;
    sys::attach(&shm, &make_dir(&dev, c"shm")?)?;

    let tmp = sys::new_filesystem(c"tmpfs", &TMP_OPTIONS, nosuid)?;
    sys::attach(&tmp, &make_dir(root, c"tmp")?)?;
    Ok(tmp)
}

fn fill_etc(root: &OwnedFd, etc: Vec<(CString, Shown)>, trust: Certificates, names: &str) -> io::Result<()> {
    let dir = make_dir(root, c"etc")?;
    for (name, what) in etc {
        show(&dir, &name, what)?;
    }
    for (name, text) in ETC_FILES {
        let mut file = File::from(sys::make_file(&dir, name)?);
        file.write_all(text.as_bytes())?;
        if name == c"hosts" {
            file.write_all(names.as_bytes())?;
        }
    }
    for (place, entries) in trust {
        let mut here = dir.try_clone()?;
        for name in place {
            here = match sys::open_child(&here, name) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => make_dir(&here, name)?,
                found => found?,
            };
        }
        for (name, what) in entries {
            show(&here, &name, what)?;
        }
    }
    Ok(())
}

/// Where systems keep the certificates by which a host is known, below `/etc`. Never what is private beside them.
const CERTIFICATES: [(&[&CStr], &[&str]); 4] = [
    (&[c"ssl"], &["certs", "cert.pem", "openssl.cnf"]),
    (&[c"pki", c"tls"], &["certs", "cert.pem", "openssl.cnf"]),
    (&[c"pki", c"ca-trust"], &["extracted"]),
    (&[c"ca-certificates"], &["extracted"]),
];

type Certificates = Vec<(&'static [&'static CStr], Vec<(CString, Shown)>)>;

/// Those that the host has.
fn certificates() -> io::Result<Certificates> {
    let mut found = Vec::new();
    for (place, names) in CERTIFICATES {
        let path = place.iter().fold(String::from("/etc"), |path, name| format!("{path}/{}", name.to_string_lossy()));
        let entries = shown(names, &path)?;
        if !entries.is_empty() {
            found.push((place, entries));
        }
    }
    Ok(found)
}

/// Our own program, which is also the one that asks for secrets. Found by its path, because what the kernel remembers of
/// it may lie in a mount namespace that this process has left; another file at that path is not shown.
pub(super) fn own_program() -> io::Result<OwnedFd> {
    const OURS: &str = "/proc/self/exe";
    let place = sys::open_real(&CString::new(std::fs::read_link(OURS)?.into_os_string().into_vec())?)?;
    let (found, ours) = (sys::status_of(&place)?, std::fs::metadata(OURS)?);
    if (found.st_dev, found.st_ino) != (ours.dev(), ours.ino()) {
        return Err(io::Error::from_raw_os_error(libc::ESTALE));
    }
    read_only_tree(&place)
}

/// The program and the socket that it talks to.
fn offer_secrets(root: &OwnedFd, client: &OwnedFd) -> io::Result<UnixListener> {
    let dir = make_dir(&make_dir(root, c"run")?, c"silas")?;
    let name = CString::new(SECRET_PROGRAM)?;
    drop(sys::make_file(&dir, &name)?);
    sys::attach(client, &sys::open_child(&dir, &name)?)?;
    // Bound by its name alone, because no path of the host leads into the new root. Where this process stands does not
    // matter any more: it is about to change its root.
    sys::enter_open_dir(&dir)?;
    UnixListener::bind(SECRET_SOCKET)
}

/// A `/proc` of the cell's own processes. The init, which cannot be inspected, does not show in it.
fn attach_proc(root: &OwnedFd) -> io::Result<()> {
    let attributes = sys::ATTR_NOSUID | sys::ATTR_NODEV | sys::ATTR_NOEXEC;
    let proc = sys::new_filesystem(c"proc", &[(c"hidepid", c"invisible")], attributes)?;
    sys::attach(&proc, &make_dir(root, c"proc")?)?;
    for name in PROC_READ_ONLY {
        let place = match sys::open_child(&proc, name) {
            Ok(place) => place,
            // This kernel was built without it.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        let tree = sys::copy_tree(&place)?;
        sys::add_attributes(&tree, attributes | sys::ATTR_RDONLY)?;
        sys::attach(&tree, &place)?;
    }
    for name in PROC_COVERED {
        match sys::open_child(&proc, name) {
            Ok(place) => cover(root, &place)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The granted trees of an ordinary user, whose files the cell's user owns without any mapping.
fn own_trees(mounts: &[PreparedMount<'_>]) -> Result<Vec<OwnedFd>, Failure> {
    let mut trees = Vec::with_capacity(mounts.len());
    for (index, mount) in mounts.iter().enumerate() {
        let failed = at(Step::Mount, index);
        for (nth, source) in mount.sources().enumerate() {
            let place = sys::open_real(source).map_err(&failed)?;
            let tree = sys::copy_tree(&place).map_err(&failed)?;
            sys::add_attributes(&tree, mount.attributes_of(nth)).map_err(&failed)?;
            trees.push(tree);
        }
    }
    Ok(trees)
}

/// Attaches a tree at its target. Missing directories are made in the cell's own file systems only, never inside a
/// directory that was granted.
fn attach_granted(root: &OwnedFd, own: &[u64; 2], mount: &PreparedMount<'_>, tree: &OwnedFd) -> io::Result<()> {
    let mut here = root.try_clone()?;
    let last = mount.target.len().saturating_sub(1);
    for (index, name) in mount.target.iter().enumerate() {
        here = match sys::open_child(&here, name) {
            Ok(next) => next,
            Err(e) if e.kind() == io::ErrorKind::NotFound && own.contains(&device_of(&here)?) => {
                if index == last && !mount.is_dir {
                    drop(sys::make_file(&here, name)?);
                } else {
                    sys::make_dir(&here, name)?;
                }
                sys::open_child(&here, name)?
            }
            Err(e) => return Err(e),
        };
    }
    sys::attach(tree, &here)
}

/// Puts nothing in the place of a socket, if it is one and can be seen at all.
fn cover_socket(root: &OwnedFd, names: &[CString]) -> io::Result<()> {
    let mut here = root.try_clone()?;
    for name in names {
        here = match sys::open_child(&here, name) {
            Ok(next) => next,
            // Another mount lies over it, or it is gone meanwhile.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::EACCES)) => {
                return Ok(());
            }
            Err(e) => return Err(e),
        };
    }
    if sys::status_of(&here)?.st_mode & libc::S_IFMT != libc::S_IFSOCK {
        return Ok(());
    }
    cover(root, &here)
}

/// Puts the empty device over something that is no directory.
fn cover(root: &OwnedFd, place: &OwnedFd) -> io::Result<()> {
    let null = sys::open_child(&sys::open_child(root, c"dev")?, c"null")?;
    sys::attach(&sys::copy_tree(&null)?, place)
}

/// Those of the named entries that the host has.
fn shown(names: &[&str], parent: &str) -> io::Result<Vec<(CString, Shown)>> {
    let mut found = Vec::new();
    for name in names {
        let path = std::path::Path::new(parent).join(name);
        let what = match std::fs::symlink_metadata(&path) {
            Ok(status) if status.is_symlink() => {
                Shown::Link(CString::new(std::fs::read_link(&path)?.into_os_string().into_vec())?)
            }
            Ok(_) => Shown::Tree(read_only_tree(&sys::open_real(&CString::new(path.into_os_string().into_vec())?)?)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        found.push((CString::new(*name)?, what));
    }
    Ok(found)
}

fn show(dir: &OwnedFd, name: &CStr, what: Shown) -> io::Result<()> {
    match what {
        Shown::Link(points_to) => sys::make_symlink(dir, name, &points_to),
        Shown::Tree(tree) => {
            if sys::status_of(&tree)?.st_mode & libc::S_IFMT == libc::S_IFDIR {
                sys::make_dir(dir, name)?;
            } else {
                drop(sys::make_file(dir, name)?);
            }
            sys::attach(&tree, &sys::open_child(dir, name)?)
        }
    }
}

fn read_only_tree(place: &OwnedFd) -> io::Result<OwnedFd> {
    let tree = sys::copy_tree(place)?;
    sys::add_attributes(&tree, sys::ATTR_RDONLY | sys::ATTR_NOSUID | sys::ATTR_NODEV)?;
    Ok(tree)
}

fn device(name: &str) -> io::Result<(CString, OwnedFd)> {
    let tree = sys::copy_tree(&sys::open_real(&CString::new(format!("/dev/{name}"))?)?)?;
    sys::add_attributes(&tree, sys::ATTR_NOSUID | sys::ATTR_NOEXEC)?;
    Ok((CString::new(name)?, tree))
}

fn make_dir(dir: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    sys::make_dir(dir, name)?;
    sys::open_child(dir, name)
}

fn device_of(fd: &OwnedFd) -> io::Result<u64> {
    Ok(sys::status_of(fd)?.st_dev)
}
