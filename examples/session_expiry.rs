//! Sessions that end some time after their last use: every request puts the end off.
//!
//! One task ends sessions, any number of others use them; between them is a delay queue. The clock is
//! paused, so half an hour takes no time.
//!
//! ```text
//! cargo run --example session_expiry
//! ```

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example prints the time, and ends when it cannot go on"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cogwheel::delay_queue::{self, Key, Receiver, Sender};
use cogwheel::time::{Duration, Instant, sleep};

const IDLE: Duration = Duration::from_secs(15 * 60);

type Open = Arc<Mutex<BTreeMap<&'static str, Key>>>;

/// The sessions that are open. Cheap to clone, one for each task.
#[derive(Clone)]
struct Sessions {
    ends: Sender<&'static str>,
    open: Open,
}

impl Sessions {
    /// Puts the end of a session off; opens it if it has ended.
    fn touch(&self, user: &'static str) -> bool {
        let mut open = self.open.lock().unwrap();
        // A key whose session has ended reaches nothing, whatever the queue holds now.
        if open.get(user).is_some_and(|key| self.ends.reset(key, IDLE)) {
            return false;
        }
        open.insert(user, self.ends.insert(user, IDLE));
        true
    }
}

/// Ends the sessions whose time has come, until nobody can open one any more.
async fn expire(mut ended: Receiver<&'static str>, open: Open, start: Instant) -> usize {
    let mut count = 0;
    while let Some(expired) = ended.recv().await {
        let minutes = start.elapsed().as_secs() / 60;
        println!("{minutes:>3} min: {} is logged out", expired.get_ref());
        let mut open = open.lock().unwrap();
        // It may have been opened anew since it came due.
        if open.get(expired.get_ref()) == Some(&expired.key()) {
            open.remove(expired.get_ref());
        }
        count += 1;
    }
    count
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let start = Instant::now();
    let (ends, ended) = delay_queue::channel();
    let open = Open::default();
    let expiry = tokio::spawn(expire(ended, open.clone(), start));
    let sessions = Sessions { ends, open };

    let users = ["ada", "ben", "ada", "ada", "ben"];
    for (minute, user) in [0, 2, 12, 25, 30].into_iter().zip(users) {
        sleep(start + Duration::from_secs(minute * 60) - Instant::now()).await;
        let what = ["is active", "logs in"][usize::from(sessions.touch(user))];
        println!("{minute:>3} min: {user} {what}");
    }
    drop(sessions);
    assert_eq!(expiry.await.unwrap(), 3);
}
