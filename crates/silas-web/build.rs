//! Lists the page's files for `assets.rs`: everything under `web/` except its tests.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    // Asked now, not when this was compiled: two checkouts may share what was built.
    let page = PathBuf::from(told("CARGO_MANIFEST_DIR")?).join("../../web").canonicalize()?;
    let mut files = Vec::new();
    collect(&page, &mut files)?;
    files.sort();
    let mut source = String::from(
        "/// Path in the page and content of each file.\npub(crate) static PAGE_FILES: &[(&str, &[u8])] = &[\n",
    );
    for file in &files {
        let name = file.strip_prefix(&page).map_err(std::io::Error::other)?.display().to_string();
        let _infallible = writeln!(source, "    ({name:?}, include_bytes!({:?})),", file.display().to_string());
    }
    source.push_str("];\n");
    std::fs::write(Path::new(&told("OUT_DIR")?).join("page_files.rs"), source)
}

fn told(name: &str) -> std::io::Result<std::ffi::OsString> {
    std::env::var_os(name).ok_or_else(|| std::io::Error::other(format!("cargo sets {name}")))
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let is_test = path.file_name().is_some_and(|name| name == "tests" || name == "node_modules");
        if path.is_dir() && !is_test {
            // Not the page's own directory: cargo would look into its tests as well.
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, files)?;
        } else if path.is_file() {
            println!("cargo::rerun-if-changed={}", path.display());
            files.push(path);
        }
    }
    Ok(())
}
