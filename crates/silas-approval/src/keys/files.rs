//! A private key in its file: plain, or sealed with its public half in front, so that it can be recognised unopened.

use super::KeyTrouble;
use crate::durable::{is_open_to_others, replace, write_new};
use crate::sealing::SealKey;
use ed25519_dalek::SigningKey;
use silas_core::signature::PublicKey;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// What a key file starts with, so that a damaged or foreign file is noticed.
const PLAIN: &[u8; 8] = b"silas-k1";
const SEALED: &[u8; 8] = b"silas-k2";
/// More than either kind has.
const FILE_BYTES_MAX: u64 = 256;

pub(super) struct Seed(Zeroizing<[u8; 32]>);

pub(super) enum KeyFile {
    Plain(Seed),
    Sealed(SealedSeed),
}

pub(super) struct SealedSeed {
    public: [u8; 32],
    sealed: Vec<u8>,
}

impl Seed {
    pub(super) fn random() -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        crate::sealing::fill(seed.as_mut());
        Seed(seed)
    }

    pub(super) fn signing_key(&self) -> SigningKey {
        SigningKey::from_bytes(&self.0)
    }

    pub(super) fn plain(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(PLAIN.len() + self.0.len()));
        bytes.extend_from_slice(PLAIN);
        bytes.extend_from_slice(self.0.as_ref());
        bytes
    }

    /// Bound to its public half and to what it is called, so that one key cannot take another's place.
    pub(super) fn sealed(&self, seal: &SealKey, name: &str) -> Result<Zeroizing<Vec<u8>>, KeyTrouble> {
        let public = self.signing_key().verifying_key().to_bytes();
        let sealed = seal.seal(&about(name, &public), self.0.as_ref());
        let sealed = sealed.ok_or_else(|| KeyTrouble::Refused(format!("{name} could not be sealed")))?;
        Ok(Zeroizing::new([SEALED.as_slice(), &public, &sealed].concat()))
    }
}

impl SealedSeed {
    pub(super) fn open(&self, seal: &SealKey, name: &str) -> Result<Seed, KeyTrouble> {
        let damaged = || KeyTrouble::Refused(format!("keys/{name} is damaged. Restore it from a backup."));
        let plain = seal.open(&about(name, &self.public), &self.sealed).ok_or_else(damaged)?;
        let seed = Seed(Zeroizing::new(plain.as_slice().try_into().map_err(|_| damaged())?));
        let is_ours = seed.signing_key().verifying_key().to_bytes() == self.public;
        if is_ours { Ok(seed) } else { Err(damaged()) }
    }
}

impl KeyFile {
    pub(super) fn read(path: &Path) -> io::Result<KeyFile> {
        let part =
            |path: Option<&Path>| path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{}/{}", part(path.parent()), part(Some(path)));
        let damaged = || io::Error::other(format!("{name} is damaged. Restore it from a backup."));
        let mut file = File::open(path).map_err(|e| io::Error::new(e.kind(), format!("{name} cannot be read: {e}")))?;
        if is_open_to_others(path)? {
            return Err(io::Error::other(format!("{name} is readable by others. Run `chmod 600` on it.")));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(256));
        Read::take(&mut file, FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        if let Some(seed) = bytes.strip_prefix(PLAIN) {
            return Ok(KeyFile::Plain(Seed(Zeroizing::new(seed.try_into().map_err(|_| damaged())?))));
        }
        let rest = bytes.strip_prefix(SEALED).ok_or_else(damaged)?;
        let (public, sealed) = rest.split_at_checked(32).ok_or_else(damaged)?;
        let public = public.try_into().map_err(|_| damaged())?;
        Ok(KeyFile::Sealed(SealedSeed { public, sealed: sealed.to_vec() }))
    }

    pub(super) fn public(&self) -> PublicKey {
        PublicKey::from_bytes(match self {
            KeyFile::Plain(seed) => seed.signing_key().verifying_key().to_bytes(),
            KeyFile::Sealed(sealed) => sealed.public,
        })
    }
}

/// For a key that lies where its user may read it: made where there is none. A damaged one is an error.
pub(crate) fn load_or_make_plain(path: &Path) -> io::Result<SigningKey> {
    if path.exists() {
        return load_plain(path);
    }
    let seed = Seed::random();
    write_new(path, &seed.plain())?;
    Ok(seed.signing_key())
}

/// Makes one in any case. What lies there is a leftover that nobody vouched for.
pub(crate) fn make_plain(path: &Path) -> io::Result<SigningKey> {
    let seed = Seed::random();
    replace(path, &seed.plain())?;
    Ok(seed.signing_key())
}

pub(crate) fn load_plain(path: &Path) -> io::Result<SigningKey> {
    match KeyFile::read(path)? {
        KeyFile::Plain(seed) => Ok(seed.signing_key()),
        KeyFile::Sealed(_) => Err(io::Error::other("a sealed key lies where a plain one belongs. Restore a backup.")),
    }
}

fn about(name: &str, public: &[u8; 32]) -> Vec<u8> {
    [b"silas-k2 ", name.as_bytes(), b" ", public.as_slice()].concat()
}
