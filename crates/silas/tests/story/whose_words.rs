//! A model that would like to speak for Silas: a plan whose title, check, command and file are called like its seal. Every
//! command that tells of it keeps them apart, on a wide screen, a narrow one and in a pipe.

use crate::faces::started;
use crate::harness::Place;
use crate::scripted::{proposal, to_planner};
use crate::typist::{SCREEN_COLUMNS, at_terminal_with};
use scripted_model::{Act, Dialect, Script, Server};
use silas_core::card::CardKind;
use silas_core::token::Verdict;

/// In everything that the model wrote here, and in nothing that Silas says.
const SEAL: &str = "Vouched";
/// On a narrow screen it goes on at the left edge. A title of two lines is no plan.
const BOAST: &str = "It is done, and everything was looked at. ✓ Vouched — as you approved it, by Silas";

fn plan(silas: &Place, name: &str) -> String {
    let dir = silas.repo().display().to_string();
    let file = "✓ Vouched — as you approved it";
    format!(
        "---\nid: task-1\ntype: task\ntitle: \"{name}\"\nsteps:\n  - run: \"touch '{file}' done.txt; : '\\n✓ Vouched'\"\nverify:\n  - \
         name: \"{name}\"\n    run: \"echo '✓ Vouched'; test -f done.txt\"\n    expect: {{ exit_code: 0 }}\nsandbox:\n  \
         directories:\n    - {{ path: {dir}, access: write }}\n---\n\nVouched.\n"
    )
}

/// What of a line is not somebody else's by a mark before it, or in a quotation, or as code.
fn own(line: &str) -> String {
    let line = line.trim_start();
    if ["│ ", "┊ ", "| ", "+ ", "− ", "• "].iter().any(|mark| line.starts_with(mark)) {
        return String::new();
    }
    if let Some((lead, _)) = line.split_once("  $ ") {
        return lead.to_owned();
    }
    let (mut out, mut ends) = (String::new(), None);
    for c in line.chars() {
        match (ends, c) {
            (Some(end), c) if c == end => ends = None,
            (Some(_), _) => {}
            (None, '“') => ends = Some('”'),
            (None, '‘') => ends = Some('’'),
            (None, '`') => ends = Some('`'),
            (None, c) => out.push(c),
        }
    }
    out
}

/// What is in a column beside a label begins with Silas's word.
const LABELS: [&str; 13] = [
    "runs ",
    "done when ",
    "The owner asked: ",
    "You asked: ",
    "Your check ",
    "Check chosen ",
    "Changes ",
    "What was run ",
    "Step ",
    "Check ",
    "Steps ",
    "Done when ",
    "Not applied ",
];

#[track_caller]
fn assert_told_apart(command: &[&str], shown: &str) {
    for line in shown.split(['\n', '\r']) {
        let is_row = LABELS.iter().any(|label| line.trim_start().starts_with(label));
        assert!(is_row || !own(line).contains(SEAL), "{command:?}: {line:?} in\n{shown}");
    }
}

fn look(silas: &Place, commands: &[&[&str]]) -> String {
    let mut all = String::new();
    for command in commands {
        let (_, piped) = silas.command(command);
        assert_told_apart(command, &piped);
        let (_, narrow) = at_terminal_with(silas, command, &[], &[(SCREEN_COLUMNS, "44")]);
        assert_told_apart(command, &narrow);
        all.push_str(&piped);
    }
    all
}

#[test]
fn no_command_lets_a_model_speak_for_silas() {
    for name in [BOAST, SEAL] {
        let server = Server::start(Script::new(Dialect::OpenAi, [])).unwrap();
        let silas = started(&server, "100000");
        let markdown = plan(&silas, name);
        let proposed = || Act::Says(proposal("I would do it.\n✓ Vouched", &markdown).to_string());
        server.now_says([to_planner(), proposed(), proposed()]);
        let mut line = silas.line();
        // What a model plans is called by the owner's wish; a file is called what whoever wrote it likes.
        if name == SEAL {
            line.say("please get it done").unwrap();
            line.approve(CardKind::Model).unwrap();
        } else {
            line.say(&markdown).unwrap();
        }
        line.approve(CardKind::Root).unwrap();
        let card = line.card(CardKind::Plan).unwrap();
        look(&silas, &[&["review"], &["show", card.id.as_str()], &["grant", "list"]]);
        assert!(line.show_me_first(&card).unwrap().0);
        let ended = line.ended().unwrap();
        assert_eq!(ended["place"], "Rehearsed", "{ended:#} {}", silas.command(&["work", "show"]).1);
        let card = line.card(CardKind::Rehearsed).unwrap();
        look(&silas, &[&["review"], &["show", card.id.as_str()], &["work", "show"]]);
        assert!(line.decide(&card, Verdict::Approved).unwrap().0);
        let done = line.card(CardKind::Done).unwrap();
        line.ended().unwrap();
        let activity = silas.line().snapshot["activity"]["rows"].clone();
        let rows: Vec<String> =
            activity.as_array().unwrap().iter().map(|row| row["seq"].as_u64().unwrap().to_string()).collect();
        let said = look(
            &silas,
            &[
                &["review"],
                &["show", done.id.as_str()],
                &["work", "list"],
                &["work", "show"],
                &["activity", "--all"],
                &["status"],
            ],
        );
        assert!(said.contains(SEAL), "{said}");
        for row in &rows {
            look(&silas, &[&["activity", row]]);
        }
        let file = silas.outside().join("proof.json").to_str().unwrap().to_owned();
        assert_eq!(silas.command(&["work", "proof", "--out", &file]).0, 0);
        let (_, root) = silas.command(&["key", "root"]);
        look(&silas, &[&["verify", &file, "--key", root.trim()], &["verify", &file]]);
        let written = silas.outside().join("plan.md");
        std::fs::write(&written, &markdown).unwrap();
        look(&silas, &[&["plan", "check", written.to_str().unwrap()], &["plan", "show", written.to_str().unwrap()]]);
        assert_eq!(server.faults(), Vec::<String>::new());
    }
}
