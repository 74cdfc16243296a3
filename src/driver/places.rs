//! The places of a timer that has a bound: one for each that lives.
//!
//! A place is taken when a timer is made and given back when it is dropped, so that whoever makes
//! one learns at that moment that there is none left. All of it is one word: how many places are
//! taken, and the generation of the driver that they belong to. What outlives its generation gives
//! back nothing, since the places of that generation are gone with it.
//!
//! Drivers without a bound never come here.

#![forbid(unsafe_code)]
#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

use crate::primitive::{AtomicU32, AtomicU64, Ordering};

/// How many timers of a driver may live at once, and how many do.
#[derive(Debug)]
pub struct Places {
    most: AtomicU32,
    /// The generation above, the number of taken places below.
    taken: AtomicU64,
}

/// All places are taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl Places {
    /// No places.
    #[allow(
        clippy::new_without_default,
        reason = "a driver makes it, and nobody else"
    )]
    pub fn new() -> Self {
        Self {
            most: AtomicU32::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// Begins a generation in which `most` places are free. For whoever opens a closed driver.
    pub fn open(&self, generation: u32, most: u32) {
        // ORDERING: none is needed. Who has a timer of this generation comes after its opening, and
        // of any other `taken` says that it is not meant.
        self.most.store(most, Ordering::Relaxed);
        // An exchange, because loom lets a plain store come before an exchange that it overwrote.
        self.taken
            .swap(u64::from(generation) << 32, Ordering::Relaxed);
    }

    /// Takes a place, if `generation` is the one that is counted.
    ///
    /// # Errors
    ///
    /// [`Full`] if none is left.
    pub fn take(&self, generation: u32) -> Result<(), Full> {
        let most = self.most.load(Ordering::Relaxed);
        self.change(generation, |taken| (taken < most).then(|| taken + 1))
    }

    /// Gives a place back that was taken, if `generation` is still the one that is counted.
    pub fn give_back(&self, generation: u32) {
        let given = self.change(generation, |taken| taken.checked_sub(1));
        debug_assert!(given.is_ok(), "what is given back was taken");
    }

    fn change(&self, generation: u32, next: impl Fn(u32) -> Option<u32>) -> Result<(), Full> {
        // ORDERING: the word is all there is; nothing is published by it.
        let mut word = self.taken.load(Ordering::Relaxed);
        loop {
            #[allow(clippy::cast_possible_truncation, reason = "they are two halves")]
            let (of, taken) = ((word >> 32) as u32, word as u32);
            if of != generation {
                return Ok(());
            }
            let next = u64::from(generation) << 32 | u64::from(next(taken).ok_or(Full)?);
            let order = Ordering::Relaxed;
            match self.taken.compare_exchange_weak(word, next, order, order) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn as_many_can_be_taken_as_there_are() {
        let places = Places::new();
        places.open(7, 2);
        assert_eq!(places.take(7), Ok(()));
        assert_eq!(places.take(7), Ok(()));
        assert_eq!(places.take(7), Err(Full));
        places.give_back(7);
        assert_eq!(places.take(7), Ok(()));
        assert_eq!(places.take(7), Err(Full));
    }

    #[test]
    fn what_is_left_of_another_generation_counts_for_nothing() {
        let places = Places::new();
        places.open(1, 1);
        assert_eq!(places.take(1), Ok(()));
        places.open(2, 1);
        assert_eq!(places.take(2), Ok(()));
        places.give_back(1);
        assert_eq!(places.take(2), Err(Full));
        assert_eq!(places.take(1), Ok(()), "a closed timer has no bound");
        places.give_back(1);
        places.give_back(2);
        assert_eq!(places.take(2), Ok(()));
    }

    #[test]
    fn the_bound_may_be_zero_and_as_much_as_fits() {
        let places = Places::new();
        places.open(u32::MAX, 0);
        assert_eq!(places.take(u32::MAX), Err(Full));
        places.open(u32::MAX, u32::MAX);
        assert_eq!(places.take(u32::MAX), Ok(()));
    }
}
