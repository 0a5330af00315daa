//! The bridge, which holds the key of the treasury account that it burns from. Its trait is the engine's own port. No
//! operation needs an Idempotency-Key: signing moves nothing, and every attempt sends the same transaction.

use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestationStatus, AttestedMessage, Bridge, BridgeTransfer, ChainStatus, Decline, ExternalText, Finality,
    MintResult, SignedBurn, SignedMint, SubmitResult,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::definition::{conversions, provider};
#[cfg(feature = "documents")]
use super::wire::UsdcAmount;
use super::wire::{self, hex_bytes};

provider! {
    port Bridge, client RemoteBridge, tag "Bridge";

    fn sign_burn(transfer: &'a BridgeTransfer) -> SignedBurn {
        POST "/bridge-transfers" signBurn "Sign a burn out of the service's treasury; nothing is sent";
        asks body it: BridgeTransferBody = BridgeTransferBody::from(transfer);
        calls (&BridgeTransfer::from(it));
        answers SignedBurnResponse { transfer_id = BridgeTransferBody::from(transfer); burn } "The signed transaction to submit.";
    }

    fn burn(burn: &'a SignedBurn) -> SubmitResult {
        POST "/bridge-burns" submitBurn "Submit a burn; repeating it burns nothing more";
        asks body it: BurnBody = BurnBody::from(burn.clone());
        calls (&SignedBurn::from(it));
        answers SubmitBurnResponse { submitted_transaction = burn.transaction.clone(); state } "Solana's response.";
    }

    fn find_burn(burn: &'a SignedBurn) -> ChainStatus {
        POST "/bridge-burns/lookup" lookupBurn "Return what Solana shows of a burn";
        asks body it: BurnBody = BurnBody::from(burn.clone());
        calls (&SignedBurn::from(it));
        answers ChainStatusResponse { subject = burn.transaction.clone(); state } "Status on the chain.";
    }

    fn attestation(burn: &'a SignedBurn) -> AttestationStatus {
        POST "/bridge-burns/attestation" getBurnAttestation "Return the attestation of a burn, found by its transaction";
        asks body it: BurnBody = BurnBody::from(burn.clone());
        calls (&SignedBurn::from(it));
        answers AttestationResponse { transaction = burn.transaction.clone(); state } "Status of the attestation.";
    }

    fn reattest(nonce: &'a [u8; 32]) -> () {
        POST "/bridge-messages/{nonce}/reattest" reattestMessage "Request a new attestation of an expired message, with the same nonce";
        at nonce = hex::encode(nonce), "Nonce of the message, 64 hex digits.";
        calls (&hex_bytes::parse(&nonce)?);
        answers ReattestResponse { nonce = hex::encode(nonce); } "A new attestation was requested.";
    }

    fn sign_mint(attested: &'a AttestedMessage) -> SignedMint {
        POST "/bridge-messages/mint" signMint "Sign a mint; nothing is sent";
        asks body it: BridgeMessage = BridgeMessage::from(attested.clone());
        calls (&AttestedMessage::from(it));
        answers SignedMintResponse { nonce = attested.nonce; mint } "The signed transaction to submit.";
    }

    fn mint(mint: &'a SignedMint) -> MintResult {
        POST "/bridge-mints" submitMint "Submit a mint; a nonce mints once";
        asks body it: MintBody = MintBody::from(mint.clone());
        calls (&SignedMint::from(it));
        answers SubmitMintResponse { sha256 = digest(mint); state } "Base's response.";
    }

    fn find_mint(attested: &'a AttestedMessage) -> ChainStatus {
        POST "/bridge-mints/lookup" lookupMint "Return what Base shows of a message's mint, by any minter";
        asks body it: BridgeMessage = BridgeMessage::from(attested.clone());
        calls (&AttestedMessage::from(it));
        answers ChainStatusResponse { subject = hex::encode(attested.nonce); state } "Status on the chain.";
    }
}

/// A bridge transfer to start: USDC that is burned on Solana and minted on Base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = BridgeTransferRequest))]
#[serde(deny_unknown_fields)]
pub struct BridgeTransferBody {
    /// The service's id of the transfer, 32 hex digits. It may be signed more than once; only one of its burns is sent.
    #[serde(with = "hex_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    transfer_id: [u8; 16],
    /// Recipient on Base.
    #[serde(with = "wire::base_address")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    to: [u8; 20],
    /// Amount that must be delivered, in USDC. More is burned if the bridge charges a fee.
    #[cfg_attr(feature = "documents", schema(value_type = UsdcAmount))]
    amount: Usdc,
}

impl From<&BridgeTransfer> for BridgeTransferBody {
    fn from(transfer: &BridgeTransfer) -> Self {
        Self {
            transfer_id: transfer.key.to_be_bytes(),
            to: transfer.to,
            amount: transfer.delivered_amount,
        }
    }
}

impl From<BridgeTransferBody> for BridgeTransfer {
    fn from(body: BridgeTransferBody) -> Self {
        Self {
            key: u128::from_be_bytes(body.transfer_id),
            to: body.to,
            delivered_amount: body.amount,
        }
    }
}

/// A signed burn that is not sent yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = SignedBurn))]
#[serde(deny_unknown_fields)]
pub struct BurnBody {
    /// Transaction id on Solana, 1 to 200 bytes; used to look up the burn.
    #[serde(deserialize_with = "wire::name")]
    transaction: String,
    /// The whole transaction in Base64, at most 4 KiB; empty for a burn that an operator has named.
    #[serde(with = "wire::base64_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    bytes: Vec<u8>,
    /// Key of the account that will hold the bridge's message, 64 hex digits.
    #[serde(with = "hex_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    event_key: [u8; 32],
    /// Amount that leaves the service's treasury, in USDC: the delivered amount and the bridge's fee.
    #[cfg_attr(feature = "documents", schema(value_type = UsdcAmount))]
    burned_amount: Usdc,
}

conversions! {
    BurnBody = SignedBurn {
        BurnBody { transaction, bytes, event_key, burned_amount } = (
            SignedBurn { bytes, transaction, event_key, burned: burned_amount }
        );
    }
    SubmitStatus = SubmitResult {
        SubmitStatus::Settled { transaction, reversible: true } = (
            SubmitResult::Settled { transaction, finality: Finality::Confirmed }
        );
        SubmitStatus::Settled { transaction, reversible: false } = (
            SubmitResult::Settled { transaction, finality: Finality::Final }
        );
        SubmitStatus::Declined { reason, message } = (SubmitResult::Declined(Decline { reason, message }));
    }
    BridgeMessage = AttestedMessage {
        BridgeMessage { nonce, message, attestation, to, is_usdc, amount } = (
            AttestedMessage { nonce, message, attestation, to, is_usdc, delivered_amount: amount }
        );
    }
    AttestationBody = AttestationStatus {
        AttestationBody::Pending { retry_after_ms } = (AttestationStatus::Pending { retry_after_ms });
        AttestationBody::Expired { nonce } = (AttestationStatus::Expired { nonce });
        AttestationBody::Complete {
            attested: BridgeMessage { nonce, message, attestation, to, is_usdc, amount },
        } = (AttestationStatus::Complete(
            AttestedMessage { nonce, message, attestation, to, is_usdc, delivered_amount: amount }
        ));
    }
    MintBody = SignedMint {
        MintBody { bytes, transaction } = (SignedMint { bytes, transaction });
    }
    MintStatus = MintResult {
        MintStatus::Minted { transaction } = (MintResult::Minted { transaction });
        MintStatus::NonceUsed = (MintResult::NonceUsed);
        MintStatus::Declined { reason, message } = (MintResult::Declined(Decline { reason, message }));
    }
}

/// Signed burn of a bridge transfer. It repeats the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SignedBurnResponse {
    /// The request as it was sent.
    transfer_id: BridgeTransferBody,
    /// The burn to send.
    burn: BurnBody,
}

/// Result of submitting a burn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SubmitBurnResponse {
    /// Transaction id of the burn.
    submitted_transaction: String,
    /// Response of Solana to the burn.
    #[serde(flatten)]
    state: SubmitStatus,
}

/// A chain's response to a transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SubmitStatus {
    /// The transaction is on the chain.
    Settled {
        /// Transaction id, 1 to 200 bytes.
        #[serde(deserialize_with = "wire::name")]
        transaction: String,
        /// Whether a reorg may still remove it. False if absent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reversible: bool,
    },
    /// Declined now; it may still be accepted until it expires.
    Declined {
        /// Reason code of the decline.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
        /// Message for the operator.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        message: ExternalText,
    },
}

/// What a chain shows of a burn or a mint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ChainStatusResponse {
    /// Transaction id of the burn, or nonce of the mint.
    subject: String,
    /// Status on the chain.
    #[serde(flatten, with = "ChainStatusBody")]
    #[cfg_attr(feature = "documents", schema(value_type = ChainStatusBody))]
    state: ChainStatus,
}

/// Status of a transaction on a chain.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = ChainStatus))]
#[serde(remote = "ChainStatus", tag = "status", rename_all = "snake_case")]
pub enum ChainStatusBody {
    /// The transaction is on the chain.
    Confirmed {
        /// Transaction id, 1 to 200 bytes.
        #[serde(deserialize_with = "wire::name")]
        transaction: String,
        /// Whether a reorg may still remove it. False if absent.
        #[serde(
            rename = "reversible",
            with = "reversible",
            default = "reversible::never",
            skip_serializing_if = "reversible::is_final"
        )]
        #[cfg_attr(feature = "documents", schema(value_type = bool))]
        finality: Finality,
    },
    /// Not on the chain, but it may still settle.
    Pending,
    /// Proven: it is not on the chain and can never settle. The account owner is credited because of this answer.
    Impossible,
}

/// For `#[serde(with)]`: finality as whether a reorg may still remove the transaction.
mod reversible {
    use super::*;

    pub(super) fn serialize<S: Serializer>(finality: &Finality, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(!is_final(finality))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Finality, D::Error> {
        bool::deserialize(deserializer).map(finality)
    }

    pub(super) const fn finality(reversible: bool) -> Finality {
        match reversible {
            true => Finality::Confirmed,
            false => Finality::Final,
        }
    }

    pub(super) const fn never() -> Finality {
        Finality::Final
    }

    pub(super) fn is_final(finality: &Finality) -> bool {
        *finality == Finality::Final
    }
}

/// An attested message, with its readable fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BridgeMessage {
    /// Nonce that is used once on Base, 64 hex digits.
    #[serde(with = "hex_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    nonce: [u8; 32],
    /// The message as the attesters returned it, in Base64.
    #[serde(with = "wire::base64_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    message: Vec<u8>,
    /// Signatures of the attesters in Base64; together with the message at most 4 KiB.
    #[serde(with = "wire::base64_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    attestation: Vec<u8>,
    /// Recipient of the mint on Base.
    #[serde(with = "wire::base_address")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    to: [u8; 20],
    /// Whether the burned token is USDC.
    is_usdc: bool,
    /// Amount to be minted, in USDC.
    #[cfg_attr(feature = "documents", schema(value_type = UsdcAmount))]
    amount: Usdc,
}

/// Attestation of a burn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct AttestationResponse {
    /// Transaction id of the burn.
    transaction: String,
    /// Status of the attestation.
    #[serde(flatten)]
    state: AttestationBody,
}

/// Status of an attestation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = AttestationStatus))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AttestationBody {
    /// Not attested yet, or the burn was not observed; query again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The attestation was not used in time.
    Expired {
        /// Nonce of the message, 64 hex digits.
        #[serde(with = "hex_bytes")]
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        nonce: [u8; 32],
    },
    /// The message is attested.
    Complete {
        /// The attested message, ready to be minted.
        attested: BridgeMessage,
    },
}

/// Message for which a new attestation was requested.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ReattestResponse {
    /// Nonce of the message, 64 hex digits.
    nonce: String,
}

/// A signed mint that is not sent yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = SignedMint))]
#[serde(deny_unknown_fields)]
pub struct MintBody {
    /// The whole transaction in Base64.
    #[serde(with = "wire::base64_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    bytes: Vec<u8>,
    /// Transaction id on Base if it is known before sending, otherwise empty; at most 200 bytes.
    #[serde(deserialize_with = "wire::name_or_empty")]
    transaction: String,
}

/// Signed mint of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SignedMintResponse {
    /// Nonce of the message, 64 hex digits.
    #[serde(with = "hex_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    nonce: [u8; 32],
    /// The mint to send.
    mint: MintBody,
}

/// Result of submitting a mint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SubmitMintResponse {
    /// SHA-256 of the sent transaction, 64 hex digits: a mint has no id before it is on Base.
    sha256: String,
    /// Response of Base to the mint.
    #[serde(flatten)]
    state: MintStatus,
}

fn digest(mint: &SignedMint) -> String {
    hex::encode(Sha256::digest(&mint.bytes))
}

/// Base's response to a mint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum MintStatus {
    /// The mint is on the chain.
    Minted {
        /// Transaction id, 1 to 200 bytes.
        #[serde(deserialize_with = "wire::name")]
        transaction: String,
    },
    /// The nonce was used before, by any sender. The recipient is the same, because the message names it.
    NonceUsed,
    /// Declined for now.
    Declined {
        /// Reason code of the decline.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
        /// Message for the operator.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        message: ExternalText,
    },
}
