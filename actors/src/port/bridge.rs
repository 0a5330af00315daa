//! The bridge that transfers USDC from Solana to Base: a burn, its attestation and a mint. Each step is a separate call
//! that can be repeated, so that the engine persists each step before it runs.

use super::{ChainStatus, Decline, PortFuture, SubmitResult};
use crate::money::Usdc;

/// A bridge transfer to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeTransfer {
    /// Identifies the bridge transfer; the bridge uses it as the id.
    pub key: u128,
    /// Recipient on Base.
    pub to: [u8; 20],
    /// Least amount that must arrive. More is burned where the bridge takes a fee.
    pub delivered_amount: Usdc,
}

/// A signed burn. Every attempt sends the same one.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SignedBurn {
    /// The whole transaction, at most 1,232 bytes. Empty for a burn that an operator has named after a restore.
    pub bytes: Vec<u8>,
    /// Transaction id, known before it is sent. The chain and the attestation service find the burn by it.
    pub transaction: String,
    /// Key of the account that will store the bridge's message.
    pub event_key: [u8; 32],
    /// Amount that leaves our treasury: the least that must arrive, plus the bridge's maximum fee.
    pub burned: Usdc,
}

/// State of a burn's attestation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttestationStatus {
    /// Not attested yet. Ask again after this time. The attestation service may also not have seen the burn.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The attestation expired before it was used. [`Bridge::reattest`] requests a new one.
    Expired {
        /// Identifies the message.
        nonce: [u8; 32],
    },
    /// The message is attested.
    Complete(AttestedMessage),
}

/// An attested message that can be minted.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AttestedMessage {
    /// Usable once on Base, by any minter.
    pub nonce: [u8; 32],
    /// The message bytes as attested.
    pub message: Vec<u8>,
    /// The attestation's signatures.
    pub attestation: Vec<u8>,
    /// Recipient of the mint on Base, from the message.
    pub to: [u8; 20],
    /// Whether the burned token is USDC, from the message.
    pub is_usdc: bool,
    /// Amount that the mint will deliver, from the message.
    pub delivered_amount: Usdc,
}

/// Largest message and signatures together. Several times what the bridge sends, and far less than a row can store.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

impl AttestedMessage {
    /// Checks that this is the message of a burn of `burned` for this bridge transfer. Nothing else is minted for it.
    /// More than was ordered arrives where the bridge charges less than its maximum fee.
    ///
    /// # Errors
    ///
    /// What is wrong with the message, for the operator.
    pub fn check_matches(&self, bridge_transfer: &BridgeTransfer, burned: Usdc) -> Result<(), &'static str> {
        if self.message.len() + self.attestation.len() > MAX_MESSAGE_BYTES {
            return Err("the attested message is longer than any message of the bridge");
        }
        if self.to != bridge_transfer.to {
            return Err("the attested receiver is not the top-up's");
        }
        if !self.is_usdc {
            return Err("the attested token is not USDC");
        }
        if self.delivered_amount < bridge_transfer.delivered_amount {
            return Err("the attested amount is less than the top-up's");
        }
        if self.delivered_amount > burned {
            return Err("the attested amount is more than was burned");
        }
        Ok(())
    }
}

/// A signed mint.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SignedMint {
    /// What is sent: the whole transaction, or only its call where the bridge sets nonce and gas price at sending.
    pub bytes: Vec<u8>,
    /// Transaction id if it is known before sending, else empty.
    pub transaction: String,
}

/// Result of a mint on Base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MintResult {
    /// Minted by this transaction.
    Minted {
        /// Id of the mint transaction on Base.
        transaction: String,
    },
    /// The nonce was used before: by an earlier attempt, or by another minter for the same recipient.
    NonceUsed,
    /// Declined for now, for example because gas is missing.
    Declined(Decline),
}

/// Transfers USDC from Solana to Base.
pub trait Bridge: Send + Sync {
    /// Signs a burn from our treasury and sends nothing. `Permanent` means that the bridge will not transfer it.
    fn sign_burn<'a>(&'a self, bridge_transfer: &'a BridgeTransfer) -> PortFuture<'a, SignedBurn>;

    /// Sends a burn and waits for its outcome. Sending the same burn again burns nothing more.
    fn burn<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, SubmitResult>;

    /// Looks for a burn on the chain. [`ChainStatus::Impossible`] proves that it never burned and never will.
    fn find_burn<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, ChainStatus>;

    /// Fetches the attestation of a burn by its transaction.
    fn attestation<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, AttestationStatus>;

    /// Requests a new attestation of an expired message.
    fn reattest<'a>(&'a self, nonce: &'a [u8; 32]) -> PortFuture<'a, ()>;

    /// Signs a mint and sends nothing. Signing again is harmless: the nonce mints once.
    fn sign_mint<'a>(&'a self, attested: &'a AttestedMessage) -> PortFuture<'a, SignedMint>;

    /// Sends a mint and waits for its outcome.
    fn mint<'a>(&'a self, mint: &'a SignedMint) -> PortFuture<'a, MintResult>;

    /// Looks for the nonce on Base, by any minter. [`ChainStatus::Impossible`] proves that it never will be used.
    fn find_mint<'a>(&'a self, attested: &'a AttestedMessage) -> PortFuture<'a, ChainStatus>;
}
