//! The lock-free hall between the users of timers and the one thread that turns the wheel.
//!
//! ```text
//!  owner (a Sleep, or a thread's cache)                turn (whoever holds the turn lock)
//!  ───────────────────────────────────                 ──────────────────────────────────
//!  node.arm(deadline, waker) ──┐
//!      in place, or            ├──► inbox.push ──────► inbox.take_all ─► node.drained ─► wheel
//!      node.reset ─────────────┘        │                                                  │
//!  doorbell.rings(deadline)? ◄──────────┘                       node.look(now) ◄── due ────┘
//!      then turn                                                  fire / later / unlink
//! ```
//!
//! * [`node`]: the cell that one timer and the driver share: a state word, the exact deadline,
//!   the bound, the waker. Its documentation has the state diagram and who may touch what.
//! * [`inbox`]: the insertion queue, one head per shard, with the parked bit in the head.
//! * [`doorbell`]: the deadline the driver sleeps until, and who has to wake it.
//! * [`pool`]: pages of nodes that never move and are never freed, and the threads' caches.
//! * [`turn_lock`]: who turns; nobody waits for it.
//! * [`alarm_clock`]: when a thread that does nothing but turn one timer has to wake up.
//!
//! All of it is explored by the models in `loom-tests`.

#![allow(
    unreachable_pub,
    reason = "models reach these items through `loom_only`"
)]

pub mod alarm_clock;
pub mod doorbell;
pub mod inbox;
pub mod node;
pub mod pool;
pub mod turn_lock;
