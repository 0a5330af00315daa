//! Sessions of an account, on the account page: `GET /account/sessions`, `POST /account/sessions/end` and
//! `POST /account/sign-out`. And *Stop my agents*: `POST /account/stop-agents`, `POST /account/resume-agents`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, header};
use purser_actors::answer::Time;
use purser_actors::engine::OperationError;
use purser_actors::entity::account::AccountView;
use purser_actors::entity::session::{AgentInfoView, AuthMethod, Rejection, Session};
use purser_actors::id::{ApiKeyId, PaymentId, SessionId};
use purser_actors::kernel::Entity as _;
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};

use super::account::refuse_frozen;
use super::app::App;
use super::auth::AuthClaims;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::owner::{account_operation_error, owner, unavailable};
use super::page_session::{PageSession, require_own_page, session};
use super::passkeys::require_confirmed;
use super::route::routes;

/// Maximum sessions in a list, newest first.
const MAX_SESSIONS_SHOWN: usize = 200;
/// Payments whose sessions are listed, newest first.
const MAX_PAYMENTS_SHOWN: usize = 50;

type SharedState = State<Arc<App>>;

routes! { pub(super) static ROUTES: Arc<App>, openapi;
    GET "/account/sessions" => get_sessions { Owner }
    POST "/account/sessions/end" => post_end { Owner, unkeyed("an ended session stays ended") }
    POST "/account/sign-out" => post_sign_out { Owner, unkeyed("an ended session stays ended") }
    POST "/account/stop-agents" => post_stop_agents { Owner, unkeyed("stopping again changes nothing") }
    POST "/account/resume-agents" => post_resume_agents { Owner, unkeyed("resuming again changes nothing"), confirmed() }
}

/// Where a session is.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum SessionKind {
    /// In a browser, with a cookie.
    Browser,
    /// In a program, with tokens.
    Token,
}

/// What opened a session.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum SessionOpening {
    /// The wallet signed in.
    Wallet,
    /// A payment of the wallet.
    Payment,
    /// An API key.
    ApiKey,
    /// A passkey of the account owner.
    Passkey,
}

/// A session of the account.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct SessionItem<'a> {
    /// `ses_…` is the id of the session.
    session_id: SessionId,
    /// `browser` or `token`.
    kind: SessionKind,
    /// `wallet`, `payment`, `api_key` or `passkey`: what opened it. A browser session has the rights of the session whose login link
    /// opened it.
    opened_by: SessionOpening,
    /// The payment that opened it.
    payment_id: Option<PaymentId>,
    /// The API key that opened it.
    api_key_id: Option<ApiKeyId>,
    /// For a browser session: the session that made its login link. It ends with that one.
    parent_session_id: Option<SessionId>,
    /// What the agent announced about itself.
    agent: Option<AgentInfoView<'a>>,
    /// When it was opened (RFC 3339).
    created_at: Time,
    /// When it was last refreshed (RFC 3339); null if that is not known.
    last_used_at: Option<Time>,
    /// When it ends by itself (RFC 3339).
    expires_at: Time,
    /// Whether this request was sent in it.
    current: bool,
}

/// Sessions of an account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SessionList<'a> {
    /// Sessions that have not ended, newest first.
    sessions: Vec<SessionItem<'a>>,
}

/// List the sessions of the account
///
/// Of browsers and of programs. Of the sessions that payments opened, those of the newest 50 payments. A page that an agent's
/// link opened sees the sessions of its API key or payment only.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/account/sessions", operation_id = "listSessions", tag = "Account pages",
    responses((status = 200, description = "Sessions that have not ended, newest first.", body = SessionList<'static>),
        (status = 401, description = "No session."), (status = 403, description = "Another page's request, or frozen."))))]
async fn get_sessions(State(app): SharedState, PageSession(claims): PageSession) -> Result<Response, ApiError> {
    refuse_frozen(&app.engine, &claims).await?;
    let open = app.open_sessions(&claims).await?;
    let shown = open.iter().map(|(id, session)| SessionItem {
        current: *id == claims.session,
        ..app.session_item(*id, session)
    });
    let sessions = shown.collect();
    Ok(json::private_ok(&SessionList { sessions }))
}

/// Request of `POST /account/sessions/end`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct EndSessionRequest {
    /// Id of the session.
    session_id: String,
}

/// A session that was ended.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct EndedSession {
    /// Id of the session.
    session_id: SessionId,
    /// Always true.
    ended: bool,
}

/// End a session of the account
///
/// Its tokens or its cookie get 401 at once, and its streams are closed. So are those of the browser sessions that its
/// login links opened.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/sessions/end", operation_id = "endSession", tag = "Account pages", request_body = inline(EndSessionRequest),
    responses((status = 200, description = "Ended.", body = EndedSession), (status = 400, description = "No `session_id`."),
        (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, or frozen."),
        (status = 404, description = "The account has no such session, or it has ended."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_end(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let sent: EndSessionRequest = app.body(body).await?;
    let unknown = || {
        let error = "The account has no such session, or it has ended.";
        ApiError::parameter(ErrorCode::SessionNotFound, "session_id", error)
    };
    let id: SessionId = sent.session_id.parse().map_err(|_| unknown())?;
    let found = app.engine.session(&id).await.map_err(|_| ApiError::internal())?;
    // Another account's session gets the same answer as none.
    found.filter(|found| found.owner == claims.wallet).ok_or_else(unknown)?;
    match app.engine.revoke_session(id).await {
        Ok(()) => Ok(json::private_ok(&EndedSession {
            session_id: id,
            ended: true,
        })),
        Err(OperationError::Rejected(Rejection::Revoked)) => Err(unknown()),
        Err(_) => Err(unavailable()),
    }
}

/// The end of the session of a browser.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SignedOut {
    /// Always true.
    signed_out: bool,
}

/// Sign out of this browser
///
/// Ends the session of the cookie, closes its streams and removes the cookie. Succeeds without a session too.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/sign-out", operation_id = "signOut", tag = "Account pages",
    responses((status = 200, description = "Signed out.", body = SignedOut),
        (status = 403, description = "Another page's request."))))]
async fn post_sign_out(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    require_own_page(&Method::POST, &headers, &app.pages.origins())?;
    // A frozen account's owner signs out too.
    if let Ok(claims) = session(&app, &headers).await {
        match app.engine.revoke_session(claims.session).await {
            Ok(()) | Err(OperationError::Rejected(Rejection::Revoked)) => {}
            Err(_) => return Err(unavailable()),
        }
    }
    let mut response = json::private_ok(&SignedOut { signed_out: true });
    let cleared = HeaderValue::from_str(&app.cookies.clear()).map_err(|_| ApiError::internal())?;
    response.headers_mut().insert(header::SET_COOKIE, cleared);
    Ok(response)
}

/// Whether agents may act.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AgentsAnswer {
    /// Since when the owner has stopped all agents (RFC 3339); null while they may act.
    agents_stopped_at: Option<Time>,
}

/// Stop all agents of the account
///
/// From now on nothing is accepted from a token, an API key or a wallet of the account: no purchase, payout, withdrawal,
/// transfer or paid call, and no reading. All API keys are revoked, all tokens and sessions of programs end, and their
/// streams are closed. The owner's browser sessions go on, and so does what is paid already.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/stop-agents", operation_id = "stopAgents", tag = "Account pages",
    responses((status = 200, description = "Stopped.", body = AgentsAnswer), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, or frozen."))))]
async fn post_stop_agents(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    set_stopped(&app, &headers, true).await
}

/// Let the agents of the account act again
///
/// With new sign-ins and new API keys: what the stop has ended stays ended.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/resume-agents", operation_id = "resumeAgents", tag = "Account pages",
    responses((status = 200, description = "Agents may act.", body = AgentsAnswer), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, or frozen."))))]
async fn post_resume_agents(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    set_stopped(&app, &headers, false).await
}

async fn set_stopped(app: &App, headers: &HeaderMap, stopped: bool) -> Result<Response, ApiError> {
    let claims = owner(app, headers).await?;
    // To stop must always be possible.
    if !stopped {
        require_confirmed(app, &claims).await?;
    }
    let set = app.engine.set_agents_stopped(claims.wallet, stopped).await;
    set.map_err(account_operation_error)?;
    let account = app.account_of_session(&claims).await?;
    let AccountView { agents_stopped_at, .. } = account.view(&claims.wallet);
    Ok(json::private_ok(&AgentsAnswer { agents_stopped_at }))
}

/// Whether a login link or a passkey opened the session.
const fn is_of_browser(session: &Session) -> bool {
    session.created_by.is_some() || session.amr.passkey().is_some()
}

/// Whether the session is of the API key or the payment behind these credentials.
fn is_of_same_agent(reader: AuthMethod, session: &Session) -> bool {
    match reader.key() {
        Some(key) => session.key() == Some(key),
        None => session.amr == reader,
    }
}

impl App {
    /// Sessions of an account that have not ended, newest first. The owner sees all, an agent those of its own API key or
    /// payment.
    ///
    /// # Errors
    /// 500 when storage fails.
    pub(super) async fn open_sessions(&self, reader: &AuthClaims) -> Result<Vec<(SessionId, Session)>, ApiError> {
        let (engine, owner) = (&self.engine, &reader.wallet);
        let mut found = engine
            .sessions_of(owner, MAX_SESSIONS_SHOWN)
            .await
            .map_err(|_| ApiError::internal())?;
        let (payments, _) = engine
            .payments_of(owner, None, MAX_PAYMENTS_SHOWN)
            .await
            .map_err(|_| ApiError::internal())?;
        for (_, payment) in payments {
            let Some(id) = payment.session() else { continue };
            let session = engine.session(&id).await.map_err(|_| ApiError::internal())?;
            found.extend(session.map(|session| (id, session)));
        }
        let now = self.clock.now();
        let mut open = Vec::new();
        for (id, session) in found {
            let is_over = self.session_expiry(&session) <= now;
            if !is_over
                && (reader.amr.is_owner() || is_of_same_agent(reader.amr, &session))
                && !engine
                    .has_session_ended(&id, &session)
                    .await
                    .map_err(|_| ApiError::internal())?
            {
                open.push((id, session));
            }
        }
        open.sort_by_key(|(id, session)| (std::cmp::Reverse(session.created_at), *id));
        Ok(open)
    }

    /// The session as a list shows it.
    pub(super) fn session_item<'a>(&self, id: SessionId, session: &'a Session) -> SessionItem<'a> {
        SessionItem {
            session_id: id,
            kind: if is_of_browser(session) {
                SessionKind::Browser
            } else {
                SessionKind::Token
            },
            opened_by: match session.amr {
                AuthMethod::Wallet => SessionOpening::Wallet,
                AuthMethod::Payment(_) => SessionOpening::Payment,
                AuthMethod::Key(_) => SessionOpening::ApiKey,
                AuthMethod::Passkey(_) => SessionOpening::Passkey,
            },
            payment_id: session.amr.payment(),
            api_key_id: session.amr.key(),
            parent_session_id: session.created_by,
            agent: session.agent.as_ref().map(|agent| agent.view()),
            created_at: session.created_at.into(),
            last_used_at: session.refreshed_at().map(Time::from),
            expires_at: self.session_expiry(session).into(),
            current: false,
        }
    }

    /// A browser's cookie has a time of its own.
    fn session_expiry(&self, session: &Session) -> Timestamp {
        let cookie_ms = self.config.identity.browser_session_seconds.saturating_mul(1_000);
        if is_of_browser(session) {
            session.created_at.plus_ms(cookie_ms)
        } else {
            session.expires_at
        }
    }
}
