//! Selects the chains of the service: the sandbox's, or the real Base and Solana.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use purser_actors::id::Wallet;
use purser_actors::kernel::table;
use purser_actors::port::{Clock, Entropy};
use purser_chains::rpc::{HttpTransport, SystemClock as RpcClock, Transport};
use purser_storage::{JournalStore, RowKey, Store};

use super::dependencies::store_limits;
use super::{ServiceError, store_chains};
use crate::config::{Config, InvalidSetting, SettlementKind};
use crate::provider::Providers;
use crate::provider::connect;
use crate::provider::sandbox::all::SandboxProviders;
use crate::provider::sandbox::card_balances::deposit_watcher::DepositSource;
use crate::provider::sandbox::rates::SandboxRates;
use crate::sandbox::chains::SandboxSettlement;
use crate::sandbox::chains::remote::ChainRpc as ActedOn;
use crate::sandbox::store::SandboxStore;
use crate::settlement::chain::ChainParts;
use crate::settlement::check::Checks;
use crate::settlement::real::{RealPortDeps, RealPorts};
use crate::settlement::settings::RealChains;

/// Time limit for connecting to a node.
const CONNECT: Duration = Duration::from_secs(5);

/// Simulated components, for the sandbox routes.
pub struct SandboxHandles {
    /// Journal of both.
    pub journal: Arc<JournalStore>,
    pub chains: Arc<SandboxSettlement>,
    pub providers: SandboxProviders,
}

/// Chains and default providers, before remote providers replace them.
pub struct Opened {
    pub chains: ChainParts,
    /// The sandbox's providers; in production a placeholder at every port.
    pub providers: Providers,
    /// Only in the sandbox.
    pub sandbox: Option<SandboxHandles>,
    /// Only on the real chains.
    pub real: Option<Arc<RealPorts>>,
}

/// The settings of the real chains with their keys; `None` in the sandbox, which needs none.
///
/// # Errors
/// All problems, each with the name of its setting.
pub fn keys(config: &Config) -> Result<Option<RealChains>, InvalidSetting> {
    match config.settlement.kind {
        SettlementKind::Sandbox => Ok(None),
        SettlementKind::Chains => RealChains::resolve(config, &|name| std::env::var(name).ok()).map(Some),
    }
}

/// Rejects a store that belongs to other chains than those of the settings. Settings without available keys name no
/// chains, so nothing is compared.
///
/// # Errors
/// `data_dir` belongs to other chains, or the store fails.
pub async fn belongs(store: &dyn Store, config: &Config) -> Result<(), ServiceError> {
    match keys(config) {
        Ok(real) => store_chains::check(store, real.as_ref().map(RealChains::names).as_ref()).await,
        Err(_) => Ok(()),
    }
}

/// Opens the chains. The sandbox's chains use the time of `machine`, its providers that of `clock`.
///
/// # Errors
/// When the sandbox's store cannot be read, or a real chain differs from the settings.
pub(super) async fn open(
    config: &Config,
    (directory, store): (&Path, &Arc<dyn Store>),
    (clock, machine): (&Arc<dyn Clock>, &Arc<dyn Clock>),
    entropy: &Arc<dyn Entropy>,
) -> Result<Opened, ServiceError> {
    let misfit = |wrong: InvalidSetting| ServiceError::Component("the settings of the chains", format!("\n{wrong}"));
    let real = keys(config).map_err(misfit)?;
    let names = real.as_ref().map(RealChains::names);
    store_chains::check(&**store, names.as_ref()).await?;
    let Some(real) = real else {
        let sandbox = open_sandbox(config, directory, (clock, machine), &**entropy)?;
        return Ok(Opened {
            chains: sandbox.chains.clone().parts(),
            providers: sandbox.providers.providers(),
            sandbox: Some(sandbox),
            real: None,
        });
    };
    let http = crate::outbound::client().connect_timeout(CONNECT).build();
    let http = http.map_err(|e| ServiceError::Component("the HTTP client", e.to_string()))?;
    let ports = open_real(real, &http, store, machine).await?;
    store_chains::record(&**store, names.as_ref()).await?;
    let rates = Arc::new(SandboxRates::new(config.rates.table(), clock.clone()));
    let bridge = ports.bridge(http, entropy.clone()).map_err(misfit)?;
    Ok(Opened {
        chains: ports.parts(),
        providers: Providers {
            bridge: Arc::new(bridge),
            ..connect::unconfigured(rates)
        },
        sandbox: None,
        real: Some(ports),
    })
}

/// Checks the chains and opens their ports. A chain that an earlier start has checked may be down: its port sends no
/// request before the check succeeds.
async fn open_real(
    chains: RealChains,
    http: &reqwest::Client,
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<RealPorts>, ServiceError> {
    let misfit =
        |wrong: InvalidSetting| ServiceError::Component("the chains do not fit the settings", format!("\n{wrong}"));
    let transport: Arc<dyn Transport> = Arc::new(HttpTransport::new(http.clone()));
    let timer: Arc<dyn purser_chains::rpc::Clock> = Arc::new(RpcClock::default());
    let checks = Checks::new(&chains, &transport, &timer).map_err(misfit)?;
    let known = store_chains::is_recorded(&**store).await?;
    let unread = checks.run().await.tolerate(known).map_err(misfit)?;
    chains.names().configure().map_err(|[base, solana]| {
        ServiceError::Component(
            "the chains",
            format!("this process works on {base} and {solana} already"),
        )
    })?;
    let around = RealPortDeps {
        store: store.clone(),
        clock: clock.clone(),
        transport,
        timer,
        wallets: managed_wallets(&**store).await?,
        unreachable: unread,
    };
    let ports = RealPorts::open(chains, around).await.map_err(misfit)?;
    ports.recheck(checks);
    Ok(ports)
}

/// The addresses of all agent wallets.
async fn managed_wallets(store: &dyn Store) -> Result<Vec<Wallet>, ServiceError> {
    const PAGE: usize = 1_000;
    let (mut wallets, mut after) = (Vec::new(), None::<RowKey>);
    loop {
        let page = store.scan(&[table::ADDRESS], after.as_deref(), PAGE).await?;
        wallets.extend(page.iter().filter_map(|(key, _)| Wallet::from_key(&key[1..])));
        match page.into_iter().last() {
            Some((key, _)) => after = Some(key),
            None => return Ok(wallets),
        }
    }
}

fn open_sandbox(
    config: &Config,
    directory: &Path,
    (clock, machine): (&Arc<dyn Clock>, &Arc<dyn Clock>),
    entropy: &dyn Entropy,
) -> Result<SandboxHandles, ServiceError> {
    let store = SandboxStore::open(directory, store_limits(config))
        .map_err(|e| ServiceError::Component("the sandbox", e.to_string()))?;
    let chains = SandboxSettlement::open(&store, config.sandbox.initial_balance_usdc, machine.clone(), entropy)
        .map_err(|e| ServiceError::Component("the sandbox's chains", e.to_string()))?
        .with_settlement_delay(Duration::from_millis(config.sandbox.settlement_delay_ms))
        .finalizing(Duration::from_millis(config.sandbox.final_ms))
        .with_fee_payers(config.sandbox.fee_payers);
    let chains = Arc::new(chains);
    let (acted_on, watched): (Arc<dyn ActedOn>, Arc<dyn DepositSource>) = (chains.clone(), chains.clone());
    let providers = SandboxProviders::open(&store, config, (&acted_on, &watched), clock)
        .map_err(|(what, why)| ServiceError::Component(what, why))?;
    Ok(SandboxHandles {
        journal: store.journal().clone(),
        chains,
        providers,
    })
}
