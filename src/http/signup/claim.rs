//! `/claim`: the page behind a signup's `claim_url`. It shows the code to any visitor. Its form needs the session
//! cookie of a wallet that signed in, and must come from our own page.
//!
//! The cookie is `SameSite=Strict`, so a browser that follows a link from a chat does not send it with the page. A form
//! of our own page sends it.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode, Uri};
use purser_actors::engine::OperationError;
use purser_actors::entity::api_key::{MAX_NAME_LEN, Rejection};

use super::super::agent_wallet::text;
use super::super::api_keys::map_error;
use super::super::auth::Authenticator as _;
use super::super::error::{ApiError, ErrorCode, with_prebuilt_body};
use super::super::form_pages::{accepts, error_page, parse_form, redirect_to_agents};
use super::super::json;
use super::super::owner::signed_in_owner;
use super::super::page_session::{cookie_of, has_origin};
use super::super::passkeys::require_confirmed;
use super::super::query::Query;
use super::{SharedState, claim_page, expired};
use crate::http::app::App;
use crate::identity::api_key::ClaimLink;
use crate::page::Page;

/// The longest name, percent-encoded, and the signup.
const MAX_FORM_BYTES: usize = 2_048;

/// Show the approval page of a signup
///
/// Changes nothing, so a link preview does not use up the link.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/claim", operation_id = "showClaimPage", tag = "Account pages",
    params(("signup" = Option<String>, Query, description = "Of the link.")),
    responses((status = 200, description = "The code, with a form if the account owner is signed in and with sign-in instructions otherwise.", body = String, content_type = "text/html"),
        (status = 307, description = "To the same page at `localhost`, for a browser at a loopback address."),
        (status = 404, description = "The link is not one.", body = String, content_type = "text/html"),
        (status = 410, description = "Answered already, or too late.", body = String, content_type = "text/html"))))]
pub(super) async fn get_claim(
    State(state): SharedState,
    uri: Uri,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    if let Some(redirect) = state.pages.redirect(&headers, &uri) {
        return Ok(redirect);
    }
    let query = Query::parse(query.as_deref(), &["signup"]).ok();
    let link = query.and_then(|query| state.signups.parse_claim_key(query.get("signup")?));
    let page = match link {
        Some(link) => state.claim_page(&link, &headers).await?,
        None => claim_page::invalid_link(),
    };
    Ok(state.claim_response(page))
}

/// Approve or reject an API key
///
/// A form of the page, with `signup`, a `name` for the key (a default if empty) and `answer`: `yes`, which is the
/// default, creates the API key for the signed-in account, and `no` rejects the signup, so that no key can be created.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/claim", operation_id = "claimSignup", tag = "Account pages",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "Rejected.", body = String, content_type = "text/html"),
        (status = 303, description = "Made: to the account page, which lists it."),
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
    match state.claim_signup(&headers, body).await {
        Ok(Claimed::Done(done)) => Ok(done),
        Ok(Claimed::Rejected) => Ok(state.claim_response(claim_page::rejected())),
        Ok(Claimed::InvalidName { error, .. }) if !is_person(&headers, &error) => Err(error),
        Ok(Claimed::InvalidName { link, name, error }) => {
            let page = claim_page::form(&state.offered(&link), Some((&name, &error.error)));
            Ok(state.claim_response(Page {
                status: error.status,
                ..page
            }))
        }
        Err(error) if is_person(&headers, &error) => Ok(error_page(&state, &error)),
        Err(error) => Err(error),
    }
}

/// Whether an error is shown as a page. A person sends this form, whatever content types the browser accepts, so only a
/// client that asks for JSON gets a missing session as JSON.
fn is_person(headers: &HeaderMap, error: &ApiError) -> bool {
    accepts(headers, "text/html") || error.status == StatusCode::UNAUTHORIZED && !accepts(headers, "json")
}

/// Result of a form.
enum Claimed {
    Done(Response),
    Rejected,
    InvalidName {
        link: ClaimLink,
        name: String,
        error: ApiError,
    },
}

impl App {
    fn claim_response(&self, page: Page) -> Response {
        with_prebuilt_body(self.frame.render(page.naming_origin()))
    }

    /// The page of a signup: the form for a signed-in owner, and how to sign in for others. A browser that comes from
    /// another site does not send the cookie with this page. It does when it follows a link of our own.
    async fn claim_page(&self, link: &ClaimLink, headers: &HeaderMap) -> Result<Page, ApiError> {
        if let Some(key) = self.signup_key(link.signup).await? {
            return Ok(claim_page::answered(key.rejected_at.is_some()));
        }
        if link.signup.is_expired(self.clock.now()) {
            return Ok(claim_page::expired());
        }
        let claims = self.authenticator.authenticate_session(cookie_of(headers)).await;
        Ok(match claims {
            Ok(claims) if claims.is_signed_in() => claim_page::form(&self.offered(link), None),
            _ => claim_page::signed_out(&self.offered(link)),
        })
    }

    fn offered(&self, link: &ClaimLink) -> claim_page::Offer {
        let left_s = link.signup.expires_s.saturating_sub(self.clock.now().seconds());
        claim_page::Offer {
            agent: link.agent.clone(),
            code: self.signups.code(link.signup),
            claim_key: self.signups.claim_key(link),
            asked_minutes_ago: self.config.signup.claim_ttl_seconds.saturating_sub(left_s) / 60,
            minutes_left: left_s.div_ceil(60),
        }
    }

    async fn claim_signup(&self, headers: &HeaderMap, body: Body) -> Result<Claimed, ApiError> {
        if !has_origin(headers, &self.pages.origins()) {
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
        let body = json::collect(body, MAX_FORM_BYTES).await?;
        let form = Query::parse(Some(parse_form(&body)?), &["signup", "name", "answer"])?;
        let link = self
            .signups
            .parse_claim_key(form.required("signup")?)
            .ok_or_else(|| ApiError::new(ErrorCode::SignupNotFound, "There is no such signup."))?;
        let signup = link.signup;
        let approves = match form.get("answer") {
            None | Some("yes") => true,
            Some("no") => false,
            Some(_) => {
                let error = "`answer` must be `yes` or `no`.";
                return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "answer", error));
            }
        };
        let is_over = signup.is_expired(self.clock.now()) && self.signup_key(signup).await?.is_none();
        if !approves && !is_over {
            return match self.engine.reject_signup(signup.key, claims.wallet).await {
                Ok(()) => Ok(Claimed::Rejected),
                Err(denied) => Err(claim_error(&denied)),
            };
        }
        let name = match form.get("name").map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => match text("name", name, MAX_NAME_LEN) {
                Ok(name) => name,
                Err(error) => {
                    let name = name.to_owned();
                    return Ok(Claimed::InvalidName { link, name, error });
                }
            },
            None if !link.agent.is_empty() => link.agent,
            None => format!("Agent {}", self.signups.code(signup)),
        };
        if is_over {
            return Err(expired());
        }
        let most = self.config.signup.max_keys_per_account;
        match self.engine.issue_api_key(signup.key, claims.wallet, &name, most).await {
            Ok(()) => Ok(Claimed::Done(redirect_to_agents())),
            Err(denied) => Err(claim_error(&denied)),
        }
    }
}

fn claim_error(denied: &OperationError<Rejection>) -> ApiError {
    match denied {
        OperationError::Rejected(Rejection::AlreadyClaimed) => {
            ApiError::new(ErrorCode::SignupAlreadyClaimed, "This signup was answered already.")
        }
        denied => map_error(denied),
    }
}
