//! INV-04: policy gates can block, quality gates advise. This version has no gates, so the one road to break it is a plan
//! that names some and is carried out without them. Such a plan is refused by name, never read as if it had none.

use crate::harness::plan_check;

#[test]
fn a_plan_that_counts_on_gates_is_refused() {
    for gates in
        ["gates: [{ name: guard, on: every_agent_response, provider: predicate }]", "gates: [{}]", "gates: { a: b }"]
    {
        let (sound, text) = plan_check(gates);
        assert!(!sound && text.contains("gates"), "{gates}: {text}");
    }
    let (sound, text) = plan_check("gates: []");
    assert!(sound, "no gates are no promise: {text}");
}
