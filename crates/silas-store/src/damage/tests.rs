//! Every table has a word for its rows.

use super::{NOUNS, noun};
use crate::migrations;
use std::collections::BTreeSet;

#[test]
fn every_table_has_a_noun() {
    assert!(NOUNS.is_sorted());
    let all = migrations::AGENT.iter().chain(migrations::HUMAN);
    let tables: BTreeSet<&str> = all
        .flat_map(|migration| migration.sql.split("CREATE TABLE ").skip(1))
        .filter_map(|rest| rest.split(|c: char| c.is_whitespace() || c == '(').next())
        .chain(["migrations"])
        .collect();
    assert_eq!(tables, NOUNS.iter().map(|(table, _)| *table).collect());
}

#[test]
fn a_statement_is_about_the_first_table_that_it_names() {
    assert_eq!(noun("SELECT a -> 'x' FROM cards WHERE id = ?1"), "a card of Review");
    assert_eq!(noun("SELECT o.seq FROM channel_outbox AS o JOIN chronicle AS c"), "an entry of the conversation");
    assert_eq!(noun("UPDATE queue SET a = 1 RETURNING id"), "a message that waits to be dealt with");
    assert_eq!(noun("PRAGMA x"), "something in the database");
}
