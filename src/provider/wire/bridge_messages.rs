//! What the bridge's attesters say, and mints, on the wire: `POST /v1/bridge-burns/attestation`,
//! `POST /v1/bridge-messages/{nonce}/reattest`, `POST /v1/bridge-messages/mint`, `POST /v1/bridge-mints`.

use purser_actors::port;
use purser_actors::port::{AttestedMessage, Decline, MintResult};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::bridge::{bytes_of, text_of, thirty_two};
use super::{BaseAddress, MalformedResponse, TextValue, UsdcAmount, name};

/// A message that the attesters signed, with what it says in plain.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeMessage {
    /// Used once on Base, 64 hex digits.
    pub nonce: String,
    /// The attesters' own bytes in Base64.
    pub message: String,
    /// Their signatures in Base64; 4 KiB at most with the message.
    pub attestation: String,
    /// Who receives the mint on Base.
    #[schema(value_type = String)]
    pub to: TextValue<BaseAddress>,
    /// Whether it is USDC that was burned for it.
    pub is_usdc: bool,
    /// What the mint will bring, in USDC.
    #[schema(value_type = UsdcAmount)]
    pub amount: TextValue<UsdcAmount>,
}

impl From<&AttestedMessage> for BridgeMessage {
    fn from(attested: &AttestedMessage) -> Self {
        Self {
            nonce: hex::encode(attested.nonce),
            message: text_of(&attested.message),
            attestation: text_of(&attested.attestation),
            to: TextValue(BaseAddress(attested.to)),
            is_usdc: attested.is_usdc,
            amount: TextValue(UsdcAmount(attested.delivered_amount)),
        }
    }
}

impl BridgeMessage {
    /// As either side reads it.
    ///
    /// # Errors
    /// When it is no message.
    pub fn read(&self) -> Result<AttestedMessage, MalformedResponse> {
        Ok(AttestedMessage {
            nonce: thirty_two(&self.nonce)?,
            message: bytes_of(&self.message)?,
            attestation: bytes_of(&self.attestation)?,
            to: self.to.0.0,
            is_usdc: self.is_usdc,
            delivered_amount: self.amount.0.0,
        })
    }
}

/// What the attesters say of a burn.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttestationResponse {
    /// The burn's.
    pub transaction: String,
    /// What they say.
    #[serde(flatten)]
    pub state: AttestationStatus,
}

/// What the attesters say.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AttestationStatus {
    /// Nothing yet, also where they have not seen the burn; ask again after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Their word was not used in time.
    Expired {
        /// Names the message, 64 hex digits.
        nonce: String,
    },
    /// Signed.
    Complete {
        /// What may be minted on.
        attested: BridgeMessage,
    },
}

impl AttestationResponse {
    /// As the attesters say it.
    pub fn of(transaction: String, said: port::AttestationStatus) -> Self {
        let state = match said {
            port::AttestationStatus::Pending { retry_after_ms } => AttestationStatus::Pending { retry_after_ms },
            port::AttestationStatus::Expired { nonce } => AttestationStatus::Expired {
                nonce: hex::encode(nonce),
            },
            port::AttestationStatus::Complete(attested) => AttestationStatus::Complete {
                attested: BridgeMessage::from(&attested),
            },
        };
        Self { transaction, state }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another burn.
    pub fn read(self, transaction: &str) -> Result<port::AttestationStatus, MalformedResponse> {
        if self.transaction != transaction {
            return Err(MalformedResponse("it is about another burn"));
        }
        Ok(match self.state {
            AttestationStatus::Pending { retry_after_ms } => port::AttestationStatus::Pending { retry_after_ms },
            AttestationStatus::Expired { nonce } => port::AttestationStatus::Expired {
                nonce: thirty_two(&nonce)?,
            },
            AttestationStatus::Complete { attested } => port::AttestationStatus::Complete(attested.read()?),
        })
    }
}

/// The message that they were asked for again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReattestResponse {
    /// Names it, 64 hex digits.
    pub nonce: String,
}

/// A mint, signed and not sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedMint {
    /// The whole transaction in Base64.
    pub bytes: String,
    /// Its id on Base if it is known before it is sent, else empty; at most 200 bytes.
    pub transaction: String,
}

impl From<&port::SignedMint> for SignedMint {
    fn from(mint: &port::SignedMint) -> Self {
        Self {
            bytes: text_of(&mint.bytes),
            transaction: mint.transaction.clone(),
        }
    }
}

impl SignedMint {
    /// As either side reads it.
    ///
    /// # Errors
    /// When it is no mint.
    pub fn read(self) -> Result<port::SignedMint, MalformedResponse> {
        let transaction = match self.transaction.is_empty() {
            true => String::new(),
            false => name(self.transaction)?,
        };
        let bytes = bytes_of(&self.bytes)?;
        Ok(port::SignedMint { bytes, transaction })
    }
}

/// The mint of a message.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignedMintResponse {
    /// The message's, 64 hex digits.
    pub nonce: String,
    /// What is to be sent.
    pub mint: SignedMint,
}

impl SignedMintResponse {
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another message.
    pub fn read(self, attested: &AttestedMessage) -> Result<port::SignedMint, MalformedResponse> {
        match thirty_two(&self.nonce)? == attested.nonce {
            true => self.mint.read(),
            false => Err(MalformedResponse("it is about another message")),
        }
    }
}

/// What came of sending a mint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmitMintResponse {
    /// SHA-256 of the transaction that was sent, 64 hex digits: a mint has no name before it is on Base.
    pub sha256: String,
    /// What Base said.
    #[serde(flatten)]
    pub state: MintStatus,
}

/// What Base said to a mint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum MintStatus {
    /// Minted.
    Minted {
        /// By this transaction, 1 to 200 bytes.
        transaction: String,
    },
    /// The nonce was used before, by whomever: to the same receiver, for the message names it.
    NonceUsed,
    /// Refused for now.
    Declined {
        /// For programs.
        reason: String,
        /// For people.
        message: String,
    },
}

fn digest(mint: &port::SignedMint) -> String {
    hex::encode(Sha256::digest(&mint.bytes))
}

impl SubmitMintResponse {
    /// As the bridge says it.
    pub fn of(mint: &port::SignedMint, said: MintResult) -> Self {
        Self {
            sha256: digest(mint),
            state: match said {
                MintResult::Minted { transaction } => MintStatus::Minted { transaction },
                MintResult::NonceUsed => MintStatus::NonceUsed,
                MintResult::Declined(decline) => MintStatus::Declined {
                    reason: decline.reason.to_string(),
                    message: decline.message.to_string(),
                },
            },
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another mint.
    pub fn read(self, mint: &port::SignedMint) -> Result<MintResult, MalformedResponse> {
        if self.sha256 != digest(mint) {
            return Err(MalformedResponse("it is about another mint"));
        }
        Ok(match self.state {
            MintStatus::Minted { transaction: minted_as } => MintResult::Minted {
                transaction: name(minted_as)?,
            },
            MintStatus::NonceUsed => MintResult::NonceUsed,
            MintStatus::Declined { reason, message } => MintResult::Declined(Decline {
                reason: reason.into(),
                message: message.into(),
            }),
        })
    }
}
