//! What the tools of a copy run, and how large the executor's prompt is with all of them.

use super::files::{read_command, write_command};
use super::*;
use crate::hub::tell_user::tell_user;
use silas_agents::{Prompt, prompt_size};
use silas_core::Taint;
use silas_core::boundary::{Call, Policy, admit};
use silas_core::model::{KeySource, ModelGrant, ModelName, Role};

#[test]
fn a_path_is_a_word_of_its_own_and_never_an_option() {
    let argv = |command: Command| match command {
        Command::Argv(words) => words[4..].to_vec(),
        other => panic!("{other:?}"),
    };
    let odd = json!({ "path": "-rf $(x) `y`", "from_line": 3, "lines": 2, "depth": null });
    assert_eq!(argv(read_command(&odd)), ["./-rf $(x) `y`", "3,4p"]);
    assert_eq!(argv(list_command(&odd)), ["./-rf $(x) `y`", "2"]);
    let whole = json!({ "path": "/home/me/p/a", "from_line": null, "lines": null });
    assert_eq!(argv(read_command(&whole)), ["/home/me/p/a", "1048577"]);
    let rest = json!({ "path": "a", "from_line": 7, "lines": null });
    assert_eq!(argv(read_command(&rest)), ["./a", "7,$p"]);
    assert_eq!(argv(write_command("-n", "a\0\0b\n", false)), ["./-n", "new", "a", "", "b\n"]);
}

#[test]
fn the_executor_s_prompt_is_small_with_all_its_tools() {
    let model = ModelName::parse("ollama:bench").unwrap();
    let receipts = [ModelGrant::new(model.clone(), vec![Role::Executor], KeySource::None, None)];
    let payload = json!({
        "date": "2026-11-15", "briefing": "hello", "is_research": false, "directories": ["/home/me/p"], "checks": [],
        "attempt": 1, "attempts_max": 5, "failures": [], "guidance": null,
    });
    let call = Call { asker: Taint::Owner, role: Role::Executor, model: &model, payload };
    let policy =
        Policy { allowed: std::slice::from_ref(&model), local_only: false, receipts: &receipts, has_key: &|| true };
    let prompt = Prompt::render(&admit(call, &policy).unwrap()).unwrap();
    let specs = [script("shell_exec", SHELL, "shell.exec"), script("python_exec", PYTHON, "python.exec")];
    let [reads, writes, lists, tells] = [read_file(), write_file(), list_files(), tell_user()];
    let size = prompt_size(Role::Executor, &prompt, &[&specs[0], &specs[1], &reads, &writes, &lists, &tells]);
    assert!(size < 1_000, "{size} tokens");
    let published = include_str!("../../../../../bench/README.md");
    assert!(published.contains(&format!("{size} tokens")), "{size} tokens: say so in bench/README.md");
}
