//! What both ends of a connection agree on: the lines they exchange, and the time limits.
//!
//! | request | answer |
//! |---|---|
//! | `SET key value ttl-in-ms` | `OK`; the entry expires after its time to live |
//! | `GET key` | `VALUE value`, or `NONE` |
//! | `SUB key` | `OK`, then `VALUE value` or `NONE` at each change and `PING` at each keep-alive |
//! | `PONG` | nothing: it is a subscriber's answer to `PING` |
//! | anything else | `ERR reason` |

use std::borrow::Cow;
use std::time::Duration;

/// A connection that sends nothing for this long is closed. Every packet starts it anew.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// A request that takes longer ends its connection.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
/// The time between two `PING`s to a subscriber.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_millis(500);
/// A longer line ends its connection: a peer must not be able to fill the memory.
pub(crate) const MAX_LINE: usize = 1_024;

pub(crate) const OK: &str = "OK\n";
pub(crate) const NONE: &str = "NONE\n";
pub(crate) const PING: &str = "PING\n";
pub(crate) const PONG: &str = "PONG\n";

/// One request, borrowed from its line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request<'a> {
    Set {
        key: &'a str,
        value: &'a str,
        ttl: Duration,
    },
    Get {
        key: &'a str,
    },
    Subscribe {
        key: &'a str,
    },
    Pong,
}

impl<'a> Request<'a> {
    /// Reads a request from a line without its line feed.
    ///
    /// # Errors
    ///
    /// The reason that goes into the `ERR` answer.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, &'static str> {
        let line = str::from_utf8(line).map_err(|_| "not UTF-8")?;
        let mut words = line.split_ascii_whitespace();
        let request = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("SET"), Some(key), Some(value), Some(ttl)) => {
                let ttl = ttl.parse().map_err(|_| "the ttl is not a number")?;
                Self::Set {
                    key,
                    value,
                    ttl: Duration::from_millis(ttl),
                }
            }
            (Some("GET"), Some(key), None, None) => Self::Get { key },
            (Some("SUB"), Some(key), None, None) => Self::Subscribe { key },
            (Some("PONG"), None, None, None) => Self::Pong,
            _ => return Err("unknown request"),
        };
        match words.next() {
            None => Ok(request),
            Some(_) => Err("too many words"),
        }
    }
}

/// The answer that carries a value.
pub(crate) fn value_line(value: Option<&str>) -> Cow<'static, str> {
    match value {
        Some(value) => Cow::Owned(format!("VALUE {value}\n")),
        None => Cow::Borrowed(NONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_read() {
        for (line, wanted) in [
            (
                "SET name ada 250",
                Request::Set {
                    key: "name",
                    value: "ada",
                    ttl: Duration::from_millis(250),
                },
            ),
            ("GET name", Request::Get { key: "name" }),
            ("SUB name", Request::Subscribe { key: "name" }),
            ("PONG", Request::Pong),
            ("PONG\r", Request::Pong),
        ] {
            assert_eq!(Request::parse(line.as_bytes()), Ok(wanted), "{line:?}");
        }
    }

    #[test]
    fn each_wrong_request_gets_its_reason() {
        for (line, wanted) in [
            (&b""[..], "unknown request"),
            (b"get name", "unknown request"),
            (b"GET", "unknown request"),
            (b"GET name other", "unknown request"),
            (b"SET name ada", "unknown request"),
            (b"SET name ada soon", "the ttl is not a number"),
            (b"SET name ada -1", "the ttl is not a number"),
            (b"SET name ada 1 2", "too many words"),
            (b"GET \xff", "not UTF-8"),
        ] {
            assert_eq!(Request::parse(line), Err(wanted), "{line:?}");
        }
    }
}
