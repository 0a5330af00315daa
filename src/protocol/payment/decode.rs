//! Parses a payment header: base64 of JSON. The content decides between x402 v2 and v1.
//!
//! Memory is bounded by [`MAX_HEADER_BYTES`]. This module does not check amounts, times or signatures.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_PAD_INDIFFERENT, URL_SAFE_PAD_INDIFFERENT};
use purser_actors::id::Network;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::chains::Chains;
use super::error::{InvalidReason, VerificationError};
use super::solana::wire::MAX_TRANSACTION_BYTES;

/// Maximum length of an encoded header value. The stock Solana payment needs about 1,516 bytes, and half as much again
/// with several extensions.
pub const MAX_HEADER_BYTES: usize = 8 * 1024;

/// A payment as it was sent, with its form checked.
#[derive(Clone, Debug)]
pub struct DecodedPayment {
    /// The terms that the client selected.
    pub chosen: SelectedTerms,
    /// The signed part.
    pub payload: Payload,
    /// Echoed extensions, if any.
    pub extensions: Option<Map<String, Value>>,
}

/// How the client names the terms it pays for.
#[derive(Clone, Debug)]
pub enum SelectedTerms {
    /// v2: it echoes them.
    V2(Box<EchoedTerms>),
    /// v1: it names the network only.
    V1(Network),
}

/// The known fields of echoed v2 terms. Unknown fields are ignored: some clients echo everything they were sent, others
/// only what their types know.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EchoedTerms {
    /// Always `exact` for valid payments.
    pub scheme: String,
    /// Network id (CAIP-2).
    pub network: String,
    /// Atomic units in decimal.
    pub amount: String,
    /// Contract or mint.
    pub asset: String,
    pub pay_to: String,
    pub max_timeout_seconds: u64,
    /// Details of scheme and network.
    #[serde(default)]
    pub extra: Option<Map<String, Value>>,
}

/// The signed part of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// An EIP-3009 authorization.
    Evm(Box<EvmPayload>),
    /// A partially signed wire transaction.
    Solana(Vec<u8>),
    /// A known type that is not supported.
    Unsupported(&'static str),
}

/// EIP-3009 as sent: numbers in decimal text, the rest in hex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvmPayload {
    /// The fields that were signed.
    pub authorization: EvmFields,
    /// `0x` and hex.
    pub signature: String,
}

/// `TransferWithAuthorization` as sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvmFields {
    pub from: String,
    pub to: String,
    /// Amount in atomic units.
    pub value: String,
    /// Start of validity in Unix seconds.
    pub valid_after: String,
    /// End of validity in Unix seconds.
    pub valid_before: String,
    /// Nonce of 32 bytes.
    pub nonce: String,
}

#[derive(Deserialize)]
struct PaymentWire {
    #[serde(rename = "x402Version")]
    version: u64,
    #[serde(default)]
    accepted: Option<Box<EchoedTerms>>,
    #[serde(default)]
    scheme: Option<String>,
    #[serde(default)]
    network: Option<String>,
    payload: PayloadWire,
    #[serde(default)]
    extensions: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PayloadWire {
    #[serde(default)]
    authorization: Option<EvmFields>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    transaction: Option<String>,
    #[serde(default)]
    permit2_authorization: Option<IgnoredAny>,
    #[serde(default)]
    delegation_manager: Option<IgnoredAny>,
}

/// Parses the value of `PAYMENT-SIGNATURE` or `X-PAYMENT`.
///
/// # Errors
/// [`InvalidReason::Malformed`], [`InvalidReason::Version`], [`InvalidReason::Scheme`] or
/// [`InvalidReason::Network`] (an unknown v1 name).
pub fn decode(header: &[u8]) -> Result<DecodedPayment, VerificationError> {
    if header.len() > MAX_HEADER_BYTES {
        return Err(malformed("the payment header is too long"));
    }
    let json = base64_any(header).ok_or_else(|| malformed("the payment header is not base64"))?;
    // serde's own message can quote any amount of the input; the position is enough.
    let wire: PaymentWire = serde_json::from_slice(&json).map_err(|error| {
        malformed(format!(
            "not a payment payload in JSON (line {}, column {})",
            error.line(),
            error.column()
        ))
    })?;
    let chosen = chosen(
        wire.version,
        wire.accepted,
        wire.scheme.as_deref(),
        wire.network.as_deref(),
    )?;
    Ok(DecodedPayment {
        chosen,
        payload: payload(wire.payload)?,
        extensions: wire.extensions,
    })
}

fn chosen(
    version: u64,
    accepted: Option<Box<EchoedTerms>>,
    scheme: Option<&str>,
    network: Option<&str>,
) -> Result<SelectedTerms, VerificationError> {
    match (version, accepted) {
        (2, Some(accepted)) => exact(&accepted.scheme).map(|()| SelectedTerms::V2(accepted)),
        (2, None) => Err(malformed("an x402 v2 payment needs `accepted`")),
        (1, _) => {
            exact(scheme.ok_or_else(|| malformed("an x402 v1 payment needs `scheme`"))?)?;
            let network = network.ok_or_else(|| malformed("an x402 v1 payment needs `network`"))?;
            Chains::configured()
                .of_v1(network)
                .map(SelectedTerms::V1)
                .ok_or_else(|| VerificationError::new(InvalidReason::Network, "this network is not offered"))
        }
        _ => Err(VerificationError::new(
            InvalidReason::Version,
            "x402Version must be 2, or 1",
        )),
    }
}

fn exact(scheme: &str) -> Result<(), VerificationError> {
    if scheme == "exact" {
        Ok(())
    } else {
        Err(VerificationError::new(
            InvalidReason::Scheme,
            "only the scheme `exact` is taken",
        ))
    }
}

fn payload(wire: PayloadWire) -> Result<Payload, VerificationError> {
    match wire {
        PayloadWire {
            permit2_authorization: Some(_),
            ..
        } => Ok(Payload::Unsupported("Permit2")),
        PayloadWire {
            delegation_manager: Some(_),
            ..
        } => Ok(Payload::Unsupported("ERC-7710")),
        PayloadWire {
            authorization: Some(authorization),
            signature: Some(signature),
            transaction: None,
            ..
        } => Ok(Payload::Evm(Box::new(EvmPayload {
            authorization,
            signature,
        }))),
        PayloadWire {
            transaction: Some(text),
            authorization: None,
            ..
        } => {
            // Four characters of base64 encode three bytes.
            if text.len() > MAX_TRANSACTION_BYTES.div_ceil(3) * 4 {
                return Err(VerificationError::new(
                    InvalidReason::SvmUndecodable,
                    "the transaction is longer than 1232 bytes",
                ));
            }
            let bytes = base64_any(text.as_bytes()).ok_or_else(|| {
                VerificationError::new(InvalidReason::SvmUndecodable, "the transaction is not base64")
            })?;
            Ok(Payload::Solana(bytes))
        }
        _ => Err(malformed(
            "`payload` must hold an authorization with its signature, or a transaction",
        )),
    }
}

/// Standard or URL-safe alphabet, with or without padding.
fn base64_any(text: &[u8]) -> Option<Vec<u8>> {
    if text.iter().any(|byte| matches!(byte, b'-' | b'_')) {
        URL_SAFE_PAD_INDIFFERENT.decode(text).ok()
    } else {
        STANDARD_PAD_INDIFFERENT.decode(text).ok()
    }
}

fn malformed(message: impl Into<std::borrow::Cow<'static, str>>) -> VerificationError {
    VerificationError::new(InvalidReason::Malformed, message)
}
