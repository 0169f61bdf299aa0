//! One pace for each device, whatever it holds, and never more than there may be.

use super::*;
use silas_core::signature::PublicKey;
use std::net::Ipv4Addr;
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

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
    let paces = Paces::new(3, 100_000);
    let (one, two) =
        (paces.of_device(&key(1), HERE, start()).unwrap(), paces.of_device(&key(1), HERE, start()).unwrap());
    assert!(one.allows(start()) && two.allows(start()) && one.allows(start()));
    assert!(!one.allows(start()) && !two.allows(start()));
    // Going and coming again changes nothing.
    drop((one, two));
    assert!(!paces.of_device(&key(1), HERE, start()).unwrap().allows(start()));
    assert!(paces.of_device(&key(2), HERE, start()).unwrap().allows(start()));
    assert!(paces.of_line(start()).allows(start()));
}

#[test]
fn only_so_many_are_kept_and_those_that_are_idle_make_room() {
    let paces = Paces::new(3, 100_000);
    let n_max = u32::try_from(KEPT_MAX).unwrap();
    for n in 0..n_max {
        assert!(paces.of_device(&key(n), HERE, start()).unwrap().allows(start()));
    }
    // Each has asked just now; forgetting one would give it a whole minute again.
    assert!(paces.of_device(&key(n_max), HERE, start()).is_none());
    assert!(!(0..3).all(|_| paces.of_device(&key(0), HERE, start()).unwrap().allows(start())));
    // One that is connected stays, however long it says nothing.
    let connected = paces.of_device(&key(7), HERE, start()).unwrap();
    let later = start().plus(Duration::from_secs(60));
    let new = paces.of_device(&key(n_max), HERE, later).unwrap();
    assert_eq!(held(&paces.devices.buckets).len(), 2);
    assert!((0..3).all(|_| connected.allows(later)) && !paces.of_device(&key(7), HERE, later).unwrap().allows(later));
    assert!(new.allows(later));
}

#[test]
fn all_devices_at_one_address_share_what_it_may_and_another_address_has_its_own() {
    let paces = Paces::new(3, 4);
    let at = |n, from| paces.of_device(&key(n), from, start()).unwrap();
    let n_allowed = |pace: &Pace| (0..9).filter(|_| pace.allows(start())).count();
    assert_eq!((n_allowed(&at(1, HERE)), n_allowed(&at(2, HERE))), (3, 1));
    assert_eq!(n_allowed(&at(3, ELSEWHERE)), 3);
    // Whoever has used up its own has it nowhere.
    assert_eq!(n_allowed(&at(1, ELSEWHERE)), 0);
    assert!(paces.of_line(start()).allows(start()));
}
