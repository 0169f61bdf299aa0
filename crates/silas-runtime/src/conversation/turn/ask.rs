//! Step 7 where reflex is not sure: the proxy answers, sentence by sentence, or hands over to the planner.
//!
//! Nothing is sent before the payload was admitted and its reserve is on disk. A missing consent and an exceeded cap are
//! cards, for which the message waits. What was answered is kept by its question until the message has its answer, so that a
//! restart does not pay again.

use super::Turn;
use super::look_up::Asked;
use super::route::{Route, Routed};
use super::screen;
use crate::Trouble;
use crate::assignment::{Assigned, SILENT};
use crate::conversation::Conversation;
use crate::hub::Hub;
use crate::minds::Silence;
use crate::minds::earlier_work::Shown;
use crate::minds::spending::{self, Purse, Refused};
use crate::post::Wish;
use crate::questions::Proposal;
use crate::view::DraftView;
use crate::words::date;
use serde_json::{Value, json};
use silas_agents::{Asking, Break, DirectResponse, Ended, RouteDecision, RouteKind, Said, Stop, Why};
use silas_core::boundary::{self, Call, Policy, Projected};
use silas_core::event::{AuditEvent, OVER_CAP};
use silas_core::input::WantedBy;
use silas_core::inquiry::Handed;
use silas_core::interaction::{ContextProfile, InteractionRegister, Signals, resolve_mode};
use silas_core::message::{CameOf, Message};
use silas_core::model::{KeySource, ModelGrant, Role, count_tokens};
use silas_core::seen::{Seen, Sight};
use silas_core::taint::{Lineage, Source};
use silas_core::work::InteractionMode;
use silas_core::{Taint, Tainted, reflex};
use silas_gates::{injection, scrub};
use silas_store::chronicle;
use std::sync::{Arc, Mutex, PoisonError};

/// Entries of the Stream that a model is shown, and how much of them: enough to know what "it" is.
const HISTORY_ENTRIES: u32 = 12;
const HISTORY_TOKENS_MAX: u64 = 1_500;
const ENTRY_CHARS_MAX: usize = 1_200;

/// What a model is shown of the conversation, and whose words are in it.
pub(super) struct History {
    pub(super) entries: Vec<Value>,
    pub(super) taint: Taint,
}

impl History {
    /// What whoever is told of it has read.
    pub(super) fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        seen.add(self.sight(), "");
        seen
    }

    pub(super) fn sight(&self) -> Sight {
        // What was quoted in the conversation may be the owner's as well as anybody's.
        let is_private = self.taint == Taint::External;
        Sight { taint: self.taint, is_private, source: "the conversation so far".to_owned() }
    }
}

/// Either a payload that may be sent to a model, or the answer to the owner instead.
pub(super) type Admitted = Result<(Projected, Asking), Route>;

impl Conversation {
    pub(super) async fn ask_model(self: &Arc<Self>, turn: &Turn) -> Result<Routed, Trouble> {
        let grants = self.minds.model_grants().await?;
        let Some(assigned) = self.minds.assigned(&grants, Role::Proxy) else {
            return self.without_a_model(&turn.message.text).await.map(Routed::from);
        };
        let mut conversation = self.history(turn).await?;
        let payload = json!({
            "date": date(self.house.clock.now()),
            "understood": reflex::UNDERSTOOD,
            "history": conversation.entries,
            "wish": turn.message.text,
            "directories": [],
            "has_search": false,
        });
        let (projected, asking) = match self.admit(turn, Role::Proxy, &assigned, &grants, payload).await? {
            Ok(admitted) => admitted,
            Err(route) => return Ok(route.into()),
        };
        let purse = Purse::new(&self.minds, Some(turn.message.id.clone()), Role::Proxy, &assigned.model);
        let _looking = self.hub.looks.begin(&turn.message.id);
        let mut interrupted = turn.interrupted.clone();
        let mut draft = Draft { hub: &self.hub, turn, text: String::new(), is_second: false };
        let (seen, shown) = (Mutex::new(conversation.seen()), Shown::default());
        let ended = {
            let mut hear = |said| draft.hear(said);
            let asked = Asked { turn, assigned: &assigned, asking: &asking, projected: &projected, purse: &purse };
            tokio::select! {
                ended = self.proxys_answer(&asked, (&seen, &shown), &mut hear) => Some(ended),
                _ = interrupted.changed() => None,
            }
        };
        match &ended {
            Some(Ok(Ended::Answer(_))) => self.minds.silences.heard(&assigned),
            Some(Err(Break::Failed(error))) => self.minds.silences.still(&assigned, Silence::of(error)),
            // Interrupted, refused, or answered with what cannot be used: nothing new is known about it.
            None | Some(Ok(Ended::GaveUp(_)) | Err(Break::Halted(_) | Break::Refused(_))) => {}
        }
        // What it says, and why it hands over, is made of everything that it has read.
        conversation.taint = seen.into_inner().unwrap_or_else(PoisonError::into_inner).taint();
        let Some(ended) = ended else { return Ok(draft.stopped(conversation.taint).into()) };
        let (decision, is_own) = match ended {
            Ok(Ended::Answer(decision)) => (decision, false),
            Ok(Ended::GaveUp(why)) => (fallback(&why), true),
            Err(Break::Halted(trouble)) => return Err(trouble),
            Err(Break::Refused(refused)) => {
                return self.not_asked(Role::Proxy, Stop::Refused(refused)).await.map(Routed::from);
            }
            Err(Break::Failed(error)) => {
                return self.not_asked(Role::Proxy, Stop::Failed(error)).await.map(Routed::from);
            }
        };
        let noted = self.note_route(turn, &decision);
        let route = match (decision.route, &decision.response) {
            (RouteKind::Direct, response) => {
                let message = response.as_ref().map(|response| response.message.clone()).unwrap_or_default();
                let say = Tainted::new(message, conversation.taint);
                if is_own { Route::tell(say).coming_to(CameOf::Refused) } else { Route::quote(say) }
            }
            (RouteKind::Planner, _) => {
                let handed = Handed {
                    reason: decision.reason.clone(),
                    taint: conversation.taint,
                    interaction_register: decision.interaction_register,
                    interaction_mode: decision.interaction_mode,
                    // Work that it was not told of is none that it could mean.
                    continuation_of: decision
                        .continuation_of
                        .as_deref()
                        .and_then(|id| shown.known(id))
                        .map(|id| id.to_string()),
                    answered: Vec::new(),
                    tokens_used: purse.used().0,
                };
                let message = Message { handed: Some(Box::new(handed)), ..turn.message.clone() };
                return Ok(Routed::HandedOn(Wish::said(message), vec![noted]));
            }
        };
        Ok(route.noting(noted).into())
    }

    /// The five checks, in their order. A consent that is missing is asked for, and the wish waits for it.
    pub(super) async fn admit(
        &self,
        turn: &Turn,
        role: Role,
        assigned: &Assigned,
        grants: &[ModelGrant],
        payload: Value,
    ) -> Result<Admitted, Trouble> {
        let call = Call { asker: turn.message.taint, role, model: &assigned.model, payload };
        let policy = Policy {
            allowed: std::slice::from_ref(&assigned.model),
            local_only: self.house.options.models.local_only,
            receipts: grants,
            has_key: &|| self.minds.has_key(&assigned.key),
        };
        let refusal = match boundary::admit(call, &policy) {
            Ok(projected) => {
                if let Some(silence) = self.minds.silences.instead_of_asking(assigned, self.house.clock.now()) {
                    self.minds.note_model_refused(role, SILENT).await;
                    return Ok(Err(Route::refuse(silence.instead())));
                }
                let asking = self.minds.asking(assigned).map_err(|error| spending::failed(&error))?;
                return Ok(Ok((projected, asking)));
            }
            Err(refusal) => refusal,
        };
        self.minds.note_model_refused(role, refusal.code()).await;
        let route = match &refusal {
            boundary::Refusal::PrivacyConfirmationRequired => self.ask_to_agree(assigned, grants),
            boundary::Refusal::SecretUnavailable => match &assigned.key {
                KeySource::Vault(reference) if !self.trust.is_kept(reference)? => {
                    let say = format!(
                        "The vault does not have the key for {}. Nothing was sent. The card in Review asks for it; your \
                         message waits.",
                        assigned.model.host()
                    );
                    let wanted_by = WantedBy::Model { model: assigned.model.clone(), then: None };
                    Route::asking(say, Proposal::Secret(reference.clone(), wanted_by))
                }
                _ => Route::refuse(spending::no_key(assigned).to_string()),
            },
            boundary::Refusal::OutOfScope
            | boundary::Refusal::DisallowedProviderModel
            | boundary::Refusal::OversharedPayloadBlocked { .. } => {
                Route::refuse(format!("No model was asked: {refusal}. Nothing was sent."))
            }
        };
        Ok(Err(route))
    }

    /// The card that asks whether a model may be used, for which the message waits.
    pub(super) fn ask_to_agree(&self, assigned: &Assigned, grants: &[ModelGrant]) -> Route {
        // Whoever serves several roles is asked about once.
        let same = |other: &Role| self.minds.assigned(grants, *other).is_some_and(|a| a.model == assigned.model);
        let roles = Role::ALL.into_iter().filter(same).collect();
        let grant = ModelGrant::new(assigned.model.clone(), roles, assigned.key.clone(), None);
        let say = format!(
            "{} The card in Review asks you; your message waits for it.",
            spending::not_agreed(&assigned.model)
        );
        // The model's name is the owner's own, as nobody else configures one.
        Route::asking(say, Proposal::Model(grant))
    }

    /// What is said when a question was not answered.
    pub(super) async fn not_asked(&self, role: Role, stop: Stop<Refused>) -> Result<Route, Trouble> {
        let trouble = match stop {
            Stop::Failed(error) => return Err(spending::failed(&error)),
            Stop::Refused(Refused::Cap(exceeded)) => {
                self.minds.note_model_refused(role, OVER_CAP).await;
                let say = format!("{} Your message waits for it.", spending::over_cap(&exceeded));
                return Ok(Route::asking(say, Proposal::Budget(exceeded.extension())));
            }
            Stop::Refused(Refused::Rate { per_minute }) => spending::too_fast(per_minute),
            Stop::Refused(Refused::Turn) => Trouble::new(
                "E_LLM_BUDGET",
                "This message has used up what one message may.",
                "Ask for less at once, or raise `models.turn_budget_tokens`.",
            ),
            Stop::Refused(Refused::Plan(what)) => spending::plan_used_up(what),
            Stop::Refused(Refused::Store(trouble)) => trouble,
        };
        self.minds.note_model_refused(role, &trouble.code).await;
        Err(trouble)
    }

    /// The last things said, newest last, as much as fits.
    pub(super) async fn history(&self, turn: &Turn) -> Result<History, Trouble> {
        let scope = turn.scope.clone();
        let looking =
            self.house.store.read(move |tx| chronicle::recent(&tx.leaving_out(), &scope, HISTORY_ENTRIES + 1));
        let recent = looking.await?;
        let mut lineage: Lineage = [turn.message.taint, Source::Own.taint()].into_iter().collect();
        let mut left = HISTORY_TOKENS_MAX;
        let mut history = Vec::new();
        let earlier = recent.into_iter().rev().filter(|entry| entry.id != turn.message.id && !entry.text.is_empty());
        for entry in earlier {
            let text = scrub::visible(&entry.text);
            let text: String = text.chars().take(ENTRY_CHARS_MAX).collect();
            let (who, text) = match (entry.sender, entry.taint) {
                (chronicle::Sender::Owner, Taint::Owner) => ("owner", text),
                (chronicle::Sender::Owner | chronicle::Sender::Somebody, _) => ("somebody", injection::fenced(&text)),
                (chronicle::Sender::Silas | chronicle::Sender::Model, Taint::External) => {
                    ("silas", injection::fenced(&text))
                }
                (chronicle::Sender::Silas | chronicle::Sender::Model, _) => ("silas", text),
            };
            // No line but the first may look like the beginning of somebody else's words.
            let text = text.replace('\n', "\n  ");
            let Some(rest) = left.checked_sub(count_tokens(&text)) else { break };
            left = rest;
            lineage.add(entry.taint);
            history.push(json!({ "who": who, "text": text }));
        }
        history.reverse();
        Ok(History { entries: history, taint: lineage.taint() })
    }

    fn note_route(&self, turn: &Turn, decision: &RouteDecision) -> AuditEvent {
        let signals = Signals {
            proxy_mode: Some(decision.interaction_mode),
            planner_override: None,
            risk_requires_confirmation: false,
            register: decision.interaction_register,
        };
        AuditEvent::TurnRouted {
            message: turn.message.id.clone(),
            route: match decision.route {
                RouteKind::Direct => "direct",
                RouteKind::Planner => "planner",
            }
            .to_owned(),
            interaction_register: decision.interaction_register,
            interaction_mode: resolve_mode(signals),
            context_profile: decision.context_profile,
        }
    }
}

/// The fallback of the proxy: a direct answer that says what happened.
fn fallback(why: &Why) -> RouteDecision {
    let message = match why {
        Why::Form(why) => format!(
            "The model answered twice in a form that cannot be used ({}). Say it again, or choose another model with \
             `silas model add`.",
            scrub::visible_line(why, 160)
        ),
        Why::Calls(n) => format!(
            "The model was asked {n} times, went on looking things up, and came to no answer. Nothing else was done. Ask \
             something narrower, or say it again."
        ),
        Why::Mistakes(last) => format!(
            "The model wanted to look things up in ways that are not possible, and came to no answer. The last time it was \
             told: {} Say it again, or choose another model with `silas model add`.",
            scrub::visible_line(last, 160)
        ),
    };
    RouteDecision {
        route: RouteKind::Direct,
        reason: "the model's answer could not be used".to_owned(),
        interaction_register: InteractionRegister::Status,
        interaction_mode: InteractionMode::ConfirmOnlyWhenRequired,
        context_profile: ContextProfile::Conversation,
        continuation_of: None,
        response: Some(DirectResponse { message }),
    }
}

/// The answer as far as it is made. Shown as a draft; what counts is the entry that takes its place.
struct Draft<'a> {
    hub: &'a Hub,
    turn: &'a Turn,
    text: String,
    /// The first answer could not be used.
    is_second: bool,
}

impl Draft<'_> {
    /// What stays when the owner has heard enough.
    fn stopped(&self, taint: Taint) -> Route {
        match self.text.trim_end() {
            "" => Route::refuse("Stopped before anything was said."),
            text => Route::quote(Tainted::new(format!("{text} … (stopped)"), taint)),
        }
    }

    fn hear(&mut self, said: Said) {
        match said {
            Said::More(sentence) => self.text.push_str(&screen::reply(sentence)),
            Said::Again => {
                self.text.clear();
                self.is_second = true;
            }
        }
        let (reply, text, is_second) = (self.turn.reply.clone(), self.text.clone(), self.is_second);
        self.hub.show_draft(DraftView { reply, text, is_second });
    }
}

impl Drop for Draft<'_> {
    /// However the question ended, what comes next is an entry.
    fn drop(&mut self) {
        self.hub.end_draft(&self.turn.reply);
    }
}
