//! Attestations and mints of the bridge on the wire: `POST /v1/bridge-burns/attestation`, `POST
//! /v1/bridge-messages/{nonce}/reattest`, `POST /v1/bridge-messages/mint`, `POST /v1/bridge-mints`.

use purser_actors::port;
use purser_actors::port::{AttestedMessage, Decline, MintResult};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::bridge::{bytes_of, text_of, thirty_two};
use super::{BaseAddress, MalformedResponse, TextValue, UsdcAmount, name};

/// An attested message, with its readable fields.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeMessage {
    /// Nonce that is used once on Base, 64 hex digits.
    pub nonce: String,
    /// The message as the attesters returned it, in Base64.
    pub message: String,
    /// Signatures of the attesters in Base64; together with the message at most 4 KiB.
    pub attestation: String,
    /// Recipient of the mint on Base.
    #[schema(value_type = String)]
    pub to: TextValue<BaseAddress>,
    /// Whether the burned token is USDC.
    pub is_usdc: bool,
    /// Amount to be minted, in USDC.
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
    /// Reads the message.
    ///
    /// # Errors
    /// When it is not a valid message.
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

/// Attestation of a burn.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttestationResponse {
    /// Transaction id of the burn.
    pub transaction: String,
    /// Status of the attestation.
    #[serde(flatten)]
    pub state: AttestationStatus,
}

/// Status of an attestation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AttestationStatus {
    /// Not attested yet, or the burn was not observed; query again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The attestation was not used in time.
    Expired {
        /// Nonce of the message, 64 hex digits.
        nonce: String,
    },
    /// The message is attested.
    Complete {
        /// The attested message, ready to be minted.
        attested: BridgeMessage,
    },
}

impl AttestationResponse {
    /// The wire form of the status.
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

    /// Reads the status.
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

/// Message for which a new attestation was requested.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReattestResponse {
    /// Nonce of the message, 64 hex digits.
    pub nonce: String,
}

/// A signed mint that is not sent yet.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedMint {
    /// The whole transaction in Base64.
    pub bytes: String,
    /// Transaction id on Base if it is known before sending, otherwise empty; at most 200 bytes.
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
    /// Reads the mint.
    ///
    /// # Errors
    /// When it is not a valid mint.
    pub fn read(self) -> Result<port::SignedMint, MalformedResponse> {
        let transaction = match self.transaction.is_empty() {
            true => String::new(),
            false => name(self.transaction)?,
        };
        let bytes = bytes_of(&self.bytes)?;
        Ok(port::SignedMint { bytes, transaction })
    }
}

/// Signed mint of a message.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SignedMintResponse {
    /// Nonce of the message, 64 hex digits.
    pub nonce: String,
    /// The mint to send.
    pub mint: SignedMint,
}

impl SignedMintResponse {
    /// Reads the signed mint.
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

/// Result of submitting a mint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmitMintResponse {
    /// SHA-256 of the sent transaction, 64 hex digits: a mint has no id before it is on Base.
    pub sha256: String,
    /// Response of Base to the mint.
    #[serde(flatten)]
    pub state: MintStatus,
}

/// Base's response to a mint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum MintStatus {
    /// The mint is on the chain.
    Minted {
        /// Transaction id, 1 to 200 bytes.
        transaction: String,
    },
    /// The nonce was used before, by any sender. The recipient is the same, because the message names it.
    NonceUsed,
    /// Declined for now.
    Declined {
        /// Reason code of the decline.
        reason: String,
        /// Message for the operator.
        message: String,
    },
}

fn digest(mint: &port::SignedMint) -> String {
    hex::encode(Sha256::digest(&mint.bytes))
}

impl SubmitMintResponse {
    /// The wire form of the result.
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

    /// Reads the result.
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
