//! What scheduled work tells a subscriber of `tracing`, and that it costs nothing without one.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cogwheel::Timer;
use cogwheel::time::{Duration, sleep};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, span};

/// Level, message and fields of the events of this crate about scheduled work.
#[derive(Default)]
struct Listener {
    heard: Arc<Mutex<Vec<String>>>,
    panics: bool,
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "cogwheel" && *metadata.level() <= Level::DEBUG
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        if line.0.contains("scheduled") {
            self.heard.lock().unwrap().push(line.0);
            assert!(!self.panics, "a subscriber that panics");
        }
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_start_and_a_panic_are_told_with_the_name_and_a_cancel_is_not() {
    let listener = Listener::default();
    let heard = listener.heard.clone();
    let _default = tracing::subscriber::set_default(listener);
    let timer = Timer::current();
    let second = Duration::from_secs(1);
    let plain = timer.schedule(second, async {});
    let named = timer.schedule(second * 2, async { panic!("lost") });
    let named = named
        .with_name(format!("order {}", 7))
        .with_name("too late");
    assert_eq!((plain.name(), named.name()), (None, Some("order 7")));
    assert!(timer.schedule(second, async {}).with_name("never").cancel());
    assert!(plain.await.is_fired());
    let _: cogwheel::scheduled::Outcome<()> = named.await;
    let heard = heard.lock().unwrap();
    assert_eq!(
        *heard,
        [
            "DEBUG message=scheduled work starts",
            "DEBUG message=scheduled work starts name=\"order 7\"",
            "WARN message=scheduled work panicked name=\"order 7\" panic=\"lost\"",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_panics_stops_no_work() {
    let listener = Listener {
        panics: true,
        ..Listener::default()
    };
    let heard = listener.heard.clone();
    let _default = tracing::subscriber::set_default(listener);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let series = Timer::current().schedule_every(Duration::from_secs(1), move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async { panic!("a round") }
    });
    sleep(Duration::from_millis(3_500)).await;
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    assert_eq!((series.rounds(), series.panics()), (3, 3));
    assert_eq!(heard.lock().unwrap().len(), 6);
}
