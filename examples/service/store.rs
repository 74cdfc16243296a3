//! The entries of the service and their times to live: one task owns both.
//!
//! This file is compiled twice, once below `on_tokio` and once below `on_cogwheel`;
//! `super::{delay_queue, time}` is the one difference.

use std::collections::HashMap;
use std::collections::hash_map;

use futures::StreamExt;
use tokio::sync::{mpsc, oneshot, watch};

use super::delay_queue::{DelayQueue, Key};
use super::metered::METER;
use super::time::{Duration, Instant};
use crate::meter::Ticket;

/// Commands that may wait for the store before a sender has to wait too.
const WAITING_COMMANDS: usize = 1_024;

/// A handle to the store. All handles dropped, the store ends.
#[derive(Clone)]
pub(crate) struct Store {
    commands: mpsc::Sender<Command>,
}

/// The store has ended.
pub(crate) struct StoreClosed;

enum Command {
    Set {
        key: String,
        value: String,
        ttl: Duration,
        done: oneshot::Sender<()>,
    },
    Get {
        key: String,
        done: oneshot::Sender<Option<String>>,
    },
    Subscribe {
        key: String,
        done: oneshot::Sender<Changes>,
    },
}

/// The latest value of one key, `None` once it has expired.
pub(crate) type Changes = watch::Receiver<Option<String>>;

impl Store {
    /// Starts the store's task on the current runtime.
    pub(crate) fn start() -> Self {
        let (commands, receiver) = mpsc::channel(WAITING_COMMANDS);
        tokio::spawn(Entries::default().run(receiver));
        Self { commands }
    }

    /// Stores `value` for as long as `ttl`.
    pub(crate) async fn set(
        &self,
        key: &str,
        value: &str,
        ttl: Duration,
    ) -> Result<(), StoreClosed> {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.ask(|done| Command::Set {
            key,
            value,
            ttl,
            done,
        })
        .await
    }

    /// The value of `key`, if it has one that has not expired.
    pub(crate) async fn get(&self, key: &str) -> Result<Option<String>, StoreClosed> {
        let key = key.to_owned();
        self.ask(|done| Command::Get { key, done }).await
    }

    /// Follows the changes of `key`.
    pub(crate) async fn subscribe(&self, key: &str) -> Result<Changes, StoreClosed> {
        let key = key.to_owned();
        self.ask(|done| Command::Subscribe { key, done }).await
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, StoreClosed> {
        let (done, answer) = oneshot::channel();
        let sent = self.commands.send(command(done)).await;
        sent.map_err(|_| StoreClosed)?;
        answer.await.map_err(|_| StoreClosed)
    }
}

/// What the store's task owns.
#[derive(Default)]
struct Entries {
    entries: HashMap<String, Entry>,
    /// The key of each entry, due when the entry expires.
    expiries: DelayQueue<String>,
    subscribers: HashMap<String, watch::Sender<Option<String>>>,
}

struct Entry {
    value: String,
    expiry: Key,
    ticket: Ticket,
}

impl Entries {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => return,
                },
                // An empty queue yields `None`: the branch rests until the next command.
                Some(expired) = self.expiries.next() => self.expire(expired.get_ref()),
            }
        }
    }

    fn obey(&mut self, command: Command) {
        // An asker that has gone away needs no answer.
        match command {
            Command::Set {
                key,
                value,
                ttl,
                done,
            } => {
                self.set(key, value, ttl);
                let _ = done.send(());
            }
            Command::Get { key, done } => {
                let value = self.entries.get(&key).map(|entry| entry.value.clone());
                let _ = done.send(value);
            }
            Command::Subscribe { key, done } => {
                let _ = done.send(self.subscribe(key));
            }
        }
    }

    fn set(&mut self, key: String, value: String, ttl: Duration) {
        let deadline = Instant::now() + ttl;
        self.publish(&key, Some(&value));
        match self.entries.entry(key) {
            hash_map::Entry::Occupied(mut occupied) => {
                let entry = occupied.get_mut();
                self.expiries.reset_at(&entry.expiry, deadline);
                entry.ticket.arm(deadline);
                entry.value = value;
            }
            hash_map::Entry::Vacant(vacant) => {
                let expiry = self.expiries.insert_at(vacant.key().clone(), deadline);
                vacant.insert(Entry {
                    value,
                    expiry,
                    ticket: Ticket::new(&METER, deadline),
                });
            }
        }
    }

    fn expire(&mut self, key: &str) {
        if let Some(mut entry) = self.entries.remove(key) {
            entry.ticket.fire();
        }
        self.publish(key, None);
    }

    fn subscribe(&mut self, key: String) -> Changes {
        let current = self.entries.get(&key).map(|entry| entry.value.clone());
        let subscribers = self.subscribers.entry(key);
        subscribers
            .or_insert_with(|| watch::Sender::new(current))
            .subscribe()
    }

    fn publish(&mut self, key: &str, value: Option<&str>) {
        if let Some(subscribers) = self.subscribers.get(key)
            && subscribers.send(value.map(str::to_owned)).is_err()
        {
            // The last subscriber has gone.
            self.subscribers.remove(key);
        }
    }
}
