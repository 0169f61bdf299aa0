//! Every rule of the contract can be broken, and is then named.

use crate::card::{Cta, Detail, Face, Fact, Press};
use crate::house_rules::HouseRules;

fn breaks(change: impl Fn(&mut Face), expected: &str) {
    let mut face = HouseRules::current().card_face();
    assert_eq!(face.breaches(), Vec::<String>::new());
    change(&mut face);
    let found = face.breaches();
    assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
}

fn fact(label: &str, text: &str) -> Fact {
    Fact { label: label.to_owned(), text: text.to_owned() }
}

#[test]
fn each_breach_is_named() {
    breaks(|face| face.intent = "x".repeat(61), "intent is too long");
    breaks(|face| face.facts = vec![fact("Uses", "x"); 6], "6 facts");
    breaks(|face| face.facts.push(fact("Spends", "x")), "no such label: Spends");
    breaks(|face| face.facts.push(fact("Uses", &"x".repeat(31))), "Uses is too long");
    breaks(|face| face.facts.push(fact("Uses", "…tail")), "Uses is cut off");
    breaks(|face| face.facts.push(fact("Uses", "…/tidepool")), "Uses is cut off");
    breaks(
        |face| {
            face.details.push(Detail { title: "Uses".to_owned(), lines: vec!["/home/mira/tidepool".to_owned()] });
            face.facts.push(fact("Uses", "…/tide…"));
        },
        "Uses is cut off",
    );
    let mut face = HouseRules::current().card_face();
    face.details.push(Detail { title: "Uses".to_owned(), lines: vec!["~/code/tidepool, not .git".to_owned()] });
    face.facts.push(fact("Uses", "…/tidepool, not .git"));
    assert_eq!(face.breaches(), Vec::<String>::new(), "the whole path is below");
    breaks(|face| face.rationale.clear(), "does not say why");
    breaks(|face| face.ctas[1].press = Press::Change, "the last button declines");
    breaks(|face| face.ctas[0].consequence.clear(), "without its consequence");
    let listed = |face: &mut Face| {
        face.details.clear();
        face.facts.push(fact("Uses", "4 hosts, listed below"));
    };
    breaks(listed, "nothing is listed below");
    let cta = Cta { press: Press::Change, label: "Change it".to_owned(), consequence: String::new() };
    breaks(|face| (0..2).for_each(|_| face.ctas.insert(1, cta.clone())), "4 buttons");
}
