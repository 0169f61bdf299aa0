//! What an envelope may say, and what a result keeps.

use super::*;
use crate::TokenId;

pub(crate) fn envelope() -> Envelope {
    let args = Command::Argv(vec!["true".to_owned()]);
    Envelope {
        kind: EnvelopeKind::Step,
        step_index: 0,
        task_description: "Try it".to_owned(),
        action: Executor::of(&args),
        args,
        life: Life::Run,
        timeout_seconds: 10,
        max_output_bytes: 1000,
        sandbox_config: SandboxConfig {
            work_dir: None,
            filesystem_read: Vec::new(),
            filesystem_write: Vec::new(),
            hosts: Vec::new(),
            toolchains: Vec::new(),
            max_memory_mb: 100,
            max_cpu_seconds: 10,
            max_processes: 10,
            max_file_mb: 10,
            env: BTreeMap::new(),
            state: None,
        },
    }
}

#[test]
fn what_is_signed_is_read_back() {
    let envelope = envelope();
    let text = envelope.canonical().unwrap();
    assert_eq!(Envelope::from_canonical(&text), Ok(envelope));
    assert!(Envelope::from_canonical(&text.replace("\"life\"", "\"more\":1,\"life\"")).is_err());
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Envelope), expect: &str) {
    let mut changed = envelope();
    change(&mut changed);
    let why = changed.check().unwrap_err();
    assert!(why.contains(expect), "{why}");
    assert!(Envelope::from_canonical(&changed.canonical().unwrap()).is_err());
}

#[test]
fn what_could_not_have_been_meant_is_refused() {
    refused(|e| e.timeout_seconds = 0, "0 seconds for time");
    refused(|e| e.max_output_bytes = u64::from(u32::MAX), "at most 1073741824 bytes");
    refused(|e| e.args = Command::Argv(Vec::new()), "no program");
    refused(|e| e.args = Command::Argv(vec!["a\0b".to_owned()]), "zero byte");
    refused(|e| e.args = Command::python("x".repeat(20_000)), "16 KiB");
    refused(|e| e.action = Executor::PythonExec, "executor");
    refused(|e| e.sandbox_config.state = Some("../x".to_owned()), "small letters");
    refused(|e| e.sandbox_config.max_processes = 0, "0 processes");
}

#[test]
fn a_result_keeps_both_ends_and_says_so() {
    let execution = ExecutionId::derive(&TokenId::of(&crate::Digest::of(b"t")), 0);
    let metadata = Metadata {
        executor: Executor::ShellExec,
        ended: Ended::Exited(3),
        took_ms: 1,
        is_truncated: false,
        is_memory_exceeded: false,
        is_disk_nearly_full: false,
        is_not_text: false,
        printed_at: None,
        asked: Vec::new(),
    };
    let long = vec![b'x'; STREAM_CHARS_MAX + 1];
    let result = ExecutionResult::new(execution.clone(), 2, metadata, (&long, 0), (b"\xff oh", 0));
    let kept = &result.for_model.peek().return_value;
    assert!(kept.starts_with("xx") && kept.contains("[… 1 characters are left out here …]") && kept.ends_with("xx"));
    assert_eq!(result.for_model.peek().artifacts["stderr"], "\u{fffd} oh");
    assert_eq!(result.for_model.taint(), Taint::External);
    assert!(!result.success && result.metadata.is_truncated && result.metadata.is_not_text);
    assert_eq!(result.error.as_deref(), Some("It ended with exit code 3."));
    assert!(result.output().ends_with(" oh"));
    let missing = ExecutionResult::not_started(execution, 0, Executor::ShellExec, "no such program");
    assert_eq!((missing.success, missing.output().as_str()), (false, "no such program"));
}
