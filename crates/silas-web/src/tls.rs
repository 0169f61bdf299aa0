//! What the network door shows to be believed: a certificate and its key, read once at the start.
//!
//! Whatever does not fit (another name, another key, a time that is over) is an error here, before anybody connects.
//! Deliberately absent: TLS below 1.3, certificates of clients (devices sign instead), making certificates (a command does).

use crate::Error;
use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use silas_core::Timestamp;
use std::sync::Arc;

pub mod validity;

/// Certificate and key of the network door.
#[derive(Clone)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    /// When the certificate ends.
    pub(crate) not_after: Timestamp,
    /// The certificate that others need to trust this one, as PEM, if it is ours to give.
    pub(crate) authority: Option<Arc<str>>,
}

impl Tls {
    /// `chain` and `key` are PEM; the chain begins with the certificate for `name`.
    pub fn new(chain: &[u8], key: &[u8], name: &str, now: Timestamp, authority: Option<&str>) -> Result<Self, Error> {
        let bad = |reason: String| Error::Certificate { reason };
        let certificates = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|cause| bad(format!("the certificate file cannot be read: {cause}")))?;
        let first = certificates.first().ok_or_else(|| bad("the certificate file holds no certificate".to_owned()))?;
        let parsed = ParsedCertificate::try_from(first).map_err(|cause| bad(cause.to_string()))?;
        let server = ServerName::try_from(name).map_err(|_| bad(format!("`{name}` is not a name or an address")))?;
        verify_server_name(&parsed, &server).map_err(|_| bad(format!("it was not made for `{name}`")))?;
        let (not_before, not_after) =
            validity::of(first).ok_or_else(|| bad("its validity cannot be read".to_owned()))?;
        if now > not_after {
            return Err(bad(format!("it was good until {not_after} only")));
        }
        if now < not_before {
            return Err(bad(format!("it is good from {not_before} on; is the clock right?")));
        }
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|_| bad("the key file holds no private key".to_owned()))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(|cause| bad(format!("certificate and key do not work together: {cause}")))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { config: Arc::new(config), not_after, authority: authority.map(Arc::from) })
    }
}
