//! Timers that fire, each in a task of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::{Clock, Free, Tokio};
use crate::load::{Load, Target};
use crate::measure::{Mark, Metrics, as_f64, quantile};
use crate::world::{Place, Random, Scale};

/// The value of a task that has not ended.
const LOST: i64 = i64::MIN;

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    let mut many = load(
        "fire-1m",
        "1,000,000 tasks sleep a random time within 2 s, 2 workers",
        1_000_000,
    );
    many.slow = true;
    vec![
        load(
            "fire-100k",
            "100,000 tasks sleep a random time within 2 s, 2 workers",
            100_000,
        ),
        many,
    ]
}

fn load(name: &'static str, about: &'static str, tasks: usize) -> Load {
    Load {
        name,
        about,
        targets: vec![
            ("cpu s", Target::Ratio(1.15)),
            ("late p50 us", Target::Ratio(0.8)),
            ("early", Target::Most(0.0)),
            ("lost", Target::Most(0.0)),
        ],
        tokio: Box::new(move |scale| fire::<Tokio>(tasks, scale)),
        cogwheel: Box::new(move |scale| fire::<Free>(tasks, scale)),
        slow: false,
    }
}

fn fire<C: Clock>(tasks: usize, _: Scale) -> Metrics {
    let window = Duration::from_secs(2);
    let lateness: Arc<[AtomicI64]> = (0..tasks).map(|_| AtomicI64::new(LOST)).collect();
    let runtime = Place::MultiThread(2).build();
    let mark = Mark::now();
    let ended = runtime.block_on(async {
        let spawner = tokio::spawn(spawn_all::<C>(lateness.clone(), window));
        let handles = spawner.await.expect("no panic");
        let all = async {
            for handle in handles {
                handle.await.expect("no panic");
            }
        };
        tokio::time::timeout(Duration::from_secs(30), all)
            .await
            .is_ok()
    });
    let cpu = mark.cpu_seconds();
    let mut late = Vec::new();
    let mut lost = 0.0;
    for slot in lateness.iter() {
        match slot.load(Relaxed) {
            LOST => lost += 1.0,
            nanos => late.push(as_f64(nanos) / 1e3),
        }
    }
    assert_eq!(ended, lost == 0.0, "a task has ended without a result");
    late.sort_by(f64::total_cmp);
    let early = late.partition_point(|&us| us < 0.0);
    vec![
        ("cpu s", cpu),
        ("late p50 us", quantile(&late, 0.5)),
        ("late p99 us", quantile(&late, 0.99)),
        ("late p99.9 us", quantile(&late, 0.999)),
        ("late max us", quantile(&late, 1.0)),
        ("early", as_f64(i64::try_from(early).unwrap_or(i64::MAX))),
        ("lost", lost),
    ]
}

async fn spawn_all<C: Clock>(
    lateness: Arc<[AtomicI64]>,
    window: Duration,
) -> Vec<tokio::task::JoinHandle<()>> {
    let mut random = Random::new(1);
    let spawn = |index: usize| {
        let lateness = lateness.clone();
        let duration = random.between(Duration::ZERO, window);
        tokio::spawn(async move {
            let deadline = Instant::now() + duration;
            C::here().sleep_until(deadline).await;
            lateness[index].store(nanos_since(deadline), Relaxed);
        })
    };
    (0..lateness.len()).map(spawn).collect()
}

/// How late it is, or with a minus how early.
fn nanos_since(deadline: Instant) -> i64 {
    let now = Instant::now();
    let nanos = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    match now.checked_duration_since(deadline) {
        Some(late) => nanos(late),
        None => -nanos(deadline - now),
    }
}
