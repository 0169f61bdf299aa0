//! Sizes and spans as people write them.

use super::{bytes, seconds};

#[test]
fn sizes_and_spans() {
    assert_eq!(
        (seconds("30"), seconds("30s"), seconds("5m"), seconds("2h")),
        (Some(30), Some(30), Some(300), Some(7200))
    );
    assert_eq!(
        (bytes("10"), bytes("2K"), bytes("512M"), bytes("1GB")),
        (Some(10), Some(2048), Some(512 << 20), Some(1 << 30))
    );
    for nonsense in ["", "s", "-1", "1.5", "1d", "99999999999999999999", "18446744073709551615h"] {
        assert_eq!(seconds(nonsense), None, "{nonsense}");
    }
    assert_eq!(bytes("18446744073709551615G"), None);
}
