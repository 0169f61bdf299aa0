//! Passkeys in the launcher: certified by a decision of the owner's, and remembered where the front cannot write, so that
//! a front that forgets them does not lower the bar.

use crate::Error;
use crate::clock;
use crate::ground::Ground;
use silas_core::canonical;
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::evidence::{self, Evidence, Refusal, When};
use silas_core::passkey::{self, PasskeyGrant};
use silas_core::token::Kind;

/// Checks the decision, has the root key sign the certificate, and remembers it.
pub(crate) fn certify(
    ground: &Ground,
    evidence: &Evidence,
    sign: impl FnOnce(CertificateBody) -> Result<Certificate, Error>,
) -> Result<Certificate, Error> {
    let now = clock::now();
    let revocations = ground.memory.revocations(&ground.anchor)?;
    evidence::verify(evidence, Kind::Device, &ground.anchor, &revocations, When::At(now))?;
    may_decide(ground, evidence)?;
    let grant: PasskeyGrant = canonical::read(&evidence.payload).map_err(|bad| Refusal::Malformed(bad.to_string()))?;
    grant.check().map_err(|why| Refusal::Malformed(why.to_owned()))?;
    let body = grant.certificate_body(&ground.anchor.installation, now);
    if revocations.has_device(&body.key) {
        return Err(Error::Pairing("this key was revoked. Make a new one".to_owned()));
    }
    let certificate = sign(body)?;
    ground.memory.remember_passkey(certificate.clone())?;
    Ok(certificate)
}

/// Where a passkey is registered, another key does not decide what is a passkey's to decide.
pub(crate) fn may_decide(ground: &Ground, evidence: &Evidence) -> Result<(), Error> {
    let revocations = ground.memory.revocations(&ground.anchor)?;
    let known = ground.memory.passkeys()?;
    let has_passkey = known.iter().any(|known| !revocations.has_device(&known.body.key));
    let (signer, body) = (evidence.certificate.body.kind, &evidence.token.body);
    Ok(passkey::may_decide(signer, body.offer.kind, &evidence.payload, body.verdict, has_passkey)?)
}

/// Compares with what the front knows: both know all of them afterwards. Only what the root key certified counts.
pub(crate) fn compare(ground: &Ground, known: Vec<Certificate>) -> Result<Vec<Certificate>, Error> {
    let is_one = |certificate: &Certificate| {
        certificate.body.kind == DeviceKind::Passkey
            && certificate.verifies(&ground.anchor.root, &ground.anchor.installation)
    };
    for certificate in known.into_iter().filter(is_one) {
        ground.memory.remember_passkey(certificate)?;
    }
    ground.memory.passkeys()
}
