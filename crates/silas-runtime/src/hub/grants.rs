//! What is allowed and to whom, as every list and every row names it.

use super::Hub;
use crate::Trouble;
use crate::view::{DeviceView, GrantView, GrantsPage, Uses};
use crate::words::{Words, duration, name_of};
use silas_approval::house_rules::HouseRules;
use silas_approval::{Engine, Grant};
use silas_core::model::{BudgetGrant, ModelGrant, dollars};
use silas_core::roots::RootGrant;
use silas_core::token::Kind;
use silas_core::work::WorkItem;
use silas_core::{KeyId, canonical, hidden};
use silas_gates::scrub;
use silas_store::ReadTx;

impl Hub {
    /// The grants from number `from` on, counted from 0 in the order of [`crate::view::Snapshot::grants`].
    pub async fn grants(&self, from: usize) -> Result<GrantsPage, Trouble> {
        let (engine, words) = (self.house.engine.clone(), self.house.words.clone());
        let allowed = self.house.store.read(move |tx| allowed(&tx.leaving_out(), &engine, &words)).await?;
        Ok(page(allowed.into_iter().map(|(_, view)| view).collect(), from))
    }
}

/// Every grant, with the device that signed it.
pub(crate) fn allowed(
    tx: &ReadTx<'_>,
    engine: &Engine,
    words: &Words,
) -> Result<Vec<(KeyId, GrantView)>, silas_store::Error> {
    let grants = engine.grants(tx)?;
    Ok(grants.into_iter().filter_map(|grant| Some((grant.token.body.key.clone(), view(grant, words)?))).collect())
}

fn view(grant: Grant, words: &Words) -> Option<GrantView> {
    let offer = &grant.token.body.offer;
    let Said { title, text, directory } = said(grant.kind, &grant.payload, words)?;
    let (uses, until) = match grant.kind {
        // Allowed until it is taken back, however often it is used.
        Kind::Root | Kind::Model => (None, None),
        Kind::HouseRules
        | Kind::Budget
        | Kind::Plan
        | Kind::Rehearsal
        | Kind::Apply
        | Kind::Undo
        | Kind::Step
        | Kind::Device => (Some(Uses { left: grant.uses_left, of: offer.max_executions }), Some(offer.expires_at)),
    };
    let signed_on = scrub::visible_line(&grant.signed_on, 60);
    Some(GrantView { token: grant.id, title, text, directory, uses, since: offer.issued_at, until, signed_on })
}

/// What a grant is called, and what it allows, in the words of every list and every row that names it.
pub(crate) struct Said {
    pub(crate) title: String,
    pub(crate) text: String,
    directory: Option<String>,
}

/// A plan by its title, which may be a model's word.
fn plan(title: &str) -> String {
    format!("Plan {}", hidden::quotation(&scrub::visible_line(title, 60)))
}

/// Nothing for what is no grant, or cannot be read.
pub(crate) fn said(kind: Kind, payload: &str, words: &Words) -> Option<Said> {
    let mut directory = None;
    let (title, text) = match kind {
        Kind::HouseRules => {
            let rules: HouseRules = canonical::read(payload).ok()?;
            let rules: Vec<String> = rules.rules.iter().map(|rule| format!("{}.", rule.words())).collect();
            ("House rules".to_owned(), rules.join(" "))
        }
        Kind::Root => {
            let root: RootGrant = canonical::read(payload).ok()?;
            let text = format!(
                "Plans may be offered for `{}`. Nothing there changes without your yes.",
                words.path(&root.place.path)
            );
            directory = Some(scrub::visible(&root.place.path));
            (format!("Work in {}", name_of(&root.place.path)), text)
        }
        Kind::Model => {
            let grant: ModelGrant = canonical::read(payload).ok()?;
            let roles: Vec<&str> = grant.roles.iter().map(|role| role.name()).collect();
            let text = format!("What you say may go to `{}`, as {}.", grant.model.host(), roles.join(" and "));
            (scrub::visible_line(&format!("Ask {}", grant.model), 80), text)
        }
        Kind::Budget => {
            let grant: BudgetGrant = canonical::read(payload).ok()?;
            let text = format!("Adds {} to the cap of {}.", dollars(grant.microusd), grant.period);
            ("More for models".to_owned(), text)
        }
        Kind::Plan => {
            let item = WorkItem::from_canonical(payload).ok()?;
            let d = item.definition();
            let text = format!("Approved and not begun. Stops after {}.", duration(d.budget.max_wall_time_seconds));
            (plan(&d.title), text)
        }
        Kind::Rehearsal => {
            let item = WorkItem::from_canonical(payload).ok()?;
            let text = "To be tried out in a private copy and shown. Nothing is applied by it.".to_owned();
            (plan(&item.definition().title), text)
        }
        Kind::Apply => ("Apply".to_owned(), "Puts one result in place, exactly as it was shown.".to_owned()),
        Kind::Undo => ("Undo".to_owned(), "Puts the old versions of one piece of work back.".to_owned()),
        // Used in the moment in which it is signed, so it never stands.
        Kind::Step => return None,
        // What it allowed is a device, and listed as one.
        Kind::Device => return None,
    };
    Some(Said { title, text, directory })
}

/// Grants that a door is given at once; the rest is counted and can be asked for.
const GRANTS_SHOWN: usize = 100;

pub(crate) fn page(grants: Vec<GrantView>, from: usize) -> GrantsPage {
    let n_more_grants = grants.len().saturating_sub(from.saturating_add(GRANTS_SHOWN));
    GrantsPage { grants: grants.into_iter().skip(from).take(GRANTS_SHOWN).collect(), n_more_grants }
}

/// The owner's devices, oldest first. Revoked ones stay on the list, because decisions name them.
pub(crate) fn devices(
    tx: &ReadTx<'_>,
    engine: &Engine,
    grants: &[(KeyId, GrantView)],
) -> Result<Vec<DeviceView>, silas_store::Error> {
    let (anchor, revocations) = (engine.anchor(), engine.revocations());
    let known = silas_store::devices::list(tx)?.into_iter();
    let ours = known.filter(|certificate| engine.vouches_for(certificate));
    let view = |certificate: silas_core::device::Certificate| {
        let body = certificate.body;
        let n_grants = grants.iter().filter(|(key, _)| *key == body.key).count();
        DeviceView {
            name: scrub::visible_line(&body.name, 60),
            kind: body.kind,
            since: body.issued_at,
            is_revoked: revocations.has_device(&body.key),
            digits: silas_core::device::digits(&body.public, &anchor.installation),
            site: body.site,
            n_grants: u32::try_from(n_grants).unwrap_or(u32::MAX),
            key: body.key,
        }
    };
    Ok(ours.map(view).collect())
}
