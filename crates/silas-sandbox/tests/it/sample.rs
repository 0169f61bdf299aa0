//! The sample project is laid out whole or not at all, in a directory of its own, over nothing and through no link.

use crate::limits::{fill, mount_read_only, mount_small};
use crate::revocation::{device, take_back};
use crate::runner::Case;
use crate::world::{Tree, World, certificate, device_key, installation, key_helper, note_all, now, root_key, sign};
use silas_core::device::DeviceKind;
use silas_core::evidence::Refusal;
use silas_core::instruction::SampleOrder;
use silas_core::message::{MessageBody, OWNER_SCOPE, SignedMessage};
use silas_core::reflex::{GRAMMAR, UnknownGrammar};
use silas_core::sample::{FILES, directory_name};
use silas_core::{Nonce, Timestamp};
use silas_sandbox::{Error, LaidOut, Launcher, Seal, ToolPlaces};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

pub(crate) const SENTENCE: &str = "try it on a sample project";

/// What the owner's device signed so many seconds ago.
pub(crate) fn order(text: &str, secs_ago: i64) -> SampleOrder {
    let body = MessageBody {
        text: text.to_owned(),
        timestamp: Timestamp::from_micros(now().micros() - secs_ago * 1_000_000),
        nonce: Nonce::parse("n-7").unwrap(),
        installation: installation(),
        scope: OWNER_SCOPE.to_owned(),
    };
    let signature = sign(&device_key(), &body.message().unwrap());
    SampleOrder {
        signed: SignedMessage { body, signature },
        certificate: certificate(&device_key(), DeviceKind::Browser),
        grammar: GRAMMAR,
    }
}

pub(crate) const CASES: &[Case] = &[
    ("it_is_laid_out_once_and_found_again", it_is_laid_out_once_and_found_again),
    ("what_is_changed_is_left_and_the_next_number_taken", what_is_changed_is_left_and_the_next_number_taken),
    ("nothing_in_the_way_is_touched_or_followed", nothing_in_the_way_is_touched_or_followed),
    ("what_a_crash_left_goes_and_nothing_else_does", what_a_crash_left_goes_and_nothing_else_does),
    ("a_home_that_cannot_be_is_refused_in_words", a_home_that_cannot_be_is_refused_in_words),
    ("a_full_disk_leaves_nothing", a_full_disk_leaves_nothing),
    ("a_home_that_cannot_be_written_is_refused", a_home_that_cannot_be_written_is_refused),
    ("nothing_is_laid_out_before_the_seal", nothing_is_laid_out_before_the_seal),
    ("nothing_is_laid_out_without_the_owner_s_words", nothing_is_laid_out_without_the_owner_s_words),
];

fn home(world: &World) -> PathBuf {
    let home = world.data.parent().unwrap().join("home");
    fs::create_dir_all(&home).unwrap();
    home
}

fn at_home(world: &World, home: Option<&Path>) -> Launcher {
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let tools = ToolPlaces { home: home.map(Path::to_owned), ..ToolPlaces::default() };
    launcher.seal(Seal { tools, ..world.seal() }).unwrap();
    launcher
}

#[track_caller]
fn laid_out(launcher: &Launcher, home: &Path, number: u32, is_new: bool) -> PathBuf {
    let path = home.join(directory_name(number));
    let expected = LaidOut { path: path.to_str().unwrap().to_owned(), number, is_new };
    assert_eq!(launcher.lay_out_sample(order(SENTENCE, 0)), Ok(expected));
    assert_whole(&path);
    path
}

#[track_caller]
fn assert_whole(path: &Path) {
    for file in FILES {
        assert_eq!(fs::read_to_string(path.join(file.path)).unwrap(), file.text, "{}", file.path);
    }
    let files = note_all(path).into_values().filter(|(mode, _)| mode.starts_with("100644 ")).count();
    assert_eq!(files, FILES.len());
}

#[track_caller]
fn refused(launcher: &Launcher, words: &[&str]) {
    let error = launcher.lay_out_sample(order(SENTENCE, 0)).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Sample(_)) && error.code() == "E_SANDBOX_SAMPLE", "{text}");
    assert!(text.ends_with("Nothing of it was left behind."), "{text}");
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// Everything below a directory, what is hidden too.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn it_is_laid_out_once_and_found_again() {
    let world = World::new();
    let home = home(&world);
    let launcher = at_home(&world, Some(&home));
    let path = laid_out(&launcher, &home, 1, true);
    assert_eq!(names(&home), ["silas-sample"]);
    let before = note_all(&path);
    laid_out(&launcher, &home, 1, false);
    // What Silas keeps for an undo is none of the owner's changes.
    fs::create_dir(path.join(".silas-exec-1")).unwrap();
    laid_out(&launcher, &home, 1, false);
    assert_eq!(note_all(&path), before);
    // A home that is reached through a link is the same home.
    let link = world.data.parent().unwrap().join("way-home");
    symlink(&home, &link).unwrap();
    laid_out(&at_home(&world, Some(&link)), &home, 1, false);
    assert_eq!(names(&home), ["silas-sample"]);
}

fn what_is_changed_is_left_and_the_next_number_taken() {
    let world = World::new();
    let home = home(&world);
    let launcher = at_home(&world, Some(&home));
    let changes: [&dyn Fn(&Path); 8] = [
        &|path| fs::write(path.join("tides.sh"), "exit 0\n").unwrap(),
        &|path| fs::write(path.join("mine.txt"), "mine\n").unwrap(),
        &|path| fs::write(path.join("tests/mine.sh"), "").unwrap(),
        &|path| fs::remove_file(path.join("README.md")).unwrap(),
        &|path| fs::remove_dir_all(path.join("tests")).unwrap(),
        &|path| fs::write(path.join("high-water.txt"), "").unwrap(),
        &|path| {
            fs::rename(path.join("tides.sh"), path.parent().unwrap().join("tides.sh")).unwrap();
            symlink("../tides.sh", path.join("tides.sh")).unwrap();
        },
        &|path| {
            fs::remove_dir_all(path.join("tests")).unwrap();
            symlink("../silas-sample-2/tests", path.join("tests")).unwrap();
        },
    ];
    let mut left: Vec<(PathBuf, Tree)> = Vec::new();
    for (number, change) in (1..).zip(changes) {
        let path = laid_out(&launcher, &home, number, true);
        change(&path);
        left.push((path.clone(), note_all(&path)));
    }
    laid_out(&launcher, &home, 9, true);
    for (path, tree) in left {
        assert_eq!(note_all(&path), tree, "{}", path.display());
    }
    // Put back as it was, the first is the sample again.
    fs::write(home.join("silas-sample/tides.sh"), FILES.iter().find(|file| file.path == "tides.sh").unwrap().text)
        .unwrap();
    laid_out(&launcher, &home, 1, false);
    // There is an end to it.
    for number in 1..=20 {
        let path = home.join(directory_name(number));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("mine"), "").unwrap();
    }
    let before = note_all(&home);
    refused(&launcher, &["silas-sample and 19 more", "Move or rename one"]);
    assert_eq!(note_all(&home), before);
}

fn nothing_in_the_way_is_touched_or_followed() {
    let world = World::new();
    let home = home(&world);
    let elsewhere = world.data.parent().unwrap().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    // Even a link to the sample itself is no place that was made for it.
    let launcher = at_home(&world, Some(&home));
    let real = laid_out(&launcher, &home, 1, true);
    fs::rename(&real, elsewhere.join("sample")).unwrap();
    symlink(elsewhere.join("sample"), home.join("silas-sample")).unwrap();
    symlink(&elsewhere, home.join("silas-sample-2")).unwrap();
    symlink("nowhere", home.join("silas-sample-3")).unwrap();
    fs::write(home.join("silas-sample-4"), "a file\n").unwrap();
    fs::create_dir(home.join("silas-sample-5")).unwrap();
    let before = (note_all(&elsewhere), note_all(&home));
    laid_out(&launcher, &home, 6, true);
    fs::remove_dir_all(home.join("silas-sample-6")).unwrap();
    assert_eq!((note_all(&elsewhere), note_all(&home)), before);
}

fn what_a_crash_left_goes_and_nothing_else_does() {
    let world = World::new();
    let home = home(&world);
    let launcher = at_home(&world, Some(&home));
    let draft = home.join(".silas-sample.part");
    fs::create_dir_all(draft.join("tests")).unwrap();
    fs::write(draft.join("README.md"), &FILES[0].text[..40]).unwrap();
    fs::write(draft.join("tests/summer.sh"), "").unwrap();
    let path = laid_out(&launcher, &home, 1, true);
    assert_eq!(names(&home), ["silas-sample"]);

    fs::remove_dir_all(path).unwrap();
    let strangers: [&dyn Fn(); 4] = [
        &|| {
            fs::create_dir(&draft).unwrap();
            fs::write(draft.join("letter.txt"), "dear\n").unwrap();
        },
        &|| {
            fs::create_dir(&draft).unwrap();
            fs::write(draft.join("README.md"), "my own\n").unwrap();
        },
        &|| fs::write(&draft, "a file\n").unwrap(),
        &|| symlink(&world.project, &draft).unwrap(),
    ];
    for stranger in strangers {
        stranger();
        let before = (fs::symlink_metadata(&draft).unwrap().file_type(), note_all(&world.project));
        refused(&launcher, &[".silas-sample.part is in the way", "Move or rename it"]);
        assert_eq!((fs::symlink_metadata(&draft).unwrap().file_type(), note_all(&world.project)), before);
        assert_eq!(names(&home), [".silas-sample.part"]);
        if draft.is_dir() && !draft.is_symlink() {
            assert_eq!(names(&draft).len(), 1);
            fs::remove_dir_all(&draft).unwrap();
        } else {
            fs::remove_file(&draft).unwrap();
        }
    }
}

fn a_home_that_cannot_be_is_refused_in_words() {
    let world = World::new();
    let base = world.data.parent().unwrap();
    refused(&at_home(&world, None), &["HOME is not set", "start Silas again"]);
    refused(&at_home(&world, Some(&base.join("nowhere"))), &["does not exist", "set HOME"]);
    refused(&at_home(&world, Some(&world.project.join("app.txt"))), &["not a directory", "Set HOME"]);
    refused(&at_home(&world, Some(Path::new("/etc"))), &["system directory"]);
    let inside = world.data.join("run");
    refused(&at_home(&world, Some(&inside)), &["Silas's own data"]);
    assert!(!inside.join("silas-sample").exists());
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        let theirs = base.join("theirs");
        fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(1234), Some(1234)).unwrap();
        refused(
            &at_home(&world, Some(&theirs)),
            &["runs as root", "belongs to somebody else", "Start it as that user"],
        );
        assert_eq!(names(&theirs).len(), 0);
    }
}

fn a_full_disk_leaves_nothing() {
    let world = World::new();
    let home = home(&world);
    if !mount_small(&home, 1) {
        return;
    }
    let launcher = at_home(&world, Some(&home));
    // Full to the last block, then room for one after another: at no point is half of it left.
    let filler = home.join("filler");
    fill(&filler);
    let mut n_refused = 0;
    loop {
        match launcher.lay_out_sample(order(SENTENCE, 0)) {
            Ok(found) => {
                assert_whole(Path::new(&found.path));
                break;
            }
            Err(_) => {
                refused(&launcher, &["is full", "Make room"]);
                assert_eq!(names(&home), ["filler"]);
                n_refused += 1;
            }
        }
        let file = fs::File::options().write(true).open(&filler).unwrap();
        file.set_len(file.metadata().unwrap().len().saturating_sub(4096)).unwrap();
        assert!(n_refused < 200);
    }
    assert!(n_refused > 1);
}

fn a_home_that_cannot_be_written_is_refused() {
    let world = World::new();
    let home = home(&world);
    // SAFETY: has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        fs::set_permissions(&home, fs::Permissions::from_mode(0o555)).unwrap();
        refused(&at_home(&world, Some(&home)), &["You may not write in", "permissions"]);
        assert_eq!(names(&home).len(), 0);
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
    } else if mount_read_only(&home) {
        refused(&at_home(&world, Some(&home)), &["read-only", "Make it writable"]);
        assert_eq!(names(&home).len(), 0);
    }
}

fn nothing_is_laid_out_before_the_seal() {
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    assert_eq!(launcher.lay_out_sample(order(SENTENCE, 0)), Err(Error::NotSealed));
}

/// A front that was taken over has no words that the owner did not sign.
fn nothing_is_laid_out_without_the_owner_s_words() {
    let world = World::new();
    let home = home(&world);
    let launcher = at_home(&world, Some(&home));
    let refuses = |order: SampleOrder, why: Refusal| {
        assert_eq!(launcher.lay_out_sample(order), Err(Error::Refused(why)));
        assert_eq!(names(&home), Vec::<String>::new());
    };
    let whole = order(SENTENCE, 0);
    let mut other_words = whole.clone();
    other_words.signed.body.text = "Try it on a sample project.".to_owned();
    refuses(other_words, Refusal::Signature);
    let mut by_another = whole.clone();
    by_another.signed.signature = sign(&root_key(), &whole.signed.body.message().unwrap());
    refuses(by_another, Refusal::Signature);
    refuses(order("tasks", 0), Refusal::Content);
    let later = GRAMMAR + 1;
    let unread = Refusal::Malformed(UnknownGrammar(later).to_string());
    refuses(SampleOrder { grammar: later, ..order(SENTENCE, 0) }, unread);
    refuses(order(SENTENCE, 301), Refusal::Expired);
    let mut elsewhere = order(SENTENCE, 0);
    elsewhere.signed.body.scope = "somebody".to_owned();
    elsewhere.signed.signature = sign(&device_key(), &elsewhere.signed.body.message().unwrap());
    refuses(elsewhere, Refusal::Installation);

    // What lies there already is found for as long as the owner takes to allow it.
    laid_out(&launcher, &home, 1, true);
    assert!(launcher.lay_out_sample(order(SENTENCE, 100_000)).is_ok_and(|found| !found.is_new));
    fs::remove_dir_all(home.join(directory_name(1))).unwrap();
    take_back(&launcher, device()).unwrap();
    refuses(order(SENTENCE, 0), Refusal::RevokedDevice);
}
