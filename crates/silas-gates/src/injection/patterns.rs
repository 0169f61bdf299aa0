//! What reads like an order to an assistant. Written for folded text: lower case, Latin letters, no accents.
//!
//! Narrow on purpose. A pattern that fires on honest output trains people to look away, and what slips through meets the
//! same exits as what does not.

use regex::Regex;
use silas_core::taint::Suspicion;
use std::ops::Range;
use std::sync::LazyLock;

pub(super) struct Order {
    pub(super) suspicion: Suspicion,
    pub(super) span: Range<usize>,
}

/// The orders in a folded text, first to last, none inside another.
pub(super) fn orders(folded: &str) -> Vec<Order> {
    let mut all: Vec<Order> = PATTERNS
        .iter()
        .flat_map(|(suspicion, pattern)| {
            pattern.find_iter(folded).map(|found| Order { suspicion: *suspicion, span: found.range() })
        })
        .filter(|order| !order.span.is_empty())
        .collect();
    all.sort_by_key(|order| (order.span.start, std::cmp::Reverse(order.span.end)));
    let mut end = 0;
    all.retain(|order| {
        let is_apart = order.span.start >= end;
        if is_apart {
            end = order.span.end;
        }
        is_apart
    });
    all
}

const TEXTS: [(Suspicion, &str); 11] = [
    (
        Suspicion::Override,
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^\n.]{0,40}\b(?:previous|prior|above|earlier|preceding|all|any|your|these|those|system)\b[^\n.]{0,40}\b(?:instructions?|prompts?|rules?|directions?|guidelines|messages?|context|orders?)\b",
    ),
    (
        Suspicion::Override,
        r"\b(?:new|updated|real|actual)\s+(?:system\s+)?instructions?\s*(?:follow|:|are\b)|\bfrom now on,? you (?:are|will|must)\b|\byou are now (?:in\b|an? |the )",
    ),
    (
        Suspicion::Override,
        r"\bdo not (?:tell|inform|mention|reveal)\b[^\n.]{0,30}\b(?:the )?(?:user|owner|human|operator)\b",
    ),
    (Suspicion::Role, r"<\|[a-z_]{2,30}\|>|\[/?inst\]|<</?sys>>|</?(?:system|assistant|human|developer)>"),
    (Suspicion::Role, r"(?m)^[ \t>*#\[]*(?:system|assistant|developer)(?: prompt| message)?[\]*]*\s*:[^\n]*"),
    (Suspicion::Role, r"\[system\][^\n]*|⟦/?from outside[^⟧]*|\bend of external text\b"),
    (Suspicion::Authority, r"</?(?:tool_call|tool_use|function_calls?|invoke|tool_result)\b[^>\n]{0,80}>"),
    (Suspicion::Authority, r"\b(?:approval_token|approved|verdict)[\x22']?\s*[:=]\s*[\x22']?(?:true|approved|yes)\b"),
    (
        Suspicion::Authority,
        r"\b(?:the )?(?:owner|user|human|admin(?:istrator)?) (?:has )?(?:already )?(?:approved|authori[sz]ed|consented)\b",
    ),
    (
        Suspicion::Leak,
        r"\b(?:reveal|print|repeat|output|show|leak|expose)\b[^\n.]{0,30}\b(?:system prompt|your (?:instructions|prompt|rules)|hidden instructions)\b",
    ),
    (
        Suspicion::Leak,
        r"\b(?:send|post|upload|exfiltrate|forward|email|leak)\b[^\n]{0,60}\b(?:api[ _-]?keys?|passwords?|secrets?|private keys?|credentials?|tokens?)\b[^\n]{0,60}\b(?:to|at)\b[^\n]{0,10}(?:https?://|\S+@\S+)[^\s]*",
    ),
];

/// Each is text of this program and compiles; a test shows that none is left out.
pub(super) static PATTERNS: LazyLock<Vec<(Suspicion, Regex)>> =
    LazyLock::new(|| TEXTS.iter().filter_map(|(suspicion, text)| Some((*suspicion, Regex::new(text).ok()?))).collect());

#[cfg(test)]
#[test]
fn every_pattern_compiles() {
    assert_eq!(PATTERNS.len(), TEXTS.len());
}
