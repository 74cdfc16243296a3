//! Queues between tasks, on both kinds of runtime: who waits is a task that may be on another
//! thread than who inserts, moves and removes, and time is moved by hand.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cogwheel::ManualClock;
use cogwheel::delay_queue::{Expired, Key, Receiver, TryInsertError};
use cogwheel::delay_queue::{channel, channel_bounded};
use cogwheel::time::{Instant, interval_at, sleep_until};
use futures::StreamExt;
use tokio::task::JoinHandle;

use crate::drive::ms;
use crate::ticks::{BEHAVIORS, tick};
use crate::{NS, default_clock, secs, until};

type Item = (&'static str, Instant);

/// A task that takes `count` items, and says of each when it came.
fn consumer(
    clock: &ManualClock,
    mut receiver: Receiver<&'static str>,
    count: usize,
) -> JoinHandle<Vec<Item>> {
    let timer = clock.timer();
    tokio::spawn(async move {
        let mut came = Vec::new();
        for _ in 0..count {
            let item = receiver.recv().await.unwrap().into_inner();
            came.push((item, timer.now()));
        }
        came
    })
}

/// What came, without when.
fn names(came: &[Item]) -> Vec<&'static str> {
    came.iter().map(|&(item, _)| item).collect()
}

on_both! {
    async fn case_009_an_item_put_before_the_first_is_woken_for() {
        let clock = default_clock();
        let start = clock.now();
        let (sender, receiver) = channel();
        sender.insert_at("a", start + ms(100));
        let consumer = consumer(&clock, receiver, 2);
        until(|| clock.pending() == 1).await;
        sender.insert_at("b", start + ms(10));
        clock.advance(ms(10));
        until(|| sender.len() == 1 && clock.pending() == 1).await;
        clock.advance(ms(90) - NS);
        assert_eq!(sender.len(), 1);
        clock.advance(NS);
        let came = consumer.await.unwrap();
        assert_eq!(came, [("b", start + ms(10)), ("a", start + ms(100))]);
    }
}

on_both! {
    async fn case_010_removing_the_last_item_ends_every_wait() {
        let clock = default_clock();
        let (sender, receiver) = channel();
        let key = sender.insert("only", secs(100));
        receiver.close();
        let consumers = [(); 3].map(|()| {
            let mut receiver = receiver.clone();
            tokio::spawn(async move { receiver.recv().await.is_none() })
        });
        until(|| clock.pending() == 1).await;
        assert!(sender.remove(&key).is_some());
        for consumer in consumers {
            assert!(consumer.await.unwrap());
        }
    }
}

on_both! {
    async fn case_011_a_reset_to_the_past_yields_with_the_clock_unmoved() {
        let clock = default_clock();
        clock.advance(secs(2));
        let now = clock.now();
        let (sender, receiver) = channel();
        let key = sender.insert("item", secs(60));
        let consumer = consumer(&clock, receiver, 1);
        until(|| clock.pending() == 1).await;
        assert!(sender.reset_at(&key, now - secs(1)));
        assert_eq!(consumer.await.unwrap(), [("item", now)]);
    }
}

on_both! {
    async fn case_012_a_reset_into_a_coarser_slot_that_has_begun_is_woken_for() {
        let clock = default_clock();
        let start = clock.now();
        let (sender, receiver) = channel();
        let key = sender.insert_at("item", start + ms(100));
        let consumer = consumer(&clock, receiver, 1);
        until(|| clock.pending() == 1).await;
        clock.advance_to(start + ms(80));
        assert!(sender.reset_at(&key, start + ms(120)));
        clock.advance_to(start + ms(120) - NS);
        assert_eq!(sender.len(), 1);
        // A task that was woken for the old deadline waits again.
        until(|| clock.pending() == 1).await;
        clock.advance(NS);
        assert_eq!(consumer.await.unwrap(), [("item", start + ms(120))]);
    }
}

on_both! {
    async fn case_034_a_reset_to_almost_now_is_woken_for_from_every_first_deadline() {
        let clock = default_clock();
        let (sender, receiver) = channel();
        for first in (65..=255).chain([200]) {
            let start = clock.now();
            let key = sender.insert_at("item", start + ms(first));
            let consumer = consumer(&clock, receiver.clone(), 1);
            until(|| clock.pending() == 1).await;
            clock.advance_to(start + ms(3));
            assert!(sender.reset_at(&key, start + ms(4)));
            clock.advance_to(start + ms(4));
            assert_eq!(consumer.await.unwrap(), [("item", start + ms(4))], "{first}");
        }
    }
}

on_both! {
    async fn case_035_of_three_items_due_together_one_is_taken_one_reset_and_one_removed() {
        let clock = default_clock();
        for delay in [ms(64), ms(64 * 64), Duration::from_nanos(1 << 26)] {
            let due = clock.now() + delay;
            let (sender, mut receiver) = channel();
            let keys = ["first", "second", "third"].map(|item| sender.insert_at(item, due));
            clock.advance_to(due);
            assert_eq!(receiver.recv().await.unwrap().key(), keys[0]);
            assert!(sender.reset_at(&keys[1], due + ms(100)));
            assert_eq!(sender.remove(&keys[2]).map(Expired::into_inner), Some("third"));
            let consumer = consumer(&clock, receiver, 1);
            until(|| clock.pending() == 1).await;
            clock.advance(ms(100) - NS);
            assert_eq!(sender.len(), 1);
            clock.advance(NS);
            assert_eq!(consumer.await.unwrap(), [("second", due + ms(100))]);
        }
    }
}

on_both! {
    async fn case_043_a_lost_select_loses_no_item_and_doubles_none() {
        let clock = default_clock();
        let (sender, mut receiver) = channel();
        let (mut won, mut lost) = (0, 0);
        for round in 0..1_000_u32 {
            let deadline = clock.now() + ms(10);
            sender.insert_at(round, deadline);
            let choose = async {
                tokio::select! {
                    expired = receiver.recv() => expired,
                    () = sleep_until(deadline) => None,
                }
            };
            let turn = async {
                until(|| clock.pending() == 2).await;
                clock.advance(ms(10));
            };
            let item = match tokio::join!(choose, turn).0 {
                Some(item) => {
                    won += 1;
                    item
                }
                None => {
                    lost += 1;
                    assert_eq!(sender.len(), 1);
                    receiver.recv().await.unwrap()
                }
            };
            assert_eq!(item.into_inner(), round);
            assert!(sender.is_empty());
        }
        assert!(won > 100 && lost > 100, "won {won}, lost {lost}");
    }
}

on_both! {
    async fn case_047_another_task_gets_the_item_of_a_consumer_that_was_aborted() {
        let clock = default_clock();
        for waits_already in [false, true] {
            let (sender, receiver) = channel();
            sender.insert("item", ms(50));
            let first = consumer(&clock, receiver.clone(), 1);
            until(|| clock.pending() == 1).await;
            let mut second = receiver.clone();
            let mut next = second.next();
            if waits_already {
                assert!(futures::poll!(&mut next).is_pending());
            }
            first.abort();
            assert!(first.await.unwrap_err().is_cancelled());
            let second = async { next.await.map(Expired::into_inner) };
            let turn = async {
                until(|| clock.pending() == 1).await;
                clock.advance(ms(50));
            };
            assert_eq!(tokio::join!(second, turn).0, Some("item"));
        }
    }
}

on_both! {
    async fn case_068_items_wait_for_a_consumer_that_sleeps_through_them() {
        let clock = default_clock();
        let start = clock.now();
        let (sender, receiver) = channel();
        sender.insert_at("late", start + ms(20));
        sender.insert_at("early", start + ms(10));
        let mut beats = BEHAVIORS.map(|behavior| {
            let mut beat = interval_at(start + ms(10), ms(10));
            beat.set_missed_tick_behavior(behavior);
            beat
        });
        for _ in 0..3 {
            clock.advance(ms(10));
        }
        let came = consumer(&clock, receiver, 2).await.unwrap();
        assert_eq!(names(&came), ["early", "late"]);
        // And the ticks: those that were missed are made up for, or are not.
        for (beat, at_once) in beats.iter_mut().zip([3, 1, 1]) {
            for n in 1..=at_once {
                assert_eq!(tick(beat).await, Some(start + ms(10) * n));
            }
            assert_eq!(tick(beat).await, None);
        }
    }
}

on_both! {
    async fn case_072_an_overdue_head_comes_before_near_and_far_items() {
        let clock = default_clock();
        let (sender, receiver) = channel();
        sender.insert("overdue", ms(10));
        clock.advance(ms(20));
        let far = sender.insert("far", Duration::MAX);
        sender.insert("near", ms(1));
        let consumer = consumer(&clock, receiver.clone(), 2);
        until(|| sender.len() == 2 && clock.pending() == 1).await;
        clock.advance(ms(1));
        assert_eq!(names(&consumer.await.unwrap()), ["overdue", "near"]);
        assert!(sender.remove(&far).is_some());
    }
}

on_both! {
    async fn case_077_a_burst_comes_once_each_to_four_consumers() {
        const ITEMS: usize = 40_000;
        let clock = default_clock();
        let (sender, receiver) = channel();
        let due = clock.now() + ms(1);
        for item in 0..ITEMS {
            sender.insert_at(item, due);
        }
        drop(sender);
        let taken = Arc::new(AtomicUsize::new(0));
        let consumers = [(); 4].map(|()| {
            let (mut receiver, taken) = (receiver.clone(), taken.clone());
            tokio::spawn(async move {
                let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(10));
                while receiver.recv_many(&mut batch, 10).await > 0 {
                    taken.fetch_add(batch.len(), Ordering::AcqRel);
                    all.extend(batch.drain(..).map(Expired::into_inner));
                    assert_eq!(batch.capacity(), 10, "a batch is no longer than was said");
                }
                all
            })
        });
        until(|| clock.pending() == 1).await;
        assert_eq!(taken.load(Ordering::Acquire), 0);
        clock.advance(ms(1));
        let mut seen = HashSet::new();
        for consumer in consumers {
            let all = consumer.await.unwrap();
            assert!(all.is_sorted(), "each has them in order");
            assert!(all.into_iter().all(|item| seen.insert(item)), "twice");
        }
        assert_eq!(seen.len(), ITEMS);
    }
}

on_both! {
    async fn case_086_only_the_last_of_many_changes_between_two_turns_counts() {
        let clock = default_clock();
        let start = clock.now();
        let (sender, receiver) = channel();
        let consumer = consumer(&clock, receiver, 1);
        let first = sender.insert_at("cancelled", start + ms(5));
        assert!(sender.remove(&first).is_some());
        let again = sender.insert_at("again", start + ms(5));
        assert!(sender.reset_at(&again, start + ms(30)));
        assert!(sender.reset_at(&again, start + ms(20)));
        until(|| clock.pending() == 1).await;
        clock.advance(ms(20) - NS);
        assert_eq!(sender.len(), 1);
        until(|| clock.pending() == 1).await;
        clock.advance(NS);
        assert_eq!(consumer.await.unwrap(), [("again", start + ms(20))]);
        clock.advance(secs(1));
        assert!(sender.is_empty());
    }
}

on_both! {
    /// Cases 44, 79.
    async fn case_085_and_087_the_key_of_a_yielded_item_reaches_no_other() {
        let clock = default_clock();
        let (sender, receiver) = channel();
        let keys: Vec<Key> = (0..4).map(|_| sender.insert("same", ms(1))).collect();
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 4);
        assert!(sender.remove(&keys[2]).is_some());
        clock.advance(ms(1));
        let mut first = receiver.clone();
        for left in [0, 1, 3] {
            assert_eq!(first.recv().await.unwrap().key(), keys[left], "in order");
        }
        let (foreign, _receiver) = channel::<&str>();
        let stranger = foreign.insert("other queue", ms(1));
        let other = sender.insert("other", ms(10));
        for key in keys.iter().chain([&stranger]) {
            for _ in 0..2 {
                assert!(sender.remove(key).is_none());
                assert!(!sender.reset(key, Duration::ZERO));
            }
        }
        assert!(!keys.contains(&other));
        let consumer = consumer(&clock, receiver, 1);
        until(|| clock.pending() == 1).await;
        clock.advance(ms(10));
        assert_eq!(names(&consumer.await.unwrap()), ["other"]);
    }
}

on_both! {
    async fn case_101_and_102_views_count_what_is_due_and_show_exact_deadlines() {
        let clock = default_clock();
        let start = clock.now();
        let odd = Duration::from_nanos(1_234_567);
        let (sender, receiver) = channel_bounded(3);
        for delay in [secs(0), secs(10), secs(20)] {
            sender.insert_at("item", start + delay + odd);
        }
        clock.advance(secs(1));
        assert_eq!((sender.len(), sender.is_full()), (3, true));
        assert_eq!(receiver.next_deadline(), Some(start + odd));
        assert_eq!(sender.try_insert("more", ms(1)), Err(TryInsertError::Full("more")));
        assert_eq!(sender.len(), 3);
        let taken = consumer(&clock, receiver.clone(), 1).await.unwrap();
        assert_eq!(taken.len(), 1);
        assert_eq!((sender.len(), sender.is_full()), (2, false));
        assert_eq!(receiver.next_deadline(), Some(start + secs(10) + odd));
        assert!(sender.try_insert_at("more", start + secs(15) + odd).is_ok());
        assert!(sender.is_full());
        drop(sender);
        clock.advance(secs(20));
        let deadlines: Vec<_> = receiver.map(|item| item.deadline()).collect().await;
        assert_eq!(deadlines, [10, 15, 20].map(|delay| start + secs(delay) + odd));
    }
}
