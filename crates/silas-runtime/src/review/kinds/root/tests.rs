//! What a directory is called where it is allowed.

use super::*;

fn asked(path: &str) -> Face {
    let place = Place { path: path.to_owned(), device: "2049".to_owned(), inode: "1311".to_owned() };
    Words::new(Some("/home/mira".to_owned())).root(&place)
}

#[test]
fn a_long_name_that_is_only_mentioned_keeps_both_ends() {
    let shown = crate::words::name_of("/home/mira/photographs-of-the-northern-harbours-2026");
    assert_eq!(shown, "photographs-of…harbours-2026");
    assert_eq!(crate::words::name_of("/home/mira/tidepool"), "tidepool");
}

#[test]
fn a_name_that_does_not_fit_is_told_below_and_nowhere_cut() {
    let long = "/home/mira/photographs-of-the-northern-harbours-2026";
    let face = asked(long);
    assert_eq!(face.intent, "Let plans work in the directory named below");
    assert_eq!(face.ctas[0].label, "Allow plans in the directory named below");
    assert_eq!(face.details[0].lines[0], long);
    assert!(face.facts.iter().any(|fact| fact.text.ends_with("listed below")), "the details begin open");
    let said = serde_json::to_string(&face).unwrap();
    assert!(!said.contains('…'), "{said}");
    // A name that fits is whole, whatever comes before it.
    let face = asked("/home/mira/code/of-the-northern-coast/harbours/tidepool");
    assert_eq!(face.facts[0].text, "…/tidepool, not .git");
    assert_eq!(face.details[0].lines[0], "/home/mira/code/of-the-northern-coast/harbours/tidepool");
    assert_eq!((face.intent.as_str(), face.breaches()), ("Let plans work in tidepool", Vec::new()));
    assert_eq!(asked("/home/mira/Pläne 2026").ctas[0].label, "Allow plans in Pläne 2026");
}
