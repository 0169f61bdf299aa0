//! What of a new plan is taken, and what is not offered.

use super::*;

fn written(front: &str, directory: &str, prose: &str) -> Definition {
    let markdown = format!(
        "---\nid: task-1\ntype: task\ntitle: x\n{front}verify:\n  - name: green\n    run: sh check.sh\n    expect: {{ exit_code: 0 \
         }}\nsandbox:\n  directories:\n    - {{ path: {directory}, access: write }}\n---\n\n{prose}\n"
    );
    plan::parse(markdown.as_bytes()).unwrap().definition().clone()
}

fn offered(new: &Definition) -> Result<Definition, String> {
    let mut old = written("executor: {}\nbudget: { max_attempts: 2 }\n", "/home/me/p", "Do it.");
    old.exits.typed = Some("make it green".to_owned());
    let id = WorkItemId::parse("task-2").unwrap();
    let planner = ModelName::parse("ollama:llama3.2").unwrap();
    revised(&old, new, (id, planner), "Red: green.", Wants::Way).map(|item| item.definition().clone())
}

#[test]
fn another_way_is_the_same_wish_with_the_same_checks() {
    let mut new = written("executor: {}\n", "/home/me/p", "Do it otherwise.");
    new.verify.clear();
    let d = offered(&new).unwrap();
    assert_eq!(d.verify.len(), 1, "how it is judged is not the planner's to change");
    assert_eq!((d.budget.max_attempts, d.spawned_by.is_some()), (2, true));
    assert_eq!(d.exits.typed.as_deref(), Some("make it green"));
    assert_eq!((d.owners_words(), d.body.as_str()), (Some("Do it."), "Do it otherwise."));
    let briefing = d.briefing();
    assert!(briefing.contains("You said: Do it.") && briefing.contains("failed. Red: green."), "{briefing}");
}

#[test]
fn what_is_the_same_or_goes_further_is_not_offered() {
    let check = |front: &str, directory: &str, prose: &str, expected: &str| {
        let why = offered(&written(front, directory, prose)).unwrap_err();
        assert!(why.contains(expected), "{why}");
    };
    check("executor: {}\n", "/home/me/p", "Do it.", "the same plan again");
    check("executor: {}\n", "/home/me", "Otherwise.", "other directories");
    check("executor: { tools: [shell_exec, web_search] }\n", "/home/me/p", "Otherwise.", "reaches more");
}
