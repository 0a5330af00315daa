//! Access routes for people and agents: login links, the account page with its forms, signups and API keys, and
//! provider callbacks.

use std::sync::Arc;

use axum::Router;

use super::super::ServiceError;
use super::super::product_routes::callables;
use super::{AppState, AuthContext};
use crate::http::login_page::LoginPage;
use crate::http::{api_keys, callbacks, kyc, login, owner, signup};
use crate::provider::connect::callback_keys;
use crate::sandbox::keys::identity_callback;

pub(super) fn routes(state: &AppState, entrance: &AuthContext) -> Result<Router, ServiceError> {
    let keys = callback_keys(&state.config.providers).map_err(|e| ServiceError::Component("a provider", e))?;
    let login = Arc::new(login::LoginState {
        engine: state.engine.clone(),
        store: state.store.clone(),
        credentials: entrance.credentials.clone(),
        cookies: entrance.cookies.clone(),
        authenticator: entrance.authenticator.clone(),
        origin: entrance.origin.clone(),
        clock: state.deps.clock.clone(),
        entropy: state.deps.entropy.clone(),
        session_seconds: state.config.identity.browser_session_seconds,
        body_timeout: state.config.server.body_timeout(),
        page: LoginPage::new(),
        caps: state.config.caps.daily_caps(),
        api_keys: entrance.api_keys.clone(),
        keys_per_account: state.config.signup.max_keys_per_account,
    });
    let kyc = kyc::KycState {
        login: login.clone(),
        callback_key: keys.identity.unwrap_or_else(identity_callback),
    };
    let callbacks = callbacks::CallbackState {
        engine: state.engine.clone(),
        clock: state.deps.clock.clone(),
        payouts: keys.payouts,
        issuer: keys.issuer,
        bank: keys.bank,
        body_timeout: state.config.server.body_timeout(),
    };
    let config = &state.config;
    let signing_up = signup::SignupState {
        budgets: signup::SignupRateLimiter::new(&config.signup.rate_limits(&config.limits)),
        signups: entrance.signups.clone(),
        signup_waiters: entrance.signup_waiters.clone(),
        hub: state.hub.clone(),
        login: login.clone(),
        ttl_s: config.signup.claim_ttl_seconds,
        poll: config.signup.poll(),
        max_body_bytes: config.server.max_body_bytes,
    };
    let keys = api_keys::ApiKeyState {
        callables: callables(state),
        api_keys: entrance.api_keys.clone(),
        credentials: entrance.credentials.clone(),
        entropy: state.deps.entropy.clone(),
        max_keys: config.signup.max_keys_per_account,
    };
    Ok(login::router(login.clone())
        .merge(signup::router(Arc::new(signing_up)))
        .merge(api_keys::router(Arc::new(keys)))
        .merge(owner::router(login))
        .merge(kyc::router(Arc::new(kyc)))
        .merge(callbacks::router(Arc::new(callbacks))))
}
