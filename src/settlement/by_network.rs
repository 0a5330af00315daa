//! One settlement port for both networks, over one port per network.

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainMovement, ChainStanding, ChainStatus, Decline, Finality, ListCursor, ListPage,
    OutgoingTransfer, OutgoingTransferRequest, PortError, Preparation, PreparedTransaction, Settlement, SubmitResult,
    Timestamp, TreasuryList,
};

use super::chain::{ChainTime, Holdings, Listed, TransferList};

/// The chain of one network. Callers pass only wallets and payments of that network.
pub trait Chain: Settlement + TreasuryList + Holdings + ChainTime + TransferList {}

impl<T: Settlement + TreasuryList + Holdings + ChainTime + TransferList> Chain for T {}

/// Both networks, each behind its own port.
pub struct ByNetwork {
    /// Base.
    pub base: Arc<dyn Chain>,
    /// Solana.
    pub solana: Arc<dyn Chain>,
}

impl ByNetwork {
    fn on(&self, network: Network) -> &dyn Chain {
        match network {
            Network::Base => &*self.base,
            Network::Solana => &*self.solana,
        }
    }
}

impl Settlement for ByNetwork {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> BoxFuture<'a, Result<Authorization, PortError>> {
        self.on(transfer.to.network()).sign(transfer)
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        self.on(authorization.network()).precheck(authorization)
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Result<Preparation, PortError>> {
        self.on(authorization.network()).prepare(authorization)
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> BoxFuture<'a, Result<SubmitResult, PortError>> {
        self.on(authorization.network()).submit(authorization, prepared)
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> BoxFuture<'a, Result<ChainStatus, PortError>> {
        self.on(authorization.network()).lookup(authorization, prepared)
    }

    fn standing<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<ChainStanding, PortError>> {
        self.on(authorization.network())
            .standing(authorization, prepared, transaction)
    }

    fn can_receive<'a>(&'a self, to: &'a Wallet) -> BoxFuture<'a, Result<bool, PortError>> {
        self.on(to.network()).can_receive(to)
    }

    fn treasury_holds(&self, network: Network) -> BoxFuture<'_, Result<Usdc, PortError>> {
        self.on(network).treasury_holds(network)
    }

    fn sent_by<'a>(
        &'a self,
        from: &'a Wallet,
        since: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<OutgoingTransfer>, PortError>> {
        self.on(from.network()).sent_by(from, since)
    }

    fn departures(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<OutgoingTransfer>, PortError>> {
        Box::pin(async move {
            let mut all = self.base.departures(since, until).await?;
            all.extend(self.solana.departures(since, until).await?);
            all.sort_by_key(|departure| departure.at);
            Ok(all)
        })
    }
}

impl TreasuryList for ByNetwork {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ChainMovement>, PortError>> {
        self.on(network).movements(network, after, limit)
    }

    fn in_transaction<'a>(
        &'a self,
        network: Network,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ChainMovement>, PortError>> {
        self.on(network).in_transaction(network, transaction)
    }

    fn authorized<'a>(
        &'a self,
        network: Network,
        payer: Option<&'a Wallet>,
        mark: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Option<ChainMovement>, PortError>> {
        self.on(network).authorized(network, payer, mark)
    }

    fn movement_finality<'a>(
        &'a self,
        network: Network,
        moved: &'a ChainMovement,
    ) -> BoxFuture<'a, Result<Finality, PortError>> {
        self.on(network).movement_finality(network, moved)
    }
}

impl Holdings for ByNetwork {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> BoxFuture<'a, Result<Usdc, PortError>> {
        self.on(wallet.network()).holds(wallet)
    }
}

impl ChainTime for ByNetwork {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        self.on(network).now_on(network)
    }
}

impl TransferList for ByNetwork {
    fn listed(&self, network: Network, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, PortError>> {
        self.on(network).listed(network, after, limit)
    }
}
