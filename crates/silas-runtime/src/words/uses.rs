//! What a plan uses and leaves as it is, on its card: directories to read, secrets by name. One fact for both, because a
//! card has five at most.

use super::parts::listed_directories;
use super::{Words, count, fact};
use silas_core::card::{Detail, Face};
use silas_core::roots::Access;
use silas_core::work::Definition;

pub(crate) fn add_to(face: &mut Face, d: &Definition, words: &Words) {
    let read = d.directories.iter().filter(|directory| directory.access == Access::Read);
    let read: Vec<String> = read.map(|directory| words.path(&directory.path)).collect();
    if d.secrets.is_empty() {
        return listed_directories(face, "Uses", &read, "");
    }
    let secrets: Vec<String> = d.secrets.iter().map(ToString::to_string).collect();
    // What is secret is counted here; the directories are listed with it, where the details are open anyway.
    face.facts.push(fact("Uses", &format!("{}, listed below", count(secrets.len(), "secret"))));
    if !read.is_empty() {
        face.details.push(Detail { title: "Reads".to_owned(), lines: read });
    }
    face.details.push(Detail { title: "May use the secret".to_owned(), lines: secrets });
}
