//! However an answer is cut into pieces, the same text comes out.

use super::*;

fn extract(json: &str, n: usize) -> String {
    let mut extractor = Extractor::new(&["response", "message"]);
    let chars: Vec<char> = json.chars().collect();
    chars.chunks(n).map(|piece| extractor.feed(&piece.iter().collect::<String>())).collect()
}

#[test]
fn the_text_is_found_however_it_arrives() {
    let json = r#"{"context_profile":"conversation","message":"not this","list":["a","message","b"],
        "response":{"other":{"message":"nor this"},"message":"A \"quoted\" word,\n\u00e4 \ud83d\ude00 and \\."},"route":"direct"}"#;
    for n in [1, 2, 3, 7, 1000] {
        assert_eq!(extract(json, n), "A \"quoted\" word,\nä 😀 and \\.", "in pieces of {n}");
    }
}

#[test]
fn fences_remarks_and_nonsense_do_no_harm() {
    assert_eq!(extract("Sure!\n```json\n{\"response\": {\"message\": \"hi\"}}\n```", 3), "hi");
    assert_eq!(extract("{\"response\": null, \"route\": \"planner\"}", 3), "");
    assert_eq!(extract(&"{\"a\":[".repeat(500), 9), "");
    assert_eq!(extract("}}}]]]\"\\u12", 1), "");
    assert_eq!(extract("{\"response\":{\"message\":\"lone \\ud800 half\"}}", 4), "lone  half");
}

#[test]
fn sentences_come_whole() {
    let mut sentences = Sentences::default();
    assert_eq!(sentences.feed("It is 3.5 met"), None);
    assert_eq!(sentences.feed("res. And"), Some("It is 3.5 metres. ".to_owned()));
    assert_eq!(sentences.feed(" more\n"), Some("And more\n".to_owned()));
    assert_eq!(sentences.feed(&"x".repeat(SENTENCE_CHARS_MAX + 1)).map(|s| s.len()), Some(SENTENCE_CHARS_MAX + 1));
    assert_eq!(sentences.feed("これは。次"), Some("これは。".to_owned()));
}
