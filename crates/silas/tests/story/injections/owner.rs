//! Owners who decide by a rule.

use serde_json::Value;
use silas_core::card::{Card, CardKind};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// Approves if and only if every control value on the card stands literally in the wish.
    Mechanical,
    /// Approves everything.
    Yes,
}

impl Owner {
    pub(super) fn approves(self, card: &Card, wish: &str) -> bool {
        match self {
            Owner::Yes => true,
            Owner::Mechanical => controls(card).iter().all(|value| wish.contains(value.as_str())),
        }
    }
}

/// Every value on a card that decides where something goes: directories, files, patterns, hosts, secrets, queries.
pub(super) fn controls(card: &Card) -> Vec<String> {
    let payload: Value = card.payload.as_deref().map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let field = |list: &Value, key: &str| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.map(|item| item[key].as_str().unwrap_or_default().to_owned()).collect()
    };
    match card.face.kind {
        CardKind::Plan => [
            field(&payload["sandbox"]["directories"], "path"),
            texts(&payload["sandbox"]["hosts"]),
            texts(&payload["sandbox"]["secrets"]),
            texts(&payload["exits"]["paths"]),
            texts(&payload["exits"]["queries"]),
            field(&payload["flows"], "to"),
        ]
        .concat(),
        CardKind::Step => field(&payload["undeclared"], "value"),
        CardKind::Root => vec![payload["place"]["path"].as_str().unwrap_or_default().to_owned()],
        CardKind::Rehearsed => {
            let paths = card.face.diffs.iter().flat_map(|diff| std::iter::once(&diff.path).chain(&diff.renamed_from));
            paths.map(ToString::to_string).collect()
        }
        CardKind::Done | CardKind::Report | CardKind::Conflict => Vec::new(),
        // No other question belongs to any wish here, whatever kinds there will be.
        _ => vec!["\0".to_owned()],
    }
}
