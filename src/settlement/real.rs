//! Settlement ports of Base and Solana, opened from the settings before the engine and closed after it.

mod adapters;
mod availability;
pub mod stats;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::port::{BoxFuture, Clock, Entropy};
use purser_chains::cctp::iris::Iris;
use purser_chains::evm::Address;
use purser_chains::rpc::{self, Transport};
use purser_chains::solana::Pubkey;
use purser_storage::Store;

use self::adapters::CombinedFeePayers;
use super::by_network::{Chain, SettlementByNetwork};
use super::cctp::CctpBridge;
use super::chain::{BlockhashSource as _, ChainParts, OwnWallets};
use super::check::UnreachableChains;
use super::evm::{BaseSettings, BaseSettlement, FinalityStep, RollBackError, RollBackResult, TokenSettings};
use super::facilitator::{
    ChainReader, FacilitatedSettlement, FacilitatorList, FacilitatorSettings, Presented, SubmitIntervals,
};
use super::gate::Gate;
use super::precheck_counters::UniqueCounter;
use super::settings::{BaseConfig, BridgeConfig, RealChains, SolanaConfig};
use super::solana::{Depth, FinalityByAmount, SolanaDeps, SolanaSettings, SolanaSettlement, Workers};
use super::supervised::Supervised;
use purser_config::chains::Depth as AnyDepth;
use purser_config::{ConfigError, InvalidSetting};
use purser_protocol::payment::Chains;

/// How long the start waits until both chains were read once.
const FIRST_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// How often each endpoint's height is polled: one that lags is used last.
const HEIGHT_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How long the start then waits until a gas key knows its next nonce.
const FIRST_NONCE_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between checks of these conditions.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Dependencies of the ports in addition to their settings.
pub struct RealPortDeps {
    /// The engine's store, which also contains the ports' rows.
    pub store: Arc<dyn Store>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Sends the RPC requests.
    pub transport: Arc<dyn Transport>,
    /// Time for intervals and rate limits.
    pub timer: Arc<dyn rpc::Clock>,
    /// Managed wallets, whose transfers are recorded from the first block that is read.
    pub wallets: Vec<Wallet>,
    /// Chains that could not be verified: their ports open from their rows alone.
    pub unreachable: UnreachableChains,
}

/// Both ports, running until [`RealPorts::close`].
pub struct RealPorts {
    base: Arc<BaseSettlement>,
    solana: Arc<SolanaSettlement>,
    clock: Arc<dyn Clock>,
    base_facilitators: Option<Arc<FacilitatorList>>,
    solana_facilitators: Option<Arc<FacilitatorList>>,
    background: Mutex<Vec<Supervised>>,
    workers: Mutex<Option<Workers>>,
    heights: tokio::task::AbortHandle,
    names: Chains,
    bridge: BridgeConfig,
    burns: OnceLock<Arc<UniqueCounter>>,
    timer: Arc<dyn rpc::Clock>,
}

fn rejected(key: &'static str, reason: impl std::fmt::Display) -> ConfigError {
    ConfigError::Rejected {
        key: key.into(),
        reason: reason.to_string(),
    }
}

fn one(key: &'static str, reason: impl std::fmt::Display) -> InvalidSetting {
    InvalidSetting(vec![rejected(key, reason)])
}

fn gate(is_unread: bool) -> Arc<Gate> {
    match is_unread {
        true => Gate::closed(),
        false => Gate::opened(),
    }
}

/// Each network needs a key or a facilitator that pays for transactions.
fn unpaid(chains: &RealChains) -> Result<(), InvalidSetting> {
    const NO_FEE_PAYER: &str = "set at least one key or one facilitator to pay for transactions";
    let (base, solana) = (&chains.base, &chains.solana);
    let wrong = [
        (
            "chains.base.gas_keys",
            base.gas_keys.is_empty() && base.facilitators.is_empty(),
        ),
        (
            "chains.solana.fee_payers",
            solana.fee_payers.is_empty() && solana.facilitators.is_empty(),
        ),
    ];
    let wrong = wrong.into_iter().filter(|(_, is_wrong)| *is_wrong);
    let wrong: Vec<ConfigError> = wrong.map(|(key, _)| rejected(key, NO_FEE_PAYER)).collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(InvalidSetting(wrong)),
    }
}

/// The facilitators of a network. They are not queried here, so what they support is not known yet.
async fn facilitators(
    chain: Presented,
    settings: &[FacilitatorSettings],
    around: &RealPortDeps,
) -> Result<Option<Arc<FacilitatorList>>, InvalidSetting> {
    if settings.is_empty() {
        return Ok(None);
    }
    let clocks = (around.clock.clone(), around.timer.clone());
    let list = FacilitatorList::open(chain, settings.to_vec(), around.store.clone(), clocks).await;
    let key = match chain {
        Presented::Base(_) => "chains.base.facilitators",
        Presented::Solana(_) => "chains.solana.facilitators",
    };
    list.map(Some).map_err(|error| one(key, error))
}

fn base_settings(parts: BaseConfig, wallets: &[Wallet]) -> BaseSettings {
    let token = parts.chain.token;
    let settings = BaseSettings::new(
        token.chain_id,
        TokenSettings {
            address: Address::new(token.asset),
            name: token.name.to_owned(),
            version: token.version.to_owned(),
        },
        parts.endpoints,
        parts.treasury,
        parts.gas_keys,
    );
    let step = |(up_to, finality)| FinalityStep { up_to, finality };
    BaseSettings {
        is_facilitated: !parts.facilitators.is_empty(),
        gas_floor: parts.gas_floor,
        fees: parts.fees,
        finality: parts.finality.into_iter().map(step).collect(),
        wallets: wallets.iter().filter_map(base_address).collect(),
        erc6492_factories: parts.erc6492_factories,
        ..settings
    }
}

fn base_address(wallet: &Wallet) -> Option<Address> {
    match wallet {
        Wallet::Evm(address) => Some(Address::new(*address)),
        Wallet::Solana(_) => None,
    }
}

const fn solana_address(wallet: &Wallet) -> Option<Pubkey> {
    match wallet {
        Wallet::Solana(address) => Some(*address),
        Wallet::Evm(_) => None,
    }
}

fn solana_settings(parts: SolanaConfig) -> SolanaSettings {
    let mut settings = SolanaSettings::new(parts.chain.mint, parts.treasury);
    settings.is_facilitated = !parts.facilitators.is_empty();
    settings.fee_payers = parts.fee_payers;
    settings.endpoints = parts.endpoints;
    settings.payer_limits.floor_lamports = parts.fee_payer_floor;
    settings.payer_limits.priority_fee_cap = parts.max_priority_fee;
    settings.account_rent_cap = parts.account_rent_max;
    let depth = |depth| match depth {
        AnyDepth::Confirmed => Depth::Confirmed,
        AnyDepth::Blocks(slots) => Depth::Slots(slots),
        // Solana has no level `safe`; the settings reject it.
        AnyDepth::Safe | AnyDepth::Finalized => Depth::Finalized,
    };
    let steps = parts.finality.into_iter().map(|(up_to, deep)| (up_to, depth(deep)));
    settings.finality = FinalityByAmount(steps.collect());
    settings
}

impl RealPorts {
    /// Opens both ports. They immediately continue to send what an earlier process had started.
    ///
    /// # Errors
    /// The name of the first setting that does not match. Nothing was sent then.
    pub fn open(chains: RealChains, around: RealPortDeps) -> BoxFuture<'static, Result<Arc<Self>, InvalidSetting>> {
        Box::pin(Self::open_ports(chains, around))
    }

    async fn open_ports(chains: RealChains, around: RealPortDeps) -> Result<Arc<Self>, InvalidSetting> {
        unpaid(&chains)?;
        let names = chains.names();
        let RealChains { base, solana, bridge } = chains;
        let on_base = facilitators(Presented::Base(base.chain), &base.facilitators, &around).await?;
        let on_solana = facilitators(Presented::Solana(solana.chain), &solana.facilitators, &around).await?;
        let clock = around.clock.clone();
        let timer = around.timer.clone();
        let unread = around.unreachable;
        let surroundings = SolanaDeps {
            store: around.store.clone(),
            clock: around.clock,
            transport: around.transport.clone(),
            timer: around.timer.clone(),
            gate: gate(unread.solana),
        };
        let solana = SolanaSettlement::open(solana_settings(solana), surroundings).await;
        let solana = solana.map_err(|error| one("chains.solana", error))?;
        around
            .wallets
            .iter()
            .filter_map(solana_address)
            .for_each(|wallet| solana.track_wallet(wallet));
        let settings = base_settings(base, &around.wallets);
        let (store, transport, timer_of_base) = (around.store, around.transport, around.timer);
        let base = match unread.base {
            false => BaseSettlement::open(settings, store, transport, timer_of_base).await,
            true => BaseSettlement::reopen(settings, store, transport, timer_of_base, Gate::closed()).await,
        };
        let base = Arc::new(base.map_err(|error| one("chains.base", error))?);
        let workers = Workers::start(solana.clone(), None).await;
        let workers = workers.map_err(|error| one("chains.solana", error))?;
        let lists = on_base.iter().chain(&on_solana);
        // The first challenge on Solana names one of their fee payers.
        let refreshing = lists.clone().map(|list| list.refresh());
        let _ = tokio::time::timeout(FIRST_READ_TIMEOUT, futures_util::future::join_all(refreshing)).await;
        let tend = |list: Arc<FacilitatorList>| {
            Supervised::start("reads the facilitators' /supported", move || {
                let list = list.clone();
                async move { list.tend().await }
            })
        };
        let background = lists.cloned().map(tend).collect();
        let ports = Self {
            heights: observe_heights(base.clone(), solana.clone()),
            base,
            solana,
            clock,
            base_facilitators: on_base,
            solana_facilitators: on_solana,
            background: Mutex::new(background),
            workers: Mutex::new(Some(workers)),
            names,
            bridge,
            burns: OnceLock::new(),
            timer,
        };
        if tokio::time::timeout(FIRST_READ_TIMEOUT, ports.wait_for_first_read(unread))
            .await
            .is_err()
        {
            tracing::warn!("the chains could not be read yet; what needs them fails until they can");
        }
        // Without a second endpoint the gas keys wait for longer.
        let _ = tokio::time::timeout(FIRST_NONCE_TIMEOUT, ports.wait_for_first_nonce(unread)).await;
        let ports = Arc::new(ports);
        ports.log_changes();
        Ok(ports)
    }

    /// Waits for each responding chain's time, for a blockhash, and until Solana is followed. Before that the network
    /// accepts no payment.
    async fn wait_for_first_read(&self, unread: UnreachableChains) {
        let on_base = || unread.base || self.base.now().is_ok();
        let on_solana = || unread.solana || (self.solana.newest().is_some() && self.solana.has_started());
        while !(on_base() && on_solana()) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until a gas key can send.
    async fn wait_for_first_nonce(&self, unread: UnreachableChains) {
        while !unread.base && self.base.are_keys_waiting() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// A chain's own port, behind its facilitators if there are any.
    fn settling<C: ChainReader + 'static>(&self, chain: Arc<C>, list: Option<Arc<FacilitatorList>>) -> Arc<dyn Chain> {
        match list {
            None => chain,
            Some(list) => Arc::new(FacilitatedSettlement::new(
                chain,
                list,
                self.clock.clone(),
                SubmitIntervals::default(),
            )),
        }
    }

    /// Both chains as the service uses them.
    pub fn parts(self: &Arc<Self>) -> ChainParts {
        let both = Arc::new(SettlementByNetwork {
            base: self.settling(self.base.clone(), self.base_facilitators.clone()),
            solana: self.settling(self.solana.clone(), self.solana_facilitators.clone()),
        });
        let fee_payers = CombinedFeePayers {
            own: self.solana.clone(),
            facilitators: self.solana_facilitators.clone(),
        };
        ChainParts {
            settlement: both.clone(),
            treasury: both.clone(),
            holdings: both.clone(),
            blockhashes: self.solana.clone(),
            time: both.clone(),
            transfers: both,
            fee_payers: Arc::new(fee_payers),
            own_wallets: self.clone(),
            contract_wallets: self.base.clone(),
            names: self.names,
            base_treasury: Wallet::Evm(self.base.treasury().into_array()),
            solana_treasury: Wallet::Solana(self.solana.treasury()),
        }
    }

    /// The built-in bridge between the chains. `http` sends the requests to Iris.
    ///
    /// # Errors
    /// When the URL of Iris cannot have a path.
    pub fn bridge(&self, http: reqwest::Client, entropy: Arc<dyn Entropy>) -> Result<CctpBridge, InvalidSetting> {
        let BridgeConfig {
            cctp, iris, timeout, ..
        } = &self.bridge;
        let iris = Iris::new(http, iris, *timeout);
        let iris = iris.ok_or_else(|| one("chains.bridge.iris_url", "is not a URL to which paths can be added"))?;
        let ports = (self.solana.clone(), self.base.clone());
        let bridge = CctpBridge::new(*cctp, ports, iris, entropy, self.timer.clone());
        // Metrics show the first bridge; the service creates only one.
        let _ = self.burns.set(bridge.burns());
        Ok(bridge)
    }

    /// Closes both ports and waits until neither writes any more. Durable work continues when they are opened again.
    pub async fn close(&self) {
        self.heights.abort();
        self.background.lock().clear();
        let workers = self.workers.lock().take();
        if let Some(workers) = workers {
            workers.stop().await;
        }
        self.base.close().await;
    }
}

fn observe_heights(base: Arc<BaseSettlement>, solana: Arc<SolanaSettlement>) -> tokio::task::AbortHandle {
    let task = tokio::spawn(async move {
        let mut every = tokio::time::interval(HEIGHT_POLL_INTERVAL);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            tokio::join!(base.observe_heights(), solana.node().observe_slots());
        }
    });
    task.abort_handle()
}

impl Drop for RealPorts {
    fn drop(&mut self) {
        self.heights.abort();
    }
}

impl RealPorts {
    /// Accepts the chain that the endpoints show, if it has replaced final blocks. Otherwise only reports what that
    /// would do.
    ///
    /// # Errors
    /// See [`RollBackError`]. Nothing has changed then.
    pub fn roll_back(&self, network: Network, is_wanted: bool) -> BoxFuture<'_, Result<RollBackResult, RollBackError>> {
        Box::pin(async move {
            match (network, is_wanted) {
                (Network::Base, true) => self.base.roll_back().await,
                (Network::Base, false) => self.base.preview_roll_back().await,
                // The rows contain only finalized slots, and no later slot is compared with them.
                (Network::Solana, _) => Err(RollBackError::NotNeeded),
            }
        })
    }
}

impl OwnWallets for RealPorts {
    /// On Solana, outgoing transfers of a wallet are read from the chain on request.
    fn track(&self, wallet: &Wallet) {
        self.base.track_wallets(base_address(wallet));
        if let Some(wallet) = solana_address(wallet) {
            self.solana.track_wallet(wallet);
        }
    }
}

#[cfg(test)]
mod tests;
