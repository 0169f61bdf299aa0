//! The one way in which a model is asked for something typed: call, read, repair once, or give up in a way that the caller
//! has decided before. (RUNTIME §5.1.0)

use crate::meter::{self, Answered, Meter, Worth};
use crate::model::{Finish, Mode, Model, Reply, Request, Shape};
use crate::{Error, schema};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use silas_core::model::Price;

/// A type that a model fills in.
pub(crate) trait Shaped: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const ABOUT: &'static str;

    /// Rules that a schema cannot say.
    fn check(&self) -> Result<(), String>;
}

/// What became of a question.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome<T> {
    Usable(T),
    /// Twice not what was asked for. The caller's fallback applies.
    Unusable {
        why: String,
    },
}

/// Why there is no answer at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop<R> {
    /// The meter said no; nothing was sent.
    Refused(R),
    Failed(Error),
}

/// A question without its form.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) output_tokens_max: u32,
    pub(crate) price: Price,
}

/// What whoever listens hears.
pub(crate) enum Piece<'a> {
    Text(&'a str),
    /// What was heard so far does not count; it begins again.
    Again,
}

/// Once as asked, and once with what was wrong.
const ATTEMPTS: usize = 2;
/// Of a problem, as much as helps to repair it.
const PROBLEM_CHARS_MAX: usize = 600;

pub(crate) async fn ask<T: Shaped, M: Meter>(
    model: &dyn Model,
    question: &Question,
    meter: &M,
    told: &mut (dyn FnMut(Piece<'_>) + Send),
) -> Result<Outcome<T>, Stop<M::Refusal>> {
    let mut user = question.user.clone();
    let mut why = String::new();
    let mut was_shown = false;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            told(Piece::Again);
        }
        let reply = in_best_mode::<T, M>(model, question, &user, meter, told).await?;
        match read::<T>(&reply) {
            Ok(value) => {
                if was_shown {
                    model.note_shown();
                }
                return Ok(Outcome::Usable(value));
            }
            Err(problem) => {
                why = problem.chars().take(PROBLEM_CHARS_MAX).collect();
                user = format!("{}\n\n[SCHEMA VALIDATION ERROR]\n{why}", question.user);
                // Some servers take the form and pass over it: then the model has never seen it.
                was_shown = reply.finish == Finish::Complete && has_another_form::<T>(&reply.text);
                if was_shown {
                    user.push_str(&shown_form(&schema::of::<T>()));
                }
            }
        }
    }
    Ok(Outcome::Unusable { why })
}

/// Asks in the most binding mode that the model takes, and remembers which that is. Each try is a call of its own.
async fn in_best_mode<T: Shaped, M: Meter>(
    model: &dyn Model,
    question: &Question,
    user: &str,
    meter: &M,
    told: &mut (dyn FnMut(Piece<'_>) + Send),
) -> Result<Reply, Stop<M::Refusal>> {
    let schema = schema::of::<T>();
    let mut mode = model.mode();
    loop {
        let system = match mode {
            Mode::JsonSchema | Mode::ForcedTool => question.system.clone(),
            Mode::Prose => format!("{}{}", question.system, shown_form(&schema)),
        };
        let shape = Shape { name: T::NAME, about: T::ABOUT, schema: schema.clone(), mode };
        let output_tokens_max = question.output_tokens_max + model.room_to_think();
        let (turns, tools) = (Vec::new(), Vec::new());
        let request = Request { system, user: user.to_owned(), turns, tools, shape, output_tokens_max };
        let reply = metered(model, &request, question.price, meter, told).await?;
        match (reply, mode.next()) {
            (Err(error), Some(next)) if error.is_about_form() => mode = next,
            (Err(error), _) => return Err(Stop::Failed(error)),
            (Ok(reply), _) => {
                // Only now is it known that the form was the trouble.
                model.lower_mode(mode);
                return Ok(reply);
            }
        }
    }
}

pub(crate) async fn metered<M: Meter>(
    model: &dyn Model,
    request: &Request,
    price: Price,
    meter: &M,
    told: &mut (dyn FnMut(Piece<'_>) + Send),
) -> Result<Result<Reply, Error>, Stop<M::Refusal>> {
    let question = request.digest();
    if let Some(reply) = meter.recall(&question).await {
        return Ok(Ok(reply));
    }
    let (input, output) = (request.n_tokens(), u64::from(request.output_tokens_max));
    let worth = Worth { tokens_max: input + output, microusd_max: price.of(input, output) };
    let sent = [request.system.as_str(), request.user.as_str(), &request.said()].concat();
    for n in 1.. {
        let receipt = meter.reserve(worth).await.map_err(Stop::Refused)?;
        let reply = model.call(request, &mut |text| told(Piece::Text(text))).await;
        let answered = reply.as_ref().ok().map(|reply| Answered { question, reply });
        meter.settle(receipt, meter::settled(&sent, &reply, (price, model.kept_percent()), worth), answered).await;
        match &reply {
            // Whose fault it is not is asked again, when whoever pays says so.
            Err(error) if error.is_weather() && meter.wait(error, n).await.map_err(Stop::Refused)? => {
                told(Piece::Again)
            }
            _ => return Ok(reply),
        }
    }
    Ok(Err(Error::Setup("it was asked without an end".to_owned())))
}

/// The value in an answer, or what is wrong with it in words that a model can use.
fn read<T: Shaped>(reply: &Reply) -> Result<T, String> {
    match reply.finish {
        Finish::Complete => {}
        Finish::Length => return Err("the answer was longer than allowed and was cut off; be much shorter".to_owned()),
        Finish::Refused => return Err("there was no answer; say in the answer's form why not".to_owned()),
    }
    value_in(&reply.text)
}

fn shown_form(schema: &Value) -> String {
    format!("\n\nAnswer with one JSON object and nothing else. It must fit this JSON schema:\n{schema}")
}

/// Whether a text is not even in the form that was asked for, whatever it says.
fn has_another_form<T: Shaped>(text: &str) -> bool {
    object_in(text).is_none_or(|object| serde_json::from_str::<T>(object).is_err())
}

/// The value in a text, checked.
pub(crate) fn value_in<T: Shaped>(text: &str) -> Result<T, String> {
    let object = object_in(text).ok_or("the answer holds no JSON object")?;
    let value: T = serde_json::from_str(object).map_err(|error| error.to_string())?;
    value.check()?;
    Ok(value)
}

/// The outermost object of a text: models like to put fences and remarks around it.
fn object_in(text: &str) -> Option<&str> {
    let from = text.find('{')?;
    let to = text.rfind('}')?;
    text.get(from..=to)
}

#[cfg(test)]
pub(crate) mod tests;
