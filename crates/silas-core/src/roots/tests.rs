//! Which directories may be granted at all.

use super::*;

const DATA: &str = "/home/me/.local/share/silas";

#[test]
fn what_may_be_granted() {
    let fine =
        ["/home/me/project", "/home/me/.local/share/silas2", "/srv/www", "/tmp/x", "/var/lib/x", "/usrlocal", "/opt"];
    for path in fine {
        assert_eq!(may_grant(path, DATA), Ok(()), "{path}");
    }
    let never = [
        ("/", Forbidden::Everything),
        ("/home/me", Forbidden::OwnData),
        ("/home/me/.local", Forbidden::OwnData),
        ("/home/me/.local/share/silas", Forbidden::OwnData),
        ("/home/me/.local/share/silas/keys", Forbidden::InsideOwnData),
        ("/home", Forbidden::OwnData),
        ("/tmp", Forbidden::System),
        ("/var", Forbidden::System),
        ("/usr", Forbidden::System),
        ("/usr/local/bin", Forbidden::System),
        ("/etc", Forbidden::System),
        ("/etc/ssh", Forbidden::System),
        ("/proc/self", Forbidden::System),
        ("/dev/shm", Forbidden::System),
        ("/lib64", Forbidden::System),
    ];
    for (path, why) in never {
        assert_eq!(may_grant(path, DATA), Err(why), "{path}");
    }
    assert_eq!(may_grant("/home", "/srv/silas"), Err(Forbidden::System), "too wide even without our data in it");
}

#[test]
fn containing_is_by_whole_names() {
    let cases = [
        ("/a", "/a", true),
        ("/a", "/a/b", true),
        ("/a/b", "/a", false),
        ("/a", "/ab", false),
        ("/", "/a", true),
        ("/", "/", true),
        ("/a", "/", false),
        ("/é", "/é/x", true),
        ("/a/b", "/a/c", false),
    ];
    for (outer, inner, expected) in cases {
        assert_eq!(contains(outer, inner), expected, "{outer} {inner}");
    }
}
