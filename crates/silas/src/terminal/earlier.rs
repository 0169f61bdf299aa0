//! What happened before what Activity shows at first, asked for page by page.

use super::PAGES_MAX;
use super::line::Line;
use anyhow::Result;
use serde_json::{Value, json};

/// Activity with every row back to the beginning, or as far as one command asks.
pub(super) fn everything(line: &mut Line<'_>) -> Result<Value> {
    let mut activity = line.snapshot["activity"].clone();
    let mut rows = activity["rows"].as_array().cloned().unwrap_or_default();
    let mut earlier = activity["earlier"].as_u64();
    for _ in 0..PAGES_MAX {
        let Some(seq) = earlier else { break };
        let page = page(line, seq)?;
        rows.extend(page["rows"].as_array().cloned().unwrap_or_default());
        earlier = page["earlier"].as_u64();
    }
    activity["rows"] = json!(rows);
    activity["earlier"] = json!(earlier);
    activity["summary"] = json!(format!("{} rows, newest first.", silas_core::number::grouped(rows.len())));
    Ok(activity)
}

/// One page.
pub(super) fn before(line: &mut Line<'_>, seq: u64) -> Result<Value> {
    let mut page = page(line, seq)?;
    page["summary"] = json!(format!("Before entry {seq}, newest first."));
    Ok(page)
}

fn page(line: &mut Line<'_>, seq: u64) -> Result<Value> {
    line.send(&json!({ "type": "activity", "before": seq }))?;
    let page = line.wait_for(|message| message["type"] == "activity_page" && message["before"] == seq)?;
    Ok(json!({ "rows": page["rows"], "earlier": page["earlier"] }))
}
