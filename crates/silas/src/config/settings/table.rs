//! Every setting there is, once.

use super::{Default, Rule, Setting};

const fn range(min: u64, max: u64) -> Rule {
    Rule::Range { min, max }
}

const DAY_SECS: u64 = 24 * 3600;

pub(in crate::config) const SETTINGS: &[Setting] = &[
    Setting {
        key: "owner_id",
        default: Default::Text("owner"),
        rule: Rule::Name,
        about: "Your name; written at the first start into the certificate of this machine's terminal.",
    },
    Setting {
        key: "data_dir",
        default: Default::Null,
        rule: Rule::AbsolutePath,
        about: "Where Silas keeps its data. null: $XDG_DATA_HOME/silas, usually ~/.local/share/silas.",
    },
    Setting {
        key: "channels.web.enabled",
        default: Default::YesNo(true),
        rule: Rule::YesNo,
        about: "Whether the page is served. The terminal works either way.",
    },
    Setting {
        key: "channels.web.host",
        default: Default::Text("127.0.0.1"),
        rule: Rule::Address,
        about: "127.0.0.1: only this machine. Any other address, as 0.0.0.0, opens an encrypted door for your other devices besides; it needs auth_token and tls.name.",
    },
    Setting {
        key: "channels.web.port",
        default: Default::Number(8420),
        rule: range(0, 65_535),
        about: "The port of the page on this machine. 0 takes any free one.",
    },
    Setting {
        key: "channels.web.auth_token",
        default: Default::Null,
        rule: Rule::Secret,
        about: "What your other devices show besides their signature, and a collector to read /metrics. Paired devices get it by themselves. Best as ${SILAS_AUTH_TOKEN}.",
    },
    Setting {
        key: "channels.web.tls.name",
        default: Default::Null,
        rule: Rule::HostName,
        about: "The name or address under which your other devices reach this machine.",
    },
    Setting {
        key: "channels.web.tls.port",
        default: Default::Number(8421),
        rule: range(0, 65_535),
        about: "The port of the encrypted door. 0 takes any free one.",
    },
    Setting {
        key: "channels.web.tls.certificate",
        default: Default::Null,
        rule: Rule::AbsolutePath,
        about: "A certificate of your own (PEM, with its chain). null: the one that `silas tls make` made.",
    },
    Setting {
        key: "channels.web.tls.key",
        default: Default::Null,
        rule: Rule::AbsolutePath,
        about: "The key of that certificate (PEM), readable by you alone.",
    },
    Setting {
        key: "approval.plan_timeout_seconds",
        default: Default::Number(300),
        rule: range(1, DAY_SECS),
        about: "How long a card can be approved. Then it is parked, and one tap asks again.",
    },
    Setting {
        key: "approval.rehearse_first",
        default: Default::YesNo(true),
        rule: Rule::YesNo,
        about: "Whether what you ask for is tried out in a private copy before you are asked, where the house rules allow it. \
                If not, each plan asks first.",
    },
    Setting {
        key: "undo.window_seconds",
        default: Default::Number(300),
        rule: range(1, 7 * DAY_SECS),
        about: "How long applied work can be taken back.",
    },
    Setting {
        key: "sandbox.default_memory_mb",
        default: Default::Number(2048),
        rule: range(64, 1 << 20),
        about: "Memory for the commands of one plan.",
    },
    Setting {
        key: "sandbox.default_cpu_seconds",
        default: Default::Number(600),
        rule: range(1, DAY_SECS),
        about: "Processor time for each command.",
    },
    Setting {
        key: "sandbox.default_timeout_seconds",
        default: Default::Number(600),
        rule: range(1, DAY_SECS),
        about: "Time on the clock for each command that sets no limit itself.",
    },
    Setting {
        key: "sandbox.default_file_mb",
        default: Default::Number(1024),
        rule: range(1, 1 << 20),
        about: "How large a file may become that a command writes.",
    },
    Setting {
        key: "sandbox.default_processes",
        default: Default::Number(512),
        rule: range(16, 1 << 16),
        about: "How many processes and threads a command may have at once.",
    },
    Setting {
        key: "sandbox.layered_copies",
        default: Default::YesNo(true),
        rule: Rule::YesNo,
        about: "Whether plans work on a layer over your directory where the system can, or on a copy of every file.",
    },
    Setting {
        key: "sandbox.copy_files_max",
        default: Default::Number(200_000),
        rule: range(1000, 10_000_000),
        about: "How many files and directories a directory may have of which every file is copied. What git ignores is not counted.",
    },
    Setting {
        key: "sandbox.copy_mb_max",
        default: Default::Number(4096),
        rule: range(16, 1 << 20),
        about: "How much such a directory may hold, and how much the work may add to one that is not copied.",
    },
    Setting {
        key: "sandbox.changes_max",
        default: Default::Number(10_000),
        rule: range(1, 100_000),
        about: "How many files one plan may change.",
    },
    Setting {
        key: "sandbox.waiting_mb_max",
        default: Default::Number(8192),
        rule: range(16, 1 << 20),
        about: "How much the private copies of results that wait for your word may take together.",
    },
    Setting {
        key: "keys.keyring",
        default: Default::YesNo(true),
        rule: Rule::YesNo,
        about: "Whether new keys are sealed with a key in the system's keyring, where there is one. `silas key` changes it later.",
    },
    Setting {
        key: "models.proxy",
        default: Default::Null,
        rule: Rule::Model,
        about: "The model that answers what Silas does not understand by itself, as openrouter:anthropic/claude-haiku-4-5. null: the one of `silas model add`, or none. You are asked before anything is sent.",
    },
    Setting {
        key: "models.proxy_key",
        default: Default::Null,
        rule: Rule::Key,
        about: "Where its key is: env:VARIABLE, secret:NAME or none. null: the provider's usual variable, as OPENROUTER_API_KEY. Never the key itself.",
    },
    Setting {
        key: "models.planner",
        default: Default::Null,
        rule: Rule::Model,
        about: "The model that writes plans. null: the one of `silas model add`, or none.",
    },
    Setting { key: "models.planner_key", default: Default::Null, rule: Rule::Key, about: "Where its key is." },
    Setting {
        key: "models.executor",
        default: Default::Null,
        rule: Rule::Model,
        about: "The model that works on plans which leave the work to one. It reads files of the plan's directories. null: the one of `silas model add`, or none.",
    },
    Setting { key: "models.executor_key", default: Default::Null, rule: Rule::Key, about: "Where its key is." },
    Setting {
        key: "models.local_only",
        default: Default::YesNo(false),
        rule: Rule::YesNo,
        about: "Whether only models on this machine may be asked.",
    },
    Setting {
        key: "models.daily_cap_cents",
        default: Default::Number(200),
        rule: range(0, 1_000_000),
        about: "What models may cost in a day (UTC), in cents. Checked before each question; a card can add to it.",
    },
    Setting {
        key: "models.monthly_cap_cents",
        default: Default::Number(2000),
        rule: range(0, 10_000_000),
        about: "What models may cost in a month (UTC), in cents.",
    },
    Setting {
        key: "models.turn_budget_tokens",
        default: Default::Number(300_000),
        rule: range(1000, 10_000_000),
        about: "Tokens that one message of yours may use up: a question at its largest before it is asked, and as its provider counts it afterwards.",
    },
    Setting {
        key: "models.replans_max",
        default: Default::Number(2),
        rule: range(0, 5),
        about: "How often a plan on which a model has failed is planned again, each time with a card of its own. 0: never.",
    },
    Setting {
        key: "models.effort",
        default: Default::Text("auto"),
        rule: Rule::OneOf(&["auto", "low", "medium", "high"]),
        about: "How hard models are told to think before they answer; thinking is paid for like an answer. auto: as each model likes.",
    },
    Setting {
        key: "models.timeout_seconds",
        default: Default::Number(90),
        rule: range(1, 3600),
        about: "How long a model may take to begin its answer; half of it between two pieces.",
    },
    Setting {
        key: "models.patience_minutes",
        default: Default::Number(360),
        rule: range(0, 1440),
        about: "How long a question waits in sight for a provider that is overloaded, asks for patience or breaks off, before it is given up. 0: not at all.",
    },
    Setting {
        key: "search.url",
        default: Default::Null,
        rule: Rule::Url,
        about: "A search server that speaks SearXNG's JSON, as https://search.example/search. null: models cannot search the web.",
    },
    Setting {
        key: "search.domains",
        default: Default::Null,
        rule: Rule::ListOf(&Rule::Domain),
        about: "Only what is found at these domains is given to a model, as [docs.rs, python.org]. null: everything.",
    },
    Setting {
        key: "search.results_max",
        default: Default::Number(8),
        rule: range(1, 20),
        about: "How much of what is found a model is told.",
    },
    Setting {
        key: "limits.llm_calls_per_minute_per_scope",
        default: Default::Number(30),
        rule: range(1, 10_000),
        about: "Questions to models in a minute.",
    },
    Setting {
        key: "limits.ws_messages_per_minute_per_scope",
        default: Default::Number(60),
        rule: range(1, 10_000_000),
        about: "Messages that one device may send in a minute, over all its connections; and each line of the terminal.",
    },
    Setting {
        key: "limits.ws_messages_per_minute_per_ip",
        default: Default::Number(240),
        rule: range(1, 10_000_000),
        about: "Messages that all devices at one address may send in a minute; this machine is one.",
    },
    Setting {
        key: "limits.connections_max",
        default: Default::Number(256),
        rule: range(4, 20_000),
        about: "Devices that may be connected at once, and besides them as many connections at each door that are not known yet.",
    },
    Setting {
        key: "limits.ws_beat_seconds",
        default: Default::Number(20),
        rule: range(1, 300),
        about: "How often a page is told that the line is alive; who is silent for three of these has lost its place.",
    },
    Setting {
        key: "log.format",
        default: Default::Text("text"),
        rule: Rule::OneOf(&["text", "json"]),
        about: "How the log is written to standard error: text for people, json for programs (one object a line).",
    },
    Setting {
        key: "log.levels",
        default: Default::NoEntries,
        rule: Rule::MapOf {
            names: &["agents", "approval", "runtime", "sandbox", "store", "web"],
            to: &Rule::OneOf(&["error", "warn", "info", "debug"]),
        },
        about: "How much each part of Silas writes to the log, as {web: debug}. What is not named writes warnings to a terminal and what happens besides to anything else.",
    },
    Setting {
        key: "log.names_parts",
        default: Default::YesNo(false),
        rule: Rule::YesNo,
        about: "Whether each line of the log says which part of Silas wrote it.",
    },
    Setting {
        key: "backpressure.shutdown_grace_seconds",
        default: Default::Number(30),
        rule: range(0, 3600),
        about: "How long running work and model calls may take to finish when Silas is stopped. A second signal ends at once.",
    },
    Setting {
        key: "nonce_store.freshness_seconds",
        default: Default::Number(300),
        rule: range(10, 3600),
        about: "How old a signed message may be when it arrives.",
    },
    Setting {
        key: "nonce_store.ttl_minutes",
        default: Default::Number(40),
        rule: range(1, 7 * 24 * 60),
        about: "How long used nonces are remembered; longer than messages stay fresh, or one could be sent twice.",
    },
    Setting {
        key: "retention.chronicle_days",
        default: Default::Number(90),
        // Longer than any undo window, which needs what it would take back.
        rule: range(8, 36_500),
        about: "How long what was said, answered cards and the details of finished work are kept. The ledger is kept forever.",
    },
];
