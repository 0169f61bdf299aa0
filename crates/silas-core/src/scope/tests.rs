//! A scope reads back as what it was, and nothing else reads as one.

use super::*;
use proptest::prelude::*;

fn names() -> impl Strategy<Value = Name> {
    "[A-Za-z0-9_.@+=:-]{1,100}".prop_map(|name| Name::parse(&name).unwrap())
}

fn scopes() -> impl Strategy<Value = Scope> {
    prop_oneof![
        Just(Scope::Owner),
        names().prop_map(Scope::Customer),
        names().prop_map(Scope::Actor),
        names().prop_map(Scope::Channel),
    ]
}

proptest! {
    #[test]
    fn it_reads_back_as_what_it_was(scope in scopes()) {
        prop_assert_eq!(&Scope::parse(&scope.to_string()).unwrap(), &scope);
        let json = serde_json::to_string(&scope).unwrap();
        prop_assert_eq!(serde_json::from_str::<Scope>(&json).unwrap(), scope);
    }

    #[test]
    fn two_that_differ_never_read_the_same(one in scopes(), other in scopes()) {
        prop_assert_eq!(one == other, one.to_string() == other.to_string());
    }

    #[test]
    fn whatever_reads_as_one_is_written_the_same_way(text in "(owner|customer|actor|channel|.{0,3})(:.{0,8})?") {
        if let Ok(scope) = Scope::parse(&text) {
            prop_assert_eq!(scope.to_string(), text);
        }
    }
}

#[test]
fn its_texts() {
    let name = |text| Name::parse(text).unwrap();
    assert_eq!(Scope::Owner.to_string(), "owner");
    assert_eq!(Scope::Customer(name("ann@example.org")).to_string(), "customer:ann@example.org");
    assert_eq!(Scope::Actor(name("ci")).to_string(), "actor:ci");
    assert_eq!(Scope::Channel(name("telegram:12345")).to_string(), "channel:telegram:12345");
}

#[test]
fn nothing_else_is_a_scope() {
    let refused = [
        "",
        "Owner",
        "owner ",
        " owner",
        "owner:",
        "owner:ann",
        "owner/reflex",
        "customer",
        "customer:",
        "customer: ann",
        "customer:ann\n",
        "customer:ann\0",
        "customer:ann/reflex",
        "customer:a|b",
        "customer:a,b",
        "customer:é",
        "Customer:ann",
        "somebody:ann",
        ":ann",
        &format!("actor:{}", "x".repeat(101)),
    ];
    for text in refused {
        assert!(Scope::parse(text).is_err(), "{text:?}");
        assert!(serde_json::from_value::<Scope>(serde_json::json!(text)).is_err(), "{text:?}");
    }
    assert!(Scope::parse(&"x".repeat(1_000_000)).unwrap_err().to_string().len() < 300);
}
