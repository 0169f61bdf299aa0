//! What a script that speaks for a check reads into itself. Whoever writes such a file prints the results, whatever the script
//! says; so it is never taken for code under test. Looks at the scripts as the owner has them; nothing runs here.

use super::Bench;
use super::basis::text_of;
use silas_core::judges;
use silas_core::relpath::RelPath;
use std::collections::BTreeSet;

impl Bench {
    /// The last parts of the names of what the script of a check reads in, and of what that reads in.
    pub(super) fn read_in_by(&self, n: usize) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let base = self.finished.as_ref().and_then(|finished| finished.base.first());
        let Some((root, base)) = self.permit.roots.first().zip(base) else { return found };
        let command = &self.permit.plan.definition().verify[n].run;
        let scripts = judges::scripts_run(command, &root.granted.place.path);
        let mut to_read: Vec<RelPath> =
            scripts.iter().filter_map(|script| RelPath::from_bytes(script.as_bytes()).ok()).collect();
        while let Some(script) = to_read.pop() {
            let text = text_of(&root.granted.dir, &script).unwrap_or_default();
            for name in judges::sourced(&text).into_iter().filter(|name| found.insert(name.clone())) {
                to_read.extend(base.files.keys().filter(|path| last_part(path) == name).cloned());
            }
        }
        found
    }
}

/// What a file is called in its directory.
pub(super) fn last_part(path: &RelPath) -> String {
    let last = path.as_bytes().rsplit(|byte| *byte == b'/').next();
    String::from_utf8_lossy(last.unwrap_or_default()).into_owned()
}
