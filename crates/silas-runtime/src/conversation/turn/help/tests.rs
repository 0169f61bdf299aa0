//! A greeting gets a line, and a sentence that lacks one part is made whole.

use super::*;

#[test]
fn greetings_and_thanks_get_a_line() {
    for said in ["hi", "Hello!", "hey Silas", "Good morning.", "hello there"] {
        assert_eq!(small_talk(said), Some("Hello. Say what to run, or `help`."), "{said}");
    }
    for said in ["thanks", "Thank you!", "thanks, Silas", "many thanks"] {
        assert_eq!(small_talk(said), Some("You are welcome."), "{said}");
    }
    for said in ["hello world", "thanks for nothing, delete it", "good", "hi run make", ""] {
        assert_eq!(small_talk(said), None, "{said}");
    }
}

#[test]
fn a_directory_that_is_missing_is_offered_as_a_whole_sentence() {
    let near = reflex::near("run make test").unwrap();
    let allowed = ["~/code/app".to_owned(), "~/my notes".to_owned()];
    assert_eq!(
        nearly(&near, &allowed),
        "In which directory? Nothing was done yet.\n• run make test in ~/code/app\n• run make test in `~/my notes`"
    );
    let said = nearly(&near, &[]);
    assert!(said.contains("a directory is not named") && said.contains("\n• run make test in ~/DIRECTORY\n"), "{said}");
}
