//! A port with its store, its keys and its faults, and payments to it.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use purser::settlement::gate::Gate;
use purser::settlement::solana::{Pace, SolanaDeps, SolanaSettings, SolanaSettlement, Workers};
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, ChainMovement, ChainStatus, ChainTransactionStatus, Finality, Preparation, PreparedTransaction,
    Settlement as _, SolanaTransfer, SubmitResult, TreasuryList as _,
};
use purser_chains::rpc::SystemClock;
use purser_chains::solana::Pubkey;
use purser_chains::solana::address::{USDC_MAINNET, associated_token_account};
use purser_chains::solana::draft::{Draft, Instruction};
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::lifecycle::Pacing;
use purser_chains::solana::message::Version;
use purser_chains::solana::node::{Blockhash, Node};
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::{TransferChecked, memo, set_compute_unit_limit, set_compute_unit_price};
use purser_chains::solana::transaction::{Transaction, sign_partially};
use purser_storage::{JournalStore, StoreLimits, StoreOptions};
use sha2::{Digest as _, Sha256};

use crate::solana::faults::Faults;
use crate::solana::runtime::Chain;

/// One test's port and wallets.
pub struct Harness {
    pub chain: Chain,
    pub faults: Arc<Faults>,
    pub port: Arc<SolanaSettlement>,
    workers: Option<Workers>,
    pub store: Arc<JournalStore>,
    test: u8,
    change: fn(&mut SolanaSettings),
    /// Last: the store lets go of its files first.
    _directory: tempfile::TempDir,
}

/// The key of a role in a test.
pub fn key(test: u8, role: u8) -> Keypair {
    let mut seed = [test; 32];
    (seed[0], seed[1]) = (role, 77);
    Keypair::from_seed(&seed)
}

const FEE: u8 = 1;
const CLIENT: u8 = 2;
const TREASURY: u8 = 3;

const QUICK: Pace = Pace {
    pacing: Pacing {
        resend_ms: 250,
        status_ms: 50,
        final_ms: 250,
        proof_ms: 250,
    },
    tick_ms: 20,
    follow_ms: 100,
    blockhash_ms: 200,
    balance_ms: 300,
    settled_after_ms: 4_000,
    standstill_ms: 60_000,
};

fn open_store(directory: &std::path::Path) -> Arc<JournalStore> {
    JournalStore::open(StoreOptions {
        dir: directory.to_owned(),
        limits: StoreLimits::sandbox(),
        clock: Arc::new(|| 0),
    })
    .unwrap()
}

impl Harness {
    /// A funded fee payer, a client with 100 USDC, an empty treasury. `None`: the test was reported as skipped.
    pub async fn open(test: u8) -> Option<Self> {
        Self::open_with(test, |_| {}).await
    }

    pub async fn open_with(test: u8, change: fn(&mut SolanaSettings)) -> Option<Self> {
        let mut harness = Self::closed(test, change).await?;
        harness.start().await;
        Some(harness)
    }

    /// The same before it has read anything: [`Harness::work`] starts it.
    pub async fn closed(test: u8, change: fn(&mut SolanaSettings)) -> Option<Self> {
        let chain = Chain::ready()?;
        chain.set_lamports(&key(test, FEE).address(), 1_000_000_000).await;
        chain.set_usdc(&key(test, CLIENT).address(), 100_000_000, false).await;
        chain.set_usdc(&key(test, TREASURY).address(), 0, false).await;
        let faults = Arc::new(Faults::new(chain.transport(), chain.endpoints(1).remove(0).url));
        let directory = tempfile::tempdir().unwrap();
        let store = open_store(directory.path());
        let settings = settings(&chain, test, change);
        let port = port(settings, &store, &faults).await;
        Some(Self {
            chain,
            faults,
            port,
            _directory: directory,
            workers: None,
            store,
            test,
            change,
        })
    }

    /// Starts what reads and sends.
    pub async fn work(&mut self) {
        self.workers = Some(Workers::start(Arc::clone(&self.port), None).await.unwrap());
    }

    async fn start(&mut self) {
        self.work().await;
        let port = Arc::clone(&self.port);
        until("the port has read the chain", || async {
            let status = port.status();
            let read = status.covered_slot > 0 && status.slot > 0;
            (read && status.fee_payers.iter().all(|payer| payer.lamports.is_some())).then_some(())
        })
        .await;
    }

    /// The same with other settings.
    pub async fn kill_for(&mut self, change: fn(&mut SolanaSettings)) {
        self.change = change;
        self.kill().await;
    }

    /// Ends the port where it is, and opens another one on the same store.
    pub async fn kill(&mut self) {
        if let Some(workers) = self.workers.take() {
            workers.stop().await;
        }
        let settings = settings(&self.chain, self.test, self.change);
        self.port = port(settings, &self.store, &self.faults).await;
        self.start().await;
    }

    pub fn fee_payer(&self) -> Keypair {
        key(self.test, FEE)
    }

    pub fn client(&self) -> Keypair {
        key(self.test, CLIENT)
    }

    pub fn treasury(&self) -> Keypair {
        key(self.test, TREASURY)
    }

    pub fn another(&self, role: u8) -> Keypair {
        key(self.test, role)
    }

    pub fn node(&self) -> Node {
        self.chain.node()
    }

    pub async fn blockhash(&self) -> Blockhash {
        self.node().latest_blockhash(Commitment::Confirmed).await.unwrap()
    }

    pub async fn usdc(&self, owner: &Pubkey) -> Option<u64> {
        let account = associated_token_account(owner, &USDC_MAINNET).unwrap();
        let state = self
            .node()
            .token_account(&account, Commitment::Confirmed)
            .await
            .unwrap();
        state.map(|state| state.amount)
    }

    pub async fn lamports(&self, address: &Pubkey) -> u64 {
        let (_, accounts) = self.node().accounts(&[*address], Commitment::Confirmed).await.unwrap();
        accounts[0].as_ref().map_or(0, |account| account.lamports)
    }

    pub fn transfer(&self, from: &Keypair, amount: u64) -> Instruction {
        TransferChecked::between(&from.address(), &self.treasury().address(), &USDC_MAINNET, amount)
            .unwrap()
            .instruction()
    }

    /// What a payer sends: signed by the payer, with slot 0 for the fee payer.
    pub async fn payment_by(&self, payer: &Keypair, fee_payer: &Pubkey, amount: u64, text: &str) -> Authorization {
        let transfers = vec![self.transfer(payer, amount)];
        let price = 50_000;
        self.signed(payer, fee_payer, (amount, price), transfers, text).await
    }

    pub async fn payment(&self, amount: u64, text: &str) -> Authorization {
        self.payment_by(&self.client(), &self.fee_payer().address(), amount, text)
            .await
    }

    pub async fn signed(
        &self,
        payer: &Keypair,
        fee_payer: &Pubkey,
        (amount, price): (u64, u64),
        transfers: Vec<Instruction>,
        text: &str,
    ) -> Authorization {
        let blockhash = self.blockhash().await.hash;
        self.signed_at(blockhash, payer, fee_payer, (amount, price), transfers, text)
    }

    /// With this blockhash.
    pub fn signed_at(
        &self,
        blockhash: [u8; 32],
        payer: &Keypair,
        fee_payer: &Pubkey,
        (amount, price): (u64, u64),
        transfers: Vec<Instruction>,
        text: &str,
    ) -> Authorization {
        let mut instructions = vec![set_compute_unit_limit(60_000), set_compute_unit_price(price)];
        instructions.extend(transfers);
        instructions.push(memo(text));
        let draft = Draft {
            fee_payer: *fee_payer,
            blockhash,
            instructions,
            version: Version::V0,
        };
        let transaction = sign_partially(&draft, &[payer]).unwrap();
        let message = Transaction::parse(&transaction).unwrap().message_bytes;
        Authorization::Solana(SolanaTransfer {
            message_hash: Sha256::digest(message).into(),
            payer: payer.address(),
            value: Usdc::from_atomic(amount),
            blockhash,
            not_before_slot: 0,
            transaction,
        })
    }

    pub async fn ready(&self, payment: &Authorization) -> PreparedTransaction {
        match self.port.prepare(payment).await.unwrap() {
            Preparation::Ready(prepared) => prepared,
            Preparation::Declined(decline) => panic!("{decline:?}"),
        }
    }

    /// Prepares and submits; gives the transaction.
    pub async fn pay(&self, payment: &Authorization) -> String {
        let prepared = self.ready(payment).await;
        match self.port.submit(payment, &prepared).await.unwrap() {
            SubmitResult::Settled { transaction, .. } => transaction,
            other => panic!("{other:?}"),
        }
    }

    pub async fn until_final(&self, payment: &Authorization, transaction: &str) {
        until("the transfer is final", || async {
            match self.port.transaction_status(payment, None, transaction).await {
                Ok(ChainTransactionStatus::Final) => Some(()),
                Ok(ChainTransactionStatus::Confirmed) | Err(_) => None,
                Ok(ChainTransactionStatus::NotFound) => panic!("gone"),
            }
        })
        .await;
        let landed = ChainStatus::Confirmed {
            transaction: transaction.to_owned(),
            finality: Finality::Final,
        };
        assert_eq!(self.port.lookup(payment, None).await.unwrap(), landed);
    }

    /// All movements that the treasury's list has, once there are this many.
    pub async fn movements(&self, count: usize) -> Vec<ChainMovement> {
        until("the list is complete", || async {
            let mut all = Vec::new();
            let mut cursor = None;
            loop {
                // Small pages, so that a list needs several.
                // No answer while the endpoints do not agree.
                let page = self.port.movements(Network::Solana, cursor.as_ref(), 2).await.ok()?;
                all.extend(page.items);
                match page.next {
                    Some(next) => cursor = Some(next),
                    None => break,
                }
            }
            (all.len() >= count).then_some(all)
        })
        .await
    }
}

fn settings(chain: &Chain, test: u8, change: fn(&mut SolanaSettings)) -> SolanaSettings {
    let mut settings = SolanaSettings::new(USDC_MAINNET, key(test, TREASURY));
    settings.fee_payers = vec![key(test, FEE)];
    settings.endpoints = chain.endpoints(2);
    settings.pace = QUICK;
    change(&mut settings);
    settings
}

async fn port(settings: SolanaSettings, store: &Arc<JournalStore>, faults: &Arc<Faults>) -> Arc<SolanaSettlement> {
    let around = SolanaDeps {
        store: Arc::clone(store) as _,
        clock: Arc::new(purser::system::SystemClock),
        transport: Arc::clone(faults) as _,
        timer: Arc::new(SystemClock::default()),
        gate: Gate::opened(),
    };
    SolanaSettlement::open(settings, around).await.unwrap()
}

/// Waits for a condition, for ten minutes at most.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut condition: impl FnMut() -> F) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = condition().await {
            return value;
        }
        // Searches pause for up to half a minute, and a loaded machine is several times slower.
        assert!(
            began.elapsed() < Duration::from_secs(600),
            "not within ten minutes: {what}"
        );
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

pub fn wallet(key: &Keypair) -> Wallet {
    Wallet::Solana(key.address())
}
