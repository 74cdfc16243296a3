//! Faults that delay queues have had in practice with runtimes and bounds, asked of a queue and of
//! the channel; the others are asked of the channel in `tests/cases/queues.rs`.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read the clock they control"
)]
#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

#[path = "common/drive.rs"]
mod drive;

use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use std::thread;

use cogwheel::DelayQueue;
use cogwheel::delay_queue::{Drain, Expired, Key, Receiver, Sender, TryInsertError, channel};
use drive::{LONG, ms, one_thread, paused, timer_of, two_workers, watched};
use futures::StreamExt;

#[test]
fn case_058_queues_are_made_and_dropped_without_a_runtime_and_awaited_in_one_later() {
    let mut queue = DelayQueue::new();
    queue.insert("first", ms(1));
    let (sender, mut receiver) = channel();
    sender.insert("second", ms(1));
    drop((DelayQueue::<u32>::new(), channel::<u32>(), sender));
    watched(move || {
        one_thread().block_on(async {
            assert_eq!(queue.next().await.unwrap().into_inner(), "first");
            assert_eq!(receiver.recv().await.unwrap().into_inner(), "second");
            assert!(receiver.recv().await.is_none());
        });
    });
}

#[test]
fn case_059_queues_first_used_in_a_runtime_that_has_ended_work_in_two_others() {
    let mut queue = DelayQueue::new();
    let (sender, mut receiver) = channel();
    paused().block_on(async {
        queue.insert(0, ms(1));
        assert_eq!(queue.next().await.unwrap().into_inner(), 0);
        sender.insert(0, ms(1));
        assert_eq!(receiver.recv().await.unwrap().into_inner(), 0);
        // Both wait in it when it ends.
        queue.insert(1, ms(5));
        sender.insert(1, ms(5));
        assert!(futures::poll!(queue.next()).is_pending());
        assert!(futures::poll!(receiver.next()).is_pending());
    });
    watched(move || {
        let mut second = receiver.clone();
        let other = thread::spawn(move || {
            one_thread().block_on(async {
                queue.insert(2, ms(1));
                assert_eq!(queue.len(), 2);
                let all: Vec<_> = queue.map(Expired::into_inner).collect().await;
                (all, second.recv().await.map(Expired::into_inner))
            })
        });
        let mine = one_thread().block_on(async {
            sender.insert(2, ms(1));
            drop(sender);
            receiver.recv().await.map(Expired::into_inner)
        });
        let (all, others) = other.join().unwrap();
        assert_eq!(HashSet::from_iter(all), HashSet::from([1, 2]));
        // Two items, two receivers, whoever was first.
        assert_eq!(
            HashSet::from([mine, others]),
            HashSet::from([Some(1), Some(2)])
        );
    });
}

#[test]
fn case_061_queues_that_left_their_runtime_are_dropped_on_any_thread() {
    let runtime = paused();
    let (queue, channel) = runtime.block_on(async {
        let mut queue = DelayQueue::new();
        queue.insert(1, LONG);
        let (sender, mut receiver) = channel();
        sender.insert(1, LONG);
        assert!(futures::poll!(queue.next()).is_pending());
        assert!(futures::poll!(receiver.next()).is_pending());
        (queue, (sender, receiver))
    });
    drop(runtime);
    thread::spawn(move || drop((queue, channel)))
        .join()
        .unwrap();
}

#[test]
fn case_063_every_call_on_a_channel_whose_runtime_is_ending_returns_and_loses_no_item() {
    for make in [paused, one_thread, two_workers] {
        watched(move || {
            let runtime = make();
            let timer = timer_of(&runtime);
            let (sender, mut receiver) = channel();
            sender.insert(usize::MAX, LONG);
            runtime.block_on(async { assert!(futures::poll!(receiver.next()).is_pending()) });
            let go = Arc::new(Barrier::new(9));
            let threads: Vec<_> = (0..8)
                .map(|seed| {
                    let (sender, timer, go) = (sender.clone(), timer.clone(), go.clone());
                    thread::spawn(move || {
                        go.wait();
                        for n in 0..500 {
                            let key = sender.insert(500 * seed + n, LONG);
                            assert!(sender.reset(&key, 2 * LONG));
                            // The earliest of all, which concerns whoever waits.
                            assert!(sender.reset(&key, LONG - ms(n as u64)));
                            if n % 2 == 0 {
                                assert!(sender.remove(&key).is_some());
                                assert!(sender.remove(&key).is_none());
                            }
                            if n == 250 {
                                timer.close();
                            }
                        }
                    })
                })
                .collect();
            go.wait();
            drop(runtime);
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(timer.is_closed());
            timer.close();
            drop(sender);
            // What is left can be had in another runtime.
            let rest: Vec<usize> =
                paused().block_on(async { receiver.map(Expired::into_inner).collect().await });
            let distinct: HashSet<_> = rest.iter().copied().collect();
            let odd = (0..8 * 500).filter(|n| n % 2 == 1);
            assert_eq!(rest.len(), distinct.len());
            assert_eq!(distinct, odd.chain([usize::MAX]).collect());
        });
    }
}

#[test]
fn case_093_the_types_of_queues_are_as_shareable_as_their_items() {
    fn check<T: Send + Sync + 'static>() {}
    check::<DelayQueue<u32>>();
    check::<Sender<u32>>();
    check::<Receiver<u32>>();
    check::<Expired<u32>>();
    check::<Drain<'static, u32>>();
    check::<TryInsertError<u32>>();
    check::<Key>();
}
