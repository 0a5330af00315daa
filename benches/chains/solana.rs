//! The port for Solana alone, beside the same payments sent to the same node without it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use purser::settlement::gate::Gate;
use purser::settlement::solana::{SolanaDeps, SolanaSettings, SolanaSettlement, Workers};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, SolanaTransfer};
use purser_chains::rpc::{EndpointSettings, EndpointUrl, HttpTransport, RpcPool, SystemClock};
use purser_chains::solana::address::{USDC_MAINNET, associated_token_account, base58, parse};
use purser_chains::solana::draft::Draft;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::message::Version;
use purser_chains::solana::node::{MAX_STATUSES, Node};
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::{TransferChecked, memo, set_compute_unit_limit, set_compute_unit_price};
use purser_chains::solana::transaction::{Signed, Transaction, co_sign, sign_partially};
use purser_storage::{JournalStore, Store, StoreLimits, StoreOptions};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::anvil::client;
use super::methods::{self, CountedTransport, Methods};
use super::port::{self, Rounds, VALUE, moved};
use crate::programs::Script;
use crate::report::Sample;
use crate::{Fault, Plan, host_info};

/// Slot time of mainnet.
pub(super) const SLOT_MS: &str = "400";
/// What stock clients set.
const UNITS: u32 = 20_000;
const PAYERS: usize = 64;
/// Payments in progress at once: what seven blocks take.
const MAX_CONCURRENT_PAYMENTS: usize = 2_048;
/// Requests of the raw sender at once.
const CONNECTIONS: usize = 32;

/// A node of Solana, and the wallets on it.
struct Chain {
    _script: Script,
    url: String,
    node: Node,
    payers: Vec<Keypair>,
}

fn key(name: &str) -> Keypair {
    Keypair::from_seed(&Sha256::digest(name).into())
}

fn endpoint(url: &str) -> Result<EndpointSettings, Fault> {
    Ok(EndpointSettings {
        rate: 100_000,
        burst: 100_000,
        ..EndpointSettings::new(EndpointUrl::parse(url)?)
    })
}

impl Chain {
    async fn start() -> Result<Self, Fault> {
        let script = Script::start("benches/chains/solana", "start.mjs", &[SLOT_MS])?;
        let url = script.first_line.clone();
        let transport = Arc::new(HttpTransport::new(client()));
        let pool = RpcPool::new(vec![endpoint(&url)?], transport, Arc::new(SystemClock::default()))?;
        let chain = Self {
            _script: script,
            url,
            node: Node::new(Arc::new(pool)),
            payers: (0..PAYERS).map(|n| key(&format!("payer {n}"))).collect(),
        };
        for payer in &chain.payers {
            chain.fund_usdc(payer, 1 << 50).await?;
        }
        Ok(chain)
    }

    async fn fund_usdc(&self, owner: &Keypair, amount: u64) -> Result<(), Fault> {
        let account = associated_token_account(&owner.address(), &USDC_MAINNET).ok_or("no token account")?;
        let params = json!([base58(&account), base58(&owner.address()), amount]);
        self.control("setUsdc", params).await
    }

    async fn fund_sol(&self, owner: &Keypair) -> Result<(), Fault> {
        self.control("setLamports", json!([base58(&owner.address()), 1_000_000_000_000_u64]))
            .await
    }

    async fn control(&self, method: &'static str, params: Value) -> Result<(), Fault> {
        self.node.pool().call(method, params).await?;
        Ok(())
    }

    /// Payments to this treasury, each with a text of its own; the fee payer has not signed.
    async fn sign(&self, treasury: &Keypair, fee_payer: &Keypair, count: usize) -> Result<Vec<SolanaTransfer>, Fault> {
        let blockhash = self.node.latest_blockhash(Commitment::Confirmed).await?.hash;
        let sign = |(n, payer): (usize, &Keypair)| {
            let transfer = TransferChecked::between(&payer.address(), &treasury.address(), &USDC_MAINNET, VALUE);
            let draft = Draft {
                fee_payer: fee_payer.address(),
                blockhash,
                instructions: vec![
                    set_compute_unit_limit(UNITS),
                    set_compute_unit_price(1),
                    transfer.ok_or("no token account")?.instruction(),
                    memo(&format!("payment {n}")),
                ],
                version: Version::V0,
            };
            let transaction = sign_partially(&draft, &[payer])?;
            let message = Transaction::parse(&transaction)?.message_bytes;
            Ok(SolanaTransfer {
                message_hash: Sha256::digest(message).into(),
                payer: payer.address(),
                value: Usdc::from_atomic(VALUE),
                blockhash,
                not_before_slot: 0,
                transaction,
            })
        };
        self.payers.iter().cycle().take(count).enumerate().map(sign).collect()
    }

    async fn usdc_balance(&self, treasury: &Keypair) -> Result<u64, Fault> {
        let account = associated_token_account(&treasury.address(), &USDC_MAINNET).ok_or("no token account")?;
        let state = self.node.token_account(&account, Commitment::Confirmed).await?;
        Ok(state.ok_or("the treasury has no token account")?.amount)
    }

    /// Signed by both before the clock starts, sent once, their statuses asked for each block until all are confirmed.
    async fn raw(&self, count: usize) -> Result<Sample, Fault> {
        let (treasury, fee_payer) = (key("raw treasury"), key("raw fee payer"));
        let payments = self.sign(&treasury, &fee_payer, count).await?;
        let signed = payments.iter().map(|payment| co_sign(&payment.transaction, &fee_payer));
        let signed: Vec<Signed> = signed.collect::<Result<_, _>>()?;
        let before = self.usdc_balance(&treasury).await?;
        let begun = Instant::now();
        let sent = stream::iter(&signed).map(|signed| self.node.send_each(&signed.bytes));
        let confirmed = async {
            let mut open: Vec<_> = signed.iter().map(|signed| signed.id).collect();
            while !open.is_empty() {
                let asked = open.len().min(MAX_STATUSES);
                let (_, found) = self.node.statuses_on(0, &open[..asked], false).await?;
                let mut found = found.into_iter();
                let before = open.len();
                open.retain(|_| !matches!(found.next(), Some(Some(_))));
                if open.len() == before {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            Ok::<_, Fault>(())
        };
        let (_, confirmed) = tokio::join!(sent.buffer_unordered(CONNECTIONS).collect::<Vec<_>>(), confirmed);
        confirmed?;
        let seconds = begun.elapsed().as_secs_f64();
        moved(before, self.usdc_balance(&treasury).await?, count)?;
        Ok(Sample {
            count: count as u64,
            seconds,
            running: seconds,
            ..Sample::default()
        })
    }
}

/// The port on a store of its own, with the default intervals.
struct Port {
    port: Arc<SolanaSettlement>,
    workers: Workers,
    transport: Arc<CountedTransport>,
    treasury: Keypair,
    fee_payer: Keypair,
    _folder: tempfile::TempDir,
}

impl Port {
    async fn open(chain: &Chain, name: &str, endpoints: usize) -> Result<Self, Fault> {
        let folder = host_info::directory()?;
        let (treasury, fee_payer) = (
            key(&format!("treasury of {name}")),
            key(&format!("fee payer of {name}")),
        );
        chain.fund_usdc(&treasury, 0).await?;
        chain.fund_sol(&fee_payer).await?;
        let mut settings = SolanaSettings::new(USDC_MAINNET, key(&format!("treasury of {name}")));
        settings.fee_payers = vec![key(&format!("fee payer of {name}"))];
        let urls = [chain.url.clone(), chain.url.replace("127.0.0.1", "localhost")];
        settings.endpoints = urls
            .iter()
            .take(endpoints)
            .map(|url| endpoint(url))
            .collect::<Result<_, _>>()?;
        let options = StoreOptions {
            dir: folder.path().join("store"),
            limits: StoreLimits::production(),
            clock: Arc::new(|| 0),
        };
        let store: Arc<dyn Store> = JournalStore::open(options)?;
        let transport = Arc::new(CountedTransport::new());
        let around = SolanaDeps {
            store,
            clock: Arc::new(purser::system::SystemClock),
            transport: transport.clone(),
            timer: Arc::new(SystemClock::default()),
            gate: Gate::opened(),
        };
        let port = SolanaSettlement::open(settings, around).await?;
        let workers = Workers::start(Arc::clone(&port), None).await?;
        loop {
            let status = port.status();
            let known = status.fee_payers.iter().all(|payer| payer.lamports.is_some());
            if status.covered_slot > 0 && status.slot > 0 && known {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Self {
            port,
            workers,
            transport,
            treasury,
            fee_payer,
            _folder: folder,
        })
    }

    fn calls(&self) -> u64 {
        self.port
            .node()
            .pool()
            .status()
            .iter()
            .map(|endpoint| endpoint.calls)
            .sum()
    }

    async fn pay(&self, payment: &Authorization) -> Result<u32, Fault> {
        port::pay(&*self.port, payment).await
    }

    /// This number of payments, and the calls that one costs until it is final.
    async fn settle(&self, chain: &Chain, count: usize) -> Result<(Sample, f64), Fault> {
        let payments = chain.sign(&self.treasury, &self.fee_payer, count).await?;
        let payments: Vec<Authorization> = payments.into_iter().map(Authorization::Solana).collect();
        let (before, calls) = (chain.usdc_balance(&self.treasury).await?, self.calls());
        let sample = port::settle(&*self.port, &payments, MAX_CONCURRENT_PAYMENTS).await?;
        moved(before, chain.usdc_balance(&self.treasury).await?, count)?;
        // Until nothing of them is asked for any more: they are final.
        while self.port.status().in_flight > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok((sample, (self.calls() - calls) as f64 / count as f64))
    }
}

/// SOL and an empty token account for the keys of a service on this node.
pub(super) async fn fund_service(url: &str, fee_payer: &str, treasury: &str) -> Result<(), Fault> {
    let transport = Arc::new(HttpTransport::new(client()));
    let pool = RpcPool::new(vec![endpoint(url)?], transport, Arc::new(SystemClock::default()))?;
    let owner = parse(treasury).ok_or("no address")?;
    let account = associated_token_account(&owner, &USDC_MAINNET).ok_or("no token account")?;
    pool.call("setLamports", json!([fee_payer, 1_000_000_000_000_u64]))
        .await?;
    pool.call("setUsdc", json!([base58(&account), treasury, 0])).await?;
    Ok(())
}

const RAW: &str = "raw transactions";
const PORT: &str = "port, one endpoint";
const PORT_TWO: &str = "port, two endpoints (one node)";

/// Measures and prints.
pub(super) async fn run(plan: Plan) -> Result<(), Fault> {
    let chain = Chain::start().await?;
    for name in ["raw treasury", "raw fee payer"] {
        chain.fund_usdc(&key(name), 0).await?;
        chain.fund_sol(&key(name)).await?;
    }
    let one = Port::open(&chain, "one", 1).await?;
    let two = Port::open(&chain, "two", 2).await?;
    let mut rounds = Rounds::new([RAW, PORT, PORT_TWO]);
    for round in 0..=plan.rounds {
        let raw = chain.raw(plan.payments).await?;
        let alone = one.settle(&chain, plan.payments).await?;
        let together = two.settle(&chain, plan.payments).await?;
        if round > 0 {
            rounds.add_round(raw, alone, together);
        }
    }
    let title = format!(
        "Solana: {} payments a round on LiteSVM, {MAX_CONCURRENT_PAYMENTS} at once, slots of {SLOT_MS} ms",
        plan.payments
    );
    rounds.print(&title, "calls a payment until it is final");
    one.workers.stop().await;
    two.workers.stop().await;
    Ok(())
}

/// Payments a second.
const LOADS: [u32; 2] = [100, 500];

/// Measures and prints the calls of payments at an even pace, until they are final.
pub(super) async fn run_calls(plan: Plan) -> Result<(), Fault> {
    let chain = Chain::start().await?;
    let port = Arc::new(Port::open(&chain, "calls", 2).await?);
    port.transport.take_counts();
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_secs(plan.paced_seconds as u64)).await;
    let (at_rest, rest_seconds) = (port.transport.take_counts(), begun.elapsed().as_secs_f64());
    let of_all = |methods: &Methods| methods.values().sum::<u64>() as f64;
    let per_second = of_all(&at_rest) / rest_seconds;
    println!("\nCalls of Solana's nodes until a payment is final, slots of {SLOT_MS} ms, two endpoints");
    println!("  {:>14}{:>22}", "payments/s", "calls/payment");
    for load in LOADS {
        let count = load as usize * plan.paced_seconds;
        let (methods, seconds) = port.pace(&chain, load, count).await?;
        let own = (of_all(&methods) - per_second * seconds) / count as f64;
        println!("  {load:>14}{own:>22.2}, without {per_second:.1} a second at rest");
        methods::print(&methods, &at_rest, (seconds, rest_seconds), count);
    }
    let port = Arc::into_inner(port).ok_or("a payment is in progress")?;
    port.workers.stop().await;
    Ok(())
}

impl Port {
    /// Calls caused by this number of payments per second until they are final, and the duration in seconds.
    async fn pace(self: &Arc<Self>, chain: &Chain, load: u32, count: usize) -> Result<(Methods, f64), Fault> {
        let payments = chain.sign(&self.treasury, &self.fee_payer, count).await?;
        self.transport.take_counts();
        let begun = tokio::time::Instant::now();
        let mut paid = Vec::new();
        for (n, payment) in payments.into_iter().enumerate() {
            tokio::time::sleep_until(begun + Duration::from_secs(1) * u32::try_from(n)? / load).await;
            let (port, payment) = (self.clone(), Authorization::Solana(payment));
            paid.push(tokio::spawn(async move { port.pay(&payment).await }));
        }
        for paid in paid {
            paid.await??;
        }
        while self.port.status().in_flight > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok((self.transport.take_counts(), begun.elapsed().as_secs_f64()))
    }
}
