//! One command of `silas sandbox` as it comes to the ledger: what the terminal's key signed, and how it ended.
//!
//! Values of variables are given to a command so that nobody else has them, so they are kept nowhere: of a command with
//! variables the ledger has the hash of what was signed, the decision and the command's words.

use crate::check::Ended;
use crate::device::{Certificate, DeviceKind};
use crate::envelope::Envelope;
use crate::evidence::{self, Anchor, Evidence, Refusal, When};
use crate::revocation::Revocations;
use crate::token::{Kind, Token};
use crate::{ExecutionId, TokenId, canonical};
use serde::{Deserialize, Serialize};

/// What whoever ran it hands in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandRun {
    pub token: Token,
    pub certificate: Certificate,
    /// The bytes that were signed.
    pub envelope: String,
    /// From [`CommandRun::outcome_of`] or [`CommandRun::outcome_untold`], or the code of what went wrong.
    pub outcome: String,
}

/// What is kept beside the entry, in the line after the command's words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub token: Token,
    pub certificate: Certificate,
    /// The bytes that were signed, unless variables were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<String>,
}

/// Stands between how a command ended and why it cannot be told what it changed.
const UNTOLD: char = '-';
/// Longest outcome; all of ours are shorter.
const OUTCOME_BYTES_MAX: usize = 64;

impl CommandRun {
    pub fn outcome_of(ended: &Ended) -> String {
        match ended {
            Ended::Exited(code) => format!("exit_{code}"),
            Ended::Signalled(signal) => format!("signal_{signal}"),
            Ended::TimedOut { .. } => "timed_out".to_owned(),
        }
    }

    /// The same for a command that ran, and of which it cannot be told what it changed: with the code of why not.
    pub fn outcome_untold(ended: &Ended, code: &str) -> String {
        format!("{}{UNTOLD}{code}", CommandRun::outcome_of(ended))
    }

    /// How it ended, and the code of why it cannot be told what it changed.
    pub fn untold(outcome: &str) -> (&str, Option<&str>) {
        outcome.split_once(UNTOLD).map_or((outcome, None), |(ended, code)| (ended, Some(code)))
    }

    /// Whether the terminal of this installation signed exactly this. Gives the ids by which the entry names it, and the text
    /// beside it: the command in words, and in a last line a [`Kept`].
    pub fn verified(
        &self,
        anchor: &Anchor,
        revocations: &Revocations,
    ) -> Result<(TokenId, ExecutionId, String), Refusal> {
        let malformed = |why: &str| Refusal::Malformed(why.to_owned());
        let token = self.token.id().map_err(|e| malformed(&e.to_string()))?;
        let execution = ExecutionId::derive(&token, 0);
        let evidence = Evidence {
            token: self.token.clone(),
            certificate: self.certificate.clone(),
            payload: self.envelope.clone(),
            execution: execution.clone(),
            roots: Vec::new(),
            plan: None,
        };
        // It was spent when it ran, and a command may take long.
        evidence::verify(&evidence, Kind::Step, anchor, revocations, When::AlreadyCommitted)?;
        if self.certificate.body.kind != DeviceKind::Terminal {
            return Err(malformed("only the terminal signs commands of its own"));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if self.outcome.is_empty() || self.outcome.len() > OUTCOME_BYTES_MAX || !self.outcome.bytes().all(plain) {
            return Err(malformed("this is no outcome of a command"));
        }
        let envelope = Envelope::from_canonical(&self.envelope).map_err(Refusal::Malformed)?;
        let is_open = envelope.sandbox_config.env.is_empty();
        let kept = Kept {
            token: self.token.clone(),
            certificate: self.certificate.clone(),
            envelope: is_open.then(|| self.envelope.clone()),
        };
        let kept = canonical::text(&kept).map_err(|e| malformed(&e.to_string()))?;
        Ok((token, execution, format!("{}\n{kept}", envelope.args.words())))
    }
}
