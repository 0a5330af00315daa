//! The adapters of managed agent wallets: key derivation and signing (`signer`), selection of an offer
//! (`offer_selection`), paid calls (`paid_http_client`), and the stored part of a response (`bearer`).
//!
//! Requests of agents and responses of servers may contain secrets. Both are sealed before the engine sees them, under
//! the id of the wallet payment.

pub mod bearer;
pub mod offer_selection;
pub mod paid_http_client;
pub mod signer;

use purser_actors::id::{CardId, Wallet, WalletPaymentId};
use purser_actors::port::{ErrorKind, PortError};
use serde::{Deserialize, Serialize};

use crate::vault::{Vault, VaultError};

/// First bytes of sealed records. They are not valid months, so none is mistaken for a card number or for the other.
const KEYS: u8 = 0xF2;
const REQUEST: u8 = 0xF3;
const RESPONSE: u8 = 0xF4;
const PAYMENT: u8 = 0xF5;

/// Target of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallTarget {
    /// A route of our own service, with its query.
    Route(String),
    Url(String),
}

/// A call, with the terms it is paid on once they are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidHttpRequest {
    /// Identifies the agent wallet: its requests to our own service share one rate limit.
    pub caller: u64,
    pub target: CallTarget,
    /// `GET`, `POST`, …
    pub method: String,
    /// JSON text of the body.
    pub body: Option<String>,
    /// The server's `PAYMENT-REQUIRED`, and the index of the selected offer among the USDC offers.
    pub terms: Option<(String, usize)>,
}

impl PaidHttpRequest {
    /// The caller's id for rate limits of our own service.
    pub fn from_purchase(owner: &Wallet) -> u64 {
        (owner.digest() >> 64) as u64
    }

    /// Seals it for a wallet payment.
    ///
    /// # Errors
    /// When the vault fails.
    pub fn seal(&self, vault: &Vault, spend: WalletPaymentId) -> Result<Vec<u8>, VaultError> {
        let json = serde_json::to_vec(self).map_err(|_| VaultError::Sealed("content"))?;
        seal(vault, spend.0, REQUEST, &json)
    }

    fn open(vault: &Vault, spend: WalletPaymentId, sealed: &[u8]) -> Result<Self, VaultError> {
        let json = open(vault, spend.0, REQUEST, sealed)?;
        serde_json::from_slice(&json).map_err(|_| VaultError::Sealed("content"))
    }
}

/// The body of a response to a paid call.
///
/// # Errors
/// When it was not sealed for this wallet payment.
pub fn open_response(vault: &Vault, spend: WalletPaymentId, sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
    open(vault, spend.0, RESPONSE, sealed).map(|plain| plain.to_vec())
}

fn seal(vault: &Vault, id: u128, tag: u8, plain: &[u8]) -> Result<Vec<u8>, VaultError> {
    let tagged = zeroize::Zeroizing::new([&[tag], plain].concat());
    vault.seal_bytes(CardId(id), &tagged)
}

fn open(vault: &Vault, id: u128, tag: u8, sealed: &[u8]) -> Result<zeroize::Zeroizing<Vec<u8>>, VaultError> {
    let mut plain = vault.open_bytes(CardId(id), sealed)?;
    if plain.first() != Some(&tag) {
        return Err(VaultError::Sealed("content"));
    }
    plain.remove(0);
    Ok(plain)
}

fn failed(kind: ErrorKind, operation: &'static str, message: impl ToString) -> PortError {
    PortError {
        kind,
        operation,
        message: message.to_string(),
    }
}
