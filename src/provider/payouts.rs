//! Payout rails: orders with readable numbers, and the adapter that opens them. The engine passes them sealed; they are
//! opened only here, immediately before the call.

use std::sync::Arc;

use purser_actors::currency::{Country, Currency};
use purser_actors::id::{CardId, JobId, PayoutId};
use purser_actors::money::Cents;
use purser_actors::port::payouts::{
    PayoutDestination, PayoutEvent, PayoutRailStatus, PayoutRails, PayoutRequest, PayoutStatusUpdate, Platform,
    RecallResult,
};
use purser_actors::port::{ErrorKind, ExternalText, PortError, PortFuture};
use purser_actors::product::ProductLine;
use serde::{Deserialize, Serialize};

use super::definition::{conversions, provider};
use super::remote;
use super::server::missing;
use super::wire::{self, AfterParam, MalformedResponse, rising};
#[cfg(feature = "documents")]
#[cfg(feature = "documents")]
use super::wire::{DecimalAmount, SecretText};
use purser_host::secret::Secret;
use purser_vault::{CardNumberRecord, Vault};

provider! {
    /// Payout rails, with unsealed data. The rules are those of [`PayoutRails`].
    trait PayoutApi, client RemotePayouts, tag "Payouts";

    /// Orders a payout, or queries an order. `Permanent` if the key was used with different content.
    fn send(order: PayoutOrder) -> PayoutStatusUpdate {
        POST "/payouts" createPayout "Order a payout, or query an order";
        key key = order.key, "The same key never pays twice.";
        asks body it: PayoutOrder = order;
        calls (it.checked(key)?);
        answers PayoutReport { payout_id = order.payout_id; body } "Latest status of the payout.";
    }

    /// Last known status of the order under this key; `None` if nothing was ever ordered under it.
    // A decline credits the payer, so a decline of another payout must not count.
    fn find(key: JobId) -> Option<PayoutStatusUpdate> {
        GET "/payout-orders/{key}" getPayoutByKey "Return the order under a key, without ordering";
        at key = key, "An Idempotency-Key.";
        calls (wire::parse::<JobId>(&key, "an Idempotency-Key")?);
        answers PayoutLookupResponse { key = key; .. } "Latest status, or `null` if nothing was ever ordered.";
    }

    /// Recalls the payout that was ordered under this key.
    fn recall(key: JobId, payout: PayoutId) -> RecallResult {
        POST "/payouts/{payout_id}/recall" recallPayout "Recall a payout; repeating it changes nothing";
        at payout_id = payout, "The service's id of the payout.";
        key header = key, "Key of the payout order to recall.";
        calls (header, payout_id.parse::<PayoutId>().map_err(|_| missing("there is no such payout"))?);
        answers RecallResponse { payout_id = payout; outcome } "Whether the recipient has the money.";
    }

    /// Country of the bank that issued a debit card, by the card's first digits; `None` for a card that no rail pays
    /// to.
    // POST, because card numbers in a path or query would end up in access logs.
    fn card_country(number: &'a Secret<String>) -> Option<Country> {
        POST "/debit-card-countries" lookupDebitCardCountry "Return the country of a debit card's bank";
        asks body it: DebitCardQuery = DebitCardQuery { number: number.clone() };
        calls (&it.number);
        answers DebitCardCountryResponse { ; country } "Its country, if a rail pays to it.";
    }

    /// Events after position `after`.
    fn events_after(after: u64, limit: usize) -> Vec<PayoutEvent> {
        GET "/payout-events" listPayoutEvents "List events of all payouts, such as returns days later";
        asks query it: AfterParam = AfterParam { after, limit };
        calls (it.after, it.bounded());
        absent Vec::new();
        answers PayoutEventList "Events in the order of their positions.";
        check |events| rising(after, events.iter().map(|event| event.position));
    }
}

/// First byte of a sealed account number. It is not a month, so the bytes are never read as a card number.
const ACCOUNT_TAG: u8 = 0xF2;

/// Rail of a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PayoutRail {
    /// To a debit card.
    PushToCard,
    /// To a bank account.
    BankPayment,
    /// To the user of a payment app.
    AppPayment,
}

/// An order for a payout.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = PayoutRequest))]
#[serde(deny_unknown_fields)]
pub struct PayoutOrder {
    /// Idempotency key: the same key never pays twice.
    #[serde(skip, default = "wire::no_key")]
    pub key: JobId,
    /// The service's id of the payout, which all of its events name.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub payout_id: PayoutId,
    /// Rail that pays.
    pub rail: PayoutRail,
    /// Amount that the recipient gets.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    pub amount: Cents,
    /// Currency of the amount, ISO 4217.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub currency: Currency,
    /// Recipient of the money.
    pub payee: Payee,
}

/// Recipient of a payout.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Payee {
    /// The owner of a debit card.
    Card {
        /// Card number, 12 to 19 digits.
        #[serde(with = "wire::secret")]
        #[cfg_attr(feature = "documents", schema(value_type = SecretText))]
        number: Secret<String>,
        /// Expiry month, 1 to 12.
        exp_month: u8,
        /// Expiry year, four digits.
        exp_year: u16,
    },
    /// The owner of a bank account.
    Bank {
        /// Nine digits, or the bank's part of an IBAN.
        routing_number: String,
        /// Account number at the bank.
        #[serde(with = "wire::secret")]
        #[cfg_attr(feature = "documents", schema(value_type = SecretText))]
        account_number: Secret<String>,
        /// Name of the account's owner.
        account_holder_name: String,
    },
    /// The user of a payment app.
    App {
        /// `venmo` or `paypal`.
        platform: String,
        /// The recipient's identifier in the app.
        recipient: String,
        /// Recipient's given name.
        first_name: String,
        /// Recipient's family name.
        last_name: String,
        /// Recipient's email address.
        email: String,
    },
}

impl PayoutRail {
    /// The rail of a product line. Other lines have none.
    const fn of(line: ProductLine) -> Option<Self> {
        match line {
            ProductLine::PushToCard => Some(Self::PushToCard),
            ProductLine::BankPayment => Some(Self::BankPayment),
            ProductLine::AppPayment => Some(Self::AppPayment),
            _ => None,
        }
    }

    /// The product line that it pays.
    pub(super) const fn line(self) -> ProductLine {
        match self {
            Self::PushToCard => ProductLine::PushToCard,
            Self::BankPayment => ProductLine::BankPayment,
            Self::AppPayment => ProductLine::AppPayment,
        }
    }
}

impl PayoutOrder {
    /// The order as it arrived, under its key.
    ///
    /// # Errors
    /// When the payee is invalid.
    fn checked(self, key: JobId) -> Result<Self, MalformedResponse> {
        match &self.payee {
            Payee::Card {
                number,
                exp_month,
                exp_year,
            } => {
                let card = CardNumberRecord::new(number.clone(), *exp_month, *exp_year);
                card.map_err(|_| MalformedResponse("a card number"))?;
            }
            Payee::App { platform, .. } if !Platform::ALL.iter().any(|known| known.name() == platform) => {
                return Err(MalformedResponse("a payment app"));
            }
            Payee::Bank { .. } | Payee::App { .. } => {}
        }
        Ok(Self { key, ..self })
    }
}

/// A query for the country of a debit card's bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DebitCardQuery {
    /// Card number, 12 to 19 digits.
    #[serde(with = "wire::secret")]
    #[cfg_attr(feature = "documents", schema(value_type = SecretText))]
    number: Secret<String>,
}

/// Country of a debit card's bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct DebitCardCountryResponse {
    /// ISO 3166-1 alpha-2; `null` for a card that no rail pays to.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>, required))]
    country: Option<Country>,
}

/// A status update of one payout.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = PayoutStatusUpdate))]
pub struct PayoutReport {
    /// The service's id of the payout.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    payout_id: PayoutId,
    /// Sequence and status.
    #[serde(flatten)]
    body: PayoutReportBody,
}

/// A status update. Later updates of one payout have a higher sequence, so that repeated or reordered ones are
/// recognized.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = PayoutUpdateBody))]
pub struct PayoutReportBody {
    /// Number of the update within this payout, from 1.
    sequence: u64,
    /// Status of the payout.
    #[serde(flatten, with = "PayoutStatus")]
    #[cfg_attr(feature = "documents", schema(value_type = PayoutStatus))]
    state: PayoutRailStatus,
}

conversions! {
    PayoutReportBody = PayoutStatusUpdate {
        PayoutReportBody { sequence, state } = (PayoutStatusUpdate { sequence, status: state });
    }
    NumberedReport = PayoutEvent {
        NumberedReport {
            position,
            update: PayoutReport { payout_id, body: PayoutReportBody { sequence, state } },
        } = (PayoutEvent { position, payout: payout_id, update: PayoutStatusUpdate { sequence, status: state } });
    }
    list PayoutEventList { events } = PayoutEvent;
}

/// Status of a payout.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(remote = "PayoutRailStatus", tag = "status", rename_all = "snake_case")]
pub enum PayoutStatus {
    /// Accepted and in progress; for a payment app, also waiting to be claimed.
    InProcess {
        /// Delay before the next query, in milliseconds.
        retry_after_ms: u64,
    },
    /// The payout is paid.
    Complete {
        /// The rail's reference of the payment.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reference: ExternalText,
    },
    /// The payout is not paid and will not be.
    Failed {
        /// The rail's reason.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
    },
    /// Cancelled before it was paid.
    Cancelled {
        /// The rail's reason.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
    },
    /// The money was returned.
    Returned {
        /// The rail's reason.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
    },
}

/// The payout ordered under a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PayoutLookupResponse {
    /// Key of the request.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    key: JobId,
    /// Latest status under the key; `null` if nothing was ever ordered under it. The field must be present: a payer is
    /// credited because of a `null`.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "documents", schema(required))]
    payout: Option<PayoutReportBody>,
}

impl PayoutLookupResponse {
    fn of(found: Option<PayoutStatusUpdate>, key: JobId) -> Self {
        let payout = found.map(Into::into);
        Self { key, payout }
    }
}

impl From<PayoutLookupResponse> for Option<PayoutStatusUpdate> {
    fn from(response: PayoutLookupResponse) -> Self {
        response.payout.map(Into::into)
    }
}

/// Result of a recall.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct RecallResponse {
    /// The service's id of the payout.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    payout_id: PayoutId,
    /// Outcome of the recall.
    #[serde(with = "RecallOutcome")]
    #[cfg_attr(feature = "documents", schema(value_type = RecallOutcome))]
    outcome: RecallResult,
}

/// Outcome of a recall.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(remote = "RecallResult", rename_all = "snake_case")]
pub enum RecallOutcome {
    /// The recipient has received nothing and will not.
    Recalled,
    /// The recipient has the money.
    TooLate,
}

/// Events of all payouts, in the order of their positions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PayoutEventList {
    /// Oldest first; each position is higher than the one before.
    events: Vec<NumberedReport>,
}

/// A payout event and its position.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = PayoutEvent))]
pub struct NumberedReport {
    /// Position over all payouts, from 1. Use it as `after` to continue.
    position: u64,
    /// The status update.
    #[serde(flatten)]
    update: PayoutReport,
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
) -> Result<Vec<u8>, purser_vault::VaultError> {
    let mut plain = zeroize::Zeroizing::new(vec![ACCOUNT_TAG]);
    plain.extend_from_slice(number.expose_secret().as_bytes());
    vault.seal_bytes(CardId(id.0), &plain)
}

impl<R: PayoutApi + ?Sized> SealingPayouts<R> {
    /// Wraps `payouts`; `vault` opens the sealed data.
    pub const fn new(payouts: Arc<R>, vault: Arc<Vault>) -> Self {
        Self { payouts, vault }
    }

    fn open(&self, order: &PayoutRequest) -> Result<PayoutOrder, PortError> {
        // Nothing was sent. An operator has to restore the missing key.
        let failed = |message: String| PortError {
            kind: ErrorKind::Temporary,
            operation: "pay out",
            message,
        };
        let payee = match &order.to {
            PayoutDestination::Card { sealed } => {
                let opened = self.vault.open(CardId(order.payout.0), sealed);
                let card = opened.map_err(|e| failed(e.to_string()))?;
                Payee::Card {
                    number: card.number().clone(),
                    exp_month: card.exp_month(),
                    exp_year: card.exp_year(),
                }
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
                Payee::Bank {
                    routing_number: details.routing_number.clone(),
                    account_number: Secret::new(number.to_owned()),
                    account_holder_name: details.account_holder_name.clone(),
                }
            }
            PayoutDestination::App { platform, payee } => Payee::App {
                platform: platform.name().to_owned(),
                recipient: payee.recipient.clone(),
                first_name: payee.first_name.clone(),
                last_name: payee.last_name.clone(),
                email: payee.email.clone(),
            },
        };
        let no_rail = || remote::failed(ErrorKind::Permanent, "createPayout", "no payout");
        Ok(PayoutOrder {
            key: order.key,
            payout_id: order.payout,
            rail: PayoutRail::of(order.line).ok_or_else(no_rail)?,
            amount: order.amount,
            currency: order.currency,
            payee,
        })
    }
}

impl<R: PayoutApi + ?Sized> PayoutRails for SealingPayouts<R> {
    fn send<'a>(&'a self, order: &'a PayoutRequest) -> PortFuture<'a, PayoutStatusUpdate> {
        Box::pin(async move { self.payouts.send(self.open(order)?).await })
    }

    fn find(&self, key: JobId) -> PortFuture<'_, Option<PayoutStatusUpdate>> {
        self.payouts.find(key)
    }

    fn recall(&self, key: JobId, payout: PayoutId) -> PortFuture<'_, RecallResult> {
        self.payouts.recall(key, payout)
    }

    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<PayoutEvent>> {
        self.payouts.events_after(after, limit)
    }
}
