//! Every statement of the store finds its rows by an index; none reads a whole table or sorts one.

use crate::world::World;
use std::path::{Path, PathBuf};

#[test]
fn no_statement_reads_a_whole_table() {
    let world = World::new();
    drop(world.open());
    let (agent, human) = (world.forger(), world.human_forger());
    let mut n_statements = 0;
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        // These read the schema itself, before there is anything else.
        if file.ends_with("migrations.rs") || file.ends_with("connect.rs") {
            continue;
        }
        for sql in statements(&std::fs::read_to_string(&file).unwrap()) {
            n_statements += 1;
            let explained = format!("EXPLAIN QUERY PLAN {sql}");
            // But for `changes`, no table has the same name in both files, and that one is the same in both.
            let mut plan = agent.prepare(&explained).or_else(|_| human.prepare(&explained)).unwrap();
            let n_parameters = plan.parameter_count();
            let steps: Vec<String> = plan
                .query_map(rusqlite::params_from_iter(vec![1; n_parameters]), |row| row.get("detail"))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            for step in &steps {
                let scans = step.starts_with("SCAN") && !step.contains("INDEX") && !step.contains("SUBQUERY");
                assert!(!scans && !step.contains("TEMP B-TREE"), "{}: {sql}\n{steps:#?}", file.display());
            }
        }
    }
    assert!(n_statements >= 30, "only {n_statements} statements were found");
}

pub(crate) fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
    files
}

/// String literals that are SQL. No statement of the store contains a double quote.
pub(crate) fn statements(source: &str) -> Vec<&str> {
    let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE "];
    source.split('"').filter(|literal| verbs.iter().any(|verb| literal.starts_with(verb))).collect()
}
