//! What Silas adds to a question to a model: the same answer of the same scripted server, fetched by a bare HTTP client that
//! only reads the bytes, and by Silas, which renders the prompt, makes the schema, streams, reads the sentences and checks
//! the answer. Then what a call of a tool adds: a dialogue of ten calls of a tool that does nothing, beside the same eleven
//! requests by the bare client. In turns, in one run.

use anyhow::{Result, anyhow, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::{Value, json};
use silas_agents::tools::{Authorised, Doing, Done, Intent, Purpose, Run, Tool, Verdict, Wait, chain};
use silas_agents::{
    Answered, Asking, Ended, Meter, Minds, Outcome, Prompt, Reply, Settled, Timeouts, Turn, Worth, prompt_size,
};
use silas_core::boundary::{Call, Policy, Projected, admit};
use silas_core::model::{KeySource, ModelGrant, ModelName, Price, Role};
use silas_core::reflex::UNDERSTOOD;
use silas_core::seen::Seen;
use silas_core::tool::{Spec, object};
use silas_core::{CallId, Digest, Random, Taint, Tainted};
use std::convert::Infallible;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Allows everything; what keeping the books costs is in `bench/store`.
struct Open;

impl Meter for Open {
    type Receipt = ();
    type Refusal = Infallible;

    async fn reserve(&self, _: Worth) -> Result<(), Self::Refusal> {
        Ok(())
    }

    async fn recall(&self, _: &Digest) -> Option<Reply> {
        None
    }

    async fn settle(&self, (): (), _: Settled, _: Option<Answered<'_>>) {}
}

const ROUNDS: usize = 300;
const ANSWER: &str = "A sentence that is neither short nor long, as people like them. ";

fn main() -> Result<()> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(rounds))
}

async fn run(rounds: usize) -> Result<()> {
    println!(
        "prompt on an empty conversation: {} tokens\n",
        prompt_size(Role::Proxy, &Prompt::render(&question()?)?, &[])
    );
    println!("{:<34} {:>8} {:>8} {:>8}", "milliseconds", "min", "p50", "p95");
    for (name, sentences) in [("one sentence", 1), ("twenty sentences", 20)] {
        let server = Server::start(Script::new(Dialect::OpenAi, [Act::Says(decision(&ANSWER.repeat(sentences)))]))?;
        let (mut bare, mut silas) = (Vec::new(), Vec::new());
        let minds = Minds::new(Timeouts::default());
        let model = ModelName::parse(&format!("compatible:bench@{}", server.url()))?;
        // The first call opens the connection and shows the body that the bare client sends again.
        ask(&minds, &model).await?;
        let body =
            server.asked().first().map(|asked| asked.text.clone()).ok_or_else(|| anyhow!("nothing was asked"))?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
        fetch(&client, &server, &body).await?;
        for _ in 0..rounds {
            bare.push(fetch(&client, &server, &body).await?);
            silas.push(ask(&minds, &model).await?);
        }
        print(&format!("bare HTTP client, {name}"), &mut bare);
        print(&format!("Silas, {name}"), &mut silas);
        if !server.faults().is_empty() {
            bail!("{:?}", server.faults());
        }
    }
    calls(rounds).await
}

/// Calls of a tool in one dialogue.
const CALLS: u32 = 10;

/// The time of a whole dialogue divided by its calls, for both sides.
async fn calls(rounds: usize) -> Result<()> {
    let script = || {
        let call = Act::Calls(vec![("echo".to_owned(), json!({ "text": ANSWER }).to_string())]);
        let end = json!({ "summary": "Done.", "artifact_refs": [], "next_steps": [] }).to_string();
        let mut acts = vec![call; CALLS as usize];
        acts.push(Act::Calls(vec![("finish".to_owned(), end)]));
        acts
    };
    let server = Server::start(Script::new(Dialect::OpenAi, script()))?;
    let minds = Minds::new(Timeouts::default());
    let model = ModelName::parse(&format!("compatible:bench@{}", server.url()))?;
    tool_calls(&minds, &model).await?;
    let bodies: Vec<String> = server.asked().iter().map(|asked| asked.text.clone()).collect();
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let (mut bare, mut silas) = (Vec::new(), Vec::new());
    for _ in 0..rounds.div_ceil(CALLS as usize) {
        server.now_says(script());
        let mut took = Duration::ZERO;
        for body in &bodies {
            took += fetch(&client, &server, body).await?;
        }
        bare.push(took / CALLS);
        server.now_says(script());
        silas.push(tool_calls(&minds, &model).await? / CALLS);
    }
    print("bare HTTP client, a call of a tool", &mut bare);
    print("Silas, a call of a tool", &mut silas);
    if server.faults().is_empty() { Ok(()) } else { bail!("{:?}", server.faults()) }
}

async fn tool_calls(minds: &Minds, model: &ModelName) -> Result<Duration> {
    let began = Instant::now();
    let asking = Asking { model: minds.model(model, None)?, price: Price::FREE };
    let schema = object(&[("text", json!({ "type": "string", "maxLength": 500 }))]);
    let tools: Vec<Box<dyn Tool<Infallible>>> = vec![Box::new(Echo(Spec::reading("echo", "Says it again.", schema)))];
    let tools = chain(tools, Purpose::Research, vec!["echo".to_owned()]);
    let ended = Minds::execute(&asking, &tools, &Nothing, &Mutex::default(), &Open, CALLS + 1).await;
    match ended {
        Ok(Ended::Answer(_)) => Ok(began.elapsed()),
        _ => bail!("no usable end"),
    }
}

/// A tool without hands.
struct Echo(Spec);

impl Tool<Infallible> for Echo {
    fn spec(&self) -> &Spec {
        &self.0
    }

    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, Infallible> {
        let text = call.arguments()["text"].as_str().unwrap_or_default().to_owned();
        let for_model = Tainted::new(text, Taint::External);
        let done = Done { for_model, remark: None, is_private: false, source: "an echo".to_owned(), is_success: true };
        Box::pin(std::future::ready(Ok(done)))
    }
}

/// A run that writes nothing down; what the books cost is in `bench/store`.
struct Nothing;

impl Run for Nothing {
    type Error = Infallible;

    fn scope(&self, _: &Spec, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn gates(&self, _: &Spec, arguments: Value) -> Result<Value, String> {
        Ok(arguments)
    }

    fn authorise(&self, _: &Spec, _: &Value, _: &Seen) -> Verdict {
        Verdict::Allowed
    }

    async fn ask(&self, _: &Intent<'_>, _: &Wait) -> Result<bool, Infallible> {
        Ok(false)
    }

    async fn intend(&self, _: &Intent<'_>) -> Result<CallId, Infallible> {
        Ok(CallId::new(&Zeros))
    }

    fn clean(&self, _: &Spec, done: &Done) -> String {
        done.for_model.peek().clone()
    }

    async fn record(&self, _: &CallId, _: &Spec, _: &Done) -> Result<(), Infallible> {
        Ok(())
    }

    async fn refuse(&self, _: &str, _: &'static str) -> Result<(), Infallible> {
        Ok(())
    }
}

impl silas_agents::Script for Nothing {
    async fn prompt(&self, _: &[Turn]) -> Result<Prompt, Infallible> {
        Ok(Prompt { system: "You are measured.".to_owned(), user: "Call it ten times.".to_owned() })
    }

    async fn recall(&self) -> Result<Option<Reply>, Infallible> {
        Ok(None)
    }

    async fn keep(&self, _: &Reply) -> Result<(), Infallible> {
        Ok(())
    }
}

struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

async fn fetch(client: &Client<HttpConnector, Full<Bytes>>, server: &Server, body: &str) -> Result<Duration> {
    let began = Instant::now();
    let request = hyper::Request::post(format!("{}/chat/completions", server.url()))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_owned())))?;
    let answer = client.request(request).await?.into_body().collect().await?.to_bytes();
    if answer.is_empty() {
        bail!("nothing was answered");
    }
    Ok(began.elapsed())
}

async fn ask(minds: &Minds, model: &ModelName) -> Result<Duration> {
    let began = Instant::now();
    let asking = Asking { model: minds.model(model, None)?, price: Price::FREE };
    let mut n_heard = 0;
    let outcome = Minds::route(&asking, &question()?, &Open, &mut |_| n_heard += 1).await;
    match outcome {
        Ok(Outcome::Usable(_)) => Ok(began.elapsed()),
        _ => bail!("no usable answer"),
    }
}

/// Admitted anew for each question, as in a turn.
fn question() -> Result<Projected> {
    let model = ModelName::parse("ollama:bench")?;
    let receipts = [ModelGrant::new(model.clone(), vec![Role::Proxy], KeySource::None, None)];
    let understood: Vec<&str> = UNDERSTOOD.to_vec();
    let payload =
        json!({ "date": "2026-11-15", "understood": understood, "history": [], "wish": "hello", "has_search": false });
    let call = Call { asker: Taint::Owner, role: Role::Proxy, model: &model, payload };
    let policy =
        Policy { allowed: std::slice::from_ref(&model), local_only: false, receipts: &receipts, has_key: &|| true };
    Ok(admit(call, &policy)?)
}

fn decision(message: &str) -> String {
    json!({
        "route": "direct", "reason": "words", "interaction_register": "status", "interaction_mode": "default_and_offer",
        "context_profile": "conversation", "continuation_of": null, "response": { "message": message },
    })
    .to_string()
}

fn print(name: &str, took: &mut [Duration]) {
    took.sort();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    println!("{name:<34} {:>8.2} {:>8.2} {:>8.2}", at(0), at(50), at(95));
}
