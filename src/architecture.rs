//! How this crate is built, for those who change it. Nothing here is part of the interface.
//!
//! # Map
//!
//! Two rooms that never mix, and a thin hall between them:
//!
//! ```text
//!        pure, synchronous, no unsafe                 lock-free, small, explored by loom
//!  tick ─► wheel (level, bucket, entries, agenda) ─┐   ┌─ sync (node, inbox, doorbell, pool, turn_lock)
//!                                                  ▼   ▼                        ▲
//!                                       driver::core, driver::shared            └── primitive
//!                                                    ▼
//!        driver::{turn, alarm (parker, keeper, manual), registry, local, nesting, runtime}  ◄─ clock
//!                                                    ▼
//!               timer (the handle), manual_clock ─► sleep ─► timeout, interval ─► future_ext, deadline,
//!                                               └─► scheduled                      backoff, stream
//!  wheel ────────────────────────────────────────────────────────► delay_queue
//! ```
//!
//! Which module may import which is a table in `tests/architecture/main.rs`, and that test executes
//! it. Unsafe code lies in `sync/*` and `primitive` alone.
//!
//! | module | what it is |
//! |---|---|
//! | `tick` | the unit of wheel time and its arithmetic with `Duration` |
//! | `clock` | the only reader of time |
//! | `primitive` | the only place that names `std::sync`, raw cells or loom |
//! | [`wheel`](crate::wheel) | the hierarchical wheel; knows ticks and values, no clock and no waker |
//! | `sync` | what a timer's owner and the driver share; see its ground rules below |
//! | `driver::core` | owns the wheel; moves nodes between it, the inboxes and the wakers |
//! | `driver::shared` | what users and driver share, and what users do with it |
//! | `driver::turn` | the one loop in which timers move and fire |
//! | `driver::counts`, `driver::ledger` | what the turns have done; what each thread has done, and the snapshot of all |
//! | `driver::events` | what is told to subscribers of `tracing`, after the lock was given back |
//! | `driver::alarm` | what ends the sleep of a driver: one of the next three, by its kind |
//! | `driver::parker` | the alarm (one Tokio `Sleep`) and the death notice (one idle task) |
//! | `driver::keeper` | a thread of its own: parks until the deadline, ends with its last handle |
//! | `driver::manual` | a clock that is moved by hand, and the turns that go with it |
//! | `driver::registry`, `driver::local` | which runtime has which driver; what a thread keeps |
//! | `driver::nesting` | which timers this thread is turning, so that no turn runs inside of a turn |
//! | `metrics` | what such a snapshot is, for those who read it; knows no timer |
//! | `timer`, `manual_clock`, `sleep`, `timeout`, `interval`, `delay_queue` | the public types |
//! | `scheduled` | work that starts later: a task that is its own waker, and the runner that is spawned when it is due |
//! | `delay_queue::channel` | a queue that tasks share: one lock, one alarm for all that wait |
//! | `future_ext`, `deadline`, `backoff`, `stream` | combinators over the public types; no clock of their own |
//!
//! # Ground rules
//!
//! 1. Only the holder of the turn lock touches the wheel. Nobody waits for that lock, except the
//!    few callers that open, close or inspect a driver.
//! 2. A node has one owner: a `Sleep`, a thread's cache, or the pool. Owner and turn meet only in
//!    the node's state word, by the transitions listed in `sync/node.rs`.
//! 3. The inbox is the only door into the wheel.
//! 4. Placement is decided by the turn, against the wheel's own clock; a user never looks at that
//!    clock to choose a place.
//! 5. Foreign code (wakers, drops, spawned hooks) runs while no lock is held and nothing is half
//!    changed, and may panic.
//! 6. The driver publishes the deadline it will sleep until, then sets the parked bit on every
//!    inbox; a user pushes, then looks at that bit, which came back with the push.
//! 7. Drivers, pages and nodes are never freed, so a stale reference is always a reference to one.
//!    A generation tells whether it still means the same.
//!
//! # Life of a timer
//!
//! 1. `sleep(d)` finds the driver of the current runtime (`driver::registry::current`), reads the
//!    clock once and stores the deadline. Nothing else happens.
//! 2. The first poll takes an idle node from the thread's cache (`sync::pool::Pool::take`),
//!    preferably one that is still linked with a bound that is not later than the deadline, or that
//!    still waits in an inbox, and arms it (`sync::node::Node::arm`).
//!    * Linked in time, or queued: one atomic exchange, done. The wheel does not learn of it; it will
//!      look at that node no later than the bound, or take it in, and then find the new deadline.
//!    * Otherwise the node is pushed into the inbox of the thread's shard (`sync::inbox::Inbox::push`).
//!      If the push comes back with the parked bit and the deadline is earlier than the one the
//!      driver sleeps until, this thread turns the wheel.
//! 3. A turn (`driver::turn::turn`) takes all inboxes, places the nodes, reads the clock, publishes
//!    it as `elapsed`, and advances the wheel. For each node whose bound has come it looks
//!    (`Node::look`): cancelled, the entry goes; moved later, it is placed again; due, it fires.
//! 4. Firing takes the waker out of the node and collects it; up to 64 are woken at a time, after
//!    the lock was released.
//! 5. The woken task polls: the node has fired and its deadline has elapsed, so the sleep is ready,
//!    and the node goes to the thread's cache.
//! 6. Dropped before: `Node::cancel` clears one bit and takes the waker out, and the node goes to the
//!    cache as it is, linked. Most timers in a service end here, and the next one on the same thread
//!    begins at step 2 with the work of inserting done. The last one leaves its waker in the node
//!    (`Node::cancel_and_keep`): if the next is the same task's, it is armed by one exchange alone.
//!
//! # Invariants, and the tests that hold them
//!
//! | | invariant | held by |
//! |---|---|---|
//! | W1 | an entry is in exactly one list, its own bucket says which, and that bucket's bit is set | `wheel/check.rs` after every action of `wheel/tests.rs` |
//! | W2 | two rounds never share a slot: entries of a slot have the same value of `deadline >> shift` | `wheel/check.rs`; debug assertion at insertion |
//! | W3 | the bound of a bucket is not later than any deadline in it | `wheel/check.rs` |
//! | W4 | an advance to `now` makes due exactly what has a deadline up to `now` | `wheel/model.rs`, compared after every action |
//! | W5 | wheel time never goes back | `wheel/model.rs`, `wheel/cases.rs` |
//! | I1 | the waker of a node is written by its owner only, while it is not armed or under `WLOCK` | `loom-tests`: waker models |
//! | I2 | a linked node is looked at no later than its bound; an armed one that is not queued has `bound <= deadline` | `loom-tests`: re-arm and reset models |
//! | I3 | `elapsed` is published before `FIRED`: never early | `loom-tests`: reset ∥ fire; `tests/sleep.rs` |
//! | I4 | of a reset to earlier and a turn that raises the bound, at least one sees the other | `loom-tests`: bound race |
//! | S1 | exactly one of fire and cancel gets the waker | `loom-tests`: cancel ∥ fire |
//! | S2 | a push is seen by the turn that is under way, or sees the published deadline | `loom-tests`: push ∥ park |
//! | S3 | a note left at the turn lock is answered | `loom-tests`: turn lock |
//! | S4 | after a close everything pending is woken; a late push is refused or undone | `loom-tests`: shutdown; `tests/shutdown.rs` |
//! | S5 | a waker that was kept is woken for the timer that took it over, or dropped once | `loom-tests`: kept; `tests/sleep.rs` |
//! | S6 | a thread that parks until a deadline learns of an earlier one | `loom-tests`: alarm clock |
//! | S7 | a waker that asks for a turn inside of one is answered, and does not nest | `tests/nested_turns.rs` |
//! | S8 | of cancel, move and start of scheduled work exactly one wins; the start is the runner's first poll | `tests/scheduled_races.rs` |
//! | S9 | a timer with a bound never has more places taken than that, and loses none | `loom-tests`: places; `tests/max_timers.rs` |
//! | S10 | at rest every timer that was armed is live, has fired or was cancelled, and each is counted once | `tests/metrics.rs` |
//! | S11 | a subscriber of `tracing` runs while no lock is held; one that panics, arms or closes costs no timer its wake | `tests/turn_tracing.rs` |
//! | S12 | the alarm is never set later than the next deadline; it goes off for nothing once at most for every few turns that setting it ahead of need has saved | `driver/ahead.rs`; `tests/wake_ups.rs` |
//!
//! # Why not …
//!
//! * **a heap?** It costs `log n` cold cache lines per operation, and cancelling leaves garbage or
//!   needs positions. The wheel touches three or four lines.
//! * **an intrusive list of the futures themselves, as Tokio has?** Cancelling must unlink, and so
//!   take the lock that everybody takes; futures must be pinned.
//! * **a channel into a driver task?** A wake-up and a task switch per timer that becomes the
//!   earliest, a queue that grows while the task is not scheduled.
//! * **a thread of its own, for every runtime?** It turns on time while all workers are busy, but the
//!   tasks it wakes do not run any sooner, and each wake-up is a switch of threads. Who wants one
//!   has `Builder::dedicated_thread`.
//!
//! # Glossary
//!
//! | word | means |
//! |---|---|
//! | tick | the unit of wheel time; nanoseconds on the async side |
//! | level, slot, bucket | one ring of the hierarchy; an index in it; the list that lives there |
//! | span | the ticks that one level covers before it comes round |
//! | deadline | when the user wants it, exact |
//! | bound | a lower bound of the deadlines in a bucket, or of a node's next look |
//! | cascade | to place the entries of a bucket lower |
//! | overflow | a deadline beyond the highest level, which adds one |
//! | agenda | the queue of non-empty buckets: which comes next |
//! | turn | one round of taking in, advancing and firing |
//! | entry | a timer inside a wheel; a key names it |
//! | node | the cell that one timer and the driver share |
//! | inbox | the insertion queue, one per shard |
//! | live, created, reset | armed and waiting; armed at some time; moved while armed |
//! | tally, report | what one thread has counted; what the turns have done since the last one |
//! | park, doorbell, alarm | to sleep until a published deadline; that deadline; what ends the sleep |
//! | fire, cancel, reset | the ends and the moves of a timer |
//! | idle, linked, queued | owned by nobody who waits; known to the wheel; in an inbox |

#![forbid(unsafe_code)]
