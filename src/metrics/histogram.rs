//! A histogram of durations whose recording costs a few instructions and never allocates.
//!
//! Each power of two is cut into four equal buckets. The number of a bucket is put together from
//! the length of the value and its two bits below the leading one, so no search is needed, and no
//! bucket is wider than a quarter of the least value in it.
//!
//! The shape, linear buckets within logarithmic ones, is that of Gil Tene's HdrHistogram.

use core::fmt;
use core::time::Duration;

/// Bits below the leading one that tell the buckets of a power of two apart.
const FINE: u32 = 2;
/// Buckets per power of two.
const PARTS: usize = 1 << FINE;
/// Values below [`PARTS`] have a bucket each; every longer length of a value has [`PARTS`].
const BUCKETS: usize = PARTS * (u64::BITS - FINE + 1) as usize;

/// How many durations lay in which range.
///
/// # Units and rounding
///
/// Durations are counted in nanoseconds, from zero to 584 years. What [`quantile`](Self::quantile)
/// and [`buckets`](Self::buckets) give is the upper end of a bucket: never less than what was
/// recorded, and at most a quarter more. [`max`](Self::max), [`mean`](Self::mean) and
/// [`count`](Self::count) are exact.
///
/// # Cost
///
/// 2 KiB, without allocation. A quantile walks the 252 buckets.
///
/// # Source
///
/// Linear buckets within logarithmic ones, as in Gil Tene's HdrHistogram.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; BUCKETS],
    /// In nanoseconds; wraps after 584 years of lateness in all.
    sum: u64,
    /// In nanoseconds.
    max: u64,
}

impl Histogram {
    pub(crate) const fn new() -> Self {
        Self {
            buckets: [0; BUCKETS],
            sum: 0,
            max: 0,
        }
    }

    /// Counts a duration of so many nanoseconds.
    #[inline]
    pub(crate) fn record(&mut self, nanos: u64) {
        self.buckets[bucket_of(nanos)] += 1;
        self.sum = self.sum.wrapping_add(nanos);
        self.max = self.max.max(nanos);
    }

    /// How many durations were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The longest duration, exactly; zero if there was none.
    #[must_use]
    pub const fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// The mean of all durations, exactly but for the fraction of a nanosecond; zero if there was
    /// none.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum.checked_div(self.count()).unwrap_or(0))
    }

    /// The sum of all durations.
    #[must_use]
    pub const fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum)
    }

    /// A duration that the share `q` of all durations did not exceed: the least that this histogram
    /// can tell, at most a quarter above the true one and never above [`max`](Self::max). Zero if
    /// there was none.
    ///
    /// `q` is taken as 0 if it is less or not a number, and as 1 if it is more.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use std::time::Duration;
    /// use cogwheel::{Timer, time::sleep};
    ///
    /// sleep(Duration::from_micros(300)).await;
    /// let lateness = Timer::current().metrics().lateness;
    /// // Tokio's clock counts milliseconds.
    /// assert_eq!(lateness.max(), Duration::from_micros(700));
    /// assert_eq!(lateness.quantile(0.5), lateness.max());
    /// # }
    /// ```
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a rank is at least 1, and the share of a count is no more than the count"
    )]
    pub fn quantile(&self, q: f64) -> Duration {
        let share = if q.is_nan() { 0.0 } else { q.clamp(0.0, 1.0) };
        let rank = (share * self.count() as f64).ceil() as u64;
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank.max(1) {
                return Duration::from_nanos(end_of(bucket).min(self.max));
            }
        }
        self.max()
    }

    /// The [`quantile`](Self::quantile) 0.5.
    #[must_use]
    pub fn p50(&self) -> Duration {
        self.quantile(0.5)
    }

    /// The [`quantile`](Self::quantile) 0.99.
    #[must_use]
    pub fn p99(&self) -> Duration {
        self.quantile(0.99)
    }

    /// The buckets that are not empty, the shortest durations first: the longest duration that
    /// belongs into it, and how many there were.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> {
        let counted = self.buckets.iter().enumerate();
        counted
            .filter(|&(_, &count)| count > 0)
            .map(|(bucket, &count)| (Duration::from_nanos(end_of(bucket)), count))
    }
}

/// In which bucket a value is counted.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "after the shift less than 2 * PARTS is left"
)]
const fn bucket_of(value: u64) -> usize {
    // The shortest values have a bucket each, as those of the shortest length that has parts.
    let length = u64::BITS - (value | PARTS as u64).leading_zeros();
    let shift = length - FINE - 1;
    // The leading one and the bits after it count up through the parts of the next length.
    ((shift as usize) << FINE) + (value >> shift) as usize
}

/// The greatest value that is counted in a bucket.
const fn end_of(bucket: usize) -> u64 {
    if bucket < PARTS {
        return bucket as u64;
    }
    let shift = (bucket >> FINE) - 1;
    let leading = (PARTS + bucket % PARTS) as u64;
    (leading << shift) | ((1 << shift) - 1)
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_bucket_ends_just_before_the_next_begins() {
        assert_eq!(BUCKETS, 252);
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(end_of(bucket)), bucket);
            match end_of(bucket).checked_add(1) {
                Some(next) => assert_eq!(bucket_of(next), bucket + 1),
                None => assert_eq!(bucket, BUCKETS - 1),
            }
        }
    }

    #[test]
    fn without_durations_everything_is_zero() {
        let empty = Histogram::new();
        assert!(empty.is_empty());
        let all = [empty.p50(), empty.p99(), empty.max(), empty.mean()];
        assert_eq!(all, [Duration::ZERO; 4]);
        assert_eq!(empty.buckets().count(), 0);
    }

    #[test]
    fn a_share_that_is_no_share_is_taken_as_the_nearest() {
        let mut histogram = Histogram::new();
        histogram.record(1);
        histogram.record(3);
        for (share, nanos) in [(-1.0, 1), (f64::NAN, 1), (0.5, 1), (0.51, 3), (7.0, 3)] {
            assert_eq!(histogram.quantile(share), Duration::from_nanos(nanos));
        }
    }

    #[test]
    fn the_named_shares_are_what_their_names_say() {
        let mut histogram = Histogram::new();
        for _ in 0..50 {
            histogram.record(1);
        }
        for _ in 50..98 {
            histogram.record(1_000);
        }
        histogram.record(1_000_000);
        histogram.record(1_000_000_000);
        assert_eq!(histogram.p50(), Duration::from_nanos(1));
        assert!((1_000_000..=1_250_000).contains(&histogram.p99().as_nanos()));
        assert_eq!(histogram.max(), Duration::from_secs(1));
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_a_quarter_above_the_true_one(
            values in proptest::collection::vec((0_u32..64, any::<u64>()).prop_map(|(k, n)| n >> k), 1..200),
            share in 0.0_f64..=1.0,
        ) {
            let mut histogram = Histogram::new();
            for &value in &values {
                histogram.record(value);
            }
            let mut sorted = values;
            sorted.sort_unstable();
            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "small")]
            let rank = (share * sorted.len() as f64).ceil() as usize;
            let exact = sorted[rank.max(1) - 1];
            let told = u64::try_from(histogram.quantile(share).as_nanos()).unwrap();
            prop_assert!(exact <= told && u128::from(told) * 4 <= u128::from(exact) * 5, "{told} for {exact}");
            prop_assert_eq!(histogram.count(), sorted.len() as u64);
            prop_assert_eq!(histogram.max(), Duration::from_nanos(*sorted.last().unwrap()));
            let sum = sorted.iter().fold(0_u64, |sum, value| sum.wrapping_add(*value));
            prop_assert_eq!(histogram.sum(), Duration::from_nanos(sum));
        }
    }
}
