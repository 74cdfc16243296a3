//! A source whose items come at given times, and a consumer that takes notes.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use cogwheel::time::{Duration, Instant, Sleep, sleep, sleep_until};
use futures::stream::{Stream, StreamExt as _};

/// Yields 0, 1, 2 … at the given milliseconds after it was made, and ends with the last.
#[derive(Debug)]
pub(crate) struct Script {
    start: Instant,
    times: Vec<u64>,
    next: usize,
    delay: Sleep,
}

impl Script {
    pub(crate) fn new(times: &[u64]) -> Self {
        Self {
            start: Instant::now(),
            times: times.to_vec(),
            next: 0,
            delay: sleep(Duration::ZERO),
        }
    }
}

impl Stream for Script {
    type Item = usize;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<usize>> {
        let Some(&time) = self.times.get(self.next) else {
            return Poll::Ready(None);
        };
        let deadline = self.start + Duration::from_millis(time);
        if self.delay.deadline() != deadline {
            self.delay = sleep_until(deadline);
        }
        ready!(Pin::new(&mut self.delay).poll(cx));
        self.next += 1;
        Poll::Ready(Some(self.next - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.times.len() - self.next;
        (left, Some(left))
    }
}

/// Takes all items, pausing for so many milliseconds before each, and notes when each came.
pub(crate) async fn record<S: Stream>(stream: S, pauses: &[u64]) -> Vec<(u64, S::Item)> {
    let start = Instant::now();
    let mut stream = std::pin::pin!(stream);
    let mut pauses = pauses.iter().copied().cycle();
    let mut seen = Vec::new();
    loop {
        if let Some(pause) = pauses.next().filter(|pause| *pause > 0) {
            sleep(Duration::from_millis(pause)).await;
        }
        match stream.next().await {
            Some(item) => seen.push((millis(start), item)),
            None => return seen,
        }
        assert!(seen.len() < 100_000, "it does not end");
    }
}

/// Whole milliseconds since `start`.
pub(crate) fn millis(start: Instant) -> u64 {
    let elapsed = start.elapsed();
    let millis = u64::try_from(elapsed.as_millis()).expect("tests are short");
    assert_eq!(elapsed, Duration::from_millis(millis), "a whole number");
    millis
}
