//! The driver on real runtimes.
#![allow(clippy::disallowed_methods, reason = "tests read the clock")]

use std::time::{Duration, Instant};

use cogwheel::time;

#[tokio::test(start_paused = true)]
async fn a_paused_clock_crosses_years_in_few_steps() {
    let start = tokio::time::Instant::now();
    time::sleep(Duration::from_millis((1 << 36) - 1)).await;
    assert_eq!(start.elapsed(), Duration::from_millis((1 << 36) - 1));
    let start = tokio::time::Instant::now();
    time::sleep(Duration::from_secs(30 * 365 * 86_400)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(30 * 365 * 86_400));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_sleeps_complete_on_time_on_a_real_clock() {
    let mut tasks = Vec::new();
    for n in 0..200_u64 {
        tasks.push(tokio::spawn(async move {
            let wait = Duration::from_micros(n * 731);
            let start = Instant::now();
            time::sleep(wait).await;
            let took = start.elapsed();
            assert!(took >= wait, "{took:?} < {wait:?}");
            took - wait
        }));
    }
    let mut worst = Duration::ZERO;
    for task in tasks {
        worst = worst.max(task.await.unwrap());
    }
    assert!(worst < Duration::from_millis(300), "{worst:?}");
}
