//! Whom a connection trusts: the machine's own list of authorities, or the one that came with this program where the
//! machine has none. There is no way to trust nobody in particular.

use crate::Error;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

pub(super) fn client() -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    let own = rustls_native_certs::load_native_certs();
    let (added, _unreadable) = roots.add_parsable_certificates(own.certs);
    if added == 0 {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| Error::Setup(cause.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
