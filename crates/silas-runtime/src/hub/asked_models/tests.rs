//! Whoever listens ends up with the list that holds.

use super::*;
use silas_core::Timestamp;
use silas_core::model::Role;
use std::sync::Barrier;

#[test]
fn of_two_that_end_at_once_the_last_word_is_the_list_that_holds() {
    for round in 0..3000 {
        let (updates, mut told) = broadcast::channel(16);
        let all = AskedModels::new(updates);
        let asked = ["call-1", "call-2"].map(|call| all.ask(&CallId::parse(call).unwrap(), view()));
        let together = Barrier::new(asked.len());
        std::thread::scope(|scope| {
            for one in asked {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    drop(one);
                });
            }
        });
        let mut last = None;
        while let Ok(published) = told.try_recv() {
            last = Some(published);
        }
        let last = last.unwrap();
        let Update::WaitingFor { waiting_for } = last.update() else { panic!("{last:?}") };
        assert_eq!(*waiting_for, all.list(), "round {round}");
    }
}

fn view() -> AskedModelView {
    AskedModelView {
        model: "one".to_owned(),
        role: Role::ALL[0],
        for_work: false,
        message: None,
        since: Timestamp::EPOCH,
        waits_until: None,
    }
}
