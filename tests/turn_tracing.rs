//! What a turn tells a subscriber of `tracing`, and that no subscriber stops it.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::cell::RefCell;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use cogwheel::time::{Duration, Sleep};
use cogwheel::{ManualClock, Timer};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, span};

const MILLI: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Hears the events of the driver up to a level, and then does what it likes.
struct Listener {
    level: Level,
    heard: Arc<Mutex<Vec<String>>>,
    then: Box<dyn Fn() + Send + Sync>,
}

impl Listener {
    fn new(level: Level, then: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            level,
            heard: Arc::default(),
            then: Box::new(then),
        }
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 += &format!(" {value:?}");
        } else {
            self.0 += &format!(" {}={value:?}", field.name());
        }
    }
}

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "cogwheel::driver" && *metadata.level() <= self.level
    }
    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        let name = attributes.metadata().name();
        self.heard.lock().unwrap().push(format!("span {name}"));
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.heard.lock().unwrap().push(line.0);
        (self.then)();
    }
    fn enter(&self, _: &span::Id) {
        self.heard.lock().unwrap().push("enter".to_owned());
    }
    fn exit(&self, _: &span::Id) {
        self.heard.lock().unwrap().push("exit".to_owned());
    }
}

/// Runs `code` with a listener and gives what was heard, without the spans of the wakes.
fn listen(listener: Listener, code: impl FnOnce()) -> Vec<String> {
    let heard = Arc::clone(&listener.heard);
    tracing::subscriber::with_default(listener, code);
    let mut heard = heard.lock().unwrap().clone();
    heard.retain(|line| !["span wakes", "enter", "exit"].contains(&&**line));
    heard
}

fn poll(sleep: &mut Sleep, waker: &Waker) -> Poll<()> {
    Pin::new(sleep).poll(&mut Context::from_waker(waker))
}

fn armed(timer: &Timer, delay: Duration) -> Sleep {
    armed_for(timer, delay, Waker::noop())
}

fn armed_for(timer: &Timer, delay: Duration, waker: &Waker) -> Sleep {
    let mut sleep = timer.sleep(delay);
    assert!(poll(&mut sleep, waker).is_pending());
    sleep
}

/// Counts its wakes.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Wakes {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_turn_tells_what_it_did_after_its_timers_were_woken() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let _sleeps: Vec<Sleep> = (0..100).map(|_| armed_for(&timer, MILLI, &waker)).collect();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (saw, all) = (Arc::clone(&seen), Arc::clone(&wakes));
    let listener = Listener::new(Level::TRACE, move || saw.lock().unwrap().push(all.count()));
    let heard = listen(listener, || {
        clock.advance_to_next();
    });
    // More than one batch, and one event all the same.
    let seen = seen.lock().unwrap();
    let fired: Vec<_> = heard
        .iter()
        .zip(&*seen)
        .filter(|(line, _)| line.contains("fired=100"))
        .collect();
    assert_eq!(fired.len(), 1, "{heard:?}");
    let (line, woken) = fired[0];
    assert!(line.starts_with("TRACE turn rounds="), "{heard:?}");
    assert_eq!(*woken, 100, "told before all were woken");
}

/// The number that follows `name=`.
fn field(line: &str, name: &str) -> u64 {
    let value = line.split(' ').find_map(|field| field.strip_prefix(name));
    value.unwrap().strip_prefix('=').unwrap().parse().unwrap()
}

#[test]
fn what_turns_tell_adds_up_to_what_the_timer_has_counted() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let heard = listen(Listener::new(Level::TRACE, || {}), || {
        let _sleeps: Vec<Sleep> = (1..=300).map(|n| armed(&timer, n * n * MILLI)).collect();
        clock.advance(7 * MILLI);
        let _more: Vec<Sleep> = (1..=100).map(|_| armed(&timer, MILLI)).collect();
        clock.advance(HOUR);
    });
    let turns: Vec<_> = heard
        .iter()
        .filter(|line| line.contains(" turn "))
        .collect();
    let sum = |name| turns.iter().map(|line| field(line, name)).sum::<u64>();
    let metrics = timer.metrics();
    let counted = [metrics.turns, metrics.fired, metrics.cascades];
    // The first turn, which opened the clock, was told to nobody.
    assert_eq!([1 + sum("rounds"), sum("fired"), sum("cascaded")], counted);
    assert!(metrics.fired == 400 && metrics.cascades > 0, "{metrics}");
    assert!(
        metrics.cascades != metrics.fired && metrics.turns != metrics.fired,
        "{metrics}"
    );
}

#[test]
fn a_runtimes_timer_tells_when_it_is_opened_and_closed_and_of_which_generation() {
    let heard = listen(Listener::new(Level::DEBUG, || {}), || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        for _ in 0..2 {
            runtime.block_on(async { drop(Timer::current()) });
        }
        drop(runtime);
    });
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[0].starts_with("DEBUG timer opened generation="));
    assert!(heard[1].starts_with("DEBUG timer closed generation="));
    assert_eq!(
        field(&heard[0], "generation"),
        field(&heard[1], "generation")
    );
}

#[test]
fn new_levels_are_told_once() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let heard = listen(Listener::new(Level::DEBUG, || {}), || {
        let _near = armed(&timer, MILLI);
        let _far = armed(&timer, Duration::MAX);
        clock.advance(MILLI);
        let _again = armed(&timer, Duration::MAX);
        clock.advance(MILLI);
        clock.close();
    });
    let levels: Vec<&String> = heard
        .iter()
        .filter(|line| line.contains("levels"))
        .collect();
    assert_eq!(
        levels.last().unwrap().as_str(),
        "DEBUG levels added levels=8"
    );
    assert!(levels.len() <= 2, "{heard:?}");
    assert!(
        heard
            .last()
            .unwrap()
            .starts_with("DEBUG timer closed generation=")
    );
}

#[tokio::test(start_paused = true)]
async fn late_timers_are_told_together_with_the_worst_and_only_if_asked_for() {
    for (threshold, expected) in [
        (
            Some(98 * MILLI),
            Some("WARN timers fired late count=2 worst=100ms"),
        ),
        (
            Some(99 * MILLI),
            Some("WARN timers fired late count=1 worst=100ms"),
        ),
        (Some(100 * MILLI), None),
        (None, None),
    ] {
        let listener = Listener::new(Level::WARN, || {});
        let heard = Arc::clone(&listener.heard);
        let _default = tracing::subscriber::set_default(listener);
        let builder = Timer::builder();
        let timer = match threshold {
            Some(late) => builder.warn_when_late(late).build().unwrap(),
            None => builder.build().unwrap(),
        };
        let _sleeps: Vec<Sleep> = (1..=4).map(|n| armed(&timer, n * MILLI)).collect();
        tokio::time::advance(101 * MILLI).await;
        assert_eq!(timer.metrics().fired, 4);
        let heard = heard.lock().unwrap().join("|");
        assert_eq!(heard, expected.unwrap_or_default());
    }
}

#[test]
fn nothing_is_told_to_who_wants_nothing_of_it() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let heard = listen(Listener::new(Level::WARN, || {}), || {
        let _far = armed(&timer, Duration::MAX);
        let _near = armed(&timer, MILLI);
        clock.advance(HOUR);
        clock.close();
    });
    assert_eq!(heard, Vec::<String>::new());
}

#[test]
fn a_subscriber_that_panics_loses_no_timer_and_no_turn() {
    let clock = Timer::builder()
        .warn_when_late(Duration::ZERO)
        .build_manual();
    let timer = clock.timer();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let heard = listen(
        Listener::new(Level::TRACE, || panic!("a subscriber that panics")),
        || {
            let _sleeps: Vec<Sleep> = (1..=200)
                .map(|n| armed_for(&timer, (n % 7 + 1) * MILLI, &waker))
                .collect();
            clock.advance(HOUR);
            assert_eq!(wakes.count(), 200);
            assert_eq!(timer.metrics().fired, 200);
        },
    );
    assert!(heard.len() >= 7, "{heard:?}");
}

#[test]
fn a_subscriber_that_makes_timers_looks_and_moves_the_clock_loses_none() {
    const MOST: usize = 50;
    let clock = ManualClock::new();
    let timer = clock.timer();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let made = Arc::new(Mutex::new(Vec::new()));
    let depth = Arc::new(AtomicUsize::new(0));
    let then = {
        let (clock, timer, waker) = (clock.clone(), timer.clone(), waker.clone());
        let (made, depth) = (Arc::clone(&made), Arc::clone(&depth));
        move || {
            assert_eq!(depth.fetch_add(1, Ordering::Relaxed), 0, "one at a time");
            if made.lock().unwrap().len() < MOST {
                // The earliest there is: it asks for a turn at once.
                let sleep = armed_for(&timer, Duration::from_nanos(1), &waker);
                made.lock().unwrap().push(sleep);
                assert!(timer.metrics().live > 0);
                clock.advance(Duration::from_nanos(1));
            }
            depth.fetch_sub(1, Ordering::Relaxed);
        }
    };
    listen(Listener::new(Level::TRACE, then), || {
        let _sleeps: Vec<Sleep> = (1..=200)
            .map(|n| armed_for(&timer, (n % 7 + 1) * MILLI, &waker))
            .collect();
        clock.advance(HOUR);
        // What the last event made has its turn as well.
        clock.advance(HOUR);
        assert_eq!(depth.load(Ordering::Relaxed), 0);
        let made = made.lock().unwrap().len();
        assert!(made >= 7, "{made}");
        assert_eq!(wakes.count(), 200 + made);
        assert_eq!(timer.metrics().live, 0);
    });
}

#[test]
fn a_subscriber_that_arms_at_every_turn_does_not_keep_the_thread() {
    thread_local! {
        static MADE: RefCell<Vec<Sleep>> = const { RefCell::new(Vec::new()) };
    }
    let clock = ManualClock::new();
    let timer = clock.timer();
    let own = timer.clone();
    // Each is earlier than all before, so each asks for a turn, which would be told, and so on.
    let then = move || {
        let made = MADE.with_borrow(Vec::len);
        assert!(made < 100, "told again and again");
        let delay = HOUR - Duration::from_nanos(made as u64);
        let sleep = armed(&own, delay);
        MADE.with_borrow_mut(|all| all.push(sleep));
    };
    listen(Listener::new(Level::TRACE, then), || {
        let _sleep = armed(&timer, 2 * HOUR);
    });
    let made = MADE.with_borrow(Vec::len);
    assert!(made >= 1);
    assert_eq!(timer.metrics().created, 1 + made as u64);
    clock.advance(HOUR);
    assert_eq!(timer.metrics().fired, made as u64);
}

#[test]
fn a_subscriber_that_closes_the_timer_ends_it() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let own = timer.clone();
    listen(Listener::new(Level::TRACE, move || own.close()), || {
        let _sleep = armed(&timer, MILLI);
        let _sleep = timer.sleep(MILLI);
        assert!(timer.is_closed());
    });
    assert_eq!(timer.metrics().cancelled, 1);
}

#[cfg(feature = "tracing-spans")]
#[test]
fn the_wakes_of_a_turn_happen_inside_a_span() {
    struct Notes(Arc<Mutex<Vec<String>>>);
    impl Wake for Notes {
        fn wake(self: Arc<Self>) {
            self.0.lock().unwrap().push("woken".to_owned());
        }
    }
    let clock = ManualClock::new();
    let timer = clock.timer();
    let listener = Listener::new(Level::TRACE, || {});
    let heard = Arc::clone(&listener.heard);
    let waker = Waker::from(Arc::new(Notes(Arc::clone(&heard))));
    let _sleep = armed_for(&timer, MILLI, &waker);
    tracing::subscriber::with_default(listener, || clock.advance_to_next());
    let heard = heard.lock().unwrap();
    let place = heard.iter().position(|line| line == "woken").unwrap();
    assert_eq!(heard[place - 2..place], ["span wakes", "enter"]);
    assert_eq!(heard[place + 1], "exit");
}
