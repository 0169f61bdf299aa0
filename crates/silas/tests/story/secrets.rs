//! The root key and the terminal's key are in `keys/` and nowhere else: not in the memory of the front or the launcher
//! after pairing and signing, not in an environment, a log, a database or an export.

use crate::harness::Silas;
use silas_core::card::CardKind;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Where each of these bytes lie in something, as hexadecimal and base64 too.
pub(crate) struct Secret {
    pub(crate) name: &'static str,
    spellings: Vec<Vec<u8>>,
}

fn secret(silas: &Silas, name: &'static str) -> Secret {
    let seed = fs::read(silas.data().join("keys").join(name)).unwrap()[8..].to_vec();
    assert_eq!(seed.len(), 32);
    spelled(name, seed)
}

/// Something that is looked for, as it is and as it may be written.
pub(crate) fn spelled(name: &'static str, seed: Vec<u8>) -> Secret {
    use base64::Engine as _;
    let hex: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
    let standard = base64::engine::general_purpose::STANDARD_NO_PAD.encode(&seed);
    let url = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&seed);
    Secret { name, spellings: vec![seed, hex.into_bytes(), standard.into_bytes(), url.into_bytes()] }
}

/// One pass over the bytes: most of them begin no spelling at all.
pub(crate) fn finds(bytes: &[u8], secret: &Secret) -> bool {
    let mut begins = [false; 256];
    secret.spellings.iter().for_each(|needle| begins[usize::from(needle[0])] = true);
    let candidates = bytes.iter().enumerate().filter(|(_, byte)| begins[usize::from(**byte)]);
    candidates.into_iter().any(|(at, _)| secret.spellings.iter().any(|needle| bytes[at..].starts_with(needle)))
}

/// Every process that runs with this data directory: the front, the launcher and whatever they started.
pub(crate) fn processes(silas: &Silas) -> Vec<u32> {
    let data = silas.data();
    let ours = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("start") && line.contains(data.to_str().unwrap())
    };
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(ours).collect()
}

/// Neither arguments nor variables of a process are a place for a secret.
#[track_caller]
pub(crate) fn assert_no_process_shows(silas: &Silas, secret: &Secret) {
    let pids = processes(silas);
    assert!(pids.len() >= 2, "front and launcher: {pids:?}");
    for pid in pids {
        for of in ["environ", "cmdline"] {
            let bytes = fs::read(format!("/proc/{pid}/{of}")).unwrap_or_default();
            assert!(!finds(&bytes, secret), "in the {of} of {pid}");
        }
    }
}

/// Reads everything that root can read of a process, as a core would hold it. `None` if it is gone or may not be read.
pub(crate) fn search_memory(pid: u32, secrets: &[Secret]) -> Option<(u64, Vec<&'static str>)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let (mut n_read, mut found) = (0, Vec::new());
    for line in maps.lines() {
        let mut parts = line.split_whitespace();
        let (range, rights) = (parts.next()?, parts.next()?);
        if !rights.starts_with('r') {
            continue;
        }
        let (from, to) = range.split_once('-')?;
        let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        let mut bytes = vec![0; usize::try_from(to - from).ok()?];
        // Some mappings belong to the kernel and cannot be read this way.
        let Ok(n) = memory.read_at(&mut bytes, from) else { continue };
        n_read += n as u64;
        found.extend(secrets.iter().filter(|secret| finds(&bytes[..n], secret)).map(|secret| secret.name));
    }
    Some((n_read, found))
}

pub(crate) fn search_files(dir: &Path, keys: &Path, secrets: &[Secret], n_files: &mut usize) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path == keys {
            continue;
        }
        if path.is_dir() {
            search_files(&path, keys, secrets, n_files);
        } else if path.is_file() {
            *n_files += 1;
            let bytes = fs::read(&path).unwrap();
            for secret in secrets {
                assert!(!finds(&bytes, secret), "{} is in {}", secret.name, path.display());
            }
        }
    }
}

#[test]
fn the_keys_are_in_their_files_and_nowhere_else() {
    let mut silas = Silas::start_with_log(&[]);
    silas.pair();
    let mut line = silas.line();
    line.say(&silas.wish()).unwrap();
    line.approve(CardKind::Root).unwrap();
    line.approve(CardKind::Rehearsed).unwrap();
    line.approve(CardKind::Done).unwrap();
    line.ask("add task `Water the plants`");
    let secrets = [secret(&silas, "root.key"), secret(&silas, "terminal.key")];

    // The search itself works: it finds a key where one is.
    let planted = secrets[0].spellings[0].clone();
    let (_, found) = search_memory(std::process::id(), &secrets).unwrap();
    assert!(found.contains(&"root.key"), "the search is blind");
    drop(planted);

    let pids = processes(&silas);
    assert!(pids.len() >= 2, "front and launcher: {pids:?}");
    for pid in &pids {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        assert!(secrets.iter().all(|secret| !finds(&environment, secret)), "in the environment of {pid}");
        match search_memory(*pid, &secrets) {
            Some((n_read, found)) => {
                assert!(n_read > 1 << 20, "only {n_read} bytes of {pid} could be read");
                assert_eq!(found, Vec::<&str>::new(), "in the memory of {pid}");
            }
            None => eprintln!("skipped: the memory of {pid} cannot be read by this user; run as root"),
        }
    }
    let export = silas.outside().join("export");
    assert_eq!(silas.command(&["audit", "export", "--with-texts", export.to_str().unwrap()]).0, 0);
    drop(line);
    silas.terminate();
    let mut n_files = 0;
    search_files(&silas.outside(), &silas.data().join("keys"), &secrets, &mut n_files);
    assert!(n_files > 8, "{n_files}");
}
