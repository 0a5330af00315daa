//! Agent wallets: signing with their keys, and paid HTTP calls.

use super::{Authorization, ExternalText, OutgoingTransferRequest, PortFuture};
use crate::id::{Network, Wallet, WalletPaymentId};

/// One address per chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletAddresses {
    /// Address on Base.
    pub base: [u8; 20],
    /// Address on Solana.
    pub solana: [u8; 32],
}

impl WalletAddresses {
    /// Address on a network.
    pub const fn on(&self, network: Network) -> Wallet {
        match network {
            Network::Base => Wallet::Evm(self.base),
            Network::Solana => Wallet::Solana(self.solana),
        }
    }
}

/// A server's response to a paid call.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ServerResponse {
    /// HTTP status; 0 without a response.
    pub http_status: u16,
    /// Content type of the response.
    pub content_type: Option<ExternalText>,
    /// Why the call did not succeed.
    pub failure: Option<CallFailure>,
}

/// Reason why a paid call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CallFailure {
    /// No complete response was received.
    FetchFailed,
    /// Status other than success and 402.
    HttpError,
    /// The server did not accept the payment.
    Unsettled,
}

impl ServerResponse {
    /// The response as it counts once the chain shows the payment. A server that was paid and still demands payment
    /// counts as an HTTP error. A server that accepted the payment without responding reports that when it gets the
    /// same payment again.
    #[must_use]
    pub fn error_after_payment(self) -> Self {
        let failure = self.failure.map(|failure| match failure {
            CallFailure::Unsettled => CallFailure::HttpError,
            other => other,
        });
        Self { failure, ..self }
    }
}

impl CallFailure {
    /// Name in the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FetchFailed => "fetch_failed",
            Self::HttpError => "http_error",
            Self::Unsettled => "unsettled",
        }
    }
}

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
    /// Sealed content; see [`crate::entity::wallet_payment::HttpRecordPart`].
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
    ) -> PortFuture<'a, Authorization>;

    /// Signs the payment that the terms of a call require, sealed as [`HttpRecordPart::PaymentHeader`]. `Permanent` for
    /// terms that cannot be met.
    ///
    /// [`HttpRecordPart::PaymentHeader`]: crate::entity::wallet_payment::HttpRecordPart::PaymentHeader
    fn sign_call<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        call: SealedHttpPart<'a>,
    ) -> PortFuture<'a, (Authorization, Vec<u8>)>;
}

/// Makes paid HTTP calls.
pub trait PaidHttpClient: Send + Sync {
    /// Makes the call with this payment. Any HTTP response is a result; its body is sealed as
    /// [`HttpRecordPart::Response`]. The error is `Permanent` where another attempt would fail the same way (a blocked
    /// address, a response that is too large). After any other error the same payment may be sent again.
    ///
    /// [`HttpRecordPart::Response`]: crate::entity::wallet_payment::HttpRecordPart::Response
    fn call<'a>(&'a self, call: SealedHttpPart<'a>, payment: &'a [u8]) -> PortFuture<'a, (ServerResponse, Vec<u8>)>;
}
