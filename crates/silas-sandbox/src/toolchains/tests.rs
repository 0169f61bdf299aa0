//! A home with every tool, and what is made of it.

use super::*;
use crate::CellLimits;
use crate::Seal;
use silas_core::InstallationId;
use silas_core::evidence::Anchor;
use silas_core::signature::PublicKey;
use std::fs;
use std::os::unix::fs::symlink;

struct World {
    _dir: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
    ground: Ground,
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let (home, project, data_dir) = (real.join("home"), real.join("project"), real.join("data"));
    for path in [
        ".cargo/bin",
        ".cargo/registry",
        ".rustup/toolchains/stable-x86_64/bin",
        ".rustup/toolchains/1.90.0-x86_64/bin",
        ".pyenv/versions/3.9.18/bin",
        ".pyenv/versions/3.10.2/bin",
        ".pyenv/versions/3.10.13/bin",
        ".pyenv/shims",
        ".nvm/versions/node/v18.1.0/bin",
        ".nvm/versions/node/v20.3.1/bin",
        ".nvm/alias",
        ".local/share/uv/python/cpython-3.12/bin",
        ".local/bin",
    ] {
        fs::create_dir_all(home.join(path)).unwrap();
    }
    for (path, text) in [
        (".cargo/credentials.toml", "secret"),
        (".rustup/settings.toml", "version = \"12\"\ndefault_toolchain = \"stable-x86_64\"\n"),
        (".pyenv/version", "3.9.18\n"),
        (".nvm/alias/default", "18\n"),
        (".local/bin/uv", ""),
        (".local/share/uv/python/cpython-3.12/bin/python3", ""),
        (".pyenv/versions/3.10.2/bin/python3.10", ""),
    ] {
        fs::write(home.join(path), text).unwrap();
    }
    symlink("3.10.13", home.join(".pyenv/versions/3.10")).unwrap();
    fs::create_dir(&project).unwrap();
    fs::create_dir(&data_dir).unwrap();
    let tools = ToolPlaces { home: Some(home.clone()), ..ToolPlaces::default() };
    let anchor = Anchor {
        root: PublicKey::from_bytes([1; 32]),
        installation: InstallationId::parse("inst-here").unwrap(),
        epoch: 1,
    };
    let ground = Ground::new(Seal {
        data_dir,
        own: Vec::new(),
        anchor,
        handovers: Vec::new(),
        undo_window_secs: 1,
        limits: CellLimits::default(),
        copies: crate::Copies::default(),
        bounds: crate::Bounds::default(),
        tools,
    })
    .unwrap();
    World { _dir: dir, home, project, ground }
}

impl World {
    fn found(&self) -> Vec<String> {
        let strip = |tool: Toolchain| tool.path.strip_prefix(self.home.to_str().unwrap()).unwrap()[1..].to_owned();
        find(&self.ground, Some(&self.project)).into_iter().map(strip).collect()
    }
}

#[test]
fn the_usual_tools_are_found_and_never_their_secrets() {
    let world = world();
    assert_eq!(
        world.found(),
        [
            ".rustup/toolchains/stable-x86_64",
            ".cargo/bin",
            ".cargo/registry",
            ".local/bin/uv",
            ".pyenv/versions/3.9.18",
            ".nvm/versions/node/v18.1.0",
        ]
    );
    let grants = known(&world.ground.tools, &world.ground.own);
    assert!(grants.iter().all(|tool| !world.home.join(".cargo/credentials.toml").starts_with(&tool.path)));
    assert!(grants.iter().all(|tool| tool.path != world.home.join(".pyenv/shims").to_str().unwrap()));
}

#[test]
fn the_projects_own_wishes_come_first() {
    let world = world();
    fs::write(world.project.join(".python-version"), "3.10\n").unwrap();
    fs::write(world.project.join(".nvmrc"), "v20\n").unwrap();
    fs::write(world.project.join("rust-toolchain.toml"), "[toolchain]\nchannel = \"1.90\"\n").unwrap();
    let found = world.found();
    assert!(found.contains(&".pyenv/versions/3.10.13".to_owned()), "3.10 means the highest 3.10: {found:?}");
    assert!(found.contains(&".nvm/versions/node/v20.3.1".to_owned()), "{found:?}");
    assert!(found.contains(&".rustup/toolchains/1.90.0-x86_64".to_owned()), "{found:?}");
    assert!(!found.contains(&".pyenv/versions/3.9.18".to_owned()));
    fs::write(world.project.join(".python-version"), "../../.ssh\n").unwrap();
    assert!(!world.found().iter().any(|path| path.contains("pyenv")), "a version that does not exist is none");
}

#[test]
fn the_interpreter_behind_a_venv_is_found_through_its_links() {
    let world = world();
    fs::create_dir_all(world.project.join(".venv/bin")).unwrap();
    fs::create_dir_all(world.project.join("venv/bin")).unwrap();
    symlink(world.home.join(".pyenv/versions/3.10.2/bin/python3.10"), world.project.join(".venv/bin/python")).unwrap();
    symlink(world.home.join(".local/share/uv/python/cpython-3.12/bin/python3"), world.project.join("venv/bin/python"))
        .unwrap();
    let found = world.found();
    assert!(found.contains(&".pyenv/versions/3.10.2".to_owned()), "{found:?}");
    assert!(found.contains(&".local/share/uv/python/cpython-3.12".to_owned()), "{found:?}");
    fs::create_dir_all(world.project.join("env/bin")).unwrap();
    let before = world.found();
    symlink(world.home.join(".cargo/credentials.toml"), world.project.join("env/bin/python")).unwrap();
    assert_eq!(world.found(), before, "a link to a secret grants nothing");
}

#[test]
fn only_what_the_launcher_itself_finds_is_admitted() {
    let world = world();
    let found = find(&world.ground, None);
    assert_eq!(admit(&world.ground, &found), Ok(()));
    let stranger = Toolchain { path: world.home.join(".cargo").to_str().unwrap().to_owned(), ..found[0].clone() };
    assert!(matches!(admit(&world.ground, &[stranger]), Err(Error::Place { .. })));
    fs::rename(world.home.join(".cargo/bin"), world.home.join("away")).unwrap();
    fs::create_dir(world.home.join(".cargo/bin")).unwrap();
    assert!(matches!(admit(&world.ground, &found), Err(Error::Place { .. })), "another directory has its name");
}

#[test]
fn a_home_that_is_the_data_directory_grants_nothing_of_it() {
    let world = world();
    let tools = ToolPlaces { pyenv_root: Some(world.ground.data_dir.clone()), ..ToolPlaces::default() };
    fs::create_dir_all(world.ground.data_dir.join("versions/3.1")).unwrap();
    assert_eq!(known(&tools, &world.ground.own), []);
}
