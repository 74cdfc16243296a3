//! What a stretch of work has cost the process: time, processor time, allocations, sleeps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Named figures, in the order in which they are printed.
pub(crate) type Metrics = Vec<(&'static str, f64)>;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, counted.
pub(crate) struct Counting;

fn count(bytes: usize, sign: i64) {
    LIVE_BYTES.fetch_add(i64::try_from(bytes).unwrap_or(i64::MAX) * sign, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        count(layout.size(), 1);
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        count(layout.size(), -1);
        count(size, 1);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// Bytes that are allocated now.
pub(crate) fn live_bytes() -> f64 {
    as_f64(LIVE_BYTES.load(Relaxed))
}

/// A moment, and what the process had used by then.
pub(crate) struct Mark {
    wall: Instant,
    cpu: Duration,
    allocations: u64,
    bytes: i64,
    switches: i64,
}

impl Mark {
    pub(crate) fn now() -> Self {
        Self {
            allocations: ALLOCATIONS.load(Relaxed),
            bytes: LIVE_BYTES.load(Relaxed),
            switches: switches(libc::RUSAGE_SELF),
            cpu: cpu(),
            wall: Instant::now(),
        }
    }

    /// Seconds of processor time since.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        (cpu() - self.cpu).as_secs_f64()
    }

    /// Bytes that were allocated since and are still.
    pub(crate) fn bytes_kept(&self) -> f64 {
        as_f64(LIVE_BYTES.load(Relaxed) - self.bytes)
    }

    /// The cost of each of `ops` operations since.
    pub(crate) fn per_op(&self, ops: u64) -> Metrics {
        let now = Self::now();
        let each = |total: f64| total / as_f64(i64::try_from(ops).unwrap_or(i64::MAX));
        let wall = (now.wall - self.wall).as_secs_f64() * 1e9;
        let cpu = (now.cpu - self.cpu).as_secs_f64() * 1e9;
        let allocations = i64::try_from(now.allocations - self.allocations).unwrap_or(i64::MAX);
        vec![
            ("wall ns/op", each(wall)),
            ("cpu ns/op", each(cpu)),
            ("allocations/op", each(as_f64(allocations))),
            ("voluntary switches", as_f64(now.switches - self.switches)),
        ]
    }
}

/// Processor time of all threads of this process, ended ones included.
fn cpu() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call writes a `timespec` through the pointer, which it is given one for.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) };
    assert_eq!(status, 0, "the process has a clock");
    // SAFETY: the call has succeeded.
    let time = unsafe { time.assume_init() };
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
}

fn switches(who: libc::c_int) -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call writes a `rusage` through the pointer, which it is given one for.
    let status = unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "the process has usage");
    // SAFETY: the call has succeeded.
    unsafe { usage.assume_init() }.ru_nvcsw
}

/// How often the threads other than the calling one went to sleep so far.
pub(crate) fn switches_of_others() -> f64 {
    as_f64(switches(libc::RUSAGE_SELF) - switches(libc::RUSAGE_THREAD))
}

/// Resident memory in MiB.
pub(crate) fn resident() -> f64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|field| field.parse().ok());
    pages.unwrap_or(0.0) * 4096.0 / f64::from(1 << 20)
}

/// How many entries a directory of `/proc/self` has: `task` for threads, `fd` for descriptors.
pub(crate) fn entries(directory: &str) -> f64 {
    let entries = fs::read_dir(format!("/proc/self/{directory}"));
    as_f64(entries.map_or(0, |entries| i64::try_from(entries.count()).unwrap_or(0)))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "figures for people, far below 2^53"
)]
pub(crate) fn as_f64(number: i64) -> f64 {
    number as f64
}

/// The element below which `share` of all lie.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index of the slice"
    )]
    let index = (sorted.len() as f64 * share) as usize;
    let last = sorted.len().saturating_sub(1);
    sorted.get(index.min(last)).copied().unwrap_or(f64::NAN)
}
