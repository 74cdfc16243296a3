//! What the process holds: memory, counted by its allocator, and threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::exit;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The system's allocator, counted.
struct Counting;

static HELD: AtomicI64 = AtomicI64::new(0);

fn add(size: usize) {
    HELD.fetch_add(i64::try_from(size).unwrap_or(i64::MAX), Ordering::Relaxed);
}

fn subtract(size: usize) {
    HELD.fetch_sub(i64::try_from(size).unwrap_or(i64::MAX), Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        subtract(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        subtract(layout.size());
        add(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the process holds at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) bytes: i64,
    /// None where the system does not tell.
    pub(crate) threads: Option<u64>,
}

impl Held {
    pub(crate) fn now() -> Self {
        Self {
            bytes: HELD.load(Ordering::Relaxed),
            threads: threads(),
        }
    }
}

/// Threads of this process, as Linux counts them.
fn threads() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("Threads:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// What the process holds as soon as that is no more than so many threads and bytes, or after a
/// while. A thread that was joined may still be leaving.
pub(crate) fn settled(threads: Option<u64>, bytes: i64) -> Held {
    const PATIENCE: Duration = Duration::from_secs(3);
    let start = Instant::now();
    loop {
        let now = Held::now();
        let settled = now.threads <= threads && now.bytes <= bytes;
        if settled || start.elapsed() > PATIENCE {
            return now;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the process if what is run while this lives does not end in time: what waits for a timer that
/// was lost would wait for ever.
pub(crate) struct DeadMan {
    _held: Sender<()>,
}

impl DeadMan {
    pub(crate) fn holds(what: &'static str, seed: u64, limit: Duration) -> Self {
        let (held, released) = channel();
        thread::spawn(move || {
            if released.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("soak: FAILED: {what} does not end in {limit:?}; seed {seed}");
                exit(1);
            }
        });
        Self { _held: held }
    }
}
