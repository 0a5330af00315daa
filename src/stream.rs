//! Events to whoever watches: `GET /stream` (WebSocket) and `GET /events` (pages).
//!
//! The store's [`purser_storage::Cursor`] is the only one: it grows with the account's events and shows nothing of the others'.
//! It is called `seq` on an event. A subscriber first registers with the [`Hub`], then reads the store up
//! to its end, then takes what the hub has collected meanwhile, skipping what it has sent already. An event is
//! durable before it is published, so one published before the registration is found by the read, and one after it
//! in the queue: no gap, and the skip leaves no duplicate.
//!
//! Memory is bounded by bytes, not by hope: a queue that overflows is thrown away, and its client is served from
//! the store again.

mod frame;
mod hub;
mod socket;
mod subscriber_feed;

pub use frame::{AHEAD, ClientMessage, EventFilter, FilterError, ProtocolError, StreamEvent};
pub use hub::{BufferContents, ConnectionSlot, FreezeState, Hub, SubscribeError, Subscription};
pub use socket::{ClientAccess, StreamContext, upgrade};
pub use subscriber_feed::{SubscriberFeed, is_ahead, newest};

/// Close codes of `/stream`.
pub mod close {
    /// No credential in time, or it ended or was revoked.
    pub const UNAUTHORIZED: u16 = 4001;
    /// The account is frozen: tokens are good, and the page behind `/get-auth-link` says why.
    pub const FROZEN: u16 = 4003;
    /// The client does not read; the reason holds its cursor.
    pub const TOO_SLOW: u16 = 4008;
    /// The events after the client's cursor are no longer kept; the reason holds the oldest.
    pub const EXPIRED_CURSOR: u16 = 4010;
    /// Too many streams of this account, or messages of this client.
    pub const TOO_MANY: u16 = 4029;
    /// What the client sent is no WebSocket frame that may come here (RFC 6455, protocol error).
    pub const PROTOCOL_ERROR: u16 = 1002;
    /// The service is stopping (RFC 6455, going away).
    pub const GOING_AWAY: u16 = 1001;
    /// The store could not be read (RFC 6455, internal error).
    pub const INTERNAL: u16 = 1011;
}
