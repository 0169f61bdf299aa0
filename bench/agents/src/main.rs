//! What Silas adds to a question to a model: the same answer of the same scripted server, fetched by a bare HTTP client that
//! only reads the bytes, and by Silas, which renders the prompt, makes the schema, streams, reads the sentences and checks
//! the answer. In turns, in one run.

use anyhow::{Result, anyhow, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use scripted_model::{Act, Dialect, Script, Server};
use serde_json::json;
use silas_agents::{Asking, Meter, Minds, Outcome, Prompt, Settled, Timeouts, Worth, prompt_size};
use silas_core::Taint;
use silas_core::boundary::{Call, Policy, Projected, admit};
use silas_core::model::{KeySource, ModelGrant, ModelName, Price, Role};
use silas_core::reflex::UNDERSTOOD;
use std::time::{Duration, Instant};

/// Allows everything; what keeping the books costs is in `bench/store`.
struct Open;

impl Meter for Open {
    type Receipt = ();
    type Refusal = std::convert::Infallible;

    async fn reserve(&self, _: Worth) -> Result<(), Self::Refusal> {
        Ok(())
    }

    async fn settle(&self, (): (), _: Settled) {}
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
    Ok(())
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
    let payload = json!({ "date": "2026-11-15", "understood": understood, "history": [], "wish": "hello" });
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
