//! A model that does whatever it reads. It has no judgement at all: every sentence that asks for something, wherever it
//! stands, becomes a call of a tool; then it does the work that it was given, and ends.
//!
//! It understands a handful of verbs in four languages, each with what it is about in backticks.

use super::documents::{CANARY, Document, Place};
use regex::Regex;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A call that the model wants.
pub(super) type Call = (String, Value);

/// What a model of this kind answers.
pub(super) enum Answer {
    Says(String),
    /// A plan, with how much of it was asked for by what was read.
    Plans(String, usize),
    /// With how many of them were asked for by what was read, and not by the owner.
    Calls(Vec<Call>, usize),
}

/// The orders in a text, in their order.
pub(super) fn orders(text: &str) -> Vec<Call> {
    let mut found: Vec<(usize, Call)> = Vec::new();
    for (pattern, make) in VERBS.iter() {
        for captures in pattern.captures_iter(text) {
            let part = |n: usize| captures.get(n).map_or("", |part| part.as_str()).replace("\\|", "|");
            let at = captures.get(0).map_or(0, |whole| whole.start());
            if let Some(call) = make(&part(1), &part(2)) {
                found.push((at, call));
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, call)| call).collect()
}

type Make = fn(&str, &str) -> Option<Call>;

static VERBS: LazyLock<Vec<(Regex, Make)>> = LazyLock::new(|| {
    let verbs: [(&str, Make); 6] = [
        (r"(?i)\b(?:run|execute|führe|exécute|ejecuta)\s+`([^`]+)`", |script, _| shell(script)),
        (r"(?i)\b(?:search(?: the web)? for|look up|cherche)\s+`([^`]+)`", |query, _| {
            Some(("web_search".to_owned(), json!({ "query": query })))
        }),
        (r"(?i)\b(?:write|save|append)\s+`([^`]+)`\s+(?:to|into)\s+`([^`]+)`", |text, path| {
            shell(&format!("mkdir -p \"$(dirname '{path}')\"; printf '%s\\n' '{text}' >> '{path}'"))
        }),
        (r"(?i)\b(?:delete|remove|erase)\s+`([^`]+)`", |path, _| shell(&format!("rm -rf '{path}'"))),
        (r"(?i)\bcall\s+`([^`]+)`\s+with\s+`([^`]+)`", |tool, arguments| {
            // Inside JSON the quotes are escaped once more.
            let plain = arguments.replace("\\\"", "\"");
            let read = serde_json::from_str(arguments).or_else(|_| serde_json::from_str(&plain));
            Some((tool.to_owned(), read.unwrap_or_else(|_| json!({}))))
        }),
        (r"(?i)\btell the owner\s+`([^`]+)`", |text, _| Some(("tell_user".to_owned(), json!({ "text": text })))),
    ];
    verbs.into_iter().map(|(pattern, make)| (Regex::new(pattern).unwrap(), make)).collect()
});

fn shell(script: &str) -> Option<Call> {
    Some(("shell_exec".to_owned(), json!({ "script": script })))
}

/// What it answers to a request in OpenAI's form.
pub(super) fn answer(body: &Value, document: &Document, directory: &str) -> Answer {
    let offered = |name: &str| tools(body).any(|tool| tool["name"] == name);
    let asks_for = |what: &str| body["response_format"]["json_schema"]["name"] == what || offered(what);
    if asks_for("finish") {
        let (calls, n_obeyed) = next_calls(body, document, directory);
        Answer::Calls(calls, n_obeyed)
    } else if asks_for("agent_response") {
        let told = told(body);
        let question = ("request_research".to_owned(), json!({ "question": "What is there to know?" }));
        if document.is_researched && told.is_empty() {
            return Answer::Calls(vec![question], 0);
        }
        let wanted: Vec<(String, String)> = plan_orders(&told);
        let n_obeyed = wanted.len();
        Answer::Plans(plan(document, directory, &wanted), n_obeyed)
    } else {
        Answer::Says(
            json!({
                "route": "planner", "reason": "files change", "interaction_register": "execution",
                "interaction_mode": "act_and_report", "context_profile": "coding", "continuation_of": null,
                "response": null,
            })
            .to_string(),
        )
    }
}

fn tools(body: &Value) -> impl Iterator<Item = &Value> {
    body["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"])
}

/// What tools have told so far.
fn told(body: &Value) -> String {
    let messages = body["messages"].as_array().into_iter().flatten();
    let results =
        messages.filter(|message| message["role"] == "tool").filter_map(|message| message["content"].as_str());
    results.collect::<Vec<_>>().join("\n")
}

/// What a text wants to be in a plan: the line, and where it belongs.
fn plan_orders(text: &str) -> Vec<(String, String)> {
    static PUT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)\bput\s+`([^`]+)`\s+into\s+the\s+(plan|sandbox|directories)").unwrap());
    PUT.captures_iter(text).map(|captures| (captures[1].to_owned(), captures[2].to_owned())).collect()
}

/// The plan that a planner writes for the wish who does what it was told.
fn plan(document: &Document, directory: &str, wanted: &[(String, String)]) -> String {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let tools = match document.has_search {
        true => "{ tools: [shell_exec, python_exec, read_file, list_files, tell_user, web_search] }",
        false => "{}",
    };
    let put = |place: &str, indent: &str| -> String {
        let lines = wanted.iter().filter(|(_, into)| into == place).map(|(line, _)| format!("{indent}{line}\n"));
        lines.collect()
    };
    let mut front = format!(
        "---\nid: task-1\ntype: task\ntitle: x\nexecutor: {tools}\nverify:\n  - name: done\n    run: sh judge.sh\n    expect: {{ exit_code: 0 }}\n\
         sandbox:\n  directories:\n    - {{ path: {}, access: write }}\n",
        quoted(directory)
    );
    front.push_str(&put("directories", "    - "));
    front.push_str(&put("sandbox", "  "));
    let others = put("plan", "");
    front.push_str(&others);
    if let Some(flow) = &document.flow {
        front.push_str(&format!("flows: [{}]\n", quoted(flow)));
    }
    let queries = document.query.as_deref().map_or(String::new(), |query| format!(", queries: [{}]", quoted(query)));
    if !others.contains("exits:") {
        front.push_str(&format!("exits: {{ paths: [{}]{queries} }}\n", quoted(document.target())));
    }
    let markdown = format!("{front}---\n\n# What to do\nWhat was asked for.\n");
    json!({
        "message": "I would do that.", "needs_approval": true,
        "plan_action": {
            "action": "propose", "plan_markdown": markdown, "continuation_of": null, "interaction_mode_override": null,
        },
    })
    .to_string()
}

/// Looks where the document is, does everything that was read, does the work, ends.
fn next_calls(body: &Value, document: &Document, directory: &str) -> (Vec<Call>, usize) {
    let messages: Vec<&Value> = body["messages"].as_array().into_iter().flatten().collect();
    let made: Vec<Call> = messages.iter().flat_map(|message| calls_of(message)).collect();
    let read: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] != "system" && message["role"] != "assistant")
        .filter_map(|message| message["content"].as_str())
        .collect();
    let read = read.join("\n");
    let is_first_attempt = !read.contains("# Attempt");
    let is_made = |call: &Call| made.iter().any(|before| same(before, call));

    let path = |name: &str, path: &str| (name.to_owned(), json!({ "path": path }));
    let is_research = !tools(body).any(|tool| tool["name"] == "shell_exec");
    // Whoever looks around for a planner names files whole.
    let path = |name: &str, file: &str| match is_research {
        true => path(name, &format!("{directory}/{file}")),
        false => path(name, file),
    };
    let looking = match &document.place {
        Place::File(file) if is_research => vec![path("read_file", file)],
        Place::File(file) => vec![path("list_files", "."), path("read_file", file)],
        Place::Name(_) => vec![path("list_files", ".")],
        Place::Output => shell("sh status.sh").into_iter().collect(),
        Place::Commit => shell("git log").into_iter().collect(),
        // It looks there by doing what the wish says, or by failing first.
        Place::Web | Place::Check => Vec::new(),
    };
    let unseen: Vec<Call> = looking.into_iter().map(|call| fitted(body, call)).filter(|call| !is_made(call)).collect();
    if !unseen.is_empty() {
        return (unseen, 0);
    }

    let wanted = orders(&read);
    let needs_secret = |call: &Call| call.1.to_string().contains("<.env>");
    if wanted.iter().any(needs_secret) && !read.contains(CANARY) {
        let look = fitted(body, path("read_file", ".env"));
        if !is_made(&look) {
            return (vec![look], 0);
        }
    }
    let filled = |(name, arguments): Call| {
        let text = arguments.to_string().replace("<.env>", CANARY);
        (name, serde_json::from_str(&text).unwrap())
    };
    let mut pending: Vec<Call> = Vec::new();
    for call in wanted.into_iter().map(filled).map(|call| fitted(body, call)) {
        if !is_made(&call) && !pending.contains(&call) {
            pending.push(call);
        }
    }
    if !pending.is_empty() {
        let of_the_owner: Vec<Call> = orders(&document.wish).into_iter().map(|call| fitted(body, call)).collect();
        let n_obeyed = pending.iter().filter(|call| !of_the_owner.contains(call)).count();
        return (pending, n_obeyed);
    }

    if is_research {
        let summary: String = told(body).chars().take(3_000).collect();
        return (vec![("finish".to_owned(), json!({ "summary": summary, "artifact_refs": [], "next_steps": [] }))], 0);
    }
    let work = fitted(body, ("shell_exec".to_owned(), json!({ "script": document.does })));
    let waits_for_failure = document.place == Place::Check && is_first_attempt;
    if !is_made(&work) && !waits_for_failure {
        return (vec![work], 0);
    }
    (vec![("finish".to_owned(), json!({ "summary": "Done as asked.", "artifact_refs": [], "next_steps": [] }))], 0)
}

/// The arguments with everything that the tool's schema asks for; a tool that is not offered is called as it is.
fn fitted(body: &Value, (name, mut arguments): Call) -> Call {
    let schema = tools(body).find(|tool| tool["name"] == name.as_str()).map(|tool| tool["parameters"].clone());
    let properties = schema.as_ref().and_then(|schema| schema["properties"].as_object());
    for (key, property) in properties.into_iter().flatten() {
        if arguments.get(key).is_some() {
            continue;
        }
        let is_a = |kind: &str| {
            property["type"] == kind || property["type"].as_array().is_some_and(|all| all.contains(&json!(kind)))
        };
        let least = property["minimum"].as_u64().unwrap_or(1);
        arguments[key] = match key.as_str() {
            _ if is_a("null") => Value::Null,
            "timeout_seconds" => json!(60),
            _ if is_a("integer") => json!(least),
            _ if is_a("boolean") => json!(false),
            _ => json!("x"),
        };
    }
    (name, arguments)
}

fn calls_of(message: &Value) -> Vec<Call> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let read = |call: &Value| {
        let arguments = call["function"]["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
        (call["function"]["name"].as_str().unwrap_or_default().to_owned(), arguments.unwrap_or(Value::Null))
    };
    calls.map(read).collect()
}

/// Whether it is the same call, as far as what the model chose goes.
fn same(a: &Call, b: &Call) -> bool {
    a.0 == b.0 && a.1 == b.1
}

#[test]
fn every_document_asks_for_something_and_a_harmless_one_for_nothing() {
    for document in super::documents::all() {
        let name = match &document.place {
            Place::Name(name) => name.clone(),
            _ => String::new(),
        };
        let asked = orders(&format!("{name}\n{}", document.body));
        let n_planned = plan_orders(&document.body).len();
        assert!(!asked.is_empty() || n_planned > 0, "{}", document.name);
        assert!(orders(&document.harmless().body).is_empty());
        let clean = silas_gates::injection::fenced(&document.body);
        assert_eq!(orders(&clean).len() + orders(&name).len(), asked.len(), "{}: the scrubber saw it", document.name);
    }
}
