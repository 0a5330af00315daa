//! The bridge's burns on the wire: `POST /v1/bridge-crossings`, `POST /v1/bridge-burns` and what is asked of one. None of them
//! has an Idempotency-Key: what is signed moves nothing, and what is sent is the same transaction on every try.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use purser_actors::port::{Crossing, Decline, Finality, Lookup, SignedBurn, Submitted};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BaseAddress, Dollars, Text, Unreadable, name};

/// The longest transaction or message, in bytes.
const LONGEST: usize = 4 * 1024;

pub(super) fn bytes_of(text: &str) -> Result<Vec<u8>, Unreadable> {
    let bytes = BASE64.decode(text).map_err(|_| Unreadable("bytes in Base64"))?;
    match bytes.len() <= LONGEST {
        true => Ok(bytes),
        false => Err(Unreadable("no more than 4 KiB")),
    }
}

pub(super) fn text_of(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

pub(super) fn thirty_two(text: &str) -> Result<[u8; 32], Unreadable> {
    let mut bytes = [0; 32];
    let read = hex::decode_to_slice(text, &mut bytes);
    read.map(|()| bytes).map_err(|_| Unreadable("32 bytes in hex"))
}

/// A crossing to be begun: USDC that is burned on Solana and minted on Base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeCrossing {
    /// The service's name of it, 32 hex digits. It may be signed more than once; one burn of them is sent.
    pub crossing: String,
    /// Who receives it on Base.
    #[schema(value_type = String)]
    pub to: Text<BaseAddress>,
    /// What must arrive, in USDC. More is burned where the bridge takes a fee.
    #[schema(value_type = Dollars)]
    pub arrives: Text<Dollars>,
}

impl From<&Crossing> for BridgeCrossing {
    fn from(crossing: &Crossing) -> Self {
        Self {
            crossing: format!("{:032x}", crossing.key),
            to: Text(BaseAddress(crossing.to)),
            arrives: Text(Dollars(crossing.arrives)),
        }
    }
}

impl BridgeCrossing {
    /// As the bridge reads it.
    ///
    /// # Errors
    /// When its name is not 32 hex digits.
    pub fn read(&self) -> Result<Crossing, Unreadable> {
        let key = u128::from_str_radix(&self.crossing, 16).ok();
        Ok(Crossing {
            key: key
                .filter(|_| self.crossing.len() == 32)
                .ok_or(Unreadable("a name of 32 hex digits"))?,
            to: self.to.0.0,
            arrives: self.arrives.0.0,
        })
    }
}

/// A burn, signed and not sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeBurn {
    /// Its transaction's id on Solana, 1 to 200 bytes: what finds it again.
    pub transaction: String,
    /// The whole transaction in Base64, at most 4 KiB; empty for one that an operator has named.
    pub bytes: String,
    /// The key of the account that will hold the bridge's message, 64 hex digits.
    pub event_key: String,
    /// What leaves the service's treasury, in USDC: what must arrive and the bridge's fee.
    #[schema(value_type = Dollars)]
    pub burned: Text<Dollars>,
}

impl From<&SignedBurn> for BridgeBurn {
    fn from(burn: &SignedBurn) -> Self {
        Self {
            transaction: burn.transaction.clone(),
            bytes: text_of(&burn.bytes),
            event_key: hex::encode(burn.event_key),
            burned: Text(Dollars(burn.burned)),
        }
    }
}

impl BridgeBurn {
    /// As either side reads it.
    ///
    /// # Errors
    /// When it is no burn.
    pub fn read(self) -> Result<SignedBurn, Unreadable> {
        Ok(SignedBurn {
            bytes: bytes_of(&self.bytes)?,
            transaction: name(self.transaction)?,
            event_key: thirty_two(&self.event_key)?,
            burned: self.burned.0.0,
        })
    }
}

/// A burn of a crossing. It names the crossing again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BridgeSigned {
    /// The order's.
    pub crossing: BridgeCrossing,
    /// What is to be sent.
    pub burn: BridgeBurn,
}

impl BridgeSigned {
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another crossing.
    pub fn read(self, crossing: &Crossing) -> Result<SignedBurn, Unreadable> {
        if self.crossing.read()? != *crossing {
            return Err(Unreadable("it is about another crossing"));
        }
        self.burn.read()
    }
}

/// What came of sending a burn.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BridgeBurned {
    /// The burn's.
    pub transaction: String,
    /// What Solana said.
    #[serde(flatten)]
    pub state: BridgeBurnState,
}

/// What a chain said to a transaction.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BridgeBurnState {
    /// It is on the chain.
    Settled {
        /// Under this id, 1 to 200 bytes.
        settled_as: String,
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

impl BridgeBurned {
    /// As the bridge says it.
    pub fn of(burn: &SignedBurn, said: Submitted) -> Self {
        Self {
            transaction: burn.transaction.clone(),
            state: match said {
                Submitted::Settled { transaction, finality } => BridgeBurnState::Settled {
                    settled_as: transaction,
                    reversible: finality == Finality::Seen,
                },
                Submitted::Declined(decline) => BridgeBurnState::Declined {
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
    pub fn read(self, burn: &SignedBurn) -> Result<Submitted, Unreadable> {
        if self.transaction != burn.transaction {
            return Err(Unreadable("it is about another burn"));
        }
        Ok(match self.state {
            BridgeBurnState::Settled { settled_as, reversible } => Submitted::Settled {
                transaction: name(settled_as)?,
                finality: finality(reversible),
            },
            BridgeBurnState::Declined { reason, message } => Submitted::Declined(Decline {
                reason: reason.into(),
                message: message.into(),
            }),
        })
    }
}

const fn finality(reversible: bool) -> Finality {
    match reversible {
        true => Finality::Seen,
        false => Finality::Final,
    }
}

/// What a chain shows of a burn or a mint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BridgeFound {
    /// The burn's transaction, or the nonce of the mint.
    pub of: String,
    /// What is there.
    #[serde(flatten)]
    pub state: BridgeFoundState,
}

/// What a chain shows.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BridgeFoundState {
    /// It is there.
    Landed {
        /// Under this id, 1 to 200 bytes.
        landed_as: String,
        /// Whether a reorganisation may still remove it. False if it is not said.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reversible: bool,
    },
    /// It is not there and may still come.
    Pending,
    /// Proven: it is not there and never can be. A holder gets the money back on that word.
    Impossible,
}

impl BridgeFound {
    /// As the bridge says it.
    pub fn of(of: String, said: Lookup) -> Self {
        let state = match said {
            Lookup::Landed { transaction, finality } => BridgeFoundState::Landed {
                landed_as: transaction,
                reversible: finality == Finality::Seen,
            },
            Lookup::Pending => BridgeFoundState::Pending,
            Lookup::Impossible => BridgeFoundState::Impossible,
        };
        Self { of, state }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about something else.
    pub fn read(self, of: &str) -> Result<Lookup, Unreadable> {
        if self.of != of {
            return Err(Unreadable("it is about another one"));
        }
        Ok(match self.state {
            BridgeFoundState::Landed { landed_as, reversible } => Lookup::Landed {
                transaction: name(landed_as)?,
                finality: finality(reversible),
            },
            BridgeFoundState::Pending => Lookup::Pending,
            BridgeFoundState::Impossible => Lookup::Impossible,
        })
    }
}
