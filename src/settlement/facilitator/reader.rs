//! What a facilitated payment needs of its chain's own port: nothing here needs a gas key.

use purser_actors::port::{
    Authorization, BoxFuture, ChainStatus, Decline, OutgoingTransferRequest, PortError, Timestamp,
};
use purser_chains::solana::Pubkey;
use serde_json::Value;

use super::wire::Chain as Presented;
use crate::settlement::by_network::Chain;
use crate::settlement::gate::Gate;

/// How far a look at the chain goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupDepth {
    /// No node is asked.
    Known,
    /// Nodes are asked where nothing else says it.
    QueryNodes,
    /// The same, up to the newest block that there is now.
    Newest,
}

/// A chain that is read, and whose payments somebody else may send.
pub trait ChainReader: Chain {
    /// Whether keys of our own can send this payment, or have it already.
    fn can_send_with_own_keys(&self, authorization: &Authorization) -> bool;

    /// Whether the chain was found to be the one of the settings: nothing is handed to a facilitator before.
    fn gate(&self) -> &Gate;

    /// Whether there is any key of our own to send with.
    fn has_own_keys(&self) -> bool;

    /// Why the chain would not execute the payment now; `None` where it would, or has. Nothing is spent.
    fn would_decline<'a>(
        &'a self,
        authorization: &'a Authorization,
    ) -> BoxFuture<'a, Result<Option<Decline>, PortError>>;

    /// The body of `/verify` and `/settle`.
    fn request_body<'a>(
        &'a self,
        authorization: &'a Authorization,
        chain: &'a Presented,
    ) -> BoxFuture<'a, Result<Value, PortError>>;

    /// Who pays the payment's fee, where the payment itself says so.
    fn fee_payer(&self, authorization: &Authorization) -> Option<Pubkey>;

    /// Whether this transaction can be of this payment.
    fn matches_payment(&self, authorization: &Authorization, transaction: &str) -> bool;

    /// When the payment can land no more, by its own fields.
    fn expires_at(&self, authorization: &Authorization) -> Timestamp;

    /// What the chain shows. `transaction` is one that can be of this payment.
    fn chain_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        transaction: Option<&'a str>,
        how: LookupDepth,
    ) -> BoxFuture<'a, Result<ChainStatus, PortError>>;

    /// Signs a transfer out of our treasury so that a facilitator can settle it, with its fee payer where the chain needs one.
    fn sign_for<'a>(
        &'a self,
        transfer: &'a OutgoingTransferRequest,
        fee_payer: Option<Pubkey>,
    ) -> BoxFuture<'a, Result<Authorization, PortError>>;

    /// Whether an address can be sent USDC by a facilitator, which creates no token accounts.
    fn can_receive_from_facilitator<'a>(
        &'a self,
        to: &'a purser_actors::id::Wallet,
    ) -> BoxFuture<'a, Result<bool, PortError>>;
}
