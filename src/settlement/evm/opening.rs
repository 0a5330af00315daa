//! Opens the port. Nothing starts before the chain is verified to be the one in the settings.

use std::sync::Arc;

use purser_chains::evm::multicall::MULTICALL3;
use purser_chains::evm::node::{BlockTag, CallRequest, Node, NodeError};
use purser_chains::evm::{Address, U256, usdc};
use purser_chains::rpc::{Clock, RpcPool, SettingsError, Transport};
use purser_storage::{Store, codec};
use ractor::Actor;

use super::BaseSettlement;
use super::check_queue::CheckQueue;
use super::core::Core;
use super::follower::FollowerState;
use super::gas_key;
use super::job::Job;
use super::rows::{self, LevelsRow, NonceRow, RowError};
use super::settings::{BaseSettings, SettingError};
use super::supervisor::Supervisor;
use crate::gate::Gate;

/// Why the port does not open. Invalid settings are reported first.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A setting is invalid regardless of the chain.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The list of endpoints is invalid.
    #[error("`endpoints`: {0}")]
    Endpoints(#[from] SettingsError),
    /// An endpoint serves another chain.
    #[error("`chain_id`: the endpoint {host} is of chain {found}, not {expected}")]
    ChainId {
        /// Host of the endpoint.
        host: String,
        /// Chain id of the endpoint.
        found: u64,
        /// Chain id in the settings.
        expected: u64,
    },
    /// There is no contract at the address.
    #[error("`{setting}`: there is no contract at {address}")]
    NoCode {
        /// `token`, or `chain_id` for Multicall3, which has the same address on every chain.
        setting: &'static str,
        /// Expected address of the contract.
        address: Address,
    },
    /// The token's EIP-712 domain differs from the settings.
    #[error("`token`: the EIP-712 domain of {address} is not that of its name, version and chain id in the settings")]
    Domain {
        /// Address of the token.
        address: Address,
    },
    /// A gas key has too little ether, and no facilitator sends.
    #[error("`gas_keys`: {address} has {wei} wei, less than `gas_floor`")]
    NoGas {
        /// Address of the gas key.
        address: Address,
        /// Balance of the gas key in wei.
        wei: U256,
    },
    /// No endpoint responded.
    #[error("`endpoints`: {0}")]
    Node(#[from] NodeError),
    /// No endpoint responded, and there is no stored block to continue from.
    #[error("`endpoints`: none answers, and no block of the chain was ever read")]
    NothingStored,
    /// The rows of an earlier process cannot be read.
    #[error("the rows of the port for Base: {0}")]
    Rows(String),
    /// The runtime is shutting down.
    #[error("the actors of the port for Base could not begin: {0}")]
    Actors(String),
}

impl From<RowError> for OpenError {
    fn from(error: RowError) -> Self {
        Self::Rows(error.to_string())
    }
}

/// Balance of each gas key in wei.
pub(super) async fn gas(node: &Node, settings: &BaseSettings) -> Result<Vec<(Address, U256)>, NodeError> {
    let mut found = Vec::new();
    for key in &settings.gas_keys {
        let wei = node.balance(key.address(), BlockTag::Latest).await?;
        found.push((key.address(), wei));
    }
    Ok(found)
}

/// Verifies that every endpoint serves this chain. An endpoint that does not respond is ignored if another one does.
async fn check_chain(node: &Node, settings: &BaseSettings) -> Result<(), OpenError> {
    let mut failed = None;
    let mut answered = false;
    for endpoint in 0..settings.endpoints.len() {
        match node.chain_id(endpoint).await {
            Ok(found) if found == settings.chain_id => answered = true,
            Ok(found) => {
                let host = settings.endpoints[endpoint].url.host();
                let expected = settings.chain_id;
                return Err(OpenError::ChainId { host, found, expected });
            }
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if !answered => Err(error.into()),
        Some(error) => {
            tracing::warn!(%error, "an endpoint of Base does not answer");
            Ok(())
        }
        None => Ok(()),
    }
}

async fn check_contracts(core: &Core) -> Result<(), OpenError> {
    let (node, token) = (&core.node, core.token.address());
    let code = node.have_code(&[token, MULTICALL3]).await?;
    // Batches are only sent with a gas key.
    let batches = !core.settings.gas_keys.is_empty();
    let needed = [("token", token, true), ("chain_id", MULTICALL3, batches)];
    for (found, (setting, address, needed)) in code.into_iter().zip(needed) {
        if !found && needed {
            return Err(OpenError::NoCode { setting, address });
        }
    }
    // keccak256("DOMAIN_SEPARATOR()").
    let request = CallRequest {
        from: core.settings.treasury.address(),
        to: token,
        data: vec![0x36, 0x44, 0xe5, 0x15].into(),
        gas: 100_000,
    };
    let separator = node.call(&request, BlockTag::Latest).await;
    match separator {
        Ok(separator) if separator.as_ref() == core.token.domain_separator().as_slice() => Ok(()),
        Err(purser_chains::evm::node::CallError::Node(error)) => Err(error.into()),
        _ => Err(OpenError::Domain { address: token }),
    }
}

/// Reads from the rows which gas key has which payment. A key that was removed from the settings retains the payments
/// that it has signed.
async fn load_owners(core: &Core) -> Result<(), RowError> {
    let store = &*core.store;
    let damaged = || RowError("the key of a nonce".into());
    for (key, value) in rows::scan_all(store, &rows::nonces()).await? {
        let address = key.get(2..22).map(Address::from_slice).ok_or_else(damaged)?;
        let nonce = rows::last_number(&key).ok_or_else(damaged)?;
        let row: NonceRow = codec::decode(&value)?;
        let carried = gas_key::transaction_jobs(core, &address, nonce).await?;
        for place in row.payments.iter().filter(|_| !row.released) {
            if let Some(payment) = carried.get(usize::from(*place)) {
                core.owners.insert(payment.key(), address);
                core.track_payment(payment);
            }
        }
        if !core.settings.gas_keys.iter().any(|key| key.address() == address) {
            let what = format!("gas key {address} has transactions on their way and is not in the settings");
            core.alarm_once(&what, "they are never sent again");
        }
    }
    for (key, value) in rows::scan_all(store, &rows::all_waiting()).await? {
        let address = key.get(2..22).map(Address::from_slice).ok_or_else(damaged)?;
        let job = Job::decode_waiting(&value)?;
        core.owners.insert(job.key(), address);
        core.track_payment(&job);
    }
    Ok(())
}

/// The first block to read: after the stored rows, or the newest block.
async fn first_block(node: &Node, settings: &BaseSettings) -> Result<u64, NodeError> {
    match settings.start_block {
        Some(start) => Ok(start),
        None => {
            let head = node.header(BlockTag::Latest).await?;
            Ok(head.map_or(0, |head| head.number))
        }
    }
}

impl BaseSettlement {
    /// Verifies the settings against the chain, reads the rows and starts the actors. `clock` never goes back.
    ///
    /// # Errors
    /// See [`OpenError`]. Nothing was sent then.
    pub async fn open(
        settings: BaseSettings,
        store: Arc<dyn Store>,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        settings.check()?;
        let pool = RpcPool::new(settings.endpoints.clone(), transport, clock.clone())?;
        let node = Node::new(Arc::new(pool));
        check_chain(&node, &settings).await?;
        let mut poor = gas(&node, &settings).await?;
        poor.retain(|(_, wei)| *wei < settings.gas_floor);
        if let Some((address, wei)) = poor.first().copied().filter(|_| !settings.is_facilitated) {
            return Err(OpenError::NoGas { address, wei });
        }
        let start = first_block(&node, &settings).await?;
        let reading = FollowerState::load(&*store, clock.clone(), (start, settings.endpoints.len())).await?;
        let core = Core::new(settings, node, (store, clock), reading.view(), Gate::opened());
        for (address, wei) in poor {
            tracing::warn!(key = %address, %wei, "a gas key has less than `gas_floor`: others send until it has more");
            core.pause_gas_key(address);
        }
        check_contracts(&core).await?;
        Self::start(core).await
    }

    /// Starts from the rows without querying the chain. Nothing is sent to its endpoints until the chain was verified
    /// and the gate opened.
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::NothingStored`] if there are no rows.
    pub async fn reopen(
        settings: BaseSettings,
        store: Arc<dyn Store>,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
        gate: Arc<Gate>,
    ) -> Result<Self, OpenError> {
        settings.check()?;
        let pool = RpcPool::new(settings.endpoints.clone(), gate.guard(transport), clock.clone())?;
        let levels: Option<LevelsRow> = rows::read(&*store, &rows::levels()).await?;
        let start = levels.ok_or(OpenError::NothingStored)?.start;
        let reading = FollowerState::load(&*store, clock.clone(), (start, settings.endpoints.len())).await?;
        let node = Node::new(Arc::new(pool));
        let core = Core::new(settings, node, (store, clock), reading.view(), gate);
        // Their balances are unknown: facilitators send until they are known. Without facilitators, the check of the
        // chain has verified them.
        for key in &core.settings.gas_keys {
            core.pause_gas_key(key.address());
        }
        Self::start(core).await
    }

    async fn start(core: Core) -> Result<Self, OpenError> {
        let core = Arc::new(core);
        for wallet in &core.settings.wallets {
            core.wallets.insert(*wallet);
        }
        load_owners(&core).await?;
        core.load_losses().await?;
        let began = Actor::spawn(None, Supervisor(core.clone()), ()).await;
        let (supervisor, _) = began.map_err(|error| OpenError::Actors(error.to_string()))?;
        Ok(Self {
            core,
            check_queue: Arc::new(CheckQueue::default()),
            supervisor,
        })
    }
}

impl Core {
    /// Balance of a wallet at this level.
    pub(super) async fn holds(&self, wallet: Address, tag: BlockTag) -> Result<U256, String> {
        let request = CallRequest {
            from: wallet,
            to: self.token.address(),
            data: usdc::balance_call(wallet).into(),
            gas: 100_000,
        };
        let returned = self.node.call(&request, tag).await.map_err(|error| error.to_string())?;
        usdc::decode_balance(&returned).ok_or_else(|| "the token does not answer with a balance".to_owned())
    }
}
