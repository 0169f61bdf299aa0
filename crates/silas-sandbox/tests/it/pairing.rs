//! Keys, the seal, pairing codes, and the terminal's door.

use crate::runner::Case;
use crate::world::{
    World, certificate_body, installation, key_helper, life, now, offer, public, root_key, server_body, terminal_key,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::SigningKey;
use hmac::{Hmac, KeyInit, Mac};
use silas_core::device::DeviceKind;
use silas_core::key_service::{KeyReply, SignBody};
use silas_core::token::{Kind, Verdict};
use silas_sandbox::{Error, Launcher, terminal_pairing_code, terminal_sign};

pub(crate) const CASES: &[Case] = &[
    ("keys_come_before_the_seal_and_the_seal_once", keys_come_before_the_seal_and_the_seal_once),
    ("a_code_pairs_one_browser", a_code_pairs_one_browser),
    ("too_many_guesses_void_the_code", too_many_guesses_void_the_code),
    ("a_terminal_signs_and_gets_codes", a_terminal_signs_and_gets_codes),
    ("the_door_is_shut_to_the_sandboxed", the_door_is_shut_to_the_sandboxed),
    ("the_door_stays_shut_where_it_cannot_tell", the_door_stays_shut_where_it_cannot_tell),
    ("a_terminal_passes_where_only_the_server_gave_it_up", a_terminal_passes_where_only_the_server_gave_it_up),
    ("long_data_directories_have_a_door_too", long_data_directories_have_a_door_too),
];

fn browser() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

pub(crate) fn proof(code: &str, key: &SigningKey) -> String {
    let message = format!("silas-pair {}", String::from(public(key)));
    let mac = Hmac::<sha2::Sha256>::new_from_slice(code.as_bytes()).unwrap().chain_update(message.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

fn keys_come_before_the_seal_and_the_seal_once() {
    let world = World::new();
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let KeyReply::Ready { root, installation: named, .. } =
        launcher.init_keys(&world.data, now(), "terminal", false).unwrap()
    else {
        panic!("no keys")
    };
    assert_eq!((root, named), (public(&root_key()), installation()));
    let body = server_body(&browser());
    let certificate = launcher.certify_server(&world.data, body.clone()).unwrap();
    assert_eq!(certificate.check(&public(&root_key()), &installation()), Ok(()));
    let sealed = launcher.seal(world.seal()).unwrap();
    assert_eq!(URL_SAFE_NO_PAD.decode(sealed.pairing_code).unwrap().len(), 16);
    assert!(matches!(launcher.seal(world.seal()), Err(Error::AlreadySealed)));
    assert!(matches!(launcher.init_keys(&world.data, now(), "terminal", false), Err(Error::AlreadySealed)));
    assert!(matches!(launcher.certify_server(&world.data, body), Err(Error::AlreadySealed)));
}

fn a_code_pairs_one_browser() {
    let world = World::new();
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let body = certificate_body(&browser(), DeviceKind::Browser);
    assert_eq!(launcher.certify(body.clone(), "x").map(drop), Err(Error::NotSealed));
    let code = launcher.seal(world.seal()).unwrap().pairing_code;
    let refused = |body, proof: &str| {
        let answer = launcher.certify(body, proof).map(drop);
        assert!(matches!(answer, Err(Error::Pairing(_))), "{answer:?}");
    };
    refused(body.clone(), "");
    refused(body.clone(), "not base64!");
    refused(body.clone(), &proof("wrong", &browser()));
    refused(body.clone(), &proof(&code, &terminal_key()));
    refused(certificate_body(&browser(), DeviceKind::Terminal), &proof(&code, &browser()));
    let mut elsewhere = body.clone();
    elsewhere.installation = silas_core::InstallationId::parse("inst-elsewhere").unwrap();
    refused(elsewhere, &proof(&code, &browser()));
    let mut nameless = body.clone();
    nameless.name = " ".to_owned();
    refused(nameless, &proof(&code, &browser()));
    let certificate = launcher.certify(body.clone(), &proof(&code, &browser())).unwrap();
    assert!(certificate.verifies(&public(&root_key()), &installation()));
    refused(body, &proof(&code, &browser()));
}

fn too_many_guesses_void_the_code() {
    let world = World::new();
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let code = launcher.seal(world.seal()).unwrap().pairing_code;
    let body = certificate_body(&browser(), DeviceKind::Browser);
    let guess = |proof: &str| match launcher.certify(body.clone(), proof) {
        Err(Error::Pairing(why)) => why,
        other => panic!("{other:?}"),
    };
    for _ in 0..19 {
        assert_eq!(guess(&proof("a guess", &browser())), "the code is wrong");
    }
    assert!(guess(&proof("a guess", &browser())).contains("void"));
    assert!(guess(&proof(&code, &browser())).contains("no pairing code"));
    // The terminal has another.
    let code = terminal_pairing_code(&world.data).unwrap();
    launcher.certify(body.clone(), &proof(&code, &browser())).unwrap();
}

fn a_terminal_signs_and_gets_codes() {
    let world = World::new();
    assert!(matches!(terminal_pairing_code(&world.data), Err(Error::Terminal(_))));
    let launcher = Launcher::fork(key_helper, crate::world::clock()).unwrap();
    let first = launcher.seal(world.seal()).unwrap().pairing_code;
    let body = offer(Kind::Plan, "{}").answered(public(&terminal_key()).id(), Verdict::Approved);
    let signature = terminal_sign(&world.data, &SignBody::Token(body.clone()), &mut || None).unwrap();
    assert!(public(&terminal_key()).verifies(body.message().unwrap().as_bytes(), &signature));
    let code = terminal_pairing_code(&world.data).unwrap();
    let body = certificate_body(&browser(), DeviceKind::Browser);
    assert!(matches!(launcher.certify(body.clone(), &proof(&first, &browser())), Err(Error::Pairing(_))));
    launcher.certify(body, &proof(&code, &browser())).unwrap();
    assert_eq!(std::fs::metadata(world.data.join("run/keys.sock")).map(|m| mode(&m)).unwrap(), 0o600);
    for private in ["keys", "run", "launcher", "launcher/spent", "launcher/work"] {
        assert_eq!(mode(&std::fs::metadata(world.data.join(private)).unwrap()), 0o700, "{private}");
    }
}

fn mode(meta: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777
}

fn give_up_privileges() {
    // SAFETY: sets one flag of this process.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
}

fn is_refused() {
    let body = offer(Kind::Plan, "{}").answered(public(&terminal_key()).id(), Verdict::Approved);
    let data = std::path::PathBuf::from(std::env::var_os("SILAS_TEST_DATA").unwrap());
    for answer in
        [terminal_sign(&data, &SignBody::Token(body), &mut || None).map(drop), terminal_pairing_code(&data).map(drop)]
    {
        assert!(matches!(answer, Err(Error::Terminal(_))), "{answer:?}");
    }
}

fn the_door_is_shut_to_the_sandboxed() {
    let world = World::new();
    let _launcher = world.launcher();
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var("SILAS_TEST_DATA", &world.data) };
    let client = life(None, || {
        give_up_privileges();
        is_refused();
    });
    assert_eq!(client, 0);
    terminal_pairing_code(&world.data).unwrap();
    // The front itself, once it is confined.
    give_up_privileges();
    is_refused();
}

fn the_door_stays_shut_where_it_cannot_tell() {
    let world = World::new();
    give_up_privileges();
    let _launcher = world.launcher();
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var("SILAS_TEST_DATA", &world.data) };
    is_refused();
    let Err(Error::Terminal(why)) = terminal_pairing_code(&world.data) else { panic!("the door is open") };
    assert!(why.contains("no_new_privs"), "{why}");
}

/// As under the unit of `silas service`: the server cannot gain privileges, and neither can anything that it starts.
fn a_terminal_passes_where_only_the_server_gave_it_up() {
    let world = World::new();
    let (mut here, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
    // SAFETY: this process has one thread.
    let terminal = unsafe { libc::fork() };
    assert!(terminal >= 0);
    if terminal == 0 {
        let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            std::io::Read::read_exact(&mut there, &mut [0]).unwrap();
            terminal_pairing_code(&world.data).unwrap();
        }));
        // SAFETY: ends this child without tidying up what its parent owns too.
        unsafe { libc::_exit(i32::from(asked.is_err()) * 101) };
    }
    give_up_privileges();
    let _launcher = world.launcher();
    std::io::Write::write_all(&mut here, &[1]).unwrap();
    assert_eq!(crate::runner::wait(terminal), 0);
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var("SILAS_TEST_DATA", &world.data) };
    is_refused();
}

fn long_data_directories_have_a_door_too() {
    let mut world = World::new();
    world.data = world.data.join("d".repeat(200));
    std::fs::create_dir(&world.data).unwrap();
    let _launcher = world.launcher();
    terminal_pairing_code(&world.data).unwrap();
}
