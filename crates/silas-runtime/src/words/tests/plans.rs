//! Plans to look at, from the smallest to the largest that a card has to hold.

use super::samples::{Sample, asks, words};
use silas_core::model::ModelName;
use silas_core::plan;
use silas_core::planned::Planned;
use silas_core::work::{Definition, WorkItem};

pub(super) fn item(front: &str, body: &str) -> WorkItem {
    plan::parse(format!("---\n{front}---\n\n{body}\n").as_bytes()).unwrap()
}

pub(super) fn plan(name: &'static str, front: &str, asked: &str) -> Sample {
    let item = item(front, asked);
    asks(name, "plan", words().plan(&item), item.canonical().unwrap())
}

/// As the runtime makes it of what a planner wrote.
pub(super) fn by_a_model(front: &str, asked: &str, prose: &str) -> WorkItem {
    let by = ModelName::parse("openrouter:anthropic/claude-haiku-4-5").unwrap();
    let planned = Some(Planned { by, asked: asked.to_owned() });
    let written = item(front, prose);
    WorkItem::new(Definition { planned, body: prose.trim().to_owned(), ..written.definition().clone() }).unwrap()
}

pub(super) fn model_plan(name: &'static str, front: &str, asked: &str, prose: &str) -> Sample {
    let item = by_a_model(front, asked, prose);
    asks(name, "plan", words().plan(&item), item.canonical().unwrap())
}

pub(super) fn unknown(name: &'static str, front: &str, asked: &str) -> Sample {
    let item = item(front, asked);
    asks(name, "plan", words().unknown_effect(&item), item.canonical().unwrap())
}

/// What a parked plan becomes if its owner wants to see first.
pub(super) fn rehearsal(name: &'static str, front: &str, asked: &str) -> Sample {
    let item = item(front, asked);
    asks(name, "rehearsal", words().rehearsal(&item), item.canonical().unwrap())
}

pub(super) fn long_prose() -> String {
    let paragraph = "The reader drops the zone when it parses a time, so every value is taken for winter time. I will keep \
                     the zone, convert where the report is written, and leave the tables of earlier years as they are. ";
    format!("{}\n\n- first\u{202e} the reader\n- then the report\n", paragraph.repeat(3))
}

/// The front matter of a task in tidepool: its title, what is done and by whom, its check, and what else the sandbox has.
macro_rules! in_tidepool {
    ($title:literal, $work:literal, $check:literal, $more:literal) => {
        concat!(
            "id: task-1\ntype: task\ntitle: ",
            $title,
            "\n",
            $work,
            "verify:\n  - { name: \"",
            $check,
            "\", run: sh check.sh, expect: { exit_code: 0 } }\nsandbox:\n",
            $more,
            "  directories:\n    - { path: /home/mira/code/tidepool, access: write, device: \"2049\", inode: \"1311\" }\n",
        )
    };
}

pub(super) const PLAN: &str = in_tidepool!(
    "Fix the one-hour shift in tidepool",
    "budget: { max_wall_time_seconds: 600, max_cost_usd: 0.20, max_attempts: 1 }\nsteps:\n  - run: sh fix.sh\n",
    "All 214 project tests and the security review",
    ""
);

pub(super) const PLAN_COMMITS: &str = in_tidepool!(
    "Fix the one-hour shift in tidepool",
    "steps:\n  - run: sh fix.sh\n",
    "All 214 project tests and the security review",
    "  commits: true\n"
);

pub(super) const PLAN_REACHING: &str = in_tidepool!(
    "Release tidepool",
    "steps:\n  - run: sh release.sh\n",
    "All 214 project tests and the security review",
    "  hosts: [\"releases.example.org:443\"]\n"
);

pub(super) const PLAN_HIGH: &str = in_tidepool!(
    "Log in to the tables",
    "steps:\n  - run: sh log-in.sh\n",
    "All 214 project tests and the security review",
    "  hosts: [\"tides.example:443\"]\n  callback_port: 8765\n"
);

pub(super) const PLAN_IRREVERSIBLE: &str = in_tidepool!(
    "Release tidepool",
    "steps:\n  - run: sh release.sh\n",
    "All 214 project tests and the security review",
    "  hosts: [\"github.com:443\"]\n  secrets: [github]\n"
);

pub(super) const PLAN_SECRET: &str = in_tidepool!(
    "Sign tidepool",
    "steps:\n  - run: sh sign.sh\n",
    "All 214 project tests and the security review",
    "  secrets: [signing-key]\n"
);

pub(super) const MODEL_PLAN: &str = in_tidepool!(
    "Fix the one-hour shift in tidepool",
    "executor: { model: \"openrouter:anthropic/claude-haiku-4-5\" }\nexits: { paths: [\"tides/*.py\"] }\n",
    "All 214 project tests and the security review",
    ""
);

pub(super) const PLAN_LONGEST: &str = r#"id: task-1
type: task
title: Fix the one-hour shift
budget: { max_attempts: 5, max_wall_time_seconds: 86399 }
steps:
  - run: sh prepare-the-tables-of-every-harbour.sh --with --every --option --that --there --is
  - run: sh send-the-tables.sh
executor:
  model: "openrouter:somebody/a-model-with-a-name-that-is-as-long-as-names-of-models-get-2026-11-16"
  tools: [shell_exec, python_exec, read_file, list_files, tell_user, web_search]
  max_model_calls: 500
  max_tool_calls: 1000
exits:
  paths: ["tides/**/*.py", "docs/a-directory-with-a-rather-long-name/and-another-one-below-it/*.md"]
  queries: ["tide tables *"]
flows: [web -> docs/a-directory-with-a-rather-long-name/and-another-one-below-it/tides.md]
verify:
  - { name: All 214 project tests and the security review, run: sh check.sh --all, expect: { exit_code: 0 } }
  - { name: "All 214 project tests, again", run: python3 -m pytest --quiet tests, expect: { exit_code: 0 }, protected: false }
sandbox:
  hosts: ["tides.example:443", "harbours.of-the-northern-coast.example:443"]
  secrets: [harbours, tables]
  callback_port: 8765
  directories:
    - { path: /home/mira/code/some-very-long-named-project-here/with/another/below, access: write }
    - { path: /home/mira/code/tidepool, access: write }
    - { path: /home/mira/documents/tables-of-the-last-hundred-years, access: read }
"#;
