//! One WebSocket client from its upgrade to its close.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::{SinkExt, StreamExt};
use purser_actors::port::Clock;
use purser_storage::{Cursor, Store, StoreError};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep_until, timeout};

use super::close;
use super::frame::{ClientMessage, EventFilter, ProtocolError, event_frame, ping_frame};
use super::hub::{ConnectionSlot, FreezeState, Hub, Subscription};
use super::subscriber_feed::{self, SubscriberFeed};
use crate::config;
use crate::edge::auth::{AccountStatus, AuthClaims, Authenticator, Refusal};

/// Bytes per read of a client's socket; a longer message takes several reads. Each subscriber has such a buffer.
const READ_BUFFER_BYTES: usize = 256;
/// Frames are collected up to this size before they are written; all are written when the queue is empty. The buffer of
/// a client that received this much at once is not shrunk.
const WRITE_BUFFER_BYTES: usize = 4 * 1024;
/// Between two writes of events to one of our pages. A person sees no difference, and a busy account with many open pages
/// does not cost a write for each event and page. Programs get every event at once.
const PAGE_PAUSE: Duration = Duration::from_millis(100);

pub struct StreamContext {
    /// Source of live events.
    pub hub: Arc<Hub>,
    /// Source of older events.
    pub store: Arc<dyn Store>,
    /// Validates the token of a first message.
    pub authenticator: Arc<dyn Authenticator>,
    /// Knows frozen accounts.
    pub gate: Arc<dyn AccountStatus>,
    /// Wall clock, for token expiry.
    pub clock: Arc<dyn Clock>,
    pub config: config::Stream,
}

/// How a client authenticates.
pub enum ClientAccess {
    /// By header or cookie. Subscribed before the upgrade, so that exceeding the limit is reported as an HTTP error.
    Granted(Box<AuthClaims>, Subscription),
    /// Not yet: its first message must contain a token.
    FirstMessage,
}

/// Answers the upgrade and serves the client, which occupies its slot to the end.
pub fn upgrade(
    socket: WebSocketUpgrade,
    state: Arc<StreamContext>,
    access: ClientAccess,
    seat: ConnectionSlot,
) -> Response {
    let most = state.config.max_message_bytes;
    socket
        .max_message_size(most)
        .max_frame_size(most)
        // The buffer is zeroed at each read, and clients send little.
        .read_buffer_size(READ_BUFFER_BYTES)
        // Frames that are queued together are sent together.
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(state.config.buffer_bytes.saturating_mul(4).max(1 << 20))
        .on_upgrade(move |socket| async move {
            let _seat = seat;
            let mut client = Client {
                socket,
                send_timeout: Duration::from_millis(state.config.send_timeout_ms),
                handed: 0,
            };
            let end = match serve(&mut client, &state, access).await {
                ControlFlow::Break(end) => end,
                ControlFlow::Continue(()) => StreamEnd::Disconnected,
            };
            let grace = Duration::from_millis(state.config.close_grace_ms);
            client.close(end, grace).await;
        })
}

enum StreamEnd {
    /// The connection is unusable: the client vanished.
    Disconnected,
    /// The client closes, and gets its own code in response.
    Closed,
    /// We close, with a code and a reason of at most 123 bytes.
    Close(u16, String),
}

fn close_with(code: u16, reason: &str) -> StreamEnd {
    StreamEnd::Close(code, reason.to_owned())
}

/// The client's bytes cannot be parsed. If the connection has ended instead, the close frame is not delivered.
fn broken() -> StreamEnd {
    close_with(close::PROTOCOL_ERROR, "this is no frame that can be read")
}

struct Client {
    socket: WebSocket,
    send_timeout: Duration,
    /// The cursor of the newest event passed to the socket: accepted events are sent before a close.
    handed: Cursor,
}

impl Client {
    /// Passes a frame to the socket; it is sent with the next flush at the latest.
    async fn feed(&mut self, text: impl Into<Utf8Bytes>, seq: Cursor) -> ControlFlow<StreamEnd> {
        let fed = timeout(self.send_timeout, self.socket.feed(Message::text(text))).await;
        self.check_send(fed)?;
        self.handed = seq;
        ControlFlow::Continue(())
    }

    /// Waits until all frames are sent, or the client is found too slow.
    async fn flush(&mut self) -> ControlFlow<StreamEnd> {
        let flushed = timeout(self.send_timeout, self.socket.flush()).await;
        self.check_send(flushed)
    }

    /// Sends a frame that is not an event.
    async fn send(&mut self, text: String) -> ControlFlow<StreamEnd> {
        self.feed(text, self.handed).await?;
        self.flush().await
    }

    fn check_send(&self, result: Result<Result<(), axum::Error>, Elapsed>) -> ControlFlow<StreamEnd> {
        match result {
            Ok(Ok(())) => ControlFlow::Continue(()),
            Ok(Err(_)) => ControlFlow::Break(StreamEnd::Disconnected),
            Err(_) => {
                let reason = format!("{{\"cursor\":{}}}", self.handed);
                ControlFlow::Break(StreamEnd::Close(close::TOO_SLOW, reason))
            }
        }
    }

    /// The closing handshake (RFC 6455, 7.1.2), started by either side, within `grace`; then the connection ends.
    async fn close(mut self, end: StreamEnd, grace: Duration) {
        let goodbye = async {
            match end {
                StreamEnd::Disconnected => return,
                // The response was prepared when the client's frame was read, and is sent with this flush.
                StreamEnd::Closed => {
                    if self.socket.flush().await.is_err() {
                        return;
                    }
                }
                StreamEnd::Close(code, reason) => {
                    let reason = reason.into();
                    let frame = Message::Close(Some(CloseFrame { code, reason }));
                    if self.socket.send(frame).await.is_err() {
                        return;
                    }
                }
            }
            // Wait until the client has closed too. Closing with unread bytes resets the connection, and frames the
            // client has not read yet, the close frame included, would be lost.
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        let _ = timeout(grace, goodbye).await;
    }
}

async fn serve(client: &mut Client, state: &StreamContext, access: ClientAccess) -> ControlFlow<StreamEnd> {
    let (claims, subscription) = match access {
        ClientAccess::Granted(claims, subscription) => (*claims, subscription),
        ClientAccess::FirstMessage => {
            let claims = first_message(client, state).await?;
            match state.hub.subscribe(claims.wallet, claims.revocation_ids()) {
                Ok(subscription) => (claims, subscription),
                Err(full) => return ControlFlow::Break(close_with(close::TOO_MANY, &full.to_string())),
            }
        }
    };
    // A revocation or freeze before the subscription had nothing to close. A later one does.
    if state.gate.is_revoked(&claims) {
        return ControlFlow::Break(close_with(close::UNAUTHORIZED, "the session has ended"));
    }
    if let Some(refusal) = state.gate.refusal(&claims).await {
        return refused(refusal);
    }
    let feed = SubscriberFeed::new(state.store.clone(), subscription, client.handed, EventFilter::default());
    let feed = feed.for_reader(claims.amr);
    Session {
        feed,
        subscribed: false,
        minute: 0,
        messages_received: 0,
        frozen_since: None,
        has_fed: false,
        paused_until: None,
    }
    .run(client, state, &claims)
    .await
}

fn expired<T>() -> ControlFlow<StreamEnd, T> {
    ControlFlow::Break(close_with(close::UNAUTHORIZED, "the token has expired"))
}

fn refused<T>(refusal: Refusal) -> ControlFlow<StreamEnd, T> {
    match refusal {
        Refusal::Frozen(_) => frozen(),
        Refusal::AgentsStopped => {
            let why = "the account's owner has stopped all agents";
            ControlFlow::Break(close_with(close::UNAUTHORIZED, why))
        }
        Refusal::Ended => ControlFlow::Break(close_with(close::UNAUTHORIZED, "the session has ended")),
    }
}

fn frozen<T>() -> ControlFlow<StreamEnd, T> {
    ControlFlow::Break(close_with(close::FROZEN, "the account is frozen"))
}

/// The token must arrive as the first message, in time.
async fn first_message(client: &mut Client, state: &StreamContext) -> ControlFlow<StreamEnd, AuthClaims> {
    let unauthorized = |why: &str| ControlFlow::Break(close_with(close::UNAUTHORIZED, why));
    let within = Duration::from_millis(state.config.auth_timeout_ms);
    let message = match timeout(within, client.socket.next()).await {
        Err(_) => return unauthorized("no token in time"),
        Ok(None) => return ControlFlow::Break(StreamEnd::Disconnected),
        Ok(Some(Err(_))) => return ControlFlow::Break(broken()),
        Ok(Some(Ok(Message::Close(_)))) => return ControlFlow::Break(StreamEnd::Closed),
        Ok(Some(Ok(message))) => message,
    };
    let frame = message.to_text().map(ClientMessage::read);
    let Ok(Ok(ClientMessage::Auth { token })) = frame else {
        return unauthorized("the first message must be auth");
    };
    match state.authenticator.authenticate(&token) {
        Ok(claims) => match state.gate.refusal(&claims).await {
            Some(refusal) => refused(refusal),
            None => ControlFlow::Continue(claims),
        },
        Err(_) => unauthorized("the token is not good"),
    }
}

struct Session {
    feed: SubscriberFeed,
    /// Nothing is sent before the client has sent its start position.
    subscribed: bool,
    /// The minute of the wall clock that `messages_received` counts.
    minute: u64,
    /// Messages received in it.
    messages_received: u32,
    /// When the freeze of the account was noticed.
    frozen_since: Option<Instant>,
    /// Whether an event was passed to the socket since the last flush.
    has_fed: bool,
    /// Events wait until then: see [`PAGE_PAUSE`].
    paused_until: Option<Instant>,
}

impl Session {
    async fn run(&mut self, client: &mut Client, state: &StreamContext, claims: &AuthClaims) -> ControlFlow<StreamEnd> {
        let left_ms = claims.expires_at.0.saturating_sub(state.clock.now().0);
        let mut expiry = std::pin::pin!(tokio::time::sleep(Duration::from_millis(left_ms)));
        let ping_every = Duration::from_millis(state.config.ping_interval_ms);
        let phase = self.feed.subscription().phase(ping_every);
        let mut ping = tokio::time::interval_at(Instant::now() + phase, ping_every);
        let grace = Duration::from_millis(state.config.close_grace_ms);
        loop {
            self.check_signals()?;
            // The sandbox's time may have been moved since the timer was set.
            if claims.expires_at <= state.clock.now() {
                return expired();
            }
            let freeze = self.frozen(grace)?;
            if self.subscribed && self.pause().is_none() {
                // One event per turn: client messages and signals are handled between any two events.
                match self.feed.next().await {
                    Ok(Some(event)) => {
                        client.feed(event_frame(&event), event.seq).await?;
                        self.has_fed = true;
                        if let Some(message) = futures_util::FutureExt::now_or_never(client.socket.next()) {
                            self.read_message(client, state, message).await?;
                        }
                        continue;
                    }
                    Ok(None) => {
                        client.handed = self.feed.cursor();
                        client.flush().await?;
                        if std::mem::take(&mut self.has_fed) && claims.of_page {
                            self.paused_until = Some(Instant::now() + PAGE_PAUSE);
                        }
                        if freeze == FreezeState::EventDelivered {
                            return frozen();
                        }
                    }
                    Err(error) => return ControlFlow::Break(of_store(&error)),
                }
            }
            let pause = self.pause();
            tokio::select! {
                biased;
                // What arrives meanwhile is noticed after the pause.
                () = self.feed.subscription().notified(), if pause.is_none() => {}
                () = sleep_until(pause.unwrap_or_else(Instant::now)), if pause.is_some() => {}
                () = self.feed.subscription().filled(), if pause.is_some() => self.paused_until = None,
                message = client.socket.next() => self.read_message(client, state, message).await?,
                () = &mut expiry => return expired(),
                () = tokio::time::sleep(grace), if freeze == FreezeState::EventPending => {}
                _ = ping.tick() => {
                    let cursor = self.subscribed.then(|| self.feed.cursor());
                    client.send(ping_frame(cursor)).await?;
                }
            }
        }
    }

    /// When the pause between two writes of events ends, if it lasts.
    fn pause(&self) -> Option<Instant> {
        self.paused_until.filter(|until| *until > Instant::now())
    }

    fn check_signals(&self) -> ControlFlow<StreamEnd> {
        let subscription = self.feed.subscription();
        if subscription.is_revoked() {
            return ControlFlow::Break(close_with(close::UNAUTHORIZED, "the session was revoked"));
        }
        if subscription.is_stopping() {
            let reason = format!("{{\"cursor\":{}}}", self.feed.cursor());
            return ControlFlow::Break(StreamEnd::Close(close::GOING_AWAY, reason));
        }
        ControlFlow::Continue(())
    }

    /// A frozen account's stream ends when its client has received the freeze event, or after the grace time. A client
    /// that reads old events as slowly as allowed does not stay connected.
    fn frozen(&mut self, grace: Duration) -> ControlFlow<StreamEnd, FreezeState> {
        let freeze = self.feed.subscription().freeze();
        if freeze == FreezeState::None {
            return ControlFlow::Continue(freeze);
        }
        let since = *self.frozen_since.get_or_insert_with(Instant::now);
        if !self.subscribed || since.elapsed() >= grace {
            return frozen();
        }
        ControlFlow::Continue(freeze)
    }

    /// Closes a client that sends more messages in a minute than allowed.
    fn count(&mut self, state: &StreamContext) -> ControlFlow<StreamEnd> {
        let minute = state.clock.now().seconds() / 60;
        if minute != self.minute {
            (self.minute, self.messages_received) = (minute, 0);
        }
        self.messages_received = self.messages_received.saturating_add(1);
        if self.messages_received > state.config.messages_per_minute {
            state.hub.record_rate_limited();
            return ControlFlow::Break(close_with(close::TOO_MANY, "too many messages"));
        }
        ControlFlow::Continue(())
    }

    async fn read_message(
        &mut self,
        client: &mut Client,
        state: &StreamContext,
        message: Option<Result<Message, axum::Error>>,
    ) -> ControlFlow<StreamEnd> {
        let frame = match message {
            None => return ControlFlow::Break(StreamEnd::Disconnected),
            Some(Err(_)) => return ControlFlow::Break(broken()),
            Some(Ok(Message::Close(_))) => return ControlFlow::Break(StreamEnd::Closed),
            Some(Ok(message)) => {
                self.count(state)?;
                match message {
                    Message::Text(text) => ClientMessage::read(text.as_str()),
                    Message::Binary(_) => ClientMessage::read(""),
                    Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return ControlFlow::Continue(()),
                }
            }
        };
        let followed = match frame {
            Ok(ClientMessage::Pong {}) => return ControlFlow::Continue(()),
            Ok(ClientMessage::Subscribe { after, types }) => match self.subscribe(state, after, types).await {
                Ok(followed) => followed,
                Err(error) => return ControlFlow::Break(of_store(&error)),
            },
            Ok(ClientMessage::Auth { .. }) => Err(ProtocolError::already_authenticated()),
            Err(complaint) => Err(complaint),
        };
        let answer = match followed {
            Ok(cursor) => {
                client.handed = cursor;
                ping_frame(Some(cursor))
            }
            Err(complaint) => complaint.to_json(),
        };
        client.send(answer).await
    }

    /// Restarts after a cursor and returns that cursor.
    async fn subscribe(
        &mut self,
        state: &StreamContext,
        after: Option<Cursor>,
        types: Vec<String>,
    ) -> Result<Result<Cursor, ProtocolError>, StoreError> {
        let filter = match EventFilter::new(types) {
            Ok(filter) => filter,
            Err(why) => return Ok(Err(ProtocolError::of_types(&why))),
        };
        let (store, subject) = (&*state.store, self.feed.subscription().subject());
        let after = match after {
            Some(after) if subscriber_feed::is_ahead(store, subject, after).await? => {
                return Ok(Err(ProtocolError::cursor_ahead()));
            }
            Some(after) => after,
            None if self.subscribed => self.feed.cursor(),
            // Later events are in the subscription's queue.
            None => subscriber_feed::newest(store, subject).await?,
        };
        self.feed.restart(after, filter);
        self.subscribed = true;
        self.paused_until = None;
        Ok(Ok(after))
    }
}

fn of_store(error: &StoreError) -> StreamEnd {
    match error {
        StoreError::Expired { oldest } => StreamEnd::Close(close::EXPIRED_CURSOR, format!("{{\"oldest\":{oldest}}}")),
        StoreError::Io(_) | StoreError::Corrupt(_) => {
            tracing::error!(%error, "a stream could not read the store");
            close_with(close::INTERNAL, "events cannot be read")
        }
    }
}
