//! A model's question before it plans: how it becomes a card, how the owner's answer comes in, and how the wish goes on.
//!
//! An answer is a signed message of the owner's and is kept as one, but nobody makes anything else of it: not reflex, which
//! would take an option that reads like a command for the owner's command, and not the ledger of what was allowed.

use super::route::{Route, Routed};
use super::{Turn, screen};
use crate::Trouble;
use crate::conversation::Conversation;
use crate::hub::{Hub, Posted};
use crate::minds::spending::Purse;
use crate::post::{self, Wish};
use crate::questions::Proposal;
use crate::trust::classify;
use serde_json::{Value, json};
use silas_agents::OwnerQuestion;
use silas_core::card::{Card, CardState};
use silas_core::event::AuditEvent;
use silas_core::exits::stands_in;
use silas_core::input::Input;
use silas_core::inquiry::{self, ANSWER_CHARS_MAX, Handed, Inquiry};
use silas_core::message::{HeardMessage, Message};
use silas_core::model::{ModelName, Role};
use silas_core::{CardId, MessageId, Scope, SessionId, Taint, Timestamp};
use silas_gates::{injection, scrub};
use silas_store::{Commit, Tx, cards, chronicle, sessions};
use std::sync::Arc;

/// Marks that could pass for the end of a quotation.
const QUOTES: [char; 7] = ['“', '”', '„', '‟', '❝', '❞', '″'];

/// What a planner may still be told: what it asked, and what the owner said to it.
pub(super) fn told(handed: &Handed) -> Vec<Value> {
    let fenced = |text: &str, is_outside: bool| {
        let text = if is_outside { injection::fenced(text) } else { scrub::visible(text) };
        // No line but the first may look like the beginning of somebody else's words.
        text.replace('\n', "\n  ")
    };
    let one = |answered: &inquiry::Answered| {
        let is_outside = answered.taint == Taint::External;
        json!({
            "question": fenced(&answered.question, is_outside),
            "answer": fenced(&answered.answer, is_outside && answered.is_chosen),
            "is_chosen": answered.is_chosen,
        })
    };
    handed.answered.iter().map(one).collect()
}

/// What the owner has said about it, word for word: the wish, and what was typed as an answer. Chosen answers are a model's.
pub(super) fn owners_words(message: &Message, handed: &Handed) -> String {
    [message.text.as_str()].into_iter().chain(handed.typed()).collect::<Vec<_>>().join("\n\n")
}

/// Whether the owner named it: in the wish, or in an answer to a question that had not brought it up itself. What a model
/// puts into somebody's mouth is not named by them, whoever types it.
pub(super) fn names(message: &Message, handed: &Handed, name: &str) -> bool {
    let brought_up = |answered: &inquiry::Answered| {
        answered.question.contains(name) || answered.proposed.iter().any(|option| option.contains(name))
    };
    stands_in(&message.text, name)
        || (!handed.answered.iter().any(brought_up) && handed.typed().any(|words| stands_in(words, name)))
}

impl Conversation {
    /// The card that asks for a model; nothing if its question cannot be shown as it is.
    pub(super) fn inquire(
        &self,
        turn: &Turn,
        handed: &Handed,
        asked: &OwnerQuestion,
        taint: Taint,
        by: &ModelName,
    ) -> Option<Route> {
        // On one line and without marks of quotation, so that what is quoted ends where it ends.
        let line = |text: &String| {
            let line = scrub::visible(&text.split_whitespace().collect::<Vec<_>>().join(" "));
            line.replace(QUOTES, "\"")
        };
        let (question, options) = (line(&asked.text), asked.options.iter().map(line).collect::<Vec<_>>());
        inquiry::check(&question, &options).ok()?;
        let say = format!(
            "In the model's words: “{question}”\n\nAnswers to choose from are in Review. Your wish waits for one, and nothing \
             was planned yet."
        );
        let (by, to, wish) = (by.clone(), by.clone(), owners_words(&turn.message, handed));
        let expires_at = self.house.clock.now().plus(self.house.options.plan_timeout);
        let inquiry = Inquiry { by, to, wish, question, options, taint, expires_at };
        // What the owner says to it is another message, which may use up as much again.
        let handed = Handed { tokens_used: 0, ..handed.clone() };
        Some(Route::propose(say, Proposal::Inquiry(Box::new(inquiry), Box::new(handed))))
    }

    /// The owner's answer. The wish that waited goes on with it.
    pub async fn answer_inquiry(
        self: &Arc<Self>,
        card_id: &CardId,
        heard: HeardMessage,
        session: &SessionId,
    ) -> Result<String, Trouble> {
        let heard = screen::input(heard)?.into_message();
        if heard.body.text.chars().count() > ANSWER_CHARS_MAX {
            let what = format!("The answer is longer than {ANSWER_CHARS_MAX} characters. Nothing was sent.");
            return Err(Trouble::new("E_CHANNEL_SIZE", &what, "Answer shorter, or drop the wish and say it anew."));
        }
        let grants = self.minds.model_grants().await?;
        let Some(planner) = self.minds.assigned(&grants, Role::Planner).map(|assigned| assigned.model) else {
            let what = "No model is set up for planning any more, so nobody would hear the answer. The card stays.";
            return Err(Trouble::new("E_LLM_NONE", what, "`silas model add` adds one; then answer."));
        };
        let (id, session, now) = (card_id.clone(), session.clone(), self.house.clock.now());
        let other_id = MessageId::new(self.house.random.as_ref());
        let conversation = self.clone();
        let answering = self.house.store.write(move |tx| {
            let is_open = |card: &Card| {
                card.state == CardState::Open
                    && card.expires_at().is_some_and(|at| now < at)
                    && conversation.house.words.shows_what_it_asks(card)
            };
            let card = cards::get(tx, &id)?.filter(is_open);
            let inquiry = card.as_ref().and_then(|card| card.input.as_ref()).and_then(Input::inquiry).cloned();
            let (Some(mut card), Some(inquiry)) = (card, inquiry) else { return Ok(Commit(Err(gone()))) };
            if inquiry.to != planner {
                // Where the answer goes is said on the card, so the card says it before there is one.
                let inquiry = Inquiry { to: planner.clone(), ..inquiry };
                card.face = conversation.house.words.inquiry(&inquiry);
                card.input = Some(Input::Inquiry(Box::new(inquiry)));
                cards::update(tx, &card)?;
                return Ok(Commit(Err(another())));
            }
            let freshness = conversation.house.options.message_freshness;
            let heard_in = Inquiry::scope_of(&card.id);
            let giver = classify(tx, &conversation.house.engine, &heard, &heard_in, &other_id, now, freshness)?.taint();
            let (true, Some(message)) = (giver.may_ask(), heard.body.id()) else { return Ok(Commit(Err(unsigned()))) };
            let answered = inquiry.answered(&heard.body.text);
            // The owner has sent it; how far its words can be trusted is another question.
            let taint = answered.answer_taint(giver);
            card.state = CardState::Answered;
            cards::update(tx, &card)?;
            let posted = post_answer(tx, &heard, &message, (taint, giver), &session, now)?;
            let is_chosen = answered.is_chosen;
            // Every card was kept with a subject; behind one without, nothing waits.
            let subject = cards::subject(tx, &card.id)?.unwrap_or_default();
            let wish = Inquiry::wish_of(&subject);
            tx.record(&AuditEvent::QuestionAnswered { card: card.id.clone(), message, is_chosen, wish })?;
            let wish = post::call_back_with(tx, conversation.house.random.as_ref(), &subject, now, |waiting| {
                if let Some(handed) = &mut waiting.handed {
                    handed.answered.push(answered.clone());
                }
            })?;
            Ok(Commit(Ok((posted, wish))))
        });
        let (posted, wish) = match answering.await? {
            Ok(answered) => answered,
            Err(trouble) => {
                self.hub.publish_cards().await;
                return Err(trouble);
            }
        };
        self.hub.deliver(posted);
        self.hub.publish_cards().await;
        self.hub.publish_activity().await;
        if let Some(wish) = wish {
            self.take_turn(wish).await;
        }
        Ok("Answered. What comes of it is asked in Review.".to_owned())
    }

    /// A wish that was handed over is planned. What comes of that is kept, and then something is made of it.
    pub(super) async fn plan(self: &Arc<Self>, turn: &Turn, handed: &Handed) -> Result<Routed, Trouble> {
        let grants = self.minds.model_grants().await?;
        let Some(assigned) = self.minds.assigned(&grants, Role::Planner) else {
            return Ok(super::plan_with_model::nobody().into());
        };
        let mut history = self.history(turn).await?;
        let answered = handed.answered.iter().fold(handed.taint, |taint, answered| taint.join(answered.taint));
        history.taint = answered.join(history.taint);
        let purse = Purse::new(&self.minds, Some(turn.message.id.clone()), Role::Planner, &assigned.model);
        let purse = purse.having_used(handed.tokens_used);
        let _looking = self.hub.looks.begin(&turn.message.id);
        let mut interrupted = turn.interrupted.clone();
        let planned = tokio::select! {
            planned = self.ask_planner((turn, handed), history, &assigned, &grants, &purse) => planned,
            _ = interrupted.changed() => Ok(Err(Route::refuse("Stopped. Nothing was planned."))),
        };
        match planned {
            Ok(Ok(planned)) => {
                let handed = Handed { tokens_used: purse.used().0, ..handed.clone() };
                let message = Message { handed: Some(Box::new(handed)), ..turn.message.clone() };
                let wish = Wish { message, planned: Some(Box::new(planned)) };
                Ok(Routed::HandedOn(wish, Vec::new()))
            }
            Ok(Err(route)) => Ok(route.into()),
            // What the owner has answered is not lost with a model that does not.
            Err(trouble) if trouble.code.starts_with("E_LLM") && !handed.answered.is_empty() => {
                Ok(self.ask_once_more(turn, handed, assigned.model, &trouble).into())
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// The last question again, after a planner that did not answer; the wish waits for it as before.
    fn ask_once_more(&self, turn: &Turn, handed: &Handed, to: ModelName, trouble: &Trouble) -> Route {
        let mut handed = handed.clone();
        let Some(last) = handed.answered.pop() else { return Route::refuse(trouble.to_string()) };
        let say = format!(
            "{} Your wish is not lost: the question is in Review again, and answering it asks the planner once more.",
            trouble.message
        );
        let expires_at = self.house.clock.now().plus(self.house.options.plan_timeout);
        let inquiry = last.asked_again(to, owners_words(&turn.message, &handed), expires_at);
        Route::propose(say, Proposal::Inquiry(Box::new(inquiry), Box::new(handed)))
    }
}

/// The answer is an entry of the Stream like any other message. `taints` are what it counts as and whose words it is.
fn post_answer(
    tx: &mut Tx<'_>,
    heard: &HeardMessage,
    message: &MessageId,
    (taint, giver): (Taint, Taint),
    session: &SessionId,
    now: Timestamp,
) -> Result<Posted, silas_store::Error> {
    let entry = chronicle::Entry {
        id: message.clone(),
        sender: chronicle::Sender::Owner,
        taint,
        text: heard.body.text.clone(),
        answers: None,
        at: now,
    };
    let posted = Hub::post(tx, &Scope::Owner, &entry)?;
    sessions::count_turn(tx, session, now)?;
    let text = tx.text(&heard.body.text)?;
    tx.record(&AuditEvent::MessageReceived { message: message.clone(), taint: giver, text })?;
    Ok(posted)
}

fn gone() -> Trouble {
    let what = "This question was answered, dropped or parked meanwhile. Nothing was sent.";
    Trouble::new("E_APPROVAL_CARD", what, "Have a parked one asked again; or say what you want in a message.")
}

fn another() -> Trouble {
    let what = "Another model plans now than the one that asked, so nothing was sent. The card says who it is.";
    Trouble::new("E_LLM_OTHER", what, "Answer again if it may have the answer.")
}

fn unsigned() -> Trouble {
    let what = "The answer was not freshly signed by one of your devices, so it was not taken.";
    Trouble::new("E_APPROVAL_SIGNATURE", what, "Answer again.")
}
