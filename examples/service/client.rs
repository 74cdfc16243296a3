//! One client of the service: it sends requests and checks every answer.
//!
//! This file is compiled twice, once below `on_tokio` and once below `on_cogwheel`. A client
//! judges the service by clock readings of its own, never by the timers under test.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::metered::{sleep, timeout};
use super::time::{Duration, Instant};
use crate::protocol::{self, IDLE_TIMEOUT, KEEP_ALIVE};
use crate::random::Random;
use crate::tally::{Fault, TOLERANCE, Tally};

/// A client that waits longer than this for anything gives up.
const PATIENCE: Duration = Duration::from_secs(4);
/// The keys each client writes and reads.
const KEYS: usize = 8;

/// One connection to the service, and what its owner remembers of earlier ones.
pub(crate) struct Client {
    owner: Owner,
    socket: BufReader<TcpStream>,
    line: String,
}

struct Owner {
    id: u64,
    service: SocketAddr,
    written: [Option<Written>; KEYS],
    tally: Arc<Tally>,
}

/// When an entry must still be there, and when it must be gone.
#[derive(Clone, Copy)]
struct Written {
    until: Instant,
    gone_by: Instant,
}

/// How a client falls silent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stall {
    /// It sends nothing after an answer.
    BetweenRequests,
    /// It stops in the middle of a line.
    WithinRequest,
    /// It subscribes and never answers a keep-alive.
    Subscribed,
}

impl Client {
    /// Connects, and waits for a first answer: only then has the service accepted the connection.
    pub(crate) async fn connect(
        id: u64,
        service: SocketAddr,
        tally: Arc<Tally>,
    ) -> io::Result<Self> {
        let written = [None; KEYS];
        Self::open(Owner {
            id,
            service,
            written,
            tally,
        })
        .await
    }

    /// Drops this connection and opens another. The entries are remembered.
    pub(crate) async fn reconnect(self) -> io::Result<Self> {
        let Self { owner, socket, .. } = self;
        drop(socket);
        Self::open(owner).await
    }

    async fn open(owner: Owner) -> io::Result<Self> {
        let socket = TcpStream::connect(owner.service).await?;
        socket.set_nodelay(true)?;
        let mut client = Self {
            owner,
            socket: BufReader::with_capacity(256, socket),
            line: String::new(),
        };
        match client.request("GET hello\n").await {
            Ok(_) => Ok(client),
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the service does not answer",
            )),
        }
    }

    /// The number of its owner, the same on all its connections.
    pub(crate) fn id(&self) -> u64 {
        self.owner.id
    }

    /// Pauses for some of `pause` milliseconds, then writes or reads one of its entries.
    pub(crate) async fn work(
        &mut self,
        random: &mut Random,
        pause: Range<u64>,
    ) -> Result<(), Fault> {
        sleep(random.millis(pause)).await;
        let slot = usize::try_from(random.below(KEYS as u64)).unwrap_or(0);
        if random.below(2) == 0 {
            self.set(slot, random.millis(50..3_000)).await
        } else {
            self.get(slot).await
        }
    }

    async fn set(&mut self, slot: usize, ttl: Duration) -> Result<(), Fault> {
        let request = format!("SET {}.{slot} value {}\n", self.owner.id, ttl.as_millis());
        let sent = Instant::now();
        let answer = self.request(&request).await?;
        if answer != protocol::OK {
            return Err(Fault::WrongAnswer);
        }
        self.owner.written[slot] = Some(Written {
            until: sent + ttl,
            gone_by: Instant::now() + ttl + TOLERANCE,
        });
        Ok(())
    }

    async fn get(&mut self, slot: usize) -> Result<(), Fault> {
        let request = format!("GET {}.{slot}\n", self.owner.id);
        let written = self.owner.written[slot];
        let sent = Instant::now();
        let answer = self.request(&request).await?;
        match (answer, written) {
            ("VALUE value\n", Some(written)) if sent <= written.gone_by => Ok(()),
            ("VALUE value\n", Some(_)) => Err(Fault::ExpiredLate),
            (protocol::NONE, Some(written)) if Instant::now() < written.until => {
                Err(Fault::ExpiredEarly)
            }
            (protocol::NONE, _) => Ok(()),
            _ => Err(Fault::WrongAnswer),
        }
    }

    /// Follows a key of `other` and answers one keep-alive after another, `while_wanted`.
    pub(crate) async fn follow(
        &mut self,
        other: u64,
        while_wanted: impl Fn() -> bool,
    ) -> Result<(), Fault> {
        self.subscribe(other).await?;
        while while_wanted() {
            let line = read_line(&mut self.socket, &mut self.line, KEEP_ALIVE + PATIENCE).await?;
            match line {
                protocol::PING => send(&mut self.socket, protocol::PONG).await?,
                protocol::NONE | "VALUE value\n" => {}
                _ => return Err(Fault::WrongAnswer),
            }
        }
        Ok(())
    }

    async fn subscribe(&mut self, other: u64) -> Result<(), Fault> {
        let answer = self.request(&format!("SUB {other}.0\n")).await?;
        if answer == protocol::OK {
            Ok(())
        } else {
            Err(Fault::WrongAnswer)
        }
    }

    /// Falls silent and waits to be closed, neither too early nor too late.
    pub(crate) async fn stall(&mut self, stall: Stall) -> Result<(), Fault> {
        let before_last_packet = Instant::now();
        match stall {
            Stall::BetweenRequests => self.get(0).await?,
            Stall::WithinRequest => send(&mut self.socket, "SET half").await?,
            Stall::Subscribed => self.subscribe(self.owner.id).await?,
        }
        let after_last_packet = Instant::now();
        self.owner.tally.stalled();
        // Whatever still comes is read away. A reset is an end as good as any.
        let mut nowhere = tokio::io::sink();
        let end = tokio::io::copy_buf(&mut self.socket, &mut nowhere);
        let ended = timeout(IDLE_TIMEOUT + PATIENCE, end).await;
        let now = Instant::now();
        match ended {
            Ok(_) => {
                self.owner
                    .tally
                    .closed(now - before_last_packet, now - after_last_packet);
                Ok(())
            }
            // It stays stalled and never closed in the tally.
            Err(_) => Err(Fault::NoAnswer),
        }
    }

    /// Sends half a request, after which the connection is to be dropped.
    pub(crate) async fn vanish(&mut self) -> Result<(), Fault> {
        send(&mut self.socket, "GET hal").await?;
        self.owner.tally.vanished();
        Ok(())
    }

    /// Sends one request and returns its answer.
    async fn request(&mut self, request: &str) -> Result<&str, Fault> {
        send(&mut self.socket, request).await?;
        let answer = read_line(&mut self.socket, &mut self.line, PATIENCE).await?;
        self.owner.tally.answered();
        Ok(answer)
    }
}

async fn send(socket: &mut BufReader<TcpStream>, line: &str) -> Result<(), Fault> {
    let written = socket.get_mut().write_all(line.as_bytes()).await;
    written.map_err(|_| Fault::Closed)
}

async fn read_line<'l>(
    socket: &mut BufReader<TcpStream>,
    line: &'l mut String,
    patience: Duration,
) -> Result<&'l str, Fault> {
    line.clear();
    match timeout(patience, socket.read_line(line)).await {
        Ok(Ok(1..)) => Ok(line),
        Ok(Ok(0) | Err(_)) => Err(Fault::Closed),
        Err(_) => Err(Fault::NoAnswer),
    }
}
