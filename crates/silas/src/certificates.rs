//! The certificate of the encrypted door: the owner's own, or one that a small authority on this machine vouches for.
//!
//! The authority can vouch for the names that it was made for and for nothing else, so whoever trusts it on a phone does
//! not give this machine the rest of the web. Its key lies in `tls/`, where the running server cannot read.
//!
//! Deliberately absent: authorities on the network, and renewing while the server runs: it reads its certificate at the
//! start, and then renews what ends soon.

use crate::config::Config;
use crate::home::Home;
use crate::named_file;
use anyhow::{Context, Result, anyhow, bail, ensure};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use silas_core::Timestamp;
use silas_web::{NetworkDoor, Tls, validity};
use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use time::OffsetDateTime;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Phones refuse certificates of owner-made authorities that are good for much longer.
const SERVER_DAYS: u32 = 397;
/// Trusting it on every device is work; once in ten years is enough.
const AUTHORITY_DAYS: u32 = 3650;
/// What ends sooner than this is renewed at the next start.
const RENEW_DAYS: u32 = 30;
/// Clocks of other devices may be behind.
const EARLY: Duration = Duration::from_secs(3600);
/// Names that one certificate may have.
const NAMES_MAX: usize = 8;
/// More than any certificate with its chain, or any key, has.
const PEM_BYTES_MAX: u64 = 1 << 20;

/// What the authority was made for, beside its key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    names: Vec<String>,
}

/// The files in `tls/` of a data directory.
pub(crate) struct Place {
    dir: PathBuf,
}

impl Place {
    pub(crate) fn of(data_dir: &Path) -> Self {
        Place { dir: data_dir.join("tls") }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn exists(&self) -> bool {
        self.file("authority.json").exists()
    }

    /// An authority for these names, and a certificate from it.
    pub(crate) fn make(&self, names: &[String], now: Timestamp) -> Result<()> {
        ensure!((1..=NAMES_MAX).contains(&names.len()), "Give one to {NAMES_MAX} names or addresses.");
        if !self.dir.exists() {
            fs::DirBuilder::new().mode(0o700).create(&self.dir)?;
        }
        let key = KeyPair::generate()?;
        let params = authority(names, now)?;
        let certificate = params.self_signed(&key)?;
        write(&self.file("ca.key"), &key.serialize_pem())?;
        write(&self.file("ca.pem"), &certificate.pem())?;
        self.issue(names, &key, now)?;
        write(&self.file("authority.json"), &serde_json::to_string(&About { names: names.to_vec() })?)
    }

    /// A new certificate from the same authority: devices that trust it notice nothing.
    pub(crate) fn renew(&self, now: Timestamp) -> Result<()> {
        let about = self.about()?;
        let key = fs::read_to_string(self.file("ca.key")).context("tls/ca.key cannot be read.")?;
        self.issue(&about.names, &KeyPair::from_pem(&key).context("tls/ca.key is damaged.")?, now)
    }

    fn issue(&self, names: &[String], authority_key: &KeyPair, now: Timestamp) -> Result<()> {
        let issuer = Issuer::new(authority(names, now)?, authority_key);
        let mut params = CertificateParams::new(names.to_vec())?;
        params.distinguished_name = called(&names[0]);
        params.not_before = date(now, 0)?;
        params.not_after = date(now, SERVER_DAYS)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        write(&self.file("server.key"), &key.serialize_pem())?;
        write(&self.file("server.pem"), &certificate.pem())
    }

    fn about(&self) -> Result<About> {
        let text = fs::read_to_string(self.file("authority.json"))
            .context("There is no certificate yet. Make one with `silas tls make NAME`. (E_CFG_TLS)")?;
        serde_json::from_str(&text)
            .context("tls/authority.json is damaged. Make a new one with `--replace`. (E_CFG_TLS)")
    }

    pub(crate) fn names(&self) -> Result<Vec<String>> {
        Ok(self.about()?.names)
    }

    /// Until when authority and certificate are good.
    pub(crate) fn ends(&self) -> Result<(Timestamp, Timestamp)> {
        let end = |name: &str| -> Result<Timestamp> {
            let certificate = certificate(&self.file(name))?;
            Ok(validity::of(&certificate).with_context(|| format!("tls/{name} is damaged."))?.1)
        };
        Ok((end("ca.pem")?, end("server.pem")?))
    }

    /// The SHA-256 of the authority's certificate, as phones show it.
    pub(crate) fn fingerprint(&self) -> Result<String> {
        let digest = Sha256::digest(certificate(&self.file("ca.pem"))?);
        Ok(digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":"))
    }
}

/// The door for other devices, if the configuration wants one. Read before the process confines itself.
pub(crate) fn network_door(config: &Config, home: &Home, now: Timestamp) -> Result<Option<NetworkDoor>> {
    if !config.web.enabled || crate::config::is_loopback(&config.web.host) {
        return Ok(None);
    }
    let (address, name) = (config.web.host.parse::<IpAddr>()?, config.tls.name.clone().unwrap_or_default());
    let tls = match (&config.tls.certificate, &config.tls.key) {
        (Some(certificate), Some(key)) => {
            let chain = named_file::read(certificate, PEM_BYTES_MAX)
                .with_context(|| format!("`{}` cannot be read. (E_CFG_TLS)", certificate.display()))?;
            Tls::new(&chain, &private(key, 0o007)?, &name, now, None)
        }
        _ => made_here(&Place::of(&home.path), &name, now)?,
    };
    let todo = "Set channels.web.tls, or make a certificate with `silas tls make`, then start again.";
    let tls = tls.map_err(|cause| anyhow!("{cause} {todo} (E_CFG_TLS)"))?;
    Ok(Some(NetworkDoor { address, port: config.tls.port, name, tls }))
}

fn made_here(place: &Place, name: &str, now: Timestamp) -> Result<Result<Tls, silas_web::Error>> {
    let names = place.names()?;
    if !names.iter().any(|known| known == name) {
        bail!(
            "The certificate was made for {}, not for {name}. Make one for it with `silas tls make {name} \
             --replace`, and trust it on your devices again. (E_CFG_TLS)",
            names.join(", ")
        );
    }
    let (_, end) = place.ends()?;
    if end < now.plus(DAY * RENEW_DAYS) {
        place.renew(now).context("The certificate ends soon and could not be renewed.")?;
        tracing::info!("the certificate of the encrypted door was renewed");
    }
    let chain = fs::read(place.file("server.pem")).context("tls/server.pem cannot be read.")?;
    let authority = fs::read_to_string(place.file("ca.pem")).context("tls/ca.pem cannot be read.")?;
    Ok(Tls::new(&chain, &private(&place.file("server.key"), 0o077)?, name, now, Some(&authority)))
}

/// A key that nobody in `mask` may read.
fn private(path: &Path, mask: u32) -> Result<Vec<u8>> {
    let meta = fs::metadata(path).with_context(|| format!("`{}` cannot be read. (E_CFG_TLS)", path.display()))?;
    if meta.permissions().mode() & mask != 0 {
        bail!(
            "`{}` can be read by others, so it may not be secret any more. Take their right away with `chmod 600`, \
             or make a new key. (E_CFG_TLS)",
            path.display()
        );
    }
    named_file::read(path, PEM_BYTES_MAX).with_context(|| format!("`{}` cannot be read. (E_CFG_TLS)", path.display()))
}

fn certificate(path: &Path) -> Result<CertificateDer<'static>> {
    CertificateDer::from_pem_file(path).map_err(|_| anyhow!("E_CFG_TLS: {} is no certificate.", path.display()))
}

/// Names of a kind that is not permitted at all are not limited, so every kind that a server can have is named. A name of a
/// host permits those below it too; there is no way to write that it should not.
fn authority(names: &[String], now: Timestamp) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = called(&format!("Silas on {}", names[0]));
    params.not_before = date(now, 0)?;
    params.not_after = date(now, AUTHORITY_DAYS)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let mut permitted = vec![
        GeneralSubtree::DnsName("silas.invalid".to_owned()),
        GeneralSubtree::IpAddress(CidrSubnet::V4([127, 0, 0, 1], [255; 4])),
    ];
    permitted.extend(names.iter().map(|name| match name.parse() {
        Ok(IpAddr::V4(address)) => GeneralSubtree::IpAddress(CidrSubnet::V4(address.octets(), [255; 4])),
        Ok(IpAddr::V6(address)) => GeneralSubtree::IpAddress(CidrSubnet::V6(address.octets(), [255; 16])),
        Err(_) => GeneralSubtree::DnsName(name.clone()),
    }));
    params.name_constraints = Some(NameConstraints { permitted_subtrees: permitted, excluded_subtrees: Vec::new() });
    Ok(params)
}

fn called(name: &str) -> DistinguishedName {
    let mut called = DistinguishedName::new();
    called.push(DnType::CommonName, name);
    called
}

/// So many days from now, a little early.
fn date(now: Timestamp, days: u32) -> Result<OffsetDateTime> {
    let seconds = now.plus(DAY * days).micros() / 1_000_000 - i64::try_from(EARLY.as_secs())?;
    Ok(OffsetDateTime::from_unix_timestamp(seconds)?)
}

/// Readable by the owner alone, whole or not at all.
fn write(path: &Path, text: &str) -> Result<()> {
    let draft = path.with_extension("draft");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path).with_context(|| format!("{} cannot be written.", path.display()))
}

#[cfg(test)]
mod tests;
