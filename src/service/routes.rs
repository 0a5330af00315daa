//! The edge: all routes with what each needs.

mod operators;
mod people;
mod posting;
mod pretended;

use std::sync::Arc;

use axum::{Extension, Router};
use purser_actors::engine::Engine;
use purser_actors::id::Network;
use purser_actors::port::Timestamp;
use purser_storage::{JournalStore, Store};
use utoipa::OpenApi;

use super::checkout::{self, Payees};
use super::parts::World;
use super::{DataDir, ServiceError, shop};
use crate::checkout::Checkout;
use crate::config::Config;
use crate::http::documents::{self, Documents};
use crate::http::front::{Front, Inside};
use crate::http::health::Readiness;
use crate::http::idempotency::UsedKeys;
use crate::http::rate::RateLimiter;
use crate::http::{
    account, api_keys, banking, callable, callbacks, card_withdrawals, events, health, kyc, login, openapi, owner,
    payments, pricing, sign_in, signup, version, webhooks, withdrawals,
};
use crate::identity::api_key::{ApiKeys, Signups};
use crate::identity::arrivals::Arrivals;
use crate::identity::challenge::{BaseTerms, ChallengeTerms, Challenges, SolanaTerms};
use crate::identity::credentials::Credentials;
use crate::identity::doorkeeper::Doorkeeper;
use crate::identity::form_link::FormLinks;
use crate::identity::keys::Keys;
use crate::identity::login::SessionCookies;
use crate::identity::nonce::Nonces;
use crate::identity::origin::Origin;
use crate::identity::proof::ProofChecker;
use crate::identity::refresh::RefreshTokens;
use crate::identity::token::Tokens;
use crate::identity::{IdentityKeys, key_file};
use crate::metrics::Metrics;
use crate::payment::evm::checksummed;
use crate::payment::mpp::Mpp;
use crate::payment::solana::address::base58;
use crate::prices::PriceBook;
use crate::revocations::RevocationLog;
use crate::stream::{Hub, StreamState};

/// Routes beside the shop's that HEAD must not reach: they make or hand out something.
const NO_HEAD: &[&str] = &["/auth", "/get-auth-link", "/get-kyc-link", "/signup-status"];
/// Verified tokens kept in memory.
const TOKENS_REMEMBERED: usize = 100_000;

/// Everything the routes are built from.
pub(super) struct House {
    pub(super) config: Arc<Config>,
    pub(super) data: DataDir,
    pub(super) store: Arc<dyn Store>,
    pub(super) journal: Arc<JournalStore>,
    pub(super) engine: Engine,
    pub(super) hub: Arc<Hub>,
    pub(super) world: World,
    pub(super) public_url: String,
    /// What no restore may bring back.
    pub(super) revocations: Arc<RevocationLog>,
    /// Nonces of before this are not ours any more: they may have been used in a history that a restore has lost.
    pub(super) begun: Timestamp,
}

/// Who may come in, and what they come in with.
struct Entrance {
    origin: Origin,
    credentials: Arc<Credentials>,
    cookies: SessionCookies,
    doorkeeper: Arc<Doorkeeper>,
    nonces: Nonces,
    mpp: Arc<Mpp>,
    forms: FormLinks,
    api_keys: ApiKeys,
    signups: Signups,
    arrivals: Arc<Arrivals>,
}

/// The two sides of the edge.
pub(super) struct Edge {
    /// Clients'.
    pub(super) public: Front,
    /// The operator's.
    pub(super) operator: Front,
}

/// Builds both fronts with every route behind them.
///
/// # Errors
/// When a key file cannot be read or a setting does not fit.
pub(super) async fn edge(house: House, readiness: Arc<dyn Readiness>) -> Result<Edge, ServiceError> {
    let config = &house.config;
    let entrance = entrance(&house).await?;
    // First who may listen, then who listens: a revocation reaches the doorkeeper before its event reaches anybody.
    house.store.subscribe(entrance.doorkeeper.clone());
    house.store.subscribe(house.hub.clone());

    let limiter = Arc::new(RateLimiter::new(&config.limits));
    let payees = Payees::of(config, &house.world.chains)?;
    let sign_in = sign_in_routes(&house, &entrance, &payees);
    let till = checkout::Till {
        credentials: entrance.credentials.clone(),
        mpp: entrance.mpp.clone(),
        forms: entrance.forms.clone(),
    };
    let checkout = checkout::open(&house, payees, limiter.clone(), till).await?;
    let metrics = metrics(&house, &limiter, &checkout);
    let shop = shop::open(&house, &checkout);
    let rooms = described(config, shop.documents);
    let json = |e: serde_json::Error| ServiceError::Part("a document", e.to_string());
    let document = openapi::document(config, &house.public_url, rooms).map_err(json)?;
    let types = purser_actors::engine::event_types();
    // The address is not prose.
    let docs_version = openapi::docs_version(&document, &Documents::of(&document, "", &types).pages());
    let documents = Documents::of(&document, &house.public_url, &types);
    let mut routes = Router::new()
        .merge(pricing::router(config, rates(&house, checkout.prices.clone()), sold(&house)).map_err(json)?)
        .merge(version::router(&docs_version, config.is_sandbox(), &config.versions.retiring).map_err(json)?)
        .merge(health::router(readiness))
        .merge(openapi::router(&document))
        .merge(documents::router(documents))
        .merge(sign_in)
        .merge(people::routes(&house, &entrance)?)
        .merge(shop.routes)
        .merge(account_routes(&house))
        .merge(withdrawal_routes(&house))
        .merge(posting::routes(&house))
        .merge(event_routes(&house, &entrance.doorkeeper));
    if let Some(own) = &house.world.sandbox {
        routes = routes.merge(pretended::router(&house, own));
    }
    // For every route that takes an idempotency key.
    let routes = routes.layer(Extension(UsedKeys(house.engine.clone())));
    let inside = Inside {
        routes,
        no_head: [shop.no_head.as_slice(), NO_HEAD].concat(),
        callables: callable::NAMES.to_vec(),
        large: vec![("/uploadBankingDocument", banking::UPLOAD_MAX)],
        patient: vec![("/signup-status", config.signup.poll() + config.server.request_timeout())],
        authenticator: entrance.doorkeeper,
        limiter,
        meter: metrics.requests.clone(),
        clock: house.world.clock.clone(),
        entropy: house.world.entropy.clone(),
        docs_version,
        open_to_pages: true,
    };
    Ok(Edge {
        operator: operators::front(&house, &inside, metrics),
        public: Front::new(config, inside),
    })
}

/// Every room's part of the document.
fn described(config: &Config, mut rooms: Vec<utoipa::openapi::OpenApi>) -> Vec<utoipa::openapi::OpenApi> {
    rooms.extend([
        account::Api::openapi(),
        payments::Api::openapi(),
        withdrawals::Api::openapi(),
    ]);
    rooms.extend([card_withdrawals::Api::openapi(), documents::Api::openapi()]);
    rooms.push(webhooks::Api::openapi());
    rooms.extend([sign_in::Api::openapi(), login::Api::openapi()]);
    rooms.extend([signup::Api::openapi(), api_keys::Api::openapi()]);
    rooms.extend([kyc::Api::openapi(), callbacks::Api::openapi(), owner::Api::openapi()]);
    if config.is_sandbox() {
        rooms.extend(pretended::described());
    }
    rooms
}

fn sold(house: &House) -> pricing::Sold {
    let engine = house.engine.clone();
    Arc::new(move |line| engine.is_open(line))
}

fn rates(house: &House, prices: Arc<PriceBook>) -> pricing::Rates {
    let clock = house.world.clock.clone();
    Arc::new(move |line| prices.fee_rate(line, clock.now()))
}

async fn entrance(house: &House) -> Result<Entrance, ServiceError> {
    let config = &house.config.identity;
    let origin =
        Origin::parse(&house.public_url).map_err(|e| ServiceError::Part("server.public_url", e.to_string()))?;
    let keys = identity_keys(house)?;
    let derived = IdentityKeys::derive(&keys);
    let issuer = if config.issuer.is_empty() {
        &house.public_url
    } else {
        &config.issuer
    };
    let tokens = Arc::new(Tokens::new(&keys, issuer, &config.audience, TOKENS_REMEMBERED));
    let credentials = Arc::new(Credentials {
        tokens: tokens.clone(),
        refresh: RefreshTokens::new(&derived.refresh),
        clock: house.world.clock.clone(),
        entropy: house.world.entropy.clone(),
        session_life_ms: config.refresh_token_seconds.saturating_mul(1000),
    });
    let cookies = SessionCookies::new(&derived.cookie, &origin);
    let arrivals = Arrivals::new(house.config.signup.waiting_max);
    let doorkeeper = Doorkeeper::new(
        tokens,
        cookies.clone(),
        house.world.clock.clone(),
        house.engine.clone(),
        (house.hub.clone(), arrivals.clone()),
        house.revocations.clone(),
    )
    .await?;
    let (current, previous) = derived.challenge.clone();
    // Challenges of earlier processes are counted from elsewhere.
    let first = (house.world.entropy.random() >> 64) as u64;
    Ok(Entrance {
        forms: FormLinks::new(&derived.form, &house.public_url),
        api_keys: ApiKeys::new(&derived.api_key),
        signups: Signups::new(&derived.signup, &origin),
        arrivals,
        mpp: Arc::new(Mpp::new(origin.host(), current, previous, first)),
        credentials,
        cookies,
        doorkeeper: Arc::new(doorkeeper),
        nonces: Nonces::new(&derived.nonce, &origin).not_before(house.begun),
        origin,
    })
}

fn sign_in_routes(house: &House, entrance: &Entrance, payees: &Payees) -> Router {
    let Entrance { origin, nonces, .. } = entrance;
    let terms = challenge_terms(&house.config, payees);
    sign_in::router(Arc::new(sign_in::SignIn {
        engine: house.engine.clone(),
        challenges: Challenges::new(origin, &terms, nonces.clone()),
        checker: ProofChecker::new(origin.clone(), nonces.clone()),
        credentials: entrance.credentials.clone(),
        clock: house.world.clock.clone(),
        entropy: house.world.entropy.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }))
}

fn account_routes(house: &House) -> Router {
    let engine = &house.engine;
    account::router(Arc::new(account::Accounts { engine: engine.clone() })).merge(payments::router(Arc::new(
        payments::Payments { engine: engine.clone() },
    )))
}

fn withdrawal_routes(house: &House) -> Router {
    let pay_to = &house.config.payment.pay_to;
    let withdrawals = Arc::new(withdrawals::Withdrawals {
        engine: house.engine.clone(),
        balances: house.world.providers.balances.clone(),
        entropy: house.world.entropy.clone(),
        treasuries: Network::ALL.into_iter().filter_map(|n| pay_to.wallet(n)).collect(),
        public_url: house.public_url.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    });
    withdrawals::router(withdrawals.clone()).merge(card_withdrawals::router(withdrawals))
}

fn event_routes(house: &House, doorkeeper: &Arc<Doorkeeper>) -> Router {
    events::router(events::EventRoutes {
        stream: Arc::new(StreamState {
            hub: house.hub.clone(),
            store: house.store.clone(),
            authenticator: doorkeeper.clone(),
            gate: doorkeeper.clone(),
            clock: house.world.clock.clone(),
            config: house.config.stream.clone(),
        }),
        origin: house.public_url.as_str().into(),
    })
}

fn metrics(house: &House, limiter: &Arc<RateLimiter>, checkout: &Checkout) -> Metrics {
    Metrics {
        engine: house.engine.clone(),
        store: house.journal.clone(),
        hub: house.hub.clone(),
        requests: Arc::default(),
        limiter: limiter.clone(),
        calls: checkout.calls.clone(),
        mode: if house.config.is_sandbox() {
            "sandbox"
        } else {
            "production"
        },
        chains: house.world.real.clone(),
        clock: house.world.clock.clone(),
    }
}

fn identity_keys(house: &House) -> Result<Keys, ServiceError> {
    let config = &house.config;
    let keys = if config.identity.signing_key_file.as_os_str().is_empty() {
        let now = house.world.clock.now();
        key_file::load_or_create(&house.data.identity_keys(), now, &*house.world.entropy)
    } else {
        key_file::load(&config.identity.signing_key_file)
    };
    keys.map_err(|e| ServiceError::Part("the identity keys", e.to_string()))
}

fn challenge_terms(config: &Config, payees: &Payees) -> ChallengeTerms {
    ChallengeTerms {
        base: BaseTerms {
            asset: checksummed(&payees.base.asset),
            pay_to: checksummed(&payees.base.pay_to),
            name: payees.base.name.clone(),
            version: payees.base.version.clone(),
        },
        solana: SolanaTerms {
            asset: base58(&payees.solana.mint),
            pay_to: base58(&payees.solana.pay_to),
            fee_payer: payees.solana.fee_payers.first().map(base58).unwrap_or_default(),
        },
        max_timeout_seconds: u32::try_from(config.payment.max_timeout_seconds).unwrap_or(u32::MAX),
    }
}
