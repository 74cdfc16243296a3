//! `DelayQueue` through its public face: order, waking, the end of the stream, panics, foreign
//! code, runtimes. All under a paused clock.

#![allow(
    clippy::disallowed_methods,
    reason = "tests read the clock they control"
)]
#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

use std::any::Any;
use std::cell::RefCell;
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::task::{Context, Poll, Wake, Waker};

use cogwheel::delay_queue::{Expired, Key};
use cogwheel::{DelayQueue, Timer};
use futures::stream::FusedStream;
use futures::{Stream, StreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Duration, Instant, advance, sleep, sleep_until};
use tokio_test::task::{self, Spawn};
use tokio_test::{assert_pending, assert_ready};

type Queue<T> = Spawn<DelayQueue<T>>;

fn queue<T>() -> Queue<T> {
    task::spawn(DelayQueue::new())
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn poll<T>(queue: &mut Queue<T>) -> Poll<Option<Expired<T>>> {
    queue.enter(|cx, mut queue| queue.poll_expired(cx))
}

fn due<T>(queue: &mut Queue<T>) -> T {
    match poll(queue) {
        Poll::Ready(Some(expired)) => expired.into_inner(),
        Poll::Ready(None) => panic!("the queue is empty"),
        Poll::Pending => panic!("nothing is due"),
    }
}

fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap()
}

// Order

#[tokio::test(start_paused = true)]
async fn items_come_in_the_order_of_deadlines_then_of_insertion() {
    let mut queue = DelayQueue::new();
    let start = Instant::now();
    // Within one millisecond, and across it.
    for (item, nanos) in [(0, 700), (1, 300), (2, 700), (3, 1_000_300), (4, 300)] {
        queue.insert_at(item, start + Duration::from_nanos(nanos));
    }
    let order: Vec<i32> = queue.map(Expired::into_inner).collect().await;
    assert_eq!(order, [1, 4, 0, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_overdue_insertion_takes_its_place_among_items_that_are_due_already() {
    let mut queue = queue();
    let start = Instant::now();
    queue.insert_at("a", start + ms(10));
    queue.insert_at("c", start + ms(30));
    advance(ms(50)).await;
    // The wheel has turned past all of them by now.
    queue.insert_at("first", start);
    assert_eq!(due(&mut queue), "first");

    queue.insert_at("b", start + ms(20));
    queue.insert_at("c too", start + ms(30));
    for item in ["a", "b", "c", "c too"] {
        assert_eq!(due(&mut queue), item);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_to_an_equal_deadline_keeps_the_order_of_insertion() {
    let mut queue = DelayQueue::new();
    let deadline = Instant::now() + ms(10);
    let first = queue.insert_at(1, deadline + ms(5));
    queue.insert_at(2, deadline);
    queue.reset_at(&first, deadline);
    let order: Vec<i32> = queue.map(Expired::into_inner).collect().await;
    assert_eq!(order, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn an_item_is_never_early_and_due_on_the_nanosecond() {
    let mut queue = queue();
    let nanosecond = Duration::from_nanos(1);
    queue.insert("item", Duration::from_nanos(2_500_001));
    for step in [Duration::from_nanos(2_499_999), nanosecond] {
        advance(step).await;
        assert_pending!(poll(&mut queue));
    }
    advance(nanosecond).await;
    assert_eq!(due(&mut queue), "item");
}

#[tokio::test(start_paused = true)]
async fn zero_and_past_are_due_with_the_clock_unmoved() {
    let mut queue = queue();
    let now = Instant::now();
    queue.insert("zero", Duration::ZERO);
    queue.insert_at("now", now);
    queue.insert_at("past", now - ms(1));
    assert_eq!(due(&mut queue), "past");
    assert_eq!(due(&mut queue), "zero");
    assert_eq!(due(&mut queue), "now");
    assert_eq!(Instant::now(), now);
}

#[tokio::test(start_paused = true)]
async fn far_deadlines_are_never_in_the_way_and_can_be_moved_and_removed() {
    let mut queue = queue();
    let never = queue.insert("never", Duration::MAX);
    let far = queue.insert("far", Duration::from_secs(u64::MAX / 10));
    assert_pending!(poll(&mut queue));
    queue.insert("near", ms(5));
    sleep(ms(5)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "near");

    queue.reset(&never, Duration::MAX);
    queue.reset(&far, ms(5));
    sleep(ms(5)).await;
    assert_eq!(due(&mut queue), "far");
    assert_pending!(poll(&mut queue));
    assert!(queue.remaining(&never).unwrap() > Duration::from_secs(1 << 32));
    assert_eq!(queue.remove(&never).into_inner(), "never");
}

// Waking

/// Polls until the queue is pending and asserts that it has not been woken since.
fn wait<T: std::fmt::Debug>(queue: &mut Queue<T>) {
    assert_pending!(poll(queue));
    assert!(!queue.is_woken());
}

#[tokio::test(start_paused = true)]
async fn an_insertion_behind_the_first_item_wakes_nobody() {
    let mut queue = queue();
    queue.insert(1, ms(100));
    wait(&mut queue);
    for later in [100, 101, 5_000] {
        queue.insert(2, ms(later));
        assert!(!queue.is_woken());
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_put_off_again_and_again_wakes_nobody_until_its_last_deadline() {
    let mut queue = queue();
    let start = Instant::now();
    let key = queue.insert("idle", ms(300));
    wait(&mut queue);
    for packet in 1..=20 {
        sleep_until(start + ms(100 * packet)).await;
        queue.reset(&key, ms(300));
        assert!(!queue.is_woken(), "packet {packet}");
    }
    sleep_until(start + ms(2_299)).await;
    assert!(!queue.is_woken());
    sleep_until(start + ms(2_300)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "idle");
}

#[tokio::test(start_paused = true)]
async fn the_next_item_is_woken_for_when_the_first_is_put_off_behind_it() {
    let mut queue = queue();
    let start = Instant::now();
    let first = queue.insert("first", ms(100));
    queue.insert("second", ms(200));
    wait(&mut queue);
    queue.reset(&first, ms(300));
    assert!(!queue.is_woken());

    sleep_until(start + ms(200)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "second");
    wait(&mut queue);
    sleep_until(start + ms(300)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "first");
}

#[tokio::test(start_paused = true)]
async fn the_next_item_is_woken_for_when_the_first_is_removed() {
    let mut queue = queue();
    let first = queue.insert("first", ms(100));
    queue.insert("second", ms(200));
    wait(&mut queue);
    queue.remove(&first);
    assert!(!queue.is_woken());
    sleep(ms(200)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "second");
}

#[tokio::test(start_paused = true)]
async fn a_reset_to_earlier_wakes_now_or_at_the_new_deadline() {
    for back in [150, 1, 0] {
        let mut queue = queue();
        queue.insert("other", ms(200));
        let key = queue.insert("item", ms(400));
        wait(&mut queue);
        queue.reset(&key, ms(back));
        sleep(ms(back)).await;
        assert!(queue.is_woken(), "reset to {back} ms");
        assert_eq!(due(&mut queue), "item");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_that_leaves_the_first_item_first_wakes_nobody() {
    let mut queue = queue();
    queue.insert("first", ms(100));
    let second = queue.insert("second", ms(400));
    wait(&mut queue);
    for delay in [300, 100, 700] {
        queue.reset(&second, ms(delay));
        assert!(!queue.is_woken());
    }
}

#[tokio::test(start_paused = true)]
async fn emptying_the_queue_wakes_the_poller_to_see_the_end() {
    let empty: [fn(&mut Queue<i32>); 2] = [
        |queue| queue.clear(),
        |queue| {
            let key = queue.peek().unwrap();
            queue.remove(&key);
        },
    ];
    for empty in empty {
        let mut queue = queue();
        queue.insert(1, ms(100));
        wait(&mut queue);
        empty(&mut queue);
        assert!(queue.is_woken());
        assert!(assert_ready!(poll(&mut queue)).is_none());

        // There is nothing to wake for any longer, neither now nor at the old deadline.
        queue.clear();
        sleep(ms(1_000)).await;
        assert!(!queue.is_woken());
    }
}

#[tokio::test(start_paused = true)]
async fn taking_the_last_item_without_waiting_wakes_the_poller() {
    let mut queue = queue();
    queue.insert(1, ms(100));
    wait(&mut queue);
    assert!(queue.pop_expired().is_none());
    assert!(!queue.is_woken());

    // One poll moves the clock; the runtime would turn its timers only afterwards.
    let mut clock = task::spawn(advance(ms(100)));
    assert_pending!(clock.poll());
    assert!(!queue.is_woken());
    assert_eq!(queue.pop_expired().unwrap().into_inner(), 1);
    assert!(queue.is_woken());
    assert!(assert_ready!(poll(&mut queue)).is_none());
}

#[tokio::test(start_paused = true)]
async fn an_insertion_wakes_the_task_that_was_told_the_queue_is_empty() {
    let mut queue = queue();
    assert!(assert_ready!(poll(&mut queue)).is_none());
    assert!(!queue.is_woken());
    queue.insert("item", ms(5));
    assert!(queue.is_woken());

    wait(&mut queue);
    sleep(ms(5)).await;
    assert_eq!(due(&mut queue), "item");
    // It was given an item, it is not waiting for anything.
    queue.insert_at("item", Instant::now() - ms(1));
    queue.clear();
    assert!(!queue.is_woken());
}

#[tokio::test(start_paused = true)]
async fn only_the_last_poller_is_woken() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let [a, b] = [(); 2].map(|()| Arc::new(Count(AtomicUsize::new(0))));
    let count = || [&a, &b].map(|count| count.0.load(Ordering::Relaxed));
    let mut queue = DelayQueue::new();
    queue.insert("item", ms(10));
    for counter in [&a, &b] {
        let waker = Waker::from(counter.clone());
        assert_pending!(queue.poll_expired(&mut Context::from_waker(&waker)));
    }
    sleep(ms(10)).await;
    assert_eq!(count(), [0, 1]);

    let waker = Waker::from(b.clone());
    assert_ready!(queue.poll_expired(&mut Context::from_waker(&waker)));
    drop((queue, waker));
    assert_eq!(Arc::strong_count(&a), 1);
    assert_eq!(Arc::strong_count(&b), 1);
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_was_used_is_let_go() {
    struct Silent;
    impl Wake for Silent {
        fn wake(self: Arc<Self>) {}
    }
    let mut queues = [(); 3].map(|()| DelayQueue::new());
    let tasks = [(); 3].map(|()| Arc::new(Silent));
    for (queue, task) in queues.iter_mut().zip(&tasks) {
        queue.insert(1, ms(10));
        let waker = Waker::from(task.clone());
        assert_pending!(queue.poll_expired(&mut Context::from_waker(&waker)));
        drop(waker);
        assert!(Arc::strong_count(task) > 1);
        queue.clear();
    }
    // A thread may keep the waker of its last timer for the next one, but none of those before.
    let kept = tasks.iter().filter(|task| Arc::strong_count(task) > 1);
    assert!(kept.count() <= 1);
    drop(queues);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_due_items_lets_other_tasks_run() {
    const ITEMS: usize = 10_000;
    let mut queue = DelayQueue::new();
    for item in 0..ITEMS {
        queue.insert(item, ms(1));
    }
    sleep(ms(1)).await;
    let turns = Arc::new(AtomicUsize::new(0));
    let other = tokio::spawn({
        let turns = turns.clone();
        async move {
            loop {
                turns.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    let start = Instant::now();
    for item in 0..ITEMS {
        assert_eq!(queue.next().await.unwrap().into_inner(), item);
    }
    other.abort();
    assert!(turns.load(Ordering::Relaxed) > 10);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

// The end of the stream

#[tokio::test(start_paused = true)]
async fn the_stream_goes_on_after_its_end() {
    let mut queue = DelayQueue::default();
    for round in 0..3 {
        assert!(queue.next().await.is_none());
        assert!(queue.is_terminated());
        queue.insert(round, ms(10));
        assert!(!queue.is_terminated());
        assert_eq!(queue.size_hint(), (1, Some(1)));
        assert_eq!(queue.next().await.unwrap().into_inner(), round);
    }
}

#[tokio::test(start_paused = true)]
async fn a_fused_select_skips_the_queue_while_it_is_empty() {
    let mut queue = DelayQueue::new();
    let mut numbers = futures::stream::iter([3, 1, 2]).fuse();
    let mut order = Vec::new();
    loop {
        futures::select_biased! {
            number = numbers.select_next_some() => { queue.insert(number, ms(number)); }
            expired = queue.select_next_some() => order.push(expired.into_inner()),
            complete => break,
        }
    }
    assert_eq!(order, [1, 2, 3]);
}

// Views

#[tokio::test(start_paused = true)]
async fn views_agree_with_each_other() {
    let mut queue = DelayQueue::new();
    let start = Instant::now();
    let keys: Vec<Key> = (0..5)
        .map(|n| queue.insert_at(n, start + ms(100 - 10 * n)))
        .collect();
    *queue.get_mut(&keys[3]).unwrap() = 33;
    queue.remove(&keys[4]);

    let mut all: Vec<_> = queue
        .iter()
        .map(|(key, at, item)| (at, *item, key))
        .collect();
    all.sort_by_key(|(at, ..)| *at);
    assert_eq!(
        all,
        [
            (70, 33, keys[3]),
            (80, 2, keys[2]),
            (90, 1, keys[1]),
            (100, 0, keys[0])
        ]
        .map(|(at, item, key)| (start + ms(at), item, key))
    );
    assert_eq!(queue.peek(), Some(keys[3]));
    assert_eq!(queue.next_deadline(), Some(start + ms(70)));
    let debug = format!("{queue:?}");
    assert!(debug.starts_with("DelayQueue { len: 4, "), "{debug}");
}

#[test]
fn clearing_keeps_the_capacity_and_shrinking_gives_it_back() {
    let mut queue = DelayQueue::with_capacity(10);
    assert_eq!(queue.capacity(), 10);
    queue.insert(1, ms(1));
    queue.clear();
    assert_eq!((queue.len(), queue.capacity()), (0, 10));
    queue.shrink_to_fit();
    assert_eq!(queue.capacity(), 0);
    queue.insert(1, Duration::ZERO);
    assert_eq!(queue.len(), 1);
}

// Panics

fn text_of(payload: &dyn Any) -> String {
    let literal = payload.downcast_ref().map(|text: &&str| (*text).to_owned());
    literal
        .or_else(|| payload.downcast_ref().cloned())
        .unwrap_or_default()
}

/// Where `f` panics, and with what text.
fn panic_of(f: impl FnOnce()) -> Option<(String, u32, String)> {
    thread_local!(static LAST: RefCell<Option<(String, u32, String)>> = const { RefCell::new(None) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let place = info.location().unwrap();
            let text = text_of(info.payload());
            LAST.set(Some((place.file().to_owned(), place.line(), text)));
            previous(info);
        }));
    });
    LAST.set(None);
    panic::catch_unwind(AssertUnwindSafe(f)).err()?;
    LAST.take()
}

type Call = Box<dyn FnOnce(&mut DelayQueue<i32>)>;

#[test]
fn the_panicking_forms_panic_at_their_caller_with_tokios_texts() {
    let mut queue = DelayQueue::new();
    let mut other = DelayQueue::new();
    let foreign = other.insert(0, ms(1));
    let stale = queue.insert(0, ms(1));
    queue.remove(&stale);
    queue.insert(1, ms(1));

    for key in [stale, foreign] {
        let calls: [(u32, Call); 4] = [
            (line!(), Box::new(move |q| _ = q.remove(&key))),
            (line!(), Box::new(move |q| q.reset(&key, ms(1)))),
            (line!(), Box::new(move |q| q.reset_at(&key, Instant::now()))),
            (line!(), Box::new(move |q| _ = q.deadline(&key))),
        ];
        for (line, call) in calls {
            let panic = panic_of(|| call(&mut queue)).expect("it has to panic");
            assert_eq!(panic, (file!().to_owned(), line, "invalid key".to_owned()));
        }
    }
    let (file, _, text) = panic_of(|| queue.reserve(1 << 30)).expect("it has to panic");
    assert_eq!((&*file, &*text), (file!(), "max queue capacity exceeded"));
    let (file, ..) = panic_of(|| queue.reserve(usize::MAX)).expect("it has to panic");
    assert_eq!(file, file!());
    // None of that has changed anything.
    assert_eq!(queue.len(), 1);
}

// Foreign code

struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_panics_leaves_the_queue_in_order() {
    let mut queue = DelayQueue::new();
    let start = Instant::now();
    let key = queue.insert_at("late", start + ms(500));
    let waker = Waker::from(Arc::new(PanickingWaker));
    let wait = |queue: &mut DelayQueue<_>| {
        assert_pending!(queue.poll_expired(&mut Context::from_waker(&waker)));
    };
    wait(&mut queue);
    panic_of(|| _ = queue.insert_at("early", start + ms(200))).expect("the waker panics");
    assert_eq!(queue.len(), 2);

    wait(&mut queue);
    panic_of(|| queue.reset_at(&key, start + ms(100))).expect("the waker panics");
    assert_eq!(queue.deadline(&key), start + ms(100));

    assert_eq!(queue.next().await.unwrap().into_inner(), "late");
    assert_eq!(queue.next().await.unwrap().into_inner(), "early");
    assert_eq!(start.elapsed(), ms(200));

    queue.insert("last", ms(5));
    wait(&mut queue);
    panic_of(|| queue.clear()).expect("the waker panics");
    assert!(queue.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_item_that_panics_in_its_drop_takes_nothing_with_it() {
    #[derive(Debug)]
    struct Bomb(Arc<AtomicUsize>, bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            assert!(!self.1, "an item that panics in its drop");
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut queue = queue();
    let keys: Vec<Key> = (0..100)
        .map(|n| queue.insert(Bomb(dropped.clone(), n == 50), ms(n)))
        .collect();
    assert_eq!(
        poll(&mut queue).map(|expired| expired.unwrap().key()),
        Poll::Ready(keys[0])
    );
    assert_pending!(poll(&mut queue));

    panic_of(|| queue.clear()).expect("an item panics");
    assert!(queue.is_woken());
    assert_eq!(dropped.load(Ordering::Relaxed), 100);
    assert_eq!(queue.len(), 0);
    assert!(keys.iter().all(|key| queue.try_remove(key).is_none()));

    queue.insert(Bomb(dropped.clone(), false), ms(1));
    sleep(ms(1)).await;
    assert!(assert_ready!(poll(&mut queue)).is_some());
}

// Runtimes and bounds

#[test]
fn a_queue_needs_a_runtime_only_to_wait() {
    let mut queue = DelayQueue::new();
    let poll =
        |queue: &mut DelayQueue<i32>| queue.poll_expired(&mut Context::from_waker(Waker::noop()));
    assert!(assert_ready!(poll(&mut queue)).is_none());
    let key = queue.insert(1, Duration::ZERO);
    assert_eq!(assert_ready!(poll(&mut queue)).unwrap().key(), key);
    queue.insert(2, Duration::from_secs(3_600));
    let (file, _, text) = panic_of(|| drop(poll(&mut queue))).expect("there is no runtime");
    assert!(text.contains("there is no reactor running"), "{text}");
    assert!(file.ends_with("delay_queue.rs"), "{file}");
    assert_eq!(queue.len(), 1);
}

#[test]
fn a_queue_outlives_the_runtime_it_waited_in() {
    let mut queue = DelayQueue::new();
    let key = paused().block_on(async {
        let key = queue.insert("item", ms(50));
        assert!(poll_fn(|cx| Poll::Ready(queue.poll_expired(cx).is_pending())).await);
        key
    });
    let second = paused();
    second.block_on(async {
        queue.reset(&key, ms(20));
        let start = Instant::now();
        assert_eq!(queue.next().await.unwrap().into_inner(), "item");
        assert_eq!(start.elapsed(), ms(20));
        queue.insert("left", ms(50));
        assert!(poll_fn(|cx| Poll::Ready(queue.poll_expired(cx).is_pending())).await);
    });
    drop(second);
    assert_eq!(queue.len(), 1);
    queue.clear();
}

#[test]
fn the_timer_is_that_of_the_task_that_polled_last() {
    let mut queue = DelayQueue::new();
    let idle = paused();
    idle.block_on(async {
        queue.insert("item", ms(50));
        assert!(poll_fn(|cx| Poll::Ready(queue.poll_expired(cx).is_pending())).await);
    });
    // Nobody drives the first runtime any longer, but it is alive.
    paused().block_on(async {
        let start = Instant::now();
        let item = tokio::time::timeout(ms(100), queue.next()).await.unwrap();
        assert_eq!(item.unwrap().into_inner(), "item");
        // It was woken for the item, not for the timeout.
        assert!(start.elapsed() < ms(100));
    });
    drop(idle);
}

#[test]
fn the_timer_is_that_of_the_runtime_that_polled_last_even_if_the_waker_is_the_same() {
    let mut queue = queue();
    let idle = paused();
    idle.block_on(async {
        queue.insert("item", ms(50));
        assert_pending!(poll(&mut queue));
    });
    // Nobody drives the first runtime any longer, but it is alive.
    let second = paused();
    second.block_on(async {
        assert_pending!(poll(&mut queue));
        advance(ms(60)).await;
        assert!(queue.is_woken());
        assert_eq!(due(&mut queue), "item");
        queue.insert("left", ms(50));
        assert_pending!(poll(&mut queue));
    });
    drop(second);
    paused().block_on(async {
        assert_pending!(poll(&mut queue));
        advance(ms(120)).await;
        assert_eq!(due(&mut queue), "left");
    });
    drop(idle);
}

#[tokio::test(start_paused = true)]
async fn a_queue_goes_on_after_the_default_timer_was_closed() {
    let mut queue = queue();
    queue.insert("item", ms(50));
    assert_pending!(poll(&mut queue));
    Timer::current().close();
    assert!(queue.is_woken());
    assert_pending!(poll(&mut queue));
    advance(ms(50)).await;
    assert!(queue.is_woken());
    assert_eq!(due(&mut queue), "item");
}

#[test]
fn a_queue_is_as_shareable_as_its_items_and_always_unpin() {
    fn check<T: Send + Sync + Unpin + 'static>() {}
    fn unpin<T: Unpin>() {}
    check::<DelayQueue<u32>>();
    check::<Expired<u32>>();
    check::<Key>();
    unpin::<DelayQueue<std::marker::PhantomPinned>>();
    unpin::<DelayQueue<*const u8>>();
}
