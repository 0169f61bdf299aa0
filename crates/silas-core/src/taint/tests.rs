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

/// The sentences about where taint comes from, one by one.
#[test]
fn every_source_has_one_taint() {
    assert_eq!(Source::Signed.taint(), Taint::Owner, "signed by the owner's key");
    assert_eq!(Source::Channel.taint(), Taint::Auth, "an authenticated identity of a channel");
    assert_eq!(Source::Elsewhere.taint(), Taint::External, "all others");
    assert_eq!(Source::Own.taint(), Taint::Auth, "Silas is not the owner");
}

#[test]
fn outputs_are_external_unless_everything_in_them_is_trusted_and_nothing_came_over_a_network() {
    for inputs in [Taint::Owner, Taint::Auth, Taint::External] {
        assert_eq!(Source::Execution { inputs, network: false }.taint(), inputs);
        // Web searches, fetches, and tools of others: whatever they were asked with.
        assert_eq!(Source::Execution { inputs, network: true }.taint(), Taint::External);
    }
}

/// What is made of something inherits its taint; anything external in it makes all of it external.
#[test]
fn lineage_is_the_join_and_nothing_known_is_external() {
    assert_eq!(Lineage::default().taint(), Taint::External);
    let all = [Taint::Owner, Taint::Auth, Taint::External];
    for a in all {
        assert_eq!([a].into_iter().collect::<Lineage>().taint(), a);
        for b in all {
            let mixed: Lineage = [a, b].into_iter().collect();
            assert_eq!(mixed.taint(), a.join(b));
            assert_eq!(mixed.taint() == Taint::External, a == Taint::External || b == Taint::External);
        }
    }
}

#[test]
fn only_the_owner_may_ask() {
    assert!(Taint::Owner.may_ask());
    assert!(!Taint::Auth.may_ask() && !Taint::External.may_ask());
}
