//! One file that holds named parts, each with its length and its SHA-256, and a hash over everything at the end.
//!
//! ```text
//! file  = "silas-backup v1\n"  part*  end
//! part  = name length (2 bytes)  name (UTF-8)  content length (8 bytes)  content  SHA-256 of the content (32 bytes)
//! end   = 0 (2 bytes)  SHA-256 of every byte before it (32 bytes)
//! ```
//!
//! Numbers are big-endian. Deliberately absent: compression, and any secrecy: whoever has the file has what is in it. The
//! hashes show damage, not malice; a file that a stranger had in hand is the stranger's.

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest as _, Sha256};
use silas_core::Digest;
use std::io::{self, Read, Write};

const MAGIC: &[u8; 16] = b"silas-backup v1\n";
/// Longer than any name that is written.
const NAME_BYTES_MAX: usize = 200;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub name: String,
    pub n_bytes: u64,
    pub digest: Digest,
}

/// Passes bytes on and hashes them on their way.
struct Hashing<T> {
    inner: T,
    hasher: Sha256,
}

impl<T> Hashing<T> {
    fn new(inner: T) -> Self {
        Hashing { inner, hasher: Sha256::new() }
    }

    fn digest(&self) -> Digest {
        Digest::from_bytes(self.hasher.clone().finalize().into())
    }
}

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Hashing<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(bytes)?;
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }
}

pub(crate) struct Writer<W: Write> {
    out: Hashing<W>,
    parts: Vec<Part>,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(out: W) -> Result<Self> {
        let mut out = Hashing::new(out);
        out.write_all(MAGIC)?;
        Ok(Writer { out, parts: Vec::new() })
    }

    /// Adds a part of exactly `n_bytes`; a file that grows or shrinks meanwhile is an error.
    pub(crate) fn add(&mut self, name: &str, n_bytes: u64, content: impl Read) -> Result<()> {
        ensure!((1..=NAME_BYTES_MAX).contains(&name.len()), "{name} is no name for a part");
        self.out.write_all(&u16::try_from(name.len())?.to_be_bytes())?;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(&n_bytes.to_be_bytes())?;
        // One byte more than there should be, to notice that there is one.
        let mut content = Hashing::new(content.take(n_bytes.saturating_add(1)));
        let n_copied = io::copy(&mut content, &mut self.out)?;
        ensure!(n_copied == n_bytes, "{name} changed while it was read");
        let digest = content.digest();
        self.out.write_all(digest.as_bytes())?;
        self.parts.push(Part { name: name.to_owned(), n_bytes, digest });
        Ok(())
    }

    /// Closes the file and says what is in it.
    pub(crate) fn finish(mut self) -> Result<(W, Vec<Part>)> {
        self.out.write_all(&[0; 2])?;
        let digest = self.out.digest();
        self.out.write_all(digest.as_bytes())?;
        self.out.flush()?;
        Ok((self.out.inner, self.parts))
    }
}

/// Reads a whole file, giving each part to the place that `place` names for it, and checks every hash. What was placed
/// counts only if this succeeds.
pub(crate) fn read<P: Write>(from: impl Read, mut place: impl FnMut(&str, u64) -> Result<P>) -> Result<Vec<Part>> {
    let mut from = Hashing::new(from);
    let mut magic = [0; 16];
    from.read_exact(&mut magic).ok().filter(|()| &magic == MAGIC).context("This is not a backup of Silas.")?;
    let mut parts = Vec::new();
    while let Some(part) = read_part(&mut from, &mut place).context("The backup is cut off or damaged.")? {
        parts.push(part);
    }
    let computed = from.digest();
    let mut written = [0; 32];
    from.read_exact(&mut written).context("The backup is cut off.")?;
    ensure!(computed == Digest::from_bytes(written), "The backup is damaged: its last hash does not fit.");
    ensure!(from.read(&mut [0])? == 0, "The backup is damaged: something follows its end.");
    Ok(parts)
}

/// `None` at the end.
fn read_part<P: Write>(
    from: &mut Hashing<impl Read>,
    place: &mut impl FnMut(&str, u64) -> Result<P>,
) -> Result<Option<Part>> {
    let name_bytes = usize::from(u16::from_be_bytes(read_array(from)?));
    if name_bytes == 0 {
        return Ok(None);
    }
    ensure!(name_bytes <= NAME_BYTES_MAX, "A part has a name of {name_bytes} bytes.");
    let mut name = vec![0; name_bytes];
    from.read_exact(&mut name)?;
    let name = String::from_utf8(name).context("A part has a name that is no text.")?;
    let n_bytes = u64::from_be_bytes(read_array(from)?);
    let mut content = Hashing::new(place(&name, n_bytes)?);
    let n_copied = io::copy(&mut from.by_ref().take(n_bytes), &mut content)?;
    ensure!(n_copied == n_bytes, "{name} is cut off.");
    content.flush()?;
    let digest = content.digest();
    if digest != Digest::from_bytes(read_array(from)?) {
        bail!("{name} is damaged: its hash does not fit.");
    }
    Ok(Some(Part { name, n_bytes, digest }))
}

fn read_array<const N: usize>(from: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
