//! Timers that are dropped on another thread than the one that made them.

use std::future::Future;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tokio::task::{unconstrained, yield_now};

use crate::churn::{Length, Start};
use crate::load::{Bound, Load};
use crate::measure::Metrics;
use crate::peer::{Name, Peer, Work};
use crate::world::{Place, Random, Row, Scale};

/// Timers that are handed over together.
const HANDFUL: u64 = 256;
/// Handfuls that may be under way.
const UNDER_WAY: usize = 8;

/// One task makes the timers, a thread drops them.
#[derive(Debug, Clone, Copy)]
struct ToThread;

/// Each of the tasks makes timers for the next one to drop.
#[derive(Debug, Clone, Copy)]
struct InRing {
    tasks: usize,
}

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    let free = Name::CogwheelFree;
    vec![
        Load::of_timers(
            "a/elsewhere",
            "timers of random 1-60 s made by 1 thread and dropped by another, 256 at a time",
            "cpu ns/op",
            ToThread,
        )
        .and_free()
        .goal(Name::Cogwheel, "cpu ns/op", Bound::Times(0.40))
        .goal(free, "cpu ns/op", Bound::Times(0.50)),
        Load::of_timers(
            "b2/elsewhere",
            "2 tasks on 2 workers, each drops what the other made (random 1-60 s)",
            "wall ns/op",
            InRing { tasks: 2 },
        )
        .and_free()
        .goal(Name::Cogwheel, "wall ns/op", Bound::Times(0.20))
        .goal(free, "wall ns/op", Bound::Times(0.20)),
        Load::of_timers(
            "b8/elsewhere",
            "8 tasks on 2 workers, each drops what its neighbour made, half of them elsewhere",
            "wall ns/op",
            InRing { tasks: 8 },
        )
        .and_free(),
    ]
}

impl Work for ToThread {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let (sender, receiver) = sync_channel::<Row<P::Sleep>>(UNDER_WAY);
        let dropper = thread::spawn(move || receiver.into_iter().for_each(drop));
        let place = Place::CurrentThread;
        let start = Arc::new(Start::of(place, 1));
        let begin = start.clone();
        let done = place.build().block_on(async move {
            let task = unconstrained(async move {
                let peer = P::here();
                let mut earlier = pin!(peer.sleep(Duration::from_secs(20)));
                poll_fn(|cx| Poll::Ready(earlier.as_mut().poll(cx).is_pending())).await;
                let mut random = Random::new(1);
                begin.together().await;
                let mut done = 0;
                while done < scale.of(1_000_000) {
                    let row = handful(&peer, &mut random).await;
                    sender.send(row).expect("the other thread drops all");
                    done += HANDFUL;
                    yield_now().await;
                }
                drop(sender);
                dropper.join().expect("no panic");
                done
            });
            tokio::spawn(task).await.expect("no panic")
        });
        start.cost(done)
    }
}

impl Work for InRing {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let place = Place::MultiThread(2);
        let ops = scale.of(2_000_000 / self.tasks as u64);
        let start = Arc::new(Start::of(place, self.tasks));
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..self.tasks)
            .map(|_| sync_channel::<Row<P::Sleep>>(UNDER_WAY))
            .unzip();
        receivers.rotate_left(1);
        place.build().block_on(async {
            let mut handles = Vec::new();
            for (task, (sender, mut receiver)) in senders.into_iter().zip(receivers).enumerate() {
                let start = start.clone();
                handles.push(tokio::spawn(unconstrained(async move {
                    let peer = P::here();
                    let mut earlier = pin!(peer.sleep(Duration::from_secs(20)));
                    poll_fn(|cx| Poll::Ready(earlier.as_mut().poll(cx).is_pending())).await;
                    let mut random = Random::new(task as u64 + 1);
                    start.together().await;
                    let mut done = 0;
                    while done < ops {
                        let row = handful(&peer, &mut random).await;
                        hand_over(&sender, &mut receiver, row).await;
                        done += HANDFUL;
                        yield_now().await;
                    }
                    // The neighbour may still send.
                    drop(sender);
                    while !drop_what_came(&receiver) {
                        yield_now().await;
                    }
                    done
                })));
            }
            let mut done = 0;
            for handle in handles {
                done += handle.await.expect("no panic");
            }
            start.cost(done)
        })
    }
}

async fn handful<P: Peer>(peer: &P, random: &mut Random) -> Row<P::Sleep> {
    poll_fn(|cx| {
        let make = |index| peer.sleep(Length::Random.of(random, index));
        Poll::Ready(Row::armed(HANDFUL, cx, make))
    })
    .await
}

async fn hand_over<T>(sender: &SyncSender<T>, receiver: &mut Receiver<T>, mut item: T) {
    drop_what_came(receiver);
    while let Err(refused) = sender.try_send(item) {
        match refused {
            TrySendError::Full(back) => item = back,
            // The neighbour has done its share; what it does not take is dropped here.
            TrySendError::Disconnected(_) => return,
        }
        drop_what_came(receiver);
        yield_now().await;
    }
}

/// Whether nothing more will come.
fn drop_what_came<T>(receiver: &Receiver<T>) -> bool {
    loop {
        match receiver.try_recv() {
            Ok(item) => drop(item),
            Err(error) => return error == std::sync::mpsc::TryRecvError::Disconnected,
        }
    }
}
