//! The tool with which a model says one sentence to the owner before its answer. Its words are marked as its own.
//!
//! It decides nothing and asks nothing; who has it, and how often it may be used, is for each run to say.

use crate::Trouble;
use crate::hub::Hub;
use serde_json::json;
use silas_agents::tools::{Authorised, Doing, Done, Tool};
use silas_core::Tainted;
use silas_core::card::Risk;
use silas_core::taint::Source;
use silas_core::tool::{Effect, Spec, WayOut, object};
use silas_gates::scrub;
use std::sync::Arc;

const TELL_USER: &str = "tell_user";
const SAID_CHARS_MAX: usize = 500;

pub(crate) struct TellUser<'a> {
    spec: Spec,
    hub: &'a Arc<Hub>,
    model: String,
}

impl<'a> TellUser<'a> {
    pub(crate) fn new(hub: &'a Arc<Hub>, model: &str) -> Self {
        TellUser { spec: tell_user(), hub, model: model.to_owned() }
    }
}

impl<E: From<Trouble> + Send> Tool<E> for TellUser<'_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, E> {
        Box::pin(async move {
            let arguments = call.arguments();
            let text = arguments["text"].as_str().unwrap_or_default();
            let said = format!("{} says: {}", self.model, scrub::visible_line(text, SAID_CHARS_MAX));
            let said = Tainted::new(said, Source::Elsewhere.taint());
            self.hub.tell_tainted(said).await?;
            let for_model = Tainted::new("The owner has read it.".to_owned(), Source::Own.taint());
            Ok(Done { for_model, remark: None, is_private: false, source: "Silas itself".to_owned(), is_success: true })
        })
    }
}

pub(crate) fn tell_user() -> Spec {
    let schema = object(&[("text", json!({ "type": "string", "minLength": 1, "maxLength": SAID_CHARS_MAX }))]);
    Spec {
        content: vec!["text".to_owned()],
        capabilities: vec!["message.owner".to_owned()],
        ways_out: vec![WayOut::Owner],
        risk: Risk::Low,
        effect: Effect::Outside,
        is_reversible: false,
        is_idempotent: false,
        is_parallel: false,
        ..Spec::reading(TELL_USER, "Tells the owner one sentence now. Only for what cannot wait until the end.", schema)
    }
}
