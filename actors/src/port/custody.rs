//! Agent wallets: signing with their keys, and paid HTTP calls.

use super::{Authorization, BoxFuture, OutgoingTransferRequest, PortError};
use crate::agent_wallet::WalletAddresses;
use crate::id::{Wallet, WalletPaymentId};
use crate::wallet_payment::ServerResponse;

/// The sealed secret from which an agent wallet's keys are derived.
#[derive(Clone, Copy, Debug)]
pub struct SealedKeys<'a> {
    /// Account that the wallet belongs to.
    pub owner: Wallet,
    /// Sealed under the owner's digest.
    pub sealed: &'a [u8],
}

/// One part of the HTTP record of a wallet payment, sealed under the payment's id.
#[derive(Clone, Copy, Debug)]
pub struct SealedHttpPart<'a> {
    /// Wallet payment that the part belongs to.
    pub payment: WalletPaymentId,
    /// Sealed content; see [`crate::wallet_payment::HttpRecordPart`].
    pub sealed: &'a [u8],
}

/// Signs with the keys of agent wallets. Sends nothing.
pub trait WalletSigner: Send + Sync {
    /// Addresses of an owner's agent wallet, if they can be derived from the owner alone. The wallet may not exist yet.
    fn addresses(&self, owner: &Wallet) -> Option<WalletAddresses>;

    /// Signs a transfer that is valid for a limited time. It is then prepared, sent and looked up like a payment.
    fn sign_transfer<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        transfer: &'a OutgoingTransferRequest,
    ) -> BoxFuture<'a, Result<Authorization, PortError>>;

    /// Signs the payment that the terms of a call require, sealed as [`HttpRecordPart::PaymentHeader`]. `Permanent` for
    /// terms that cannot be met.
    ///
    /// [`HttpRecordPart::PaymentHeader`]: crate::wallet_payment::HttpRecordPart::PaymentHeader
    fn sign_call<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        call: SealedHttpPart<'a>,
    ) -> BoxFuture<'a, Result<(Authorization, Vec<u8>), PortError>>;
}

/// Makes paid HTTP calls.
pub trait PaidHttpClient: Send + Sync {
    /// Makes the call with this payment. Any HTTP response is a result; its body is sealed as
    /// [`HttpRecordPart::Response`]. The error is `Permanent` where another attempt would fail the same way (a blocked
    /// address, a response that is too large). After any other error the same payment may be sent again.
    ///
    /// [`HttpRecordPart::Response`]: crate::wallet_payment::HttpRecordPart::Response
    fn call<'a>(
        &'a self,
        call: SealedHttpPart<'a>,
        payment: &'a [u8],
    ) -> BoxFuture<'a, Result<(ServerResponse, Vec<u8>), PortError>>;
}
