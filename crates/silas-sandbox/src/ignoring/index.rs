//! Which files a git repository tracks, read from its index. Nothing else of it is looked at.

/// More entries than any list of files that people track.
const ENTRIES_MAX: u32 = 4_000_000;
const NAME_BYTES_MAX: usize = 4096;
/// Times, device, inode, mode, owner, size.
const STAT_BYTES: usize = 40;
const IS_EXTENDED: u16 = 0x4000;

/// The paths of an index, sorted. `None` if it cannot be read, or is only a part of one: then nobody knows what is tracked.
pub(super) fn tracked(index: &[u8]) -> Option<Vec<Vec<u8>>> {
    // The numbers of objects have 20 bytes, or 32 in repositories that were made so.
    let mut paths = [20, 32].into_iter().find_map(|hash_bytes| read(index, hash_bytes))?;
    paths.sort();
    paths.dedup();
    Some(paths)
}

fn read(index: &[u8], hash_bytes: usize) -> Option<Vec<Vec<u8>>> {
    let word = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if index.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, n_entries) = (word(4)?, word(8)?);
    if !(2..=4).contains(&version) || n_entries > ENTRIES_MAX {
        return None;
    }
    let (mut at, mut paths, mut last) = (12, Vec::new(), Vec::new());
    for _ in 0..n_entries {
        let begin = at;
        at += STAT_BYTES + hash_bytes;
        let flags = u16::from_be_bytes(index.get(at..at + 2)?.try_into().ok()?);
        at += 2 + if flags & IS_EXTENDED == 0 { 0 } else { 2 };
        let name = if version == 4 {
            let (cut, after) = varint(index, at)?;
            at = after;
            last.get(..last.len().checked_sub(cut)?)?.to_vec()
        } else {
            Vec::new()
        };
        let rest = index.get(at..)?;
        let length = rest.iter().take(NAME_BYTES_MAX).position(|b| *b == 0)?;
        let name = [&name, &rest[..length]].concat();
        at += length + 1;
        if version < 4 {
            // Padded with zeros to a multiple of eight, at least one of them.
            at = begin + (at - begin).next_multiple_of(8);
        }
        if name.is_empty() || name[0] == b'/' {
            return None;
        }
        last.clone_from(&name);
        paths.push(name);
    }
    let is_whole = extensions(index.get(at..)?, hash_bytes)?;
    is_whole.then_some(paths)
}

/// Goes through what follows the entries to the checksum. What does not begin with a capital letter must be understood by
/// whoever reads an index: `link` says that the rest lies in another file, `sdir` that directories stand for what is in them.
fn extensions(mut rest: &[u8], hash_bytes: usize) -> Option<bool> {
    while rest.len() > hash_bytes {
        let (head, after) = rest.split_at_checked(8)?;
        if !head[0].is_ascii_uppercase() {
            return Some(false);
        }
        let length = usize::try_from(u32::from_be_bytes(head[4..8].try_into().ok()?)).ok()?;
        rest = after.get(length..)?;
    }
    Some(rest.len() == hash_bytes)
}

/// Git's numbers of variable length, and where they end.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}
