//! The names and kinds under which a snapshot reaches the recorder of the `metrics` crate.

#![cfg(feature = "metrics")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::task::{Context, Waker};

use cogwheel::Timer;
use cogwheel::metrics::TimerMetrics;
use cogwheel::time::Duration;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use tokio::time::advance;

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

/// A snapshot in which no two figures are equal and none is zero.
fn snapshot() -> TimerMetrics {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let milli = Duration::from_millis(1);
    let armed = |timer: &Timer, delay: u32| {
        let mut sleep = timer.sleep(milli * delay);
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut sleep).poll(&mut context).is_pending());
        sleep
    };
    runtime.block_on(async {
        let timer = Timer::current();
        let delays = [(2, 1), (1, 420), (8, 440), (190, 500), (30, 60_000)];
        let mut sleeps: Vec<_> = delays
            .into_iter()
            .flat_map(|(count, delay)| (0..count).map(move |_| delay))
            .map(|delay| armed(&timer, delay))
            .collect();
        for sleep in &mut sleeps[202..219] {
            sleep.set_deadline(sleep.deadline() + milli);
        }
        drop(sleeps.split_off(220));
        // Late by half a second, by 61 ms and by one, and some of them placed lower before.
        advance(milli * 430).await;
        advance(milli * 71).await;
        let _queued: Vec<_> = (0..13).map(|n| armed(&timer, 70_000 + n)).collect();
        timer.metrics()
    })
}

#[test]
fn a_snapshot_is_recorded_under_the_documented_names() {
    let metrics = snapshot();
    let lateness = &metrics.lateness;
    let [p50, p99, max] = [lateness.p50(), lateness.p99(), lateness.max()];
    let figures = [
        metrics.created,
        metrics.fired,
        metrics.cancelled,
        metrics.resets,
        metrics.turns,
        metrics.wake_ups,
        metrics.cascades,
        metrics.live,
        metrics.queued,
        metrics.levels.len() as u64,
        metrics.nodes,
        metrics.bytes,
    ];
    let distinct: BTreeSet<u64> = figures.into_iter().collect();
    assert_eq!(distinct.len(), figures.len(), "{metrics}");
    assert!(!distinct.contains(&0), "{metrics}");
    assert!(Duration::ZERO < p50 && p50 < p99 && p99 < max, "{metrics}");
    let recorder = DebuggingRecorder::new();
    // Twice, as an exporter does: nothing counts twice.
    metrics::with_local_recorder(&recorder, || {
        metrics.record("test");
        metrics.record("test");
    });
    let recorded = recorded(&recorder);
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    let expected = [
        "counter cogwheel_timers_created_total timer=test",
        "counter cogwheel_timers_fired_total timer=test",
        "counter cogwheel_timers_cancelled_total timer=test",
        "counter cogwheel_timers_reset_total timer=test",
        "counter cogwheel_turns_total timer=test",
        "counter cogwheel_wake_ups_total timer=test",
        "counter cogwheel_cascades_total timer=test",
        "gauge cogwheel_timers_live timer=test",
        "gauge cogwheel_timers_queued timer=test",
        "gauge cogwheel_levels timer=test",
        "gauge cogwheel_nodes timer=test",
        "gauge cogwheel_memory_bytes timer=test",
    ]
    .into_iter()
    .zip(figures.map(|figure| figure as f64));
    let quantiles = [("0.5", p50), ("0.99", p99), ("1", max)];
    let lateness = quantiles.map(|(quantile, value)| {
        let name = format!("gauge cogwheel_lateness_seconds timer=test quantile={quantile}");
        (name, value.as_secs_f64())
    });
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    let expected: BTreeMap<String, f64> = expected.chain(lateness).collect();
    assert_eq!(recorded, expected);
}
