//! Providers: card issuers, catalogs, payout rails, banks and others, each defined in a file of its own with
//! `provider!`. Card numbers are readable here only inside a `Secret`, and reach the engine sealed.

pub mod bank_account_number;
pub mod banking;
pub mod bridge;
pub mod cards;
pub mod connect;
mod definition;
#[cfg(feature = "documents")]
pub mod document;
pub mod gift_cards;
pub mod identity;
pub mod issuer_accounts;
pub mod merchants;
pub mod payouts;
pub mod rates;
pub mod reconciliation;
pub mod reloadable_cards;
pub mod remote;
pub mod sandbox;
pub mod search;
pub mod server;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
pub use purser_actors::intl_order::BillingAddress;
use purser_actors::port::{Bridge, CardBalances, IdentityCheck, IssuerAccounts, ProviderList};
use purser_actors::reconciliation::ReconciliationSource;
pub use purser_protocol::callback;

use self::banking::BankApi;
pub use self::cards::{CardIssuerApi, PlainCard, PlainIssueResult, SealingIssuer};
#[cfg(feature = "documents")]
use self::document::Operations;
use self::gift_cards::GiftCardApi;
pub use self::issuer_accounts::CardBalanceReader;
use self::merchants::MerchantDirectory;
use self::payouts::PayoutApi;
use self::rates::RateSource;
use self::reconciliation::ReconciliationApi;
use self::reloadable_cards::ReloadableCardApi;

/// The protocol's OpenAPI document. Tests generate it from the definitions.
pub const OPENAPI: &str = include_str!("../../docs/providers.openapi.json");

/// All providers with unsealed data, local or remote.
#[derive(Clone)]
pub struct Providers {
    pub issuer: Arc<dyn CardIssuerApi>,
    /// Of the issuer's cards, as it was at the start.
    pub billing_address: BillingAddress,
    pub gift_cards: Arc<dyn GiftCardApi>,
    pub payouts: Arc<dyn PayoutApi>,
    pub identity_check: Arc<dyn IdentityCheck>,
    pub accounts: Arc<dyn IssuerAccounts>,
    /// Observes deposits to issuer accounts.
    pub deposits: Arc<dyn CardBalances>,
    pub balances: Arc<dyn CardBalanceReader>,
    /// Opens reloadable cards and takes the money from those balances.
    pub reloadable_cards: Arc<dyn ReloadableCardApi>,
    pub bank: Arc<dyn BankApi>,
    /// Moves USDC from Solana to Base.
    pub bridge: Arc<dyn Bridge>,
    pub rates: Arc<dyn RateSource>,
    pub merchants: Arc<dyn MerchantDirectory>,
    pub lists: ProviderLists,
}

/// Reconciliation lists by source.
pub type ProviderLists = BTreeMap<ReconciliationSource, Arc<dyn ProviderList>>;

/// Routes of every operation.
fn routes(providers: &Providers) -> Router {
    let lists: Arc<dyn ReconciliationApi> = Arc::new(providers.lists.clone());
    Router::new()
        .merge(cards::routes(&providers.issuer))
        .merge(gift_cards::routes(&providers.gift_cards))
        .merge(payouts::routes(&providers.payouts))
        .merge(identity::routes(&providers.identity_check))
        .merge(issuer_accounts::routes(providers))
        .merge(reloadable_cards::routes(&providers.reloadable_cards))
        .merge(banking::routes(&providers.bank))
        .merge(bridge::routes(&providers.bridge))
        .merge(rates::routes(&providers.rates))
        .merge(merchants::routes(&providers.merchants))
        .merge(reconciliation::routes(&lists))
}

/// Every operation, by its tag.
#[cfg(feature = "documents")]
fn describe(document: &mut Operations) {
    document.tag("Cards", "Prepaid cards.");
    cards::describe(document);
    document.tag("Gift cards", "The gift card catalog and its orders.");
    gift_cards::describe(document);
    document.tag("Payouts", "Payouts to debit cards, bank accounts and payment apps.");
    payouts::describe(document);
    document.tag("Identity", "Identity checks.");
    identity::describe(document);
    document.tag("Issuer accounts", "Accounts at the card issuer and their deposits.");
    issuer_accounts::describe(document);
    document.tag(
        "Reloadable cards",
        "Reloadable cards and holds on the balances that they spend.",
    );
    reloadable_cards::describe(document);
    document.tag("Banking", "Applications, accounts and transfers at the bank.");
    banking::describe(document);
    document.tag("Bridge", "Burns, attestations and mints of USDC.");
    bridge::describe(document);
    document.tag("Reference data", "Exchange rates and merchants.");
    rates::describe(document);
    merchants::describe(document);
    document.tag("Reconciliation", "Everything that the provider did, for comparison.");
    reconciliation::describe(document);
}
