//! The settlement port for Solana, with our own keys over JSON-RPC.
//!
//! A payment is co-signed by one of our fee payers, simulated, persisted, and only then sent. It is sent to every
//! endpoint repeatedly until it is on the chain or its blockhash has expired. A follower reads the treasury's token
//! account into durable rows. Look-ups, lists of outgoing transfers and reconciliation use these rows; the chain is
//! rarely read for one payment. One endpoint is enough to show a payment as seen. Two must show that it is final or can
//! never settle. If only one endpoint is configured, it decides.

mod accounts;
mod burning;
mod cross_check;
mod decline;
mod drive;
mod facilitated;
mod follow;
mod in_flight;
mod lists;
mod lookup;
mod outgoing;
mod port;
mod prechecking;
mod prepare;
mod reading;
mod rows;
mod search;
mod settings;
mod tip;
mod treasury_history;
mod wallets;
mod workers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use dashmap::DashSet;
use parking_lot::Mutex;
use purser_actors::port::{Clock, Timestamp};
use purser_chains::rpc::{self, RpcPool, SettingsError, Transport};
use purser_chains::solana::Pubkey;
use purser_chains::solana::address::associated_token_account;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::losses::LostFees;
use purser_chains::solana::node::Node;
use purser_chains::solana::payers::{PayerStatus, Payers};
use purser_storage::Store;

pub use self::burning::{EventAccount, read_burn};
use self::cross_check::Progress;
use self::follow::FollowerState;
use self::in_flight::InFlightTransactions;
pub use self::rows::RowError;
use self::rows::Rows;
use self::search::Searches;
pub use self::settings::{Depth, FinalityByAmount, Pace, SolanaSettings};
use self::tip::Tip;
use self::treasury_history::TreasuryHistory;
pub use self::workers::Workers;
use super::gate::Gate;

/// Dependencies of the port in addition to its settings.
pub struct SolanaDeps {
    /// The engine's store: the port's rows are in the table [`purser_actors::kernel::table::SOLANA`].
    pub store: Arc<dyn Store>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Sends the RPC requests.
    pub transport: Arc<dyn Transport>,
    /// Time for intervals and rate limits.
    pub timer: Arc<dyn rpc::Clock>,
    /// Whether the chain was verified to be the one in the settings: before that no endpoint is queried.
    pub gate: Arc<Gate>,
}

/// Why the port cannot be opened. The chain was not queried yet.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The settings of an endpoint are invalid.
    #[error(transparent)]
    Endpoints(#[from] SettingsError),
    /// There is no key that pays fees.
    #[error("no fee payer is configured")]
    NoFeePayer,
    /// One key has two purposes: a fee payer's signature must not move treasury funds.
    #[error("the treasury's key is also a fee payer's")]
    SharedKey,
    /// No token account can be derived for the treasury.
    #[error("the treasury has no token account address")]
    Treasury,
    /// The rows of the store could not be read.
    #[error(transparent)]
    Rows(#[from] RowError),
}

/// The port. [`Workers::start`] starts the tasks that send, follow and refresh; without it no transaction gets an
/// outcome.
pub struct SolanaSettlement {
    mint: Pubkey,
    treasury: Keypair,
    treasury_account: Pubkey,
    fee_payers: Vec<Keypair>,
    fee_payer_addresses: Vec<Pubkey>,
    /// Fee payers of facilitators, as named in payments. Transactions that they sign can be payments to us.
    facilitator_fee_payers: DashSet<Pubkey>,
    floor_lamports: u64,
    account_rent_cap: u64,
    withdrawal_unit_price: u64,
    finality: FinalityByAmount,
    from_slot: Option<u64>,
    pace: Pace,
    gate: Arc<Gate>,
    node: Node,
    clock: Arc<dyn Clock>,
    timer: Arc<dyn rpc::Clock>,
    rows: Rows,
    payers: Mutex<Payers>,
    losses: Mutex<LostFees>,
    in_flight: Mutex<InFlightTransactions>,
    tip: Mutex<Tip>,
    follower: tokio::sync::Mutex<FollowerState>,
    treasury_history: Mutex<TreasuryHistory>,
    progress: Mutex<Progress>,
    searches: Mutex<Searches>,
    prechecks: prechecking::Prechecks,
    own_wallets: wallets::OwnWallets,
    /// Per endpoint: whether a status query is in progress.
    polled: Vec<AtomicBool>,
    alarms: Alarms,
}

/// Counters of events that need an operator.
#[derive(Debug, Default)]
struct Alarms {
    contradictions: AtomicU64,
    unreadable: AtomicU64,
    follower_failures: AtomicU64,
}

/// Status of the port, for metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SolanaStatus {
    /// Status of each fee payer.
    pub fee_payers: Vec<PayerStatus>,
    /// Transactions that are prepared or sent and have no outcome yet.
    pub in_flight: usize,
    /// The expired ones among them that have no proof.
    pub unproven: usize,
    /// The newest known slot.
    pub slot: u64,
    /// Everything up to this final slot is listed.
    pub covered_slot: u64,
    /// Proofs that turned out wrong since the start.
    pub contradictions: u64,
    /// Transactions of the treasury that could not be parsed since the start.
    pub unreadable: u64,
    /// Failed reads of the treasury's transactions since the start.
    pub follower_failures: u64,
}

impl SolanaSettlement {
    /// Opens the port from its durable rows. Does not query the chain.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(settings: SolanaSettings, around: SolanaDeps) -> Result<Arc<Self>, OpenError> {
        let addresses: Vec<Pubkey> = settings.fee_payers.iter().map(Keypair::address).collect();
        let treasury = settings.treasury.address();
        if addresses.is_empty() && !settings.is_facilitated {
            return Err(OpenError::NoFeePayer);
        }
        if addresses.contains(&treasury) {
            return Err(OpenError::SharedKey);
        }
        let treasury_account = associated_token_account(&treasury, &settings.mint).ok_or(OpenError::Treasury)?;
        let pool = RpcPool::new(
            settings.endpoints,
            around.gate.guard(around.transport),
            Arc::clone(&around.timer),
        )?;
        let node = Node::new(Arc::new(pool));
        let rows = Rows(around.store);
        let mut payers = Payers::new(&addresses, settings.payer_limits);
        let mut flights = InFlightTransactions::new(node.endpoints(), settings.pace.pacing);
        for (id, open) in rows.open().await? {
            // A fee payer that is no longer configured still pays; nothing can be reserved for it.
            let reservation = payers.resume(&open.fee_payer, open.fees()).ok();
            flights.start(id, open, true, reservation);
        }
        let followed = TreasuryHistory::load(&rows).await?;
        // If two endpoints are needed, progress made with one does not count.
        let crossed = rows.cross_checked().await?.filter(|_| node.endpoints() > 1);
        let progress = Progress::start(around.timer.now_ms(), crossed.unwrap_or(0));
        let mut losses = LostFees::new(settings.loss_limits);
        let counts_ms = settings
            .loss_limits
            .window_ms
            .saturating_add(settings.loss_limits.decline_ms);
        let since = Timestamp(around.clock.now().0.saturating_sub(counts_ms));
        for lost in rows.losses(since).await? {
            losses.lost(lost.payer, lost.lamports, lost.at.0);
        }
        let others_fee_payers = rows.fee_payers().await?.into_iter().collect();
        Ok(Arc::new(Self {
            facilitator_fee_payers: others_fee_payers,
            mint: settings.mint,
            treasury: settings.treasury,
            treasury_account,
            fee_payer_addresses: addresses,
            fee_payers: settings.fee_payers,
            floor_lamports: settings.payer_limits.floor_lamports,
            account_rent_cap: settings.account_rent_cap,
            withdrawal_unit_price: settings.withdrawal_unit_price,
            finality: settings.finality,
            from_slot: settings.from_slot,
            pace: settings.pace,
            polled: (0..node.endpoints()).map(|_| AtomicBool::new(false)).collect(),
            gate: around.gate,
            node,
            clock: around.clock,
            timer: around.timer,
            rows,
            payers: Mutex::new(payers),
            losses: Mutex::new(losses),
            in_flight: Mutex::new(flights),
            tip: Mutex::default(),
            follower: tokio::sync::Mutex::default(),
            treasury_history: Mutex::new(followed),
            progress: Mutex::new(progress),
            searches: Mutex::default(),
            prechecks: prechecking::Prechecks::default(),
            own_wallets: wallets::OwnWallets::default(),
            alarms: Alarms::default(),
        }))
    }

    /// Owner of the token account that receives payments.
    pub fn treasury(&self) -> Pubkey {
        self.treasury.address()
    }

    /// Whether the chain was verified; see [`SolanaDeps::gate`].
    pub(crate) const fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The RPC endpoints.
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Status for metrics.
    pub fn status(&self) -> SolanaStatus {
        use std::sync::atomic::Ordering::Relaxed;
        let flights = self.in_flight.lock();
        SolanaStatus {
            fee_payers: self.payers.lock().status(),
            in_flight: flights.len(),
            unproven: flights.unproven(),
            slot: self.tip.lock().slot(),
            covered_slot: self.treasury_history.lock().covered_slot(),
            contradictions: self.alarms.contradictions.load(Relaxed),
            unreadable: self.alarms.unreadable.load(Relaxed),
            follower_failures: self.alarms.follower_failures.load(Relaxed),
        }
    }
}
