//! `/claim`: the page behind a signup's `claim_url`. It shows the code to any visitor. Its form needs the session
//! cookie of a wallet that signed in, and must come from our own page.
//!
//! The cookie is `SameSite=Strict`, so a browser that follows a link from a chat does not send it with the page. A form
//! of our own page sends it.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use purser_actors::engine::OperationError;
use purser_actors::entity::api_key::{MAX_NAME_LEN, Rejection};

use super::super::agent_wallet::text;
use super::super::api_keys::map_error;
use super::super::auth::Authenticator as _;
use super::super::error::{ApiError, ErrorCode, with_prebuilt_body};
use super::super::form_pages::{accepts, error_page, parse_form, redirect_or_error, redirect_to_login};
use super::super::owner::signed_in_owner;
use super::super::page_session::{cookie_of, has_origin};
use super::super::passkeys::require_confirmed;
use super::super::query::Query;
use super::super::sandbox_identity_page::framed;
use super::{SharedState, expired};
use crate::http::app::App;
use crate::identity::api_key::Signup;

const HTML: &str = include_str!("../pages/claim.html");
/// The longest name, percent-encoded, and the signup.
const MAX_FORM_BYTES: usize = 2_048;

/// Show the approval page of a signup
///
/// Changes nothing, so a link preview does not use up the link.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/claim", operation_id = "showClaimPage", tag = "Account pages",
    params(("signup" = Option<String>, Query, description = "Of the link.")),
    responses((status = 200, description = "The code, with a form if the account owner is signed in and with sign-in instructions otherwise.", body = String, content_type = "text/html"),
        (status = 404, description = "The link is not one.", body = String, content_type = "text/html"),
        (status = 410, description = "Answered already, or too late.", body = String, content_type = "text/html"))))]
pub(super) async fn get_claim(
    State(state): SharedState,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["signup"]).ok();
    let Some(signup) = query.and_then(|query| state.signups.parse_claim_key(query.get("signup")?)) else {
        return Ok(page(
            StatusCode::NOT_FOUND,
            "<p role=\"alert\">This link is not valid.</p>",
        ));
    };
    if state.signup_key(signup).await?.is_some() {
        let notice = "<p role=\"status\">This was answered already.</p>\n  <p><a href=\"/login\">Your account</a></p>";
        return Ok(page(StatusCode::GONE, notice));
    }
    if signup.is_expired(state.clock.now()) {
        let notice = "<p role=\"status\">This link is too old. The agent has to ask again.</p>";
        return Ok(page(StatusCode::GONE, notice));
    }
    let claims = state.authenticator.authenticate_session(cookie_of(&headers)).await;
    let may = claims.is_ok_and(|claims| claims.is_signed_in());
    Ok(page(StatusCode::OK, &state.claim_offer(signup, may)))
}

/// Approve an API key
///
/// A form of the page, with `signup` and a `name` for the key (a default if empty). Creates the API key for the
/// signed-in account.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/claim", operation_id = "claimSignup", tag = "Account pages",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Made: to the account page, which lists it."),
        (status = 400, description = "A field that it cannot have."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's form, a session from a payment or an API key, not confirmed, or frozen."),
        (status = 404, description = "There is no such signup."), (status = 408, description = "The body did not come."),
        (status = 409, description = "Another account approved the signup, or this account has the maximum number of keys."),
        (status = 410, description = "Too late."), (status = 413, description = "Too long."))))]
pub(super) async fn post_claim(
    State(state): SharedState,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let done = state.claim_signup(&headers, body).await;
    match done {
        // A person sends this form, whatever content types the browser accepts.
        Err(error) if error.status == StatusCode::UNAUTHORIZED && !accepts(&headers, "json") => {
            Ok(error_page(&state, &error))
        }
        done => redirect_or_error(&state, &headers, done),
    }
}

fn page(status: StatusCode, content: &str) -> Response {
    // A form without a referrer would have an origin of `null`.
    with_prebuilt_body(framed(HTML, content, "same-origin", status))
}

impl App {
    /// The code, with the form for a signed-in owner and sign-in instructions otherwise. A browser that comes from
    /// another site does not send the cookie with this page. It does when it follows a link of our own.
    fn claim_offer(&self, signup: Signup, may: bool) -> String {
        let (code, pass) = (self.signups.code(signup), self.signups.claim_key(signup));
        let answer = match may {
            true => format!(
                "<form method=\"post\" action=\"/claim\" class=\"fields\">\n    \
                 <input type=\"hidden\" name=\"signup\" value=\"{pass}\">\n    \
                 <label>What to call it <input name=\"name\" maxlength=\"{MAX_NAME_LEN}\" autocomplete=\"off\" \
                 placeholder=\"Agent {code}\"></label>\n    \
                 <button type=\"submit\">Yes, it shows the same code</button>\n  </form>"
            ),
            false => format!(
                "<p id=\"sign-in\" role=\"status\">You are not signed in in this browser. Open a login link of your account here \
                 (GET /get-auth-link, made after GET /auth), then come back to this page.</p>\n  \
                 <p><a href=\"/claim?signup={pass}\">I am signed in: go on</a></p>"
            ),
        };
        format!(
            "<p>If you asked an agent to use your account, check that it gave you this code.</p>\n  \
             <p id=\"balance\">{code}</p>\n  \
             <p class=\"quiet\">With a yes it gets an API key: it sees what you have bought, card numbers included, and spends \
             from your managed wallet within the caps that you set. It cannot withdraw to other wallets, verify your identity \
             or make further keys. You can revoke it on your account page at any time. If you did not ask for this, close \
             this page.</p>\n  {answer}"
        )
    }

    async fn claim_signup(&self, headers: &HeaderMap, body: Body) -> Result<Response, ApiError> {
        if !has_origin(headers, self.origin.as_str()) {
            let error = "This form is sent by the account page only.";
            return Err(ApiError::new(ErrorCode::OriginNotAllowed, error));
        }
        let claims = signed_in_owner(self, headers)
            .await
            .map_err(|error| match error.status {
                StatusCode::UNAUTHORIZED => error.hint(
                    "Open a login link of your account in this browser (GET /get-auth-link), then this page again.",
                ),
                _ => error,
            })?;
        // The key spends and reads without a page.
        require_confirmed(self, &claims).await?;
        let body = self.collect(body, MAX_FORM_BYTES).await?;
        let form = Query::parse(Some(parse_form(&body)?), &["signup", "name"])?;
        let signup = self
            .signups
            .parse_claim_key(form.required("signup")?)
            .ok_or_else(|| ApiError::new(ErrorCode::SignupNotFound, "There is no such signup."))?;
        let name = match form.get("name").map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => text("name", name, MAX_NAME_LEN)?,
            None => format!("Agent {}", self.signups.code(signup)),
        };
        if signup.is_expired(self.clock.now()) && self.signup_key(signup).await?.is_none() {
            return Err(expired());
        }
        let most = self.config.signup.max_keys_per_account;
        match self.engine.issue_api_key(signup.key, claims.wallet, &name, most).await {
            Ok(()) => Ok(redirect_to_login()),
            Err(OperationError::Rejected(Rejection::AlreadyClaimed)) => Err(ApiError::new(
                ErrorCode::SignupAlreadyClaimed,
                "This signup was answered already.",
            )),
            Err(denied) => Err(map_error(&denied)),
        }
    }
}
