//! What the bridge's attesters say, and mints, on the wire: `POST /v1/bridge-burns/attestation`,
//! `POST /v1/bridge-messages/{nonce}/attest-again`, `POST /v1/bridge-messages/mint`, `POST /v1/bridge-mints`.

use purser_actors::port::{Attestation, Attested, Decline, Minting, SignedMint};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::bridge::{bytes_of, text_of, thirty_two};
use super::{BaseAddress, Dollars, Text, Unreadable, name};

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
    pub to: Text<BaseAddress>,
    /// Whether it is USDC that was burned for it.
    pub is_usdc: bool,
    /// What the mint will bring, in USDC.
    #[schema(value_type = Dollars)]
    pub arrives: Text<Dollars>,
}

impl From<&Attested> for BridgeMessage {
    fn from(attested: &Attested) -> Self {
        Self {
            nonce: hex::encode(attested.nonce),
            message: text_of(&attested.message),
            attestation: text_of(&attested.attestation),
            to: Text(BaseAddress(attested.to)),
            is_usdc: attested.is_usdc,
            arrives: Text(Dollars(attested.arrives)),
        }
    }
}

impl BridgeMessage {
    /// As either side reads it.
    ///
    /// # Errors
    /// When it is no message.
    pub fn read(&self) -> Result<Attested, Unreadable> {
        Ok(Attested {
            nonce: thirty_two(&self.nonce)?,
            message: bytes_of(&self.message)?,
            attestation: bytes_of(&self.attestation)?,
            to: self.to.0.0,
            is_usdc: self.is_usdc,
            arrives: self.arrives.0.0,
        })
    }
}

/// What the attesters say of a burn.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BridgeAttestation {
    /// The burn's.
    pub transaction: String,
    /// What they say.
    #[serde(flatten)]
    pub state: BridgeAttestationState,
}

/// What the attesters say.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BridgeAttestationState {
    /// Nothing yet, also where they have not seen the burn; ask again after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Their word was not used in time.
    Lapsed {
        /// Names the message, 64 hex digits.
        nonce: String,
    },
    /// Signed.
    Complete {
        /// What may be minted on.
        attested: BridgeMessage,
    },
}

impl BridgeAttestation {
    /// As the attesters say it.
    pub fn of(transaction: String, said: Attestation) -> Self {
        let state = match said {
            Attestation::Pending { retry_after_ms } => BridgeAttestationState::Pending { retry_after_ms },
            Attestation::Lapsed { nonce } => BridgeAttestationState::Lapsed {
                nonce: hex::encode(nonce),
            },
            Attestation::Complete(attested) => BridgeAttestationState::Complete {
                attested: BridgeMessage::from(&attested),
            },
        };
        Self { transaction, state }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another burn.
    pub fn read(self, transaction: &str) -> Result<Attestation, Unreadable> {
        if self.transaction != transaction {
            return Err(Unreadable("it is about another burn"));
        }
        Ok(match self.state {
            BridgeAttestationState::Pending { retry_after_ms } => Attestation::Pending { retry_after_ms },
            BridgeAttestationState::Lapsed { nonce } => Attestation::Lapsed {
                nonce: thirty_two(&nonce)?,
            },
            BridgeAttestationState::Complete { attested } => Attestation::Complete(attested.read()?),
        })
    }
}

/// The message that they were asked for again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BridgeAskedAgain {
    /// Names it, 64 hex digits.
    pub nonce: String,
}

/// A mint, signed and not sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeMint {
    /// The whole transaction in Base64.
    pub bytes: String,
    /// Its id on Base if it is known before it is sent, else empty; at most 200 bytes.
    pub transaction: String,
}

impl From<&SignedMint> for BridgeMint {
    fn from(mint: &SignedMint) -> Self {
        Self {
            bytes: text_of(&mint.bytes),
            transaction: mint.transaction.clone(),
        }
    }
}

impl BridgeMint {
    /// As either side reads it.
    ///
    /// # Errors
    /// When it is no mint.
    pub fn read(self) -> Result<SignedMint, Unreadable> {
        let transaction = match self.transaction.is_empty() {
            true => String::new(),
            false => name(self.transaction)?,
        };
        let bytes = bytes_of(&self.bytes)?;
        Ok(SignedMint { bytes, transaction })
    }
}

/// The mint of a message.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BridgeMintSigned {
    /// The message's, 64 hex digits.
    pub nonce: String,
    /// What is to be sent.
    pub mint: BridgeMint,
}

impl BridgeMintSigned {
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another message.
    pub fn read(self, attested: &Attested) -> Result<SignedMint, Unreadable> {
        match thirty_two(&self.nonce)? == attested.nonce {
            true => self.mint.read(),
            false => Err(Unreadable("it is about another message")),
        }
    }
}

/// What came of sending a mint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BridgeMinted {
    /// SHA-256 of the transaction that was sent, 64 hex digits: a mint has no name before it is on Base.
    pub sha256: String,
    /// What Base said.
    #[serde(flatten)]
    pub state: BridgeMintState,
}

/// What Base said to a mint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BridgeMintState {
    /// Minted.
    Minted {
        /// By this transaction, 1 to 200 bytes.
        minted_as: String,
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

fn digest(mint: &SignedMint) -> String {
    hex::encode(Sha256::digest(&mint.bytes))
}

impl BridgeMinted {
    /// As the bridge says it.
    pub fn of(mint: &SignedMint, said: Minting) -> Self {
        Self {
            sha256: digest(mint),
            state: match said {
                Minting::Minted { transaction } => BridgeMintState::Minted { minted_as: transaction },
                Minting::NonceUsed => BridgeMintState::NonceUsed,
                Minting::Declined(decline) => BridgeMintState::Declined {
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
    pub fn read(self, mint: &SignedMint) -> Result<Minting, Unreadable> {
        if self.sha256 != digest(mint) {
            return Err(Unreadable("it is about another mint"));
        }
        Ok(match self.state {
            BridgeMintState::Minted { minted_as } => Minting::Minted {
                transaction: name(minted_as)?,
            },
            BridgeMintState::NonceUsed => Minting::NonceUsed,
            BridgeMintState::Declined { reason, message } => Minting::Declined(Decline {
                reason: reason.into(),
                message: message.into(),
            }),
        })
    }
}
