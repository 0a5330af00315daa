//! `GET /events` and the upgrade of `GET /stream`.

use std::sync::Arc;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, Method};
use purser_storage::{Cursor, Span, Store, StoreError};
use serde::Serialize;
use serde_json::value::RawValue;

use super::auth::{AuthClaims, BearerAuth, MaybeBearer, TokenError, require_not_frozen};
use super::error::{ApiError, ErrorCode};
use super::json;
use super::page_address::PageAddress;
use super::page_session::{has_origin, require_own_page};
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use crate::stream::{AHEAD, ClientAccess, EventFilter, StreamContext, StreamEvent, is_ahead, upgrade};

/// Maximum events scanned for one page: a rare type must not read a whole history in one call.
const SCAN_LIMIT: usize = 5_000;
const SCAN_PAGE: usize = 500;

/// Shared by the two routes.
#[derive(Clone)]
pub struct EventState {
    pub stream: Arc<StreamContext>,
    /// Origin (scheme, host and port) that a browser must send with the session cookie.
    pub pages: PageAddress,
}

routes! { pub static ROUTES: EventState, openapi;
    GET "/events" => get_events {
        Token, refuses [TokenMissing, ParameterUnrecognized, ParameterInvalid, AccountFrozen, CursorAhead]
    }
    GET "/stream" => get_stream { Token, refuses [TokenInvalid, AccountFrozen, UpgradeRequired, StreamLimitReached] }
}

pub fn router(state: EventState) -> Router {
    ROUTES.router(state)
}

/// Response of `GET /events`.
#[derive(Serialize)]
struct EventPage {
    events: Vec<Box<RawValue>>,
    has_more: bool,
    /// Pass as `after` for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<Cursor>,
    /// Pass as `before` for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<Cursor>,
}

/// List the events of the account
///
/// In the order they happened, after a `seq`, or newest first with `order=desc`. Events are kept for 30 days. The
/// envelopes are those of `/stream`. `seq` grows with each event of the account and has no other meaning. The account
/// page reads events with its session cookie.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/events", operation_id = "listEvents", tag = "Events", security(("bearer" = [])),
    params(("after" = Option<u64>, Query, description = "The last `seq` the caller has; 0 for the oldest kept."),
        ("before" = Option<u64>, Query, description = "With `order=desc`: `next_before` of the page before."),
        ("order" = inline(Option<schemas::EventOrder>), Query, description = "`asc`, the default, or `desc`."),
        ("types" = Option<String>, Query, description = "Comma-separated types such as `card.ready` or `card.*`."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default.")),
    responses((status = 200, description = "`events`, `has_more`, and `next_after`, or `next_before` if more follow.", body = schemas::EventList),
        (status = 400, description = "A malformed parameter, or `cursor_ahead`: `after` is no event yet."),
        (status = 403, description = "Frozen."), (status = 401, description = "No good token."),
        (status = 410, description = "`cursor_expired`: events after that sequence are no longer kept."))))]
async fn get_events(
    State(state): State<EventState>,
    RawQuery(raw): RawQuery,
    MaybeBearer(bearer): MaybeBearer,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let claims = reader(&state, &bearer, &headers).await?;
    let query = Query::parse(raw.as_deref(), &["after", "before", "order", "types", "limit"])?;
    let (span, limit) = span_and_limit(&query)?;
    let filter = EventFilter::from_query(query.get("types").unwrap_or(""))
        .map_err(|why| ApiError::parameter(ErrorCode::ParameterInvalid, "types", why.to_string()))?;
    require_not_frozen(&*state.stream.gate, &claims).await?;
    let page = page(&*state.stream.store, &claims, span, limit, &filter).await;
    let page = page
        .map_err(|error| load_error(&error))?
        .ok_or_else(|| ApiError::parameter(ErrorCode::CursorAhead, "after", AHEAD))?;
    Ok(json::private(json::ok(&page)))
}

/// Authenticates the reader. Without a token the session cookie counts, in requests of our own pages.
async fn reader(state: &EventState, bearer: &BearerAuth, headers: &HeaderMap) -> Result<AuthClaims, ApiError> {
    let cookie = headers.get(COOKIE).and_then(|v| v.to_str().ok());
    if let (false, Some(cookie)) = (headers.contains_key(AUTHORIZATION), cookie) {
        match state.stream.authenticator.authenticate_session(cookie).await {
            Ok(claims) => {
                require_own_page(&Method::GET, headers, &state.pages.origins())?;
                return Ok(claims);
            }
            // Cookies of another site.
            Err(TokenError::Invalid) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bearer.claims().cloned()
}

/// Parses start, direction and page size.
fn span_and_limit(query: &Query) -> Result<(Span, usize), ApiError> {
    let stray = |name, error: &str| Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error.to_owned()));
    let span = match query.get("order").unwrap_or("asc") {
        order if order != "asc" && order != "desc" => return stray("order", "`order` is asc or desc."),
        "asc" if query.get("before").is_some() => return stray("before", "`before` goes with `order=desc`."),
        "asc" => Span::After(query.number("after", 0, 0, u64::MAX)?),
        "desc" if query.get("after").is_some() => return stray("after", "`after` goes with `order=asc`."),
        _ => Span::Before(query.number("before", u64::MAX, 0, u64::MAX)?),
    };
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).map_err(|_| ApiError::internal())?;
    Ok((span, limit))
}

/// Returns `None` if `after` is beyond the newest event of the account.
async fn page(
    store: &dyn Store,
    reader: &AuthClaims,
    mut span: Span,
    limit: usize,
    filter: &EventFilter,
) -> Result<Option<EventPage>, StoreError> {
    let subject = &*reader.wallet.key();
    let (mut events, mut looked, mut has_more) = (Vec::new(), 0, false);
    'reading: loop {
        // Steps that are not announced lie between the events of the page. What few events match is read in large parts.
        let part = match looked == 0 && filter.is_all() {
            true => (2 * limit + 1).min(SCAN_PAGE),
            false => SCAN_PAGE,
        };
        let read = store.events_of(subject, span, part).await?;
        if let (0, true, Span::After(after)) = (looked, read.is_empty(), span)
            && is_ahead(store, subject, after).await?
        {
            return Ok(None);
        }
        for event in &read {
            // At least one more event exists, which is enough for `has_more`.
            if events.len() == limit || looked == SCAN_LIMIT {
                has_more = true;
                break 'reading;
            }
            looked += 1;
            let event_of_type = StreamEvent::read(event).filter(|e| filter.matches(e.kind()));
            if let Some(event) = event_of_type.and_then(|event| event.seen_by(reader.amr)) {
                let envelope = RawValue::from_string(event.to_json());
                events.push(envelope.map_err(|e| StoreError::Corrupt(e.to_string()))?);
            }
            span = match span {
                Span::After(_) => Span::After(event.cursor),
                Span::Before(_) => Span::Before(event.cursor),
            };
        }
        if read.len() < part {
            break;
        }
    }
    let (next_after, next_before) = match span {
        Span::After(after) => (Some(after), None),
        Span::Before(before) => (None, has_more.then_some(before)),
    };
    Ok(Some(EventPage {
        events,
        has_more,
        next_after,
        next_before,
    }))
}

fn load_error(error: &StoreError) -> ApiError {
    match error {
        StoreError::Expired { oldest } => {
            let error = "Events after that sequence are no longer kept.";
            let hint = format!("What is kept begins at {oldest}; `after=0` begins with the oldest of it.");
            ApiError::new(ErrorCode::CursorExpired, error).param("after").hint(hint)
        }
        StoreError::Io(_) | StoreError::Corrupt(_) => {
            tracing::error!(%error, "events could not be read");
            ApiError::internal()
        }
    }
}

/// Subscribe to live events
///
/// A WebSocket. It authenticates by `Authorization: Bearer`, by the session cookie, or by a first message
/// `{"type":"auth","token":…}` within 5 seconds. Then send `{"type":"subscribe","after":seq,"types":[…]}`. The service
/// sends `{"type":"event","event":{…}}` and `{"type":"ping","cursor":seq}`, with the first ping at once. Without
/// `after` the stream begins with the next event. Resume after the last `seq` or `cursor`, whichever came last: no
/// event is lost or repeated. Invalid messages get `{"type":"error","code":…,"param":…,"error":…}`. Close codes: 1002
/// malformed frame; 4001 token missing, expired or revoked; 4003 account frozen; 4008 slow consumer, with the cursor in
/// the reason; 4010 cursor expired, with the oldest cursor in the reason; 4029 too many streams of the account, or too
/// many messages.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/stream", operation_id = "openStream", tag = "Events", security((), ("bearer" = [])),
    responses((status = 101, description = "The stream."), (status = 401, description = "The token is not good."),
        (status = 403, description = "Frozen, or a cookie from another page than ours."),
        (status = 426, description = "Not a WebSocket upgrade."),
        (status = 429, description = "Too many requests, or `stream_limit_reached` of this account."),
        (status = 503, description = "`stream_capacity_reached`: too many streams in all."))))]
async fn get_stream(
    State(state): State<EventState>,
    MaybeBearer(bearer): MaybeBearer,
    headers: HeaderMap,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let claims = admit(&state, &bearer, &headers).await?;
    if let Some(claims) = &claims {
        require_not_frozen(&*state.stream.gate, claims).await?;
    }
    let socket = socket.map_err(|_| ApiError::new(ErrorCode::UpgradeRequired, "This route only speaks WebSocket."))?;
    let hub = &state.stream.hub;
    let access = match claims {
        Some(claims) => {
            let subscription = hub.subscribe(claims.wallet, claims.revocation_ids());
            let subscription = subscription.map_err(|_| stream_limit(&state.stream))?;
            ClientAccess::Granted(
                Box::new(claims.clone()),
                subscription.of_owner(claims.is_owner_at_page()),
            )
        }
        None => ClientAccess::FirstMessage,
    };
    let seat = hub.acquire_slot().map_err(|_| {
        ApiError::unavailable(
            ErrorCode::StreamCapacityReached,
            "The service has as many streams as it can serve.",
            5,
        )
    })?;
    Ok(upgrade(socket, state.stream, access, seat))
}

/// 429: the account has its maximum of streams.
fn stream_limit(stream: &StreamContext) -> ApiError {
    let error = format!("The account has its {} streams.", stream.config.max_per_account);
    ApiError::new(ErrorCode::StreamLimitReached, error)
        .hint("Close one of them first.")
        .retry_after(5)
}

/// A cookie counts only together with our own Origin. A page of another site can make a browser send the cookie, but it
/// can't forge the Origin header.
///
/// Returns `None` if the first message must have a token.
async fn admit(state: &EventState, bearer: &BearerAuth, headers: &HeaderMap) -> Result<Option<AuthClaims>, ApiError> {
    match bearer {
        BearerAuth::Valid(claims) => return Ok(Some(claims.clone())),
        BearerAuth::Invalid(error) => return Err((*error).into()),
        BearerAuth::Absent => {}
    }
    let Some(cookie) = headers.get(COOKIE).and_then(|v| v.to_str().ok()) else {
        return Ok(None);
    };
    let claims = match state.stream.authenticator.authenticate_session(cookie).await {
        Ok(claims) => claims,
        // Cookies of another site.
        Err(TokenError::Invalid) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !has_origin(headers, &state.pages.origins()) {
        return Err(ApiError::new(
            ErrorCode::OriginNotAllowed,
            "A stream opened by cookie must come from our own page.",
        ));
    }
    Ok(Some(claims))
}
