//! Mixing texts: the algebra that keeps the worse origin.

use super::*;

const ALL: [Taint; 3] = [Taint::Owner, Taint::Auth, Taint::External];

#[test]
fn join_is_a_semilattice_with_owner_as_its_unit() {
    for a in ALL {
        assert_eq!(a.join(a), a);
        assert_eq!(a.join(Taint::Owner), a);
        assert_eq!(a.join(Taint::External), Taint::External);
        for b in ALL {
            assert_eq!(a.join(b), b.join(a));
            assert!(a.join(b) >= a && a.join(b) >= b, "mixing never makes a text more trusted");
            for c in ALL {
                assert_eq!(a.join(b).join(c), a.join(b.join(c)));
            }
        }
    }
}

#[test]
fn a_wrapped_text_keeps_its_taint() {
    let file = Tainted::new("rm", Taint::External);
    assert_eq!(file.clone().map(str::len).taint(), Taint::External);
    let mixed = Tainted::new("please ", Taint::Owner).join(file, |a, b| format!("{a}{b}"));
    assert_eq!((mixed.peek().as_str(), mixed.taint()), ("please rm", Taint::External));
}

#[test]
fn names_on_the_wire_are_fixed_and_nothing_else_is_read() {
    assert_eq!(serde_json::to_string(&ALL).unwrap(), r#"["owner","auth","external"]"#);
    for other in [r#""Owner""#, r#""trusted""#, r#""""#, "null", "0"] {
        assert!(serde_json::from_str::<Taint>(other).is_err(), "{other}");
    }
    assert!(serde_json::from_str::<Tainted<String>>(r#"{"value":"x"}"#).is_err(), "taint has no default");
}
