//! What is sold, and what is looked up before buying: one line a room.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use purser_actors::id::Network;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;

use super::routes::House;
use crate::agent_wallet::terms::OwnAddresses;
use crate::checkout::Checkout;
use crate::http::callable::Callables;
use crate::http::rate::RateLimiter;
use crate::http::{
    agent_wallet, banking, card_refresh, cards, gift_cards, gift_orders, intl_cards, merchants, payouts, recipients,
    redeem, reloadables, steering, top_ups,
};

/// The rooms together.
pub(super) struct Shop {
    pub(super) routes: Router,
    pub(super) documents: Vec<Document>,
    /// Routes that HEAD must not reach: paid ones, and those that write down what they show.
    pub(super) no_head: Vec<&'static str>,
}

impl Shop {
    fn room(mut self, routes: Router, document: Document, no_head: &[&'static str]) -> Self {
        self.routes = self.routes.merge(routes);
        self.documents.push(document);
        self.no_head.extend(no_head);
        self
    }

    /// What is called by name: the bank, and the managed wallet.
    fn callables(self, house: &House, checkout: &Arc<Checkout>) -> Self {
        self.room(
            banking::router(Arc::new(bank(house, checkout))),
            banking::Api::openapi(),
            &[],
        )
        .room(
            agent_wallet::router(Arc::new(agent_wallets(house))),
            agent_wallet::Api::openapi(),
            &[],
        )
    }

    /// What goes on with cards after they are made: their news, and the balance that reloadable ones spend.
    fn card_news_and_balances(self, house: &House, checkout: &Arc<Checkout>) -> Self {
        let (config, world) = (&house.config, &house.world);
        let refresh = card_refresh::CardRefresh {
            engine: house.engine.clone(),
            max_body_bytes: config.server.max_body_bytes,
            body_timeout: config.server.body_timeout(),
        };
        let top_ups = top_ups::TopUps {
            checkout: checkout.clone(),
            product: config.products.card_balance.clone(),
            engine: house.engine.clone(),
            balances: world.providers.balances.clone(),
        };
        let reloadables = reloadables::Reloadables {
            engine: house.engine.clone(),
            balances: world.providers.balances.clone(),
            entropy: world.entropy.clone(),
            public_url: house.public_url.clone(),
            max_body_bytes: config.server.max_body_bytes,
            body_timeout: config.server.body_timeout(),
            payment_token_reads_earlier: config.identity.payment_token_reads_cards,
        };
        let reloadables = Arc::new(reloadables);
        self.room(
            card_refresh::router(Arc::new(refresh)),
            card_refresh::Api::openapi(),
            &[],
        )
        .room(
            reloadables::router(reloadables.clone()),
            reloadables::Api::openapi(),
            &[],
        )
        .room(steering::router(reloadables), steering::Api::openapi(), &[])
        .room(
            top_ups::router(Arc::new(top_ups)),
            top_ups::Api::openapi(),
            &["/fund-card-balance"],
        )
    }

    /// Payouts, whom they go to, and the page of who gets one.
    fn paying_out(self, house: &House, checkout: &Arc<Checkout>) -> Self {
        let (config, world) = (&house.config, &house.world);
        let payouts = payouts::Payouts {
            checkout: checkout.clone(),
            push_to_card: config.products.push_to_card.clone(),
            bank_payment: config.products.bank_payment.clone(),
            app_payment: config.products.app_payment.clone(),
            engine: house.engine.clone(),
            forms: checkout.answers.forms.clone(),
            payment_token_reads_earlier: config.identity.payment_token_reads_cards,
        };
        let recipients = recipients::Recipients {
            engine: house.engine.clone(),
            max_body_bytes: config.server.max_body_bytes,
            body_timeout: config.server.body_timeout(),
        };
        let redeem = redeem::Redeem {
            engine: house.engine.clone(),
            forms: checkout.answers.forms.clone(),
            vault: world.vault.clone(),
            rails: world.providers.rails.clone(),
            product: config.products.push_to_card.clone(),
            clock: world.clock.clone(),
            body_timeout: config.server.body_timeout(),
        };
        self.room(
            payouts::router(Arc::new(payouts)),
            payouts::Api::openapi(),
            &["/get-push-to-card", "/send-bank-payment", "/send-payment"],
        )
        .room(
            recipients::router(Arc::new(recipients)),
            recipients::Api::openapi(),
            &[],
        )
        .room(redeem::router(Arc::new(redeem)), redeem::Api::openapi(), &[])
    }
}

/// The managed wallet's callable functions.
fn agent_wallets(house: &House) -> agent_wallet::AgentWallets {
    let (config, world) = (&house.config, &house.world);
    let pay_to = &config.payment.pay_to;
    // What comes before and after the wait takes its time too.
    let rest = config.outbound.timeout_ms.saturating_add(5_000);
    let patience = config.server.request_timeout_ms.saturating_sub(rest);
    agent_wallet::AgentWallets {
        callables: callables(house),
        wallets: world.wallets.clone(),
        calling: world.calling.clone(),
        vault: world.vault.clone(),
        clock: world.clock.clone(),
        entropy: world.entropy.clone(),
        limits: config.agent_wallet.limits(),
        ceiling: RateLimiter::new(&config.agent_wallet.ceiling(&config.limits)),
        own_addresses: OwnAddresses::of(Network::ALL.into_iter().filter_map(|n| pay_to.wallet(n))),
        public_url: house.public_url.clone(),
        patience: Duration::from_millis(patience),
    }
}

/// What every callable function reads its calls with.
pub(super) fn callables(house: &House) -> Callables {
    Callables {
        engine: house.engine.clone(),
        max_body_bytes: house.config.server.max_body_bytes,
        body_timeout: house.config.server.body_timeout(),
    }
}

/// Banking's callable functions.
fn bank(house: &House, checkout: &Checkout) -> banking::Banking {
    let config = &house.config;
    banking::Banking {
        callables: callables(house),
        countries: config.service.countries.clone(),
        product: config.products.bank_payment.clone(),
        prices: checkout.prices.clone(),
        vault: house.world.vault.clone(),
        documents: house.world.documents.clone(),
        clock: house.world.clock.clone(),
        entropy: house.world.entropy.clone(),
    }
}

/// Opens every room.
pub(super) fn open(house: &House, checkout: &Arc<Checkout>) -> Shop {
    let (config, world) = (&house.config, &house.world);
    let usa = cards::Cards {
        checkout: checkout.clone(),
        product: config.products.usa_prepaid_card.clone(),
        engine: house.engine.clone(),
        vault: world.vault.clone(),
        cvvs: world.cvvs.clone(),
        program: world.providers.program.clone(),
        issuer: world.providers.issuer.clone(),
        payment_token_reads_earlier: config.identity.payment_token_reads_cards,
    };
    let international = intl_cards::IntlCards {
        checkout: checkout.clone(),
        product: config.products.intl_prepaid_card.clone(),
        engine: house.engine.clone(),
        max_body_bytes: config.server.max_body_bytes,
        body_timeout: config.server.body_timeout(),
        payment_token_reads_earlier: config.identity.payment_token_reads_cards,
    };
    let gifts = gift_cards::GiftCards {
        catalog: world.providers.gift_cards.clone(),
        countries: config.products.gift_card.countries.clone(),
        most: config.products.gift_card.fee_rate,
        patience: Duration::from_millis(config.engine.settle_timeout_ms),
    };
    let gift_orders = gift_orders::GiftOrders {
        checkout: checkout.clone(),
        product: config.products.gift_card.clone(),
        catalog: world.providers.gift_cards.clone(),
        patience: Duration::from_millis(config.engine.settle_timeout_ms),
    };
    let empty = Shop {
        routes: Router::new(),
        documents: Vec::new(),
        no_head: Vec::new(),
    };
    empty
        .room(
            cards::router(Arc::new(usa)),
            cards::Api::openapi(),
            &["/get-card", "/get-card-data"],
        )
        .room(
            intl_cards::router(Arc::new(international)),
            intl_cards::Api::openapi(),
            &["/order-intl-card"],
        )
        .room(
            gift_orders::router(Arc::new(gift_orders)),
            gift_orders::Api::openapi(),
            &["/order-gift-card"],
        )
        .room(gift_cards::router(Arc::new(gifts)), gift_cards::Api::openapi(), &[])
        .room(
            merchants::router(world.providers.merchants.clone()),
            merchants::Api::openapi(),
            &[],
        )
        .callables(house, checkout)
        .card_news_and_balances(house, checkout)
        .paying_out(house, checkout)
}
