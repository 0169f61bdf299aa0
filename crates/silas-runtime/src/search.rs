//! The tool that searches the web, where a search server is set up, and the rule about what may leave with a question.

use serde_json::{Value, json};
use silas_agents::search::{QUERY_CHARS_MAX, Search};
use silas_agents::tools::{Doing, Done, Tool, Verdict};
use silas_core::Tainted;
use silas_core::card::Risk;
use silas_core::seen::Seen;
use silas_core::taint::Source;
use silas_core::tool::{Spec, object};
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
        // The question itself leaves the machine: it is control, as every way out is.
        let spec =
            Spec { capabilities: vec!["web.search".to_owned()], risk: Risk::Medium, is_reversible: false, ..spec };
        WebSearch { spec, search }
    }
}

impl<E: Send> Tool<E> for WebSearch<'_> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn execute<'a>(&'a self, arguments: &'a Value) -> Doing<'a, E> {
        Box::pin(async move {
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
            Ok(Done { for_model, is_private: false, source, is_success })
        })
    }
}

/// Whether a call may leave, given what its run has read: a question made after something of the owner's was read could
/// carry it away, so none leaves then.
pub(crate) fn may_leave(spec: &Spec, _arguments: &Value, seen: &Seen) -> Verdict {
    if spec.name == WEB_SEARCH && seen.has_private() {
        let why =
            "files were read in this run, and a question could carry something of them away; search first, then read";
        return Verdict::Denied(why.to_owned());
    }
    Verdict::Allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use silas_agents::search::SearchOptions;
    use silas_core::Taint;
    use silas_core::seen::Sight;

    #[test]
    fn nothing_is_searched_for_after_something_private_was_read() {
        let options = SearchOptions { url: "https://s.example".to_owned(), domains: Vec::new(), results_max: 1 };
        let search = Search::new(options);
        let tool = WebSearch::new(&search);
        let mut seen = Seen::default();
        let judge = |seen: &Seen| may_leave(&tool.spec, &json!({ "query": "q" }), seen);
        assert_eq!(judge(&seen), Verdict::Allowed);
        seen.add(Sight { taint: Taint::External, is_private: false, source: "the web".to_owned() });
        assert_eq!(judge(&seen), Verdict::Allowed);
        seen.add(Sight { taint: Taint::External, is_private: true, source: "a file".to_owned() });
        assert!(matches!(judge(&seen), Verdict::Denied(why) if why.contains("search first")));
    }
}
