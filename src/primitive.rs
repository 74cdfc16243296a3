//! The one place that names `std::sync`, raw cells or loom.
//!
//! Everything that threads share is built from these items, so that a build with `--cfg loom`
//! explores the very code that ships. Loom only sees what passes through here: a value that one
//! thread hands to another by way of an atomic lies in [`UnsafeCell`], never in a plain field.

#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

pub use self::inner::{AtomicU32, AtomicU64, Mutex, Ordering, UnsafeCell, yield_now};

/// Set once, read by all. Loom has no counterpart; it guards no hand-over that a model explores,
/// because the initialisation itself contains no point at which loom switches threads.
pub use std::sync::OnceLock;

/// Whether the world is to be small, so that models reach its edges.
pub const TINY: bool = cfg!(loom);

#[cfg(not(loom))]
mod inner {
    #![allow(
        clippy::disallowed_types,
        reason = "this file lends the raw cell to the rest"
    )]

    pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    use std::sync::{MutexGuard, PoisonError};
    pub use std::thread::yield_now;

    /// A cell whose owner is decided at run time, with loom's closure interface.
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Gives `f` a pointer to read through.
        #[inline]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Gives `f` a pointer to write through.
        #[inline]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }

    /// A mutex without poisoning: what it guards here stays valid whoever panics.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Self {
            Self(std::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

#[cfg(loom)]
mod inner {
    pub use loom::cell::UnsafeCell;
    use loom::sync::atomic;
    pub use loom::sync::atomic::Ordering;
    pub use loom::thread::yield_now;

    /// An atomic each access of which conflicts with every other.
    ///
    /// Loom remembers only the last access of a word. Where a thread loads a word and then
    /// exchanges it, its own load hides the load of another thread, and loom never tries the
    /// exchange before that one (tokio-rs/loom#166 and #392). All our loops of compare-exchange
    /// are of that kind. So every access first counts itself in a second word, with an exchange
    /// that orders nothing.
    macro_rules! counted_atomic {
        ($name:ident, $value:ty, [$($exchange:ident),*]) => {
            #[derive(Debug)]
            pub struct $name {
                accesses: atomic::AtomicU32,
                word: atomic::$name,
            }

            impl $name {
                pub fn new(value: $value) -> Self {
                    Self {
                        accesses: atomic::AtomicU32::new(0),
                        word: atomic::$name::new(value),
                    }
                }

                fn counted(&self) -> &atomic::$name {
                    self.accesses.fetch_add(0, Ordering::Relaxed);
                    &self.word
                }

                #[track_caller]
                pub fn load(&self, order: Ordering) -> $value {
                    self.counted().load(order)
                }

                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    self.counted().store(value, order);
                }

                $(#[track_caller]
                pub fn $exchange(&self, value: $value, order: Ordering) -> $value {
                    self.counted().$exchange(value, order)
                })*

                #[track_caller]
                pub fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.counted().compare_exchange(current, new, success, failure)
                }

                #[track_caller]
                pub fn compare_exchange_weak(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(current, new, success, failure)
                }
            }
        };
    }

    counted_atomic!(
        AtomicU32,
        u32,
        [swap, fetch_add, fetch_and, fetch_or, fetch_xor]
    );
    counted_atomic!(
        AtomicU64,
        u64,
        [swap, fetch_add, fetch_and, fetch_or, fetch_xor]
    );

    #[derive(Debug)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
        }
    }
}

/// A counted reference, for wakers and handles.
#[cfg(not(loom))]
pub(crate) use std::sync::{Arc, Weak};

/// Threads of the crate's own.
#[cfg(not(loom))]
pub(crate) mod thread {
    use std::io;
    pub(crate) use std::thread::{Thread, current, park, park_timeout};

    /// Starts a thread that ends by itself.
    pub(crate) fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        let builder = std::thread::Builder::new().name(name);
        builder.spawn(run).map(|started| started.thread().clone())
    }
}

/// Keeps `T` on cache lines of its own (two, because processors fetch them in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

/// Atomics for process-wide counters, which take part in no protocol: loom's cannot be statics.
#[cfg(not(loom))]
pub(crate) mod counter {
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}
