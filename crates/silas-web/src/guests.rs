//! Connections that have not shown who they are, and who of them has to go when there are too many.
//!
//! Nobody is kept out for coming late: the oldest of whoever has the most leaves, because a page says at once what it wants
//! and whoever only holds a place does not. Other users of this machine, and each address of the network, have a share and
//! no more. A device that was let in is no guest any more and is never asked to leave.

use crate::http::left;
use crate::whose;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Of the places of a door, what one stranger may have: the other users of this machine together, or one address.
const STRANGERS_SHARE: usize = 4;
/// From this part of the places on it is asked whose program comes; before that it does not matter.
const CROWDED_FROM: usize = 8;

/// Where a guest comes from, as far as it matters who has how many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Source {
    /// It was not asked: there was room.
    Unasked,
    /// A program of the owner's on this machine, or of root's.
    Owner,
    /// Another user's, or nobody's any more.
    OtherUser,
    Address(IpAddr),
}

/// The guests of one door.
pub(crate) struct Guests {
    max: usize,
    /// Whose machine this side of it is; nothing where guests come from other machines.
    owner_uid: Option<u32>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    next: u64,
    /// By the order in which they came.
    here: BTreeMap<u64, (Source, Arc<watch::Sender<bool>>)>,
}

/// One connection. It is a guest until this is gone, or until it is let in.
pub(crate) struct Guest {
    guests: Arc<Guests>,
    number: u64,
    peer: SocketAddr,
    local: SocketAddr,
    leave: Arc<watch::Sender<bool>>,
}

impl Guests {
    pub(crate) fn new(max: usize, owner_uid: Option<u32>) -> Arc<Self> {
        Arc::new(Guests { max, owner_uid, book: Mutex::default() })
    }

    /// A newcomer, and how many had to leave for it.
    pub(crate) async fn enter(self: &Arc<Self>, peer: SocketAddr, local: SocketAddr) -> (Arc<Guest>, usize) {
        let source = match self.owner_uid {
            None => Source::Address(network(peer.ip())),
            Some(_) if self.book().here.len() < self.max / CROWDED_FROM => Source::Unasked,
            Some(_) if self.is_owners(peer, local).await => Source::Owner,
            Some(_) => Source::OtherUser,
        };
        let leave = Arc::new(watch::Sender::new(false));
        let mut book = self.book();
        let mut n_left = 0;
        while let Some(number) = book.who_leaves(source, self.share(source), self.max) {
            if let Some((_, leave)) = book.here.remove(&number) {
                leave.send_replace(true);
                n_left += 1;
            }
        }
        let number = book.next;
        book.next += 1;
        book.here.insert(number, (source, leave.clone()));
        drop(book);
        (Arc::new(Guest { guests: self.clone(), number, peer, local, leave }), n_left)
    }

    fn share(&self, source: Source) -> usize {
        match source {
            Source::Unasked | Source::Owner => self.max,
            Source::OtherUser | Source::Address(_) => (self.max / STRANGERS_SHARE).max(1),
        }
    }

    async fn is_owners(&self, peer: SocketAddr, local: SocketAddr) -> bool {
        let holder = whose::holds_the_other_end(peer, local).await;
        holder.is_some_and(|uid| uid == 0 || Some(uid) == self.owner_uid)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // A panic while this is held leaves a map that is still whole.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Who has to go before another of `source` can come: one of its own if it has its share, else, if all places are taken,
    /// the oldest of whoever has the most.
    fn who_leaves(&self, source: Source, share: usize, max: usize) -> Option<u64> {
        let of = |wanted: Source| self.here.iter().filter(move |(_, (source, _))| *source == wanted);
        if of(source).count() >= share {
            return of(source).next().map(|(number, _)| *number);
        }
        if self.here.len() < max {
            return None;
        }
        let mut counts: BTreeMap<Source, usize> = BTreeMap::new();
        self.here.values().for_each(|(source, _)| *counts.entry(*source).or_default() += 1);
        let (most, _) = counts.into_iter().max_by_key(|(_, n)| *n)?;
        of(most).next().map(|(number, _)| *number)
    }
}

impl Guest {
    /// Where it comes from, as far as addresses are told apart.
    pub(crate) fn address(&self) -> IpAddr {
        network(self.peer.ip())
    }

    /// Resolves when its place is needed.
    pub(crate) async fn told_to_leave(&self) {
        left(self.leave.subscribe()).await;
    }

    /// It has shown who it is: from now on it counts among the devices, not here.
    pub(crate) fn is_let_in(&self) {
        self.guests.book().here.remove(&self.number);
    }

    /// Whether another user's program is at the other end. A machine that is not this one has no users that we know.
    pub(crate) async fn is_of_another_user(&self) -> bool {
        self.guests.owner_uid.is_some() && !self.guests.is_owners(self.peer, self.local).await
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.is_let_in();
    }
}

/// An address; of version 6 the network that one customer of a provider has.
fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => IpAddr::V4(ip),
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64))),
    }
}

#[cfg(test)]
mod tests;
