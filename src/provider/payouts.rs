//! The plain side of the payout rails: orders with readable numbers. The engine passes them sealed; they are opened
//! only here, immediately before the call.

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

/// First byte of a sealed account number. It is not a month, so the bytes are never read as a card number.
const ACCOUNT_TAG: u8 = 0xF2;

/// Payee of a payout, with readable numbers.
#[derive(Clone, Debug)]
pub enum PlainPayee {
    Card(CardNumberRecord),
    Bank {
        /// ABA routing number, nine digits.
        routing_number: String,
        account_number: Secret<String>,
        account_holder_name: String,
    },
    /// The user of a payment app.
    App(Platform, AppPayee),
}

/// An order with readable numbers.
#[derive(Clone, Debug)]
pub struct PlainPayout {
    pub key: JobId,
    /// Our id, which the rail's events name.
    pub payout: PayoutId,
    /// Product line, which determines the rail.
    pub line: ProductLine,
    /// Amount that the recipient gets.
    pub amount: Cents,
    pub currency: Currency,
    pub to: PlainPayee,
}

/// Payout rails, with unsealed data. The rules are those of [`PayoutRails`].
pub trait PayoutApi: Send + Sync {
    /// Orders a payout, or queries an order. `Permanent` if the key was used with different content.
    fn send(&self, order: PlainPayout) -> BoxFuture<'_, Result<PayoutStatusUpdate, PortError>>;

    /// Last known status of the order under this key; `None` if nothing was ever ordered under it.
    fn find(&self, key: JobId) -> BoxFuture<'_, Result<Option<PayoutStatusUpdate>, PortError>>;

    /// Recalls the payout that was ordered under this key.
    fn recall(&self, key: JobId, payout: PayoutId) -> BoxFuture<'_, Result<RecallResult, PortError>>;

    /// Country of the bank that issued a debit card, by the card's first digits; `None` for a card that no rail pays
    /// to.
    fn card_country<'a>(&'a self, number: &'a Secret<String>) -> BoxFuture<'a, Result<Option<Country>, PortError>>;

    /// Events after position `after`.
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>>;
}

/// Implements [`PayoutRails`] for the engine: opens sealed data and passes it on to a [`PayoutApi`].
pub struct SealingPayouts<R: ?Sized> {
    payouts: Arc<R>,
    vault: Arc<Vault>,
}

/// Seals an account number under its destination's id.
///
/// # Errors
/// When the vault cannot seal it.
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
    /// Wraps `payouts`; `vault` opens the sealed data.
    pub const fn new(payouts: Arc<R>, vault: Arc<Vault>) -> Self {
        Self { payouts, vault }
    }

    fn open(&self, order: &PayoutRequest) -> Result<PlainPayout, PortError> {
        // Nothing was sent. An operator has to restore the missing key.
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
