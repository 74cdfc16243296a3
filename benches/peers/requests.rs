//! Requests and answers, each side reading under a timeout: what the timeouts cost of it all.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use std::future::{Future, poll_fn};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};

use crate::load::{Bound, Load};
use crate::measure::{Mark, Metrics, as_f64};
use crate::peer::{Name, Peer, Work};
use crate::world::{Place, Scale};

const PATIENCE: Duration = Duration::from_secs(30);
const MESSAGE: usize = 64;
/// Loops with and without timeouts alternate, so many of each.
const SLICES: u64 = 10;

/// The loads of this file.
pub(crate) fn loads() -> Vec<Load> {
    let load = |name, about, work: Requests| {
        Load::of_timers(name, about, "timers' cpu ns", work).and_free()
    };
    vec![
        load(
            "k/duplex",
            "request loop in memory, 2 reads under a timeout of 30 s each: with less without",
            Requests { over_tcp: false },
        )
        .goal(Name::Cogwheel, "timers' cpu ns", Bound::Times(0.45)),
        load(
            "k/tcp",
            "the same over a TCP connection to this machine",
            Requests { over_tcp: true },
        ),
    ]
}

#[derive(Debug, Clone, Copy)]
struct Requests {
    over_tcp: bool,
}

/// What the requests of one kind have cost.
#[derive(Default)]
struct Sum {
    cpu: f64,
    wall: f64,
    allocations: f64,
}

impl Work for Requests {
    fn run<P: Peer>(self, scale: Scale) -> Metrics {
        let slice = scale.of(if self.over_tcp { 10_000 } else { 100_000 });
        let (mut with, mut without) = (Sum::default(), Sum::default());
        Place::CurrentThread.build().block_on(async {
            let peer = P::here();
            // Some other timer is pending, as in any server.
            let mut earlier = pin!(peer.sleep(Duration::from_secs(20)));
            poll_fn(|cx| Poll::Ready(earlier.as_mut().poll(cx).is_pending())).await;
            for round in 0..=SLICES {
                for (peer, sum) in [(Some(peer.clone()), &mut with), (None, &mut without)] {
                    let cost = if self.over_tcp {
                        let (client, server) = connected().await;
                        run_slice(peer, client, server, slice).await
                    } else {
                        let (client, server) = duplex(MESSAGE);
                        run_slice(peer, client, server, slice).await
                    };
                    // The first warms up.
                    if round > 0 {
                        sum.add(&cost);
                    }
                }
            }
        });
        vec![
            ("timers' cpu ns", with.cpu - without.cpu),
            ("timers' wall ns", with.wall - without.wall),
            ("with: cpu ns", with.cpu),
            ("without: cpu ns", without.cpu),
            ("requests/s", 1e9 / with.wall),
            (
                "timers' allocations",
                with.allocations - without.allocations,
            ),
        ]
    }
}

impl Sum {
    /// Takes in the cost of a request in one of the slices.
    fn add(&mut self, cost: &Metrics) {
        for &(name, value) in cost {
            let share = value / as_f64(i64::try_from(SLICES).unwrap_or(1));
            match name {
                "cpu ns/op" => self.cpu += share,
                "wall ns/op" => self.wall += share,
                "allocations/op" => self.allocations += share,
                _ => {}
            }
        }
    }
}

async fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (client, server) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (client, server) = (client.expect("connected"), server.expect("accepted").0);
    for end in [&client, &server] {
        end.set_nodelay(true).expect("no delay");
    }
    (client, server)
}

async fn run_slice<P: Peer, S>(peer: Option<P>, client: S, server: S, requests: u64) -> Metrics
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let echo = tokio::spawn(answer(peer.clone(), server));
    let ask = tokio::spawn(ask(peer, client, requests));
    let cost = ask.await.expect("no panic");
    echo.await.expect("no panic");
    cost
}

async fn ask<P: Peer, S>(peer: Option<P>, mut stream: S, requests: u64) -> Metrics
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut message = [7; MESSAGE];
    let mark = Mark::now();
    for _ in 0..requests {
        stream.write_all(&message).await.expect("written");
        let read = stream.read_exact(&mut message);
        let done = match &peer {
            Some(peer) => peer.timeout(PATIENCE, read).await.expect("in time"),
            None => read.await,
        };
        done.expect("an answer");
    }
    mark.per_op(requests)
}

async fn answer<P: Peer, S>(peer: Option<P>, mut stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut message = [0; MESSAGE];
    loop {
        let read = stream.read_exact(&mut message);
        let done = match &peer {
            Some(peer) => peer.timeout(PATIENCE, read).await.expect("in time"),
            None => read.await,
        };
        // The other side has gone.
        if done.is_err() {
            return;
        }
        stream.write_all(&message).await.expect("written");
    }
}
