//! What is said at the end of the road.

use super::*;

#[test]
fn the_last_sentence_offers_one_that_is_understood() {
    let offered: Vec<&&str> = reflex::UNDERSTOOD.iter().filter(|sentence| NEXT.ends_with(**sentence)).collect();
    assert_eq!(offered, [&"run COMMAND in ~/DIRECTORY and check with COMMAND"]);
    assert!(NEXT.ends_with(offered[0]));
}

#[test]
fn only_the_sample_leads_on() {
    assert_eq!(next_after("Try it on a sample project"), Some(NEXT));
    assert_eq!(next_after("run `make` in `/p` and check with `make test`"), None);
    assert_eq!(next_after("put back the last change"), None);
}
