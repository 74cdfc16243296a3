//! The one place that names `std::sync`, raw cells, loom or shuttle.
//!
//! Everything that threads share is built from these items, so that a build with `--cfg loom`
//! explores the very code that ships. Loom only sees what passes through here: a value that one
//! thread hands to another by way of an atomic lies in [`UnsafeCell`], never in a plain field.
//!
//! A build with `--cfg loom --cfg shuttle` is the same small world, with shuttle's atomics instead
//! of loom's: random schedules of what is too large for loom, see `shuttle-tests`.

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

#[cfg(any(not(loom), shuttle))]
mod inner {
    #![allow(
        clippy::disallowed_types,
        reason = "this file lends the raw cell to the rest"
    )]

    #[cfg(shuttle)]
    use shuttle::{sync, thread};
    #[cfg(not(shuttle))]
    use std::{sync, thread};

    use std::sync::PoisonError;
    use sync::MutexGuard;
    pub use sync::atomic::{AtomicU32, AtomicU64, Ordering};
    pub use thread::yield_now;

    #[cfg(shuttle)]
    pub use super::watched_cell::UnsafeCell;

    /// A cell whose owner is decided at run time, with loom's closure interface.
    #[cfg(not(shuttle))]
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    #[cfg(not(shuttle))]
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
    pub struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// What shuttle lacks: a cell that sees two threads in it at once.
#[cfg(shuttle)]
mod watched_cell {
    #![allow(
        clippy::disallowed_types,
        reason = "this file lends the raw cell to the rest"
    )]

    use shuttle::thread::yield_now;
    use std::sync::atomic::{AtomicU32, Ordering};

    const WRITER: u32 = 1 << 31;

    /// As loom's; the model may switch threads in the middle of each access.
    #[derive(Debug)]
    pub struct UnsafeCell<T> {
        value: std::cell::UnsafeCell<T>,
        /// How many read, and whether one writes. Shuttle does not see this word.
        users: AtomicU32,
    }

    impl<T> UnsafeCell<T> {
        pub const fn new(value: T) -> Self {
            Self {
                value: std::cell::UnsafeCell::new(value),
                users: AtomicU32::new(0),
            }
        }

        /// Gives `f` a pointer to read through.
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            let others = self.users.fetch_add(1, Ordering::SeqCst);
            assert!(others < WRITER, "a cell is read while it is written");
            yield_now();
            let result = f(self.value.get());
            self.users.fetch_sub(1, Ordering::SeqCst);
            result
        }

        /// Gives `f` a pointer to write through.
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            let others = self.users.fetch_add(WRITER, Ordering::SeqCst);
            assert_eq!(others, 0, "a cell is written while it is used");
            yield_now();
            let result = f(self.value.get());
            self.users.fetch_sub(WRITER, Ordering::SeqCst);
            result
        }
    }
}

#[cfg(all(loom, not(shuttle)))]
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
