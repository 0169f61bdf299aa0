//! A provider of models for tests: an HTTP server on this machine that says what it was told to say, in the wire format of
//! its dialect, checks what it is sent, and misbehaves on demand.
//!
//! Written with threads and nothing of the product's, so that a mistake of the product's is not made twice.

mod dialect;
mod http;

pub use dialect::{Dialect, Form};
pub use http::Asked;

use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Says the text in the form that was asked for, in small pieces, with honest usage.
    Says(String),
    /// Calls these tools at once, each by its name with these arguments, with honest usage.
    Calls(Vec<(String, String)>),
    /// The same with what stands between two words of the question put in for a third: what a test cannot know before.
    Echoes { text: String, put_in_for: &'static str, after: &'static str, before: &'static str },
    /// The same with another word about what was used, or none.
    Claims(String, Option<(u64, u64)>),
    /// The same until a gate opens ([`Server::open_gate`]): the text before the gate, then the text after it.
    Pauses(String, String),
    /// Says the text and closes the connection in the middle of the answer.
    Cut(String),
    /// Takes the request and says nothing until the client leaves.
    Silence,
    /// This many bytes of text.
    Flood(usize),
    /// The same text over and over until the client leaves.
    Loops(String),
    /// Another status than 200, with headers and a body.
    Status(u16, Vec<(&'static str, String)>, String),
    /// Says that all is well and sends these bytes.
    Garbage(String),
    /// Takes the request and closes the connection without a word.
    HangsUp,
    /// Something without an end, until the client leaves.
    Endless(Part),
}

/// What of an answer has no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Its headers.
    Headers,
    /// One event that is a single line.
    Line,
    /// One event of many lines.
    Event,
    /// The body of an error.
    ErrorBody,
    /// What comes before its first event: comments, which say only that somebody is there.
    Comments,
}

/// How the server is before anything is asked.
#[derive(Clone, Debug)]
pub struct Script {
    pub dialect: Dialect,
    /// In order; the last one is repeated.
    pub acts: Vec<Act>,
    /// The forms of answers that it can be held to; prose always works.
    pub forms: Vec<Form>,
    /// Turned away with 401 without this key.
    pub key: Option<String>,
}

impl Script {
    pub fn new(dialect: Dialect, acts: impl IntoIterator<Item = Act>) -> Self {
        let forms = vec![Form::JsonSchema, Form::ForcedTool, Form::Tools, Form::Prose];
        Script { dialect, acts: acts.into_iter().collect(), forms, key: None }
    }
}

type Mind = Arc<dyn Fn(&Asked) -> Act + Send + Sync>;

pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

pub(crate) struct Shared {
    pub(crate) script: Script,
    acts: Mutex<VecDeque<Act>>,
    /// Asked instead of the script, where there is one.
    mind: Mutex<Option<Mind>>,
    asked: Mutex<Vec<Asked>>,
    was_asked: Condvar,
    /// Requests that no provider would take, in words.
    faults: Mutex<Vec<String>>,
    /// Bytes of answers that were sent.
    pub(crate) n_sent: std::sync::atomic::AtomicU64,
    gate: Mutex<bool>,
    gate_opened: Condvar,
    is_over: AtomicBool,
}

impl Server {
    pub fn start(script: Script) -> io::Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let acts = Mutex::new(script.acts.clone().into());
        let shared = Arc::new(Shared {
            script,
            acts,
            mind: Mutex::default(),
            asked: Mutex::default(),
            was_asked: Condvar::new(),
            faults: Mutex::default(),
            n_sent: Default::default(),
            gate: Mutex::new(false),
            gate_opened: Condvar::new(),
            is_over: AtomicBool::new(false),
        });
        let for_thread = shared.clone();
        let listening = std::thread::spawn(move || {
            for connection in listener.incoming() {
                if for_thread.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(connection) = connection else { continue };
                let shared = for_thread.clone();
                std::thread::spawn(move || http::serve(&connection, &shared));
            }
        });
        Ok(Server { address, shared, listening: Some(listening) })
    }

    /// What stands before `/chat/completions` or `/messages`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// Waits until so many requests have come.
    pub fn await_asked(&self, n: usize) {
        let mut asked = lock(&self.shared.asked);
        while asked.len() < n {
            asked = self.shared.was_asked.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What was wrong with the requests; empty if every one could have been sent to a real provider.
    pub fn faults(&self) -> Vec<String> {
        lock(&self.shared.faults).clone()
    }

    pub fn n_sent(&self) -> u64 {
        self.shared.n_sent.load(Ordering::SeqCst)
    }

    /// Lets every [`Act::Pauses`] go on.
    pub fn open_gate(&self) {
        *lock(&self.shared.gate) = true;
        self.shared.gate_opened.notify_all();
    }

    /// From here on each answer is made from its question.
    pub fn now_thinks(&self, mind: impl Fn(&Asked) -> Act + Send + Sync + 'static) {
        *lock(&self.shared.mind) = Some(Arc::new(mind));
    }

    /// From here on these are the answers.
    pub fn now_says(&self, acts: impl IntoIterator<Item = Act>) {
        *lock(&self.shared.acts) = acts.into_iter().collect();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.open_gate();
        // The listener wakes for one more connection and sees that it is over.
        let _woken = std::net::TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(listening) = self.listening.take() {
            let _ended = listening.join();
        }
    }
}

impl Shared {
    /// Takes down a request, and gives what is to be done with it. That is settled before anybody hears that it was asked:
    /// whoever then says what comes next does not mean this one.
    pub(crate) fn take(&self, asked: Asked) -> Act {
        let act = self.choose(&asked);
        lock(&self.asked).push(asked);
        self.was_asked.notify_all();
        act
    }

    fn choose(&self, asked: &Asked) -> Act {
        if let Some(fault) = dialect::fault(self.script.dialect, asked) {
            lock(&self.faults).push(fault.clone());
            return Act::Status(400, Vec::new(), error(&fault));
        }
        let key = self.script.key.as_deref();
        if key.is_some_and(|key| dialect::key(self.script.dialect, asked) != Some(key)) {
            return Act::Status(401, Vec::new(), error("invalid key"));
        }
        if !self.script.forms.contains(&dialect::form(self.script.dialect, &asked.body)) {
            return Act::Status(400, Vec::new(), error("this form of answer is not supported"));
        }
        let mind = lock(&self.mind).clone();
        if let Some(mind) = mind {
            return mind(asked);
        }
        let mut acts = lock(&self.acts);
        let next = if acts.len() > 1 { acts.pop_front() } else { acts.front().cloned() };
        next.unwrap_or_else(|| Act::Status(500, Vec::new(), error("the script is over")))
    }

    pub(crate) fn wait_at_gate(&self) {
        let mut is_open = lock(&self.gate);
        while !*is_open {
            is_open = self.gate_opened.wait(is_open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

fn error(message: &str) -> String {
    Value::from_iter([("error", Value::from_iter([("message", message)]))]).to_string()
}

/// Nothing under these locks can stop halfway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
