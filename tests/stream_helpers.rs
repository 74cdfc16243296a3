//! `StreamExt` and `IntervalStream`, through the public API, and beside those of tokio-stream.

#![cfg(feature = "stream")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

#[path = "common/drive.rs"]
mod drive;
#[path = "common/place.rs"]
mod place;
#[path = "stream_helpers/script.rs"]
mod script;
#[path = "stream_helpers/side_by_side.rs"]
mod side_by_side;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use cogwheel::error::TimerError;
use cogwheel::stream::IntervalStream;
use cogwheel::time::{Duration, Instant, MissedTickBehavior, interval, interval_at, sleep};
use cogwheel::{ManualClock, StreamExt as _, Timer};
use drive::{ms, text_of, watched};
use futures::channel::mpsc;
use futures::stream::{self, FusedStream, Stream, StreamExt as _};
use place::panic_of;
use script::{Script, record};
use tokio::task::coop;
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready, assert_ready_eq, task};

// === with_timer ===

#[test]
fn each_helper_waits_on_the_timer_that_it_was_given_and_needs_no_runtime() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let mut context = Context::from_waker(Waker::noop());
    let (sender, receiver) = mpsc::unbounded();
    let mut guarded = receiver.with_timer(&timer).timeout(ms(10));
    let mut poll = || guarded.poll_next_unpin(&mut context);
    assert_pending!(poll());
    clock.advance(ms(9));
    assert_pending!(poll());
    clock.advance(ms(1));
    assert!(assert_ready!(poll()).unwrap().is_err());
    sender.unbounded_send(1).unwrap();
    assert_ready_eq!(poll(), Some(Ok(1)));
    assert_pending!(poll());
    clock.advance(ms(10));
    assert!(assert_ready!(poll()).unwrap().is_err());

    let mut apart = stream::iter(1..).with_timer(&timer).throttle(ms(10));
    let mut poll = || apart.poll_next_unpin(&mut context);
    assert_ready_eq!(poll(), Some(1));
    assert_pending!(poll());
    clock.advance(ms(10));
    assert_ready_eq!(poll(), Some(2));

    let (sender, receiver) = mpsc::unbounded();
    let mut settled = receiver.with_timer(&timer).debounce(ms(10));
    let mut poll = || settled.poll_next_unpin(&mut context);
    for n in 0..3 {
        sender.unbounded_send(n).unwrap();
        assert_pending!(poll());
        clock.advance(ms(9));
    }
    clock.advance(ms(1));
    assert_ready_eq!(poll(), Some(2));

    let (sender, receiver) = mpsc::unbounded();
    let mut chunks = receiver.with_timer(&timer).chunks_timeout(3, ms(10));
    let mut poll = || chunks.poll_next_unpin(&mut context);
    sender.unbounded_send(1).unwrap();
    assert_pending!(poll());
    clock.advance(ms(10));
    assert_ready_eq!(poll(), Some(vec![1]));
    assert_eq!(clock.pending(), 0);
}

#[test]
fn a_stream_on_a_timer_that_has_no_place_or_is_closed_is_refused_and_dropped() {
    let clock = Timer::builder().max_timers(1).build_manual();
    let timer = clock.timer();
    let (sender, receiver) = mpsc::unbounded::<u8>();
    let first = receiver.try_with_timer(&timer).unwrap();
    let (other, receiver) = mpsc::unbounded::<u8>();
    let refused = receiver.try_with_timer(&timer);
    assert_eq!(refused.unwrap_err(), TimerError::AtCapacity);
    assert!(other.is_closed());
    let (file, text) = panic_of(|| drop(stream::pending::<u8>().with_timer(&timer)));
    assert_eq!(file, file!());
    assert_eq!(text, TimerError::AtCapacity.to_string());
    // The source comes back without its place.
    let source = first.into_inner();
    assert!(!sender.is_closed());
    drop((sender, source));
    assert!(stream::pending::<u8>().try_with_timer(&timer).is_ok());
    clock.close();
    let refused = stream::pending::<u8>().try_with_timer(&timer);
    assert_eq!(refused.unwrap_err(), TimerError::Closed);
    let (file, _) = panic_of(|| {
        let stream = stream::pending::<u8>().with_timer(&ManualClock::new().timer());
        drop(stream.chunks_timeout(0, ms(1)));
    });
    assert_eq!(file, file!());
}

// === timeout ===

#[tokio::test(start_paused = true)]
async fn a_timeout_errs_once_in_each_silence_and_goes_on() {
    let source = Script::new(&[0, 10, 100, 300]);
    let seen = record(source.timeout(ms(30)), &[]).await;
    let errors: Vec<u64> = seen
        .iter()
        .filter(|(_, item)| item.is_err())
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(errors, [40, 130]);
    assert_eq!(seen.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_counts_from_its_making_and_from_each_item_to_the_nanosecond() {
    let (sender, receiver) = mpsc::unbounded();
    let mut guarded = task::spawn(receiver.timeout(ms(10)));
    advance(ms(4)).await;
    assert_pending!(guarded.poll_next());
    advance(ms(6) - Duration::from_nanos(1)).await;
    assert_pending!(guarded.poll_next());
    advance(Duration::from_nanos(1)).await;
    assert!(guarded.is_woken());
    assert!(assert_ready!(guarded.poll_next()).unwrap().is_err());
    advance(ms(50)).await;
    assert_pending!(guarded.poll_next());

    sender.unbounded_send(7).unwrap();
    assert_ready_eq!(guarded.poll_next(), Some(Ok(7)));
    advance(ms(10)).await;
    assert!(assert_ready!(guarded.poll_next()).unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_there_wins_over_a_timeout_that_has_passed() {
    let (sender, receiver) = mpsc::unbounded();
    let mut guarded = receiver.timeout(ms(10));
    advance(ms(50)).await;
    sender.unbounded_send(7).unwrap();
    assert_eq!(guarded.next().await, Some(Ok(7)));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_zero_errs_when_the_source_is_pending_and_the_longest_never() {
    let mut zero = task::spawn(Script::new(&[0, 10]).timeout(Duration::ZERO));
    assert_ready_eq!(zero.poll_next(), Some(Ok(0)));
    assert!(assert_ready!(zero.poll_next()).unwrap().is_err());
    assert_pending!(zero.poll_next());

    let patient = Script::new(&[0, 86_400_000]).timeout(Duration::MAX);
    assert_eq!(patient.collect::<Vec<_>>().await, [Ok(0), Ok(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_repeating_timeout_errs_at_each_period_of_a_silence() {
    let start = Instant::now();
    let source = Script::new(&[25, 60]);
    let nag = interval_at(start + ms(10), ms(10));
    let seen = record(source.timeout_repeating(nag), &[]).await;
    let right = [
        (10, false),
        (20, false),
        (25, true),
        (35, false),
        (45, false),
        (55, false),
        (60, true),
    ];
    let seen: Vec<_> = seen.iter().map(|(at, item)| (*at, item.is_ok())).collect();
    assert_eq!(seen, right);
}

/// A source that uses up the budget in every poll and never yields.
fn greedy() -> impl Stream<Item = u8> + Unpin {
    stream::poll_fn(|cx| {
        while coop::has_budget_remaining() {
            let _ = pin!(coop::consume_budget()).poll(cx);
        }
        Poll::Pending
    })
}

#[test]
fn a_source_that_uses_up_the_budget_cannot_keep_the_timer_away() {
    async fn check() {
        let start = Instant::now();
        let item = greedy().timeout(ms(10)).next().await;
        assert!(item.unwrap().is_err());
        let nag = interval_at(Instant::now() + ms(10), ms(10));
        let item = greedy().timeout_repeating(nag).next().await;
        assert!(item.unwrap().is_err());
        let mut items = stream::iter([1]).chain(greedy()).debounce(ms(10));
        assert_eq!(items.next().await, Some(1));
        let mut items = stream::iter([1]).chain(greedy()).chunks_timeout(9, ms(10));
        assert_eq!(items.next().await, Some(vec![1]));
        assert_eq!(start.elapsed(), ms(40));
    }
    watched(|| drive::paused().block_on(check()));
}

// === throttle ===

#[tokio::test(start_paused = true)]
async fn a_throttled_stream_yields_all_items_the_first_at_once_and_keeps_them_apart() {
    let source = Script::new(&[0, 0, 0, 5, 100, 130]);
    let seen = record(source.throttle(ms(20)), &[]).await;
    assert_eq!(
        seen,
        [(0, 0), (20, 1), (40, 2), (60, 3), (100, 4), (130, 5)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_throttled_stream_leaves_the_source_alone_while_it_waits() {
    let mut polls = 0;
    let source = stream::poll_fn(|_| {
        polls += 1;
        Poll::Ready(Some(polls))
    });
    let mut slow = task::spawn(source.throttle(ms(20)));
    assert_ready_eq!(slow.poll_next(), Some(1));
    for _ in 0..10 {
        assert_pending!(slow.poll_next());
    }
    advance(ms(20)).await;
    assert!(slow.is_woken());
    assert_ready_eq!(slow.poll_next(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_throttle_of_zero_changes_nothing_and_the_longest_lets_one_through() {
    let start = Instant::now();
    let all = stream::iter(0..500).throttle(Duration::ZERO);
    assert_eq!(all.count().await, 500);
    assert_eq!(start.elapsed(), Duration::ZERO);

    let mut one = task::spawn(stream::iter(0..500).throttle(Duration::MAX));
    assert_ready_eq!(one.poll_next(), Some(0));
    advance(Duration::from_secs(86_400)).await;
    assert_pending!(one.poll_next());
}

// === debounce ===

#[tokio::test(start_paused = true)]
async fn a_debounced_stream_yields_the_last_item_before_each_silence() {
    let source = Script::new(&[0, 10, 15, 50, 100, 105]);
    let seen = record(source.debounce(ms(20)), &[]).await;
    // The last one at once: the source has ended.
    assert_eq!(seen, [(35, 2), (70, 3), (105, 5)]);
}

#[tokio::test(start_paused = true)]
async fn the_item_kept_back_comes_in_the_nanosecond_in_which_the_silence_is_long_enough() {
    let (sender, receiver) = mpsc::unbounded();
    let mut settled = task::spawn(receiver.debounce(ms(10)));
    sender.unbounded_send(1).unwrap();
    assert_pending!(settled.poll_next());
    advance(ms(5)).await;
    sender.unbounded_send(2).unwrap();
    assert_pending!(settled.poll_next());
    advance(ms(10) - Duration::from_nanos(1)).await;
    assert_pending!(settled.poll_next());
    advance(Duration::from_nanos(1)).await;
    assert!(settled.is_woken());
    assert_ready_eq!(settled.poll_next(), Some(2));
    assert_pending!(settled.poll_next());
    drop(sender);
    assert_ready_eq!(settled.poll_next(), None);
}

#[tokio::test(start_paused = true)]
async fn a_late_poll_of_a_debounced_stream_takes_the_newer_item_and_waits_for_it() {
    let (sender, receiver) = mpsc::unbounded();
    let mut settled = task::spawn(receiver.debounce(ms(10)));
    sender.unbounded_send(1).unwrap();
    assert_pending!(settled.poll_next());
    advance(ms(50)).await;
    sender.unbounded_send(2).unwrap();
    assert_pending!(settled.poll_next());
    advance(ms(10)).await;
    assert_ready_eq!(settled.poll_next(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn debouncing_by_zero_yields_the_latest_of_what_is_ready_together() {
    let source = Script::new(&[0, 0, 0, 5, 5, 9]);
    let seen = record(source.debounce(Duration::ZERO), &[]).await;
    assert_eq!(seen, [(0, 2), (5, 4), (9, 5)]);
}

#[tokio::test(start_paused = true)]
async fn debouncing_by_the_longest_duration_yields_the_last_item_at_the_end() {
    let seen = record(
        Script::new(&[0, 10, 86_400_000]).debounce(Duration::MAX),
        &[],
    );
    assert_eq!(seen.await, [(86_400_000, 2)]);
    let none = stream::empty::<u8>().debounce(Duration::MAX);
    assert_eq!(none.collect::<Vec<_>>().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_never_silent_does_not_hog_its_thread() {
    let mut endless = stream::repeat(1).debounce(ms(10));
    let other = tokio::spawn(sleep(ms(0)));
    tokio::select! {
        biased;
        _ = endless.next() => panic!("there was no silence"),
        done = other => done.unwrap(),
    }
    // Nor does one that would fill memory before its group is full.
    let groups = stream::repeat(1).chunks_timeout(usize::MAX, ms(10));
    let mut groups = task::spawn(groups);
    assert_pending!(groups.poll_next());
    assert!(groups.is_woken(), "there is more");
    advance(ms(10)).await;
    assert_eq!(assert_ready!(groups.poll_next()).unwrap().len(), 64);
}

// === chunks_timeout ===

#[tokio::test(start_paused = true)]
async fn a_group_is_complete_by_number_by_time_or_by_the_end_whichever_is_first() {
    let source = Script::new(&[0, 1, 2, 3, 50, 60, 100]);
    let seen = record(source.chunks_timeout(3, ms(20)), &[]).await;
    let right = [
        (2, vec![0, 1, 2]),
        (23, vec![3]),
        (70, vec![4, 5]),
        (100, vec![6]),
    ];
    assert_eq!(seen, right);
}

#[tokio::test(start_paused = true)]
async fn a_group_counts_from_its_first_item_and_not_from_the_last_group() {
    let source = Script::new(&[0, 15, 45]);
    let seen = record(source.chunks_timeout(9, ms(20)), &[]).await;
    assert_eq!(seen, [(20, vec![0, 1]), (45, vec![2])]);
}

#[tokio::test(start_paused = true)]
async fn the_longest_duration_waits_until_the_group_is_full_and_zero_for_nothing() {
    let source = Script::new(&[0, 1_000, 2_000, 3_000]);
    let seen = record(source.chunks_timeout(3, Duration::MAX), &[]).await;
    assert_eq!(seen, [(2_000, vec![0, 1, 2]), (3_000, vec![3])]);

    let source = Script::new(&[0, 0, 7]);
    let seen = record(source.chunks_timeout(3, Duration::ZERO), &[]).await;
    assert_eq!(seen, [(0, vec![0, 1]), (7, vec![2])]);
}

#[tokio::test(start_paused = true)]
async fn an_enormous_size_allocates_nothing_by_itself() {
    let group = stream::iter(0..3).chunks_timeout(usize::MAX, ms(1));
    assert_eq!(group.collect::<Vec<_>>().await, [vec![0, 1, 2]]);
}

// === what they have in common ===

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_loses_nothing_and_starts_nothing_again() {
    async fn impatiently<S: Stream + Unpin>(mut stream: S) -> Vec<(u64, S::Item)> {
        let start = Instant::now();
        let mut seen = Vec::new();
        loop {
            tokio::select! {
                biased;
                item = stream.next() => match item {
                    Some(item) => seen.push((script::millis(start), item)),
                    None => return seen,
                },
                () = sleep(ms(3)) => {}
            }
        }
    }

    let times = [0, 5, 14, 14, 60, 61, 90];
    let source = || Script::new(&times);
    macro_rules! same {
        ($stream:expr) => {
            assert_eq!(record($stream, &[]).await, impatiently($stream).await);
        };
    }
    same!(source().timeout(ms(20)));
    same!(source().timeout_repeating(interval_at(Instant::now() + ms(20), ms(20))));
    same!(source().throttle(ms(20)));
    same!(source().debounce(ms(20)));
    same!(source().chunks_timeout(3, ms(20)));
}

/// Yields 1 and 2, ends, and would begin again.
fn unfused() -> impl Stream<Item = u8> + Unpin {
    let mut next = 0;
    stream::poll_fn(move |_| {
        next = (next + 1) % 3;
        Poll::Ready((next != 0).then_some(next))
    })
}

#[tokio::test(start_paused = true)]
async fn after_its_end_each_gives_none_for_good_and_says_so() {
    async fn check<S: FusedStream + Unpin>(mut stream: S, items: usize) {
        for _ in 0..items {
            assert!(!stream.is_terminated());
            assert!(stream.next().await.is_some());
        }
        for _ in 0..3 {
            assert!(stream.next().await.is_none());
            assert!(stream.is_terminated());
            assert_eq!(stream.size_hint(), (0, Some(0)));
        }
    }
    check(unfused().timeout(ms(1)), 2).await;
    check(unfused().timeout_repeating(interval(ms(1))), 2).await;
    check(unfused().throttle(ms(1)), 2).await;
    check(unfused().debounce(ms(1)), 1).await;
    check(unfused().chunks_timeout(5, ms(1)), 1).await;
    assert!(!IntervalStream::new(interval(ms(1))).is_terminated());
}

#[tokio::test(start_paused = true)]
async fn size_hints_hold_for_what_is_yet_to_come_at_every_step() {
    async fn check<S: Stream + Unpin>(mut stream: S) {
        let mut hints = vec![stream.size_hint()];
        while stream.next().await.is_some() {
            hints.push(stream.size_hint());
        }
        for (left, (lower, upper)) in hints.iter().rev().enumerate() {
            assert!(*lower <= left, "{left} are left: {hints:?}");
            assert!(upper.is_none_or(|upper| left <= upper), "{hints:?}");
        }
    }
    for times in [&[][..], &[30], &[0, 0, 30, 30, 90, 91, 120]] {
        let source = || Script::new(times);
        check(source().timeout(ms(20))).await;
        check(source().timeout_repeating(interval(ms(20)))).await;
        check(source().throttle(ms(20))).await;
        check(source().debounce(ms(20))).await;
        check(source().chunks_timeout(2, ms(20))).await;
    }
    // An error may come before the item and after it, and before the item it has come.
    let mut guarded = Script::new(&[30]).timeout(ms(20));
    assert_eq!(guarded.size_hint(), (1, Some(3)));
    assert!(guarded.next().await.unwrap().is_err());
    assert_eq!(guarded.size_hint(), (1, Some(2)));

    let endless = stream::repeat(1);
    assert_eq!(endless.clone().timeout(ms(1)).size_hint().1, None);
    assert_eq!(endless.clone().debounce(ms(1)).size_hint(), (1, None));
    let chunks = endless.chunks_timeout(2, ms(1));
    assert_eq!(chunks.size_hint(), (usize::MAX.div_ceil(2), None));
}

#[tokio::test(start_paused = true)]
async fn the_source_and_what_is_kept_back_can_be_had_back() {
    let mut cx = Context::from_waker(Waker::noop());
    let source = || Script::new(&[0, 0, 50]);

    let mut settled = source().debounce(ms(20));
    assert!(settled.poll_next_unpin(&mut cx).is_pending());
    let (rest, kept) = settled.into_parts();
    assert_eq!((kept, rest.collect::<Vec<_>>().await), (Some(1), vec![2]));

    let mut groups = source().chunks_timeout(3, ms(20));
    assert!(groups.poll_next_unpin(&mut cx).is_pending());
    let (rest, kept) = groups.into_parts();
    assert_eq!(
        (kept, rest.collect::<Vec<_>>().await),
        (vec![0, 1], vec![2])
    );

    let mut slow = source().throttle(ms(20));
    assert_eq!(slow.next().await, Some(0));
    assert_eq!(slow.into_inner().collect::<Vec<_>>().await, [1, 2]);
    let mut guarded = source().timeout(ms(20));
    assert_eq!(guarded.get_mut().next().await, Some(0));
    assert_eq!(guarded.into_inner().collect::<Vec<_>>().await, [1, 2]);
}

#[test]
fn outside_of_a_runtime_each_call_panics_in_the_callers_file() {
    let source = stream::empty::<u8>;
    let expected = (file!().to_owned(), TimerError::NoRuntime.to_string());
    assert_eq!(panic_of(|| drop(source().timeout(ms(1)))), expected);
    assert_eq!(panic_of(|| drop(source().throttle(ms(1)))), expected);
    assert_eq!(panic_of(|| drop(source().debounce(ms(1)))), expected);
    let chunks = || drop(source().chunks_timeout(1, ms(1)));
    assert_eq!(panic_of(chunks), expected);
    let expected = (file!().to_owned(), "`size` must be non-zero.".to_owned());
    let chunks = || drop(source().chunks_timeout(0, ms(1)));
    assert_eq!(panic_of(chunks), expected);
}

#[test]
fn after_the_runtime_has_ended_a_wait_is_woken_and_panics_when_polled() {
    watched(|| {
        let runtime = drive::one_thread();
        let context = runtime.enter();
        let mut waiting = task::spawn(stream::pending::<u8>().timeout(drive::LONG));
        drop(context);
        assert_pending!(waiting.poll_next());
        drop(runtime);
        assert!(waiting.is_woken());
        let text = text_of(|| _ = waiting.poll_next());
        assert_eq!(text, drive::SHUTDOWN);
    });
}

#[test]
fn they_are_send_sync_and_unpin_by_their_source() {
    fn check<S: Send + Sync + Unpin + std::fmt::Debug>(_: S) {}
    let _context = drive::one_thread();
    let _entered = _context.enter();
    let source = || stream::iter([1_u8]);
    check(source().timeout(ms(1)));
    check(source().timeout_repeating(interval(ms(1))));
    check(source().throttle(ms(1)));
    check(source().debounce(ms(1)));
    check(source().chunks_timeout(1, ms(1)));
    check(IntervalStream::new(interval(ms(1))));
}

// === IntervalStream ===

#[tokio::test(start_paused = true)]
async fn the_ticks_of_an_interval_come_as_items_with_their_scheduled_instants() {
    let start = Instant::now();
    let mut beat = IntervalStream::from(interval(ms(10)));
    beat.as_mut()
        .set_missed_tick_behavior(MissedTickBehavior::Skip);
    assert_eq!(
        beat.as_ref().missed_tick_behavior(),
        MissedTickBehavior::Skip
    );
    assert_eq!(beat.next().await, Some(start));
    sleep(ms(35)).await;
    assert_eq!(beat.next().await, Some(start + ms(10)));
    assert_eq!(beat.size_hint(), (usize::MAX, None));
    let mut beat = beat.into_inner();
    assert_eq!(beat.tick().await, start + ms(40));
}
