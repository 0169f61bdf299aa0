//! A model that says what it was told to say, in order, and remembers what it was asked. For tests of everything above a
//! model; the wire is tested with a server that is scripted (`tools/scripted-model`), which no product code knows.

use crate::Error;
use crate::model::{Answering, Finish, Mode, Model, Reply, Request, ToolCall, Usage};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One answer of the script.
#[derive(Clone, PartialEq, Debug)]
pub enum Line {
    /// The text comes in pieces of this many characters, with honest usage.
    Says(String, usize),
    /// The same, but the provider claims this usage, or none.
    Claims(String, Option<Usage>),
    /// Cut at the limit.
    Stops(String, Finish),
    /// Calls these tools at once, each by its name with these arguments.
    Calls(Vec<(String, String)>),
    Fails(Error),
    /// Never answers. Only cancelling ends it.
    Silence,
}

#[derive(Debug)]
pub struct ScriptedModel {
    script: Mutex<VecDeque<Line>>,
    asked: Mutex<Vec<Request>>,
    mode: Mutex<Mode>,
}

/// Pieces as they arrive from real providers.
const PIECE_CHARS: usize = 7;

impl ScriptedModel {
    pub fn new(script: impl IntoIterator<Item = Line>) -> Self {
        ScriptedModel {
            script: Mutex::new(script.into_iter().collect()),
            asked: Mutex::default(),
            mode: Mutex::new(Mode::JsonSchema),
        }
    }

    pub fn says(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        ScriptedModel::new(texts.into_iter().map(|text| Line::Says(text.into(), PIECE_CHARS)))
    }

    /// Every question so far.
    pub fn asked(&self) -> Vec<Request> {
        lock(&self.asked).clone()
    }

    fn next(&self, request: &Request) -> Line {
        lock(&self.asked).push(request.clone());
        let unscripted = || Line::Fails(Error::Garbled { host: "the script is over".to_owned() });
        lock(&self.script).pop_front().unwrap_or_else(unscripted)
    }
}

/// Nothing is left half written under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Model for ScriptedModel {
    fn call<'a>(&'a self, request: &'a Request, told: &'a mut (dyn FnMut(&str) + Send)) -> Answering<'a> {
        Box::pin(async move {
            let honest = |text: &str| Usage {
                input_tokens: silas_core::model::count_tokens(&format!(
                    "{}{}{}",
                    request.system,
                    request.user,
                    request.said()
                )),
                output_tokens: silas_core::model::count_tokens(text),
                ..Usage::default()
            };
            let (text, n, finish, usage) = match self.next(request) {
                Line::Says(text, n) => (text.clone(), n, Finish::Complete, Some(honest(&text))),
                Line::Claims(text, usage) => (text, PIECE_CHARS, Finish::Complete, usage),
                Line::Stops(text, finish) => (text.clone(), PIECE_CHARS, finish, Some(honest(&text))),
                Line::Calls(calls) => {
                    let calls = calls.into_iter().map(|(name, arguments)| ToolCall::new(name, arguments));
                    let calls: Vec<ToolCall> = calls.collect();
                    let said: String = calls.iter().map(|call| call.arguments.as_str()).collect();
                    let usage = Some(honest(&said));
                    for call in calls.iter().filter(|call| call.name == request.shape.name) {
                        told(&call.arguments);
                    }
                    return Ok(Reply { text: String::new(), calls, finish: Finish::Complete, usage, verbatim: None });
                }
                Line::Fails(error) => return Err(error),
                Line::Silence => std::future::pending().await,
            };
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(n.max(1)) {
                told(&piece.iter().collect::<String>());
                tokio::task::yield_now().await;
            }
            Ok(Reply { text, calls: Vec::new(), finish, usage, verbatim: None })
        })
    }

    fn mode(&self) -> Mode {
        *lock(&self.mode)
    }

    fn lower_mode(&self, mode: Mode) {
        let mut known = lock(&self.mode);
        *known = mode.max(*known);
    }
}
