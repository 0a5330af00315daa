//! Managed wallets on this side of the ports: who derives their keys and signs (`custody`), what of a server's terms is taken
//! (`terms`), who makes a paid call (`calling`), and what of its answer is stored (`bearer`).
//!
//! What an agent asks for and what a server answers may hold somebody's secrets: both are sealed before the engine sees
//! them, under the id of the spend.

pub mod bearer;
pub mod offer_selection;
pub mod paid_http_client;
pub mod signer;

use purser_actors::id::{CardId, Wallet, WalletPaymentId};
use purser_actors::port::{ErrorKind, PortError};
use serde::{Deserialize, Serialize};

use crate::vault::{Vault, VaultError};

/// First bytes of what is sealed: no month, so none is taken for a card number, nor one for the other.
const KEYS: u8 = 0xF2;
const REQUEST: u8 = 0xF3;
const RESPONSE: u8 = 0xF4;
const PAYMENT: u8 = 0xF5;

/// Where a call goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallTarget {
    /// A route of our own service, with its query.
    Route(String),
    /// Anybody's URL.
    Url(String),
}

/// A call, with the terms it is paid on once they are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidHttpRequest {
    /// Whose managed wallet: its requests to our own service are counted together.
    pub caller: u64,
    /// Where.
    pub target: CallTarget,
    /// `GET`, `POST`, …
    pub method: String,
    /// JSON text.
    pub body: Option<String>,
    /// The server's `PAYMENT-REQUIRED`, and which of its offers, of those that are USDC, is taken.
    pub terms: Option<(String, usize)>,
}

impl PaidHttpRequest {
    /// Who counts as the caller of our own service.
    pub fn from_purchase(owner: &Wallet) -> u64 {
        (owner.digest() >> 64) as u64
    }

    /// Sealed for a spend.
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

/// The body of an answer to a paid call.
///
/// # Errors
/// When it was not sealed for this spend.
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
