//! `Backoff`: how long to wait before the next try.
//!
//! The ceiling grows by a factor from one try to the next until it reaches the cap; what is waited
//! is a random part of the ceiling, or all of it:
//!
//! ```text
//! ceiling(0) = min(base, cap)      ceiling(n + 1) = min(ceiling(n) · factor, cap)
//! delay(n)   = a part of ceiling(n) that the jitter chooses
//! ```
//!
//! Invariants:
//! * no delay exceeds its ceiling, and no ceiling the cap;
//! * ceilings never shrink, whatever rounding does;
//! * nothing overflows: what does not fit is the cap.

#![forbid(unsafe_code)]

mod jitter;
mod retry;

use core::iter::FusedIterator;
use core::time::Duration;

use crate::driver::registry;
use crate::driver::runtime::DriverRef;
use crate::sleep::Sleep;
use crate::tick::Tick;
use crate::timer::Timer;

use self::jitter::Random;

pub use self::jitter::Jitter;
pub use self::retry::GaveUp;

/// The delays between the tries of something that may fail.
///
/// It can be used in three ways, which share one count of tries: [`retry`](Self::retry) runs an
/// operation until it succeeds, [`wait`](Self::wait) sleeps for the next delay in a loop of your
/// own, and as an [`Iterator`] it only tells the delays.
///
/// By default the first ceiling is what [`new`](Self::new) was given, each is twice the last one
/// up to 30 s, the jitter is [full](Jitter::Full), and there is no limit on tries.
///
/// # Units and rounding
///
/// Delays are rounded to the nearest nanosecond. One of zero does not wait.
///
/// # Cost
///
/// A few dozen instructions and no allocation. The clock is read, and a timer looked up, by
/// [`wait`](Self::wait) and [`retry`](Self::retry) only.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use std::time::Duration;
/// use cogwheel::Backoff;
/// use cogwheel::backoff::Jitter;
///
/// let backoff = Backoff::new(Duration::from_millis(100))
///     .cap(Duration::from_secs(1))
///     .jitter(Jitter::None)
///     .max_attempts(7);
/// let delays: Vec<u128> = backoff.clone().map(|delay| delay.as_millis()).collect();
/// assert_eq!(delays, [100, 200, 400, 800, 1_000, 1_000]);
///
/// let mut backoff = backoff.jitter(Jitter::Full);
/// let mut tries = 0;
/// let answer = backoff.retry(|| {
///     tries += 1;
///     std::future::ready(if tries < 3 { Err("busy") } else { Ok("done") })
/// });
/// assert_eq!(answer.await, Ok("done"));
/// # }
/// ```
///
/// # Source
///
/// Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
#[derive(Debug, Clone)]
#[must_use = "a backoff does nothing by itself"]
pub struct Backoff {
    base: Duration,
    factor: f64,
    cap: Duration,
    jitter: Jitter,
    /// How often the operation may run; `u32::MAX` is without limit.
    max_attempts: u32,
    max_elapsed: Duration,
    timer: Option<DriverRef>,
    random: Random,

    /// The tries that are known to have failed.
    failed: u32,
    /// The ceiling of the next delay.
    ceiling: Duration,
    /// What the delays so far add up to.
    waited: Duration,
    /// Since when `wait` counts, and on which timer.
    start: Option<(DriverRef, Tick)>,
    /// A delay of `wait` that has begun.
    pending: Option<(Duration, Tick)>,
    /// A limit has been met.
    over: bool,
}

/// Making one.
impl Backoff {
    /// Starts with a ceiling of `base`.
    ///
    /// A `base` of zero stays zero: every delay is.
    pub fn new(base: Duration) -> Self {
        Self {
            base,
            factor: 2.0,
            cap: Duration::from_secs(30),
            jitter: Jitter::default(),
            max_attempts: u32::MAX,
            max_elapsed: Duration::MAX,
            timer: None,
            random: Random::new(),
            failed: 0,
            ceiling: Duration::ZERO,
            waited: Duration::ZERO,
            start: None,
            pending: None,
            over: false,
        }
        .anew()
    }

    /// What the ceiling is multiplied by from one delay to the next. The default is 2; 1 means
    /// that it stays.
    ///
    /// # Panics
    ///
    /// Panics, at the caller, if `factor` is not a finite number of at least 1.
    #[track_caller]
    pub fn factor(mut self, factor: f64) -> Self {
        assert!(
            factor.is_finite() && factor >= 1.0,
            "`factor` must be finite and at least 1"
        );
        self.factor = factor;
        self.anew()
    }

    /// No delay is longer than `cap`, not even the first. The default is 30 s.
    ///
    /// [`Duration::MAX`] is no cap.
    pub fn cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self.anew()
    }

    /// Which part of its ceiling a delay is. The default is [`Jitter::Full`].
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// The operation runs at most `attempts` times, the first one included: there is one delay
    /// less.
    ///
    /// The first try is nobody's to forbid, so 0 means the same as 1. The default, and the meaning
    /// of [`u32::MAX`], is no limit.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self.anew()
    }

    /// No delay begins that would end more than `elapsed` after the start.
    ///
    /// For [`retry`](Self::retry) and [`wait`](Self::wait) the start is their first call, and the
    /// time of the tries themselves counts. The iterator has no clock: it counts the delays that
    /// it has given. The default is no limit.
    ///
    /// A try that hangs is not ended by this; give it a [`timeout`](crate::time::timeout).
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Backoff, backoff::Jitter, time::Duration};
    ///
    /// let second = Duration::from_secs(1);
    /// let delays = Backoff::new(second).jitter(Jitter::None).max_elapsed(10 * second);
    /// assert!(delays.eq([second, 2 * second, 4 * second])); // 8 more would be too many
    /// ```
    pub fn max_elapsed(mut self, elapsed: Duration) -> Self {
        self.max_elapsed = elapsed;
        self.anew()
    }

    /// Makes the jitter repeatable: equal seeds give equal delays, on every machine.
    ///
    /// Without this each value starts at a random place; a clone continues where its original is.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.random = Random::with_seed(seed);
        self
    }

    /// Waits on `timer`; without this, on that of the runtime of the first wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::{Backoff, ManualClock, backoff::Jitter, time::Duration};
    /// use futures::FutureExt as _;
    ///
    /// let minute = Duration::from_secs(60);
    /// let clock = ManualClock::new();
    /// let mut backoff = Backoff::new(minute).cap(minute).jitter(Jitter::None);
    /// backoff = backoff.with_timer(&clock.timer());
    /// assert_eq!(backoff.wait().now_or_never(), None);
    /// clock.advance(minute);
    /// assert_eq!(backoff.wait().now_or_never(), Some(Some(minute)));
    /// ```
    pub fn with_timer(mut self, timer: &Timer) -> Self {
        self.timer = Some(timer.driver());
        self.anew()
    }

    fn anew(mut self) -> Self {
        self.reset();
        self
    }
}

/// Using it.
impl Backoff {
    /// Starts again: the first ceiling, no tries, no time elapsed.
    ///
    /// To be called after a success. The random numbers go on, so a seeded backoff does not repeat
    /// its delays.
    pub fn reset(&mut self) {
        self.failed = 0;
        self.ceiling = self.base.min(self.cap);
        self.waited = Duration::ZERO;
        self.start = None;
        self.pending = None;
        self.over = false;
    }

    /// How many tries are known to have failed: one for each delay since the last
    /// [`reset`](Self::reset), and one more once a limit has been met.
    #[must_use]
    pub const fn failed_attempts(&self) -> u32 {
        self.failed
    }

    /// Sleeps for the next delay and tells how long that was; `None`, at once, if a limit has been
    /// met.
    ///
    /// # Panics
    ///
    /// Polling panics if the thread is not in a Tokio runtime with timers, unless
    /// [`with_timer`](Self::with_timer) has named a timer; if the timer is at its
    /// [`max_timers`](crate::timer::Builder::max_timers), of which each delay takes a place while
    /// it lasts; and after the runtime of the timer has shut down.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the next call goes on with a delay that was begun, and ends when the first one
    /// would have. So it may stand in a `select!` loop.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::{Backoff, time::Duration};
    ///
    /// # let mut answers = [false, false, true].into_iter();
    /// # let mut connect = || answers.next().unwrap();
    /// let mut backoff = Backoff::new(Duration::from_millis(10)).max_attempts(5);
    /// while !connect() {
    ///     if backoff.wait().await.is_none() {
    ///         panic!("no connection after {} tries", backoff.failed_attempts());
    ///     }
    /// }
    /// assert_eq!(backoff.failed_attempts(), 2);
    /// # }
    /// ```
    pub async fn wait(&mut self) -> Option<Duration> {
        let (timer, start) = self.started();
        let (delay, until) = match self.pending {
            Some(pending) => pending,
            None => {
                let now = timer.start();
                let delay = self.advance(now.since(start))?;
                (delay, now.after(delay))
            }
        };
        self.pending = Some((delay, until));
        Sleep::until(timer, until).await;
        self.pending = None;
        Some(delay)
    }

    /// The timer to wait on and the time from which `max_elapsed` counts.
    fn started(&mut self) -> (DriverRef, Tick) {
        *self.start.get_or_insert_with(|| {
            // No `unwrap_or_else(registry::current)`: its panic would give a place in `core`.
            let timer = match self.timer {
                Some(timer) => timer,
                None => registry::current(),
            };
            (timer, timer.start())
        })
    }

    /// Counts a failed try and takes the next delay, unless a limit is met at `elapsed`.
    fn advance(&mut self, elapsed: Duration) -> Option<Duration> {
        if self.over {
            return None;
        }
        self.failed = self.failed.saturating_add(1);
        self.over = self.max_attempts != u32::MAX && self.failed >= self.max_attempts;
        if self.over {
            return None;
        }
        let delay = self.jitter.part_of(self.ceiling, &mut self.random);
        self.over = elapsed.saturating_add(delay) > self.max_elapsed;
        if self.over {
            return None;
        }
        self.waited = self.waited.saturating_add(delay);
        self.ceiling = self.next_ceiling();
        Some(delay)
    }

    fn next_ceiling(&self) -> Duration {
        let grown = self.ceiling.as_secs_f64() * self.factor;
        match Duration::try_from_secs_f64(grown) {
            // A long ceiling loses nanoseconds on its way through `f64`: it must not shrink by
            // that.
            Ok(grown) => grown.clamp(self.ceiling, self.cap),
            Err(_) => self.cap,
        }
    }
}

/// The delays, without waiting.
///
/// It has no clock: [`max_elapsed`](Backoff::max_elapsed) limits what the delays add up to. It ends
/// for good when a limit has been met, until [`reset`](Backoff::reset).
///
/// # Examples
///
/// ```
/// use cogwheel::Backoff;
/// use std::time::Duration;
///
/// let base = Duration::from_millis(10);
/// let mut delays = Backoff::new(base).with_seed(7);
/// let first: Vec<Duration> = delays.by_ref().take(100).collect();
/// assert!(first[0] <= base);
/// assert!(first.iter().all(|delay| *delay <= Duration::from_secs(30)));
/// ```
impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.advance(self.waited)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.over {
            return (0, Some(0));
        }
        let upper = match self.max_attempts {
            u32::MAX => None,
            most => {
                let left = most.saturating_sub(1).saturating_sub(self.failed);
                usize::try_from(left).ok()
            }
        };
        let lower = match self.max_elapsed {
            Duration::MAX => upper.unwrap_or(usize::MAX),
            _ => 0,
        };
        (lower, upper)
    }
}

impl FusedIterator for Backoff {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_122_the_count_of_tries_saturates_and_the_delay_stays_at_the_cap() {
        let mut backoff = Backoff::new(Duration::from_millis(10)).jitter(Jitter::None);
        let cap = backoff.by_ref().nth(200);
        assert_eq!(cap, Some(Duration::from_secs(30)));
        backoff.failed = u32::MAX - 1;
        for _ in 0..3 {
            assert_eq!(backoff.next(), cap);
            assert_eq!(backoff.failed_attempts(), u32::MAX);
        }
        backoff.max_attempts = u32::MAX - 1;
        assert_eq!(backoff.next(), None);
    }
}
