//! Providers: card issuers, catalogs, payout rails, banks and others. Card numbers are readable here only inside a
//! `Secret`, and reach the engine sealed.

pub mod banking;
pub mod connect;
pub mod gift_cards;
pub mod merchants;
pub mod payouts;
pub mod rates;
pub mod reloadable_cards;
pub mod remote;
pub mod sandbox;
pub mod sealing_gift_cards;
pub mod server;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::id::CardId;
pub use purser_actors::intl_order::BillingAddress;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{
    BoxFuture, Bridge, CardActionRequest, CardBalances, CardEvent, CardIssuer, CardSnapshot, ErrorKind, ExternalText,
    IdentityCheck, IssueCardRequest, IssueResult, IssuedCard, IssuerAccounts, PortError, ProviderList,
};
use purser_actors::reconciliation::ReconciliationSource;
pub use purser_protocol::callback;

use self::banking::BankApi;
use self::gift_cards::GiftCardApi;
use self::merchants::MerchantDirectory;
use self::payouts::PayoutApi;
use self::rates::RateSource;
use self::reloadable_cards::ReloadableCardApi;
use crate::secret::Secret;
use crate::vault::{CardNumberRecord, Vault};

/// Result of an order, with a readable card number.
#[derive(Debug)]
pub enum PlainIssueResult {
    /// The card exists.
    Ready(PlainCard),
    /// Accepted; query again with the same key after this time.
    Pending { retry_after_ms: u64 },
    /// Declined: no card exists, and none ever will.
    Declined {
        /// The issuer's reason.
        reason: ExternalText,
    },
}

/// A card with a readable number.
#[derive(Debug)]
pub struct PlainCard {
    /// The issuer's reference of the card.
    pub issuer_ref: String,
    /// 12 to 19 digits.
    pub number: Secret<String>,
    /// 1 to 12.
    pub exp_month: u8,
    /// Expiry year, four digits.
    pub exp_year: u16,
}

/// A card issuer, with unsealed data.
pub trait CardIssuerApi: Send + Sync {
    /// Orders a card or queries an order: with the same key both are the same call.
    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> BoxFuture<'a, Result<PlainIssueResult, PortError>>;

    /// The CVV, passed through and never stored. `Permanent` for a card that this issuer does not have.
    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>>;

    /// Amount that can still be spent with the card. `Permanent` for a card that this issuer does not have.
    fn available_balance<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>>;

    /// Same contract as [`CardIssuer::card_snapshot`].
    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// Same contract as [`CardIssuer::apply_action`].
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// Same contract as [`CardIssuer::events_after`].
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>>;

    /// The billing address of this issuer's cards.
    fn billing_address(&self) -> BillingAddress;
}

/// Reads card balances at an issuer.
pub trait CardBalanceReader: Send + Sync {
    /// Current balance of a deposit address.
    fn balance<'a>(&'a self, address: &'a [u8; 20]) -> BoxFuture<'a, Result<Usdc, PortError>>;
}

/// All providers with unsealed data, local or remote.
#[derive(Clone)]
pub struct Providers {
    pub issuer: Arc<dyn CardIssuerApi>,
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

/// Implements [`CardIssuer`] for the engine: seals the card data that the issuer returns.
pub struct SealingIssuer<I: ?Sized> {
    issuer: Arc<I>,
    vault: Arc<Vault>,
}

impl<I: CardIssuerApi + ?Sized> SealingIssuer<I> {
    /// Seals card data of `issuer` with the vault's active key.
    pub const fn new(issuer: Arc<I>, vault: Arc<Vault>) -> Self {
        Self { issuer, vault }
    }
}

/// If sealing fails, the engine has received nothing yet; the order is safe at the issuer under its key.
fn sealed(vault: &Vault, card: CardId, plain: PlainCard) -> Result<IssuedCard, PortError> {
    let refused = |message: String| PortError {
        kind: ErrorKind::Temporary,
        operation: "issue",
        message,
    };
    let PlainCard {
        issuer_ref,
        number,
        exp_month,
        exp_year,
    } = plain;
    let number = CardNumberRecord::new(number, exp_month, exp_year).map_err(|e| refused(e.to_string()))?;
    let last4 = number.last4();
    let sealed = vault.seal(card, &number).map_err(|e| refused(e.to_string()))?;
    Ok(IssuedCard {
        issuer_ref,
        last4,
        exp_month,
        exp_year,
        sealed,
    })
}

impl<I: CardIssuerApi + ?Sized> CardIssuer for SealingIssuer<I> {
    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        self.issuer.card_snapshot(issuer_ref)
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        self.issuer.apply_action(order)
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        self.issuer.events_after(after, limit)
    }

    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> BoxFuture<'a, Result<IssueResult, PortError>> {
        Box::pin(async move {
            Ok(match self.issuer.issue(order).await? {
                PlainIssueResult::Ready(card) => IssueResult::Ready(sealed(&self.vault, order.card, card)?),
                PlainIssueResult::Pending { retry_after_ms } => IssueResult::Pending { retry_after_ms },
                PlainIssueResult::Declined { reason } => IssueResult::Declined { reason },
            })
        })
    }
}
