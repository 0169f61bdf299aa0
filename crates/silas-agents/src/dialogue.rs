//! A model that works with tools: asked, heard, its calls made in order, told what came of them, and asked again, until it
//! gives its answer or a limit ends it.
//!
//! The answer is given by a call too, of a tool that is called like its shape, so that one form serves every provider.
//! Everything is bounded: how often it is asked, how often it may be wrong, and how much of what was said is said again.

use crate::meter::Meter;
use crate::model::{Finish, Mode, Model, Offer, Reply, Request, Shape, ToolCall, Turn};
use crate::prompt::Prompt;
use crate::structured::{Piece, Shaped, metered, value_in};
use crate::tools::{self, Call, Returned, Run, Toolset};
use crate::{Error, schema};
use silas_core::model::{Price, count_tokens};
use silas_core::seen::Seen;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::Poll;

/// What a dialogue needs besides tools: what it is about, and a memory of what was answered.
pub trait Script: Run {
    /// The question, made anew before each call from what may be sent now.
    fn prompt(&self, turns: &[Turn]) -> impl Future<Output = Result<Prompt, Self::Error>> + Send;

    /// An answer that was given before and paid for, if this run is told again.
    fn recall(&self) -> impl Future<Output = Result<Option<Reply>, Self::Error>> + Send;

    /// Keeps an answer before anything is made of it.
    fn keep(&self, reply: &Reply) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// How far a dialogue may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) model_calls_max: u32,
    pub(crate) output_tokens_max: u32,
}

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub enum Ended<T> {
    Answer(T),
    /// Nobody can do anything with what the model says.
    GaveUp(Why),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// Twice not in the form that was asked for.
    Form(String),
    /// Too many calls that could not be made; this is what the last one was told.
    Mistakes(String),
    /// It was asked as often as allowed.
    Calls(u32),
}

/// Why a dialogue broke off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Break<R, E> {
    /// The meter said no.
    Refused(R),
    Failed(Error),
    Halted(E),
}

/// Answers without the form that was asked for, in one dialogue: as asked, and once told what was wrong.
const UNUSABLE_MAX: u32 = 2;
/// Calls in a row that could not be made. A model that errs this often does not understand what it is told.
const MISTAKES_MAX: u32 = 6;
/// Times in a row that an answer breaks off or does not come.
const BROKEN_MAX: u32 = 2;
/// Tokens of results that are said again in full. With more, the oldest are left out.
const SAID_TOKENS_MAX: u64 = 24_000;
/// What stays of them then. So much at once, because whatever is left out changes what was sent before, and a provider that
/// had kept it reads everything again.
const SAID_TOKENS_LEFT: u64 = 12_000;
const LEFT_OUT: &str = "[left out: it is long ago; call the tool again if it matters]";

pub(crate) struct Dialogue<'a, R: Run> {
    pub(crate) model: &'a dyn Model,
    pub(crate) price: Price,
    pub(crate) tools: &'a dyn Toolset<R::Error>,
    pub(crate) seen: &'a Mutex<Seen>,
    pub(crate) bounds: Bounds,
}

type Ending<T, M, R> = Result<Ended<T>, Break<<M as Meter>::Refusal, <R as Run>::Error>>;

impl<R: Script> Dialogue<'_, R> {
    /// `told` hears each answer as it comes; what was no answer in the end is taken back.
    pub(crate) async fn hold<T: Shaped, M: Meter>(
        &self,
        run: &R,
        meter: &M,
        told: &mut (dyn FnMut(Piece<'_>) + Send),
    ) -> Ending<T, M, R> {
        let mut turns: Vec<Turn> = Vec::new();
        let (mut n_unusable, mut n_mistakes, mut n_broken) = (0, 0, 0);
        let mut mode = Mode::ForcedTool;
        for n in 0..self.bounds.model_calls_max {
            if n > 0 {
                told(Piece::Again);
            }
            let reply = match self.next::<T, M>(run, meter, &turns, &mut mode, told).await {
                Ok(reply) => reply,
                // Some of it may have been paid for, and the next time may be better.
                Err(Break::Failed(error)) if error.is_broken() && n_broken < BROKEN_MAX => {
                    n_broken += 1;
                    continue;
                }
                Err(Break::Failed(error @ Error::TooLong { .. })) => {
                    n_unusable += 1;
                    if n_unusable >= UNUSABLE_MAX {
                        return Ok(Ended::GaveUp(Why::Form(error.to_string())));
                    }
                    turns.push(Turn { note: Some("Your answer was far too long.".to_owned()), ..Turn::default() });
                    continue;
                }
                Err(other) => return Err(other),
            };
            n_broken = 0;
            let why = match answer::<T>(&reply) {
                Answer::Given(value) => return Ok(Ended::Answer(value)),
                Answer::Not(why) => why,
                Answer::Calls => {
                    let results = self.make(run, &reply.calls, T::NAME).await.map_err(Break::Halted)?;
                    for returned in &results {
                        match returned {
                            Returned::Done { .. } => n_mistakes = 0,
                            Returned::Refused { .. } => n_mistakes += 1,
                        }
                    }
                    let results: Vec<String> = results.into_iter().map(said).collect();
                    if n_mistakes >= MISTAKES_MAX {
                        let last = results.into_iter().next_back().unwrap_or_default();
                        return Ok(Ended::GaveUp(Why::Mistakes(last)));
                    }
                    turns.push(Turn {
                        text: reply.text,
                        calls: reply.calls,
                        results,
                        note: None,
                        verbatim: reply.verbatim,
                    });
                    shorten(&mut turns);
                    continue;
                }
            };
            n_unusable += 1;
            if n_unusable >= UNUSABLE_MAX {
                return Ok(Ended::GaveUp(Why::Form(why)));
            }
            let note =
                format!("[SCHEMA VALIDATION ERROR]\n{why}\nCall a tool, or give your answer by calling {}.", T::NAME);
            let results = reply.calls.iter().map(|_| "Not taken.".to_owned()).collect();
            turns.push(Turn {
                text: reply.text,
                calls: reply.calls,
                results,
                note: Some(note),
                verbatim: reply.verbatim,
            });
        }
        Ok(Ended::GaveUp(Why::Calls(self.bounds.model_calls_max)))
    }

    /// The next thing that the model says: what it said before, or what it says now.
    async fn next<T: Shaped, M: Meter>(
        &self,
        run: &R,
        meter: &M,
        turns: &[Turn],
        mode: &mut Mode,
        told: &mut (dyn FnMut(Piece<'_>) + Send),
    ) -> Result<Reply, Break<M::Refusal, R::Error>> {
        if let Some(reply) = run.recall().await.map_err(Break::Halted)? {
            return Ok(reply);
        }
        loop {
            let Prompt { system, user } = run.prompt(turns).await.map_err(Break::Halted)?;
            let offered = self.tools.offered().into_iter();
            let offer = |spec: &silas_core::tool::Spec| Offer {
                name: spec.name.clone(),
                about: spec.about.clone(),
                schema: spec.schema.clone(),
            };
            let request = Request {
                system,
                user,
                turns: turns.to_vec(),
                tools: offered.map(offer).collect(),
                shape: Shape { name: T::NAME, about: T::ABOUT, schema: schema::of::<T>(), mode: *mode },
                output_tokens_max: self.bounds.output_tokens_max + self.model.room_to_think(),
            };
            let reply = metered(self.model, &request, self.price, meter, told).await;
            match reply {
                Err(crate::structured::Stop::Refused(refusal)) => return Err(Break::Refused(refusal)),
                Err(crate::structured::Stop::Failed(error)) => return Err(Break::Failed(error)),
                // Not everybody can be made to call something.
                Ok(Err(error)) if error.is_about_form() && *mode == Mode::ForcedTool => *mode = Mode::Prose,
                Ok(Err(error)) => return Err(Break::Failed(error)),
                Ok(Ok(reply)) => {
                    run.keep(&reply).await.map_err(Break::Halted)?;
                    return Ok(reply);
                }
            }
        }
    }

    /// Makes the calls of one answer: neighbours that do not mind each other at once, the rest one after the other.
    async fn make(&self, run: &R, calls: &[ToolCall], answer: &str) -> Result<Vec<Returned>, R::Error> {
        let is_parallel = |call: &ToolCall| self.tools.find(&call.name).is_some_and(|tool| tool.spec().is_parallel);
        let mut results = Vec::with_capacity(calls.len());
        let mut rest = calls;
        while let Some(first) = rest.first() {
            let n = if is_parallel(first) { rest.iter().take_while(|call| is_parallel(call)).count() } else { 1 };
            let (now, later) = rest.split_at(n);
            rest = later;
            let under_way = now.iter().map(|written| -> Making<'_, R> {
                if written.name == answer {
                    let text = "Not taken: give your answer alone, when everything else is done.".to_owned();
                    return Box::pin(std::future::ready(Ok(Returned::Refused { code: "E_TOOL_EARLY", text })));
                }
                Box::pin(tools::call(self.tools, run, Call { written, seen: self.seen }))
            });
            for returned in all(under_way.collect()).await {
                results.push(returned?);
            }
        }
        Ok(results)
    }
}

type Making<'a, R> = Pin<Box<dyn Future<Output = Result<Returned, <R as Run>::Error>> + Send + 'a>>;

enum Answer<T> {
    Given(T),
    Calls,
    Not(String),
}

fn answer<T: Shaped>(reply: &Reply) -> Answer<T> {
    match (reply.finish, reply.calls.as_slice()) {
        (Finish::Length, _) => Answer::Not("the answer was longer than allowed and was cut off".to_owned()),
        (Finish::Refused, _) => Answer::Not("there was no answer".to_owned()),
        (Finish::Complete, [only]) if only.name == T::NAME => match value_in(&only.arguments) {
            Ok(value) => Answer::Given(value),
            Err(why) => Answer::Not(why),
        },
        // Whoever cannot be made to call something may say the same in words.
        (Finish::Complete, []) => match value_in(&reply.text) {
            Ok(value) => Answer::Given(value),
            Err(why) if reply.text.contains('{') => Answer::Not(why),
            Err(_) => Answer::Not("nothing was called".to_owned()),
        },
        (Finish::Complete, _) => Answer::Calls,
    }
}

fn said(returned: Returned) -> String {
    match returned {
        Returned::Done { text, .. } | Returned::Refused { text, .. } => text,
    }
}

/// Leaves out what was said long ago, in one block, so that what is sent stays bounded and seldom changes. The newest turn
/// stays whole: nobody has read it yet.
fn shorten(turns: &mut [Turn]) {
    let Some((newest, before)) = turns.split_last_mut() else { return };
    let tokens_of = |turn: &Turn| turn.results.iter().map(|result| count_tokens(result)).sum::<u64>();
    let newest = tokens_of(newest);
    if newest + before.iter().map(tokens_of).sum::<u64>() <= SAID_TOKENS_MAX {
        return;
    }
    let mut left = SAID_TOKENS_LEFT.saturating_sub(newest);
    for turn in before.iter_mut().rev() {
        for result in turn.results.iter_mut().rev() {
            match left.checked_sub(count_tokens(result)) {
                Some(rest) => left = rest,
                None => {
                    left = 0;
                    LEFT_OUT.clone_into(result);
                }
            }
        }
    }
}

/// Waits for all of them, each going on while the others wait.
async fn all<F: Future + Unpin>(mut under_way: Vec<F>) -> Vec<F::Output> {
    let mut done: Vec<Option<F::Output>> = under_way.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in under_way.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(output) = Pin::new(future).poll(context)
            {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
