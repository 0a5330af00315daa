//! A wallet payment as its owner sees it.

use serde::Serialize;

use super::State;
use crate::answer::{Address, ExactDecimal, Time};
use crate::id::{Network, WalletPaymentId};

/// A payment from a managed wallet.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = WalletPaymentResource))]
pub struct WalletPaymentView<'a> {
    /// `wpay_…` is the id of the wallet payment.
    pub wallet_payment_id: WalletPaymentId,
    /// Status of the wallet payment.
    pub status: State,
    /// `transfer` or `x402`.
    pub kind: WalletPaymentKind,
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// `USDC` is the token.
    pub asset: &'static str,
    /// Network of the transfer.
    pub network: Network,
    /// Paying address.
    pub from: Address,
    /// Paid address.
    pub pay_to: Address,
    /// Host of the paid call.
    #[cfg_attr(feature = "documents", schema(required))]
    pub host: Option<&'a str>,
    /// The owner's note.
    #[cfg_attr(feature = "documents", schema(required))]
    pub note: Option<&'a str>,
    /// Status of the paid call's response.
    #[cfg_attr(feature = "documents", schema(required))]
    pub http_status: Option<u16>,
    /// Transaction id, once on chain.
    #[cfg_attr(feature = "documents", schema(required))]
    pub tx_hash: Option<&'a str>,
    /// Reason of the failure.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failure_reason: Option<&'a str>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// Kind of a wallet payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum WalletPaymentKind {
    /// A paid call.
    #[serde(rename = "x402")]
    X402,
    /// Sent by the service itself.
    #[serde(rename = "transfer")]
    Transfer,
}
