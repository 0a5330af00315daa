//! One settlement port for both networks, over one port per network.

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainMovement, ChainStatus, ChainTransactionStatus, Decline, Finality, ListCursor,
    ListPage, OutgoingTransfer, OutgoingTransferRequest, PortError, PortFuture, Preparation, PreparedTransaction,
    Settlement, SubmitResult, Timestamp, TreasuryList,
};

use super::chain::{ChainTime, Holdings, ListedTransfer, TransferList};

/// The chain of one network. Callers pass only wallets and payments of that network.
pub trait Chain: Settlement + TreasuryList + Holdings + ChainTime + TransferList {}

impl<T: Settlement + TreasuryList + Holdings + ChainTime + TransferList> Chain for T {}

/// Both networks, each behind its own port.
pub struct SettlementByNetwork {
    /// Port for Base.
    pub base: Arc<dyn Chain>,
    /// Port for Solana.
    pub solana: Arc<dyn Chain>,
}

impl SettlementByNetwork {
    fn for_network(&self, network: Network) -> &dyn Chain {
        match network {
            Network::Base => &*self.base,
            Network::Solana => &*self.solana,
        }
    }
}

impl Settlement for SettlementByNetwork {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> PortFuture<'a, Authorization> {
        self.for_network(transfer.to.network()).sign(transfer)
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        self.for_network(authorization.network()).precheck(authorization)
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Preparation> {
        self.for_network(authorization.network()).prepare(authorization)
    }

    fn prepare_locally(&self, authorization: &Authorization) -> Option<PreparedTransaction> {
        self.for_network(authorization.network()).prepare_locally(authorization)
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> PortFuture<'a, SubmitResult> {
        self.for_network(authorization.network())
            .submit(authorization, prepared)
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> PortFuture<'a, ChainStatus> {
        self.for_network(authorization.network())
            .lookup(authorization, prepared)
    }

    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> PortFuture<'a, ChainTransactionStatus> {
        self.for_network(authorization.network())
            .transaction_status(authorization, prepared, transaction)
    }

    fn can_receive<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool> {
        self.for_network(to.network()).can_receive(to)
    }

    fn final_treasury_balance(&self, network: Network) -> PortFuture<'_, Usdc> {
        self.for_network(network).final_treasury_balance(network)
    }

    fn sent_by<'a>(&'a self, from: &'a Wallet, since: Timestamp) -> PortFuture<'a, Vec<OutgoingTransfer>> {
        self.for_network(from.network()).sent_by(from, since)
    }

    fn outgoing_transfers(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Vec<OutgoingTransfer>> {
        Box::pin(async move {
            let mut all = self.base.outgoing_transfers(since, until).await?;
            all.extend(self.solana.outgoing_transfers(since, until).await?);
            all.sort_by_key(|outgoing| outgoing.at);
            Ok(all)
        })
    }
}

impl TreasuryList for SettlementByNetwork {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> PortFuture<'a, ListPage<ChainMovement>> {
        self.for_network(network).movements(network, after, limit)
    }

    fn in_transaction<'a>(&'a self, network: Network, transaction: &'a str) -> PortFuture<'a, Vec<ChainMovement>> {
        self.for_network(network).in_transaction(network, transaction)
    }

    fn find_by_authorization<'a>(
        &'a self,
        network: Network,
        payer: Option<&'a Wallet>,
        mark: &'a [u8; 32],
    ) -> PortFuture<'a, Option<ChainMovement>> {
        self.for_network(network).find_by_authorization(network, payer, mark)
    }

    fn movement_finality<'a>(&'a self, network: Network, moved: &'a ChainMovement) -> PortFuture<'a, Finality> {
        self.for_network(network).movement_finality(network, moved)
    }
}

impl Holdings for SettlementByNetwork {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> PortFuture<'a, Usdc> {
        self.for_network(wallet.network()).holds(wallet)
    }
}

impl ChainTime for SettlementByNetwork {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        self.for_network(network).now_on(network)
    }
}

impl TransferList for SettlementByNetwork {
    fn transfers_after(&self, network: Network, after: u64, limit: usize) -> PortFuture<'_, Vec<ListedTransfer>> {
        self.for_network(network).transfers_after(network, after, limit)
    }
}
