//! What a facilitated payment needs from its chain's own port. None of it needs a gas key.

use purser_actors::port::{Authorization, ChainStatus, Decline, OutgoingTransferRequest, PortFuture, Timestamp};
use purser_chains::solana::Pubkey;
use serde_json::Value;

use super::wire::Chain as Presented;
use crate::by_network::Chain;
use crate::gate::Gate;

/// How far a look-up reads the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupDepth {
    /// Queries no node.
    Known,
    /// Queries nodes if stored state does not answer.
    QueryNodes,
    /// Like `QueryNodes`, up to the newest block.
    Newest,
}

/// A chain whose payments facilitators may send.
pub trait ChainReader: Chain {
    /// Whether our own keys can send this payment, or already have it.
    fn can_send_with_own_keys(&self, authorization: &Authorization) -> bool;

    /// Whether the chain was verified to be the one in the settings: before that nothing is sent to a facilitator.
    fn gate(&self) -> &Gate;

    /// Whether we have any key to send with.
    fn has_own_keys(&self) -> bool;

    /// Why the chain would decline the payment now; `None` if it would execute it, or has. Costs no gas.
    fn would_decline<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Option<Decline>>;

    /// The body of `/verify` and `/settle`.
    fn request_body<'a>(&'a self, authorization: &'a Authorization, chain: &'a Presented) -> PortFuture<'a, Value>;

    /// The fee payer of the payment, if the payment names one.
    fn fee_payer(&self, authorization: &Authorization) -> Option<Pubkey>;

    /// Whether this transaction can belong to this payment.
    fn matches_payment(&self, authorization: &Authorization, transaction: &str) -> bool;

    /// Time after which the payment can no longer settle, from its own fields.
    fn expires_at(&self, authorization: &Authorization) -> Timestamp;

    /// Status on the chain. `transaction` is one that can belong to the payment.
    fn chain_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        transaction: Option<&'a str>,
        how: LookupDepth,
    ) -> PortFuture<'a, ChainStatus>;

    /// Signs a transfer out of our treasury for a facilitator, with its fee payer if the chain needs one.
    fn sign_for<'a>(
        &'a self,
        transfer: &'a OutgoingTransferRequest,
        fee_payer: Option<Pubkey>,
    ) -> PortFuture<'a, Authorization>;

    /// Whether an address can receive USDC from a facilitator, which creates no token accounts.
    fn can_receive_from_facilitator<'a>(&'a self, to: &'a purser_actors::id::Wallet) -> PortFuture<'a, bool>;
}
