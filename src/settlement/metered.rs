//! Counts the engine's calls to each chain: number, failures and duration.

use std::future::Future;
use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainStatus, ChainTransactionStatus, Decline, OutgoingTransfer, OutgoingTransferRequest,
    PortError, PortFuture, Preparation, PreparedTransaction, Settlement, SubmitResult, Timestamp,
};
use purser_host::system::Stopwatch;
use purser_storage::stats::{Counter, Histogram, HistogramSnapshot};

/// Upper bounds of the durations, in milliseconds: those of the outbox's attempts.
const DURATIONS_MS: &[u64] = &[
    5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000,
];

/// Calls to one chain since the start.
pub struct ChainMeter {
    failures: Counter,
    durations_ms: Histogram,
}

impl Default for ChainMeter {
    fn default() -> Self {
        Self {
            failures: Counter::default(),
            durations_ms: Histogram::new(DURATIONS_MS),
        }
    }
}

impl ChainMeter {
    /// Calls that ended with an error, and the durations of all ended calls in milliseconds.
    pub fn read(&self) -> (u64, HistogramSnapshot) {
        (self.failures.sum(), self.durations_ms.snapshot())
    }
}

/// One meter per network.
#[derive(Default)]
pub struct ChainMeters([ChainMeter; Network::ALL.len()]);

impl ChainMeters {
    pub const fn of(&self, network: Network) -> &ChainMeter {
        &self.0[network as usize]
    }
}

/// Passes every call on. The calls that may read or write the chain are counted; `sign` and `prepare_locally` do
/// neither, `precheck` has no error, and `outgoing_transfers` is of both chains.
pub struct MeteredSettlement {
    inner: Arc<dyn Settlement>,
    meters: Arc<ChainMeters>,
}

impl MeteredSettlement {
    pub const fn new(inner: Arc<dyn Settlement>, meters: Arc<ChainMeters>) -> Self {
        Self { inner, meters }
    }

    fn metered<'a, T: Send + 'a>(
        &'a self,
        network: Network,
        call: impl Future<Output = Result<T, PortError>> + Send + 'a,
    ) -> PortFuture<'a, T> {
        Box::pin(async move {
            let watch = Stopwatch::start();
            let result = call.await;
            let meter = self.meters.of(network);
            meter.durations_ms.record(watch.micros() / 1_000);
            if result.is_err() {
                meter.failures.add();
            }
            result
        })
    }
}

impl Settlement for MeteredSettlement {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> PortFuture<'a, Authorization> {
        self.inner.sign(transfer)
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        self.inner.precheck(authorization)
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Preparation> {
        self.metered(authorization.network(), self.inner.prepare(authorization))
    }

    fn prepare_locally(&self, authorization: &Authorization) -> Option<PreparedTransaction> {
        self.inner.prepare_locally(authorization)
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> PortFuture<'a, SubmitResult> {
        self.metered(authorization.network(), self.inner.submit(authorization, prepared))
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> PortFuture<'a, ChainStatus> {
        self.metered(authorization.network(), self.inner.lookup(authorization, prepared))
    }

    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> PortFuture<'a, ChainTransactionStatus> {
        let status = self.inner.transaction_status(authorization, prepared, transaction);
        self.metered(authorization.network(), status)
    }

    fn can_receive<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool> {
        self.metered(to.network(), self.inner.can_receive(to))
    }

    fn final_treasury_balance(&self, network: Network) -> PortFuture<'_, Usdc> {
        self.metered(network, self.inner.final_treasury_balance(network))
    }

    fn sent_by<'a>(&'a self, from: &'a Wallet, since: Timestamp) -> PortFuture<'a, Vec<OutgoingTransfer>> {
        self.metered(from.network(), self.inner.sent_by(from, since))
    }

    fn outgoing_transfers(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Vec<OutgoingTransfer>> {
        self.inner.outgoing_transfers(since, until)
    }
}
