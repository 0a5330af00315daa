//! Burns of the bridge on the wire: `POST /v1/bridge-transfers`, `POST /v1/bridge-burns` and their queries. They need
//! no Idempotency-Key: signing moves nothing, and every attempt sends the same transaction.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use purser_actors::port;
use purser_actors::port::{BridgeTransfer, Decline, Finality, SubmitResult};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BaseAddress, MalformedResponse, TextValue, UsdcAmount, name};

/// Maximum length of a transaction or message, in bytes.
const MAX_BYTES_LEN: usize = 4 * 1024;

pub(super) fn bytes_of(text: &str) -> Result<Vec<u8>, MalformedResponse> {
    let bytes = BASE64.decode(text).map_err(|_| MalformedResponse("bytes in Base64"))?;
    match bytes.len() <= MAX_BYTES_LEN {
        true => Ok(bytes),
        false => Err(MalformedResponse("no more than 4 KiB")),
    }
}

pub(super) fn text_of(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

pub(super) fn thirty_two(text: &str) -> Result<[u8; 32], MalformedResponse> {
    let mut bytes = [0; 32];
    let read = hex::decode_to_slice(text, &mut bytes);
    read.map(|()| bytes).map_err(|_| MalformedResponse("32 bytes in hex"))
}

/// A bridge transfer to start: USDC that is burned on Solana and minted on Base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeTransferRequest {
    /// The service's id of the transfer, 32 hex digits. It may be signed more than once; only one of its burns is sent.
    pub transfer_id: String,
    /// Recipient on Base.
    #[schema(value_type = String)]
    pub to: TextValue<BaseAddress>,
    /// Amount that must be delivered, in USDC. More is burned if the bridge charges a fee.
    #[schema(value_type = UsdcAmount)]
    pub amount: TextValue<UsdcAmount>,
}

impl From<&BridgeTransfer> for BridgeTransferRequest {
    fn from(transfer: &BridgeTransfer) -> Self {
        Self {
            transfer_id: format!("{:032x}", transfer.key),
            to: TextValue(BaseAddress(transfer.to)),
            amount: TextValue(UsdcAmount(transfer.delivered_amount)),
        }
    }
}

impl BridgeTransferRequest {
    /// The request as the bridge reads it.
    ///
    /// # Errors
    /// When its id is not 32 hex digits.
    pub fn read(&self) -> Result<BridgeTransfer, MalformedResponse> {
        let key = u128::from_str_radix(&self.transfer_id, 16).ok();
        Ok(BridgeTransfer {
            key: key
                .filter(|_| self.transfer_id.len() == 32)
                .ok_or(MalformedResponse("a name of 32 hex digits"))?,
            to: self.to.0.0,
            delivered_amount: self.amount.0.0,
        })
    }
}

/// A signed burn that is not sent yet.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedBurn {
    /// Transaction id on Solana, 1 to 200 bytes; used to look up the burn.
    pub transaction: String,
    /// The whole transaction in Base64, at most 4 KiB; empty for a burn that an operator has named.
    pub bytes: String,
    /// Key of the account that will hold the bridge's message, 64 hex digits.
    pub event_key: String,
    /// Amount that leaves the service's treasury, in USDC: the delivered amount and the bridge's fee.
    #[schema(value_type = UsdcAmount)]
    pub burned_amount: TextValue<UsdcAmount>,
}

impl From<&port::SignedBurn> for SignedBurn {
    fn from(burn: &port::SignedBurn) -> Self {
        Self {
            transaction: burn.transaction.clone(),
            bytes: text_of(&burn.bytes),
            event_key: hex::encode(burn.event_key),
            burned_amount: TextValue(UsdcAmount(burn.burned)),
        }
    }
}

impl SignedBurn {
    /// Reads the burn.
    ///
    /// # Errors
    /// When it is not a valid burn.
    pub fn read(self) -> Result<port::SignedBurn, MalformedResponse> {
        Ok(port::SignedBurn {
            bytes: bytes_of(&self.bytes)?,
            transaction: name(self.transaction)?,
            event_key: thirty_two(&self.event_key)?,
            burned: self.burned_amount.0.0,
        })
    }
}

/// Signed burn of a bridge transfer. It repeats the request.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignedBurnResponse {
    /// The request as it was sent.
    pub transfer_id: BridgeTransferRequest,
    /// The burn to send.
    pub burn: SignedBurn,
}

impl SignedBurnResponse {
    /// Reads the signed burn.
    ///
    /// # Errors
    /// When it is about another bridge transfer.
    pub fn read(self, transfer: &BridgeTransfer) -> Result<port::SignedBurn, MalformedResponse> {
        if self.transfer_id.read()? != *transfer {
            return Err(MalformedResponse("it is about another bridge transfer"));
        }
        self.burn.read()
    }
}

/// Result of submitting a burn.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmitBurnResponse {
    /// Transaction id of the burn.
    pub submitted_transaction: String,
    /// Response of Solana to the burn.
    #[serde(flatten)]
    pub state: SubmitStatus,
}

/// A chain's response to a transaction.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SubmitStatus {
    /// The transaction is on the chain.
    Settled {
        /// Transaction id, 1 to 200 bytes.
        transaction: String,
        /// Whether a reorg may still remove it. False if absent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reversible: bool,
    },
    /// Declined now; it may still be accepted until it expires.
    Declined {
        /// Reason code of the decline.
        reason: String,
        /// Message for the operator.
        message: String,
    },
}

impl SubmitBurnResponse {
    /// The wire form of the result.
    pub fn of(burn: &port::SignedBurn, said: SubmitResult) -> Self {
        Self {
            submitted_transaction: burn.transaction.clone(),
            state: match said {
                SubmitResult::Settled { transaction, finality } => SubmitStatus::Settled {
                    transaction,
                    reversible: finality == Finality::Confirmed,
                },
                SubmitResult::Declined(decline) => SubmitStatus::Declined {
                    reason: decline.reason.to_string(),
                    message: decline.message.to_string(),
                },
            },
        }
    }

    /// Reads the result.
    ///
    /// # Errors
    /// When it is about another burn.
    pub fn read(self, burn: &port::SignedBurn) -> Result<SubmitResult, MalformedResponse> {
        if self.submitted_transaction != burn.transaction {
            return Err(MalformedResponse("it is about another burn"));
        }
        Ok(match self.state {
            SubmitStatus::Settled {
                transaction: settled_as,
                reversible,
            } => SubmitResult::Settled {
                transaction: name(settled_as)?,
                finality: finality(reversible),
            },
            SubmitStatus::Declined { reason, message } => SubmitResult::Declined(Decline {
                reason: reason.into(),
                message: message.into(),
            }),
        })
    }
}

const fn finality(reversible: bool) -> Finality {
    match reversible {
        true => Finality::Confirmed,
        false => Finality::Final,
    }
}

/// What a chain shows of a burn or a mint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ChainStatusResponse {
    /// Transaction id of the burn, or nonce of the mint.
    pub subject: String,
    /// Status on the chain.
    #[serde(flatten)]
    pub state: ChainStatus,
}

/// Status of a transaction on a chain.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ChainStatus {
    /// The transaction is on the chain.
    Confirmed {
        /// Transaction id, 1 to 200 bytes.
        transaction: String,
        /// Whether a reorg may still remove it. False if absent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reversible: bool,
    },
    /// Not on the chain, but it may still settle.
    Pending,
    /// Proven: it is not on the chain and can never settle. The account owner is credited because of this answer.
    Impossible,
}

impl ChainStatusResponse {
    /// The wire form of the status.
    pub fn of(subject: String, said: port::ChainStatus) -> Self {
        let state = match said {
            port::ChainStatus::Confirmed { transaction, finality } => ChainStatus::Confirmed {
                transaction,
                reversible: finality == Finality::Confirmed,
            },
            port::ChainStatus::Pending => ChainStatus::Pending,
            port::ChainStatus::Impossible => ChainStatus::Impossible,
        };
        Self { subject, state }
    }

    /// Reads the status.
    ///
    /// # Errors
    /// When it is about another subject.
    pub fn read(self, of: &str) -> Result<port::ChainStatus, MalformedResponse> {
        if self.subject != of {
            return Err(MalformedResponse("it is about another one"));
        }
        Ok(match self.state {
            ChainStatus::Confirmed {
                transaction: landed_as,
                reversible,
            } => port::ChainStatus::Confirmed {
                transaction: name(landed_as)?,
                finality: finality(reversible),
            },
            ChainStatus::Pending => port::ChainStatus::Pending,
            ChainStatus::Impossible => port::ChainStatus::Impossible,
        })
    }
}
