//! Tools as a model meets them: a set of them, seen through four wrappers, and one path on which each call goes.
//!
//! The wrappers are small and each decides one thing: which tools there are, which of them exist for this kind of run,
//! which of those this run was given, and which of them wait for the owner. What a wrapper leaves out is neither shown nor
//! found. (RUNTIME §5.1, step 6)
//!
//! Deliberately absent: hands. What a tool does, and what stands around a call, is brought by the runtime.

use silas_core::Tainted;
use silas_core::tool::{Effect, Spec};
use std::future::Future;
use std::pin::Pin;

mod call;
pub use call::{Authorised, Call, Intent, Returned, Run, Verdict, Wait, call};

/// What came of a call, before anybody has looked at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// What a model is shown of what was read or printed.
    pub for_model: Tainted<String>,
    /// What Silas itself says about that; the model hears it beside, never inside.
    pub remark: Option<String>,
    /// Whether something of the owner's is in it.
    pub is_private: bool,
    /// Where it came from, in words for a card.
    pub source: String,
    pub is_success: bool,
}

pub type Doing<'a, E> = Pin<Box<dyn Future<Output = Result<Done, E>> + Send + 'a>>;

/// One thing that can be called. An error ends the whole run; what merely went wrong is an answer.
pub trait Tool<E>: Send + Sync {
    fn spec(&self) -> &Spec;

    /// Only [`call`] can make an [`Authorised`] call, so nothing is done beside its path.
    fn execute<'a>(&'a self, call: &'a Authorised<'a>) -> Doing<'a, E>;
}

pub trait Toolset<E>: Send + Sync {
    /// What a model is shown, in an order that does not change.
    fn offered(&self) -> Vec<&Spec>;

    /// The tool of that name, if it exists here.
    fn find(&self, name: &str) -> Option<&dyn Tool<E>>;

    /// Why a call of it must wait for the owner, if it must.
    fn waits(&self, spec: &Spec) -> Option<String>;
}

/// All tools that could be there: the house's own, and those of the work's skills once there are skills.
pub struct Skills<'t, E> {
    tools: Vec<Box<dyn Tool<E> + 't>>,
}

impl<'t, E> Skills<'t, E> {
    pub fn new(tools: Vec<Box<dyn Tool<E> + 't>>) -> Self {
        Skills { tools }
    }
}

impl<E> Toolset<E> for Skills<'_, E> {
    fn offered(&self) -> Vec<&Spec> {
        self.tools.iter().map(|tool| tool.spec()).collect()
    }

    fn find(&self, name: &str) -> Option<&dyn Tool<E>> {
        self.tools.iter().find(|tool| tool.spec().name == name).map(|tool| tool.as_ref() as &dyn Tool<E>)
    }

    fn waits(&self, _spec: &Spec) -> Option<String> {
        None
    }
}

/// What a run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To find something out. Tools with effects do not exist.
    Research,
    /// To answer the owner: what reads, and what speaks to nobody else.
    Answer,
    /// To carry out what was approved.
    Work,
}

/// The tools that exist for a run of this kind.
pub struct Prepared<S> {
    pub inner: S,
    pub purpose: Purpose,
}

impl<S> Prepared<S> {
    fn exists(&self, spec: &Spec) -> bool {
        match self.purpose {
            Purpose::Research => spec.effect == Effect::Reads,
            Purpose::Answer => spec.effect == Effect::Reads || spec.only_tells_owner(),
            Purpose::Work => true,
        }
    }
}

impl<E, S: Toolset<E>> Toolset<E> for Prepared<S> {
    fn offered(&self) -> Vec<&Spec> {
        self.inner.offered().into_iter().filter(|spec| self.exists(spec)).collect()
    }

    fn find(&self, name: &str) -> Option<&dyn Tool<E>> {
        self.inner.find(name).filter(|tool| self.exists(tool.spec()))
    }

    fn waits(&self, spec: &Spec) -> Option<String> {
        self.inner.waits(spec)
    }
}

/// The tools that this very run was given by name.
pub struct Filtered<S> {
    pub inner: S,
    pub names: Vec<String>,
}

impl<E, S: Toolset<E>> Toolset<E> for Filtered<S> {
    fn offered(&self) -> Vec<&Spec> {
        self.inner.offered().into_iter().filter(|spec| self.names.contains(&spec.name)).collect()
    }

    fn find(&self, name: &str) -> Option<&dyn Tool<E>> {
        self.inner.find(name).filter(|tool| self.names.contains(&tool.spec().name))
    }

    fn waits(&self, spec: &Spec) -> Option<String> {
        self.inner.waits(spec)
    }
}

/// Calls that need the owner wait as data; they are not made.
pub struct ApprovalRequired<S> {
    pub inner: S,
}

impl<E, S: Toolset<E>> Toolset<E> for ApprovalRequired<S> {
    fn offered(&self) -> Vec<&Spec> {
        self.inner.offered()
    }

    fn find(&self, name: &str) -> Option<&dyn Tool<E>> {
        self.inner.find(name)
    }

    fn waits(&self, spec: &Spec) -> Option<String> {
        let here = spec.requires_approval.then(|| format!("`{}` is never called without being asked for", spec.name));
        here.or_else(|| self.inner.waits(spec))
    }
}

/// The four in their order.
pub fn chain<'t, E: 't>(
    tools: Vec<Box<dyn Tool<E> + 't>>,
    purpose: Purpose,
    names: Vec<String>,
) -> ApprovalRequired<Filtered<Prepared<Skills<'t, E>>>> {
    let inner = Prepared { inner: Skills::new(tools), purpose };
    ApprovalRequired { inner: Filtered { inner, names } }
}

#[cfg(test)]
pub(crate) mod tests;
