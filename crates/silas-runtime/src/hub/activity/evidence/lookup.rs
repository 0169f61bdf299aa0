//! What the entries of the ledger only name, looked up: cards, decisions, devices, questions, work. Says nothing about
//! what is not there any more.

use super::*;
use silas_core::hidden;

impl Behind<'_, '_> {
    pub(super) fn refused(&mut self, wanted: &str, rule: &str) {
        self.fact("Wanted", wanted);
        self.fact("Refused", &format!("{}. Nothing happened.", capitalised(rule)));
    }

    /// The rule in words, and its code for whoever looks it up.
    pub(super) fn rule(&mut self, words: &str, code: &str) {
        self.fact("Refused", &format!("{words} ({code}). Nothing was sent."));
    }

    /// A key or a hash, which is read letter by letter.
    pub(super) fn code(&mut self, label: &str, text: &str) {
        self.fact(label, &format!("`{text}`"));
    }

    pub(super) fn device(&mut self, label: &str, key: &KeyId) {
        let name = Lookup(self.tx).device(key).unwrap_or_else(|| "An unknown device".to_owned());
        self.fact(label, &name);
    }

    pub(super) fn taken_back(&mut self, by: Option<&KeyId>, number: u64) {
        if let Some(key) = by {
            self.device("Signed on", key);
        }
        self.fact("Revocation", &format!("Number {number}, signed by the root key"));
    }

    /// What a card asked, in its own words where they are the ones that were signed.
    pub(super) fn asked(&mut self, card: &CardId, token: Option<&TokenId>) -> Result<(), Error> {
        let signed = token.map(|token| tokens::get(self.tx, token)).transpose()?.flatten();
        let shown = signed.map(|kept| kept.token.body.offer.shown);
        let face = cards::get(self.tx, card)?.map(|Card { face, .. }| face);
        let is_what_was_shown = |hash| shown.is_none_or(|shown| shown == hash);
        match face.filter(|face| face.hash().is_ok_and(is_what_was_shown)) {
            Some(face) => {
                self.fact("Asked", &face.intent);
                self.facts.extend(face.facts);
                if let Some(asked) = &face.asked {
                    self.quote("You asked", asked);
                }
                if let Some(quote) = &face.quote {
                    self.quote(&format!("In the model’s words, {}", quote.who), &quote.text);
                }
            }
            None => {
                let offered = self.entries.iter().rev().find_map(|entry| match entry.event.as_ref()? {
                    AuditEvent::CardOffered { card: other, intent, .. } if other == card => Some(intent),
                    _ => None,
                });
                let asked = offered.map_or_else(|| "Not kept any more".to_owned(), |intent| self.text(intent));
                self.fact("Asked", &asked);
            }
        }
        Ok(())
    }

    /// Who signed a decision, with what, and what the signature covers.
    pub(super) fn signed(&mut self, token: &TokenId) -> Result<(), Error> {
        let Some(kept) = tokens::get(self.tx, token)? else { return Ok(()) };
        let with = match kept.certificate.body.kind {
            DeviceKind::Browser => "its own key",
            DeviceKind::Terminal => "the key of the terminal",
            DeviceKind::Passkey => "a finger, a face or a PIN",
        };
        self.fact("Signed on", &format!("{}, with {with}", kept.certificate.body.name));
        self.code("Key", kept.token.body.key.as_str());
        self.code("Covers", &kept.token.body.offer.plan_hash.to_string());
        Ok(())
    }

    /// Which model was asked, for what, and because of which words.
    pub(super) fn question(&mut self, call: &CallId) {
        let asked = self.entries.iter().rev().find_map(|entry| match entry.event.as_ref()? {
            AuditEvent::ModelCalled { call: other, message, role, model, reserved_microusd } if other == call => {
                Some((message.clone(), *role, model.clone(), *reserved_microusd))
            }
            _ => None,
        });
        let Some((message, role, model, reserved)) = asked else { return };
        self.fact("Model", &model);
        self.fact("For", purpose(role));
        self.fact("Reserved", &dollars(reserved));
        if let Some(message) = message {
            self.message(&message, "You asked");
        }
    }

    pub(super) fn message(&mut self, message: &MessageId, who: &str) {
        let text = self.entries.iter().rev().find_map(|entry| match entry.event.as_ref()? {
            AuditEvent::MessageReceived { message: other, text, .. } if other == message => Some(text),
            _ => None,
        });
        if let Some(text) = text {
            let text = self.text(text);
            self.quote(who, &text);
        }
    }

    pub(super) fn item(&mut self, id: &WorkItemId) -> Result<(), Error> {
        let item = work_items::get(self.tx, id)?;
        let title = item.map_or_else(
            || "work that is not kept any more".to_owned(),
            |kept| hidden::quotation(&kept.item.definition().title),
        );
        self.fact("Wanted", &format!("To run {title}"));
        Ok(())
    }

    pub(super) fn task_of(&mut self, execution: Option<&ExecutionId>) -> Result<(), Error> {
        execution.map_or(Ok(()), |execution| self.task(execution))
    }

    pub(super) fn task(&mut self, id: &ExecutionId) -> Result<(), Error> {
        let kept = executions::get(self.tx, id)?.and_then(|execution| execution.result);
        // What an earlier version kept in another form is told by its entries alone.
        let Some(record) = kept.and_then(|kept| serde_json::from_value::<WorkRecord>(kept).ok()) else { return Ok(()) };
        self.fact("Work", &hidden::quotation(&record.view.title));
        if record.view.has_proof {
            self.proof = Some(id.clone());
        }
        Ok(())
    }
}

pub(super) fn answer(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "Yes",
        Verdict::Declined => "No",
        Verdict::EditRequested => "Not like this",
        Verdict::Conditional => "Yes, but less",
    }
}

pub(super) fn grant(kind: Kind) -> &'static str {
    match kind {
        Kind::Root => "A directory that plans may work in",
        Kind::HouseRules => "The house rules",
        Kind::Model => "A model that may be asked",
        Kind::Budget => "More money for models",
        Kind::Plan | Kind::Rehearsal | Kind::Apply | Kind::Undo | Kind::Device | Kind::Step => "One decision",
    }
}

pub(super) fn came_to(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Proved => "Proved: red before, green after",
        Outcome::GreenByExitCode => "Green by exit code, not proved",
        Outcome::Guarded => "Stayed green: green before and after",
        Outcome::Failed => "Not all of them green",
        Outcome::Unproven => "None: there was no check",
    }
}

pub(super) fn purpose(role: Role) -> &'static str {
    match role {
        Role::Proxy => "to answer you",
        Role::Planner => "to write a plan",
        Role::Executor => "to work in a private copy",
    }
}

pub(super) fn suspicion(what: Suspicion) -> &'static str {
    match what {
        Suspicion::Override => "an order to ignore what was said",
        Suspicion::Role => "somebody who pretends to be you or the system",
        Suspicion::Authority => "a claim that something is approved",
        Suspicion::Leak => "an order to send something out",
        Suspicion::Hidden => "characters that cannot be seen",
    }
}
