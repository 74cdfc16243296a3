//! How fast is the wheel, and how long is its longest turn?
//!
//! `cargo bench --bench wheel` prints medians of several rounds; ratios matter more than absolute
//! figures. All workloads are seeded.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a benchmark reads the clock, prints, and may fail loudly"
)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cogwheel::wheel::Key;
use cogwheel::{Tick, Wheel};

const MS: u64 = 1_000_000;
const MILLION: usize = 1_000_000;
const ROUNDS: usize = 7;

fn main() {
    for live in [1_000, 100_000, MILLION] {
        operations(live);
    }
    longest_turn();
    insert_remove_half_drain();
}

/// Nanoseconds of each operation on a wheel that holds `live` entries due within a minute.
fn operations(live: usize) {
    const TURNS: u64 = 61_000;
    let batch = live.min(100_000);
    let mut random = Random(live as u64);
    let [mut insert, mut remove, mut reset, mut later, mut churn] = [const { Vec::new() }; 5];
    let (mut turn, mut advance, mut pop) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut wheel = Wheel::starting_at(Tick::new(1 << 61));
        let now = wheel.elapsed().count();
        let mut deadline = || Tick::new(now + MS + random.below(60_000 * MS));
        let mut keys: Vec<Key> = (0..live)
            .map(|n| wheel.insert(deadline(), n as u32))
            .collect();
        let deadlines: Vec<Tick> = (0..batch).map(|_| deadline()).collect();
        let picks: Vec<usize> = (0..batch)
            .map(|_| random.below(live as u64) as usize)
            .collect();

        reset.push(per_item(batch, || {
            for (&pick, &deadline) in picks.iter().zip(&deadlines) {
                wheel.reset(keys[pick], deadline);
            }
        }));
        later.push(per_item(batch, || {
            for &pick in &picks {
                wheel.reset(keys[pick], Tick::new(now + 30_000 * MS));
            }
        }));
        churn.push(per_item(batch, || {
            for &deadline in &deadlines {
                let key = wheel.insert(deadline, 0);
                black_box(wheel.remove(key));
            }
        }));
        let mut fresh = Vec::with_capacity(batch);
        insert.push(per_item(batch, || {
            fresh.extend(deadlines.iter().map(|&deadline| wheel.insert(deadline, 0)));
        }));
        for (key, &pick) in fresh.iter_mut().zip(&picks) {
            std::mem::swap(key, &mut keys[pick]);
        }
        remove.push(per_item(batch, || {
            for &key in &fresh {
                black_box(wheel.remove(key));
            }
        }));
        let total = wheel.len();
        let mut popping = Duration::ZERO;
        let all = time(|| {
            for ms in 1..=TURNS {
                wheel.advance(Tick::new(now + ms * MS));
                let start = Instant::now();
                while let Some(expired) = wheel.pop() {
                    black_box(expired.value);
                }
                popping += start.elapsed();
            }
        });
        assert!(wheel.is_empty());
        turn.push((all - popping).as_nanos() as f64 / TURNS as f64);
        advance.push((all - popping).as_nanos() as f64 / total as f64);
        pop.push(popping.as_nanos() as f64 / total as f64);
    }
    println!(
        "{live:>9} live: insert {:.0}, remove {:.0}, insert+remove {:.0}, reset {:.0}, reset to the same {:.0} ns; \
         {TURNS} turns: {:.0} ns per turn, {:.0} ns to fire and {:.0} ns to pop an entry",
        median(insert),
        median(remove),
        median(churn),
        median(reset),
        median(later),
        median(turn),
        median(advance),
        median(pop),
    );
}

/// The longest of 4,500 turns, a million entries spread over them. All rounds do the same, so the
/// best time of each turn is what the turn costs, and what is above it is the machine's noise.
fn longest_turn() {
    const TURNS: usize = 4_500;
    let mut best = [Duration::MAX; TURNS];
    let (mut longest, mut inserts) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut random = Random(4_500);
        let mut wheel = Wheel::starting_at(Tick::new(1 << 61));
        let now = wheel.elapsed().count();
        let mut insert = Duration::ZERO;
        for n in 0..MILLION {
            let deadline = Tick::new(now + random.below(TURNS as u64 * MS));
            insert = insert.max(time(|| {
                wheel.insert(deadline, n as u32);
            }));
        }
        inserts.push(millis(insert));
        let mut round = Duration::ZERO;
        for (ms, best) in (1..).zip(&mut best) {
            let turn = time(|| {
                wheel.advance(Tick::new(now + ms * MS));
            });
            round = round.max(turn);
            *best = turn.min(*best);
            while let Some(expired) = wheel.pop() {
                black_box(expired.value);
            }
        }
        assert!(wheel.is_empty());
        longest.push(millis(round));
    }
    best.sort_unstable();
    println!(
        "1M over 4.5 s: longest 1 ms turn {:.3} ms, median turn {:.3} ms (best of {ROUNDS}); longest turn of \
         a round {:.3} ms, longest insertion {:.3} ms (medians, with the machine's noise)",
        millis(best[TURNS - 1]),
        millis(best[TURNS / 2]),
        median(longest),
        median(inserts),
    );
}

/// Nanoseconds per entry to insert a million, remove every other and drain the rest in order.
fn insert_remove_half_drain() {
    let [mut insert, mut remove, mut drain] = [const { Vec::new() }; 3];
    let (mut heap_insert, mut heap_drain) = (Vec::new(), Vec::new());
    let mut random = Random(1);
    for _ in 0..ROUNDS {
        let deadlines: Vec<u64> = (0..MILLION).map(|_| random.below(60_000 * MS)).collect();
        let mut wheel = Wheel::new();
        let mut keys = Vec::with_capacity(MILLION);
        insert.push(per_item(MILLION, || {
            for (n, &deadline) in deadlines.iter().enumerate() {
                keys.push(wheel.insert(Tick::new(deadline), n as u32));
            }
        }));
        remove.push(per_item(MILLION / 2, || {
            for &key in keys.iter().step_by(2) {
                black_box(wheel.remove(key));
            }
        }));
        drain.push(per_item(MILLION / 2, || {
            for ms in 0..=60_000 {
                wheel.advance(Tick::new(ms * MS));
                while let Some(expired) = wheel.pop() {
                    black_box(expired.value);
                }
            }
        }));
        assert!(wheel.is_empty());

        // A heap cannot remove; it marks, and pays when it meets the mark.
        let mut heap = BinaryHeap::new();
        let mut removed = vec![false; MILLION];
        heap_insert.push(per_item(MILLION, || {
            for (n, &deadline) in deadlines.iter().enumerate() {
                heap.push(Reverse((deadline, n as u32)));
            }
        }));
        removed
            .iter_mut()
            .step_by(2)
            .for_each(|removed| *removed = true);
        heap_drain.push(per_item(MILLION / 2, || {
            for ms in 0..=60_000 {
                while heap.peek().is_some_and(|item| item.0.0 <= ms * MS) {
                    let Reverse((_, n)) = heap.pop().unwrap();
                    if !removed[n as usize] {
                        black_box(n);
                    }
                }
            }
        }));
    }
    println!(
        "1M, half removed: wheel insert {:.0}, remove {:.0}, drain {:.0} ns; binary heap insert {:.0}, \
         remove by mark, drain {:.0} ns",
        median(insert),
        median(remove),
        median(drain),
        median(heap_insert),
        median(heap_drain),
    );
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn millis(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

fn per_item(items: usize, work: impl FnOnce()) -> f64 {
    time(work).as_nanos() as f64 / items as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
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
}
