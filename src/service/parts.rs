//! The parts behind the edge, built from settings.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use purser_actors::approval;
use purser_actors::breaker::Rules;
use purser_actors::engine::{Lost, Parts, Ports, Reconciling, Restored, Settings};
use purser_actors::id::CardId;
use purser_actors::kernel::delivery::Retry;
use purser_actors::kernel::family::Limits;
use purser_actors::kernel::table;
use purser_actors::money::Cents;
use purser_actors::port::{Clock, Entropy, Lists};
use purser_storage::{JournalStore, Limits as StoreLimits, OpenError, Options, Store};

use super::chains::{self, Opened, SandboxWorld};
use super::{DataDir, ServiceError, sealed};
use crate::agent_wallet::calling::Calling;
use crate::agent_wallet::custody::VaultedWallets;
use crate::checkout::Blockhashes;
use crate::config::Config;
use crate::outbound::call::OutboundCaller;
use crate::payment::RecentBlockhash;
use crate::provider::banking::VaultedBank;
use crate::provider::payouts::VaultedRails;
use crate::provider::program::VaultedProgram;
use crate::provider::redemption::VaultedCatalog;
use crate::provider::{Providers, VaultedIssuer, elsewhere};
use crate::sandbox::moved_clock::MovedClock;
use crate::settlement::chain::{Blockhash, BlockhashSource, ChainParts};
use crate::settlement::real::RealPorts;
use crate::system::{SystemClock, SystemEntropy};
use crate::vault::{CvvVault, Documents, Vault};
use crate::webhooks::Poster;

/// How often idle entities are looked for.
const SWEEP_EVERY_MS: u64 = 5_000;
const TIMERS_EVERY_MS: u64 = 500;
/// How often rails, card issuer and bank in this process are asked what they have to tell.
const TOLD_EVERY_MS: u64 = 500;
/// What a paid call may take longer than any other: our own routes wait for the chain first.
const OWN_ROUTE_MS: u64 = 10_000;
/// Failed loads before an entity is quarantined.
const QUARANTINE_AFTER: u32 = 5;
/// Tries to prepare or send a payment before it is released or counts as unknown.
const PREPARE_ATTEMPTS: u32 = 3;
/// Deliveries of one family that run at once.
const DELIVERIES_MAX: usize = 20_000;
/// How often it is looked whether another process has let go of the store, and the pause between two looks.
const LOCK_LOOKS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// The store's sizes and times from the settings.
pub fn store_limits(config: &Config) -> StoreLimits {
    let storage = &config.storage;
    StoreLimits {
        segment_bytes: storage.segment_bytes,
        sled_cache_bytes: storage.cache_bytes,
        apply_interval_ms: storage.apply_interval_ms,
        // What lives for a second or two (an order under way, a card that is not ready) never reaches the snapshots.
        apply_bytes: storage.lag_limit_bytes / 4,
        retention_ms: u64::from(storage.retention_days) * 24 * 3_600_000,
        retention_bytes: storage.retention_bytes,
        lag_limit_bytes: storage.lag_limit_bytes,
        ..StoreLimits::sandbox()
    }
}

/// Opens the journal and what stands behind it.
///
/// # Errors
/// When it cannot be recovered.
pub fn open_store(config: &Config, data: &DataDir) -> Result<Arc<JournalStore>, ServiceError> {
    let clock = Arc::new(|| SystemClock.micros());
    Ok(JournalStore::open(Options {
        dir: data.store(),
        limits: store_limits(config),
        clock,
    })?)
}

/// The same, for a process that is to serve: one that was just killed has the store for as long as the kernel takes to clear up.
///
/// # Errors
/// As [`open_store`]; another process has it all the same.
pub async fn take_store(config: &Config, data: &DataDir) -> Result<Arc<JournalStore>, ServiceError> {
    for _ in 1..LOCK_LOOKS {
        match open_store(config, data) {
            Err(ServiceError::Open(OpenError::Locked(_))) => tokio::time::sleep(LOCK_PAUSE).await,
            opened => return opened,
        }
    }
    open_store(config, data)
}

/// Everything outside the house.
pub struct World {
    /// Both chains, chosen by the settings.
    pub chains: ChainParts,
    /// Who makes what is sold: the sandbox's, but for those that the settings put elsewhere.
    pub providers: Providers,
    /// The sandbox's own, for its desk; only there.
    pub sandbox: Option<SandboxWorld>,
    /// The ports of the real chains; only there.
    pub real: Option<Arc<RealPorts>>,
    /// Keeps what they upload.
    pub documents: Documents,
    /// Seals card numbers.
    pub vault: Arc<Vault>,
    /// Seals CVVs that operators enter.
    pub cvvs: CvvVault,
    /// Makes and uses the keys of managed wallets.
    pub wallets: Arc<VaultedWallets>,
    /// Makes the calls that they pay for.
    pub calling: Arc<Calling>,
    /// Posts events to endpoints.
    pub poster: Arc<Poster>,
    /// Now, for the service and its providers.
    pub clock: Arc<dyn Clock>,
    /// Now, for wallets, what they sign and the chains: nobody moves it.
    pub machine: Arc<dyn Clock>,
    /// The first of the two where it can be moved: in the sandbox.
    pub moved: Option<Arc<MovedClock>>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

impl World {
    /// Ends what runs beside the engine, and waits until it writes no more: before the store is closed.
    pub async fn close(&self) {
        if let Some(real) = &self.real {
            real.close().await;
        }
    }
}

/// Opens the chains and default providers, meets those that are elsewhere, and opens the vault.
///
/// # Errors
/// When a file cannot be read or is damaged, when an issuer elsewhere does not answer, or when the vault's key does not
/// open what the store holds.
pub async fn open_world(config: &Config, data: &DataDir, store: &Arc<dyn Store>) -> Result<World, ServiceError> {
    let machine: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let directory = data.sandbox();
    let moved = MovedClock::open(&directory).map_err(|e| ServiceError::Part("the sandbox's time", e.to_string()))?;
    let moved = config.is_sandbox().then(|| Arc::new(moved));
    let clock: Arc<dyn Clock> = match &moved {
        Some(moved) => moved.clone(),
        None => machine.clone(),
    };
    let Opened {
        chains,
        providers,
        sandbox,
        real,
    } = chains::open(config, (&directory, store), (&clock, &machine), &entropy).await?;
    let providers = elsewhere::meet(&config.providers, providers)
        .await
        .map_err(|e| ServiceError::Part("a provider", e))?;
    let vault = Arc::new(open_vault(config, data, &**store, entropy.clone()).await?);
    let wallets = VaultedWallets::new(vault.clone(), chains.clone(), machine.clone());
    let outbound = OutboundCaller::new(config.outbound.policy(), config.outbound.limits())
        .map_err(|e| ServiceError::Part("the HTTP client", e.to_string()))?;
    let posting = OutboundCaller::new(
        config.outbound.policy(),
        config.webhooks.limits(config.outbound.limits()),
    )
    .map_err(|e| ServiceError::Part("the HTTP client", e.to_string()))?;
    let poster = Poster::new(posting, vault.clone(), machine.clone());
    let calling = Calling::new(outbound, vault.clone(), config.outbound.max_body_bytes);
    let documents = Documents::open(data.documents(), vault.clone(), entropy.clone())
        .map_err(|e| ServiceError::Part("the documents", e.to_string()))?;
    let cvvs = sealed::open_cvvs(&data.cvv_keys(), &**store, entropy.clone(), clock.now()).await?;
    Ok(World {
        chains,
        providers,
        sandbox,
        real,
        documents,
        vault,
        cvvs,
        wallets: Arc::new(wallets),
        calling: Arc::new(calling),
        poster: Arc::new(poster),
        clock,
        machine,
        moved,
        entropy,
    })
}

/// The vault, with a new key only where nothing is sealed yet: numbers without their key must stop the start, not be
/// found unreadable by their owner.
async fn open_vault(
    config: &Config,
    data: &DataDir,
    store: &dyn Store,
    entropy: Arc<dyn Entropy>,
) -> Result<Vault, ServiceError> {
    let failed = |e: crate::vault::VaultError| ServiceError::Part("the vault", e.to_string());
    let keys = match config.identity.secret_key_file.as_os_str().is_empty() {
        true => data.vault_keys(),
        false => config.identity.secret_key_file.clone(),
    };
    let sample = store.scan(&[table::VAULT], None, 1).await?.pop();
    // A file that the settings name is made by nobody but who named it: a mistyped path must not get keys of its own.
    let may_make = sample.is_none() && config.identity.secret_key_file.as_os_str().is_empty();
    let vault = Vault::from_file(&keys, may_make, entropy).map_err(failed)?;
    if let Some((key, row)) = sample
        && let Some(id) = key.last_chunk::<16>()
    {
        vault
            .check(CardId(u128::from_be_bytes(*id)), &row.value)
            .map_err(failed)?;
    }
    super::sealed::every_key_is_there(&vault, store).await?;
    Ok(vault)
}

/// What the engine is built from.
pub fn engine_parts(
    config: &Config,
    store: Arc<dyn Store>,
    world: &World,
    (lost, restored): (Option<Lost>, Option<Restored>),
) -> Parts {
    let providers = &world.providers;
    Parts {
        store,
        clock: world.clock.clone(),
        entropy: world.entropy.clone(),
        ports: Ports {
            settlement: world.chains.settlement.clone(),
            issuer: Arc::new(VaultedIssuer::new(providers.issuer.clone(), world.vault.clone())),
            gift_cards: Arc::new(VaultedCatalog::new(providers.gift_cards.clone(), world.vault.clone())),
            shredder: Arc::new(world.cvvs.clone()),
            identity_check: providers.identity_check.clone(),
            card_accounts: providers.accounts.clone(),
            rails: Arc::new(VaultedRails::new(providers.rails.clone(), world.vault.clone())),
            card_balances: providers.deposits.clone(),
            program: Arc::new(VaultedProgram::new(providers.program.clone(), world.vault.clone())),
            bridge: providers.bridge.clone(),
            custody: world.wallets.clone(),
            calls: world.calling.clone(),
            webhooks: world.poster.clone(),
            bank: Arc::new(VaultedBank::new(
                providers.bank.clone(),
                world.vault.clone(),
                world.documents.clone(),
            )),
        },
        lost,
        restored,
        reconciling: Some(reconciling(config, world)),
        settings: engine_settings(config),
    }
}

/// Whose lists the books are held against.
pub fn reconciling(config: &Config, world: &World) -> Reconciling {
    Reconciling {
        lists: Lists {
            treasury: Some(world.chains.treasury.clone()),
            providers: world.providers.lists.clone(),
        },
        pace: config.reconciliation.pace(),
    }
}

/// The engine's limits from the settings.
pub fn engine_settings(config: &Config) -> Settings {
    let engine = &config.engine;
    let told_every_ms = match config.providers.tellers().iter().all(|outside| outside.url.is_empty()) {
        true => TOLD_EVERY_MS,
        false => config.payouts.reports_every_seconds.saturating_mul(1_000),
    };
    Settings {
        limits: Limits {
            resident_max: engine.resident_max,
            passivate_after_ms: engine.passivate_after_ms,
            restart_ms: 10,
            restart_max_ms: 1_000,
            quarantine_after: QUARANTINE_AFTER,
        },
        retry: Retry {
            running_max: DELIVERIES_MAX,
            first_ms: engine.backoff_first_ms,
            longest_ms: engine.backoff_last_ms,
            attempts_max: engine.max_attempts,
        },
        in_flight_max: engine.max_in_flight,
        in_flight_per_payer_max: engine.max_settlements_per_payer,
        caps: config.caps.in_force(),
        intl_prices: config.products.intl_prepaid_card.prices(Cents::new(100)),
        settle_timeout_ms: engine.settle_timeout_ms,
        paid_call_timeout_ms: config.outbound.timeout_ms.saturating_add(OWN_ROUTE_MS),
        prepare_attempts: PREPARE_ATTEMPTS,
        watch_every_ms: engine.watch_every_ms,
        issuer_timeout_ms: engine.settle_timeout_ms,
        payouts: config.payouts.in_force(engine.settle_timeout_ms, told_every_ms),
        webhooks: config.webhooks.in_force(),
        giving: approval::Limits {
            each_max: config.operator.alone_max_usd,
            day_max: config.operator.alone_day_max_usd,
            open_ms: config.operator.approval_open_hours.saturating_mul(3_600_000),
        },
        lines: Rules {
            failures_max: engine.line_failures,
            try_every_ms: engine.line_try_every_seconds.saturating_mul(1_000),
            // Two pauses between tries, and the time that a try takes.
            silence_ms: engine
                .backoff_last_ms
                .saturating_mul(2)
                .saturating_add(engine.line_try_every_seconds.saturating_mul(2_000))
                .saturating_add(engine.settle_timeout_ms),
        },
        not_offered: purser_actors::product::Line::ALL.map(|line| !config.products.of(line).available),
        late_after_ms: engine.late_after_minutes.saturating_mul(60_000),
        card_credit_patience_ms: engine.card_credit_patience_seconds.saturating_mul(1_000),
        sweep_every_ms: SWEEP_EVERY_MS,
        timers_every_ms: TIMERS_EVERY_MS,
    }
}

/// A blockhash's text for challenges, made once for each blockhash.
pub struct SlotBlockhash {
    source: Arc<dyn BlockhashSource>,
    made: ArcSwapOption<RecentBlockhash>,
}

impl SlotBlockhash {
    /// From the running chain.
    pub fn new(source: Arc<dyn BlockhashSource>) -> Self {
        Self {
            source,
            made: ArcSwapOption::empty(),
        }
    }
}

impl Blockhashes for SlotBlockhash {
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

    // A client that signs with a blockhash that is about to expire signs in vain: it reads one itself instead.
    #[test]
    fn an_old_blockhash_is_not_offered() {
        let source = Arc::new(FixedBlockhash(Mutex::new(None)));
        let recent = SlotBlockhash::new(source.clone());
        assert!(recent.recent().is_none());
        let new = |hash, age_ms| Blockhash {
            hash: [hash; 32],
            last_valid_block_height: u64::from(hash),
            age_ms,
        };
        *source.0.lock() = Some(new(1, Blockhash::OLDEST_MS));
        let first = recent.recent().unwrap();
        assert_eq!((first.blockhash, first.last_valid_block_height), ([1; 32], 1));
        assert!(Arc::ptr_eq(&first, &recent.recent().unwrap()), "its text is made once");
        *source.0.lock() = Some(new(2, 0));
        assert_eq!(recent.recent().unwrap().blockhash, [2; 32]);
        *source.0.lock() = Some(new(2, Blockhash::OLDEST_MS + 1));
        assert!(recent.recent().is_none());
    }
}
