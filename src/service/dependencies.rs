//! External dependencies of the service, built from the settings.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use purser_actors::approval;
use purser_actors::breaker::BreakerSettings;
use purser_actors::engine::{EngineDeps, EngineSettings, LostHistory, ReconcilerDeps, RestoreWindow};
use purser_actors::id::CardId;
use purser_actors::kernel::outbox::RetryPolicy;
use purser_actors::kernel::registry::ActivationLimits;
use purser_actors::kernel::table;
use purser_actors::money::Cents;
use purser_actors::port::{Clock, Entropy, ReconciliationLists};
use purser_storage::{JournalStore, OpenError, Store, StoreLimits, StoreOptions};
use zeroize::Zeroizing;

use super::chains::{self, Opened, SandboxHandles};
use super::{ServiceError, key_check};
use crate::agent_wallet::paid_http_client::AgentWalletClient;
use crate::agent_wallet::signer::SealedWalletSigner;
use crate::announcements::OperatorWebhook;
use crate::checkout::BlockhashProvider;
use crate::config::Config;
use crate::config::DataDir;
use crate::config::chains::Location;
use crate::outbound::client::OutboundClient;
use crate::payment::RecentBlockhash;
use crate::private_file;
use crate::provider::{OwnPorts, Providers, connect};
use crate::sandbox::clock::SandboxClock;
use crate::secret::SecretText;
use crate::settlement::chain::{Blockhash, BlockhashSource, ChainParts};
use crate::settlement::metered::{ChainMeters, MeteredSettlement};
use crate::settlement::real::RealPorts;
use crate::system::{SystemClock, SystemEntropy};
use crate::vault::{CvvVault, DocumentStore, Vault};
use crate::webhooks::{HttpWebhookSender, SigningSecret, seal_secret};

/// Interval of the search for idle entities.
const PASSIVATION_INTERVAL_MS: u64 = 5_000;
const SCHEDULED_JOB_POLL_INTERVAL_MS: u64 = 500;
/// Poll interval of rails, card issuer and bank in this process.
const PROVIDER_POLL_INTERVAL_MS: u64 = 500;
/// Extra time of a paid call: our own routes wait for the chain first.
const LOCAL_CALL_EXTRA_MS: u64 = 10_000;
/// Failed loads before an entity is quarantined.
const QUARANTINE_AFTER: u32 = 5;
/// Attempts to prepare or send a payment before it is released or counts as unknown.
const PREPARE_ATTEMPTS: u32 = 3;
/// Most concurrent deliveries of one entity kind.
const MAX_DELIVERIES: usize = 20_000;
/// Attempts to lock the store while another process has it, and the pause between them.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The store's sizes and times from the settings.
pub fn store_limits(config: &Config) -> StoreLimits {
    let storage = &config.storage;
    StoreLimits {
        segment_bytes: storage.segment_bytes,
        sync_spacing_ms: storage.sync_spacing_ms,
        sled_cache_bytes: storage.snapshot_cache_bytes,
        // Short-lived entities (an order in progress, a card that is not ready) never reach the snapshots. While one
        // part is applied the next ones gather, so a part is far below the limit.
        apply_bytes: storage.apply_bytes.min(storage.max_lag_bytes / 4),
        apply_interval_ms: storage.apply_interval_ms,
        retention_ms: u64::from(storage.retention_days) * 24 * 3_600_000,
        retention_bytes: storage.retention_bytes,
        lag_limit_bytes: storage.max_lag_bytes,
        ..StoreLimits::sandbox()
    }
}

/// Opens the journal and its snapshots.
///
/// # Errors
/// When the store cannot be recovered.
pub fn open_store(config: &Config, data: &DataDir) -> Result<Arc<JournalStore>, ServiceError> {
    let clock = Arc::new(|| SystemClock.micros());
    Ok(JournalStore::open(StoreOptions {
        dir: data.store(),
        limits: store_limits(config),
        clock,
    })?)
}

/// Like [`open_store`], for a process that will accept requests. A process that was just killed has the store until the
/// kernel has cleaned up, so this retries.
///
/// # Errors
/// As [`open_store`], and when another process still has the store.
pub async fn open_store_with_retry(config: &Config, data: &DataDir) -> Result<Arc<JournalStore>, ServiceError> {
    for _ in 1..LOCK_ATTEMPTS {
        match open_store(config, data) {
            Err(ServiceError::Open(OpenError::Locked(_))) => tokio::time::sleep(LOCK_RETRY_INTERVAL).await,
            opened => return opened,
        }
    }
    open_store(config, data)
}

/// External dependencies of the service: chains, providers, vault, clocks.
pub struct Dependencies {
    /// Both chains, chosen by the settings.
    pub chains: ChainParts,
    /// The providers: the sandbox's, except those that the settings configure as remote.
    pub providers: Providers,
    /// Handles of the sandbox for its control API; `None` outside the sandbox.
    pub sandbox: Option<SandboxHandles>,
    /// Ports of the real chains; `None` in the sandbox.
    pub real: Option<Arc<RealPorts>>,
    /// Stores uploaded documents.
    pub documents: DocumentStore,
    pub vault: Arc<Vault>,
    /// Seals CVVs that operators enter.
    pub cvvs: CvvVault,
    /// Creates and uses the keys of agent wallets.
    pub wallets: Arc<SealedWalletSigner>,
    /// Makes the calls that agent wallets pay for.
    pub paid_http_client: Arc<AgentWalletClient>,
    /// Counts the engine's calls to each chain.
    pub chain_meters: Arc<ChainMeters>,
    /// Posts events to webhook endpoints.
    pub webhook_sender: Arc<HttpWebhookSender>,
    /// Webhook of the operators, if the settings have one.
    pub operator_webhook: Option<Arc<OperatorWebhook>>,
    /// Current time for the service and its providers.
    pub clock: Arc<dyn Clock>,
    /// Current time for wallets, signatures and chains. It cannot be moved.
    pub wall_clock: Arc<dyn Clock>,
    /// The service clock where it can be moved: in the sandbox.
    pub sandbox_clock: Option<Arc<SandboxClock>>,
    pub entropy: Arc<dyn Entropy>,
}

impl Dependencies {
    /// Stops the tasks beside the engine and waits until they write no more. Call it before closing the store.
    pub async fn close(&self) {
        if let Some(real) = &self.real {
            real.close().await;
        }
    }
}

/// Opens the chains and default providers, connects to remote providers, and opens the vault.
///
/// # Errors
/// When a file cannot be read or is corrupt, when a remote issuer does not respond, or when the vault's key does not
/// open what the store holds.
pub async fn open_dependencies(
    config: &Config,
    data: &DataDir,
    store: &Arc<dyn Store>,
) -> Result<Dependencies, ServiceError> {
    let machine: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let directory = data.sandbox();
    let moved =
        SandboxClock::open(&directory).map_err(|e| ServiceError::Component("the sandbox's time", e.to_string()))?;
    let moved = config.is_sandbox().then(|| Arc::new(moved));
    let clock: Arc<dyn Clock> = match &moved {
        Some(moved) => moved.clone(),
        None => machine.clone(),
    };
    let Opened {
        mut chains,
        providers,
        sandbox,
        real,
    } = chains::open(config, (&directory, store), (&clock, &machine), &entropy).await?;
    let chain_meters = Arc::new(ChainMeters::default());
    chains.settlement = Arc::new(MeteredSettlement::new(chains.settlement, chain_meters.clone()));
    let providers = connect::connect(&config.providers, providers)
        .await
        .map_err(|e| ServiceError::Component("a provider", e))?;
    let vault = Arc::new(open_vault(config, data, &**store, entropy.clone()).await?);
    let wallets = SealedWalletSigner::new(vault.clone(), chains.clone(), machine.clone());
    let outbound = OutboundClient::new(config.outbound.policy(), config.outbound.limits())
        .map_err(|e| ServiceError::Component("the HTTP client", e.to_string()))?;
    let posting = OutboundClient::new(
        config.outbound.policy(),
        config.webhooks.limits(config.outbound.limits()),
    )
    .map_err(|e| ServiceError::Component("the HTTP client", e.to_string()))?;
    let poster = HttpWebhookSender::new(posting, vault.clone(), machine.clone());
    let operator_webhook = operator_webhook(config, &vault, &machine, &*entropy)?.map(Arc::new);
    let calling = AgentWalletClient::new(outbound, vault.clone(), config.outbound.max_response_body_bytes);
    let documents = DocumentStore::open(data.documents(), vault.clone(), entropy.clone())
        .map_err(|e| ServiceError::Component("the documents", e.to_string()))?;
    let cvvs = key_check::open_cvvs(&data.cvv_keys(), &**store, entropy.clone(), clock.now()).await?;
    Ok(Dependencies {
        chains,
        providers,
        sandbox,
        real,
        documents,
        vault,
        cvvs,
        wallets: Arc::new(wallets),
        paid_http_client: Arc::new(calling),
        chain_meters,
        webhook_sender: Arc::new(poster),
        operator_webhook,
        clock,
        wall_clock: machine,
        sandbox_clock: moved,
        entropy,
    })
}

/// The operators' webhook, if the settings have one. The policy of its address is its own: no client can name its URL.
fn operator_webhook(
    config: &Config,
    vault: &Arc<Vault>,
    machine: &Arc<dyn Clock>,
    entropy: &dyn Entropy,
) -> Result<Option<OperatorWebhook>, ServiceError> {
    let operator = &config.operator;
    if operator.webhook_url.is_empty() {
        return Ok(None);
    }
    let failed = |error: String| ServiceError::Component("operator.webhook_secret", error);
    let text = match &operator.webhook_secret {
        Location::File(path) => private_file::read_secret(path).map_err(failed)?,
        Location::Env(name) => std::env::var(name)
            .map(Zeroizing::new)
            .map_err(|_| failed(format!("the environment has no {name}")))?,
        Location::Unset | Location::Inline(_) => return Err(failed("is not set".to_owned())),
    };
    let secret = SigningSecret::of_text(&SecretText::new(text.trim().to_owned()));
    let secret = secret.ok_or_else(|| failed("is not `whsec_` with the base64 of 32 bytes".to_owned()))?;
    let record = entropy.random();
    let sealed = seal_secret(&secret, vault, record).map_err(|error| failed(error.to_string()))?;
    let limits = config.webhooks.limits(config.outbound.limits());
    let client = OutboundClient::new(operator.webhook_policy(&config.outbound), limits)
        .map_err(|error| ServiceError::Component("the HTTP client", error.to_string()))?;
    Ok(Some(OperatorWebhook {
        sender: HttpWebhookSender::new(client, vault.clone(), machine.clone()),
        url: operator.webhook_url.clone(),
        secret: (record, sealed),
    }))
}

/// Opens the vault. A new key is only created while nothing is sealed yet: sealed numbers without their key must
/// prevent the start instead of being unreadable later.
async fn open_vault(
    config: &Config,
    data: &DataDir,
    store: &dyn Store,
    entropy: Arc<dyn Entropy>,
) -> Result<Vault, ServiceError> {
    let failed = |e: crate::vault::VaultError| ServiceError::Component("the vault", e.to_string());
    let keys = match config.identity.vault_key_file.as_os_str().is_empty() {
        true => data.vault_keys(),
        false => config.identity.vault_key_file.clone(),
    };
    let sample = store.scan(&[table::VAULT], None, 1).await?.pop();
    // A key file that the settings name is never created here: a mistyped path must not get a key of its own.
    let may_make = sample.is_none() && config.identity.vault_key_file.as_os_str().is_empty();
    let vault = Vault::from_file(&keys, may_make, entropy).map_err(failed)?;
    if let Some((key, row)) = sample
        && let Some(id) = key.last_chunk::<16>()
    {
        vault
            .check(CardId(u128::from_be_bytes(*id)), &row.value)
            .map_err(failed)?;
    }
    super::key_check::check_all_keys(&vault, store).await?;
    Ok(vault)
}

/// The engine's dependencies.
pub fn engine_deps(
    config: &Config,
    store: Arc<dyn Store>,
    world: &Dependencies,
    (lost, restored): (Option<LostHistory>, Option<RestoreWindow>),
) -> EngineDeps {
    EngineDeps {
        store,
        clock: world.clock.clone(),
        entropy: world.entropy.clone(),
        ports: world.providers.ports(
            &world.vault,
            world.documents.clone(),
            OwnPorts {
                settlement: world.chains.settlement.clone(),
                shredder: Arc::new(world.cvvs.clone()),
                wallet_signer: world.wallets.clone(),
                paid_http: world.paid_http_client.clone(),
                webhooks: world.webhook_sender.clone(),
            },
        ),
        lost_history: lost,
        restored,
        reconciler: Some(reconciler_deps(config, world)),
        settings: engine_settings(config),
    }
}

/// The lists that reconciliation compares with the ledger.
pub fn reconciler_deps(config: &Config, world: &Dependencies) -> ReconcilerDeps {
    ReconcilerDeps {
        lists: ReconciliationLists {
            treasury: Some(world.chains.treasury.clone()),
            providers: world.providers.lists.clone(),
        },
        settings: config.reconciliation.pace(),
    }
}

pub fn engine_settings(config: &Config) -> EngineSettings {
    let engine = &config.engine;
    let told_every_ms = match config
        .providers
        .event_sources()
        .iter()
        .all(|outside| outside.url.is_empty())
    {
        true => PROVIDER_POLL_INTERVAL_MS,
        false => config.payouts.provider_poll_interval_seconds.saturating_mul(1_000),
    };
    EngineSettings {
        limits: ActivationLimits {
            max_active: engine.max_active_entities,
            passivate_after_ms: engine.passivate_after_ms,
            restart_ms: 10,
            restart_max_ms: 1_000,
            quarantine_after: QUARANTINE_AFTER,
        },
        retry: RetryPolicy {
            max_concurrent: MAX_DELIVERIES,
            initial_backoff_ms: engine.initial_backoff_ms,
            max_backoff_ms: engine.max_backoff_ms,
            max_attempts: engine.max_attempts,
        },
        max_in_flight: engine.max_paid_calls_in_flight,
        max_in_flight_per_payer: engine.max_paid_calls_per_payer,
        caps: config.caps.daily_caps(),
        intl_prices: config.products.intl_prepaid_card.prices(Cents::new(100)),
        settle_timeout_ms: engine.settlement_timeout_ms,
        paid_call_timeout_ms: config.outbound.response_timeout_ms.saturating_add(LOCAL_CALL_EXTRA_MS),
        prepare_attempts: PREPARE_ATTEMPTS,
        watch_every_ms: engine.chain_poll_interval_ms,
        issuer_timeout_ms: engine.settlement_timeout_ms,
        payouts: config
            .payouts
            .engine_settings(engine.settlement_timeout_ms, told_every_ms),
        webhooks: config.webhooks.engine_settings(),
        approvals: approval::ApprovalLimits {
            max_per_action: config.operator.alone_max_usd,
            max_per_day: config.operator.alone_day_max_usd,
            validity_ms: config.operator.approval_open_hours.saturating_mul(3_600_000),
        },
        breaker: BreakerSettings {
            max_failures: engine.line_failures,
            probe_interval_ms: engine.line_try_every_seconds.saturating_mul(1_000),
            // Two pauses between attempts, and the duration of one attempt.
            stale_after_ms: engine
                .max_backoff_ms
                .saturating_mul(2)
                .saturating_add(engine.line_try_every_seconds.saturating_mul(2_000))
                .saturating_add(engine.settlement_timeout_ms),
        },
        not_offered: purser_actors::product::ProductLine::ALL.map(|line| !config.products.of(line).available),
        late_after_ms: engine.late_after_minutes.saturating_mul(60_000),
        card_credit_timeout_ms: engine.issuer_credit_timeout_seconds.saturating_mul(1_000),
        sweep_every_ms: PASSIVATION_INTERVAL_MS,
        timers_every_ms: SCHEDULED_JOB_POLL_INTERVAL_MS,
    }
}

/// The blockhash text for challenges, encoded once per blockhash.
pub struct PerSlotBlockhash {
    source: Arc<dyn BlockhashSource>,
    made: ArcSwapOption<RecentBlockhash>,
}

impl PerSlotBlockhash {
    pub fn new(source: Arc<dyn BlockhashSource>) -> Self {
        Self {
            source,
            made: ArcSwapOption::empty(),
        }
    }
}

impl BlockhashProvider for PerSlotBlockhash {
    fn recent(&self) -> Option<Arc<RecentBlockhash>> {
        let newest = self.source.newest().filter(Blockhash::is_fresh)?;
        let (hash, last) = (newest.hash, newest.last_valid_block_height);
        let made = self.made.load_full();
        let made = made.filter(|made| (made.blockhash, made.last_valid_block_height) == (hash, last));
        Some(made.unwrap_or_else(|| {
            let made = Arc::new(RecentBlockhash::new(hash, last));
            self.made.store(Some(made.clone()));
            made
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use parking_lot::Mutex;

    use super::*;

    struct FixedBlockhash(Mutex<Option<Blockhash>>);

    impl BlockhashSource for FixedBlockhash {
        fn newest(&self) -> Option<Blockhash> {
            *self.0.lock()
        }
    }

    // A client that signs with a blockhash about to expire produces a useless payment. It reads one itself instead.
    #[test]
    fn an_old_blockhash_is_not_offered() {
        let source = Arc::new(FixedBlockhash(Mutex::new(None)));
        let recent = PerSlotBlockhash::new(source.clone());
        assert!(recent.recent().is_none());
        let new = |hash, age_ms| Blockhash {
            hash: [hash; 32],
            last_valid_block_height: u64::from(hash),
            age_ms,
            not_before_slot: 0,
        };
        *source.0.lock() = Some(new(1, Blockhash::MAX_AGE_MS));
        let first = recent.recent().unwrap();
        assert_eq!((first.blockhash, first.last_valid_block_height), ([1; 32], 1));
        assert!(Arc::ptr_eq(&first, &recent.recent().unwrap()), "its text is made once");
        *source.0.lock() = Some(new(2, 0));
        assert_eq!(recent.recent().unwrap().blockhash, [2; 32]);
        *source.0.lock() = Some(new(2, Blockhash::MAX_AGE_MS + 1));
        assert!(recent.recent().is_none());
    }
}
