//! Sandbox control of payouts: faults and events of the rails, and registration of bank destinations, which have no
//! other route yet.

use std::sync::Arc;

use purser_actors::engine::Engine;
use purser_actors::entity::bank_destination::{BankDestination, BankRecipient, DestinationType};
use purser_actors::id::{BankDestinationId, BankRecipientId, PayoutId};
use purser_actors::port::payouts::BankDetails;
use purser_actors::port::{Entropy, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ControlError, PendingFault, delay, invalid, pending_faults, set_fault, wallet};
use crate::bank_account_number;
use crate::payouts::seal_account;
use crate::sandbox::payouts::faults::magic_amounts;
use crate::sandbox::payouts::{PayoutEventKind, SandboxPayouts};
use purser_host::secret::Secret;
use purser_vault::Vault;

/// Most destinations in one request.
const MAX_DESTINATIONS: usize = 20;
/// Most characters of a name or address.
const MAX_TEXT_LEN: usize = 140;

pub struct PayoutControl {
    pub rails: Arc<SandboxPayouts>,
    /// Engine that stores the destinations.
    pub engine: Engine,
    /// Seals account numbers.
    pub vault: Arc<Vault>,
    /// For new ids.
    pub entropy: Arc<dyn Entropy>,
}

/// `POST` a fault or an event of the payout rails.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PayoutControlRequest {
    /// Fault to inject.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub fault: Option<PayoutFaultParam>,
    /// Number of calls that fail; 1 if absent. 0 lasts until `clear`.
    pub times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
    /// Instead of a fault: event to emit for `payout_id`.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub event: Option<PayoutEventParam>,
    /// Payout that the event is about.
    pub payout_id: Option<String>,
    /// Sequence number of the event within the payout; the next one if absent.
    pub sequence: Option<u64>,
}

purser_sandbox::fault_params! {
    /// Faults of the payout rails. `duplicate` emits all past events of the order again.
    pub enum PayoutFaultParam { MalformedResponse, Timeout, Decline, Duplicate; }
}

/// Events that the rails can emit for a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PayoutEventParam {
    /// The payout is in process.
    InProcess,
    /// The payout was paid.
    Complete,
    /// The payout failed and will not be paid.
    Failed,
    /// The payout was cancelled.
    Cancelled,
    /// The payout was returned.
    Returned,
}

/// State of the sandbox payout rails.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxPayoutView {
    /// Always true: no real money is involved.
    pub sandbox: bool,
    /// Number of orders accepted.
    pub orders: usize,
    /// Number of events emitted.
    pub events: u64,
    /// Number of recalled orders.
    pub recalled: usize,
    /// Faults still to be injected.
    pub faults: Vec<PendingFault>,
    /// Number of calls that met a fault since the start.
    pub faults_injected: u64,
    /// Amounts that force an outcome, on every rail and in every currency.
    pub magic_amounts: Vec<MagicPayoutAmount>,
}

/// An amount that forces an outcome.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct MagicPayoutAmount {
    /// Amount as decimal text.
    pub amount: String,
    /// Outcome that the amount forces.
    pub effect: &'static str,
}

/// `POST` a bank recipient.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BankRecipientRequest {
    /// Address, on either chain, of the wallet whose account gets the recipient.
    pub wallet: String,
    /// Name of the person or company.
    pub name: String,
    /// Postal address in one line; none if absent.
    pub address: Option<String>,
    /// Bank destinations of the recipient, at least one.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub destinations: Vec<SandboxDestinationRequest>,
}

/// A bank destination.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SandboxDestinationRequest {
    /// `fiat_us` with `routing_number` and `account_number`, or `fiat_iban` with `iban`.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub destination_type: SandboxDestinationType,
    /// Label for the account owner; the recipient's name if absent.
    pub nickname: Option<String>,
    /// Name of the bank.
    pub bank_name: String,
    /// Name on the bank account; the recipient's name if absent.
    pub account_holder_name: Option<String>,
    /// Nine digits with a valid checksum.
    pub routing_number: Option<String>,
    /// 4 to 17 digits.
    pub account_number: Option<String>,
    /// No spaces, with valid check digits.
    pub iban: Option<String>,
}

/// Type of a bank destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SandboxDestinationType {
    /// Account at a bank in the United States.
    FiatUs,
    /// Account with an IBAN.
    FiatIban,
}

/// A registered bank recipient.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BankRecipientResponse {
    /// Id of the recipient.
    pub recipient_id: String,
    /// Destination ids for `GET /send-bank-payment`, in the order of the request.
    pub destination_ids: Vec<String>,
}

impl PayoutControl {
    /// Returns the state of the rails.
    ///
    /// # Errors
    /// [`ControlError::Stopped`].
    pub async fn state(&self) -> Result<SandboxPayoutView, ControlError> {
        let state = self.rails.state().await?;
        let magic = magic_amounts()
            .into_iter()
            .map(|(amount, _, effect)| MagicPayoutAmount {
                amount: format!("{:.2}", amount.decimal()),
                effect,
            });
        Ok(SandboxPayoutView {
            sandbox: true,
            orders: state.orders,
            events: state.events,
            recalled: state.recalled,
            faults: pending_faults(&self.rails.faults.waiting()),
            faults_injected: self.rails.faults.injected(),
            magic_amounts: magic.collect(),
        })
    }

    /// Injects a fault or emits an event, and returns the new state.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if a field is invalid or does not belong to the others; nothing changes then.
    pub async fn apply(&self, request: &PayoutControlRequest) -> Result<SandboxPayoutView, ControlError> {
        match (request.fault, request.event) {
            (Some(name), None) => self.fault(name, request)?,
            (None, Some(word)) => self.emit_event(word, request).await?,
            _ => return Err(invalid("fault", "either a fault or an event")),
        }
        self.state().await
    }

    fn fault(&self, name: PayoutFaultParam, request: &PayoutControlRequest) -> Result<(), ControlError> {
        let ms = delay(request.delay_ms)?;
        if request.delay_ms.is_some() && name != PayoutFaultParam::Slow {
            return Err(invalid("delay_ms", "only for slow"));
        }
        if request.payout_id.is_some() || request.sequence.is_some() {
            return Err(invalid("payout_id", "only with an event"));
        }
        set_fault(&self.rails.faults, name.fault(ms), request.times)
    }

    async fn emit_event(&self, word: PayoutEventParam, request: &PayoutControlRequest) -> Result<(), ControlError> {
        let words = match word {
            PayoutEventParam::InProcess => PayoutEventKind::InProcess,
            PayoutEventParam::Complete => PayoutEventKind::Complete,
            PayoutEventParam::Failed => PayoutEventKind::Failed,
            PayoutEventParam::Cancelled => PayoutEventKind::Cancelled,
            PayoutEventParam::Returned => PayoutEventKind::Returned,
        };
        if request.times.is_some() || request.delay_ms.is_some() {
            return Err(invalid("times", "only for a fault"));
        }
        let unknown = || invalid("payout_id", "not a payout that was sent to the rails");
        let payout = request.payout_id.as_deref().ok_or_else(unknown)?;
        let payout: PayoutId = payout.parse().map_err(|_| unknown())?;
        if self.rails.emit_event(payout, words, request.sequence).await? {
            Ok(())
        } else {
            Err(unknown())
        }
    }

    /// Registers a bank recipient with its destinations.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if a field is invalid; nothing is registered then.
    pub async fn register(&self, request: BankRecipientRequest) -> Result<BankRecipientResponse, ControlError> {
        let owner = wallet(&request.wallet)?;
        let recipient = BankRecipient {
            id: BankRecipientId::mint(owner.shard(), self.entropy.random()),
            name: text("name", &request.name)?,
            address: request
                .address
                .as_deref()
                .map_or(Ok(String::new()), |a| text("address", a))?,
        };
        if request.destinations.is_empty() || request.destinations.len() > MAX_DESTINATIONS {
            return Err(invalid("destinations", format!("1 to {MAX_DESTINATIONS}")));
        }
        let mut checked = Vec::with_capacity(request.destinations.len());
        for wanted in request.destinations {
            let (scheme, details, number) = account(wanted, &recipient)?;
            let destination = BankDestination {
                owner,
                recipient: recipient.clone(),
                scheme,
                details,
                created_at: Timestamp::default(),
                active: true,
            };
            checked.push((
                BankDestinationId::mint(owner.shard(), self.entropy.random()),
                destination,
                number,
            ));
        }
        let mut destination_ids = Vec::with_capacity(checked.len());
        for (id, destination, number) in checked {
            let failed = |what: &str| invalid("destinations", format!("could not be kept: {what}"));
            let sealed = seal_account(&self.vault, id, &number).map_err(|e| failed(&e.to_string()))?;
            let kept = self.engine.register_destination(id, destination, sealed, None).await;
            kept.map_err(|_| failed("try again"))?;
            destination_ids.push(id.to_string());
        }
        Ok(BankRecipientResponse {
            recipient_id: recipient.id.to_string(),
            destination_ids,
        })
    }
}

fn text(param: &'static str, text: &str) -> Result<String, ControlError> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MAX_TEXT_LEN || text.chars().any(char::is_control) {
        return Err(invalid(
            param,
            format!("readable text of 1 to {MAX_TEXT_LEN} characters"),
        ));
    }
    Ok(text.to_owned())
}

/// The public details of an account and its number, after the checksums are verified.
fn account(
    wanted: SandboxDestinationRequest,
    recipient: &BankRecipient,
) -> Result<(DestinationType, BankDetails, Secret<String>), ControlError> {
    let (account_number, iban) = (wanted.account_number.map(Secret::new), wanted.iban.map(Secret::new));
    let (scheme, routing_number, number) = match (wanted.destination_type, wanted.routing_number, account_number, iban)
    {
        (SandboxDestinationType::FiatUs, Some(routing), Some(number), None) => {
            bank_account_number::routing_number(&routing).map_err(|e| invalid("routing_number", e.to_string()))?;
            bank_account_number::us_account(&number).map_err(|e| invalid("account_number", e.to_string()))?;
            (DestinationType::FiatUs, routing, number)
        }
        (SandboxDestinationType::FiatIban, None, None, Some(number)) => {
            bank_account_number::iban(&number).map_err(|e| invalid("iban", e.to_string()))?;
            (DestinationType::FiatIban, String::new(), number)
        }
        _ => {
            let needs = "fiat_us takes routing_number and account_number, fiat_iban takes iban";
            return Err(invalid("destination_type", needs));
        }
    };
    let digits = number.expose_secret();
    let details = BankDetails {
        name: wanted
            .nickname
            .as_deref()
            .map_or(Ok(recipient.name.clone()), |t| text("nickname", t))?,
        bank_name: text("bank_name", &wanted.bank_name)?,
        account_holder_name: match &wanted.account_holder_name {
            Some(name) => text("account_holder_name", name)?,
            None => recipient.name.clone(),
        },
        last4: digits
            .get(digits.len().saturating_sub(4)..)
            .unwrap_or_default()
            .to_owned(),
        routing_number,
    };
    Ok((scheme, details, number))
}
