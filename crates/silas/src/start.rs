//! `silas start` and what comes before it. The order is the point: each line makes the next one safe.

use crate::certificates;
use crate::config::{self, Config, ConfigError, Level, Loaded, LogFormat, LogOf, Sandbox};
use crate::home::{self, Home};
use crate::opening::{self, Opening};
use crate::world::SystemClock;
use crate::{own, root_handover, same_silas, server_key, soundness, wire};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use silas_approval::sealing::SealKey;
use silas_approval::{Vault, lock, vault};
use silas_core::Clock;
use silas_core::device::Certificate;
use silas_core::evidence::Anchor;
use silas_core::handover::{Handover, Handovers};
use silas_core::key_service::{KeyReply, Protection};
use silas_core::probe::State;
use silas_core::secret::Secret;
use silas_sandbox::confine::{FrontRules, confine_front};
use silas_sandbox::probes;
use silas_sandbox::{Bounds, CellLimits, Copies, Launcher, Seal, Sealed, ToolPlaces};
use silas_web::{Listeners, Ports};
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[derive(Args, Default)]
pub(crate) struct StartArgs {
    /// The address to listen on. Any but this machine's own needs a certificate and an access token.
    #[arg(long)]
    host: Option<String>,
    /// The port of the page; 0 takes any free one.
    #[arg(long, value_parser = crate::arguments::port)]
    port: Option<u16>,
    /// How the log is written: text for people, json for programs.
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    log: Option<String>,
    /// Print nothing and open no browser.
    #[arg(long)]
    quiet: bool,
}

/// What first-run steps leave behind, on every start.
pub(crate) struct Ready {
    pub(crate) home: Home,
    pub(crate) anchor: Anchor,
    pub(crate) terminal: Certificate,
    pub(crate) protection: Protection,
    pub(crate) handovers: Vec<Handover>,
    /// Where Silas answers on this machine, as far as that is known yet.
    pub(crate) own_ports: Vec<u16>,
}

/// For the system's keyring to give or take the vault's key; longer than it is asked for there.
const KEYRING_PATIENCE: Duration = Duration::from_secs(45);

pub(crate) fn run(args: &StartArgs, data_dir: Option<PathBuf>, config: Option<PathBuf>) -> Result<ExitCode> {
    // Before configuration, keys, sockets and threads: the launcher must have nothing of theirs.
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let launcher = Launcher::fork(silas_approval::keys::helper, clock.clone()).map_err(|e| anyhow!("{e}"))?;
    let loaded = load_config_with(config.as_deref(), args)?;
    start_log(&loaded.config.log);
    let home = home::prepare(&home::choose(data_dir, &loaded.config)?)?;
    // Keeps a second server away for as long as this process lives.
    let _lock = home.lock()?;
    home.has_room()?;
    soundness::check(&home)?;
    root_handover::finish_apart(&home)?;
    let first_time = !home.store().join("agent.sqlite").exists();
    let laid = lay_ground(launcher, home, loaded.config, clock.as_ref(), open_vault)?;
    silas_sandbox::raise_descriptor_limit(descriptors(&laid.front.config));
    opening::sweep(&laid.front.home.run())?;
    let opening = if args.quiet { None } else { greet(&laid, first_time) };
    let rules = FrontRules { writable: &[laid.front.home.store(), laid.front.home.run()], readable: &front_reads() };
    let confinement = confine_front(&rules).map_err(|e| anyhow!("{e}"))?;
    tracing::debug!(%confinement, "the front is confined");
    let front = wire::Front { opening, is_looked_at: !args.quiet, ..laid.front };
    wire::serve(front, laid.listeners)?;
    Ok(ExitCode::SUCCESS)
}

/// What a front stands on, while it may still open files and has no threads.
pub(crate) struct Ground {
    pub(crate) front: wire::Front,
    pub(crate) listeners: Listeners,
    pub(crate) sealed: Sealed,
    protection: Protection,
}

/// Keys, vault, ports, and the seal of the launcher, in an order in which each makes the next one safe.
pub(crate) fn lay_ground(
    launcher: Launcher,
    home: Home,
    config: Config,
    clock: &dyn Clock,
    open_vault: impl FnOnce(&Ready) -> Result<Vault>,
) -> Result<Ground> {
    let ready = first_run(&launcher, home, &config, clock)?;
    let server = server_key::ready(&launcher, &ready.home, &ready.anchor, clock)?;
    let vault = open_vault(&ready)?;
    let handovers = ready.handovers.clone();
    let handovers = Handovers::checked(handovers, &ready.anchor.root, &ready.anchor.installation)
        .map_err(|bad| anyhow!("The hand-overs of the root key do not count: {bad}."))?;
    let port = config.web.enabled.then_some(config.web.port);
    // The key is read here and nowhere later: the confined front cannot.
    let network = certificates::network_door(&config, &ready.home, clock.now())?;
    let ports = Ports::bind(port, network)?;
    // Only now: the launcher is told which ports are Silas's own, to which nothing that it runs may connect.
    let ready = Ready { own_ports: ports.numbers(), ..ready };
    let sealed = launcher.seal(seal(&ready, &config)).map_err(|e| anyhow!("{e}"))?;
    let listeners = ports.open(&ready.home.path)?;
    let front = wire::Front {
        config,
        home: ready.home,
        anchor: ready.anchor,
        terminal: ready.terminal,
        server,
        handovers,
        vault,
        launcher: Arc::new(launcher),
        user_home: std::env::var("HOME").ok(),
        start_dir: std::env::current_dir().ok(),
        owner_uid: std::fs::metadata("/proc/self")?.uid(),
        opening: None,
        is_looked_at: false,
    };
    Ok(Ground { front, listeners, sealed, protection: ready.protection })
}

pub(crate) fn init(data_dir: Option<PathBuf>, config: Option<PathBuf>) -> Result<ExitCode> {
    let launcher = Launcher::fork(silas_approval::keys::helper, Arc::new(SystemClock)).map_err(|e| anyhow!("{e}"))?;
    let loaded = load_config(config.as_deref())?;
    let home = home::prepare(&home::choose(data_dir, &loaded.config)?)?;
    let _lock = home.lock()?;
    root_handover::finish_apart(&home)?;
    let ready = first_run(&launcher, home, &loaded.config, &SystemClock)?;
    server_key::ready(&launcher, &ready.home, &ready.anchor, &SystemClock)?;
    wire::open_store(&ready.home)?;
    println!("Ready: {}", ready.home.path.display());
    println!("Root key: {}.", ready.protection);
    println!("Start with `{}`.", same_silas::start());
    Ok(ExitCode::SUCCESS)
}

/// For a command that brings its own launcher and needs no server: keys are made where there are none, and the launcher is
/// sealed so that it signs this terminal's commands and opens no door.
pub(crate) fn ready_for_command(
    launcher: &Launcher,
    data_dir: Option<PathBuf>,
    file: Option<&Path>,
) -> Result<(Ready, Sandbox)> {
    let config = load_config(file)?.config;
    let home = home::prepare(&home::choose(data_dir, &config)?)?;
    root_handover::finish_if_begun(&home)?;
    let ready = match home.known() {
        Ok(known) => {
            let anchor = Anchor { root: known.root, installation: known.installation, epoch: home.epoch()? };
            let protection = crate::key_commands::protection(&home)?;
            let (terminal, handovers) = (known.terminal, known.handovers);
            Ready { home, anchor, terminal, protection, handovers, own_ports: Vec::new() }
        }
        Err(_) => {
            // Two that start for the first time at once must not both make keys, and damaged ones are found out here.
            let _lock = home.lock()?;
            let ready = first_run(launcher, home, &config, &SystemClock)?;
            // The whole of a first run, so that nothing looks lost later.
            server_key::ready(launcher, &ready.home, &ready.anchor, &SystemClock)?;
            wire::open_store(&ready.home)?;
            ready
        }
    };
    // A server may run beside this one, at the ports of the configuration or at others.
    let mut own_ports = silas_web::control::ports(&ready.home.path);
    own_ports.extend(config.web.enabled.then_some(config.web.port).filter(|port| *port > 0));
    let ready = Ready { own_ports, ..ready };
    launcher.seal_for_command(seal(&ready, &config)).map_err(|e| anyhow!("{e}"))?;
    Ok((ready, config.sandbox))
}

/// Before the front is confined and has threads: a key in the system's keyring is fetched by a process of its own. One that
/// cannot be had leaves the vault locked, and everything else works.
fn open_vault(ready: &Ready) -> Result<Vault> {
    let dir = ready.home.vault();
    if ready.protection == Protection::Keyring && !dir.join("lock.json").exists() {
        let made = silas_sandbox::apart(KEYRING_PATIENCE, || {
            vault::protect(&dir, &mut || None, &lock::Keep::Keyring).map_err(|e| e.to_string())
        });
        if !matches!(made, Ok(Ok(()))) {
            tracing::warn!("the vault's key could not be put into the keyring; it is kept in a file");
        }
    }
    let fetch = || {
        let fetched = silas_sandbox::apart(KEYRING_PATIENCE, || {
            vault::key(&dir, &mut || None).ok().map(|key| key.expose().to_vec())
        });
        SealKey::from_slice(Secret::new(fetched.ok()??).expose())
    };
    Vault::open(&dir, fetch).context("The vault of secrets could not be opened, and nothing was changed")
}

/// Directory and keys: made where missing, checked where there.
fn first_run(launcher: &Launcher, home: Home, config: &Config, clock: &dyn Clock) -> Result<Ready> {
    let reply = launcher
        .init_keys(&home.path, clock.now(), &format!("{}'s terminal", config.owner_id), may_use_keyring(config))
        .map_err(|e| anyhow!("{e}"))
        .context("The keys could not be made ready.")?;
    let KeyReply::Ready { installation, root, terminal, protection, .. } = reply else {
        bail!("The key helper answered something else.")
    };
    let anchor = Anchor { root, installation, epoch: home.epoch()? };
    let handovers = home.known()?.handovers;
    Ok(Ready { home, anchor, terminal, protection, handovers, own_ports: Vec::new() })
}

/// Only where a session bus is announced: looking for one otherwise could start one.
fn may_use_keyring(config: &Config) -> bool {
    let is_announced = std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|address| !address.is_empty());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    config.keys.keyring && (is_announced || runtime.is_some_and(|dir| dir.join("bus").exists()))
}

fn seal(ready: &Ready, config: &Config) -> Seal {
    Seal {
        data_dir: ready.home.path.clone(),
        own: own::places(),
        anchor: ready.anchor.clone(),
        handovers: ready.handovers.clone(),
        undo_window_secs: config.undo.window_seconds,
        limits: CellLimits { closed_ports: ready.own_ports.clone(), ..limits(&config.sandbox) },
        copies: if config.sandbox.layered_copies { Copies::Auto } else { Copies::Whole },
        bounds: Bounds {
            entries_max: usize::try_from(config.sandbox.copy_files_max).unwrap_or(usize::MAX),
            bytes_max: config.sandbox.copy_mb_max << 20,
            changes_max: usize::try_from(config.sandbox.changes_max).unwrap_or(usize::MAX),
            waiting_bytes_max: config.sandbox.waiting_mb_max << 20,
        },
        tools: tool_places(),
    }
}

/// What every command is held to, of a plan as of `silas sandbox`.
pub(crate) fn limits(config: &Sandbox) -> CellLimits {
    CellLimits {
        memory_bytes_max: config.default_memory_mb << 20,
        cpu_secs_max: config.default_cpu_seconds,
        processes_max: config.default_processes,
        file_bytes_max: config.default_file_mb << 20,
        ..CellLimits::default()
    }
}

/// What the front reads besides its own data.
pub(crate) fn front_reads() -> Vec<PathBuf> {
    ["/etc", "/usr", "/lib", "/lib64", "/proc", "/dev/urandom"].map(PathBuf::from).to_vec()
}

/// Where the owner's own tools are, as the environment says. Only names are read here.
pub(crate) fn tool_places() -> ToolPlaces {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    ToolPlaces {
        home: absolute("HOME"),
        cargo_home: absolute("CARGO_HOME"),
        rustup_home: absolute("RUSTUP_HOME"),
        pyenv_root: absolute("PYENV_ROOT"),
        nvm_dir: absolute("NVM_DIR"),
        uv_pythons: absolute("UV_PYTHON_INSTALL_DIR"),
        pyenv_version: std::env::var("PYENV_VERSION").ok(),
        path: std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
    }
}

fn greet(Ground { front, listeners, sealed, protection }: &Ground, first_time: bool) -> Option<Opening> {
    let page = listeners.address();
    let pairing = format!("{page}/#pair={}", sealed.pairing_code);
    println!("Silas {}\n", env!("CARGO_PKG_VERSION"));
    // With a passphrase a code alone pairs nobody: the terminal that asks for it makes one.
    let is_locked = *protection == Protection::Passphrase;
    if is_locked {
        println!("  The page:  {page}\n");
        println!("  To pair a browser: `silas pair`, which asks for your passphrase.\n");
    } else if first_time {
        println!("  Open this in your browser and tap once, within 5 minutes:\n");
        println!("    {pairing}\n");
    } else {
        println!("  The page:  {page}\n");
        println!("  To pair a browser, within 5 minutes:  {pairing}\n");
    }
    if let Some(network) = listeners.network_address() {
        println!("  Other devices:  {network}/#pair={}\n", sealed.pairing_code);
    }
    match missing_isolation(&front.home) {
        Some(missing) => println!("  {missing}\n"),
        None if first_time => println!(
            "  There, “Try it on a sample project” shows the whole road in a minute. Without a browser: `silas chat`.\n"
        ),
        None => {}
    }
    println!("  Data: {}. Root key: {protection}.", front.home.path.display());
    if !first_time {
        println!("  For the commands that you approve, {}.", sealed.limits);
    }
    println!("  Stop with Ctrl-C: what runs may finish first. Nothing half done reaches your files.");
    opening::browser(&front.home.run(), &page, (!is_locked).then_some(&pairing))
}

/// Said before anybody wonders: where nothing can be isolated nothing is run, and everything else works. Must be asked while
/// this process has one thread.
fn missing_isolation(home: &Home) -> Option<String> {
    let dir = home.run().join(format!("probe-{}", std::process::id()));
    std::fs::create_dir(&dir).ok()?;
    let found = probes::probes(&dir);
    // What is left there is an empty directory of ours.
    let _leftover = std::fs::remove_dir(&dir);
    let bad = found.into_iter().find(|probe| probe.state == State::Bad)?;
    let what = bad.sentence.trim_start_matches("It cannot be used: ");
    Some(format!(
        "No command will be run here until this is mended: {what}\n  `silas doctor` says more, and `silas doctor --fix` mends what it can."
    ))
}

/// A person at a terminal has the greeting and is shown only what is wrong; a file or a journal gets the rest too.
fn start_log(log: &config::Log) {
    let usual = if std::io::stderr().is_terminal() { LevelFilter::WARN } else { LevelFilter::INFO };
    let named = log.levels.iter().map(|(part, level)| (crate_of(*part), filter(*level)));
    let levels = Targets::new().with_default(usual).with_targets(named);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(log.names_parts);
    let log_of = tracing_subscriber::registry().with(levels);
    match log.format {
        LogFormat::Text => log_of.with(lines).init(),
        LogFormat::Json => log_of.with(lines.json().flatten_event(true)).init(),
    }
}

fn crate_of(part: LogOf) -> &'static str {
    match part {
        LogOf::Agents => "silas_agents",
        LogOf::Approval => "silas_approval",
        LogOf::Runtime => "silas_runtime",
        LogOf::Sandbox => "silas_sandbox",
        LogOf::Store => "silas_store",
        LogOf::Web => "silas_web",
    }
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    }
}

/// Each connection is a descriptor, of devices and of those who are not known yet at either door; files, pipes and the
/// terminal's connections come on top.
fn descriptors(config: &Config) -> u64 {
    3 * config.limits.connections_max as u64 + 256
}

pub(crate) fn load_config(file: Option<&Path>) -> Result<Loaded> {
    load_config_besides(file, &[])
}

/// What is given on the command line counts last, and is checked like the rest.
fn load_config_besides(file: Option<&Path>, options: &[(&'static str, &'static str, String)]) -> Result<Loaded> {
    // The owner's own place and no other: a file in the directory where Silas happens to be started may be anybody's.
    let settings = own::config_base().map(|base| base.join("silas/silas.yaml")).filter(|file| file.exists());
    let loaded = Config::load(file.or(settings.as_deref()), variables(), options);
    let odd = config::not_text(std::env::vars_os());
    Ok(match loaded {
        Ok(loaded) if odd.is_empty() => loaded,
        Ok(_) => return Err(ConfigError { problems: odd }.into()),
        Err(ConfigError { problems }) => {
            return Err(ConfigError { problems: problems.into_iter().chain(odd).collect() }.into());
        }
    })
}

/// Those that are text. One of ours that is not is refused by name; one of another program is none of ours.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn load_config_with(file: Option<&Path>, args: &StartArgs) -> Result<Loaded> {
    let given = [
        ("--host", "channels.web.host", args.host.clone()),
        ("--port", "channels.web.port", args.port.map(|port| port.to_string())),
        ("--log", "log.format", args.log.clone()),
    ];
    let given = given.into_iter().filter_map(|(option, key, value)| Some((option, key, value?)));
    load_config_besides(file, &given.collect::<Vec<_>>())
}

pub(crate) fn config_check(file: Option<&Path>) -> Result<ExitCode> {
    load_config(file)?;
    println!("The configuration is sound.");
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn config_reference() -> Result<ExitCode> {
    print!("{}", crate::config::reference());
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn config_show(file: Option<&Path>) -> Result<ExitCode> {
    print!("{}", load_config(file)?.render());
    Ok(ExitCode::SUCCESS)
}
