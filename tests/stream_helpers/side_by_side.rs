//! The same source and the same consumer through this crate and through tokio-stream.
//!
//! The property: for any gaps between the items, any pauses of the consumer and any duration, both
//! yield the same items at the same times. All times are whole milliseconds of a paused clock,
//! because that is what Tokio's timers count. Groups have up to 32 items: a larger one whose time
//! is over takes no more than that in one poll here, and everything that is ready there.

use cogwheel::time::{Duration, Instant};
use proptest::collection::vec;
use proptest::prelude::*;
use tokio_stream::StreamExt as Theirs;

use crate::drive::{ms, paused};
use crate::script::{Script, record};

/// Times of items: some at once, sometimes far apart; or nearly all in one burst.
fn times() -> impl Strategy<Value = Vec<u64>> {
    let spread = prop_oneof![3 => Just(0), 5 => 1_u64..12, 2 => 12_u64..80];
    let burst = prop_oneof![30 => Just(0), 1 => 1_u64..80];
    prop_oneof![3 => vec(spread, 0..80), 1 => vec(burst, 30..150)].prop_map(|mut gaps| {
        let mut time = 0;
        for gap in &mut gaps {
            time += *gap;
            *gap = time;
        }
        gaps
    })
}

fn pauses() -> impl Strategy<Value = Vec<u64>> {
    vec(prop_oneof![4 => Just(0), 1 => 1_u64..30], 0..8)
}

/// Both on one paused clock, one after the other.
fn both<A, B>(first: impl AsyncFnOnce() -> A, second: impl AsyncFnOnce() -> B) -> (A, B) {
    paused().block_on(async { (first().await, second().await) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn timeout_yields_what_tokio_stream_yields(
        times in times(), pauses in pauses(), limit in 1_u64..40,
    ) {
        let (ours, theirs) = both(
            async || {
                let stream = cogwheel::StreamExt::timeout(Script::new(&times), ms(limit));
                record(futures::StreamExt::map(stream, Result::ok), &pauses).await
            },
            async || {
                let stream = Theirs::timeout(Script::new(&times), ms(limit));
                record(Theirs::map(stream, Result::ok), &pauses).await
            },
        );
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn timeout_repeating_yields_what_tokio_stream_yields(
        times in times(), pauses in pauses(), period in 1_u64..40, at_once: bool,
    ) {
        let lead = if at_once { Duration::ZERO } else { ms(period) };
        let (ours, theirs) = both(
            async || {
                let nag = cogwheel::time::interval_at(Instant::now() + lead, ms(period));
                let stream = cogwheel::StreamExt::timeout_repeating(Script::new(&times), nag);
                record(futures::StreamExt::map(stream, Result::ok), &pauses).await
            },
            async || {
                let nag = tokio::time::interval_at(Instant::now() + lead, ms(period));
                let stream = Theirs::timeout_repeating(Script::new(&times), nag);
                record(Theirs::map(stream, Result::ok), &pauses).await
            },
        );
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn throttle_yields_what_tokio_stream_yields(
        times in times(), pauses in pauses(), duration in 0_u64..40,
    ) {
        let (ours, theirs) = both(
            async || {
                let stream = cogwheel::StreamExt::throttle(Script::new(&times), ms(duration));
                record(stream, &pauses).await
            },
            async || record(Theirs::throttle(Script::new(&times), ms(duration)), &pauses).await,
        );
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn chunks_timeout_yields_what_tokio_stream_yields(
        times in times(), pauses in pauses(), size in 1_usize..=32, duration in 1_u64..40,
    ) {
        let (ours, theirs) = both(
            async || {
                let source = Script::new(&times);
                let stream = cogwheel::StreamExt::chunks_timeout(source, size, ms(duration));
                record(stream, &pauses).await
            },
            async || {
                let source = Script::new(&times);
                record(Theirs::chunks_timeout(source, size, ms(duration)), &pauses).await
            },
        );
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn interval_stream_yields_what_tokio_stream_yields(
        pauses in pauses(), period in 1_u64..40, count in 0_usize..40,
    ) {
        let (ours, theirs) = both(
            async || {
                let beat = cogwheel::time::interval(ms(period));
                let beat = cogwheel::stream::IntervalStream::new(beat);
                record(since_now(beat, count), &pauses).await
            },
            async || {
                let beat = tokio::time::interval(ms(period));
                let beat = tokio_stream::wrappers::IntervalStream::new(beat);
                record(since_now(beat, count), &pauses).await
            },
        );
        prop_assert_eq!(ours, theirs);
    }
}

/// So many ticks, as durations since now.
fn since_now<S>(beat: S, count: usize) -> impl futures::Stream<Item = Duration>
where
    S: futures::Stream<Item = Instant>,
{
    let start = Instant::now();
    Theirs::map(Theirs::take(beat, count), move |tick| tick - start)
}

/// The obvious debouncing of items at known times, for a consumer that never pauses.
fn settled(times: &[u64], silence: u64) -> Vec<(u64, usize)> {
    let yielded = |n: usize| match times.get(n + 1) {
        Some(next) => (next - times[n] > silence).then(|| (times[n] + silence, n)),
        None => Some((times[n], n)),
    };
    (0..times.len()).filter_map(yielded).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn debounce_yields_what_the_obvious_rule_says(times in times(), silence in 1_u64..40) {
        let seen = paused().block_on(async {
            let stream = cogwheel::StreamExt::debounce(Script::new(&times), ms(silence));
            record(stream, &[]).await
        });
        prop_assert_eq!(seen, settled(&times, silence));
    }
}
