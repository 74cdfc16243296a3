//! The service: accepts connections and answers their requests.
//!
//! This file is compiled twice, once below `on_tokio` and once below `on_cogwheel`. A service of
//! your own would have `use tokio::time::{interval, sleep, timeout}` here, or the same line with
//! `cogwheel`; this one has `metered`, which counts the calls on their way to either.

use std::borrow::Cow;
use std::future;
use std::pin::pin;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::metered::{Interval, interval, sleep, timeout};
use super::store::{Changes, Store, StoreClosed};
use super::time::{Duration, Instant};
use crate::protocol::{self, IDLE_TIMEOUT, KEEP_ALIVE, MAX_LINE, REQUEST_TIMEOUT, Request};
use crate::tally::{End, Tally};

/// How long `accept` rests after an error: out of file descriptors it would fail again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Accepts connections for as long as it is polled.
pub(crate) async fn serve(listener: TcpListener, tally: Arc<Tally>) {
    let store = Store::start();
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let connection = Connection::new(socket, store.clone());
                let tally = Arc::clone(&tally);
                tokio::spawn(async move { tally.ended(connection.run().await) });
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

struct Connection {
    socket: TcpStream,
    store: Store,
    input: Vec<u8>,
    subscription: Option<Subscription>,
}

impl Connection {
    fn new(socket: TcpStream, store: Store) -> Self {
        Self {
            socket,
            store,
            input: Vec::with_capacity(128),
            subscription: None,
        }
    }

    async fn run(mut self) -> End {
        // An answer is one small packet, which must not wait for the next.
        if self.socket.set_nodelay(true).is_err() {
            return End::Peer;
        }
        let mut idle = pin!(sleep(IDLE_TIMEOUT));
        loop {
            let step = tokio::select! {
                read = self.socket.read_buf(&mut self.input) => match read {
                    Ok(0) | Err(_) => Err(End::Peer),
                    Ok(_) => {
                        idle.as_mut().reset(Instant::now() + IDLE_TIMEOUT);
                        self.answer_complete_lines().await
                    }
                },
                notice = next_notice(&mut self.subscription) => {
                    within_limit(send(&mut self.socket, &notice)).await
                }
                () = idle.as_mut() => Err(End::Idle),
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn answer_complete_lines(&mut self) -> Result<(), End> {
        while let Some(end) = self.input.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            within_limit(self.answer(&line[..end])).await?;
        }
        if self.input.len() > MAX_LINE {
            return Err(End::LineTooLong);
        }
        Ok(())
    }

    async fn answer(&mut self, line: &[u8]) -> Result<(), End> {
        let answer = match Request::parse(line) {
            Ok(Request::Set { key, value, ttl }) => {
                self.store.set(key, value, ttl).await?;
                Cow::Borrowed(protocol::OK)
            }
            Ok(Request::Get { key }) => {
                let value = self.store.get(key).await?;
                protocol::value_line(value.as_deref())
            }
            Ok(Request::Subscribe { key }) => {
                self.subscription = Some(Subscription {
                    changes: self.store.subscribe(key).await?,
                    keep_alive: interval(KEEP_ALIVE),
                });
                Cow::Borrowed(protocol::OK)
            }
            Ok(Request::Pong) => return Ok(()),
            Err(reason) => Cow::Owned(format!("ERR {reason}\n")),
        };
        send(&mut self.socket, &answer).await
    }
}

async fn within_limit(work: impl Future<Output = Result<(), End>>) -> Result<(), End> {
    match timeout(REQUEST_TIMEOUT, work).await {
        Ok(result) => result,
        Err(_) => Err(End::RequestTimeout),
    }
}

async fn send(socket: &mut TcpStream, line: &str) -> Result<(), End> {
    let written = socket.write_all(line.as_bytes()).await;
    written.map_err(|_| End::Peer)
}

/// What a subscriber is told unasked: the changes of one key, and that the service is alive.
struct Subscription {
    changes: Changes,
    keep_alive: Interval,
}

/// The next line for a subscriber; never, for a connection that is none.
async fn next_notice(subscription: &mut Option<Subscription>) -> Cow<'static, str> {
    let Some(Subscription {
        changes,
        keep_alive,
    }) = subscription
    else {
        return future::pending().await;
    };
    tokio::select! {
        () = keep_alive.tick() => Cow::Borrowed(protocol::PING),
        Ok(()) = changes.changed() => {
            protocol::value_line(changes.borrow_and_update().as_deref())
        }
    }
}

impl From<StoreClosed> for End {
    fn from(_: StoreClosed) -> Self {
        Self::StoreClosed
    }
}
