//! Ways to look done without being done. Each is a little project with a check that is red, and work that cheats: none of
//! them gets a proof. Beside them the honest way for each runner, so that a cheat fails for the right reason.
//!
//! What stays open is here too, by name: code that forges its runner inside its own process.

use crate::runner::{Case, skip};
use crate::world::{World, approve, work};
use silas_core::check::{CheckResult, Expectation};
use silas_core::exits::Glob;
use silas_core::work::{Definition, WorkItem};
use silas_sandbox::Error;

mod brought;
mod commands;
mod node;
mod observed;
mod python;

pub(crate) const GROUPS: [(&str, &[Case]); 5] = [
    ("cheats::python", python::CASES),
    ("cheats::node", node::CASES),
    ("cheats::commands", commands::CASES),
    ("cheats::observed", observed::CASES),
    ("cheats::brought", brought::CASES),
];

/// A project, what is done in it, and the check that decides.
pub(crate) struct Attempt<'a> {
    pub(crate) files: &'a [(&'a str, &'a str)],
    pub(crate) steps: &'a [&'a str],
    pub(crate) check: &'a str,
}

/// How the check went, and whether its result could be applied.
pub(crate) struct Went {
    pub(crate) before: CheckResult,
    pub(crate) after: CheckResult,
    pub(crate) applied: Result<u32, Error>,
    /// How many files the work changed that would land.
    pub(crate) n_changed: usize,
    pub(crate) flags: Vec<String>,
    pub(crate) unseen: Vec<String>,
}

impl Attempt<'_> {
    pub(crate) fn world(&self) -> World {
        let world = World::new();
        for (path, text) in self.files {
            std::fs::create_dir_all(world.project.join(path).parent().unwrap()).unwrap();
            world.write(path, text);
        }
        world
    }

    #[track_caller]
    pub(crate) fn make(&self) -> Went {
        let world = self.world();
        self.make_in(&world, Expectation::ExitCode(0), true).unwrap()
    }

    /// The same with a plan that lets the work change its own checks.
    #[track_caller]
    pub(crate) fn make_open(&self) -> Went {
        self.make_in(&self.world(), Expectation::ExitCode(0), false).unwrap()
    }

    pub(crate) fn make_in(&self, world: &World, expect: Expectation, protected: bool) -> Result<Went, Error> {
        let mut definition = world.bare_definition(self.steps, &[self.check]);
        definition.verify[0].expect = expect;
        definition.verify[0].protected = protected;
        self.carry_out(world, definition)
    }

    fn carry_out(&self, world: &World, definition: Definition) -> Result<Went, Error> {
        let launcher = world.launcher();
        let plan = WorkItem::new(definition).unwrap();
        let mut workshop = launcher.open(&approve(&plan)).unwrap();
        let (before, after) = work(&mut workshop, &plan)?;
        let changes = workshop.changes()?;
        let flags = changes.flags.iter().map(|flag| format!("{} {}", flag.path, flag.what)).collect();
        let applied = workshop.apply().map(|applied| applied.files);
        let (n_changed, unseen) = (changes.changeset.changes.len(), changes.unseen);
        Ok(Went { before: before[0].clone(), after: after[0].clone(), applied, n_changed, flags, unseen })
    }

    /// It is red before, and the cheat does not turn it.
    #[track_caller]
    pub(crate) fn fails(&self, because: &str) -> Went {
        let went = self.make();
        assert!(!went.before.passed, "{:?}", went.before);
        assert!(!went.after.passed, "{:?}", went.after);
        assert!(went.after.reason.contains(because), "{:?}", went.after);
        assert_eq!(went.applied, Err(Error::NotVerified));
        went
    }

    #[track_caller]
    pub(crate) fn proves(&self) -> Went {
        self.make().proved()
    }

    /// The same with a plan that names what may change.
    #[track_caller]
    pub(crate) fn proves_declaring(&self, changes: &[&str]) -> Went {
        self.make_declaring(changes).proved()
    }

    #[track_caller]
    pub(crate) fn make_declaring(&self, changes: &[&str]) -> Went {
        let world = self.world();
        let mut definition = world.bare_definition(self.steps, &[self.check]);
        definition.changes = changes.iter().map(|path| Glob::parse(path).unwrap()).collect();
        self.carry_out(&world, definition).unwrap()
    }

    /// It turns green and is no proof: nothing was counted, or these judged it although the work had changed them.
    #[track_caller]
    pub(crate) fn is_not_proved(&self, changed: &[&str]) -> Went {
        self.make().green_only(changed)
    }
}

impl Went {
    #[track_caller]
    pub(crate) fn proved(self) -> Went {
        assert!(!self.before.passed && self.after.passed, "{:?}\n{:?}", self.before, self.after);
        assert!(self.applied.is_ok(), "{:?}\n{:?}", self.applied, self.after);
        self
    }

    #[track_caller]
    pub(crate) fn green_only(self, changed: &[&str]) -> Went {
        assert!(!self.before.passed && self.after.passed, "{:?}\n{:?}", self.before, self.after);
        assert_eq!(self.applied, Err(Error::NotVerified), "{:?}", self.after);
        assert_eq!(self.after.basis.as_ref().unwrap().changed, changed);
        self
    }

    /// Red or green, it is no proof; and the cheat was one: a step that changes nothing proves nothing either.
    #[track_caller]
    pub(crate) fn no_proof(self) -> Went {
        assert!(!self.before.passed, "{:?}", self.before);
        assert!(self.n_changed > 0, "nothing was changed, so nothing was tried");
        assert_eq!(self.applied, Err(Error::NotVerified), "{:?}", self.after);
        self
    }
}

/// Whether cells can find a program. Without it a case counts as skipped, and says why.
pub(crate) fn has(program: &str) -> bool {
    let found =
        ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| std::path::Path::new(dir).join(program).exists());
    if !found {
        skip(&format!("there is no {program} in /usr/local/bin, /usr/bin or /bin"));
    }
    found
}

pub(crate) fn has_pytest() -> bool {
    let asked = std::process::Command::new("/usr/bin/python3").args(["-I", "-c", "import pytest"]).output();
    let found = asked.is_ok_and(|output| output.status.success());
    if !found {
        skip("/usr/bin/python3 has no pytest");
    }
    found
}
