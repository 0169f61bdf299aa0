//! Two edits of the same files are brought together by a plan that names every byte of it. Every road around that ends in a
//! refusal, and an edit since in a conflict.

use crate::runner::Case;
use crate::world::{World, approve, work};
use silas_core::Digest;
use silas_core::evidence::Refusal;
use silas_core::work::{Definition, Merging, WorkItem};
use silas_sandbox::{Case as How, Collision, Error, Launcher, Merged};

pub(crate) const CASES: &[Case] = &[
    ("what_both_come_to_is_laid_exactly", what_both_come_to_is_laid_exactly),
    ("only_what_was_kept_is_laid", only_what_was_kept_is_laid),
    ("an_edit_since_is_a_conflict_again", an_edit_since_is_a_conflict_again),
    ("what_does_not_go_together_is_not_kept", what_does_not_go_together_is_not_kept),
];

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const STEPS: [&str; 2] = [
    "printf 'new\\n' > app.txt && rm gone.txt && chmod 755 run.sh && sed -i s/five/FIVE/ \"it's text\"",
    "mkdir -p made/deep && echo made > made/deep/file.txt && ln -sfn src/lib.txt link && ln -s app.txt fresh",
];
const CHECK: &str = "grep -q new app.txt && grep -q FIVE \"it's text\"";

/// The work changes a file of every kind, and the owner edits one of them meanwhile.
fn meet(world: &World, launcher: &Launcher, steps: &[&str], edit: impl FnOnce()) -> (Merging, Collision) {
    world.write("it's text", TEXT);
    let plan = world.plan(steps, &[CHECK]);
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    work(&mut workshop, &plan).unwrap();
    edit();
    let edited = world.tree();
    match workshop.apply() {
        Err(Error::Conflict { paths }) => assert_eq!(paths.len(), 1, "{paths:?}"),
        other => panic!("{other:?}"),
    }
    let collision = workshop.collide().unwrap();
    assert_eq!(world.tree(), edited);
    let changeset = collision.merged.as_ref().map_or(Digest::of(b""), |Merged { changeset, .. }| *changeset);
    (Merging { execution: evidence.execution, changeset }, collision)
}

fn merge(world: &World, merging: &Merging, step: &str) -> WorkItem {
    let definition = world.definition(&[step], &[CHECK]);
    WorkItem::new(Definition { merges: Some(merging.clone()), ..definition }).unwrap()
}

const LAY: &str = "sh /tmp/kept/lay";

fn mine() -> String {
    TEXT.replace("one", "ONE, mine")
}

fn what_both_come_to_is_laid_exactly() {
    let world = World::new();
    let launcher = world.launcher();
    let (merging, collision) = meet(&world, &launcher, &STEPS, || world.save("it's text", &mine()));
    assert_eq!((collision.n_files, collision.files[0].case, collision.files[0].line), (1, How::Apart, 1));
    assert_eq!(
        (&collision.files[0].yours, &collision.files[0].silas),
        (&vec!["ONE, mine".to_owned()], &vec!["FIVE".to_owned()])
    );
    let plan = merge(&world, &merging, LAY);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    let (before, after) = work(&mut workshop, &plan).unwrap();
    assert!(!before[0].passed && after[0].passed, "{before:?} {after:?}");
    assert_eq!(workshop.changes().unwrap().changeset.hash().unwrap(), merging.changeset);
    workshop.apply().unwrap();
    assert_eq!(world.read("it's text"), mine().replace("five", "FIVE"));
    assert_eq!((world.read("app.txt").as_str(), world.read("made/deep/file.txt").as_str()), ("new\n", "made\n"));
    assert!(!world.project.join("gone.txt").exists());
    let tree = world.tree();
    assert!(tree[b"run.sh".as_slice()].0.starts_with("100755 "), "{:?}", tree[b"run.sh".as_slice()].0);
    assert_eq!(std::fs::read_link(world.project.join("link")).unwrap().to_str(), Some("src/lib.txt"));
    assert_eq!(std::fs::read_link(world.project.join("fresh")).unwrap().to_str(), Some("app.txt"));
}

fn only_what_was_kept_is_laid() {
    let world = World::new();
    let launcher = world.launcher();
    let (merging, _) = meet(&world, &launcher, &STEPS, || world.save("it's text", &mine()));
    let edited = world.tree();
    let other = Merging { changeset: Digest::of(b"other"), ..merging.clone() };
    let refused = launcher.open(&approve(&merge(&world, &other, LAY))).map(drop);
    assert_eq!(refused, Err(Refusal::Content.into()));
    // A step that does more or less, and something else where it was kept.
    for step in ["sh /tmp/kept/lay; echo more >> app.txt", "true"] {
        let plan = merge(&world, &merging, step);
        let mut workshop = launcher.open(&approve(&plan)).unwrap();
        assert_eq!(work(&mut workshop, &plan).map(drop), Err(Refusal::Content.into()), "{step}");
    }
    let kept = world.data.join("launcher/merges").join(merging.execution.as_str());
    std::fs::write(kept.join("0.after"), "swapped\n").unwrap();
    let plan = merge(&world, &merging, LAY);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    assert_eq!(work(&mut workshop, &plan).map(drop), Err(Refusal::Content.into()));
    drop(workshop);
    launcher.drop_merge(&merging.execution).unwrap();
    launcher.drop_merge(&merging.execution).unwrap();
    assert!(!kept.exists());
    assert!(matches!(launcher.open(&approve(&plan)).map(drop), Err(Error::NotAvailable(_))));
    assert_eq!(world.tree(), edited);
}

fn an_edit_since_is_a_conflict_again() {
    let world = World::new();
    let launcher = world.launcher();
    let (merging, _) = meet(&world, &launcher, &STEPS, || world.save("it's text", &mine()));
    let later = mine().replace("three", "three, later");
    world.save("it's text", &later);
    let plan = merge(&world, &merging, LAY);
    let evidence = approve(&plan);
    let mut workshop = launcher.open(&evidence).unwrap();
    assert_eq!(work(&mut workshop, &plan).map(drop), Err(Error::Conflict { paths: vec!["it's text".to_owned()] }));
    let again = workshop.collide().unwrap();
    let changeset = again.merged.unwrap().changeset;
    drop(workshop);
    let plan = merge(&world, &Merging { execution: evidence.execution, changeset }, LAY);
    let mut workshop = launcher.open(&approve(&plan)).unwrap();
    work(&mut workshop, &plan).unwrap();
    workshop.apply().unwrap();
    assert_eq!(world.read("it's text"), later.replace("five", "FIVE"));
}

fn what_does_not_go_together_is_not_kept() {
    for (file, edit, how) in [
        ("it's text", Some("one\ntwo\nthree\nfour\nfive, mine\nsix\n"), How::Overlap),
        ("it's text", None, How::YouDeleted),
        ("gone.txt", Some("not gone\n"), How::SilasDeleted),
        ("app.txt", Some("\0\n"), How::NotText),
        ("app.txt", Some("mine\n"), How::Overlap),
    ] {
        let world = World::new();
        let launcher = world.launcher();
        let (_, collision) = meet(&world, &launcher, &STEPS, || match edit {
            Some(text) => world.save(file, text),
            None => std::fs::remove_file(world.project.join(file)).unwrap(),
        });
        assert_eq!((collision.files[0].case, &collision.merged), (how, &None), "{file} {edit:?}");
        assert_eq!(std::fs::read_dir(world.data.join("launcher/merges")).unwrap().count(), 0);
    }
}
