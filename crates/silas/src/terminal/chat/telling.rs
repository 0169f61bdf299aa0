//! What a chat makes of what the server says: entries, drafts, work as it goes.

use super::super::line::{came_of, finished_steps};
use super::super::print::took;
use super::super::quoted;
use super::Chat;
use crate::out::wrap;
use anyhow::Result;
use serde_json::Value;
use silas_core::message::CameOf;

/// Before the further lines of what somebody says.
const INDENT: usize = 2;

impl Chat<'_> {
    pub(super) fn server(&mut self, message: &Value) -> Result<()> {
        match message["type"].as_str().unwrap_or_default() {
            "message" => self.entry(&message["entry"]),
            "draft" => self.draft(&message["draft"]),
            "looking" => self.looking(&message["looking"]),
            "cards" => {
                self.line.cards = serde_json::from_value(message["cards"].clone())?;
                // A parked card that was asked again is a new question under the same name.
                self.answered.retain(|id, was| self.line.cards.iter().any(|card| card.id == *id && card.state == *was));
                self.is_result_due = false;
                self.next_card();
            }
            "work" => self.work(&message["work"]),
            "output" => {
                for line in self.printed.news(&message["output"]) {
                    self.print(&self.paint.quiet(&line));
                }
            }
            "activity" => self.line.snapshot["activity"] = message["activity"].clone(),
            "decided" => {
                if let Some(card) = self.deciding.take()
                    && message["recorded"] != true
                {
                    self.answered.remove(&card);
                    self.awaited = None;
                }
                self.tell("", message["message"].as_str().unwrap_or_default());
                self.next_card();
            }
            "proof" => self.proof(&message["proof"]),
            "error" => {
                self.owed.pop();
                self.deciding = None;
                self.awaited = None;
                self.tell("", &self.line.trouble(message));
            }
            _ => {}
        }
        Ok(())
    }

    /// What is looked at for an answer, each step once.
    fn looking(&mut self, steps: &Value) {
        let steps = steps.as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |step: &Value| step["text"].as_str().unwrap_or_default().to_owned();
        for step in steps.iter().filter(|step| !self.told_looks.contains(step)) {
            self.print(&self.paint.quiet(&format!("{:INDENT$}{}", "", text(step))));
        }
        self.told_looks = steps.to_vec();
    }

    /// The next sentences of an answer; if it began anew, all of it.
    fn draft(&mut self, draft: &Value) {
        let (id, text) = (draft["reply"].to_string(), draft["text"].as_str().unwrap_or_default());
        let before = self.drafts.insert(id, text.to_owned());
        match before.as_deref().and_then(|before| text.strip_prefix(before)) {
            Some("") => {}
            Some(more) => self.go_on(more.trim_end()),
            None if text.is_empty() => self.print(&self.paint.quiet(super::super::ASKED_AGAIN)),
            None => self.tell(&self.speaker(true), text.trim_end()),
        }
    }

    /// What somebody says, after who it is: its other lines are marked as being of the same.
    fn tell(&self, who: &str, text: &str) {
        let lead = if who.is_empty() { String::new() } else { format!("{who} ") };
        let columns = wrap::width(&lead).max(INDENT);
        if !quoted::has_room_after(columns) {
            self.print(who);
            return self.go_on(text);
        }
        for (n, line) in quoted::lines(text, columns).iter().enumerate() {
            self.print(&if n == 0 { format!("{lead}{line}") } else { format!("{:INDENT$}{line}", "") });
        }
    }

    /// More of what was being said.
    fn go_on(&self, text: &str) {
        for line in quoted::marked(text) {
            self.print(&format!("{:INDENT$}{line}", ""));
        }
    }

    /// Who speaks. What Silas says itself is computed; what a model said is marked as that.
    fn speaker(&self, is_quoted: bool) -> String {
        let silas = self.paint.strong("Silas");
        if is_quoted { format!("{silas} {}", self.paint.quiet("(in the model's words)")) } else { silas }
    }

    /// New, or longer than it was.
    pub(super) fn entry(&mut self, entry: &Value) {
        let text = entry["text"].as_str().unwrap_or_default();
        let is_quoted = entry["in_models_words"] == true;
        self.settle(entry);
        if let Some(draft) = self.drafts.remove(&entry["id"].to_string()) {
            self.told_entries.insert(entry["id"].to_string(), text.len());
            match text.strip_prefix(draft.as_str()) {
                Some("") => {}
                Some(rest) => self.go_on(rest),
                None => self.tell(&self.speaker(is_quoted), text),
            }
            return;
        }
        let told = self.told_entries.entry(entry["id"].to_string()).or_default();
        let (before, is_new) = (*told, *told == 0);
        *told = text.len();
        let rest = text.get(before..).unwrap_or(text);
        if entry["sender"] == "owner" || entry["sender"] == "somebody" {
            match self.said.iter().position(|said| said == text) {
                Some(n) => {
                    self.said.remove(n);
                    // What is not taken as the owner's has a name that only the server knows.
                    if !self.owed.contains(&entry["id"]) && self.owed.pop().is_some() {
                        self.owed.push(entry["id"].clone());
                    }
                }
                None if is_new && entry["sender"] == "owner" => self.tell(&self.paint.strong("You  "), rest),
                None if is_new => self.tell(&self.paint.strong("Somebody, not signed  "), rest),
                None => {}
            }
            return;
        }
        if is_new {
            self.tell(&self.speaker(is_quoted), rest);
        } else if !rest.is_empty() {
            self.go_on(rest);
        }
    }

    /// Something that was said here has its answer.
    fn settle(&mut self, entry: &Value) {
        let Some(n) = self.owed.iter().position(|id| *id == entry["answers"]["message"]) else { return };
        self.owed.remove(n);
        self.has_trouble |= came_of(entry) == CameOf::Refused;
    }

    fn work(&mut self, work: &Value) {
        let item = work["work_item"].as_str().unwrap_or_default().to_owned();
        let finished = finished_steps(work);
        let told = self.told_steps.get(&item).copied().unwrap_or(0);
        for step in finished.iter().skip(told) {
            self.tell(" ", &format!("{}{}", step.label, took(step.took_ms)));
        }
        self.told_steps.insert(item.clone(), told.max(finished.len()));
        // What is tried out at once, because of what was said here.
        if work["running"] == true && !self.owed.is_empty() && self.awaited.is_none() {
            self.awaited = Some(item.clone());
        }
        if work["running"] == false && self.awaited.as_deref() == Some(item.as_str()) {
            self.awaited = None;
            self.is_result_due = true;
            self.tell("", work["footer"].as_str().unwrap_or_default());
        }
    }

    fn proof(&self, proof: &Value) {
        self.print(&self.paint.strong(proof["claim"].as_str().unwrap_or_default()));
        for step in proof["steps"].as_array().into_iter().flatten() {
            let part = |name: &str| step[name].as_str().unwrap_or_default();
            self.tell(" ", &format!("{}. {}", part("title"), part("note")));
        }
    }
}
