//! Whatever a provider sends, the process that listens stays small. Its peak is what the system says, so it is taken in a
//! process of its own: this program starts itself again for each attack, and the server stays here.
//!
//! Not a harness of tests but one program, because the peak of a process cannot be shared by several tests.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use scripted_model::{Act, Dialect, Part, Script, Server};
use serde_json::json;
use silas_agents::{Minds, Mode, Offer, Request, Shape, Timeouts};
use silas_core::model::ModelName;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// What one answer may make the process grow by: the largest event twice over, while its buffer is moved, and room for
/// what the allocator keeps. Far below every attack.
const GROWTH_KIB_MAX: u64 = 8 << 10;
/// What a reader without limits takes in, to show that the measure would see it.
const CARELESS_BYTES: usize = 64 << 20;
const GOOD: &str = "{}";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("listen") => listen(&args[2], &args[3]),
        Some("careless") => careless(&args[2]),
        _ => attack(),
    }
}

/// The attacks, in both dialects and in each form of an answer.
fn attack() {
    let megabytes = || Act::Flood(5 << 20);
    let attacks = [
        ("a good answer", Act::Says(GOOD.to_owned()), "answered"),
        ("5 MB of text or arguments", megabytes(), "E_LLM_LONG"),
        ("an endless stream", Act::Loops("again and again ".to_owned()), "E_LLM_LONG"),
        ("an endless line", Act::Endless(Part::Line), "E_LLM_GARBLED"),
        ("an endless event", Act::Endless(Part::Event), "E_LLM_GARBLED"),
        ("endless headers", Act::Endless(Part::Headers), "E_LLM_GARBLED"),
        ("an endless error", Act::Endless(Part::ErrorBody), "E_LLM_REJECTED"),
    ];
    for (dialect, provider) in [(Dialect::OpenAi, "compatible"), (Dialect::Anthropic, "anthropic")] {
        for mode in ["schema", "tool", "call"] {
            for (name, act, code) in &attacks {
                // The first answer is a good one: what any call needs is there before the peak is taken.
                let server = Server::start(Script::new(dialect, [Act::Says(GOOD.to_owned()), act.clone()])).unwrap();
                let model = format!("{provider}:test@{}", server.url());
                let (outcome, growth) = again(&["listen", &model, mode]);
                assert_eq!(&outcome, code, "{name}, {dialect:?}, {mode}");
                assert!(growth < GROWTH_KIB_MAX, "{name}, {dialect:?}, {mode}: grew by {growth} KiB");
                println!("{name}, {dialect:?}, {mode}: {outcome}, peak grew by {growth} KiB");
            }
        }
    }
    let server = Server::start(Script::new(Dialect::OpenAi, [Act::Loops("again and again ".to_owned())])).unwrap();
    let (_, growth) = again(&["careless", server.url().trim_start_matches("http://").trim_end_matches("/v1")]);
    assert!(growth > (CARELESS_BYTES >> 10) as u64 / 2, "the measure does not see {growth} KiB");
    println!("a reader without limits: peak grew by {growth} KiB");
}

/// This program once more; what it says is an outcome and by how much it grew.
fn again(args: &[&str]) -> (String, u64) {
    let output = Command::new(std::env::current_exe().unwrap()).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let (outcome, growth) = said.trim().split_once(' ').unwrap();
    (outcome.to_owned(), growth.parse().unwrap())
}

fn listen(model: &str, mode: &str) {
    let form = if mode == "tool" { Mode::ForcedTool } else { Mode::JsonSchema };
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let shape = Shape { name: "answer", about: "Answer.", schema, mode: form };
    let offer = Offer { name: "tool".to_owned(), about: "A tool.".to_owned(), schema: shape.schema.clone() };
    let tools = if mode == "call" { vec![offer] } else { Vec::new() };
    let (system, user, turns) = ("S".to_owned(), "U".to_owned(), Vec::new());
    let request = Request { system, user, turns, tools, shape, output_tokens_max: 64 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let minds = Minds::new(Timeouts::default());
        let model = minds.model(&ModelName::parse(model).unwrap(), None).unwrap();
        let first = model.call(&request, &mut |_| {}).await.unwrap();
        assert!(first.text == GOOD || first.calls.len() == 1, "{first:?}");
        let before = peak_kib();
        let outcome = match model.call(&request, &mut |_| {}).await {
            Ok(_) => "answered",
            Err(error) => error.code(),
        };
        println!("{outcome} {}", peak_kib() - before);
    });
}

fn careless(address: &str) {
    let before = peak_kib();
    let mut stream = TcpStream::connect(address).unwrap();
    let body = json!({
        "model": "m", "stream": true, "max_tokens": 1,
        "messages": [{ "role": "system", "content": "S" }, { "role": "user", "content": "U" }],
    })
    .to_string();
    let head = "POST /v1/chat/completions HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length";
    write!(stream, "{head}: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut all = Vec::new();
    stream.take(CARELESS_BYTES as u64).read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), CARELESS_BYTES);
    println!("careless {}", peak_kib() - before);
}

/// The most memory that this process ever had, as the system counts it.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
