//! What would be done on machines that are not this one.

use super::*;

fn written(switches: Switches) -> Vec<(String, String, String)> {
    let show = |mend: Mend| match mend {
        Mend::Write { path, text, then, .. } => Some((path.display().to_string(), text, then.join(" "))),
        Mend::Close { .. } => None,
    };
    mends(switches, Path::new("/opt/my silas/silas"), &[]).into_iter().filter_map(show).collect()
}

#[test]
fn a_machine_without_restrictions_is_left_alone() {
    assert_eq!(mends(Switches::default(), Path::new("/usr/bin/silas"), &[]), []);
}

#[test]
fn where_apparmor_restricts_this_one_program_gets_a_profile() {
    let acts = written(Switches { apparmor_restricts: true, ..Switches::default() });
    let [(path, text, then)] = acts.as_slice() else { panic!("{acts:?}") };
    assert_eq!((path.as_str(), then.as_str()), ("/etc/apparmor.d/silas", "apparmor_parser -r /etc/apparmor.d/silas"));
    assert!(text.contains("profile silas \"/opt/my silas/silas\" flags=(unconfined) {\n  userns,\n}"), "{text}");
}

#[test]
fn switches_that_are_off_are_turned_on_for_good() {
    let acts = written(Switches { clone_is_off: true, none_allowed: true, ..Switches::default() });
    let [(path, text, _)] = acts.as_slice() else { panic!("{acts:?}") };
    assert_eq!(path, "/etc/sysctl.d/60-silas.conf");
    assert_eq!(text, "user.max_user_namespaces = 10000\nkernel.unprivileged_userns_clone = 1\n");
}
