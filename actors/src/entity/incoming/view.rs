//! An incoming transfer as operators see it.

use serde::Serialize;

use super::State;
use crate::answer::{Address, ExactDecimal, Time};
use crate::entity::PurchasedProduct;
use crate::id::{DepositId, Network, WithdrawalId};

/// A transfer to the treasury that no payment claims.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = IncomingTransfer))]
pub struct IncomingView<'a> {
    /// Id of the incoming transfer.
    pub deposit_id: DepositId,
    /// `base` or `solana`.
    pub network: Network,
    /// Transaction id on the chain.
    pub transaction: &'a str,
    /// Index of the transfer in the transaction, from 0.
    pub index: u64,
    /// Address of the sender.
    pub sender: Address,
    /// Amount in USDC.
    pub amount: ExactDecimal,
    /// Chain time of the transfer (RFC 3339).
    pub at: Time,
    /// `found`, `waiting`, `crediting`, `credited`, `adopted`, `operator_funds`, `returning`, `returned`, `claimed` or
    /// `forwarded`.
    pub status: State,
    /// What the provider reports about the product that the transfer would have bought.
    #[cfg_attr(feature = "documents", schema(required))]
    pub shows: Option<&'a str>,
    /// Account that is or will be credited.
    #[cfg_attr(feature = "documents", schema(required))]
    pub account: Option<Address>,
    /// Product that it bought in a history lost by a restore.
    #[cfg_attr(feature = "documents", schema(required))]
    pub product_id: Option<PurchasedProduct>,
    /// Withdrawal that returns it to its sender.
    #[cfg_attr(feature = "documents", schema(required))]
    pub withdrawal_id: Option<WithdrawalId>,
    /// Time of detection (RFC 3339).
    pub found_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}
