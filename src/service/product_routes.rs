//! Routes of the products, and of lookups before a purchase.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use purser_actors::id::Network;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;

use super::routes::AppState;
use crate::agent_wallet::offer_selection::OwnAddresses;
use crate::checkout::Checkout;
use crate::http::callable::CallableState;
use crate::http::rate_limit::RateLimiter;
use crate::http::{
    agent_wallet, banking, card_actions, card_refresh, cards, gift_card_orders, gift_cards, intl_orders, merchants,
    payouts, recipients, redeem, reloadable_cards, top_ups,
};

pub(super) struct ProductRoutes {
    pub(super) routes: Router,
    pub(super) documents: Vec<Document>,
    /// Routes that must not serve HEAD: paid ones, and those that record what they show.
    pub(super) head_not_allowed: Vec<&'static str>,
}

impl ProductRoutes {
    fn add(mut self, routes: Router, document: Document, no_head: &[&'static str]) -> Self {
        self.routes = self.routes.merge(routes);
        self.documents.push(document);
        self.head_not_allowed.extend(no_head);
        self
    }

    /// The callable functions of the bank and the agent wallet.
    fn add_callables(self, state: &AppState, checkout: &Arc<Checkout>) -> Self {
        self.add(
            banking::router(Arc::new(bank(state, checkout))),
            banking::ApiDoc::openapi(),
            &[],
        )
        .add(
            agent_wallet::router(Arc::new(agent_wallets(state))),
            agent_wallet::ApiDoc::openapi(),
            &[],
        )
    }

    /// Routes of issued cards: their updates, and the balance that reloadable cards spend.
    fn add_card_routes(self, state: &AppState, checkout: &Arc<Checkout>) -> Self {
        let (config, world) = (&state.config, &state.deps);
        let refresh = card_refresh::CardRefreshState {
            engine: state.engine.clone(),
            max_body_bytes: config.server.max_body_bytes,
            body_timeout: config.server.body_timeout(),
        };
        let top_ups = top_ups::TopUpState {
            checkout: checkout.clone(),
            product: config.products.card_balance.clone(),
            engine: state.engine.clone(),
            balances: world.providers.balances.clone(),
        };
        let reloadables = reloadable_cards::ReloadableCardState {
            engine: state.engine.clone(),
            balances: world.providers.balances.clone(),
            entropy: world.entropy.clone(),
            public_url: state.public_url.clone(),
            max_body_bytes: config.server.max_body_bytes,
            body_timeout: config.server.body_timeout(),
            payment_token_reads_earlier: config.identity.payment_token_can_read_cards,
        };
        let reloadables = Arc::new(reloadables);
        self.add(
            card_refresh::router(Arc::new(refresh)),
            card_refresh::ApiDoc::openapi(),
            &[],
        )
        .add(
            reloadable_cards::router(reloadables.clone()),
            reloadable_cards::ApiDoc::openapi(),
            &[],
        )
        .add(card_actions::router(reloadables), card_actions::ApiDoc::openapi(), &[])
        .add(
            top_ups::router(Arc::new(top_ups)),
            top_ups::ApiDoc::openapi(),
            &["/fund-card-balance"],
        )
    }

    /// Payouts, their recipients, and the page for recipients.
    fn add_payout_routes(self, state: &AppState, checkout: &Arc<Checkout>) -> Self {
        let (config, world) = (&state.config, &state.deps);
        let payouts = payouts::PayoutState {
            checkout: checkout.clone(),
            push_to_card: config.products.push_to_card.clone(),
            bank_payment: config.products.bank_payment.clone(),
            app_payment: config.products.app_payment.clone(),
            engine: state.engine.clone(),
            form_links: checkout.response_writer.form_links.clone(),
            payment_token_reads_earlier: config.identity.payment_token_can_read_cards,
        };
        let recipients = recipients::RecipientState {
            engine: state.engine.clone(),
            max_body_bytes: config.server.max_body_bytes,
            body_timeout: config.server.body_timeout(),
        };
        let redeem = redeem::RedeemState {
            engine: state.engine.clone(),
            form_links: checkout.response_writer.form_links.clone(),
            vault: world.vault.clone(),
            payouts: world.providers.payouts.clone(),
            product: config.products.push_to_card.clone(),
            clock: world.clock.clone(),
            body_timeout: config.server.body_timeout(),
        };
        self.add(
            payouts::router(Arc::new(payouts)),
            payouts::ApiDoc::openapi(),
            &["/get-push-to-card", "/send-bank-payment", "/send-payment"],
        )
        .add(
            recipients::router(Arc::new(recipients)),
            recipients::ApiDoc::openapi(),
            &[],
        )
        .add(redeem::router(Arc::new(redeem)), redeem::ApiDoc::openapi(), &[])
    }
}

/// The agent wallet's callable functions.
fn agent_wallets(state: &AppState) -> agent_wallet::AgentWalletState {
    let (config, world) = (&state.config, &state.deps);
    let pay_to = &config.payment.pay_to;
    // The time before and after the wait counts too.
    let rest = config.outbound.response_timeout_ms.saturating_add(5_000);
    let patience = config.server.request_timeout_ms.saturating_sub(rest);
    agent_wallet::AgentWalletState {
        callables: callables(state),
        wallets: world.wallets.clone(),
        paid_http_client: world.paid_http_client.clone(),
        vault: world.vault.clone(),
        clock: world.clock.clone(),
        entropy: world.entropy.clone(),
        limits: config.agent_wallet.default_caps(),
        rate_limiter: RateLimiter::new(&config.agent_wallet.rate_limit(&config.limits)),
        own_addresses: OwnAddresses::of(Network::ALL.into_iter().filter_map(|n| pay_to.wallet(n))),
        public_url: state.public_url.clone(),
        response_timeout: Duration::from_millis(patience),
    }
}

/// State that every callable function needs to parse its calls.
pub(super) fn callables(state: &AppState) -> CallableState {
    CallableState {
        engine: state.engine.clone(),
        max_body_bytes: state.config.server.max_body_bytes,
        body_timeout: state.config.server.body_timeout(),
    }
}

/// Banking's callable functions.
fn bank(state: &AppState, checkout: &Checkout) -> banking::BankingState {
    let config = &state.config;
    banking::BankingState {
        callables: callables(state),
        countries: config.availability.countries.clone(),
        product: config.products.bank_payment.clone(),
        prices: checkout.prices.clone(),
        vault: state.deps.vault.clone(),
        documents: state.deps.documents.clone(),
        clock: state.deps.clock.clone(),
        entropy: state.deps.entropy.clone(),
    }
}

/// Builds all product routes.
pub(super) fn open(state: &AppState, checkout: &Arc<Checkout>) -> ProductRoutes {
    let (config, world) = (&state.config, &state.deps);
    let usa = cards::CardState {
        checkout: checkout.clone(),
        product: config.products.usa_prepaid_card.clone(),
        engine: state.engine.clone(),
        vault: world.vault.clone(),
        cvvs: world.cvvs.clone(),
        reloadable_cards: world.providers.reloadable_cards.clone(),
        issuer: world.providers.issuer.clone(),
        billing_address: world.providers.billing_address.clone(),
        payment_token_reads_earlier: config.identity.payment_token_can_read_cards,
    };
    let international = intl_orders::IntlOrderState {
        checkout: checkout.clone(),
        product: config.products.intl_prepaid_card.clone(),
        engine: state.engine.clone(),
        max_body_bytes: config.server.max_body_bytes,
        body_timeout: config.server.body_timeout(),
        payment_token_reads_earlier: config.identity.payment_token_can_read_cards,
    };
    let gifts = gift_cards::GiftCardSearchState {
        catalog: world.providers.gift_cards.clone(),
        countries: config.products.gift_card.countries.clone(),
        max_fee_rate: config.products.gift_card.fee_rate,
        catalog_timeout: Duration::from_millis(config.engine.settlement_timeout_ms),
    };
    let gift_orders = gift_card_orders::GiftCardOrderState {
        checkout: checkout.clone(),
        product: config.products.gift_card.clone(),
        catalog: world.providers.gift_cards.clone(),
        catalog_timeout: Duration::from_millis(config.engine.settlement_timeout_ms),
    };
    let empty = ProductRoutes {
        routes: Router::new(),
        documents: Vec::new(),
        head_not_allowed: Vec::new(),
    };
    empty
        .add(
            cards::router(Arc::new(usa)),
            cards::ApiDoc::openapi(),
            &["/get-card", "/get-card-data"],
        )
        .add(
            intl_orders::router(Arc::new(international)),
            intl_orders::ApiDoc::openapi(),
            &["/order-intl-card"],
        )
        .add(
            gift_card_orders::router(Arc::new(gift_orders)),
            gift_card_orders::ApiDoc::openapi(),
            &["/order-gift-card"],
        )
        .add(gift_cards::router(Arc::new(gifts)), gift_cards::ApiDoc::openapi(), &[])
        .add(
            merchants::router(world.providers.merchants.clone()),
            merchants::ApiDoc::openapi(),
            &[],
        )
        .add_callables(state, checkout)
        .add_card_routes(state, checkout)
        .add_payout_routes(state, checkout)
}
