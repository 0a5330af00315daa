//! Companies that make what is sold: card issuers first. Card numbers live here in plain only inside a `Secret`,
//! and leave towards the engine sealed.

pub mod banking;
pub mod callback;
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

use self::banking::BankApi;
use self::gift_cards::GiftCardApi;
use self::merchants::MerchantDirectory;
use self::payouts::PayoutApi;
use self::rates::RateSource;
use self::reloadable_cards::ReloadableCardApi;
use crate::secret::Secret;
use crate::vault::{CardNumberRecord, Vault};

/// What an issuer says of an order, the number still readable.
#[derive(Debug)]
pub enum PlainIssueResult {
    /// The card exists.
    Ready(PlainCard),
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: no card exists and none will.
    Declined {
        /// The issuer's word for it.
        reason: ExternalText,
    },
}

/// A card as its issuer delivers it.
#[derive(Debug)]
pub struct PlainCard {
    /// The issuer's name of the card.
    pub issuer_ref: String,
    /// 12 to 19 digits.
    pub number: Secret<String>,
    /// 1 to 12.
    pub exp_month: u8,
    /// Four digits.
    pub exp_year: u16,
}

/// An issuer of cards, in plain.
pub trait CardIssuerApi: Send + Sync {
    /// Orders a card or asks after an order; the key makes them the same call.
    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> BoxFuture<'a, Result<PlainIssueResult, PortError>>;

    /// The CVV, fetched through and never kept. `Permanent` for a card that is not this issuer's.
    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>>;

    /// What can still be spent with the card. `Permanent` for a card that is not this issuer's.
    fn available_balance<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>>;

    /// See [`CardIssuer::card_snapshot`].
    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// See [`CardIssuer::apply_action`].
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>>;

    /// See [`CardIssuer::events_after`].
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>>;

    /// The billing address of this issuer's cards.
    fn billing_address(&self) -> BillingAddress;
}

/// The balances that holders have at an issuer, for whoever shows them.
pub trait CardBalanceReader: Send + Sync {
    /// What there is now behind a deposit address.
    fn balance<'a>(&'a self, address: &'a [u8; 20]) -> BoxFuture<'a, Result<Usdc, PortError>>;
}

/// Everybody who makes what is sold, in plain: in this process or elsewhere.
#[derive(Clone)]
pub struct Providers {
    /// Makes cards.
    pub issuer: Arc<dyn CardIssuerApi>,
    /// Sells gift cards.
    pub gift_cards: Arc<dyn GiftCardApi>,
    /// Pays out.
    pub payouts: Arc<dyn PayoutApi>,
    /// Knows who people are.
    pub identity_check: Arc<dyn IdentityCheck>,
    /// Opens holders' accounts at the issuer.
    pub accounts: Arc<dyn IssuerAccounts>,
    /// Watches what is deposited to them.
    pub deposits: Arc<dyn CardBalances>,
    /// Says what they hold.
    pub balances: Arc<dyn CardBalanceReader>,
    /// Keeps reloadable cards, and takes from what they hold.
    pub reloadable_cards: Arc<dyn ReloadableCardApi>,
    /// Keeps their bank accounts.
    pub bank: Arc<dyn BankApi>,
    /// Carries USDC from Solana to Base.
    pub bridge: Arc<dyn Bridge>,
    /// Says what currencies cost.
    pub rates: Arc<dyn RateSource>,
    /// Says who takes cards.
    pub merchants: Arc<dyn MerchantDirectory>,
    /// What each writes down of its orders, for reconciliation.
    pub lists: ProviderLists,
}

/// Providers' lists, by whose they are.
pub type ProviderLists = BTreeMap<ReconciliationSource, Arc<dyn ProviderList>>;

/// An issuer as the engine may see it: what comes out is sealed.
pub struct SealingIssuer<I: ?Sized> {
    issuer: Arc<I>,
    vault: Arc<Vault>,
}

impl<I: CardIssuerApi + ?Sized> SealingIssuer<I> {
    /// Seals what `issuer` delivers with the vault's active key.
    pub const fn new(issuer: Arc<I>, vault: Arc<Vault>) -> Self {
        Self { issuer, vault }
    }
}

/// Sealing fails only before anything is told to the engine; the order itself is safe at the issuer under its key.
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
