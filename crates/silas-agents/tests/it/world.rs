//! A scripted server, the real client, and a meter that keeps the books in memory.

use scripted_model::{Act, Dialect, Script, Server};
use silas_agents::{Answered, Asking, Check, Error, Meter, Minds, Outcome, Reply, Settled, Stop, Timeouts, Worth};
use silas_core::Digest;
use silas_core::model::{ModelName, Price};
use silas_core::secret::Secret;
use std::sync::Mutex;
use std::time::Duration;

pub(crate) const KEY: &str = "sk-canary-4f9d2c7e81";
pub(crate) const READY: &str = r#"{"word":"ready"}"#;

#[derive(Default)]
pub(crate) struct Books {
    pub(crate) reserved: Mutex<Vec<Worth>>,
    pub(crate) settled: Mutex<Vec<Settled>>,
}

impl Meter for Books {
    type Receipt = ();
    type Refusal = std::convert::Infallible;

    async fn recall(&self, _: &Digest) -> Option<Reply> {
        None
    }

    async fn reserve(&self, worth: Worth) -> Result<(), Self::Refusal> {
        self.reserved.lock().unwrap().push(worth);
        Ok(())
    }

    async fn settle(&self, (): (), settled: Settled, _: Option<Answered<'_>>) {
        self.settled.lock().unwrap().push(settled);
    }
}

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) minds: Minds,
    pub(crate) books: Books,
    pub(crate) name: ModelName,
}

impl World {
    pub(crate) fn new(dialect: Dialect, acts: impl IntoIterator<Item = Act>) -> World {
        World::of(Script { key: Some(KEY.to_owned()), ..Script::new(dialect, acts) }, short())
    }

    pub(crate) fn of(script: Script, timeouts: Timeouts) -> World {
        let provider = match script.dialect {
            Dialect::OpenAi => "compatible",
            Dialect::Anthropic => "anthropic",
        };
        let server = Server::start(script).unwrap();
        let name = ModelName::parse(&format!("{provider}:test@{}", server.url())).unwrap();
        World { server, minds: Minds::new(timeouts), books: Books::default(), name }
    }

    pub(crate) async fn check(&self) -> Result<Outcome<Check>, Error> {
        let model = self.minds.model(&self.name, Some(Secret::new(KEY.as_bytes().to_vec())))?;
        let asking = Asking { model, price: Price { input: 1_000_000, output: 1_000_000 } };
        Minds::check(&asking, &self.books).await.map_err(|stop| match stop {
            Stop::Failed(error) => error,
            Stop::Refused(never) => match never {},
        })
    }

    pub(crate) fn n_asked(&self) -> usize {
        self.server.asked().len()
    }
}

/// Pauses that cost a test nothing, and patience that a loaded machine does not run out of.
pub(crate) fn short() -> Timeouts {
    Timeouts { pause: Duration::from_millis(1), ..Timeouts::default() }
}

/// For silence: somebody has to give up first.
pub(crate) fn impatient() -> Timeouts {
    let soon = Duration::from_millis(300);
    Timeouts { first: soon, idle: soon, ..short() }
}
