//! Any work item at all: what the round-trip tests of plans and canonical text run through.

use super::unpinned;
use crate::check::{Check, Command, Expectation, Pattern};
use crate::decimal::Decimal;
use crate::exits::{Exits, Flow, Glob, Reading};
use crate::host::HostGrant;
use crate::mandate::Mandate;
use crate::model::ModelName;
use crate::planned::Planned;
use crate::roots::Access;
use crate::secret::SecretRef;
use crate::toolchain::{Family, Toolchain};
use crate::wanted::{By, HostFor};
use crate::work::{Budget, Definition, Directory, InteractionMode, Merging, Replacing, Step, WorkItem};
use crate::{Digest, ExecutionId, WorkItemId};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Texts that YAML, JSON or markdown would like to read as something else, and any characters at all.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let tricky = prop::sample::select(vec![
        "",
        "---",
        "...",
        "no",
        "true",
        "null",
        "~",
        "007",
        "0.5",
        "1e5",
        " lead",
        "trail ",
        "a: b",
        "# c",
        "'",
        "\"",
        "\\",
        "\\n",
        "{",
        "[",
        "- x",
        "&a",
        "*a",
        "!t",
        "|",
        ">",
        "%",
        "@",
        "`ls`",
        "\n",
        "\r\n",
        "a\n---\nb",
        "\t",
        "\0",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{fffe}",
        "\u{202e}",
        "é",
        "e\u{301}",
        "😀",
        "<<",
    ]);
    let long = (1000usize..3000).prop_map(|n| "long ".repeat(n / 5));
    prop_oneof![
        4 => tricky.prop_map(str::to_owned),
        4 => vec(any::<char>(), 0..20).prop_map(String::from_iter),
        1 => long,
    ]
}

fn line(chars_max: usize) -> impl Strategy<Value = String> {
    text().prop_map(move |text| {
        let kept: String = text.chars().filter(|c| !c.is_control()).take(chars_max).collect();
        if kept.trim().is_empty() { "x".to_owned() } else { kept }
    })
}

fn id() -> impl Strategy<Value = WorkItemId> {
    "[a-zA-Z0-9-]{1,40}".prop_map(|rest| WorkItemId::parse(&format!("task-{rest}")).unwrap())
}

fn command() -> impl Strategy<Value = Command> {
    let word = || text().prop_map(|text| text.replace('\0', ""));
    prop_oneof![
        word().prop_map(|script| Command::Shell(format!("x{script}"))),
        vec(word(), 0..4).prop_map(|mut argv| {
            argv.insert(0, "prog".to_owned());
            Command::Argv(argv)
        }),
    ]
}

fn decimal() -> impl Strategy<Value = Decimal> {
    (any::<i64>(), "[0-9]{1,10}").prop_map(|(whole, part)| Decimal::parse(&format!("{whole}.{part}")).unwrap())
}

fn expectation() -> impl Strategy<Value = Expectation> {
    prop_oneof![
        any::<i32>().prop_map(Expectation::ExitCode),
        text().prop_map(Expectation::Equals),
        text().prop_map(Expectation::Contains),
        prop::sample::select(vec!["", "^a+$", "\\d{2,3}", "(?i)no", "\"", "é|ö", " x "])
            .prop_map(|pattern| Expectation::Regex(Pattern::parse(pattern).unwrap())),
        decimal().prop_map(Expectation::OutputLt),
        decimal().prop_map(Expectation::OutputGt),
        text().prop_map(|path| Expectation::FileExists(format!("f{}", path.replace("..", "")))),
        Just(Expectation::NotEmpty),
    ]
}

fn path() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.replace(['\0', '.'], ""))
}

fn directory() -> impl Strategy<Value = Directory> {
    let number = || option::of(any::<u64>().prop_map(|n| n.to_string()));
    let replaces = option::of(Just(Replacing::TwoSteps));
    (path(), any::<bool>(), number(), number(), replaces).prop_map(|(path, write, device, inode, replaces)| Directory {
        path: format!("/{path}"),
        access: if write { Access::Write } else { Access::Read },
        device,
        inode,
        replaces,
    })
}

fn toolchain() -> impl Strategy<Value = Toolchain> {
    (prop::sample::select(Family::ALL.to_vec()), path(), any::<u64>()).prop_map(|(family, path, n)| Toolchain {
        family,
        path: format!("/{path}"),
        device: n.to_string(),
        inode: (n / 2).to_string(),
    })
}

fn budget() -> impl Strategy<Value = Budget> {
    (0..=1u64 << 53, 0..=1u64 << 53, 1..=86_400u64, 1..=u32::MAX, any::<u32>()).prop_map(
        |(max_tokens, max_cost_microusd, max_wall_time_seconds, max_attempts, max_planner_calls)| Budget {
            max_tokens,
            max_cost_microusd,
            max_wall_time_seconds,
            max_attempts,
            max_planner_calls,
        },
    )
}

fn check() -> impl Strategy<Value = Check> {
    let parts = (command(), expectation(), 1..=86_400u64, line(100), any::<(bool, bool)>());
    parts.prop_map(|(run, expect, timeout, name, (network, protected))| Check {
        name,
        run,
        expect,
        timeout,
        network,
        protected,
    })
}

fn outside() -> impl Strategy<Value = (Vec<HostGrant>, Vec<SecretRef>, Option<u16>)> {
    let host = prop::sample::select(vec!["example.org", "a-b.c", "localhost", "10.0.0.5", "[::1]", "no"]);
    let host = (host, 1..=u16::MAX).prop_map(|(host, port)| HostGrant::parse(&format!("{host}:{port}")).unwrap());
    let secret = "[a-zA-Z0-9][a-zA-Z0-9._:-]{0,20}".prop_map(|text| SecretRef::parse(&text).unwrap());
    let hosts = prop::collection::btree_set(host, 0..4).prop_map(|set| set.into_iter().collect());
    let secrets = prop::collection::btree_set(secret, 0..4).prop_map(|set| set.into_iter().collect());
    (hosts, secrets, option::of(1024..=u16::MAX))
}

fn globs() -> impl Strategy<Value = Vec<Glob>> {
    let entry = line(200).prop_filter_map("no entry", |text| Glob::parse(text.trim()).ok());
    let entry = entry.prop_filter("no path", Glob::is_path);
    let tricky = prop::sample::select(vec!["*", "src/**", "a → b", "x->y", "/home/me/p/*.md", ".env", "no", "a: b"]);
    let either = prop_oneof![entry, tricky.prop_map(|text| Glob::parse(text).unwrap())];
    prop::collection::btree_set(either, 0..4).prop_map(|set| set.into_iter().collect())
}

fn leaving() -> impl Strategy<Value = (Vec<Flow>, Exits, Vec<Glob>)> {
    let from = prop::sample::select(Reading::ALL.to_vec());
    let flows = globs().prop_flat_map(move |ends| {
        let from = from.clone();
        let flow = move |to: Glob| from.clone().prop_map(move |from| Flow { from, to: to.clone() });
        ends.into_iter().map(flow).collect::<Vec<_>>()
    });
    let exits = (globs(), globs(), option::of(text().prop_filter("long", |text| text.len() < 8192)));
    (flows, exits.prop_map(|(paths, queries, typed)| Exits { paths, queries, typed }), globs())
}

pub(crate) fn item() -> impl Strategy<Value = WorkItem> {
    let mode = prop::sample::select(vec![
        InteractionMode::DefaultAndOffer,
        InteractionMode::ActAndReport,
        InteractionMode::ConfirmOnlyWhenRequired,
    ]);
    let python = text().prop_map(|text| Command::python(format!("x{}", text.replace('\0', ""))));
    let run = prop_oneof![3 => command(), 1 => python];
    let step = (run, option::of(path())).prop_map(|(run, cwd)| Step { run, cwd: cwd.map(|c| format!("d{c}")) });
    let body = vec(text(), 0..6).prop_map(|lines| lines.join("\n"));
    let names = (id(), option::of(id()), option::of(id()), option::of(id()), line(200), option::of(text()));
    let work =
        (vec(step, 0..4), vec(check(), 0..4), vec(directory(), 0..4), (outside(), leaving()), vec(toolchain(), 0..3));
    let rest = (budget(), body, mode, text(), text(), option::of(text()));
    (names, work, rest).prop_map(|(names, (steps, mut verify, mut directories, outside, toolchains), rest)| {
        let (id, parent, spawned_by, follow_up_of, title, domain) = names;
        let (budget, body, interaction_mode, on_failure, on_stuck, failure_context) = rest;
        verify.iter_mut().enumerate().for_each(|(n, check)| check.name = format!("{n} {}", check.name));
        let ((hosts, secrets, callback_port), (flows, exits, changes)) = outside;
        let n_words = on_failure.len();
        verify.iter_mut().for_each(|check| check.network &= !hosts.is_empty());
        // Each is another, and none lies in another.
        directories.iter_mut().enumerate().for_each(|(n, directory)| directory.path.insert_str(0, &format!("/{n}")));
        if !steps.is_empty() {
            directories.push(unpinned("/work", Access::Write));
        }
        let executor = (!steps.is_empty() && n_words % 4 == 0).then(Mandate::default);
        let has_executor = executor.is_some();
        let one = |host: &HostGrant| HostFor { host: host.clone(), by: By::Step(0) };
        let mut hosts_for: Vec<HostFor> = hosts.iter().take(steps.len()).map(one).collect();
        let by_check = hosts.first().zip(verify.first());
        hosts_for.extend(by_check.map(|(host, c)| HostFor { host: host.clone(), by: By::Check(c.name.clone()) }));
        let by_model = hosts.last().filter(|_| executor.is_some());
        hosts_for.extend(by_model.map(|host| HostFor { host: host.clone(), by: By::Model }));
        WorkItem::new(Definition {
            id,
            title,
            parent,
            spawned_by,
            follow_up_of,
            domain,
            budget,
            body,
            planned: (n_words % 5 == 0)
                .then(|| Planned { by: ModelName::parse("ollama:llama3.2").unwrap(), asked: on_stuck.clone() }),
            interaction_mode,
            steps,
            verify,
            directories,
            hosts,
            hosts_for,
            secrets,
            callback_port,
            commits: n_words % 2 == 0,
            include_ignored: n_words % 4 == 1,
            beside: if n_words % 4 == 3 { vec!["node_modules".to_owned()] } else { Vec::new() },
            executor,
            restores: (n_words % 3 == 0).then(|| ExecutionId::parse("exec-earlier").unwrap()),
            merges: (n_words % 6 == 5 && !has_executor).then(|| Merging {
                execution: ExecutionId::parse("exec-earlier").unwrap(),
                changeset: Digest::of(b"both"),
            }),
            toolchains,
            flows,
            exits,
            changes,
            on_failure,
            on_stuck,
            failure_context,
        })
        .unwrap()
    })
}
