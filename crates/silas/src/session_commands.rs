//! `silas sessions`: who follows the Stream, and what waits for whom.

use crate::home::Home;
use crate::terminal::Line;
use crate::wall_clock::minute;
use anyhow::Result;
use serde_json::json;
use silas_core::number::grouped;
use silas_core::session::SessionType;
use silas_runtime::view::SessionView;
use std::process::ExitCode;

pub(crate) fn run(home: &Home) -> Result<ExitCode> {
    for session in sessions(&mut Line::open(home)?)? {
        println!("{}", describe(&session));
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn sessions(line: &mut Line<'_>) -> Result<Vec<SessionView>> {
    line.send(&json!({ "type": "sessions" }))?;
    let answer = line.wait_for(|message| message["type"] == "sessions")?;
    Ok(serde_json::from_value(answer["sessions"].clone())?)
}

pub(crate) fn describe(session: &SessionView) -> String {
    let here = match (session.active, session.session_type) {
        (true, SessionType::Stream) => "connected".to_owned(),
        (true, SessionType::Side) => "a command that runs now".to_owned(),
        (false, _) => format!("last here {}", minute(session.last_active)),
    };
    let turns = match session.turn_count {
        1 => "1 message".to_owned(),
        n => format!("{} messages", grouped(n)),
    };
    let waiting = match (session.session_type, session.n_waiting) {
        (SessionType::Side, _) | (_, 0) => String::new(),
        (_, n) => format!(", {} not shown there yet", grouped(n)),
    };
    format!("{}: {here}, {turns} since {}{waiting}", session.title, minute(session.created_at))
}
