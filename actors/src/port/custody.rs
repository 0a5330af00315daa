//! Managed wallets: who signs with their keys, and who calls the servers that they pay.

use super::{Authorization, BoxFuture, OutgoingTransferRequest, PortError};
use crate::agent_wallet::WalletAddresses;
use crate::id::{Wallet, WalletPaymentId};
use crate::wallet_payment::ServerResponse;

/// What the keys of a managed wallet are derived from.
#[derive(Clone, Copy, Debug)]
pub struct SealedKeys<'a> {
    /// Whose wallet.
    pub owner: Wallet,
    /// Sealed under the owner's digest.
    pub sealed: &'a [u8],
}

/// Something that was said for a spend, sealed under its id.
#[derive(Clone, Copy, Debug)]
pub struct SealedHttpPart<'a> {
    /// Which spend.
    pub payment: WalletPaymentId,
    /// What was said; see [`crate::spend::Part`].
    pub sealed: &'a [u8],
}

/// Signs with the keys of managed wallets. Sends nothing.
pub trait WalletSigner: Send + Sync {
    /// Where an owner's managed wallet is or would be, if that follows from the owner.
    fn addresses(&self, owner: &Wallet) -> Option<WalletAddresses>;

    /// Signs a transfer, good for a limited time; it is then prepared, sent and looked up like a payment.
    fn sign_transfer<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        transfer: &'a OutgoingTransferRequest,
    ) -> BoxFuture<'a, Result<Authorization, PortError>>;

    /// Signs the payment that a call's terms ask for, and writes it, sealed, as [`crate::spend::Part::Payment`]. `Permanent`
    /// for terms that cannot be met.
    fn sign_call<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        call: SealedHttpPart<'a>,
    ) -> BoxFuture<'a, Result<(Authorization, Vec<u8>), PortError>>;
}

/// Makes paid calls.
pub trait PaidHttpClient: Send + Sync {
    /// Makes the call with this payment. An answer of any kind is one, its body sealed as [`crate::spend::Part::Answer`]; an error is `Permanent` where another try would be
    /// the same (a refused address, an answer that is too large), else the same payment may be sent again.
    fn call<'a>(
        &'a self,
        call: SealedHttpPart<'a>,
        payment: &'a [u8],
    ) -> BoxFuture<'a, Result<(ServerResponse, Vec<u8>), PortError>>;
}
