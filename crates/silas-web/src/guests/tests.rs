//! Who has to leave: never whoever comes late, and strangers before the owner.

use super::*;

fn from(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

const OURS: &str = "192.0.2.1:443";

async fn came(guests: &Arc<Guests>, address: &str) -> (Arc<Guest>, usize) {
    guests.enter(from(address), from(OURS)).await
}

fn is_told(guest: &Guest) -> bool {
    *guest.leave.borrow()
}

#[tokio::test]
async fn one_address_has_a_share_and_its_own_oldest_leaves() {
    let guests = Guests::new(8, None);
    let (one, _) = came(&guests, "198.51.100.7:1").await;
    let (two, _) = came(&guests, "198.51.100.7:2").await;
    let (other, n) = came(&guests, "198.51.100.8:1").await;
    assert_eq!(n, 0);
    let (three, n) = came(&guests, "198.51.100.7:3").await;
    assert_eq!(n, 1);
    assert_eq!((is_told(&one), is_told(&two), is_told(&three)), (true, false, false));
    assert!(!is_told(&other));
    // A customer of version 6 has one network and any number of addresses in it.
    let six = [
        came(&guests, "[2001:db8::1]:1").await.0,
        came(&guests, "[2001:db8::2]:1").await.0,
        came(&guests, "[2001:db8::3]:1").await.0,
    ];
    assert_eq!((is_told(&six[0]), is_told(&six[1])), (true, false));
}

#[tokio::test]
async fn when_all_is_taken_the_oldest_of_whoever_has_most_leaves() {
    let guests = Guests::new(4, None);
    let mut here = Vec::new();
    for n in 1..=4 {
        here.push(came(&guests, &format!("198.51.100.{n}:1")).await.0);
    }
    let (fifth, n) = came(&guests, "198.51.100.5:1").await;
    assert_eq!((n, is_told(&fifth)), (1, false));
    assert_eq!(guests.book().here.len(), 4);
}

#[tokio::test]
async fn whoever_is_let_in_or_gone_is_counted_no_more() {
    let guests = Guests::new(4, None);
    let (one, _) = came(&guests, "198.51.100.1:1").await;
    one.is_let_in();
    for n in 2..=5 {
        let (guest, n_left) = came(&guests, &format!("198.51.100.{n}:1")).await;
        assert_eq!(n_left, 0);
        drop(guest);
    }
    assert!(guests.book().here.is_empty() && !is_told(&one));
}

/// The owner's own programs are asked about once it is crowded; a connection that nobody holds is a stranger's.
#[tokio::test]
async fn other_users_of_this_machine_have_a_share_together() {
    let me = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
    let guests = Guests::new(16, Some(me));
    let (mut held, mut n_left) = (Vec::new(), 0);
    for port in 1..=40 {
        let (guest, n) = came(&guests, &format!("127.0.0.1:{port}")).await;
        held.push(guest);
        n_left += n;
    }
    // Two came before anybody asked, and four are their share.
    assert_eq!((guests.book().here.len(), n_left), (6, 34));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = listener.local_addr().unwrap();
    let mut mine = Vec::new();
    for _ in 0..10 {
        let client = std::net::TcpStream::connect(ours).unwrap();
        let (taken, theirs) = listener.accept().unwrap();
        let (guest, n) = guests.enter(theirs, ours).await;
        assert_eq!(n, 0);
        assert!(!guest.is_of_another_user().await);
        mine.push((client, taken, guest));
    }
    assert!(held[39].is_of_another_user().await);
}
