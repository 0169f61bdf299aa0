//! The tool that searches the web, where a search server is set up. Whether a question may leave is decided in `exits`.

use serde_json::json;
use silas_agents::search::{QUERY_CHARS_MAX, Search};
use silas_agents::tools::{Authorised, Doing, Done, Tool};
use silas_core::Tainted;
use silas_core::card::Risk;
use silas_core::taint::Source;
use silas_core::tool::{Spec, WayOut, object};
use silas_gates::scrub;

pub(crate) const WEB_SEARCH: &str = "web_search";

pub(crate) struct WebSearch<'a> {
    spec: Spec,
    search: &'a Search,
}

impl<'a> WebSearch<'a> {
    pub(crate) fn new(search: &'a Search) -> Self {
        let schema = object(&[("query", json!({ "type": "string", "minLength": 1, "maxLength": QUERY_CHARS_MAX }))]);
        let about = "Searches the web; gives back titles, addresses and excerpts.";
        let spec = Spec::reading(WEB_SEARCH, about, schema);
        let spec = Spec {
            capabilities: vec!["web.search".to_owned()],
            // The question itself leaves the machine: it is control, as every way out is.
            ways_out: vec![WayOut::Search { query: "query".to_owned() }],
            risk: Risk::Medium,
            is_reversible: false,
            ..spec
        };
        WebSearch { spec, search }
    }
}

impl<E: Send> Tool<E> for WebSearch<'_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, E> {
        Box::pin(async move {
            let arguments = call.arguments();
            let query = arguments["query"].as_str().unwrap_or_default();
            let (text, is_success) = match self.search.find(query).await {
                Ok(found) if found.is_empty() => ("Nothing was found.".to_owned(), true),
                Ok(found) => {
                    let lines = found.iter().map(|one| format!("{}\n{}\n{}\n", one.title, one.url, one.excerpt));
                    (lines.collect::<Vec<_>>().join("\n"), true)
                }
                Err(error) => (format!("It could not be searched: {error}."), false),
            };
            let source = format!("the search for “{}”", scrub::visible_line(query, 60));
            let for_model = Tainted::new(text, Source::Elsewhere.taint());
            Ok(Done { for_model, remark: None, is_private: false, source, is_success })
        })
    }
}
