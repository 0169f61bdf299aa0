//! What a command printed, when that is more than a model is told: all of it lies where the next commands can read it.
//!
//! It is none of the directories, so nothing of it is a change, and it goes with the copy.

use super::Bench;
use crate::durable;
use crate::workspace::PRINTED;
use silas_core::envelope::PRINTED_INSIDE;
use silas_core::number::grouped;
use std::fs;

/// Commands whose output is kept; of older ones there was time to read it.
const KEPT_MAX: u32 = 20;

impl Bench {
    /// Where commands find it from now on; `None` if it could not be kept, which only means that it is not there.
    pub(super) fn keep_printed(&self, n: u32, stdout: &[u8], stderr: &[u8]) -> Option<String> {
        let dir = self.workspace.as_ref()?.home().join(PRINTED);
        durable::private_dir(&dir).ok()?;
        let name = |n: u32| format!("{n}.txt");
        if let Some(old) = n.checked_sub(KEPT_MAX) {
            // It may not have been long enough to be there.
            let _ = fs::remove_file(dir.join(name(old)));
        }
        fs::write(dir.join(name(n)), [stdout, stderr].concat()).ok()?;
        Some(format!("{PRINTED_INSIDE}/{}", name(n)))
    }
}

/// The beginning and the end of a stream that was longer than a cell keeps; between them a line that says so. What the cut
/// left of a character goes with it. Also how many more bytes are missing than stand in that line.
pub(super) fn whole(head: &[u8], end: &[u8], n_dropped: u64) -> (Vec<u8>, usize) {
    if n_dropped == 0 && end.is_empty() {
        return (head.to_vec(), 0);
    }
    let head = match std::str::from_utf8(head) {
        Err(e) if e.error_len().is_none() => &head[..e.valid_up_to()],
        Ok(_) | Err(_) => head,
    };
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let end = &end[end.iter().take(3).take_while(is_inside).count()..];
    let mark = format!("\n[… {} bytes are left out here …]\n", grouped(n_dropped));
    if n_dropped == 0 {
        return ([head, end].concat(), 0);
    }
    let n_missing = usize::try_from(n_dropped).unwrap_or(usize::MAX).saturating_sub(mark.chars().count());
    ([head, mark.as_bytes(), end].concat(), n_missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_no_half_of_a_character() {
        assert_eq!(whole(b"a", b"", 0), (b"a".to_vec(), 0));
        assert_eq!(whole("a€".as_bytes(), "€b".as_bytes(), 0), ("a€€b".as_bytes().to_vec(), 0));
        let (head, end) = (&"a€".as_bytes()[..2], &"€b".as_bytes()[1..]);
        let expected = b"a\n[\xe2\x80\xa6 99 bytes are left out here \xe2\x80\xa6]\nb";
        assert_eq!(whole(head, end, 99), (expected.to_vec(), 99 - 34));
    }
}
