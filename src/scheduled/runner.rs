//! The future that is spawned when scheduled work is due: it runs one round.

#![forbid(unsafe_code)]

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pin_project_lite::pin_project;

use crate::driver::wake_list::run_foreign;
use crate::primitive::Arc;
use crate::scheduled::task::Task;
use crate::scheduled::work::Work;

/// Spawns a runner for `task`. A runtime that has ended drops it, which ends the task.
pub(super) fn send<W: Work>(task: Arc<Task<W>>) {
    let runtime = task.runtime();
    let runner = Runner {
        task,
        stage: Stage::Waiting,
        work: None,
        round: None,
    };
    match runtime {
        Some(runtime) => drop(runtime.spawn(runner)),
        None => drop(runner),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    Done,
}

pin_project! {
    struct Runner<W: Work> {
        task: Arc<Task<W>>,
        stage: Stage,
        // While it runs; it makes the next round.
        work: Option<W>,
        #[pin]
        round: Option<W::Round>,
    }

    impl<W: Work> PinnedDrop for Runner<W> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if *this.stage == Stage::Done {
                return;
            }
            run_foreign(|| this.round.set(None));
            let started = *this.stage == Stage::Running;
            this.task.abandoned(this.work.take(), started);
        }
    }
}

impl<W: Work> Future for Runner<W> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if *this.stage == Stage::Waiting {
            *this.work = this.task.start();
            *this.stage = match this.work {
                Some(_) => Stage::Running,
                None => Stage::Done,
            };
        }
        if *this.stage == Stage::Done {
            return Poll::Ready(());
        }
        let mut round = this.round;
        let work = this.work;
        // PANIC: making, polling and dropping a round is the user's code; a panic of it is the
        // result of the round.
        let result = catch_unwind(AssertUnwindSafe(|| {
            if round.is_none() {
                round.set(work.as_mut().map(Work::begin));
            }
            let polled = round.as_mut().as_pin_mut().map(|round| round.poll(cx));
            if matches!(polled, Some(Poll::Ready(_))) {
                round.set(None);
            }
            polled
        }));
        let result = match result {
            Ok(Some(Poll::Ready(output))) => Ok(output),
            Ok(_) => return Poll::Pending,
            Err(payload) => {
                run_foreign(|| round.set(None));
                Err(payload)
            }
        };
        *this.stage = Stage::Done;
        this.task.ended(work.take(), result);
        Poll::Ready(())
    }
}
