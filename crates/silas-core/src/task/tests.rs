//! Which ids follow from what, and which call fits which words.

use super::*;
use crate::{AgentId, InstallationId, Scope, canonical, reflex};

fn operation(n: u32) -> OperationId {
    OperationId::derive(&MessageId::parse(&format!("msg-{n}")).unwrap())
}

#[test]
fn ids_follow_from_the_message() {
    let message = MessageId::parse("msg-1").unwrap();
    let operation = OperationId::derive(&message);
    assert_eq!(operation.0, canonical::digest(&("v1", "operation", &message)).unwrap());
    let task = TaskId::derive(&operation);
    assert_eq!(TaskId::derive(&operation), task);
    assert_eq!(TaskId::parse(task.as_str()).unwrap(), task);
    assert_eq!(&task.as_str()[14..15], "8");
    assert_ne!(TaskId::derive(&self::operation(2)), task);
}

#[test]
fn an_operation_follows_from_the_run_the_action_and_its_place() {
    let agent = AgentId::of(&InstallationId::parse("inst-1").unwrap(), &Scope::Owner);
    let run = RunKey::said(&agent, &MessageId::parse("msg-1").unwrap());
    let add = |run: &RunKey, title: &str, occurrence| {
        let call = TaskCall::add(run, title.to_owned(), occurrence).unwrap();
        let operation = call.operation(run, occurrence).unwrap();
        assert!(matches!(&call, TaskCall::AddTask { task, .. } if *task == TaskId::derive(&operation)));
        operation
    };
    let first = add(&run, "Call Ada", 0);
    let named = ("v1", "operation", run, "add_task", json!({ "title": "Call Ada" }), 0);
    assert_eq!(first.0, canonical::digest(&named).unwrap());
    assert_eq!(add(&run, "Call Ada", 0), first, "the same call of the same run is the same operation");
    let other = RunKey::said(&agent, &MessageId::parse("msg-2").unwrap());
    for another in [add(&run, "Call Ada", 1), add(&run, "Call Bob", 0), add(&other, "Call Ada", 0)] {
        assert_ne!(another, first);
    }
}

#[test]
fn what_is_no_uuid_is_no_task() {
    for text in ["", "task-1", "3F2504E0-4F89-81D3-9A0C-0305E82C3301", "3f2504e04f8981d39a0c0305e82c3301"] {
        assert!(TaskId::parse(text).is_err(), "{text}");
        assert!(serde_json::from_value::<TaskId>(text.into()).is_err(), "{text}");
    }
    assert!(TaskId::parse("3f2504e0-4f89-81d3-9a0c-0305e82c3301").is_ok());
}

#[test]
fn a_call_fits_the_words_that_ask_for_exactly_it() {
    let (one, two) = (operation(1), operation(2));
    let (task, title) = (TaskId::derive(&one), "Call the dentist".to_owned());
    let add = TaskCall::AddTask { task: task.clone(), title: title.clone() };
    let complete = TaskCall::CompleteTask { task: task.clone(), title: title.clone(), version: 1 };
    let reopen = TaskCall::ReopenTask { task: task.clone(), title, version: 2 };
    let fits = |call: &TaskCall, operation: &OperationId, text: &str| call.fits(operation, &reflex::decide(text));

    assert!(fits(&add, &one, "add task `Call the dentist`"));
    assert!(!fits(&add, &two, "add task `Call the dentist`"), "another message's task");
    assert!(!fits(&add, &one, "add task `call the dentist`"), "a title is kept as it was written");
    assert!(!fits(&add, &one, "done with `Call the dentist`"));

    assert!(fits(&complete, &two, "done with `call the DENTIST`"));
    assert!(fits(&complete, &two, &format!("done with `{task}`")));
    assert!(!fits(&complete, &two, "done with `Call the`"));
    assert!(!fits(&complete, &two, "reopen `Call the dentist`"));
    assert!(fits(&reopen, &two, "reopen `Call the dentist`"));
    for call in [&add, &complete, &reopen] {
        for text in ["tasks", "what did you do?", "please", "run `a` and check with `b`"] {
            assert!(!fits(call, &one, text), "{text}");
        }
    }
}
