//! `silas man`: the manual page, made from the same words as `--help`, so that neither can say what the other does not.
//!
//! Deliberately absent: a page for each command; one page is what `man silas` finds and a reader can search.

use crate::exit;
use clap::{Arg, Command};
use std::fmt::Write;
use std::process::ExitCode;

pub(crate) fn print(command: &Command) -> anyhow::Result<ExitCode> {
    let mut command = command.clone();
    command.build();
    verbatim!("{}", page(&command).trim_end());
    Ok(ExitCode::SUCCESS)
}

fn page(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let version = command.get_version().unwrap_or_default();
    let mut page = format!(".TH SILAS 1 \"\" \"silas {}\"\n", roff(version));
    section(&mut page, "NAME");
    let _ = writeln!(page, "silas \\- {}", roff(about.trim_end_matches('.')));
    section(&mut page, "SYNOPSIS");
    let _ = writeln!(page, ".B silas\n[\\fIOPTIONS\\fR] [\\fICOMMAND\\fR]");
    section(&mut page, "DESCRIPTION");
    let _ = writeln!(page, "{}\n.PP\nWithout a command Silas is started.", roff(&about));
    section(&mut page, "OPTIONS");
    options(&mut page, command);
    section(&mut page, "COMMANDS");
    commands(&mut page, command, "silas");
    section(&mut page, "EXIT STATUS");
    // As it stands in `--help`, where rows are rows.
    let _ = writeln!(page, ".nf");
    exit::table().lines().for_each(|line| {
        let _ = writeln!(page, "{}", roff(line));
    });
    let _ = writeln!(page, ".fi");
    section(&mut page, "EXAMPLES");
    for (what, typed) in EXAMPLES {
        let _ = writeln!(page, ".TP\n{}\n.nf\n\\fB{}\\fR\n.fi", roff(what), roff(typed));
    }
    page
}

/// As they are typed.
const EXAMPLES: [(&str, &str); 6] = [
    ("A task, without quotes", "silas say add task buy milk"),
    ("Tests in a private copy, with their exit code", "silas run -- make test"),
    ("A wish that waits for its result", "silas say --wait run make fmt in ~/code/app and check with make test"),
    ("Words from a pipe", "git log -1 | silas say what does this change -"),
    ("What happened last night, for a program", "silas activity --away --json"),
    ("Everything that happens, as it happens", "silas watch"),
];

fn commands(page: &mut String, command: &Command, path: &str) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        let _ = writeln!(page, ".SS {}", roff(&path));
        let usage = sub.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").replace('\n', " ");
        let about = sub.get_long_about().or(sub.get_about()).map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(page, "{}\n.PP\n\\fI{}\\fR", roff(&about), roff(usage.trim()));
        options(page, sub);
        commands(page, sub, &path);
    }
}

/// What is asked of every command is told once.
fn options(page: &mut String, command: &Command) {
    let is_root = command.get_name() == "silas";
    let is_told = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        !arg.is_hide_set() && (is_root || !arg.is_global_set()) && (is_root || !matches!(id, "help" | "version"))
    };
    for arg in command.get_arguments().filter(is_told) {
        let values: Vec<String> = arg.get_value_names().into_iter().flatten().map(ToString::to_string).collect();
        let takes = arg.get_action().takes_values();
        let value =
            if takes && !values.is_empty() { format!(" \\fI{}\\fR", roff(&values.join(" "))) } else { String::new() };
        let named = match (arg.get_short(), arg.get_long()) {
            (Some(short), Some(long)) => format!("\\fB\\-{short}\\fR, \\fB\\-\\-{}\\fR{value}", roff(long)),
            (None, Some(long)) => format!("\\fB\\-\\-{}\\fR{value}", roff(long)),
            (Some(short), None) => format!("\\fB\\-{short}\\fR{value}"),
            (None, None) => value.trim_start().to_owned(),
        };
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(page, ".TP\n{named}\n{}", roff(&help));
    }
}

fn section(page: &mut String, title: &str) {
    let _ = writeln!(page, ".SH {title}");
}

/// Text that a reader of roff shows as it is: no line of it is an order to the formatter.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let line = |line: &str| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() };
    escaped.lines().map(line).collect::<Vec<_>>().join("\n")
}
