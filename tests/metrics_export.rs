//! The names and kinds under which a snapshot reaches the recorder of the `metrics` crate.

#![cfg(feature = "metrics")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Waker};

use cogwheel::ManualClock;
use cogwheel::time::Duration;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

/// What a recorder has, by kind, name and labels.
fn recorded(recorder: &DebuggingRecorder) -> BTreeMap<String, f64> {
    let snapshot = recorder.snapshotter().snapshot();
    let mut values = BTreeMap::new();
    for (key, _, _, value) in snapshot.into_vec() {
        let labels: Vec<String> = key
            .key()
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        let (kind, value) = match value {
            #[allow(clippy::cast_precision_loss, reason = "small numbers")]
            DebugValue::Counter(count) => ("counter", count as f64),
            DebugValue::Gauge(value) => ("gauge", value.into_inner()),
            DebugValue::Histogram(_) => panic!("no histogram is documented"),
        };
        let name = format!("{kind} {} {}", key.key().name(), labels.join(" "));
        values.insert(name, value);
    }
    values
}

#[test]
fn a_snapshot_is_recorded_under_the_documented_names() {
    let clock = ManualClock::new();
    let timer = clock.timer();
    let mut context = Context::from_waker(Waker::noop());
    let mut sleeps: Vec<_> = (1..=4)
        .map(|n| timer.sleep(Duration::from_millis(n)))
        .collect();
    for sleep in &mut sleeps {
        assert!(Pin::new(sleep).poll(&mut context).is_pending());
    }
    clock.advance(Duration::from_millis(2));
    drop(sleeps.pop());
    let metrics = timer.metrics();
    let recorder = DebuggingRecorder::new();
    // Twice, as an exporter does: nothing counts twice.
    metrics::with_local_recorder(&recorder, || {
        metrics.record("test");
        metrics.record("test");
    });
    let recorded = recorded(&recorder);
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    let expected = [
        ("counter cogwheel_timers_created_total timer=test", 4.0),
        ("counter cogwheel_timers_fired_total timer=test", 2.0),
        ("counter cogwheel_timers_cancelled_total timer=test", 1.0),
        ("counter cogwheel_timers_reset_total timer=test", 0.0),
        (
            "counter cogwheel_turns_total timer=test",
            metrics.turns as f64,
        ),
        ("counter cogwheel_wake_ups_total timer=test", 0.0),
        (
            "counter cogwheel_cascades_total timer=test",
            metrics.cascades as f64,
        ),
        ("gauge cogwheel_timers_live timer=test", 1.0),
        ("gauge cogwheel_timers_queued timer=test", 0.0),
        (
            "gauge cogwheel_levels timer=test",
            metrics.levels.len() as f64,
        ),
        ("gauge cogwheel_nodes timer=test", metrics.nodes as f64),
        (
            "gauge cogwheel_memory_bytes timer=test",
            metrics.bytes as f64,
        ),
        (
            "gauge cogwheel_lateness_seconds timer=test quantile=0.5",
            0.0,
        ),
        (
            "gauge cogwheel_lateness_seconds timer=test quantile=0.99",
            0.0,
        ),
        ("gauge cogwheel_lateness_seconds timer=test quantile=1", 0.0),
    ];
    let expected: BTreeMap<String, f64> = expected
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    assert_eq!(recorded, expected);
}
