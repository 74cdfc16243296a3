//! The load: thousands of clients, most of which behave.
//!
//! This file is compiled twice, once below `on_tokio` and once below `on_cogwheel`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::client::{Client, Stall};
use super::service;
use super::time::{Duration, Instant};
use crate::random::Random;
use crate::run::Plan;
use crate::tally::Fault;

/// Whoever is not connected after this long stays out.
const OPENING_LIMIT: Duration = Duration::from_secs(10);
/// Connections that are being opened at the same time.
const OPENED_AT_ONCE: usize = 64;

/// What a client does with its connections.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// Sends one request after another.
    Worker,
    /// Follows a worker's key.
    Subscriber,
    /// Works for a while, stalls until it is closed, and starts again.
    Staller,
    /// Works for a while, vanishes, and starts again.
    Vanisher,
}

impl Role {
    /// Of twenty clients two subscribe, two stall and one vanishes.
    fn of(id: u64) -> Self {
        match id % 20 {
            1 | 11 => Self::Subscriber,
            2 | 12 => Self::Staller,
            3 => Self::Vanisher,
            _ => Self::Worker,
        }
    }
}

/// Starts the service and its clients, and returns when the last client has ended.
///
/// # Errors
///
/// When the service cannot listen, or not one client can connect.
pub(crate) async fn run(plan: Arc<Plan>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let service = listener.local_addr()?;
    let serving = tokio::spawn(service::serve(listener, Arc::clone(&plan.tally)));

    let mut clients = JoinSet::new();
    let refusal = open(&plan, service, &mut clients).await.err();
    match refusal {
        Some(refusal) if clients.is_empty() => return Err(refusal),
        refusal => plan.begin(clients.len(), refusal),
    }
    while let Some(ended) = clients.join_next().await {
        ended.map_err(io::Error::other)?;
    }
    serving.abort();
    Ok(())
}

/// Connects the clients. Each starts its work at once: a connection that waited for the last one to
/// be opened could be closed for being idle.
async fn open(plan: &Arc<Plan>, service: SocketAddr, clients: &mut JoinSet<()>) -> io::Result<()> {
    let started = Instant::now();
    let mut opening = stream::iter(0..plan.connections)
        .map(|id| Client::connect(id, service, Arc::clone(&plan.tally)))
        .buffer_unordered(OPENED_AT_ONCE);
    while let Some(client) = opening.next().await {
        let client = client?;
        let plan = Arc::clone(plan);
        clients.spawn(async move {
            if let Err(fault) = live(&plan, client).await {
                plan.tally.fault(fault);
            }
        });
        if started.elapsed() > OPENING_LIMIT {
            let text = format!("{OPENING_LIMIT:?} were not enough");
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
    }
    Ok(())
}

/// Plays the client's role until the run ends.
async fn live(plan: &Plan, mut client: Client) -> Result<(), Fault> {
    let id = client.id();
    let role = Role::of(id);
    let pause = pause(plan.connections);
    let mut random = Random::new(id);
    loop {
        let shift = match role {
            Role::Worker => Duration::MAX,
            Role::Subscriber => return client.follow(id + 3, || !plan.stopped()).await,
            Role::Staller | Role::Vanisher => random.millis(0..1_500),
        };
        let started = Instant::now();
        while !plan.stopped() && (started.elapsed() < shift || !plan.may_misbehave()) {
            client.work(&mut random, pause.clone()).await?;
        }
        if plan.stopped() {
            return Ok(());
        }
        match role {
            Role::Vanisher => client.vanish().await?,
            _ => client.stall(choose_stall(&mut random)).await?,
        }
        let reconnected = client.reconnect().await;
        client = reconnected.map_err(|_| Fault::NotConnected)?;
    }
}

/// The milliseconds a client waits before a request. They grow with the number of clients, so that
/// ten thousand of them keep more timers alive than a thousand but do not swamp the machine.
fn pause(connections: u64) -> Range<u64> {
    // The longest pause stays well below the idle timeout.
    let mean = (connections / 20).clamp(100, 550);
    mean / 5..mean * 9 / 5
}

fn choose_stall(random: &mut Random) -> Stall {
    match random.below(3) {
        0 => Stall::BetweenRequests,
        1 => Stall::WithinRequest,
        _ => Stall::Subscribed,
    }
}
