//! The desk's part for payouts: what the rails do and say, and the bank destinations that nobody can register elsewhere
//! yet.

use std::sync::Arc;

use purser_actors::bank_destination::{BankDestination, BankRecipient, DestinationType};
use purser_actors::engine::Engine;
use purser_actors::id::{BankDestinationId, BankRecipientId, PayoutId};
use purser_actors::payout::BankDetails;
use purser_actors::port::{Entropy, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ControlError, MAX_RULES, PendingFault, delay, fault_count, invalid, wallet};
use crate::bank_account_number;
use crate::provider::payouts::seal_account;
use crate::provider::sandbox::payouts::faults::{PayoutFault, magic_amounts};
use crate::provider::sandbox::payouts::{PayoutEventKind, SandboxPayouts};
use crate::secret::Secret;
use crate::vault::Vault;

/// Destinations in one request, at most.
const MAX_DESTINATIONS: usize = 20;
/// Characters of a name or address, at most.
const MAX_TEXT_LEN: usize = 140;

/// The rails behind the desk.
pub struct PayoutControl {
    /// Pays out.
    pub rails: Arc<SandboxPayouts>,
    /// Keeps destinations.
    pub engine: Engine,
    /// Seals account numbers.
    pub vault: Arc<Vault>,
    /// For new ids.
    pub entropy: Arc<dyn Entropy>,
}

/// `POST` faults and words of the rails.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PayoutControlRequest {
    /// What goes wrong.
    #[schema(inline)]
    pub fault: Option<PayoutFaultParam>,
    /// How often; 1 if absent, 0 until cleared.
    pub times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
    /// In place of a fault: say this of `payout_id`.
    #[schema(inline)]
    pub event: Option<PayoutEventParam>,
    /// Of which payout.
    pub payout_id: Option<String>,
    /// The word's place among those about the payout; the next if absent.
    pub sequence: Option<u64>,
}

/// What the rails can be told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PayoutFaultParam {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Answer nonsense.
    MalformedResponse,
    /// Take the order and never answer.
    Timeout,
    /// Refuse the order.
    Decline,
    /// Tell everything said of the order so far again.
    Duplicate,
    /// Forget every fault.
    Clear,
}

/// What the rails can say of a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PayoutEventParam {
    /// It is on its way.
    InProcess,
    /// It is paid.
    Complete,
    /// It is not paid and will not be.
    Failed,
    /// It was stopped.
    Cancelled,
    /// It came back.
    Returned,
}

/// The payout rails.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SandboxPayoutView {
    /// Always true: this is not real money.
    pub sandbox: bool,
    /// Orders taken.
    pub orders: usize,
    /// Words told.
    pub events: u64,
    /// Orders whose money was taken back.
    pub recalled: usize,
    /// Faults waiting.
    pub faults: Vec<PendingFault>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
    /// Amounts that force an outcome, on every rail and in every currency.
    pub magic_amounts: Vec<MagicPayoutAmount>,
}

/// An amount that forces an outcome.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MagicPayoutAmount {
    /// Decimal text.
    pub amount: String,
    /// What happens.
    pub effect: &'static str,
}

/// `POST` a bank recipient.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankRecipientRequest {
    /// Whose list it goes on: an address of either chain.
    pub wallet: String,
    /// A person or company.
    pub name: String,
    /// One line; none if absent.
    pub address: Option<String>,
    /// At least one.
    #[schema(inline)]
    pub destinations: Vec<SandboxDestinationRequest>,
}

/// A bank destination.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxDestinationRequest {
    /// `fiat_us` with `routing_number` and `account_number`, or `fiat_iban` with `iban`.
    #[schema(inline)]
    pub destination_type: SandboxDestinationType,
    /// What its owner calls it; the recipient's name if absent.
    pub nickname: Option<String>,
    /// The bank.
    pub bank_name: String,
    /// Whose account; the recipient's name if absent.
    pub account_holder_name: Option<String>,
    /// Nine digits with their checksum right.
    pub routing_number: Option<String>,
    /// 4 to 17 digits.
    pub account_number: Option<String>,
    /// Without spaces, its check digits right.
    pub iban: Option<String>,
}

/// A kind of account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxDestinationType {
    /// In the U.S.
    FiatUs,
    /// With an IBAN.
    FiatIban,
}

/// A bank recipient that was registered.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BankRecipientResponse {
    /// Its id.
    pub recipient_id: String,
    /// For `GET /send-bank-payment`, in the order of the request.
    pub destination_ids: Vec<String>,
}

impl PayoutControl {
    /// The rails at a glance.
    ///
    /// # Errors
    /// [`DeskError::Stopped`].
    pub async fn state(&self) -> Result<SandboxPayoutView, ControlError> {
        let state = self.rails.state().await?;
        let faults = state.rules.iter().map(|rule| PendingFault {
            fault: rule.fault.name(),
            wallet: None,
            remaining: rule.remaining,
        });
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
            faults: faults.collect(),
            faults_injected: state.faults_injected,
            magic_amounts: magic.collect(),
        })
    }

    /// Steers the rails, or lets them say something, and answers the new state.
    ///
    /// # Errors
    /// [`DeskError::Invalid`] for a field that is wrong or does not belong to the others; nothing changes then.
    pub async fn apply(&self, request: &PayoutControlRequest) -> Result<SandboxPayoutView, ControlError> {
        match (request.fault, request.event) {
            (Some(name), None) => self.fault(name, request).await?,
            (None, Some(word)) => self.emit_event(word, request).await?,
            _ => return Err(invalid("fault", "either a fault or a word to say")),
        }
        self.state().await
    }

    async fn fault(&self, name: PayoutFaultParam, request: &PayoutControlRequest) -> Result<(), ControlError> {
        let ms = delay(request.delay_ms)?;
        if request.delay_ms.is_some() && name != PayoutFaultParam::Slow {
            return Err(invalid("ms", "only for slow"));
        }
        if request.payout_id.is_some() || request.sequence.is_some() {
            return Err(invalid("payout_id", "only with a word to say"));
        }
        let fault = match name {
            PayoutFaultParam::Unreachable => PayoutFault::Unreachable,
            PayoutFaultParam::Slow => PayoutFault::Slow { ms },
            PayoutFaultParam::MalformedResponse => PayoutFault::MalformedResponse,
            PayoutFaultParam::Timeout => PayoutFault::Timeout,
            PayoutFaultParam::Decline => PayoutFault::Decline,
            PayoutFaultParam::Duplicate => PayoutFault::Duplicate,
            PayoutFaultParam::Clear => {
                self.rails.clear_faults();
                return Ok(());
            }
        };
        if self.rails.state().await?.rules.len() >= MAX_RULES {
            return Err(invalid("fault", "too many faults are waiting; clear them first"));
        }
        self.rails.add_fault(fault, fault_count(request.times));
        Ok(())
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
    /// [`DeskError::Invalid`] for a field that is wrong; nothing is registered then.
    pub async fn register(&self, request: BankRecipientRequest) -> Result<BankRecipientResponse, ControlError> {
        let owner = wallet(&request.wallet)?;
        let recipient = BankRecipient {
            id: BankRecipientId(self.entropy.random()),
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
            checked.push((BankDestinationId(self.entropy.random()), destination, number));
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

/// What may be known of an account, and its number, the checksums right.
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
