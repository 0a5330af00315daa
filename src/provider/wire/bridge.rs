//! The bridge's burns on the wire: `POST /v1/bridge-transfers`, `POST /v1/bridge-burns` and what is asked of one. None of them
//! has an Idempotency-Key: what is signed moves nothing, and what is sent is the same transaction on every try.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use purser_actors::port;
use purser_actors::port::{BridgeTransfer, Decline, Finality, SubmitResult};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BaseAddress, MalformedResponse, TextValue, UsdcAmount, name};

/// The longest transaction or message, in bytes.
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

/// A crossing to be begun: USDC that is burned on Solana and minted on Base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeTransferRequest {
    /// The service's name of it, 32 hex digits. It may be signed more than once; one burn of them is sent.
    pub transfer_id: String,
    /// Who receives it on Base.
    #[schema(value_type = String)]
    pub to: TextValue<BaseAddress>,
    /// What must arrive, in USDC. More is burned where the bridge takes a fee.
    #[schema(value_type = UsdcAmount)]
    pub amount: TextValue<UsdcAmount>,
}

impl From<&BridgeTransfer> for BridgeTransferRequest {
    fn from(crossing: &BridgeTransfer) -> Self {
        Self {
            transfer_id: format!("{:032x}", crossing.key),
            to: TextValue(BaseAddress(crossing.to)),
            amount: TextValue(UsdcAmount(crossing.delivered_amount)),
        }
    }
}

impl BridgeTransferRequest {
    /// As the bridge reads it.
    ///
    /// # Errors
    /// When its name is not 32 hex digits.
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

/// A burn, signed and not sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedBurn {
    /// Its transaction's id on Solana, 1 to 200 bytes: what finds it again.
    pub transaction: String,
    /// The whole transaction in Base64, at most 4 KiB; empty for one that an operator has named.
    pub bytes: String,
    /// The key of the account that will hold the bridge's message, 64 hex digits.
    pub event_key: String,
    /// What leaves the service's treasury, in USDC: what must arrive and the bridge's fee.
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
    /// As either side reads it.
    ///
    /// # Errors
    /// When it is no burn.
    pub fn read(self) -> Result<port::SignedBurn, MalformedResponse> {
        Ok(port::SignedBurn {
            bytes: bytes_of(&self.bytes)?,
            transaction: name(self.transaction)?,
            event_key: thirty_two(&self.event_key)?,
            burned: self.burned_amount.0.0,
        })
    }
}

/// A burn of a crossing. It names the crossing again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignedBurnResponse {
    /// The order's.
    pub transfer_id: BridgeTransferRequest,
    /// What is to be sent.
    pub burn: SignedBurn,
}

impl SignedBurnResponse {
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another crossing.
    pub fn read(self, crossing: &BridgeTransfer) -> Result<port::SignedBurn, MalformedResponse> {
        if self.transfer_id.read()? != *crossing {
            return Err(MalformedResponse("it is about another crossing"));
        }
        self.burn.read()
    }
}

/// What came of sending a burn.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmitBurnResponse {
    /// The burn's.
    pub submitted_transaction: String,
    /// What Solana said.
    #[serde(flatten)]
    pub state: SubmitStatus,
}

/// What a chain said to a transaction.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SubmitStatus {
    /// It is on the chain.
    Settled {
        /// Under this id, 1 to 200 bytes.
        transaction: String,
        /// Whether a reorganisation may still remove it. False if it is not said.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reversible: bool,
    },
    /// Refused now; it may still be accepted, until it expires.
    Declined {
        /// For programs.
        reason: String,
        /// For people.
        message: String,
    },
}

impl SubmitBurnResponse {
    /// As the bridge says it.
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

    /// As this service reads it.
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
    /// The burn's transaction, or the nonce of the mint.
    pub subject: String,
    /// What is there.
    #[serde(flatten)]
    pub state: ChainStatus,
}

/// What a chain shows.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ChainStatus {
    /// It is there.
    Confirmed {
        /// Under this id, 1 to 200 bytes.
        transaction: String,
        /// Whether a reorganisation may still remove it. False if it is not said.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reversible: bool,
    },
    /// It is not there and may still come.
    Pending,
    /// Proven: it is not there and never can be. A holder gets the money back on that word.
    Impossible,
}

impl ChainStatusResponse {
    /// As the bridge says it.
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

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about something else.
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
