//! `GET /admin/stream`: what changes for operators, as server-sent events: system events in order, and the queues whenever
//! one of them changes.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::response::Response;
use futures_util::stream;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use purser_actors::id::Wallet;
use purser_actors::operator::Permission;
use purser_storage::{Cursor, StoreError};
use tokio::sync::watch;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, any};
use super::auth::AdmissionRequest;
use super::queues::{self, QueueList};
use crate::http::auth::RequestId;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::stream::{ConnectionSlot, EventFilter, StreamEvent, SubscriberFeed, is_ahead, newest};

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/stream" => get_stream {
        Operator, without_head(), operation(||
            OperationDoc::get(
                Operation { id: "openOperatorStream", tag: "System" },
                Permission::Read,
                "Subscribe to system events and to changes of the queues, as server-sent events (`Accept: text/event-stream`). \
                 `queues` has the document of `/admin/queues`, first at once. `event` has a system event; its id is the cursor to \
                 resume from, with `after` or `Last-Event-ID`. `ping` confirms the cursor every 15 seconds. `ended` says why the \
                 stream ends",
                any,
            )
            .with("after", "integer", "Cursor of the last event; without it the stream begins with the next one.")
            .error(429, "Too many streams of operators.")
        )
    }
}

/// Interval of the pings, and of the checks that the operator is still admitted.
const PING_INTERVAL: Duration = Duration::from_secs(15);
const MEDIA_TYPE: &str = "text/event-stream";

async fn get_stream(
    State(admin): State<Arc<AdminState>>,
    request: RequestId,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    admit(&admin, &headers, request).await?;
    let query = Query::parse(query.as_deref(), &["after"])?;
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if !accepted.flat_map(|value| value.split(',')).any(|range| {
        let media = range.split(';').next().unwrap_or_default().trim();
        media.eq_ignore_ascii_case(MEDIA_TYPE)
    }) {
        let error = "This route sends server-sent events: `Accept: text/event-stream`.";
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "Accept", error));
    }
    // A browser that reconnects by itself repeats the last id in a header.
    let resumed = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let after = match query.get("after") {
        Some(_) => Some(query.number("after", 0, 0, u64::MAX)?),
        None => resumed,
    };
    let failed = |error: StoreError| {
        tracing::error!(%error, "system events could not be read");
        ApiError::internal()
    };
    let hub = &admin.metrics.hub;
    let subject = Wallet::SYSTEM.key();
    let subscription = hub.subscribe(Wallet::SYSTEM, [None; 3]).map_err(|_| limit())?;
    let slot = hub.acquire_slot().map_err(|_| limit())?;
    let after = match after {
        // The cursor of another server, or of deleted data: nothing to resume.
        Some(after) if is_ahead(&*admin.store, &subject, after).await.unwrap_or(false) => None,
        after => after,
    };
    let after = match after {
        Some(after) => after,
        None => newest(&*admin.store, &subject).await.map_err(failed)?,
    };
    let changes = admin.queues.subscribe();
    let current = queues::read(&admin.engine).await.map_err(failed)?;
    let mut pings = tokio::time::interval(PING_INTERVAL);
    pings.reset();
    let client = Client {
        feed: SubscriberFeed::new(admin.store.clone(), subscription, after, EventFilter::default()),
        changes,
        frames: VecDeque::from([queues_frame(&current.list)?, ping_frame(after)]),
        has_ended: false,
        headers,
        pings,
        request,
        admin,
        _slot: slot,
    };
    let frames = stream::unfold(client, |mut client| async move {
        let frame = client.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(frame)), client))
    });
    let mut response = json::private(Response::new(Body::from_stream(frames)));
    let media_type = HeaderValue::from_static(MEDIA_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    Ok(response)
}

async fn admit(admin: &AdminState, headers: &HeaderMap, request: RequestId) -> Result<(), ApiError> {
    let asked = AdmissionRequest {
        method: &Method::GET,
        path: "/admin/stream",
        headers,
    };
    let admitted = admin.operator_auth.authenticate(asked, request, Permission::Read);
    admitted.await.map(drop)
}

fn limit() -> ApiError {
    ApiError::new(ErrorCode::StreamLimitReached, "Operators have all their streams.")
        .hint("Close one of them first.")
        .retry_after(5)
}

/// One operator's connection.
struct Client {
    feed: SubscriberFeed,
    changes: watch::Receiver<QueueList>,
    frames: VecDeque<String>,
    has_ended: bool,
    /// The credentials, which are checked again.
    headers: HeaderMap,
    /// Goes on while events arrive: a session that has ended is noticed at the next tick.
    pings: tokio::time::Interval,
    request: RequestId,
    admin: Arc<AdminState>,
    _slot: ConnectionSlot,
}

impl Client {
    /// The next frame; `None` ends the response.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some(frame);
            }
            if self.has_ended {
                return None;
            }
            match self.feed.next().await {
                Ok(Some(event)) => {
                    self.frames.push_back(event_frame(&event));
                    continue;
                }
                Ok(None) => {}
                // Older events are gone; the oldest that are kept follow.
                Err(StoreError::Expired { .. }) => {
                    self.feed.restart(0, EventFilter::default());
                    continue;
                }
                Err(error) => {
                    tracing::error!(%error, "system events could not be read");
                    self.end("internal");
                    continue;
                }
            }
            if self.feed.subscription().is_stopping() {
                self.end("stopping");
                continue;
            }
            self.wait().await;
        }
    }

    async fn wait(&mut self) {
        tokio::select! {
            () = self.feed.subscription().notified() => {}
            changed = self.changes.changed() => match changed {
                Ok(()) => {
                    let frame = queues_frame(&self.changes.borrow_and_update());
                    self.frames.extend(frame.ok());
                }
                Err(_) => self.end("stopping"),
            },
            _ = self.pings.tick() => match admit(&self.admin, &self.headers, self.request).await {
                Ok(()) => self.frames.push_back(ping_frame(self.feed.cursor())),
                Err(error) => self.end(error.code.as_str()),
            },
        }
    }

    fn end(&mut self, why: &str) {
        self.frames
            .push_back(format!("event: ended\ndata: {{\"reason\":\"{why}\"}}\n\n"));
        self.has_ended = true;
    }
}

fn queues_frame(list: &QueueList) -> Result<String, ApiError> {
    let text = serde_json::to_string(list).map_err(|_| ApiError::internal())?;
    Ok(format!("event: queues\ndata: {text}\n\n"))
}

fn event_frame(event: &StreamEvent) -> String {
    format!("id: {}\nevent: event\ndata: {}\n\n", event.seq, event.to_json())
}

fn ping_frame(cursor: Cursor) -> String {
    format!("id: {cursor}\nevent: ping\ndata: {{\"cursor\":{cursor}}}\n\n")
}
