//! Publishing a state that has to be read first, so that an older one never follows a newer one.

use tokio::sync::Mutex;

/// For the whole state of one thing, such as the list of cards. Whoever changed the thing publishes it afterwards; of two
/// who do so at once the second reads only when the first has published, or doors would end with what the slower one read.
#[derive(Default)]
pub(super) struct InOrder(Mutex<()>);

impl InOrder {
    pub(super) async fn publish<T>(&self, read: impl Future<Output = T>, publish: impl FnOnce(T)) {
        let _alone = self.0.lock().await;
        publish(read.await);
    }
}

#[cfg(test)]
mod tests {
    use super::InOrder;
    use std::cell::{Cell, RefCell};
    use tokio::sync::Notify;

    #[tokio::test]
    async fn a_slow_reader_does_not_publish_an_older_state_last() {
        let (cards, slow, published) = (Cell::new(1), Notify::new(), RefCell::new(Vec::new()));
        let in_order = InOrder::default();
        let first = in_order.publish(
            async {
                let read = cards.get();
                slow.notified().await;
                read
            },
            |read| published.borrow_mut().push(read),
        );
        let second = in_order.publish(async { cards.get() }, |read| published.borrow_mut().push(read));
        let meanwhile = async {
            // The first has read and waits; the state moves on, and the second has every chance to be faster.
            cards.set(2);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            slow.notify_one();
        };
        tokio::join!(biased; first, meanwhile, second);
        assert_eq!(*published.borrow(), [1, 2]);
    }
}
