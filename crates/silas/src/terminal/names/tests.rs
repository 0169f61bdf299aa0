//! Names stay, and are never taken for places.

use super::{Named, Which, name, name_of, with_name};
use crate::exit::BadInput;
use silas_core::CardId;

#[test]
fn a_name_belongs_to_its_card() {
    let id = |n: u32| CardId::parse(&format!("card-{n}")).unwrap();
    assert_eq!(name(&id(1)), name(&id(1)));
    let all: std::collections::BTreeSet<String> = (0..500).map(|n| name(&id(n))).collect();
    assert_eq!(all.len(), 500);
    for name in all {
        assert!(name.len() == 5 && name.bytes().all(|b| b.is_ascii_lowercase() && !b"aeiouyl".contains(&b)), "{name}");
        assert_eq!(Which::read(Some(&name)), Ok(Which::Named(name)));
    }
}

#[test]
fn how_a_card_is_meant() {
    assert_eq!(Which::read(None), Ok(Which::Only));
    assert_eq!(Which::read(Some(" 2 ")), Ok(Which::Place(2)));
    assert_eq!(Which::read(Some("KQMVB")), Ok(Which::Named("kqmvb".to_owned())));
    assert_eq!(Which::read(Some("card-1")), Ok(Which::Named("card-1".to_owned())));
    for odd in ["first", "", "-1", "kqmv", "kqmvbb", "card-"] {
        assert!(Which::read(Some(odd)).is_err(), "{odd}");
    }
}

const SHELF: Named = Named { noun: "book", list: "silas book list" };

/// What comes of looking for `said` among `books`, and whether the command line is at fault.
fn found<'b>(books: &'b [&str], said: &str) -> Result<&'b str, (String, bool)> {
    let one = SHELF.find(books, |book| book, said);
    one.copied().map_err(|cause| (cause.to_string(), cause.is::<BadInput>()))
}

#[test]
fn things_are_found_by_name_or_id_and_never_by_place() {
    let books = ["emma", "dune", "kim"];
    for book in books {
        assert_eq!(found(&books, &name_of(book)), Ok(book));
        assert_eq!(found(&books, &format!(" {} ", name_of(book).to_uppercase())), Ok(book));
        assert_eq!(found(&books, book), Ok(book));
    }
    for place in ["1", "0", "-1", "99"] {
        let (text, is_bad_input) = found(&books, place).unwrap_err();
        assert!(is_bad_input && text.contains("places move") && text.contains("`silas book list`"), "{text}");
    }
    let (text, is_bad_input) = found(&books[1..], &name_of("emma")).unwrap_err();
    assert!(!is_bad_input && text.contains("gone meanwhile"), "{text}");
    for odd in ["", "em", "first", &"x".repeat(100)] {
        let (text, is_bad_input) = found(&books, odd).unwrap_err();
        assert!(is_bad_input && text.contains("names no book") && text.len() < 130, "{text}");
    }
}

#[test]
fn of_two_with_one_name_neither_is_taken() {
    let twins = ["emma", "emma"];
    let (text, _) = found(&twins, &name_of("emma")).unwrap_err();
    assert!(text.contains("by chance") && text.contains("`silas book list --json`"), "{text}");
}

#[test]
fn programs_are_told_the_name_too() {
    let told = with_name(&serde_json::json!({ "title": "Emma" }), "emma");
    assert_eq!(told, serde_json::json!({ "title": "Emma", "called": name_of("emma") }));
}
