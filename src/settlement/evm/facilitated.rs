//! The parts of the port that facilitators need: checking, signing and finding payments that a facilitator sends.

use purser_actors::id::Wallet;
use purser_actors::port::{
    Authorization, ChainStatus, Decline, OutgoingTransferRequest, PortFuture, Preparation, Settlement as _, Timestamp,
};
use purser_chains::solana::Pubkey;
use serde_json::Value;

use super::BaseSettlement;
use super::paying::payment;
use crate::errors::{permanent, temporary};
use crate::facilitator::{ChainReader, LookupDepth, Presented, base_body};
use crate::gate::Gate;

impl ChainReader for BaseSettlement {
    fn can_send_with_own_keys(&self, authorization: &Authorization) -> bool {
        let Ok(payment) = payment("sends", authorization) else {
            return false;
        };
        self.core.owners.contains_key(&payment.key()) || self.core.can_send()
    }

    fn gate(&self) -> &Gate {
        Self::gate(self)
    }

    fn has_own_keys(&self) -> bool {
        !self.core.settings.gas_keys.is_empty()
    }

    fn would_decline<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Option<Decline>> {
        Box::pin(async move {
            Ok(match self.prepare(authorization).await? {
                Preparation::Ready(_) => None,
                Preparation::Declined(decline) => Some(decline),
            })
        })
    }

    fn request_body<'a>(&'a self, authorization: &'a Authorization, chain: &'a Presented) -> PortFuture<'a, Value> {
        let body = match (authorization, chain) {
            (Authorization::Evm(signed), Presented::Base(chain)) => Ok(base_body(chain, signed)),
            _ => Err(permanent("present", "not a payment on Base")),
        };
        Box::pin(std::future::ready(body))
    }

    fn fee_payer(&self, _: &Authorization) -> Option<Pubkey> {
        None
    }

    /// The follower finds a payment by payer and nonce: the transaction is not needed.
    fn matches_payment(&self, _: &Authorization, _: &str) -> bool {
        true
    }

    fn expires_at(&self, authorization: &Authorization) -> Timestamp {
        match authorization {
            Authorization::Evm(signed) => Timestamp(signed.valid_before.saturating_mul(1_000)),
            Authorization::Solana(_) => Timestamp(0),
        }
    }

    fn chain_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: Option<&'a str>,
        how: LookupDepth,
    ) -> PortFuture<'a, ChainStatus> {
        Box::pin(async move {
            if how == LookupDepth::Newest {
                let key = payment("lookup", authorization)?.key();
                let read = self.core.read_and_check_used(&key).await;
                read.map_err(|error| temporary("lookup", error))?;
            }
            self.lookup_payment(authorization).await
        })
    }

    fn sign_for<'a>(
        &'a self,
        transfer: &'a OutgoingTransferRequest,
        _: Option<Pubkey>,
    ) -> PortFuture<'a, Authorization> {
        self.sign(transfer)
    }

    fn can_receive_from_facilitator<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool> {
        self.can_receive(to)
    }
}
