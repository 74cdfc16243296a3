//! Which part of its ceiling a delay is.

#![forbid(unsafe_code)]

use core::hash::BuildHasher;
use core::time::Duration;
use std::collections::hash_map::RandomState;

/// Which part of its ceiling a delay of a [`Backoff`](crate::Backoff) is.
///
/// Clients that failed together try again together, and fail together again, unless chance sets
/// them apart. With a ceiling of `c`:
///
/// | | a delay lies in | |
/// |---|---|---|
/// | [`Full`](Self::Full) | `0..=c` | fewest tries in total, and nearly the shortest time |
/// | [`Equal`](Self::Equal) | `c/2..=c` | never nearly zero; a few more tries, and longer |
/// | [`None`](Self::None) | `c` | for a single client, and for tests |
///
/// # Source
///
/// Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015: names, formulas and
/// the comparison by simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jitter {
    /// Anything up to the ceiling, evenly.
    #[default]
    Full,
    /// Half of the ceiling, and anything up to the other half, evenly.
    Equal,
    /// The ceiling itself.
    None,
}

impl Jitter {
    pub(super) fn part_of(self, ceiling: Duration, random: &mut Random) -> Duration {
        match self {
            Self::Full => share(ceiling, random),
            Self::Equal => {
                let half = ceiling / 2;
                // The first is the longer half of an odd number of nanoseconds.
                (ceiling - half) + share(half, random)
            }
            Self::None => ceiling,
        }
    }
}

/// Anything up to `whole`.
fn share(whole: Duration, random: &mut Random) -> Duration {
    let share = whole.as_secs_f64() * random.fraction();
    // Rounding may lift it above the whole, and the longest durations out of the range.
    Duration::try_from_secs_f64(share).map_or(whole, |share| share.min(whole))
}

/// A stream of even random numbers: SplitMix64.
///
/// Jitter has to set clients apart, not to keep secrets, so eight bytes of state that pass the
/// usual tests for evenness are enough, and save a dependency.
///
/// # Source
///
/// Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// Starts at a place that the system chooses.
    pub(super) fn new() -> Self {
        // The standard library seeds its hash maps from the system's entropy.
        Self(RandomState::new().hash_one(()))
    }

    pub(super) const fn with_seed(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number in `0.0..1.0`.
    fn fraction(&mut self) -> f64 {
        // 32 bits are one part in four billion: finer than any timer.
        let bits = u32::try_from(self.next() >> 32).unwrap_or(u32::MAX);
        f64::from(bits) / 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_numbers_are_those_of_splitmix64() {
        let mut random = Random::with_seed(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        // The published test vector of the reference implementation.
        let right = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, right);
    }

    #[test]
    fn fractions_fill_the_unit_interval_evenly() {
        let mut random = Random::with_seed(1);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            let fraction = random.fraction();
            assert!((0.0..1.0).contains(&fraction));
            let tenth = (0..10).rfind(|tenth| fraction * 10.0 >= f64::from(*tenth));
            counts[usize::try_from(tenth.unwrap()).unwrap()] += 1;
        }
        for count in counts {
            assert!((9_500..10_500).contains(&count), "{counts:?}");
        }
    }

    #[test]
    fn two_that_are_not_seeded_start_at_different_places() {
        assert_ne!(Random::new().0, Random::new().0);
    }

    #[test]
    fn half_of_an_odd_ceiling_is_rounded_up_so_that_it_is_never_zero() {
        let mut random = Random::with_seed(3);
        let nano = Duration::from_nanos(1);
        assert_eq!(Jitter::Equal.part_of(nano, &mut random), nano);
    }

    #[test]
    fn every_kind_stays_in_its_bounds_at_the_ends_of_the_range() {
        let mut random = Random::with_seed(2);
        for ceiling in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_nanos(3),
            Duration::MAX,
        ] {
            for _ in 0..1_000 {
                assert!(Jitter::Full.part_of(ceiling, &mut random) <= ceiling);
                let equal = Jitter::Equal.part_of(ceiling, &mut random);
                assert!((ceiling / 2..=ceiling).contains(&equal));
                assert_eq!(Jitter::None.part_of(ceiling, &mut random), ceiling);
            }
        }
    }
}
