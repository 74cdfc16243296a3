//! What does a delay queue of a million items cost, next to `tokio_util`'s and to a binary heap?
//!
//! ```text
//! cargo bench --bench queue [-- [--rounds N] [--items N] [--only NAME]]
//! ```
//!
//! Each round lets every queue do the same seeded work: insert the items at random deadlines within
//! a minute, move every other one, remove every third, and take the rest out as their time comes, in
//! sixty steps of a paused clock. The heap cannot remove or move; it marks, and pays when it meets
//! the mark. The order of the queues turns from round to round. The table shows medians of
//! nanoseconds for each operation, wall and processor time, and the whole relative to `tokio_util`.

#![cfg_attr(
    unix,
    allow(
        clippy::disallowed_methods,
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::cast_precision_loss,
        reason = "a benchmark reads the clock, prints, and may fail loudly"
    )
)]

#[cfg(not(unix))]
fn main() {
    eprintln!("processor time comes from clock_gettime: Unix only");
}

#[cfg(unix)]
fn main() {
    unix::main();
}

#[cfg(unix)]
mod unix {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use std::future::poll_fn;
    use std::hint::black_box;
    use std::task::{Context, Poll};

    use cogwheel::DelayQueue;
    use cogwheel::delay_queue::{self, Key};
    use rustix::time::{ClockId, clock_gettime};
    use tokio::task::coop::unconstrained;
    use tokio::time::{Duration, Instant, advance};
    use tokio_util::time::DelayQueue as TokioQueue;

    const STEPS: u64 = 60;
    const PHASES: [&str; 5] = ["insert", "reset", "remove", "drain", "whole"];
    /// Of processor time for the whole, relative to `tokio_util`.
    const TARGET: f64 = 0.60;

    pub(super) fn main() {
        let mut wishes = Wishes {
            rounds: 5,
            items: 1_000_000,
            only: String::new(),
        };
        let mut bench = false;
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().expect("the option takes a value");
            match argument.as_str() {
                "--bench" => bench = true,
                "--rounds" => wishes.rounds = value().parse().unwrap(),
                "--items" => wishes.items = value().parse().unwrap(),
                "--only" => wishes.only = value(),
                other => {
                    eprintln!(
                        "unknown option {other}; there are --rounds N, --items N, --only NAME"
                    );
                    std::process::exit(2);
                }
            }
        }
        if !bench {
            println!("run it with `cargo bench --bench queue`");
            return;
        }
        run(&wishes);
    }

    struct Wishes {
        rounds: usize,
        items: usize,
        only: String,
    }

    /// The work of one round.
    struct Plan {
        deadlines: Vec<Duration>,
        resets: Vec<(usize, Duration)>,
        removals: Vec<usize>,
    }

    impl Plan {
        fn new(items: usize, seed: u64) -> Self {
            let mut random = Random(seed);
            let mut shuffled: Vec<usize> = (0..items).collect();
            for n in (1..items).rev() {
                shuffled.swap(n, random.index(n + 1));
            }
            Self {
                deadlines: (0..items).map(|_| random.deadline()).collect(),
                resets: (0..items / 2)
                    .map(|_| (random.index(items), random.deadline()))
                    .collect(),
                removals: shuffled[..items / 3].to_vec(),
            }
        }

        fn left(&self) -> usize {
            self.deadlines.len() - self.removals.len()
        }

        fn operations(&self) -> [usize; 5] {
            let phases = [
                self.deadlines.len(),
                self.resets.len(),
                self.removals.len(),
                self.left(),
            ];
            let [insert, reset, remove, drain] = phases;
            [insert, reset, remove, drain, phases.iter().sum()]
        }
    }

    /// Wall and processor time of each phase.
    type Times = [(Duration, Duration); 5];

    fn run(wishes: &Wishes) {
        type Side = (&'static str, fn(&Plan) -> Times);
        let sides: [Side; 5] = [
            ("tokio_util", |plan| paused(tokio_util(plan))),
            ("binary heap", |plan| paused(heap(plan))),
            ("cogwheel", |plan| paused(cogwheel(plan, Taking::Stream))),
            ("in batches", |plan| paused(cogwheel(plan, Taking::Batches))),
            ("channel", |plan| paused(channel(plan))),
        ];
        let sides: Vec<Side> = sides
            .into_iter()
            .filter(|(name, _)| name.contains(&wishes.only))
            .collect();
        let mut results = vec![Vec::new(); sides.len()];
        for round in 0..wishes.rounds {
            let plan = Plan::new(wishes.items, round as u64 + 1);
            for n in 0..sides.len() {
                let side = (n + round) % sides.len();
                results[side].push(sides[side].1(&plan));
            }
        }
        let operations = Plan::new(wishes.items, 1).operations();
        println!(
            "{} items, medians of {} rounds, ns per operation: wall (cpu)",
            wishes.items, wishes.rounds
        );
        print!("{:<12}", "");
        PHASES.iter().for_each(|phase| print!("{phase:>16}"));
        println!("{:>12}", "cpu ratio");
        let mut base = None;
        for ((name, _), rounds) in sides.iter().zip(&results) {
            print!("{name:<12}");
            for (phase, &count) in operations.iter().enumerate() {
                let wall = median(rounds.iter().map(|times| times[phase].0), count);
                let cpu = median(rounds.iter().map(|times| times[phase].1), count);
                print!("{:>16}", format!("{wall:.1} ({cpu:.1})"));
            }
            let whole = median(rounds.iter().map(|times| times[4].1), 1);
            let ratio = whole / *base.get_or_insert(whole);
            println!("{ratio:>12.2}");
            if *name == "cogwheel" && ratio > TARGET {
                println!("target missed: {ratio:.2} > {TARGET}");
            }
        }
    }

    async fn tokio_util(plan: &Plan) -> Times {
        let mut queue = TokioQueue::new();
        let mut keys = Vec::with_capacity(plan.deadlines.len());
        let start = Instant::now();
        let mut watch = Watch::new();
        for (item, &deadline) in plan.deadlines.iter().enumerate() {
            keys.push(queue.insert_at(item, start + deadline));
        }
        watch.lap(0);
        for &(item, deadline) in &plan.resets {
            queue.reset_at(&keys[item], start + deadline);
        }
        watch.lap(1);
        for &item in &plan.removals {
            black_box(queue.remove(&keys[item]));
        }
        watch.lap(2);
        let mut taken = 0;
        for _ in 0..=STEPS {
            advance(Duration::from_secs(1)).await;
            unconstrained(async {
                while let Some(Some(item)) = once(|cx| queue.poll_expired(cx)).await {
                    black_box(item);
                    taken += 1;
                }
            })
            .await;
        }
        watch.lap(3);
        assert_eq!(taken, plan.left());
        watch.times()
    }

    /// One poll; `None` if that is pending.
    async fn once<R>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> Option<R> {
        poll_fn(|cx| match poll(cx) {
            Poll::Ready(item) => Poll::Ready(Some(item)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// How items are taken out.
    #[derive(PartialEq)]
    enum Taking {
        Stream,
        Batches,
    }

    async fn cogwheel(plan: &Plan, taking: Taking) -> Times {
        let mut queue = DelayQueue::new();
        let mut keys: Vec<Key> = Vec::with_capacity(plan.deadlines.len());
        let mut batch = Vec::with_capacity(256);
        let start = Instant::now();
        let mut watch = Watch::new();
        for (item, &deadline) in plan.deadlines.iter().enumerate() {
            keys.push(queue.insert_at(item, start + deadline));
        }
        watch.lap(0);
        for &(item, deadline) in &plan.resets {
            queue.reset_at(&keys[item], start + deadline);
        }
        watch.lap(1);
        for &item in &plan.removals {
            black_box(queue.remove(&keys[item]));
        }
        watch.lap(2);
        let mut taken = 0;
        for _ in 0..=STEPS {
            advance(Duration::from_secs(1)).await;
            unconstrained(async {
                if taking == Taking::Stream {
                    while let Some(Some(item)) = once(|cx| queue.poll_expired(cx)).await {
                        black_box(item);
                        taken += 1;
                    }
                    return;
                }
                loop {
                    let count = queue.pop_expired_into(&mut batch, 256);
                    batch.drain(..).for_each(|item| _ = black_box(item));
                    taken += count;
                    if count == 0 {
                        break;
                    }
                }
            })
            .await;
        }
        watch.lap(3);
        assert_eq!(taken, plan.left());
        watch.times()
    }

    async fn channel(plan: &Plan) -> Times {
        let (sender, mut receiver) = delay_queue::channel();
        let mut keys: Vec<Key> = Vec::with_capacity(plan.deadlines.len());
        let start = Instant::now();
        let mut watch = Watch::new();
        for (item, &deadline) in plan.deadlines.iter().enumerate() {
            keys.push(sender.insert_at(item, start + deadline));
        }
        watch.lap(0);
        for &(item, deadline) in &plan.resets {
            sender.reset_at(&keys[item], start + deadline);
        }
        watch.lap(1);
        for &item in &plan.removals {
            black_box(sender.remove(&keys[item]));
        }
        drop(sender);
        watch.lap(2);
        let mut taken = 0;
        for _ in 0..=STEPS {
            advance(Duration::from_secs(1)).await;
            while let Ok(item) = receiver.try_recv() {
                black_box(item);
                taken += 1;
            }
        }
        watch.lap(3);
        assert_eq!(taken, plan.left());
        watch.times()
    }

    async fn heap(plan: &Plan) -> Times {
        let mut heap = BinaryHeap::new();
        // Where each item is due now; `None` once it was removed.
        let mut valid: Vec<Option<Instant>> = Vec::with_capacity(plan.deadlines.len());
        let start = Instant::now();
        let mut watch = Watch::new();
        for (item, &deadline) in plan.deadlines.iter().enumerate() {
            heap.push(Reverse((start + deadline, item)));
            valid.push(Some(start + deadline));
        }
        watch.lap(0);
        for &(item, deadline) in &plan.resets {
            heap.push(Reverse((start + deadline, item)));
            valid[item] = Some(start + deadline);
        }
        watch.lap(1);
        for &item in &plan.removals {
            valid[item] = None;
        }
        watch.lap(2);
        let mut taken = 0;
        for _ in 0..=STEPS {
            advance(Duration::from_secs(1)).await;
            let now = Instant::now();
            while let Some(&Reverse((deadline, item))) = heap.peek()
                && deadline <= now
            {
                heap.pop();
                if valid[item] == Some(deadline) {
                    valid[item] = None;
                    black_box(item);
                    taken += 1;
                }
            }
        }
        watch.lap(3);
        assert_eq!(taken, plan.left());
        watch.times()
    }

    fn paused(work: impl Future<Output = Times>) -> Times {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true);
        builder.build().unwrap().block_on(work)
    }

    struct Watch {
        last: (Duration, Duration),
        laps: Times,
    }

    impl Watch {
        fn new() -> Self {
            Self {
                last: (now(ClockId::Monotonic), now(ClockId::ProcessCPUTime)),
                laps: Times::default(),
            }
        }

        fn lap(&mut self, phase: usize) {
            let now = (now(ClockId::Monotonic), now(ClockId::ProcessCPUTime));
            self.laps[phase] = (now.0 - self.last.0, now.1 - self.last.1);
            self.last = now;
        }

        fn times(mut self) -> Times {
            self.laps[4] = (
                self.laps[..4].iter().map(|lap| lap.0).sum(),
                self.laps[..4].iter().map(|lap| lap.1).sum(),
            );
            self.laps
        }
    }

    fn now(clock: ClockId) -> Duration {
        let time = clock_gettime(clock);
        Duration::new(
            u64::try_from(time.tv_sec).unwrap(),
            u32::try_from(time.tv_nsec).unwrap(),
        )
    }

    fn median(times: impl Iterator<Item = Duration>, operations: usize) -> f64 {
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        times[times.len() / 2].as_nanos() as f64 / operations as f64
    }

    /// Steele and Vigna's SplitMix64, so that every run does the same.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ z >> 31) % bound
        }

        fn index(&mut self, bound: usize) -> usize {
            usize::try_from(self.below(bound as u64)).unwrap()
        }

        fn deadline(&mut self) -> Duration {
            Duration::from_micros(self.below(STEPS * 1_000_000))
        }
    }
}
