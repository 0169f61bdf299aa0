//! The binary: commands, configuration, and the one place where the rooms meet.
//!
//! [`main`] reads its arguments and, for a server, forks the launcher before anything else exists: no configuration, no
//! key, no socket, no thread. Only this room reads configuration files and environment variables.

// First, so that its words are everybody's.
#[macro_use]
mod out;

mod arguments;
mod backup;
mod certificates;
mod config;
mod demo;
mod device_commands;
mod doctor;
mod eval;
mod exit;
mod forget_command;
mod grant_commands;
mod home;
pub mod in_process;
mod key_commands;
mod known_head;
mod ledger_export;
mod ledger_file;
mod man;
mod model_commands;
mod named_file;
mod opening;
mod own;
mod passphrase;
mod plan_file;
mod proof_file;
mod queue_commands;
mod restore;
mod room;
mod root_commands;
mod root_handover;
mod same_silas;
mod sandbox;
mod secret_commands;
mod server_key;
mod service_commands;
mod session_commands;
mod soundness;
mod start;
mod task_commands;
mod terminal;
mod throwaway;
mod tls_commands;
mod wall_clock;
mod wire;
mod work_commands;
mod world;

use clap::{CommandFactory, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "silas", version, about = "An assistant that does things on your machine, and can be trusted to.", after_help = exit::table())]
struct Args {
    /// Where Silas keeps its data; by default ~/.local/share/silas.
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The configuration file; by default ~/.config/silas/silas.yaml where there is one.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Start Silas and print the address of its page (what `silas` alone does).
    Start(start::StartArgs),
    /// Make keys and data directory without starting. Safe to repeat.
    Init,
    /// Play the whole story in the terminal: a bug, a plan, an approval, a proof, an undo.
    Demo(demo::DemoArgs),
    /// Tell Silas something, like in the page; without words, what comes by standard input.
    Say(terminal::SayArgs),
    /// Run a command in a private copy of the current directory. Its output and exit code are passed on; what it changed waits.
    Run(terminal::RunArgs),
    /// Follow the Stream: what is said, what is done, what waits. Ends with Ctrl-C.
    Watch {
        /// One JSON object on each line, for programs.
        #[arg(long)]
        json: bool,
    },
    /// Talk with Silas: your words, its answers, and its cards as numbered choices.
    Chat,
    /// Show what waits for a decision.
    Review {
        #[command(flatten)]
        output: terminal::Output,
    },
    /// Show a card of `silas review` with everything that it asks for.
    Show(terminal::ShowArgs),
    /// Approve a card of `silas review` (or the only one that waits).
    Approve(terminal::CardArgs),
    /// Have a plan of `silas review` carried out in a private copy and shown to you, before anything is applied.
    Rehearse(terminal::CardArgs),
    /// Have a plan that met an edit of yours done again, on your files as they are now.
    Redo(terminal::CardArgs),
    /// Answer a card of `silas review` with "not like this"; nothing runs, and you say it again.
    Change(terminal::CardArgs),
    /// Decline a card of `silas review`.
    Decline(terminal::CardArgs),
    /// Answer a card on which a model asks something before it plans. Allows nothing; the plan asks.
    Answer {
        /// The number of one of its answers, or your own words.
        #[arg(value_name = "ANSWER")]
        said: String,
        #[command(flatten)]
        card: terminal::CardArgs,
    },
    /// Ask a parked card again.
    Renew {
        #[command(flatten)]
        card: terminal::CardArgs,
        /// Ask whether to rehearse it instead: in a private copy, with nothing applied.
        #[arg(long)]
        rehearse: bool,
    },
    /// Put a card away that asks nothing.
    Dismiss(terminal::CardArgs),
    /// Take back the last applied work, while its undo window is open. Signed at once, at a terminal too.
    Undo {
        #[command(flatten)]
        output: terminal::Output,
    },
    /// See the work that was approved: its story, its diff, its proof as a file; apply what waits, undo what was applied.
    #[command(subcommand)]
    Work(work_commands::WorkCommand),
    /// Check a proof from any Silas; needs nothing but the file and that Silas's public root key.
    Verify(proof_file::VerifyArgs),
    /// Tell what happened, from the ledger; or open one row: what was asked, who signed, which rule, how much.
    Activity {
        /// The number before a row: shows what stands behind it, and its entry of the ledger.
        #[arg(value_name = "ENTRY", value_parser = arguments::entry, conflicts_with_all = ["away", "measures", "all", "before"])]
        entry: Option<u64>,
        /// Tell only what happened while you were away: in the longest pause between two things that you did.
        #[arg(long, conflicts_with = "measures")]
        away: bool,
        /// Tell everything, back to the beginning.
        #[arg(long, conflicts_with_all = ["away", "measures"])]
        all: bool,
        /// Tell what happened before this entry of the ledger.
        #[arg(long, value_name = "ENTRY", value_parser = arguments::entry, conflicts_with_all = ["away", "measures", "all"])]
        before: Option<u64>,
        /// Tell how deciding goes instead: how quick, how often no, how often undone.
        #[arg(long)]
        measures: bool,
        #[command(flatten)]
        output: terminal::Output,
    },
    /// Say whether Silas runs, and what it is doing.
    Status {
        #[command(flatten)]
        output: terminal::Output,
    },
    /// Say who follows the Stream, and what waits for whom.
    Sessions,
    /// Print a new address for pairing a browser; at a terminal, wait until it was used and say which digits it showed.
    Pair {
        /// Wait also where this is no terminal.
        #[arg(long)]
        wait: bool,
    },
    /// See and revoke the browsers that may decide.
    #[command(subcommand)]
    Device(device_commands::DeviceCommand),
    /// See and revoke what is allowed.
    #[command(subcommand)]
    Grant(grant_commands::GrantCommand),
    /// Say in which directories plans may work: list them, allow one before any wish needs it, take one back.
    #[command(subcommand)]
    Root(root_commands::RootCommand),
    /// Say how the keys are kept; set, change or remove their passphrase; exchange a key for a new one.
    #[command(subcommand)]
    Key(key_commands::KeyCommand),
    /// Keep secrets for plans: set, list, remove. Values are typed unseen and never shown.
    #[command(subcommand)]
    Secret(secret_commands::SecretCommand),
    /// Open the vault of secrets with the passphrase, until Silas stops.
    Unlock,
    /// Lock the vault of secrets again.
    Lock,
    /// End all running work now.
    Stop {
        /// Everything; there is no smaller stop yet.
        #[arg(long)]
        all: bool,
        /// Take back every grant as well. From then on everything asks you first.
        #[arg(long)]
        revoke: bool,
        /// End Silas itself too, as Ctrl-C where it runs would. Started by systemd, `systemctl --user stop silas` does the same.
        #[arg(long)]
        server: bool,
    },
    /// Write everything into one file, while Silas runs or not. The file holds your keys.
    Backup { file: PathBuf },
    /// Bring a backup back. Approvals from before no longer count.
    Restore {
        file: PathBuf,
        /// Move the data that is there aside. It is never deleted.
        #[arg(long)]
        replace: bool,
    },
    /// Look whether everything is in order, and say what to do where it is not.
    Doctor(doctor::DoctorArgs),
    /// Run one command exactly as an agent's would be run, and tell what it was allowed.
    Sandbox(sandbox::SandboxArgs),
    /// Make a certificate for the encrypted door, and say how a phone comes to trust it.
    Tls {
        #[command(subcommand)]
        command: Option<tls_commands::TlsCommand>,
    },
    /// Have Silas started by systemd when you log in.
    #[command(subcommand)]
    Service(service_commands::ServiceCommand),
    /// Keep your tasks.
    #[command(subcommand)]
    Task(task_commands::TaskCommand),
    /// Choose the models that Silas may ask, test them, and see what they cost.
    #[command(subcommand)]
    Model(model_commands::ModelCommand),
    /// Measure a model: have it do thirty small tasks with checks, in a Silas of its own, and see what it solves and costs.
    Eval(eval::EvalArgs),
    /// See what could not be done and was put aside, and have it tried again.
    #[command(subcommand)]
    Queue(queue_commands::QueueCommand),
    /// Look at the ledger.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at a plan file.
    #[command(subcommand)]
    Plan(PlanCommand),
    /// Print what makes a shell complete the commands, as in `silas completions bash >> ~/.bashrc`.
    Completions { shell: clap_complete::Shell },
    /// Print the manual page, as in `silas man > ~/.local/share/man/man1/silas.1`.
    Man,
}

#[derive(Subcommand)]
enum AuditCommand {
    /// Check the ledger, every approval and effect in it, and that it continues what was seen. Needs no running server.
    Verify(ledger_file::VerifyArgs),
    /// List its last entries with their numbers and texts. Needs no running server.
    List(ledger_file::ListArgs),
    /// Show the text of an entry, and have it forgotten. The entry stays.
    Forget(forget_command::ForgetArgs),
    /// Write the ledger into a file that can be checked on any machine.
    Export(ledger_export::ExportArgs),
    /// Where the ledger does not continue what this account has seen of it: show what differs, and go on from what is there.
    Accept(ledger_file::AcceptArgs),
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Check the configuration and say what is wrong.
    Check,
    /// Show every value and where it comes from.
    Show,
    /// Print a configuration file with every setting, its default and what it means.
    Reference,
}

#[derive(Subcommand)]
enum PlanCommand {
    /// Check a plan and say what is wrong, with line and column.
    Check { file: PathBuf },
    /// Give a plan to Silas. It asks before anything runs.
    Submit { file: PathBuf },
    /// Show what a plan would ask for, and its hash.
    Show { file: PathBuf },
}

/// Does what the command line says.
///
/// Long: a line for each command.
pub fn main() -> ExitCode {
    // Inside a sandbox this program is also the one that asks for secrets.
    if let Some(code) = silas_sandbox::secret_client(std::env::args_os()) {
        return ExitCode::from(code);
    }
    arm_fail_point();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(said) => return exit::usage(&said),
    };
    same_silas::remember(args.data_dir.as_deref(), args.config.as_deref());
    own::remember(args.config.as_deref());
    // A server must survive a reader that goes away, and so must whoever has to end one; `silas activity | head` must not
    // complain about one.
    if !matches!(
        args.command,
        None | Some(Command::Start(_) | Command::Sandbox(_) | Command::Demo(_) | Command::Eval(_))
    ) {
        silas_sandbox::end_when_nobody_reads();
    }
    let command = args.command.unwrap_or(Command::Start(start::StartArgs::default()));
    let result = match command {
        Command::Start(start) => start::run(&start, args.data_dir, args.config),
        Command::Init => start::init(args.data_dir, args.config),
        Command::Demo(demo) => demo::run(&demo),
        Command::Eval(eval) => eval::run(&eval, args.data_dir, args.config.as_deref()),
        Command::Completions { shell } => completions(shell),
        Command::Man => man::print(&Args::command()),
        Command::Config(ConfigCommand::Check) => start::config_check(args.config.as_deref()),
        Command::Config(ConfigCommand::Show) => start::config_show(args.config.as_deref()),
        Command::Config(ConfigCommand::Reference) => start::config_reference(),
        Command::Plan(PlanCommand::Check { file }) => plan_file::check(&file),
        Command::Plan(PlanCommand::Show { file }) => plan_file::show(&file),
        Command::Plan(PlanCommand::Submit { file }) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| plan_file::submit(&home, &file))
        }
        Command::Verify(verify) => proof_file::verify(&verify),
        Command::Work(work) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| work_commands::run(&home, work))
        }
        Command::Audit(AuditCommand::Verify(verify)) => {
            ledger_file::verify(&verify, args.data_dir, args.config.as_deref())
        }
        Command::Audit(AuditCommand::Accept(accept)) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| ledger_file::accept(&accept, &home))
        }
        Command::Audit(AuditCommand::List(list)) => ledger_file::list(&list, args.data_dir, args.config.as_deref()),
        Command::Audit(AuditCommand::Forget(forget)) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| forget_command::run(&home, &forget))
        }
        Command::Sessions => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| session_commands::run(&home))
        }
        Command::Queue(queue) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| queue_commands::run(&home, queue))
        }
        Command::Audit(AuditCommand::Export(export)) => {
            ledger_export::export(&export, args.data_dir, args.config.as_deref())
        }
        Command::Backup { file } => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| backup::run(&home, &file))
        }
        Command::Sandbox(sandbox) => sandbox::run(&sandbox, args.data_dir, args.config.as_deref()),
        Command::Doctor(doctor) => doctor::run(&doctor, args.data_dir, args.config.as_deref()),
        Command::Tls { command } => tls_commands::run(command, args.data_dir, args.config.as_deref()),
        Command::Service(service) => service_commands::run(&service, args.data_dir, args.config),
        Command::Restore { file, replace } => restore::run(&file, args.data_dir, args.config.as_deref(), replace),
        Command::Task(task) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| task_commands::run(&home, task))
        }
        Command::Model(model) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| model_commands::run(&home, model))
        }
        Command::Device(device) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| device_commands::run(&home, device))
        }
        Command::Grant(grant) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| grant_commands::run(&home, grant))
        }
        Command::Root(root) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| root_commands::run(&home, root))
        }
        Command::Key(key) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| key_commands::run(&home, &key))
        }
        Command::Secret(secret) => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| secret_commands::run(&home, secret))
        }
        Command::Unlock => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| secret_commands::unlock(&home))
        }
        Command::Lock => {
            home::find(args.data_dir, args.config.as_deref()).and_then(|home| secret_commands::lock(&home))
        }
        client => home::find(args.data_dir, args.config.as_deref()).and_then(|home| terminal::run(&home, client)),
    };
    exit::code(result)
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    clap_complete::generate(shell, &mut Args::command(), "silas", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}

/// Tests pull the plug at a named instant. Release builds have no such thing.
fn arm_fail_point() {
    #[cfg(debug_assertions)]
    if let Ok(name) = std::env::var("SILAS_FAIL_AT") {
        let point = silas_core::fail::FailPoint::ALL.into_iter().find(|point| point.name() == name);
        if let Some(point) = point {
            silas_core::fail::arm(point, silas_sandbox::pull_the_plug);
        }
    }
}
