//! What a gate is asked, by whom, and what comes of it.

use super::*;
use serde_json::json;
use silas_core::tool::object;

struct Doubles;

impl Gate for Doubles {
    fn reply_out(&self, text: &str) -> Ruling<String> {
        Ruling::Rewritten(text.repeat(2))
    }

    fn tool_call(&self, _spec: &Spec, arguments: &Value) -> Ruling<Value> {
        Ruling::Rewritten(json!({ "n": arguments["n"].as_u64().unwrap_or_default() * 2 }))
    }
}

struct AtMost(usize);

impl Gate for AtMost {
    fn reply_out(&self, text: &str) -> Ruling<String> {
        if text.len() <= self.0 {
            return Ruling::Passes;
        }
        Ruling::Blocked(Blocked { code: "E_TEST", why: format!("{} is too long", text.len()), todo: "" })
    }
}

struct NeverAsked;

impl Gate for NeverAsked {
    fn reply_out(&self, text: &str) -> Ruling<String> {
        panic!("asked about {text}")
    }
}

#[test]
fn each_gate_is_asked_about_what_the_one_before_made_of_it_until_one_blocks() {
    let (few, many) = (AtMost(3), AtMost(8));
    let passes = |gates: &[&'static dyn Gate], more: &AtMost| {
        let mut all: Vec<&dyn Gate> = gates.to_vec();
        all.push(more);
        Gates::new(all).reply_out("ab".to_owned()).map_err(|blocked| blocked.why)
    };
    assert_eq!(passes(&[], &few), Ok("ab".to_owned()));
    assert_eq!(passes(&[&Doubles], &few), Err("4 is too long".to_owned()));
    assert_eq!(passes(&[&Doubles, &Doubles], &many), Ok("abababab".to_owned()));
    // What comes after a block is not asked.
    assert_eq!(
        Gates::new([&few as &dyn Gate, &NeverAsked]).reply_out("abcd".to_owned()).unwrap_err().why,
        "4 is too long"
    );
}

#[test]
fn a_gate_has_a_say_only_where_it_says_so() {
    let gates = Gates::new([&Doubles as &dyn Gate]);
    assert_eq!(gates.message_in("ab"), Ok(()));
    let spec = Spec::reading("count", "Counts.", object(&[("n", json!({ "type": "integer" }))]));
    assert_eq!(gates.tool_call(&spec, json!({ "n": 2 })).unwrap(), json!({ "n": 4 }));
}
