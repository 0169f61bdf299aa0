//! Asked before each call and told after it. The runtime keeps the books; this room only promises to ask.
//!
//! Whoever pays also remembers: what was answered and paid for need not be asked again.

use crate::{Error, Reply};
use silas_core::Digest;
use silas_core::model::{Price, count_tokens};
use std::future::Future;

/// What a call may cost at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Worth {
    /// Everything that is sent by our own count, and every token of the output used.
    pub tokens_max: u64,
    pub microusd_max: u64,
}

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// `answered`, or the code of what went wrong.
    pub outcome: &'static str,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub microusd: u64,
}

pub trait Meter: Send + Sync {
    /// What is held while a call is under way. Dropping it without settling leaves the whole reserve spent.
    type Receipt: Send;
    /// Why nothing may be sent.
    type Refusal: Send;

    /// The answer that exactly this question got before, if it is kept. Then nothing is sent, and nothing is paid.
    fn recall(&self, question: &Digest) -> impl Future<Output = Option<Reply>> + Send;
    /// After a question that was not answered for no fault of its own: waits until it may be asked again, and says whether
    /// it may. This is the n-th time, counted from one.
    fn wait(&self, _error: &Error, _n: u32) -> impl Future<Output = Result<bool, Self::Refusal>> + Send {
        async { Ok(false) }
    }
    fn reserve(&self, worth: Worth) -> impl Future<Output = Result<Self::Receipt, Self::Refusal>> + Send;
    /// With the answer, if there is one, so that what it cost and what it says are kept in one step.
    fn settle(
        &self,
        receipt: Self::Receipt,
        settled: Settled,
        answered: Option<Answered<'_>>,
    ) -> impl Future<Output = ()> + Send;
}

/// An answer, and the question that it is the answer to.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    pub question: Digest,
    pub reply: &'a Reply,
}

/// What an answer cost. A provider that says nothing, or less than our own count of what it sent, is not believed: then
/// the whole reserve counts. One that says more is.
pub(crate) fn settled(
    sent: &str,
    reply: &Result<Reply, Error>,
    (price, kept_percent): (Price, u64),
    worth: Worth,
) -> Settled {
    let all = |outcome| Settled { outcome, input_tokens: 0, output_tokens: 0, microusd: worth.microusd_max };
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) if error.is_free() => return Settled { microusd: 0, ..all(error.code()) },
        Err(error) => return all(error.code()),
    };
    let Some(usage) = reply.usage else { return all("answered") };
    let said: String =
        std::iter::once(reply.text.as_str()).chain(reply.calls.iter().map(|call| call.arguments.as_str())).collect();
    // A tenth of our own count is far below any tokeniser's.
    let least = |text: &str| count_tokens(text) / 10;
    if usage.input_tokens < least(sent) || usage.output_tokens < least(&said) {
        return all("answered");
    }
    // What the provider had kept costs less; no more can have been kept than was sent.
    let kept = usage.kept_tokens.min(usage.input_tokens);
    let full = usage.input_tokens - kept + (kept * kept_percent).div_ceil(100);
    let counted = price.of(full, usage.output_tokens);
    // What the provider charges is what it charges; but its word alone cannot make a paid model free.
    let microusd = usage.microusd.filter(|&said| said > 0).unwrap_or(counted);
    Settled { outcome: "answered", input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, microusd }
}
