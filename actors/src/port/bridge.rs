//! The bridge that carries USDC from Solana to Base: burned there, attested, minted here. Each step is a call of its own
//! that can be repeated, so that the engine can write down what it is about to do before it is done.

use super::{BoxFuture, ChainStatus, Decline, PortError, SubmitResult};
use crate::money::Usdc;

/// A crossing to be begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeTransfer {
    /// What it is for: at the bridge, the name of the crossing.
    pub key: u128,
    /// Who receives it on Base.
    pub to: [u8; 20],
    /// What must arrive at least. More is burned where the bridge takes a fee.
    pub delivered_amount: Usdc,
}

/// A burn, signed: what is sent on every try.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SignedBurn {
    /// The whole transaction, at most 1,232 bytes; empty for one that an operator has named after a restore.
    pub bytes: Vec<u8>,
    /// Its id, known before it is sent: what finds it again on the chain, and at the attesters.
    pub transaction: String,
    /// The key of the account that will hold the bridge's message.
    pub event_key: [u8; 32],
    /// What leaves our treasury: what must arrive, and the most that the bridge may take as its fee.
    pub burned: Usdc,
}

/// What the bridge's attesters say of a burn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttestationStatus {
    /// Not yet; ask again after this time. Not having seen the burn is no more than this.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Their word has lapsed before it was used; [`Bridge::attest_again`] asks for a new one.
    Expired {
        /// Names the message.
        nonce: [u8; 32],
    },
    /// Signed.
    Complete(AttestedMessage),
}

/// A message that may be minted on.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AttestedMessage {
    /// Used once on Base, by whoever mints.
    pub nonce: [u8; 32],
    /// The attesters' own bytes.
    pub message: Vec<u8>,
    /// Their signatures.
    pub attestation: Vec<u8>,
    /// Who receives the mint on Base, as the message says.
    pub to: [u8; 20],
    /// Whether it is USDC that was burned for it, as the message says.
    pub is_usdc: bool,
    /// What the mint will bring, as the message says.
    pub delivered_amount: Usdc,
}

/// Of a message, the attesters' bytes and signatures together: several times what the bridge sends, and far less than a
/// row takes.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

impl AttestedMessage {
    /// Checks that this is the message of a burn of `burned` for this crossing: nothing else is minted for it. More than was
    /// ordered arrives where the bridge takes less than its highest fee.
    ///
    /// # Errors
    /// What is wrong with it, for the operator.
    pub fn check_matches(&self, crossing: &BridgeTransfer, burned: Usdc) -> Result<(), &'static str> {
        if self.message.len() + self.attestation.len() > MAX_MESSAGE_BYTES {
            return Err("the attested message is longer than any message of the bridge");
        }
        if self.to != crossing.to {
            return Err("the attested receiver is not the top-up's");
        }
        if !self.is_usdc {
            return Err("the attested token is not USDC");
        }
        if self.delivered_amount < crossing.delivered_amount {
            return Err("the attested amount is less than the top-up's");
        }
        if self.delivered_amount > burned {
            return Err("the attested amount is more than was burned");
        }
        Ok(())
    }
}

/// A mint, signed.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SignedMint {
    /// What is sent: the whole transaction, or its call where the bridge gives it a nonce and a price when it is sent.
    pub bytes: Vec<u8>,
    /// Its id, if it is known before it is sent, else empty.
    pub transaction: String,
}

/// Base's answer to a mint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MintResult {
    /// Minted by this transaction.
    Minted {
        /// Its id.
        transaction: String,
    },
    /// The nonce was used before: by an earlier try, or by somebody else who minted to the same recipient.
    NonceUsed,
    /// Refused for now, for want of gas for example.
    Declined(Decline),
}

/// Carries USDC from Solana to Base.
pub trait Bridge: Send + Sync {
    /// Signs a burn out of our treasury. Sends nothing. `Permanent` means that the bridge will not carry it.
    fn sign_burn<'a>(&'a self, crossing: &'a BridgeTransfer) -> BoxFuture<'a, Result<SignedBurn, PortError>>;

    /// Sends a burn and waits for its outcome. The same burn sent again burns nothing more.
    fn burn<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<SubmitResult, PortError>>;

    /// Reads the chain for a burn. [`Lookup::Impossible`] is proof that it never burned and never will.
    fn find_burn<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<ChainStatus, PortError>>;

    /// Asks for the attestation of a burn by its transaction.
    fn attestation<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<AttestationStatus, PortError>>;

    /// Has a lapsed message attested again.
    fn reattest<'a>(&'a self, nonce: &'a [u8; 32]) -> BoxFuture<'a, Result<(), PortError>>;

    /// Signs a mint. Sends nothing. Signing again is harmless: the nonce mints once.
    fn sign_mint<'a>(&'a self, attested: &'a AttestedMessage) -> BoxFuture<'a, Result<SignedMint, PortError>>;

    /// Sends a mint and waits for its outcome.
    fn mint<'a>(&'a self, mint: &'a SignedMint) -> BoxFuture<'a, Result<MintResult, PortError>>;

    /// Reads Base for the nonce, whoever minted. [`Lookup::Impossible`] is proof that it never will be.
    fn find_mint<'a>(&'a self, attested: &'a AttestedMessage) -> BoxFuture<'a, Result<ChainStatus, PortError>>;
}
