//! One pace for each device, whatever it holds, and never more than there may be.

use super::*;
use silas_core::signature::PublicKey;
use std::time::Duration;

fn key(n: u32) -> KeyId {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    PublicKey::from_bytes(bytes).id()
}

fn start() -> Timestamp {
    Timestamp::from_micros(1_000_000)
}

#[test]
fn all_sockets_of_a_device_share_one_and_another_device_has_its_own() {
    let paces = Paces::new(3);
    let (one, two) = (paces.of_device(&key(1), start()).unwrap(), paces.of_device(&key(1), start()).unwrap());
    assert!(one.allows(start()) && two.allows(start()) && one.allows(start()));
    assert!(!one.allows(start()) && !two.allows(start()));
    // Going and coming again changes nothing.
    drop((one, two));
    assert!(!paces.of_device(&key(1), start()).unwrap().allows(start()));
    assert!(paces.of_device(&key(2), start()).unwrap().allows(start()));
    assert!(paces.of_line(start()).allows(start()));
}

#[test]
fn only_so_many_are_kept_and_those_that_are_idle_make_room() {
    let paces = Paces::new(3);
    let n_max = u32::try_from(DEVICES_MAX).unwrap();
    for n in 0..n_max {
        assert!(paces.of_device(&key(n), start()).unwrap().allows(start()));
    }
    // Each has asked just now; forgetting one would give it a whole minute again.
    assert!(paces.of_device(&key(n_max), start()).is_none());
    assert!(!(0..3).all(|_| paces.of_device(&key(0), start()).unwrap().allows(start())));
    // One that is connected stays, however long it says nothing.
    let connected = paces.of_device(&key(7), start()).unwrap();
    let later = start().plus(Duration::from_secs(60));
    let new = paces.of_device(&key(n_max), later).unwrap();
    assert_eq!(held(&paces.devices).len(), 2);
    assert!((0..3).all(|_| connected.allows(later)) && !paces.of_device(&key(7), later).unwrap().allows(later));
    assert!(new.allows(later));
}
