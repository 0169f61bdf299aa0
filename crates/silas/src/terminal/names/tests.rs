//! Names stay, and are never taken for places.

use super::{Which, name};
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
