//! May this model be asked, and may what is said go there? And what came of the test question that may follow.

use super::{Answered as Decided, Asked, Rules, unreadable};
use crate::post;
use crate::review::{Granted, Review};
use crate::words::{SPOKEN_CHARS_MAX, Words, approve, decline, fact, key, price, role, which};
use silas_approval::Recorded;
use silas_core::canonical;
use silas_core::card::Card;
use silas_core::card::{CardKind, Cta, Detail, Face, INTENT_CHARS_MAX, Press, Risk};
use silas_core::event::AuditEvent;
use silas_core::model::{Listener, ModelGrant, Price, Role, list_price};
use silas_core::token::Verdict;
use silas_gates::scrub;
use silas_store::Tx;

pub(super) struct Model;

impl Rules for Model {
    fn worded(&self, _: &Words, card: &Card) -> Option<Face> {
        canonical::read::<ModelGrant>(card.payload.as_deref()?).ok().map(|grant| match card.test_call {
            true => model_to_test(&grant),
            false => model(&grant),
        })
    }

    fn waits_no_longer(&self) -> Option<&'static str> {
        Some(
            "You did not agree, so nothing was sent. Your message waits no longer; say it again when you have chosen a model.",
        )
    }

    fn approve(&self, review: &Review, tx: &mut Tx<'_>, asked: &Asked<'_>, by: &Recorded) -> Decided {
        let Ok(grant) = canonical::read::<ModelGrant>(asked.payload) else { return unreadable() };
        let model = grant.model.to_string();
        if let Err(refusal) = review.house.engine.authorize(tx, &by.token, grant)? {
            return Ok(Err(refusal));
        }
        tx.record(&AuditEvent::ModelAllowed { token: by.token.clone(), model })?;
        let wish = post::call_back(tx, review.house.random.as_ref(), asked.subject, review.house.clock.now())?;
        Ok(Ok(Granted::Allowed { wish, say: "Agreed. Revoke it any time with `silas grant revoke`." }))
    }

    fn decline(&self, _: &Review, _: &mut Tx<'_>, _: &Asked<'_>, verdict: Verdict) -> Decided {
        Ok(Ok(if verdict == Verdict::Declined { Granted::Declined } else { Granted::AnotherModel }))
    }
}

mod tested;

pub(crate) use tested::{Answered, model_tested};

/// May this model be asked, and may what is said go there?
pub(crate) fn model(grant: &ModelGrant) -> Face {
    let is_local = grant.model.is_local();
    let roles: Vec<&str> = grant.roles.iter().map(|one| role(*one)).collect();
    let has = |role: Role| grant.roles.contains(&role);
    let mut sent = vec!["Today's date"];
    if has(Role::Proxy) || has(Role::Planner) {
        sent.push("What you write, and the last things said in the Stream");
    }
    if has(Role::Proxy) {
        sent.push("The sentences that Silas understands by itself");
    }
    // Whoever answers reads, too.
    sent.push("Names and contents of files in the directories that you allowed, and what git tells of them, as far as it reads them");
    if has(Role::Executor) {
        sent.push("While it works: the plan, files in the plan's directories, and what commands print there");
    }
    sent.push("Never: files elsewhere, your keys, the ledger");
    let costs = grant.price.unwrap_or_else(|| list_price(&grant.model));
    let is_private = is_local && is_private(grant.listener.as_ref());
    let leaves = if is_private { LEAVES_NOTHING } else { LEAVES_FILES };
    let example = [
        "You write: Tide times are an hour off. Fix it in tidepool.",
        "It gets: that sentence, the date, and what was said just before",
        "Once you allowed tidepool: the files of it that it reads, and what commands of your plans print",
    ];
    let mut facts = vec![fact("Leaves", leaves), fact("Stays", "Other files, keys, the log")];
    facts.extend(which(&grant.model).into_iter().rev());
    facts.push(fact("Cap", if costs == Price::FREE { "Costs nothing" } else { "Your caps, checked each call" }));
    let mut to = vec![grant.model.url().to_owned(), grant.model.to_string()];
    to.extend(is_local.then(|| answered_by(grant.listener.as_ref())));
    let sends = format!("Send your requests to {}", grant.model.host());
    let fits = sends.chars().count() <= INTENT_CHARS_MAX;
    Face {
        kind: CardKind::Model,
        risk: Some(if is_private { Risk::Low } else { Risk::Medium }),
        state: "Model".to_owned(),
        intent: match (is_local, &grant.listener) {
            (true, Some(Listener::Yours)) => "Ask a model on this machine".to_owned(),
            (true, Some(Listener::Another(_))) => "Ask a model of another user here".to_owned(),
            (true, Some(Listener::Nobody) | None) => "Ask whoever answers on this machine".to_owned(),
            (false, _) if fits => sends,
            (false, _) => "Send your requests to a host, named below".to_owned(),
        },
        facts,
        evidence: None,
        versions: None,
        rationale: "Open questions need a model. It only proposes: nothing changes without your yes.".to_owned(),
        asked: None,
        quote: None,
        details_title: "An example of what is sent".to_owned(),
        details: vec![
            Detail { title: "For example".to_owned(), lines: example.iter().map(|line| (*line).to_owned()).collect() },
            Detail { title: "To".to_owned(), lines: to },
            Detail { title: "For".to_owned(), lines: vec![roles.join(", ")] },
            Detail { title: "Sent".to_owned(), lines: sent.iter().map(|line| (*line).to_owned()).collect() },
            Detail { title: "Costs".to_owned(), lines: vec![capitalised(&price(costs))] },
            Detail { title: "Key".to_owned(), lines: vec![capitalised(&key(&grant.key))] },
            Detail {
                title: "Agreement".to_owned(),
                lines: vec![format!("Version {} of what is sent; more than that asks again", grant.policy_version)],
            },
        ],
        diffs: Vec::new(),
        ctas: vec![approve("Agree and use it", &what_goes_there(grant)), decline("Not now")],
    }
}

/// The same as a step of setting a model up: a test question follows the agreement.
pub(crate) fn model_to_test(grant: &ModelGrant) -> Face {
    let consequence = format!("{} One test question, with nothing of yours in it.", what_goes_there(grant));
    let agree = approve("Agree, make 1 test call", &consequence);
    let another = Cta { press: Press::Change, label: "Choose another".to_owned(), consequence: String::new() };
    Face { state: "Step 2 of 3".to_owned(), ctas: vec![agree, another, decline("Stay without")], ..model(grant) }
}

/// What agreeing means, for every card that asks for it.
fn what_goes_there(grant: &ModelGrant) -> String {
    format!("What you say, and files it reads where you allow it, go to {} from now on.", grant.model.host())
}

/// Whether what is sent to an address of this machine stays with the owner's own programs. A program of another user is as far
/// away as another machine, and so is one of which nobody can say whose it will be.
pub(crate) fn is_private(listener: Option<&Listener>) -> bool {
    match listener {
        Some(Listener::Yours) => true,
        Some(Listener::Another(_) | Listener::Nobody) | None => false,
    }
}

/// Said where [`is_private`] holds: what the program itself passes on, Silas cannot see.
pub(crate) const LEAVES_NOTHING: &str = "Nothing by Silas itself";
/// Said everywhere else.
pub(crate) const LEAVES_FILES: &str = "What you say, files it reads";

/// Who answers at an address of this machine, as far as that can be known.
fn answered_by(listener: Option<&Listener>) -> String {
    let who = match listener {
        Some(Listener::Yours) => "Answered by a program of yours on this machine.".to_owned(),
        Some(Listener::Another(user)) => {
            let user = scrub::visible_line(user, SPOKEN_CHARS_MAX);
            format!("Answered by a program of another user of this machine, {user}, who may read what it is sent.")
        }
        Some(Listener::Nobody) => "Nobody answers there now; whoever does later gets what is sent.".to_owned(),
        None => "Answered by whoever listens there.".to_owned(),
    };
    format!("{who} Whether it passes on what it is sent, Silas cannot see.")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
