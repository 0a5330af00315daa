//! USDC on Base behind the settlement port, with our own keys and RPC endpoints only.
//!
//! One actor follows the blocks into rows of the engine's store (`follower`). One actor per gas key assigns its nonces
//! and sends (`gas_key`). A supervisor restarts actors that end. The methods of the port answer from the rows. They
//! read the chain for a single payment only if a proof needs it (`proving`).

mod check_queue;
mod checking;
mod core;
mod cross_check;
mod facilitated;
mod follower;
mod gas_key;
mod job;
mod loads;
mod losses;
mod minting;
mod movement_filter;
mod opening;
mod payer_funds;
mod paying;
mod prechecking;
mod proving;
mod reconciliation;
mod replacing;
mod rollback;
mod rows;
pub mod settings;
mod supervisor;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use purser_actors::money::Usdc;
use purser_actors::port::{PortError, Timestamp};
use purser_chains::evm::node::BlockTag;
use purser_chains::evm::{Address, U256};
use purser_chains::rpc::EndpointStatus;
use ractor::{ActorRef, ActorStatus};

use self::check_queue::CheckQueue;
use self::core::Core;
use super::errors::temporary;
use super::gate::Gate;
use super::precheck_counters::PrecheckStats;

pub use self::core::Counters;
pub use self::minting::{BridgeMessage, ReceivedMessage, SentMessage};
pub use self::opening::OpenError;
pub use self::reconciliation::StoredTransfer;
pub use self::rollback::{RollBackError, RollBackResult};
pub use self::settings::{BaseSettings, FinalityStep, SettingError, TokenSettings};

/// Why no payments are accepted while no gas key knows its next nonce.
const NONCE_CONFLICT: &str = "endpoints show fewer transactions of the gas keys than were final; if that lasts for half a minute, the earlier \
                              counts are lowered";

/// The settlement port for Base. Unfinished work continues when it is opened again on the same store.
pub struct BaseSettlement {
    core: Arc<Core>,
    check_queue: Arc<CheckQueue>,
    supervisor: ActorRef<supervisor::Replace>,
}

impl BaseSettlement {
    /// The address that receives payments and sends withdrawals.
    pub fn treasury(&self) -> Address {
        self.core.settings.treasury.address()
    }

    /// Records transfers of these wallets, in addition to the treasury's, from the next block on. Used for managed
    /// wallets created while the port is open; earlier ones are in [`BaseSettings::wallets`].
    pub fn track_wallets(&self, wallets: impl IntoIterator<Item = Address>) {
        for wallet in wallets {
            self.core.wallets.insert(wallet);
        }
    }

    /// Counters since the port was opened.
    pub fn counters(&self) -> &Counters {
        &self.core.counters
    }

    /// Status of the endpoints.
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        self.core.node.pool().status()
    }

    /// Requests the newest block of each endpoint, so that the pool can rank them.
    pub async fn observe_heights(&self) {
        // The pool counts an endpoint that does not respond.
        drop(self.core.node.heads().await);
    }

    /// The newest block that was read and stored; `None` before the first.
    pub fn height(&self) -> Option<u64> {
        self.core.view().tip().map(|tip| tip.number)
    }

    /// The block up to which two endpoints agree; `None` with one endpoint.
    pub fn cross_checked(&self) -> Option<u64> {
        self.core.view().cross_checked()
    }

    /// Whether new payments are accepted. The newest block was read a moment ago, payments become final, and a gas key
    /// knows its next nonce unless facilitators send.
    pub fn accepts_payments(&self) -> bool {
        self.send_blocked_reason().is_none()
    }

    fn send_blocked_reason(&self) -> Option<Cow<'static, str>> {
        let why = self.core.stall_reason();
        why.or_else(|| self.core.missing_nonce_reason().map(Cow::Borrowed))
    }

    /// Whether there are gas keys and none of them knows its next nonce yet.
    pub(crate) fn are_keys_waiting(&self) -> bool {
        !self.core.settings.gas_keys.is_empty() && !self.core.is_any_ready()
    }

    /// Previews [`BaseSettlement::roll_back`] without changing anything.
    ///
    /// # Errors
    /// Same as there.
    pub async fn preview_roll_back(&self) -> Result<RollBackResult, RollBackError> {
        self.core.roll_back(false).await
    }

    /// Accepts the chain that two endpoints show (or the only one) after it has replaced final blocks. Rows of the
    /// replaced blocks are dropped, as after any reorg, and reading continues from there.
    ///
    /// # Errors
    /// [`RollBackError`]; nothing has changed then.
    pub async fn roll_back(&self) -> Result<RollBackResult, RollBackError> {
        self.core.roll_back(true).await
    }

    /// Why no new payment is accepted, or `None` if payments are accepted. Checks [`BaseSettlement::accepts_payments`].
    /// Unless facilitators send, also checks that a gas key can pay for transactions and knows its next nonce.
    pub fn payments_blocked_reason(&self) -> Option<Cow<'static, str>> {
        let by_others = self.core.settings.is_facilitated;
        let empty = !by_others && self.core.are_all_empty();
        let doubtful = !by_others && self.core.have_all_nonce_conflicts();
        self.send_blocked_reason()
            .or(empty.then_some(Cow::Borrowed("no gas key has gas: send it ether")))
            .or(doubtful.then_some(Cow::Borrowed(NONCE_CONFLICT)))
    }

    /// Whether the chain was verified; see [`BaseSettlement::reopen`].
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.core.gate
    }

    /// Whether none of our gas keys can pay for transactions; also true if there is no key.
    pub fn is_without_gas(&self) -> bool {
        self.core.are_all_empty()
    }

    /// Balance of each gas key in wei, at the newest block.
    ///
    /// # Errors
    /// When no endpoint responds.
    pub async fn gas(&self) -> Result<Vec<(Address, U256)>, purser_chains::evm::node::NodeError> {
        opening::gas(&self.core.node, &self.core.settings).await
    }

    /// Number of payments that each gas key has to settle, including those in flight.
    pub fn loads(&self) -> Vec<(Address, usize)> {
        let load =
            |entry: dashmap::mapref::multiple::RefMulti<'_, Address, loads::Load>| (*entry.key(), entry.payments);
        self.core.loads.iter().map(load).collect()
    }

    /// Whether a payment of this amount would be final in a block of this height. False before that block was read.
    pub fn is_final(&self, block: u64, amount: Usdc) -> bool {
        let finality = self.core.settings.finality_of(amount);
        self.core.view().is_final(block, finality)
    }

    /// Balance of a wallet at the newest block.
    ///
    /// # Errors
    /// `Temporary` when no endpoint responds.
    pub async fn holds(&self, wallet: [u8; 20]) -> Result<Usdc, PortError> {
        let held = self.core.holds(wallet.into(), BlockTag::Latest).await;
        let held = held.map_err(|error| temporary("holds", error))?;
        Ok(Usdc::from_atomic(held.try_into().unwrap_or(u64::MAX)))
    }

    /// Checks before claims since the port was opened.
    pub fn prechecks(&self) -> PrecheckStats {
        self.core.prechecks.counters.stats()
    }

    /// Time of the newest block that was read.
    ///
    /// # Errors
    /// `Temporary` before the first block.
    pub fn now(&self) -> Result<Timestamp, PortError> {
        self.tip_time("now")
    }

    /// Stops the actors and waits until none of them can write any more.
    pub async fn close(&self) {
        const PAUSE: Duration = Duration::from_millis(5);
        self.stop();
        let ended = |status: ActorStatus| status == ActorStatus::Stopped;
        while !ended(self.supervisor.get_status()) || !self.core.actors.iter().all(|actor| ended(actor.get_status())) {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Stops the actors. Durable state remains; the next port on this store continues unfinished work.
    pub fn stop(&self) {
        self.supervisor.stop(Some("the port is closed".into()));
    }
}

impl Drop for BaseSettlement {
    fn drop(&mut self) {
        self.stop();
    }
}
