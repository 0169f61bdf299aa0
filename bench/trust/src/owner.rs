//! An owner with keys of its own, who signs whatever the bench needs signed.

use anyhow::Result;
use ed25519_dalek::{Signer, SigningKey};
use silas_approval::{Approvable, Askable, Engine};
use silas_core::card::{CardKind, Face};
use silas_core::device::{Certificate, CertificateBody, DeviceKind};
use silas_core::evidence::{Anchor, Evidence};
use silas_core::handover::Handovers;
use silas_core::server_keys::ServerKeys;
use silas_core::signature::{PublicKey, Signature};
use silas_core::token::{Kind, Offer, Token, Verdict};
use silas_core::{ExecutionId, InstallationId, Random, Timestamp, canonical};
use silas_store::audit::Keeper;
use std::time::Duration;

/// As many uses as any approval may have.
pub(crate) const USES: u32 = 1000;

/// What is approved: the text does not matter, that it is hashed does.
pub(crate) struct Standing;

impl Askable for Standing {
    fn kind(&self) -> Kind {
        Kind::HouseRules
    }
    fn payload(&self) -> Result<String, canonical::Error> {
        canonical::text("a standing approval of about the size of a small plan, which is what is hashed at every use")
    }
}

impl Approvable for Standing {
    fn runs_for(&self) -> Duration {
        Duration::from_secs(60)
    }
}

pub(crate) struct Owner {
    root: SigningKey,
    device: SigningKey,
    installation: InstallationId,
}

impl Owner {
    pub(crate) fn new() -> Self {
        let installation = InstallationId::new(&Fixed);
        Owner { root: SigningKey::from_bytes(&[1; 32]), device: SigningKey::from_bytes(&[2; 32]), installation }
    }

    pub(crate) fn anchor(&self) -> Anchor {
        Anchor { root: public(&self.root), installation: self.installation.clone(), epoch: 1 }
    }

    pub(crate) fn keeper(&self) -> Keeper {
        Keeper {
            root: public(&self.root),
            handovers: Handovers::default(),
            servers: ServerKeys::only(public(&self.root)),
            installation: self.installation.clone(),
        }
    }

    /// A signature without our types around it.
    pub(crate) fn bare(&self, message: &str) -> ([u8; 32], [u8; 64]) {
        (self.device.verifying_key().to_bytes(), self.device.sign(message.as_bytes()).to_bytes())
    }

    /// A signed decision with its certificate; different for every number.
    pub(crate) fn evidence(&self, engine: &Engine, n: u64) -> Result<Evidence> {
        let offer = engine.offer(&format!("bench-{n}"), &Standing, &face(), Duration::from_secs(24 * 3600))?;
        let body = Offer { max_executions: USES, ..offer }.answered(public(&self.device).id(), Verdict::Approved);
        let signature = sign(&self.device, &body.message()?);
        let token = Token { body, signature };
        let execution = ExecutionId::derive(&token.id()?, 0);
        Ok(Evidence {
            token,
            certificate: self.certificate()?,
            payload: Standing.payload()?,
            execution,
            roots: Vec::new(),
            plan: None,
        })
    }

    fn certificate(&self) -> Result<Certificate> {
        let device = public(&self.device);
        let body = CertificateBody {
            v: 1,
            kind: DeviceKind::Terminal,
            installation: self.installation.clone(),
            name: "Bench".to_owned(),
            key: device.id(),
            public: device,
            issued_at: Timestamp::EPOCH,
            site: None,
        };
        let signature = sign(&self.root, &canonical::text(&body)?);
        Ok(Certificate { body, signature })
    }
}

fn public(key: &SigningKey) -> PublicKey {
    PublicKey::from_bytes(key.verifying_key().to_bytes())
}

fn sign(key: &SigningKey, message: &str) -> Signature {
    Signature::ed25519(public(key).id(), key.sign(message.as_bytes()).to_bytes())
}

fn face() -> Face {
    Face {
        kind: CardKind::Pairing,
        risk: None,
        state: String::new(),
        intent: "Bench".to_owned(),
        facts: Vec::new(),
        evidence: None,
        versions: None,
        rationale: String::new(),
        asked: None,
        quote: None,
        details_title: String::new(),
        details: Vec::new(),
        diffs: Vec::new(),
        ctas: Vec::new(),
    }
}

/// One installation is enough, and it may as well be the same each time.
struct Fixed;

impl Random for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}
