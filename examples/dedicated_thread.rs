//! How late timers are: Tokio's, the default ones of this crate, and those that a thread of their
//! own drives; first on an idle runtime, then while all of its workers are busy.
//!
//! ```text
//! cargo run --release --example dedicated_thread
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example measures and shows what it does"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use cogwheel::Timer;

/// How late a wait for 1 to 3 ms was, in the middle of `rounds`.
fn median_lateness(rounds: u32, mut wait: impl FnMut(Duration)) -> Duration {
    let mut lateness: Vec<_> = (0..rounds)
        .map(|round| {
            let delay = Duration::from_micros(1_000 + u64::from(round) * 617 % 2_000);
            let begun = Instant::now();
            wait(delay);
            begun.elapsed() - delay
        })
        .collect();
    lateness.sort_unstable();
    lateness[lateness.len() / 2]
}

/// Notes that it was woken.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let own = Timer::builder().thread_name("precise-timer").build()?;

    let tokio = median_lateness(100, |delay| {
        runtime.block_on(async { tokio::time::sleep(delay).await });
    });
    println!("idle, tokio::time::sleep:     {tokio:>8.0?} late");
    let default = median_lateness(100, |delay| {
        runtime.block_on(async { cogwheel::time::sleep(delay).await });
    });
    println!("idle, cogwheel::time::sleep:  {default:>8.0?} late");
    // No runtime takes part in this one.
    let precise = median_lateness(100, |delay| futures::executor::block_on(own.sleep(delay)));
    println!("idle, a thread of its own:    {precise:>8.0?} late");

    // The only worker does not yield for 100 ms, and still somebody learns of the deadline.
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let (timer, waker) = (own.clone(), Waker::from(flag.clone()));
    let noticed = runtime.block_on(runtime.spawn(async move {
        let mut sleep = timer.sleep(Duration::from_millis(10));
        let mut context = std::task::Context::from_waker(&waker);
        assert!(Future::poll(std::pin::Pin::new(&mut sleep), &mut context).is_pending());
        std::thread::sleep(Duration::from_millis(100));
        flag.0.load(Ordering::Acquire)
    }))?;
    println!("busy, a thread of its own:    woken meanwhile: {noticed}");

    own.close(); // or drop the last handle
    Ok(())
}
