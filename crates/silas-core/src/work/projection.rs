//! The bytes that an approval covers, and the way back from them.

use super::{Definition, WorkItem};
use crate::{Digest, canonical};
use serde_json::{Value, json};

impl WorkItem {
    /// The bytes that an approval covers: every field that decides what happens, in canonical JSON. Fields of features
    /// that this version does not have stand at their empty values, so that adding those features changes no old hash.
    pub fn canonical(&self) -> Result<String, canonical::Error> {
        canonical::text(&self.projection())
    }

    pub fn plan_hash(&self) -> Result<Digest, canonical::Error> {
        Ok(Digest::of(self.canonical()?.as_bytes()))
    }

    fn projection(&self) -> Value {
        let d = &self.0;
        let mut sandbox = json!({ "directories": d.directories, "hosts": d.hosts, "toolchains": d.toolchains });
        // Younger than the first plans, whose hashes stay what they were.
        if !d.hosts_for.is_empty() {
            sandbox["hosts_for"] = json!(d.hosts_for);
        }
        if !d.secrets.is_empty() {
            sandbox["secrets"] = json!(d.secrets);
        }
        if let Some(port) = d.callback_port {
            sandbox["callback_port"] = json!(port);
        }
        if d.commits {
            sandbox["commits"] = json!(true);
        }
        if d.include_ignored {
            sandbox["include_ignored"] = json!(true);
        }
        if !d.beside.is_empty() {
            sandbox["beside"] = json!(d.beside);
        }
        if let Some(execution) = &d.restores {
            sandbox["restores"] = json!(execution);
        }
        if let Some(merging) = &d.merges {
            sandbox["merges"] = json!(merging);
        }
        let mut plan = json!({
            "id": d.id,
            "type": "task",
            "title": d.title,
            "parent": d.parent,
            "spawned_by": d.spawned_by,
            "follow_up_of": d.follow_up_of,
            "domain": d.domain,
            "agent": "ephemeral",
            "budget": d.budget,
            "body": d.body,
            "interaction_mode": d.interaction_mode,
            "input_artifacts_from": [],
            "steps": d.steps,
            "verify": d.verify,
            "gates": [],
            "skills": [],
            "access_levels": {},
            "escalation": {},
            "schedule": null,
            "on_failure": d.on_failure,
            "on_stuck": d.on_stuck,
            "failure_context": d.failure_context,
            "tasks": [],
            "depends_on": [],
            "sandbox": sandbox,
            "flows": d.flows,
        });
        // Younger than the first plans too.
        if let Some(mandate) = &d.executor {
            plan["executor"] = json!(mandate);
        }
        if !d.changes.is_empty() {
            plan["changes"] = json!(d.changes);
        }
        if !d.exits.is_empty() {
            plan["exits"] = json!(d.exits);
        }
        if let Some(planned) = &d.planned {
            plan["planned"] = json!(planned);
        }
        plan
    }

    /// Reads back what [`WorkItem::canonical`] wrote. The launcher does this with the bytes whose hash was signed.
    pub fn from_canonical(text: &str) -> Result<Self, String> {
        let value: Value = canonical::read(text).map_err(|e| e.to_string())?;
        let field = |key: &str| value.get(key).cloned().unwrap_or(Value::Null);
        let sandbox = |key: &str| value.get("sandbox").and_then(|sandbox| sandbox.get(key)).cloned();
        let definition = json!({
            "id": field("id"), "title": field("title"), "parent": field("parent"),
            "spawned_by": field("spawned_by"), "follow_up_of": field("follow_up_of"), "domain": field("domain"),
            "budget": field("budget"), "body": field("body"), "planned": field("planned"), "interaction_mode": field("interaction_mode"),
            "steps": field("steps"), "executor": field("executor"), "verify": field("verify"),
            "changes": value.get("changes").cloned().unwrap_or_else(|| json!([])),
            "directories": sandbox("directories").unwrap_or(Value::Null),
            "hosts": sandbox("hosts").unwrap_or(Value::Null),
            "hosts_for": sandbox("hosts_for").unwrap_or_else(|| json!([])),
            "secrets": sandbox("secrets").unwrap_or_else(|| json!([])),
            "callback_port": sandbox("callback_port").unwrap_or(Value::Null),
            "commits": sandbox("commits").unwrap_or(Value::Bool(false)),
            "include_ignored": sandbox("include_ignored").unwrap_or(Value::Bool(false)),
            "beside": sandbox("beside").unwrap_or_else(|| json!([])),
            "restores": sandbox("restores").unwrap_or(Value::Null),
            "merges": sandbox("merges").unwrap_or(Value::Null),
            "toolchains": sandbox("toolchains").unwrap_or(Value::Null),
            "flows": field("flows"), "exits": value.get("exits").cloned().unwrap_or_else(|| json!({})),
            "on_failure": field("on_failure"), "on_stuck": field("on_stuck"),
            "failure_context": field("failure_context"),
        });
        let definition: Definition = serde_json::from_value(definition).map_err(|e| e.to_string())?;
        let item = WorkItem::new(definition).map_err(|e| e.to_string())?;
        // Whatever this version does not know would be lost above; then the bytes differ and are refused.
        let again = item.canonical().map_err(|e| e.to_string())?;
        if again == text { Ok(item) } else { Err("the plan has parts that this version does not know".to_owned()) }
    }
}
