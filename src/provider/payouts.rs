//! Payout rails as they see an order: with the numbers in plain. The engine hands them over sealed; they are opened here,
//! at the last moment, and nowhere else.

use std::sync::Arc;

use purser_actors::id::{CardId, JobId, PayoutId};
use purser_actors::money::Cents;
use purser_actors::port::payouts::{
    PayoutDestination, PayoutEvent, PayoutRails, PayoutRequest, PayoutStatusUpdate, RecallResult,
};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};
use purser_actors::product::{AppPayee, Country, Currency, Platform, ProductLine};

use crate::secret::Secret;
use crate::vault::{CardNumberRecord, Vault};

/// First byte of a sealed account number: no month, so a card number is never taken for it.
const ACCOUNT_TAG: u8 = 0xF2;

/// Who gets a payout, in plain.
#[derive(Clone, Debug)]
pub enum PlainPayee {
    /// A debit card.
    Card(CardNumberRecord),
    /// A bank account.
    Bank {
        /// Nine digits.
        routing_number: String,
        /// As the bank knows it.
        account_number: Secret<String>,
        /// Whose.
        account_holder_name: String,
    },
    /// The user of a payment app.
    App(Platform, AppPayee),
}

/// An order in plain.
#[derive(Clone, Debug)]
pub struct PlainPayout {
    /// Idempotency key.
    pub key: JobId,
    /// Our id, which the rail's words name.
    pub payout: PayoutId,
    /// Which rail.
    pub line: ProductLine,
    /// What the recipient gets.
    pub amount: Cents,
    /// In which currency.
    pub currency: Currency,
    /// Who.
    pub to: PlainPayee,
}

/// Rails, in plain. The rules are those of [`PayoutRails`].
pub trait PayoutApi: Send + Sync {
    /// Orders a payout or asks after an order. `Permanent` for a key that was used with another content.
    fn send(&self, order: PlainPayout) -> BoxFuture<'_, Result<PayoutStatusUpdate, PortError>>;

    /// What was last said of an order under this key; `None` when nothing was ever ordered under it.
    fn find(&self, key: JobId) -> BoxFuture<'_, Result<Option<PayoutStatusUpdate>, PortError>>;

    /// Takes back what was ordered under this key.
    fn recall(&self, key: JobId, payout: PayoutId) -> BoxFuture<'_, Result<RecallResult, PortError>>;

    /// Where the bank of a debit card is, by the card's first digits; `None` for a card that no rail pays to.
    fn card_country<'a>(&'a self, number: &'a Secret<String>) -> BoxFuture<'a, Result<Option<Country>, PortError>>;

    /// What was told since.
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>>;
}

/// Rails as the engine may see them: what goes in is sealed.
pub struct SealingPayouts<R: ?Sized> {
    payouts: Arc<R>,
    vault: Arc<Vault>,
}

/// Seals an account number under its destination's id.
///
/// # Errors
/// When the vault refuses.
pub fn seal_account(
    vault: &Vault,
    id: purser_actors::id::BankDestinationId,
    number: &Secret<String>,
) -> Result<Vec<u8>, crate::vault::VaultError> {
    let mut plain = zeroize::Zeroizing::new(vec![ACCOUNT_TAG]);
    plain.extend_from_slice(number.expose_secret().as_bytes());
    vault.seal_bytes(CardId(id.0), &plain)
}

impl<R: PayoutApi + ?Sized> SealingPayouts<R> {
    /// Opens what the vault sealed, for these rails.
    pub const fn new(payouts: Arc<R>, vault: Arc<Vault>) -> Self {
        Self { payouts, vault }
    }

    fn open(&self, order: &PayoutRequest) -> Result<PlainPayout, PortError> {
        // Nothing was sent; a missing key is the operator's to bring back.
        let failed = |message: String| PortError {
            kind: ErrorKind::Temporary,
            operation: "pay out",
            message,
        };
        let to = match &order.to {
            PayoutDestination::Card { sealed } => {
                let opened = self.vault.open(CardId(order.payout.0), sealed);
                PlainPayee::Card(opened.map_err(|e| failed(e.to_string()))?)
            }
            PayoutDestination::Bank {
                destination,
                details,
                sealed,
            } => {
                let opened = self.vault.open_bytes(CardId(destination.0), sealed);
                let opened = opened.map_err(|e| failed(e.to_string()))?;
                let number = match opened.split_first() {
                    Some((&ACCOUNT_TAG, number)) => std::str::from_utf8(number).ok(),
                    _ => None,
                };
                let number = number.ok_or_else(|| failed("the sealed record is no account number".into()))?;
                PlainPayee::Bank {
                    routing_number: details.routing_number.clone(),
                    account_number: Secret::new(number.to_owned()),
                    account_holder_name: details.account_holder_name.clone(),
                }
            }
            PayoutDestination::App { platform, payee } => PlainPayee::App(*platform, payee.clone()),
        };
        Ok(PlainPayout {
            key: order.key,
            payout: order.payout,
            line: order.line,
            amount: order.amount,
            currency: order.currency,
            to,
        })
    }
}

impl<R: PayoutApi + ?Sized> PayoutRails for SealingPayouts<R> {
    fn send<'a>(&'a self, order: &'a PayoutRequest) -> BoxFuture<'a, Result<PayoutStatusUpdate, PortError>> {
        Box::pin(async move { self.payouts.send(self.open(order)?).await })
    }

    fn find(&self, key: JobId) -> BoxFuture<'_, Result<Option<PayoutStatusUpdate>, PortError>> {
        self.payouts.find(key)
    }

    fn recall(&self, key: JobId, payout: PayoutId) -> BoxFuture<'_, Result<RecallResult, PortError>> {
        self.payouts.recall(key, payout)
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>> {
        self.payouts.events_after(after, limit)
    }
}
