//! A compile-time record of which public types are `Send`, `Sync` and `Unpin`.
//!
//! Any change of these is a change of the public interface and fails here.

#![allow(
    clippy::disallowed_methods,
    reason = "tests compare with Tokio's clock"
)]

use std::cell::Cell;
use std::future::{Future, Pending, Ready};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use cogwheel::error::TimerError;
use cogwheel::time::error::Elapsed;
use cogwheel::time::{
    Duration, Instant, Interval, LazyTimeout, MissedTickBehavior, Sleep, Timeout, sleep,
};
use cogwheel::{
    Backoff, Deadline, DelayQueue, ManualClock, Scheduled, Tick, Timer, Wheel, backoff,
    delay_queue, metrics, scheduled, timer, wheel,
};
use futures::future::FusedFuture;
use pin_project_lite::pin_project;

/// What the compiler says about the auto traits of `T`.
struct Is<T>(T);

/// The answers where the inherent ones below do not apply.
trait Otherwise {
    const SEND: bool = false;
    const SYNC: bool = false;
    const UNPIN: bool = false;
}
impl<T> Otherwise for Is<T> {}

impl<T: Send> Is<T> {
    const SEND: bool = true;
}
impl<T: Sync> Is<T> {
    const SYNC: bool = true;
}
impl<T: Unpin> Is<T> {
    const UNPIN: bool = true;
}

/// Fails to compile unless each type has exactly the listed ones of the three traits.
macro_rules! record {
    ($($type:ty: [$($has:ident)*] not [$($lacks:ident)*];)*) => {$(
        const _: () = {
            $(assert!(Is::<$type>::$has, stringify!($type is not $has));)*
            $(assert!(!Is::<$type>::$lacks, stringify!($type is $lacks));)*
        };
    )*};
}

/// Neither `Unpin` nor anything else is lost but this one trait.
type Pinned = PhantomPinned;
type NotSync = Cell<u8>;
type NotSend = Rc<u8>;

// The record of cases 93 and 94.
record! {
    Sleep: [SEND SYNC UNPIN] not [];
    Interval: [SEND SYNC UNPIN] not [];
    MissedTickBehavior: [SEND SYNC UNPIN] not [];
    Elapsed: [SEND SYNC UNPIN] not [];
    TimerError: [SEND SYNC UNPIN] not [];
    Tick: [SEND SYNC UNPIN] not [];
    Timer: [SEND SYNC UNPIN] not [];
    timer::Builder: [SEND SYNC UNPIN] not [];
    wheel::Key: [SEND SYNC UNPIN] not [];
    wheel::Turn: [SEND SYNC UNPIN] not [];
    delay_queue::Key: [SEND SYNC UNPIN] not [];

    Timeout<Ready<u8>>: [SEND SYNC UNPIN] not [];
    Timeout<Pending<NotSend>>: [SEND SYNC UNPIN] not [];
    Timeout<Ready<NotSync>>: [SEND UNPIN] not [SYNC];
    Timeout<Ready<NotSend>>: [UNPIN] not [SEND SYNC];
    Timeout<Pinned>: [SEND SYNC] not [UNPIN];

    LazyTimeout<Ready<u8>>: [SEND SYNC UNPIN] not [];
    LazyTimeout<Ready<NotSync>>: [SEND UNPIN] not [SYNC];
    LazyTimeout<Ready<NotSend>>: [UNPIN] not [SEND SYNC];
    LazyTimeout<Pinned>: [SEND SYNC] not [UNPIN];

    Wheel<u8>: [SEND SYNC UNPIN] not [];
    Wheel<NotSync>: [SEND] not [SYNC];
    Wheel<NotSend>: [] not [SEND SYNC];

    DelayQueue<u8>: [SEND SYNC UNPIN] not [];
    DelayQueue<NotSync>: [SEND] not [SYNC];
    DelayQueue<NotSend>: [] not [SEND SYNC];
    DelayQueue<Pinned>: [SEND SYNC UNPIN] not [];

    delay_queue::Expired<u8>: [SEND SYNC UNPIN] not [];
    delay_queue::Expired<NotSync>: [SEND UNPIN] not [SYNC];
    delay_queue::Expired<NotSend>: [UNPIN] not [SEND SYNC];

    delay_queue::Sender<u8>: [SEND SYNC UNPIN] not [];
    delay_queue::Sender<NotSync>: [SEND SYNC UNPIN] not [];
    delay_queue::Sender<NotSend>: [UNPIN] not [SEND SYNC];
    delay_queue::Sender<Pinned>: [SEND SYNC UNPIN] not [];
    delay_queue::Receiver<u8>: [SEND SYNC UNPIN] not [];
    delay_queue::Receiver<NotSync>: [SEND SYNC UNPIN] not [];
    delay_queue::Receiver<NotSend>: [UNPIN] not [SEND SYNC];
    delay_queue::Receiver<Pinned>: [SEND SYNC UNPIN] not [];
    delay_queue::Drain<'static, u8>: [SEND SYNC UNPIN] not [];
    delay_queue::Drain<'static, NotSend>: [] not [SEND SYNC];
    delay_queue::TryInsertError<u8>: [SEND SYNC UNPIN] not [];
    delay_queue::TryInsertError<NotSend>: [UNPIN] not [SEND SYNC];

    Scheduled<u8>: [SEND SYNC UNPIN] not [];
    Scheduled<NotSync>: [SEND SYNC UNPIN] not [];
    Scheduled<Pinned>: [SEND SYNC UNPIN] not [];
    scheduled::Outcome<u8>: [SEND UNPIN] not [];

    ManualClock: [SEND SYNC UNPIN] not [];
    Deadline: [SEND SYNC UNPIN] not [];
    Backoff: [SEND SYNC UNPIN] not [];
    backoff::GaveUp<u8>: [SEND SYNC UNPIN] not [];
    backoff::GaveUp<NotSend>: [UNPIN] not [SEND SYNC];
    metrics::TimerMetrics: [SEND SYNC UNPIN] not [];
    metrics::Histogram: [SEND SYNC UNPIN] not [];
    wheel::Geometry: [SEND SYNC UNPIN] not [];
    wheel::Expired<u8>: [SEND SYNC UNPIN] not [];
}

/// The streams are what their sources are.
#[cfg(feature = "stream")]
mod streams {
    use super::{Is, NotSend, NotSync, Otherwise as _};
    use cogwheel::stream::{
        ChunksTimeout, Debounce, IntervalStream, Throttle, Timeout, TimeoutRepeating, WithTimer,
    };
    use futures::stream::Pending;

    record! {
        IntervalStream: [SEND SYNC UNPIN] not [];
        Timeout<Pending<u8>>: [SEND SYNC UNPIN] not [];
        Timeout<Pending<NotSend>>: [UNPIN] not [SEND SYNC];
        TimeoutRepeating<Pending<u8>>: [SEND SYNC UNPIN] not [];
        TimeoutRepeating<Pending<NotSend>>: [UNPIN] not [SEND SYNC];
        Throttle<Pending<u8>>: [SEND SYNC UNPIN] not [];
        Throttle<Pending<NotSend>>: [UNPIN] not [SEND SYNC];
        Debounce<Pending<u8>>: [SEND SYNC UNPIN] not [];
        Debounce<Pending<NotSync>>: [SEND UNPIN] not [SYNC];
        Debounce<Pending<NotSend>>: [UNPIN] not [SEND SYNC];
        ChunksTimeout<Pending<u8>>: [SEND SYNC UNPIN] not [];
        ChunksTimeout<Pending<NotSync>>: [SEND UNPIN] not [SYNC];
        ChunksTimeout<Pending<NotSend>>: [UNPIN] not [SEND SYNC];
        WithTimer<Pending<u8>>: [SEND SYNC UNPIN] not [];
        WithTimer<Pending<NotSend>>: [UNPIN] not [SEND SYNC];
    }
}

/// Nothing that owns its content borrows from anywhere: this fails to compile, as the record does.
#[test]
fn case_093_what_owns_its_content_lives_as_long_as_it_likes() {
    const fn lives_as_long_as_it_likes<T: 'static>() {}
    lives_as_long_as_it_likes::<Sleep>();
    lives_as_long_as_it_likes::<Interval>();
    lives_as_long_as_it_likes::<Timeout<Ready<u8>>>();
    lives_as_long_as_it_likes::<LazyTimeout<Ready<u8>>>();
    lives_as_long_as_it_likes::<Timer>();
    lives_as_long_as_it_likes::<DelayQueue<u8>>();
    lives_as_long_as_it_likes::<delay_queue::Sender<u8>>();
    lives_as_long_as_it_likes::<delay_queue::Receiver<u8>>();
    lives_as_long_as_it_likes::<Scheduled<u8>>();
    lives_as_long_as_it_likes::<ManualClock>();
    lives_as_long_as_it_likes::<Deadline>();
    lives_as_long_as_it_likes::<Backoff>();
}

/// `Sleep` and `&mut Sleep` may be polled on after their end, and say so.
const _: fn() = || {
    const fn is_fused<F: FusedFuture<Output = ()>>() {}
    is_fused::<Sleep>();
    is_fused::<&mut Sleep>();
};

/// The future of an `async fn` has no name: what its callers need of it is written out.
const _: fn(&mut Interval) = |beat| {
    const fn may_cross_threads<F: Future<Output = Instant> + Send + Sync>(_: &F) {}
    may_cross_threads(&beat.tick());
};

#[tokio::test(start_paused = true)]
async fn case_094_a_plain_sleep_is_used_by_reference_in_a_select_loop() {
    let mut sleep = sleep(Duration::from_millis(5));
    let deadline = sleep.deadline();
    for _ in 0..3 {
        tokio::select! {
            biased;
            () = &mut sleep => panic!("too early"),
            () = std::future::ready(()) => {}
        }
    }
    (&mut sleep).await;
    assert!(Instant::now() >= deadline);
}

#[tokio::test(start_paused = true)]
async fn case_094_code_that_pins_as_tokio_wants_it_compiles_unchanged() {
    let start = Instant::now();
    let second = Duration::from_secs(1);

    let pinned = sleep(second);
    tokio::pin!(pinned);
    let mut boxed = Box::pin(sleep(second));
    for round in 1..=3 {
        tokio::select! {
            () = &mut pinned => {}
            () = &mut boxed => {}
        }
        assert_eq!(start.elapsed(), second * round);
        pinned.as_mut().reset(Instant::now() + second);
        boxed.as_mut().reset(Instant::now() + second);
    }
    let on_the_stack = std::pin::pin!(sleep(second));
    Sleep::reset(on_the_stack, start);
}

pin_project! {
    /// A sleep as a structurally pinned field, as drop-in code has it.
    struct Twice {
        #[pin]
        sleep: Sleep,
        again: Option<Duration>,
    }
}

impl Future for Twice {
    type Output = Instant;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Instant> {
        let mut this = self.project();
        loop {
            std::task::ready!(this.sleep.as_mut().poll(cx));
            let deadline = this.sleep.deadline();
            match this.again.take() {
                Some(more) => this.sleep.as_mut().reset(deadline + more),
                None => return Poll::Ready(deadline),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn case_094_a_sleep_is_a_field_with_pin_projection() {
    let start = Instant::now();
    let mut twice = Twice {
        sleep: sleep(Duration::from_millis(10)),
        again: Some(Duration::from_millis(20)),
    };
    let end = loop {
        tokio::select! {
            end = &mut twice => break end,
            () = sleep(Duration::from_millis(7)) => {}
        }
    };
    assert_eq!(end, start + Duration::from_millis(30));
}
