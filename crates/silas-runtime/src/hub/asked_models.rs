//! Models that were asked and have not answered yet: shown to everybody who looks, for as long as somebody waits for them. A
//! model that says nothing, or nothing but that it is still there, is waited for in sight.

use crate::house::lock;
use crate::view::{AskedModelView, Published, Update};
use silas_core::CallId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::broadcast;

type WaitedFor = BTreeMap<CallId, AskedModelView>;

/// A cheap handle on the list. Written by whoever pays for a call, read by doors; as many as the limits of calls let be.
#[derive(Clone)]
pub(crate) struct AskedModels {
    waited_for: Arc<Mutex<WaitedFor>>,
    updates: broadcast::Sender<Arc<Published>>,
}

/// One call that is waited for. Dropping it says that it is not any more: answered, failed or stopped.
pub(crate) struct AskedModel {
    call: CallId,
    all: AskedModels,
}

impl AskedModels {
    pub(crate) fn new(updates: broadcast::Sender<Arc<Published>>) -> Self {
        AskedModels { waited_for: Arc::default(), updates }
    }

    pub(crate) fn ask(&self, call: &CallId, view: AskedModelView) -> AskedModel {
        self.change(|waited_for| waited_for.insert(call.clone(), view));
        AskedModel { call: call.clone(), all: self.clone() }
    }

    /// Longest first.
    pub(crate) fn list(&self) -> Vec<AskedModelView> {
        listed(&lock(&self.waited_for))
    }

    /// Tells of the change before there can be another: of two lists, the one that is told last is the one that holds.
    fn change(&self, change: impl FnOnce(&mut WaitedFor) -> Option<AskedModelView>) {
        let mut waited_for = lock(&self.waited_for);
        change(&mut waited_for);
        let waiting_for = listed(&waited_for);
        let _nobody_listens = self.updates.send(Arc::new(Published::new(Update::WaitingFor { waiting_for })));
    }
}

fn listed(waited_for: &WaitedFor) -> Vec<AskedModelView> {
    let mut views: Vec<AskedModelView> = waited_for.values().cloned().collect();
    views.sort_by_key(|view| view.since);
    views
}

impl Drop for AskedModel {
    fn drop(&mut self) {
        self.all.change(|waited_for| waited_for.remove(&self.call));
    }
}

#[cfg(test)]
mod tests;
