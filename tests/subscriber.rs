//! A subscriber that uses a timer for each event it sees.

use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::span;

static DEPTH: AtomicUsize = AtomicUsize::new(0);
static DEEPEST: AtomicUsize = AtomicUsize::new(0);

struct Timed;

impl tracing::Subscriber for Timed {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        let depth = DEPTH.fetch_add(1, Ordering::Relaxed) + 1;
        DEEPEST.fetch_max(depth, Ordering::Relaxed);
        // Without this limit the stack overflows, here and again at shutdown.
        if depth < 8 && tokio::runtime::Handle::try_current().is_ok() {
            drop(cogwheel::Timer::current());
        }
        DEPTH.fetch_sub(1, Ordering::Relaxed);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn a_subscriber_that_uses_the_timer_does_not_recurse() {
    tracing::subscriber::set_global_default(Timed).unwrap();
    drop(cogwheel::Timer::current());
    let deepest = DEEPEST.load(Ordering::Relaxed);
    assert!(deepest <= 2, "depth {deepest}");
}
