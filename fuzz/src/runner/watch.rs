//! A thread that ends the process if one input takes too long: a wheel that turns for ever is as bad
//! as one that fails.

use std::fs;
use std::path::PathBuf;
use std::process::exit;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that one input may take; most take less than a millisecond.
const LIMIT: Duration = Duration::from_secs(20);

struct Current {
    input: Vec<u8>,
    since: Instant,
}

pub(crate) struct Watch(Arc<Mutex<Current>>);

impl Watch {
    /// Watches from now on. What takes too long is written below `folder`.
    pub(crate) fn begin(name: &'static str, folder: PathBuf) -> Self {
        let current = Arc::new(Mutex::new(Current {
            input: Vec::new(),
            since: Instant::now(),
        }));
        let watched = Arc::clone(&current);
        thread::spawn(move || {
            loop {
                thread::sleep(LIMIT / 8);
                let current = watched.lock().unwrap_or_else(PoisonError::into_inner);
                if current.since.elapsed() > LIMIT {
                    let file = folder.join("slow");
                    let written =
                        fs::create_dir_all(&folder).and_then(|()| fs::write(&file, &current.input));
                    eprintln!(
                        "{name}: FAILED: no end after {LIMIT:?}; once more: ci/fuzz --replay {name} {} ({written:?})",
                        file.display()
                    );
                    exit(1);
                }
            }
        });
        Self(current)
    }

    /// Says that this input is run next.
    pub(crate) fn starts(&self, input: &[u8]) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.input.clear();
        current.input.extend_from_slice(input);
        current.since = Instant::now();
    }
}
