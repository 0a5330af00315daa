//! Delivers events to subscribers: `GET /stream` (WebSocket) and `GET /events` (pages).
//!
//! The only cursor is the store's [`purser_storage::Cursor`], which events call `seq`. It grows with the account's
//! events and reveals nothing about other accounts. A subscriber first registers with the [`Hub`]. It then reads the
//! store to its end, takes what the hub has collected meanwhile, and skips what it has already sent. An event is
//! durable before it is published. The read finds events published before the registration, and the queue has those
//! after it, so there is no gap. The skip removes duplicates.
//!
//! Memory is bounded in bytes: a queue that overflows is discarded, and its client is served from the store again.

mod frame;
mod hub;
mod socket;
mod subscriber_feed;

pub use frame::{AHEAD, ClientMessage, EventFilter, FilterError, ProtocolError, QueuedEvent, StreamEvent};
pub use hub::{BufferContents, ConnectionSlot, FreezeState, Hub, SubscribeError, Subscription};
pub use socket::{ClientAccess, StreamContext, upgrade};
pub use subscriber_feed::{SubscriberFeed, is_ahead, newest};

pub mod close {
    /// No credential in time, or it expired or was revoked.
    pub const UNAUTHORIZED: u16 = 4001;
    /// The account is frozen: tokens remain valid, and the page behind `/get-auth-link` shows the reason.
    pub const FROZEN: u16 = 4003;
    /// The client does not read; the reason contains its cursor.
    pub const TOO_SLOW: u16 = 4008;
    /// The events after the client's cursor are no longer retained; the reason contains the oldest cursor.
    pub const EXPIRED_CURSOR: u16 = 4010;
    /// Too many streams of this account, or messages of this client.
    pub const TOO_MANY: u16 = 4029;
    /// The client sent an invalid WebSocket frame (RFC 6455, protocol error).
    pub const PROTOCOL_ERROR: u16 = 1002;
    /// The service is stopping (RFC 6455, going away).
    pub const GOING_AWAY: u16 = 1001;
    /// The store could not be read (RFC 6455, internal error).
    pub const INTERNAL: u16 = 1011;
}
