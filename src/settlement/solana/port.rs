//! The engine's port.

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainStatus, ChainTransactionStatus, Decline, ErrorKind, OutgoingTransfer,
    OutgoingTransferRequest, PortError, PortFuture, Preparation, PreparedTransaction, Settlement, SolanaTransfer,
    SubmitResult, Timestamp,
};

use super::SolanaSettlement;
use crate::errors::error;

fn on_solana<'a>(authorization: &'a Authorization, operation: &'static str) -> Result<&'a SolanaTransfer, PortError> {
    match authorization {
        Authorization::Solana(transfer) => Ok(transfer),
        Authorization::Evm(_) => Err(error(ErrorKind::Permanent, operation, "not a payment on Solana")),
    }
}

impl Settlement for SolanaSettlement {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> PortFuture<'a, Authorization> {
        Box::pin(self.sign_transfer(transfer))
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        Box::pin(async move {
            let transfer = on_solana(authorization, "precheck").ok()?;
            self.precheck_transfer(transfer).await
        })
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Preparation> {
        Box::pin(async move { self.prepare_transfer(on_solana(authorization, "prepare")?).await })
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> PortFuture<'a, SubmitResult> {
        Box::pin(async move {
            self.submit_transfer(on_solana(authorization, "submit")?, prepared)
                .await
        })
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> PortFuture<'a, ChainStatus> {
        Box::pin(async move {
            self.lookup_transfer(on_solana(authorization, "lookup")?, prepared)
                .await
        })
    }

    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> PortFuture<'a, ChainTransactionStatus> {
        Box::pin(async move {
            self.find_transaction_status(on_solana(authorization, "standing")?, transaction)
                .await
        })
    }

    fn can_receive<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool> {
        Box::pin(self.owner_can_receive(to))
    }

    fn final_treasury_balance(&self, network: Network) -> PortFuture<'_, Usdc> {
        Box::pin(async move {
            match network {
                Network::Solana => self.treasury_balance().await,
                Network::Base => Err(error(
                    ErrorKind::Permanent,
                    "treasury holds",
                    "not the network of this port",
                )),
            }
        })
    }

    fn sent_by<'a>(&'a self, from: &'a Wallet, since: Timestamp) -> PortFuture<'a, Vec<OutgoingTransfer>> {
        Box::pin(self.outgoing_from(from, since))
    }

    fn outgoing_transfers(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Vec<OutgoingTransfer>> {
        Box::pin(self.outgoing_from_treasury(since, until))
    }
}
