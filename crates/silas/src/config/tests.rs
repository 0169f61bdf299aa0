//! What a configuration may say, where its values come from, and that all of its problems are found at once.

use super::*;
use std::io::Write as _;

/// Loads a file with this text below `silas:` (or as it is, if it has the key itself) and these variables.
fn load(text: &str, env: &[(&str, &str)]) -> Result<Loaded, ConfigError> {
    let text = if text.contains("silas:") { text.to_owned() } else { format!("silas:\n{text}") };
    let name = format!("silas-config-{}-{:?}.yaml", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name.replace(['(', ')'], ""));
    std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    let loaded = Config::load(Some(&path), variables(env), &[]);
    std::fs::remove_file(&path).unwrap();
    loaded
}

fn variables(env: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>().into_iter()
}

/// The only problem of a configuration, without the name of its file.
#[track_caller]
fn problem(text: &str, env: &[(&str, &str)]) -> String {
    let problems = load(text, env).unwrap_err().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    let said = problems[0].to_string();
    let dir = std::env::temp_dir();
    let (before, after) = said.split_once(&*dir.to_string_lossy()).unwrap_or((&said, ""));
    let after = after.split_once(".yaml").map_or("", |(_, after)| after);
    if after.is_empty() { said } else { format!("{before}FILE{after}") }
}

fn defaults() -> Config {
    Config::load(None, std::iter::empty(), &[]).unwrap().config
}

#[test]
fn everything_has_its_default() {
    assert_eq!(
        defaults(),
        Config {
            owner_id: "owner".to_owned(),
            data_dir: None,
            web: Web { enabled: true, host: "127.0.0.1".to_owned(), port: 8420, auth_token: None },
            tls: TlsFiles { name: None, port: 8421, certificate: None, key: None },
            approval: Approval { plan_timeout_seconds: 300, rehearse_first: true },
            undo: Undo { window_seconds: 300 },
            keys: Keys { keyring: true },
            sandbox: Sandbox {
                default_memory_mb: 2048,
                default_cpu_seconds: 600,
                default_timeout_seconds: 600,
                default_file_mb: 1024,
                default_processes: 512,
                layered_copies: true,
                copy_files_max: 200_000,
                copy_mb_max: 4096,
                changes_max: 10_000,
                waiting_mb_max: 8192,
            },
            models: Models {
                proxy: None,
                proxy_key: None,
                planner: None,
                planner_key: None,
                executor: None,
                executor_key: None,
                local_only: false,
                daily_cap_cents: 200,
                monthly_cap_cents: 2000,
                turn_budget_tokens: 300_000,
                replans_max: 2,
                effort: Thinking::Auto,
                timeout_seconds: 90,
                patience_minutes: 360,
            },
            search: Searching { url: None, domains: None, results_max: 8 },
            limits: Limits {
                llm_calls_per_minute_per_scope: 30,
                ws_messages_per_minute_per_scope: 60,
                ws_messages_per_minute_per_ip: 240,
                connections_max: 256,
                ws_beat_seconds: 20,
            },
            backpressure: Backpressure { shutdown_grace_seconds: 30 },
            nonce_store: NonceStore { freshness_seconds: 300, ttl_minutes: 40 },
            retention: Retention { chronicle_days: 90 },
            log: Log { format: LogFormat::Text, levels: BTreeMap::new(), names_parts: false },
        }
    );
}

#[test]
fn the_file_in_the_repository_is_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/silas.yaml");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), reference(), "write the reference to config/silas.yaml");
    let loaded = Config::load(Some(&path), std::iter::empty(), &[]).unwrap();
    assert_eq!(loaded.config, defaults(), "it says what is so without it");
    for (key, origin) in loaded.origin {
        let written = matches!(origin, Origin::File { .. });
        let is_null = ["data_dir", "channels.web.auth_token", "channels.web.tls.name"].contains(&key)
            || ["channels.web.tls.certificate", "channels.web.tls.key"].contains(&key)
            || ["models.proxy", "models.proxy_key", "models.planner", "models.planner_key"].contains(&key)
            || ["models.executor", "models.executor_key", "search.url", "search.domains"].contains(&key);
        assert_eq!(written, !is_null, "{key}: {origin}, and null is the default of few");
    }
}

#[test]
fn every_field_has_a_setting() {
    let config = serde_json::to_value(defaults()).unwrap();
    let mut fields = Vec::new();
    for (group, value) in config.as_object().unwrap() {
        match value {
            Value::Object(inner) => fields.extend(inner.keys().map(|field| format!("{group}.{field}"))),
            _ => fields.push(group.clone()),
        }
    }
    let mut keys: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
    fields.sort();
    keys.sort();
    assert_eq!(fields, keys);
}

#[test]
fn a_file_overrides_defaults_and_a_variable_overrides_a_file() {
    let text = "  channels:\n    web: { port: 9000, host: localhost }\n  owner_id: me\n";
    let env = [("SILAS__CHANNELS__WEB__PORT", "9001"), ("SILAS__Undo__Window_Seconds", "7"), ("PATH", "/bin")];
    let loaded = load(text, &env).unwrap();
    let mut expected = defaults();
    expected.web = Web { enabled: true, host: "localhost".to_owned(), port: 9001, auth_token: None };
    expected.owner_id = "me".to_owned();
    expected.undo.window_seconds = 7;
    assert_eq!(loaded.config, expected);
    let origin = |key: &str| loaded.origin.iter().find(|(k, _)| *k == key).unwrap().1.clone();
    assert_eq!(origin("channels.web.port"), Origin::Variable("SILAS__CHANNELS__WEB__PORT".to_owned()));
    assert!(matches!(origin("channels.web.host"), Origin::File { line: 3, .. }));
    assert_eq!(origin("approval.plan_timeout_seconds"), Origin::Default);
}

#[test]
fn shown_with_where_it_came_from() {
    let env = [("SILAS__CHANNELS__WEB__PORT", "0"), ("SILAS__DATA_DIR", "/srv/silas")];
    let shown = Config::load(None, variables(&env), &[]).unwrap().render();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), SETTINGS.len());
    assert_eq!(lines[0], "owner_id = \"owner\"  (from the default)");
    assert_eq!(lines[1], "data_dir = \"/srv/silas\"  (from the variable SILAS__DATA_DIR)");
    assert_eq!(lines[4], "channels.web.port = 0  (from the variable SILAS__CHANNELS__WEB__PORT)");
    let from_file = load("  owner_id: me\n", &[]).unwrap().render();
    assert!(from_file.lines().next().unwrap().ends_with(".yaml, line 2)"), "{from_file}");
}

#[test]
fn variables_in_values() {
    let env = [("HOME", "/home/me"), ("PORT", "9000"), ("EMPTY", "")];
    let text = "  data_dir: ${HOME}/silas\n  channels: { web: { port: \"${PORT}\", host: \"${HOST}\" } }\n";
    let config = load(text, &env).unwrap().config;
    assert_eq!(config.data_dir.as_deref(), Some(Path::new("/home/me/silas")));
    assert_eq!((config.web.port, config.web.host.as_str()), (9000, "127.0.0.1"), "unset means null, null the default");
    assert_eq!(load("  data_dir: \"${HOME}/${NOT_SET}\"\n", &env).unwrap().config.data_dir, None);
    assert!(load("  data_dir: \"${EMPTY}\"\n", &env).is_err());
    assert!(load("  data_dir: \"${HOME\"\n", &env).is_err(), "nothing is replaced without its end");
    assert_eq!(load("  data_dir: /a$HOME\n", &env).unwrap().config.data_dir.unwrap(), Path::new("/a$HOME"));
}

#[test]
fn null_and_emptiness_mean_the_default() {
    for text in
        ["", "silas:\n", "silas: {}\n", "silas:\n  channels:\n", "silas:\n  owner_id: null\n", "# nothing\nsilas: ~\n"]
    {
        assert_eq!(load(text, &[]).unwrap().config, defaults(), "{text}");
    }
    let unset = load("  owner_id: me\n", &[("SILAS__OWNER_ID", "")]).unwrap();
    assert_eq!(unset.config.owner_id, "owner");
}

#[test]
fn unknown_keys() {
    let cases = [
        (
            "  chanels: {}\n",
            "`chanels` in FILE, line 2 is not a setting of this version. Did you mean `channels`? (E_CFG_KEY)",
        ),
        (
            "  channels:\n    web:\n      prot: 1\n",
            "`channels.web.prot` in FILE, line 4 is not a setting of this version. Did you mean `channels.web.port`? (E_CFG_KEY)",
        ),
        (
            "  personality: {}\n",
            "`personality` in FILE, line 2 is not a setting of this version. Remove it; `silas config show` lists every key. (E_CFG_KEY)",
        ),
        (
            "silas: {}\nsila: {}\n",
            "`sila` in FILE, line 2 is not a setting of this version. Did you mean `silas`? (E_CFG_KEY)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(problem(text, &[]), expected);
    }
    assert_eq!(
        problem("", &[("SILAS__CHANNELS__WEB__PROT", "1")]),
        "`SILAS__CHANNELS__WEB__PROT` is a variable for no setting of this version. Did you mean `SILAS__CHANNELS__WEB__PORT`? (E_CFG_KEY)"
    );
    assert!(problem("", &[("SILAS__", "1")]).starts_with("`SILAS__` is a variable for no setting"));
}

#[test]
fn a_file_without_its_top() {
    let said = load("# no silas: here\nchannels:\n  web:\n    port: 1\n", &[]).unwrap_err().to_string();
    assert!(said.contains("lacks `silas:` at its top, so line 2, `channels`,"), "{said}");
    assert!(said.contains("Make `silas:` the first line") && said.ends_with("(E_CFG_KEY)"), "{said}");
}

#[test]
fn an_option_is_blamed_by_its_own_name() {
    let variable = [("SILAS__CHANNELS__WEB__HOST".to_owned(), "127.0.0.1".to_owned())];
    let options = [("--host", "channels.web.host", "no host".to_owned())];
    let said = Config::load(None, variable.into_iter(), &options).unwrap_err().to_string();
    assert!(said.contains("`no host` (from the option --host)") && !said.contains("SILAS__"), "{said}");
}

#[test]
fn files_that_cannot_be_read() {
    let missing = Config::load(Some(Path::new("/nonexistent/silas.yaml")), std::iter::empty(), &[]).unwrap_err();
    assert!(missing.to_string().starts_with("`/nonexistent/silas.yaml` cannot be read: "), "{missing}");
    for text in ["silas: [", "silas:\n\towner_id: a\n", "- silas:\n", "silas: a\nsilas: b\n", "\"silas: x\""] {
        assert_eq!(load(text, &[]).unwrap_err().problems[0].code, "E_CFG_FILE", "{text}");
    }
    assert_eq!(
        problem("silas: words\n", &[]),
        "`silas` in FILE, line 1 should hold keys with values. Put its keys below it, indented. (E_CFG_VALUE)"
    );
    assert!(problem("  channels: 5\n", &[]).starts_with("`channels` in FILE, line 2 should hold keys"));
    assert_eq!(
        problem("  owner_id: [a]\n", &[]),
        "`owner_id` (from FILE, line 2) must be 1 to 64 letters, digits, `.`, `_` or `-`. Write one value. (E_CFG_VALUE)"
    );
}

#[test]
fn rules() {
    assert_eq!(
        load("  channels: { web: { host: 0.0.0.0 } }\n", &[]).unwrap_err().to_string(),
        "`channels.web.auth_token` is missing, and `channels.web.host` is 0.0.0.0, which other machines can \
         reach. Make a token with `silas tls token` and set it, or set the host back to 127.0.0.1. (E_CFG_NETWORK)\n\
         `channels.web.tls.name` is missing, and `channels.web.host` is 0.0.0.0, which other machines can \
         reach. Set the name under which your devices reach this machine, then `silas tls make`; or set the host back to \
         127.0.0.1. (E_CFG_NETWORK)"
    );
    let short = problem("", &[("SILAS__CHANNELS__WEB__AUTH_TOKEN", "hunter2")]);
    assert!(short.contains("channels.web.auth_token` is set") && !short.contains("hunter2"), "{short}");
    let half = problem("  channels: { web: { tls: { key: /etc/key.pem } } }\n", &[]);
    assert!(half.contains("only one is set"), "{half}");
    assert_eq!(
        problem("", &[("SILAS__NONCE_STORE__TTL_MINUTES", "5")]),
        "`nonce_store.ttl_minutes` is 5 minutes, but must be longer than `nonce_store.freshness_seconds`, \
         which is 300 seconds, or a message could be sent twice. Raise the first or lower the second. (E_CFG_VALUE)"
    );
    let refused = [
        ("OWNER_ID", "a b"),
        ("OWNER_ID", "'../x'"),
        ("OWNER_ID", "[a]"),
        ("DATA_DIR", "data"),
        ("DATA_DIR", "~/silas"),
        ("CHANNELS__WEB__ENABLED", "yes"),
        ("CHANNELS__WEB__ENABLED", "1"),
        ("CHANNELS__WEB__HOST", "127.0.0.2"),
        ("CHANNELS__WEB__HOST", "localhost.example.org"),
        ("CHANNELS__WEB__HOST", "::"),
        ("CHANNELS__WEB__TLS__NAME", "https://silas.lan"),
        ("CHANNELS__WEB__TLS__NAME", "silas.lan:8421"),
        ("CHANNELS__WEB__TLS__KEY", "key.pem"),
        ("LIMITS__CONNECTIONS_MAX", "3"),
        ("LOG__FORMAT", "xml"),
        ("LOG__LEVELS", "debug"),
        ("LOG__LEVELS", "[debug]"),
        ("LOG__LEVELS", "{page: debug}"),
        ("LOG__LEVELS", "{web: loud}"),
        ("LOG__LEVELS", "{web: {store: debug}}"),
        ("SEARCH__DOMAINS", "{docs.rs: 1}"),
        ("SEARCH__DOMAINS", "[docs.rs, [a]]"),
        ("CHANNELS__WEB__PORT", "65536"),
        ("CHANNELS__WEB__PORT", "-1"),
        ("CHANNELS__WEB__PORT", "8420.0"),
        ("CHANNELS__WEB__PORT", "'8420'"),
        ("CHANNELS__WEB__PORT", "0x20"),
        ("APPROVAL__PLAN_TIMEOUT_SECONDS", "0"),
        ("APPROVAL__PLAN_TIMEOUT_SECONDS", "86401"),
        ("UNDO__WINDOW_SECONDS", "0"),
        ("SANDBOX__DEFAULT_MEMORY_MB", "63"),
        ("SANDBOX__DEFAULT_CPU_SECONDS", "0"),
        ("SANDBOX__DEFAULT_TIMEOUT_SECONDS", "86401"),
        ("LIMITS__WS_MESSAGES_PER_MINUTE_PER_SCOPE", "0"),
        ("LIMITS__WS_MESSAGES_PER_MINUTE_PER_IP", "0"),
        ("BACKPRESSURE__SHUTDOWN_GRACE_SECONDS", "3601"),
        ("NONCE_STORE__FRESHNESS_SECONDS", "18446744073709551616"),
    ];
    for (name, value) in refused {
        let key = name.to_lowercase().replace("__", ".");
        let said = problem("", &[(&format!("SILAS__{name}"), value)]);
        assert!(said.starts_with(&format!("`{key}` ")), "{said}");
        assert!(said.contains(&format!("(from the variable SILAS__{name})")), "{said}");
    }
    for (name, value) in [
        ("SILAS__CHANNELS__WEB__PORT", "0"),
        ("SILAS__CHANNELS__WEB__PORT", "65535"),
        ("SILAS__CHANNELS__WEB__HOST", "::1"),
        ("SILAS__SANDBOX__DEFAULT_MEMORY_MB", "64"),
        ("SILAS__OWNER_ID", "007"),
        ("SILAS__OWNER_ID", "no"),
    ] {
        assert!(load("", &[(name, value)]).is_ok(), "{name}={value}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let text =
        "  channels: { web: { host: 0.0.0.0, port: 99999 } }\n  sandbox: { default_memory_mb: 1 }\n  colour: red\n";
    let error = load(text, &[("SILAS__NOPE", "1"), ("SILAS__NONCE_STORE__TTL_MINUTES", "1")]).unwrap_err();
    let codes: Vec<&str> = error.problems.iter().map(|problem| problem.code).collect();
    let (key, value, network) = ("E_CFG_KEY", "E_CFG_VALUE", "E_CFG_NETWORK");
    assert_eq!(codes, [key, key, value, value, network, network, value]);
    assert_eq!(error.to_string().lines().count(), 7);
}

#[test]
fn nothing_of_a_file_steers_the_terminal() {
    for text in ["  \"\\e[2J\": 1\n", "  owner_id: \"\\e[2J\\n\"\n"] {
        let said = load(text, &[]).unwrap_err().to_string();
        assert!(!said.chars().any(char::is_control), "{said:?}");
    }
}

#[test]
fn a_door_for_other_machines_needs_all_of_it_and_shows_no_secret() {
    let token = "0123456789abcdef0123456789abcdef";
    let env = [
        ("SILAS__CHANNELS__WEB__HOST", "0.0.0.0"),
        ("SILAS__CHANNELS__WEB__AUTH_TOKEN", token),
        ("SILAS__CHANNELS__WEB__TLS__NAME", "silas.lan"),
    ];
    let loaded = Config::load(None, env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())), &[]).unwrap();
    assert_eq!(loaded.config.web.auth_token, Some(Secret(token.to_owned())));
    assert!(loaded.render().contains("channels.web.auth_token = [secret]  (from the variable"));
    for shown in [loaded.render(), format!("{:?}", loaded.config), serde_json::to_string(&loaded.config).unwrap()] {
        assert!(!shown.contains(token), "{shown}");
    }
}

#[test]
fn models_are_named_and_their_keys_are_only_pointed_at() {
    let loaded = load("  models:\n    proxy: \"openai:gpt-5-mini\"\n    proxy_key: env:MY_KEY\n", &[]).unwrap();
    assert_eq!(loaded.config.models.proxy.unwrap().to_string(), "openai:gpt-5-mini");
    assert_eq!(loaded.config.models.proxy_key.unwrap().to_string(), "env:MY_KEY");
    let said = problem("  models:\n    proxy: gpt-5\n", &[]);
    assert!(said.contains("E_CFG_VALUE") && said.contains("PROVIDER:MODEL"), "{said}");
    let said = problem("  models:\n    proxy_key: sk-live-0123456789\n", &[]);
    assert!(said.contains("models.proxy_key") && !said.contains("live-0123"), "{said}");
    let said = problem("  models:\n    proxy: \"compatible:m@http://far.example/v1\"\n", &[]);
    assert!(said.contains("unencrypted"), "{said}");
}

/// What another Silas is told is what was set, and nothing else.
#[test]
fn settings_are_handed_on_as_variables() {
    let variables = [
        ("SILAS__MODELS__DAILY_CAP_CENTS", "50"),
        ("SILAS__MODELS__LOCAL_ONLY", "true"),
        ("SILAS__MODELS__PROXY", "ollama:qwen3"),
        ("SILAS__CHANNELS__WEB__PORT", "9000"),
    ];
    let given = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let loaded = Config::load(None, given.clone().into_iter(), &[]).unwrap();
    let mut handed = loaded.as_variables(&["models", "limits"]);
    handed.sort();
    let mut expected = given[..2].to_vec();
    expected.push(("SILAS__MODELS__PROXY".to_owned(), loaded.config.models.proxy.clone().unwrap().to_string()));
    assert_eq!(handed, expected);
    // And is read as the same there.
    let again = Config::load(None, handed.into_iter(), &[]).unwrap();
    assert_eq!(again.config.models, loaded.config.models);
}

#[test]
fn a_search_server_is_asked_encrypted_or_on_this_machine() {
    let load = |url: &str, domains: &str| {
        let env = [("SILAS__SEARCH__URL", url), ("SILAS__SEARCH__DOMAINS", domains)];
        Config::load(None, env.into_iter().map(|(name, value)| (name.into(), value.into())), &[])
    };
    assert!(load("https://search.example/search", "docs.rs,python.org").is_ok());
    assert!(load("http://127.0.0.1:8888/search", "docs.rs").is_ok());
    for (url, domains) in [
        ("http://search.example/search", "docs.rs"),
        ("https://me:secret@search.example/search", "docs.rs"),
        ("https://search.example/search?q=", "docs.rs"),
        ("https://search.example/search", "https://docs.rs"),
        ("https://search.example/search", "Docs.rs"),
    ] {
        assert!(load(url, domains).is_err(), "{url} {domains}");
    }
}

#[test]
fn a_setting_may_be_a_list_or_a_map() {
    let domains = |file: &str, env: &[(&str, &str)]| load(file, env).unwrap().config.search.domains.unwrap();
    let both = ["docs.rs", "python.org"];
    assert_eq!(domains("  search: { domains: [docs.rs, python.org] }\n", &[]), both);
    assert_eq!(
        domains("  search:\n    domains:\n      - docs.rs\n      - ${OTHER}\n", &[("OTHER", "python.org")]),
        both
    );
    assert_eq!(domains("  search: { domains: 'docs.rs, python.org' }\n", &[]), both);
    assert_eq!(domains("", &[("SILAS__SEARCH__DOMAINS", "docs.rs,python.org")]), both);
    let (file, env) = ("  log: { levels: { web: debug } }\n", [("SILAS__LOG__LEVELS", "{store: warn, web: error}")]);
    assert_eq!(load(file, &[]).unwrap().config.log.levels, BTreeMap::from([(LogOf::Web, Level::Debug)]));
    let loaded = load(file, &env).unwrap();
    assert_eq!(loaded.config.log.levels, BTreeMap::from([(LogOf::Store, Level::Warn), (LogOf::Web, Level::Error)]));
    assert!(loaded.render().contains("log.levels = {\"store\":\"warn\",\"web\":\"error\"}  (from the variable"));
    // And each is handed on as something that is read the same.
    let handed = load("  search: { domains: [docs.rs, python.org] }\n", &env).unwrap().as_variables(&["search", "log"]);
    let again = Config::load(None, handed.into_iter(), &[]).unwrap().config;
    assert_eq!((again.log, again.search.domains.unwrap()), (loaded.config.log, both.map(str::to_owned).to_vec()));
    assert_eq!(
        problem("  log: { levels: { page: debug } }\n", &[]),
        "`log.levels` is `{page: debug}` (from FILE, line 2), but must be values under agents, approval, runtime, sandbox, \
         store, web, each error or warn or info or debug. `page` is none of agents, approval, runtime, sandbox, store, web. \
         (E_CFG_VALUE)"
    );
}
