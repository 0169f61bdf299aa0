//! May plans work in this directory? The words of that card.

use super::parts::directory;
use super::{Words, approve, decline, fact, whole_name_of};
use silas_core::card::{CardKind, Detail, Face, Risk};
use silas_core::hidden;
use silas_core::roots::Place;

impl Words {
    /// May plans work in this directory?
    pub fn root(&self, place: &Place) -> Face {
        let name = whole_name_of(&place.path);
        let mut face = Face {
            kind: CardKind::Root,
            risk: Some(Risk::Medium),
            state: "Directory".to_owned(),
            intent: format!("Let plans work in {name}"),
            facts: Vec::new(),
            evidence: None,
            versions: None,
            rationale: "You name the directories once. Every plan still asks you before it changes anything."
                .to_owned(),
            asked: None,
            quote: None,
            details_title: "Exactly which directory".to_owned(),
            details: vec![Detail {
                title: "Directory".to_owned(),
                lines: vec![hidden::name(&place.path), format!("Device {}, inode {}", place.device, place.inode)],
            }],
            diffs: Vec::new(),
            ctas: vec![
                approve(&format!("Allow plans in {name}"), &format!("Plans may be offered for {name}.")),
                decline("Not now"),
            ],
        };
        // The details name the directory in any case.
        face.facts.push(fact("May change", &directory(&self.path(&place.path), ", not .git")));
        face.facts.push(fact("Needs only", "Your approval, plan by plan"));
        face
    }
}

#[cfg(test)]
mod tests;
