//! Which calls are exits, and what becomes of them.

use super::*;
use serde_json::json;
use silas_core::Taint;
use silas_core::exits::Exits;
use silas_core::seen::Sight;
use silas_core::tool::object;

fn spec(effect: Effect, ways_out: Vec<WayOut>) -> Spec {
    Spec { effect, ways_out, ..Spec::reading("tool", "", object(&[])) }
}

fn seen(readings: &[bool]) -> Seen {
    let mut seen = Seen::default();
    for is_private in readings {
        let source = format!("private: {is_private}");
        seen.add(Sight { taint: Taint::External, is_private: *is_private, source }, "say beacon");
    }
    seen
}

#[test]
fn a_question_to_the_web_is_an_exit() {
    let exits = Exits { typed: Some("look up moon phases".to_owned()), ..Exits::default() };
    let declared = Declared { exits: &exits, flows: &[] };
    let tool = spec(Effect::Reads, vec![WayOut::Search { query: "query".to_owned() }]);
    let judge = |query: &str, readings: &[bool]| judged(declared, &tool, &json!({ "query": query }), &seen(readings));
    assert_eq!(judge("beacon", &[]), Verdict::Allowed);
    assert!(matches!(judge("beacon", &[false]), Verdict::Asks(wait) if wait.undeclared[0].value == "beacon"));
    assert!(matches!(judge("beacon", &[true]), Verdict::Denied(why) if why.contains("private")));
    assert!(matches!(judge("beacon", &[true, false]), Verdict::Denied(_)));
    assert_eq!(judge("moon phases", &[true, false]), Verdict::Allowed);
}

#[test]
fn inside_a_copy_nothing_is_an_exit_and_outside_everything_is() {
    let exits = Exits::default();
    let declared = Declared { exits: &exits, flows: &[] };
    let judge =
        |effect, ways_out| judged(declared, &spec(effect, ways_out), &json!({ "q": "beacon" }), &seen(&[true, false]));
    assert_eq!(judge(Effect::Workspace, vec![]), Verdict::Allowed);
    assert_eq!(judge(Effect::Reads, vec![]), Verdict::Allowed);
    assert_eq!(judge(Effect::Outside, vec![WayOut::Owner]), Verdict::Allowed);
    // One that does not say what it lets out is asked about, whatever it is called.
    assert!(matches!(judge(Effect::Outside, vec![]), Verdict::Asks(_)));
    // Of several ways the narrowest decides, in any order.
    let search = || WayOut::Search { query: "q".to_owned() };
    assert!(matches!(judge(Effect::Outside, vec![WayOut::Owner, search()]), Verdict::Denied(_)));
    assert!(matches!(judge(Effect::Outside, vec![search(), WayOut::Owner]), Verdict::Denied(_)));
}
