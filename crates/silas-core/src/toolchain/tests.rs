//! What a program sees of granted toolchains.

use super::*;

fn tool(family: Family, path: &str) -> Toolchain {
    Toolchain { family, path: path.to_owned(), device: "1".to_owned(), inode: "2".to_owned() }
}

#[test]
fn without_toolchains_there_is_path_and_home_only() {
    let env = environment(&[], "/tmp/home");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(env, [pair("PATH", "/usr/local/bin:/usr/bin:/bin"), pair("HOME", "/tmp/home")]);
}

#[test]
fn programs_of_toolchains_come_first_and_find_the_rest_of_themselves() {
    let tools = [
        tool(Family::Rustup, "/h/.rustup/toolchains/stable"),
        tool(Family::Cargo, "/h/.cargo/bin"),
        tool(Family::Cargo, "/h/.cargo/registry"),
        tool(Family::Pyenv, "/h/.pyenv/versions/3.11.7"),
        tool(Family::Uv, "/h/.local/bin/uv"),
    ];
    let env = environment(&tools, "/tmp/home");
    let of = |name: &str| env.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    assert_eq!(
        of("PATH"),
        Some(
            "/h/.rustup/toolchains/stable/bin:/h/.cargo/bin:/h/.pyenv/versions/3.11.7/bin:/h/.local/bin:/usr/local/bin:/usr/bin:/bin"
        )
    );
    assert_eq!(of("CARGO_HOME"), Some("/h/.cargo"));
    assert_eq!(env.len(), 3, "nothing else: {env:?}");
    assert_eq!(words(&tools), "rustup (stable), cargo, pyenv (3.11.7), uv");
}
