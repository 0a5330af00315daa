//! Builds the HTTP servers: all routes with their state.

mod operators;
mod sandbox;

use std::sync::Arc;

use axum::Router;
use purser_actors::engine::Engine;
use purser_actors::id::Network;
use purser_actors::port::Timestamp;
use purser_storage::{JournalStore, Store};

use super::ServiceError;
use super::checkout_setup::{self, Payees};
use super::dependencies::Dependencies;
use crate::agent_wallet::offer_selection::OwnAddresses;
use crate::checkout::Checkout;
use crate::config::{Config, DataDir};
use crate::http::app::App;
use crate::http::discovery::{self, Discovery, DiscoveryDocuments};
use crate::http::form_pages::with_error_pages;
use crate::http::front::{Front, FrontConfig};
use crate::http::health::Readiness;
use crate::http::index_page::IndexPage;
use crate::http::login_page::LoginPage;
use crate::http::openapi::{self, ApiDocuments};
use crate::http::page_address::PageAddress;
use crate::http::pricing::PriceList;
use crate::http::rate_limit::RateLimiter;
use crate::http::request_metrics::RequestMetrics;
use crate::http::route::path_rules;
use crate::http::signup::SignupRateLimiter;
use crate::http::signup::waiters::SignupWaiters;
use crate::http::token_authenticator::TokenAuthenticator;
use crate::http::{events, health, pricing, routes, version, web_apps};
use crate::identity::api_key::{ApiKeyCodec, SignupCodec};
use crate::identity::challenge::{BasePaymentTerms, ChallengeTerms, SignInChallenges, SolanaPaymentTerms};
use crate::identity::credentials::CredentialIssuer;
use crate::identity::keys::IdentityKeyRing;
use crate::identity::login::SessionCookies;
use crate::identity::nonce::Nonces;
use crate::identity::origin::Origin;
use crate::identity::passkey::site::PasskeySite;
use crate::identity::payout_form_link::PayoutFormLinks;
use crate::identity::proof::ProofVerifier;
use crate::identity::refresh::RefreshTokenCodec;
use crate::identity::token::IdTokens;
use crate::identity::{IdentityKeys, key_file};
use crate::metrics::Metrics;
use crate::page::PageFrame;
use crate::payment::evm::checksummed;
use crate::payment::mpp::Mpp;
use crate::payment::solana::address::base58;
use crate::prices::PriceBook;
use crate::provider::connect::{ProviderCallbackKeys, callback_keys};
use crate::revocations::RevocationLog;
use crate::sandbox::keys::identity_callback;
use crate::stream::{Hub, StreamContext};

/// Verified tokens cached in memory.
const MAX_CACHED_TOKENS: usize = 100_000;

/// Everything the routes are built from.
pub(super) struct AppState {
    pub(super) config: Arc<Config>,
    pub(super) data: DataDir,
    pub(super) store: Arc<dyn Store>,
    pub(super) journal: Arc<JournalStore>,
    pub(super) engine: Engine,
    pub(super) hub: Arc<Hub>,
    pub(super) deps: Dependencies,
    pub(super) public_url: String,
    /// Where clients call, and where the pages are.
    pub(super) pages: PageAddress,
    /// Whether the desk's port at `localhost` is the desk's.
    pub(super) desk_owns_localhost: bool,
    /// Revocations that survive a restore.
    pub(super) revocations: Arc<RevocationLog>,
    /// Older nonces are rejected: they may have been used in a history that a restore has lost.
    pub(super) nonces_valid_from: Timestamp,
}

/// Validates and issues credentials.
struct AuthContext {
    origin: Origin,
    credentials: Arc<CredentialIssuer>,
    cookies: SessionCookies,
    authenticator: Arc<TokenAuthenticator>,
    nonces: Nonces,
    passkeys: PasskeySite,
    keys: IdentityKeys,
    mpp: Arc<Mpp>,
    form_links: PayoutFormLinks,
    api_keys: ApiKeyCodec,
    signups: SignupCodec,
    signup_waiters: Arc<SignupWaiters>,
}

/// The public server and the operator server.
pub(super) struct Fronts {
    pub(super) public: Front,
    pub(super) operator: Front,
}

/// Builds both servers with all routes.
///
/// # Errors
/// When a key file cannot be read or a setting does not fit.
pub(super) async fn build(state: AppState, readiness: Arc<dyn Readiness>) -> Result<Fronts, ServiceError> {
    let config = &state.config;
    let entrance = auth_context(&state).await?;
    // Subscribe the authenticator before the stream: a revocation must reach it before any client receives its event.
    state.store.subscribe(entrance.authenticator.clone());
    state.store.subscribe(state.hub.clone());

    let limiter = Arc::new(RateLimiter::new(&config.limits));
    let payees = Payees::of(config, &state.deps.chains)?;
    let terms = challenge_terms(config, &payees);
    let parts = checkout_setup::CheckoutParts {
        credentials: entrance.credentials.clone(),
        mpp: entrance.mpp.clone(),
        form_links: entrance.form_links.clone(),
    };
    let checkout = checkout_setup::open(&state, payees, limiter.clone(), parts).await?;
    let metrics = metrics(&state, &limiter, &checkout);
    let json = |e: serde_json::Error| ServiceError::Component("a document", e.to_string());
    let described = ApiDocuments::new(config, &state.public_url).map_err(json)?;
    // The URL is not part of the text.
    let docs_version = described.version(&DiscoveryDocuments::of(&described, "").map_err(json)?.pages());
    let documents = DiscoveryDocuments::of(&described, &state.public_url).map_err(json)?;
    let prices = PriceList::new(config.clone(), rates(&state, checkout.prices.clone()), sold(&state));
    let discovery = Discovery {
        documents,
        page: IndexPage {
            frame: frame(&state),
            prices: prices.clone(),
            public_url: state.public_url.clone(),
            quote_seconds: config.payment.quote_ttl_seconds,
        },
    };
    let mut routes = Router::new()
        .merge(pricing::router(prices).map_err(json)?)
        .merge(version::router(&docs_version, config).map_err(json)?)
        .merge(health::router(readiness))
        .merge(openapi::router(&described.clients))
        .merge(discovery::router(discovery))
        .merge(web_apps::router(state.pages.clone()))
        .merge(event_routes(&state, &entrance.authenticator));
    let controls = state.deps.sandbox.as_ref().map(|own| sandbox::router(&state, own));
    if let Some(controls) = &controls {
        routes = routes
            .merge(controls.clone())
            .merge(openapi::sandbox_router(&described.others));
    }
    let (authenticator, keys) = (entrance.authenticator.clone(), entrance.keys.clone());
    let routes = routes.merge(routes::router(Arc::new(app(&state, entrance, &terms, checkout)?)));
    let inside = FrontConfig {
        routes: with_error_pages(routes, frame(&state)),
        rules: path_rules(routes::public(), config),
        authenticator,
        limiter,
        request_metrics: metrics.requests.clone(),
        clock: state.deps.clock.clone(),
        entropy: state.deps.entropy.clone(),
        docs_version,
        cors: true,
    };
    Ok(Fronts {
        operator: operators::front(
            &state,
            &inside,
            operators::OperatorParts {
                keys,
                sandbox: controls,
            },
            metrics,
        ),
        public: Front::new(config, inside),
    })
}

fn app(
    state: &AppState,
    entrance: AuthContext,
    terms: &ChallengeTerms,
    checkout: Arc<Checkout>,
) -> Result<App, ServiceError> {
    let (config, deps) = (&state.config, &state.deps);
    let keys = callback_keys(&config.providers).map_err(|e| ServiceError::Component("a provider", e))?;
    let pay_to = &config.payment.pay_to;
    Ok(App {
        config: config.clone(),
        public_url: state.public_url.clone(),
        engine: state.engine.clone(),
        store: state.store.clone(),
        hub: state.hub.clone(),
        clock: deps.clock.clone(),
        entropy: deps.entropy.clone(),
        providers: deps.providers.clone(),
        checkout,
        vault: deps.vault.clone(),
        cvvs: deps.cvvs.clone(),
        documents: deps.documents.clone(),
        uploads: Arc::default(),
        recovery_challenges: SignInChallenges::for_recovery(&entrance.origin, terms, &entrance.nonces),
        recovery_verifier: ProofVerifier::for_recovery(entrance.origin.clone(), &entrance.nonces),
        challenges: SignInChallenges::new(&entrance.origin, terms, entrance.nonces.clone()),
        verifier: ProofVerifier::new(entrance.origin, entrance.nonces),
        passkeys: entrance.passkeys,
        pages: state.pages.clone(),
        credentials: entrance.credentials,
        cookies: entrance.cookies,
        authenticator: entrance.authenticator,
        api_keys: entrance.api_keys,
        signups: entrance.signups,
        signup_limiter: SignupRateLimiter::new(&config.signup.rate_limits(&config.limits)),
        signup_waiters: entrance.signup_waiters,
        login_page: LoginPage::new(config.server.contact(), config.is_sandbox()),
        frame: frame(state),
        callback_keys: ProviderCallbackKeys {
            identity: keys.identity.or_else(|| Some(identity_callback())),
            ..keys
        },
        wallets: deps.wallets.clone(),
        paid_http_client: deps.paid_http_client.clone(),
        wallet_rate_limiter: RateLimiter::new(&config.agent_wallet.rate_limit(&config.limits)),
        own_addresses: OwnAddresses::of(Network::ALL.into_iter().filter_map(|n| pay_to.wallet(n))),
        webhook_sender: deps.webhook_sender.clone(),
    })
}

/// The frame of the pages of this service.
pub(super) fn frame(state: &AppState) -> PageFrame {
    let server = &state.config.server;
    PageFrame::new(&state.public_url, state.config.is_sandbox(), server.contact())
}

fn sold(state: &AppState) -> pricing::Sold {
    let engine = state.engine.clone();
    Arc::new(move |line| engine.is_line_open(line))
}

fn rates(state: &AppState, prices: Arc<PriceBook>) -> pricing::FeeRateLookup {
    let clock = state.deps.clock.clone();
    Arc::new(move |line| prices.fee_rate(line, clock.now()))
}

/// Origin under which clients reach the service.
///
/// # Errors
/// When the URL is not one.
pub(super) fn origin_of(public_url: &str) -> Result<Origin, ServiceError> {
    Origin::parse(public_url).map_err(|e| ServiceError::Component("server.public_url", e.to_string()))
}

async fn auth_context(state: &AppState) -> Result<AuthContext, ServiceError> {
    let config = &state.config.identity;
    let origin = origin_of(&state.public_url)?;
    let pages = state.pages.origin();
    let keys = identity_keys(state)?;
    let derived = IdentityKeys::derive(&keys);
    let issuer = if config.issuer.is_empty() {
        &state.public_url
    } else {
        &config.issuer
    };
    let tokens = Arc::new(IdTokens::new(&keys, issuer, &config.audience, MAX_CACHED_TOKENS));
    let credentials = Arc::new(CredentialIssuer {
        tokens: tokens.clone(),
        refresh: RefreshTokenCodec::new(&derived.refresh),
        clock: state.deps.clock.clone(),
        entropy: state.deps.entropy.clone(),
        session_ttl_ms: config.refresh_token_idle_seconds.saturating_mul(1000),
    });
    let cookies = SessionCookies::new(&derived.cookie, pages);
    let arrivals = SignupWaiters::new(state.config.signup.max_waiting_agents);
    let authenticator = TokenAuthenticator::new(
        tokens,
        cookies.clone(),
        state.deps.clock.clone(),
        state.engine.clone(),
        (state.hub.clone(), arrivals.clone()),
        state.revocations.clone(),
    )
    .await?;
    let (current, previous) = derived.challenge.clone();
    // A random start: challenges of earlier processes used other serial numbers.
    let first = (state.deps.entropy.random() >> 64) as u64;
    Ok(AuthContext {
        form_links: PayoutFormLinks::new(&derived.form, &state.public_url),
        api_keys: ApiKeyCodec::new(&derived.api_key),
        signups: SignupCodec::new(&derived.signup, pages),
        signup_waiters: arrivals,
        mpp: Arc::new(Mpp::new(origin.host(), current, previous, first)),
        credentials,
        cookies,
        authenticator: Arc::new(authenticator),
        passkeys: PasskeySite::new(pages, &derived, state.nonces_valid_from),
        keys: derived.clone(),
        nonces: Nonces::new(&derived.nonce, &origin).not_before(state.nonces_valid_from),
        origin,
    })
}

fn event_routes(state: &AppState, authenticator: &Arc<TokenAuthenticator>) -> Router {
    events::router(events::EventState {
        stream: Arc::new(StreamContext {
            hub: state.hub.clone(),
            store: state.store.clone(),
            authenticator: authenticator.clone(),
            gate: authenticator.clone(),
            clock: state.deps.clock.clone(),
            config: state.config.stream.clone(),
        }),
        pages: state.pages.clone(),
    })
}

fn metrics(state: &AppState, limiter: &Arc<RateLimiter>, checkout: &Checkout) -> Metrics {
    Metrics {
        engine: state.engine.clone(),
        store: state.journal.clone(),
        sandbox_store: state.deps.sandbox.as_ref().map(|sandbox| sandbox.journal.clone()),
        hub: state.hub.clone(),
        requests: Arc::new(RequestMetrics::new(&routes::PATHS, &web_apps::PATH_GROUPS)),
        limiter: limiter.clone(),
        calls: checkout.calls.clone(),
        mode: if state.config.is_sandbox() {
            "sandbox"
        } else {
            "production"
        },
        chains: state.deps.real.clone(),
        announcements: Arc::default(),
        clock: state.deps.clock.clone(),
    }
}

fn identity_keys(state: &AppState) -> Result<IdentityKeyRing, ServiceError> {
    let config = &state.config;
    let keys = if config.identity.signing_key_file.as_os_str().is_empty() {
        let now = state.deps.clock.now();
        key_file::load_or_create(&state.data.identity_keys(), now, &*state.deps.entropy)
    } else {
        key_file::load(&config.identity.signing_key_file)
    };
    keys.map_err(|e| ServiceError::Component("the identity keys", e.to_string()))
}

fn challenge_terms(config: &Config, payees: &Payees) -> ChallengeTerms {
    ChallengeTerms {
        base: BasePaymentTerms {
            asset: checksummed(&payees.base.asset),
            pay_to: checksummed(&payees.base.pay_to),
            name: payees.base.name.clone(),
            version: payees.base.version.clone(),
        },
        solana: SolanaPaymentTerms {
            asset: base58(&payees.solana.mint()),
            pay_to: base58(&payees.solana.pay_to()),
            // Has no effect: signing in pays nothing.
            fee_payer: payees.solana.fee_payer().as_ref().map(base58).unwrap_or_default(),
        },
        max_timeout_seconds: u32::try_from(config.payment.quote_ttl_seconds).unwrap_or(u32::MAX),
    }
}
