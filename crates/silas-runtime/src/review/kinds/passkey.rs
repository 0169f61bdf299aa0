//! The card of a passkey: what it will be asked for, and where it counts.

use super::{Answered, Asked, Rules, unreadable};
use crate::review::{Granted, Review};
use crate::words::{Words, approve, decline, fact};
use silas_approval::Recorded;
use silas_core::canonical;
use silas_core::card::Card;
use silas_core::card::{CardKind, Detail, Face, Risk};
use silas_core::passkey::PasskeyGrant;
use silas_gates::scrub;
use silas_store::Tx;

pub(super) struct Passkey;

impl Rules for Passkey {
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        canonical::read::<PasskeyGrant>(card.payload.as_deref()?).ok().map(|grant| passkey(&grant))
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Answered {
        let Ok(grant) = canonical::read::<PasskeyGrant>(asked.payload) else { return unreadable() };
        let approved = review.house.engine.authorize(tx, &by.token, grant)?;
        Ok(approved.map(|approved| Granted::Passkey(Box::new(approved))))
    }
}

pub(crate) fn passkey(grant: &PasskeyGrant) -> Face {
    let mut face = Face {
        kind: CardKind::Passkey,
        risk: Some(Risk::High),
        state: "Device".to_owned(),
        intent: "Sign what cannot be undone with a passkey".to_owned(),
        facts: vec![fact("Needs only", "Your finger, face or PIN")],
        evidence: None,
        versions: None,
        rationale: "From then on no other key is enough for that, this browser's and the terminal's included. The \
                    terminal can take the passkey back."
            .to_owned(),
        asked: None,
        quote: None,
        details_title: "Exactly which passkey".to_owned(),
        details: vec![Detail {
            title: "Passkey".to_owned(),
            lines: vec![
                scrub::visible(&grant.name),
                format!("Key {}", &grant.public.id().as_str()[4..12]),
                format!("Counts on pages of {}", scrub::visible(&grant.site.rp_id)),
            ],
        }],
        diffs: Vec::new(),
        ctas: vec![
            approve("Register this passkey", "From now on it alone signs what cannot be undone."),
            decline("Not now"),
        ],
    };
    face.add_fact("Uses", &scrub::visible_line(&grant.name, 60), "1 passkey, listed below");
    face.add_fact("Stays", &format!("On {}", grant.site.rp_id), "1 site, listed below");
    face
}
