//! The port over facilitators that fail in every way, on a chain that executes each payment once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod chain;
mod faults;
mod owners;
#[path = "../../../tests/settlement/facilitator.rs"]
mod server;
mod starting;

use std::sync::Arc;
use std::time::Duration;

use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, EvmAuthorization, Preparation, PreparedTransaction, Settlement as _, SubmitResult,
};
use purser_chains::rpc::{BoxFuture, Clock};
use purser_chains::solana::address::base58;
use purser_storage::{JournalStore, Store, StoreLimits, StoreOptions};
use serde_json::json;
use tempfile::TempDir;

use self::chain::TestChain;
use self::server::{Mode, Server};
use super::{Auth, FacilitatedSettlement, FacilitatorList, FacilitatorSettings, Presented, SubmitIntervals};
use purser_host::system::SystemClock;
use purser_protocol::payment::BaseChain;

const QUICK: SubmitIntervals = SubmitIntervals {
    poll: Duration::from_millis(2),
    retry: Duration::from_millis(5),
};

/// A chain, a store, and facilitators in front of the chain.
struct Harness {
    chain: Arc<TestChain>,
    servers: Vec<Server>,
    store: Arc<dyn Store>,
    _folder: TempDir,
}

/// A clock that never advances: pauses of facilitators last for the whole test.
struct Frozen;

impl Clock for Frozen {
    fn now_ms(&self) -> u64 {
        0
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

type Port = Arc<FacilitatedSettlement<TestChain>>;

fn settings(server: &Server) -> FacilitatorSettings {
    FacilitatorSettings {
        url: server.url(),
        auth: Auth::None,
        timeout: Duration::from_secs(30),
    }
}

impl Harness {
    async fn start(modes: &[Mode]) -> Self {
        Self::with_chain(TestChain::base(), modes).await
    }

    async fn with_chain(chain: TestChain, modes: &[Mode]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            dir: folder.path().join("store"),
            limits: StoreLimits::sandbox(),
            clock: Arc::new(|| 1_000_000),
        };
        let chain = Arc::new(chain);
        let mut servers = Vec::new();
        for mode in modes {
            servers.push(Server::start(chain.clone(), *mode).await);
        }
        Self {
            chain,
            servers,
            store: JournalStore::open(options).unwrap(),
            _folder: folder,
        }
    }

    /// Opens the port on the stored rows, with the facilitators in this order.
    async fn open(&self, order: &[usize]) -> Port {
        let settings = order.iter().map(|n| settings(&self.servers[*n])).collect();
        self.open_with(settings).await
    }

    async fn open_with(&self, settings: Vec<FacilitatorSettings>) -> Port {
        let clocks = (Arc::new(SystemClock) as _, Arc::new(Frozen) as _);
        let presented = self.chain.presented();
        let list = FacilitatorList::open(presented, settings, self.store.clone(), clocks)
            .await
            .unwrap();
        list.refresh().await;
        Arc::new(FacilitatedSettlement::new(
            self.chain.clone(),
            list,
            Arc::new(SystemClock),
            QUICK,
        ))
    }

    /// Sets the fee payer that a facilitator offers on Solana.
    fn offers(&self, facilitator: usize, fee_payer: [u8; 32]) {
        self.servers[facilitator].offers(json!({"feePayer": base58(&fee_payer)}));
    }

    fn settles(&self) -> Vec<usize> {
        self.servers.iter().map(Server::settles).collect()
    }
}

fn payment(n: u8) -> Authorization {
    Authorization::Evm(EvmAuthorization {
        from: [n; 20],
        to: [9; 20],
        value: Usdc::from_atomic(1_000_000),
        valid_after: 0,
        valid_before: u64::from(u32::MAX),
        nonce: [n; 32],
        signature: [n; 65].into(),
    })
}

async fn ready(port: &Port, payment: &Authorization) -> PreparedTransaction {
    match port.prepare(payment).await.unwrap() {
        Preparation::Ready(prepared) => prepared,
        Preparation::Declined(decline) => panic!("{decline:?}"),
    }
}

async fn submit(port: &Port, payment: &Authorization) -> SubmitResult {
    let prepared = ready(port, payment).await;
    port.submit(payment, &prepared).await.unwrap()
}

/// Waits until the condition holds; fails after half a minute.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}

const MAINNET: Presented = Presented::Base(BaseChain::MAINNET);
