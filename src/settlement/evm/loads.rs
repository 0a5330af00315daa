//! Load of each gas key, and which keys can send.

use purser_chains::evm::{Address, U256};

use super::core::Core;
use super::rows::Key;

/// An entry of [`Core::loads`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) payments: usize,
    /// Its next nonce is known. Without confirmation by two endpoints, or the only one, it sends nothing.
    pub(super) is_ready: bool,
    pub(super) starved_until_ms: u64,
    /// Its balance is below `gas_floor`, and facilitators can send: it sends nothing until it has more.
    pub(super) is_paused: bool,
    /// It could not pay for a transaction, and its balance has been below `gas_floor` since.
    pub(super) is_empty: bool,
    /// The chain has contradicted its final transaction count for a while: it sends nothing new.
    pub(super) has_nonce_conflict: bool,
}

impl Load {
    const fn is_starved(self, now_ms: u64) -> bool {
        self.is_paused || self.has_nonce_conflict || self.starved_until_ms > now_ms
    }

    const fn can_send(self, now_ms: u64) -> bool {
        self.is_ready && !self.is_starved(now_ms)
    }
}

impl Core {
    fn load_of(&self, gas_key: &Address) -> Load {
        self.loads.get(gas_key).map_or_else(Load::default, |load| *load)
    }

    /// Whether a gas key has gas and knows its nonce.
    pub(super) fn can_send(&self) -> bool {
        let now_ms = self.clock.now_ms();
        let mut keys = self.settings.gas_keys.iter();
        keys.any(|key| self.load_of(&key.address()).can_send(now_ms))
    }

    /// Whether a gas key knows its next nonce.
    pub(super) fn is_any_ready(&self) -> bool {
        let mut keys = self.settings.gas_keys.iter();
        keys.any(|key| self.load_of(&key.address()).is_ready)
    }

    /// Why no gas key sends, regardless of gas. Only relevant without facilitators.
    pub(super) fn missing_nonce_reason(&self) -> Option<&'static str> {
        let can = self.settings.is_facilitated || self.is_any_ready();
        (!can).then_some("the next nonce of no gas key is known: two endpoints must show it")
    }

    /// Why no payment is sent now. Only relevant without facilitators.
    pub(super) fn send_blocked_reason(&self) -> Option<&'static str> {
        let can = self.settings.is_facilitated || self.can_send();
        (!can).then(|| self.missing_nonce_reason().unwrap_or("no gas key has gas"))
    }

    /// Pauses a gas key with a balance below the floor while facilitators can send, until it has more.
    pub(super) fn pause_gas_key(&self, gas_key: Address) {
        if self.settings.is_facilitated {
            self.loads.entry(gas_key).or_default().is_paused = true;
        }
    }

    /// Whether the key's balance must be checked.
    pub(super) fn needs_balance_check(&self, gas_key: &Address) -> bool {
        let load = self.loads.get(gas_key);
        load.is_some_and(|load| load.is_paused || load.is_empty)
    }

    /// Whether none of the gas keys can pay for a transaction.
    pub(super) fn are_all_empty(&self) -> bool {
        let is_empty = |address: &Address| {
            self.loads
                .get(address)
                .is_some_and(|load| load.is_empty || load.is_paused)
        };
        let mut keys = self.settings.gas_keys.iter();
        keys.all(|key| is_empty(&key.address()))
    }

    /// Whether no gas key can send, and some of them only because the chain contradicts their count.
    pub(super) fn have_all_nonce_conflicts(&self) -> bool {
        let keys = self.settings.gas_keys.iter();
        let loads: Vec<Load> = keys
            .filter_map(|key| self.loads.get(&key.address()).map(|load| *load))
            .collect();
        let is_unable = |load: &Load| load.has_nonce_conflict || load.is_empty || load.is_paused;
        loads.len() == self.settings.gas_keys.len()
            && loads.iter().all(is_unable)
            && loads.iter().any(|load| load.has_nonce_conflict)
    }

    /// Records the balance of a gas key that could not pay for gas: from the floor on it sends again.
    pub(super) fn record_balance(&self, gas_key: Address, wei: U256) {
        if wei >= self.settings.gas_floor
            && let Some(mut load) = self.loads.get_mut(&gas_key)
            && (std::mem::take(&mut load.is_paused) | std::mem::take(&mut load.is_empty))
        {
            load.starved_until_ms = 0;
            tracing::info!(key = %gas_key, "a gas key has gas again and sends again");
        }
    }

    /// The gas key with the lowest load among those with gas; the payment stays with it.
    pub(super) fn assign_gas_key(&self, key: Key) -> Option<Address> {
        let now_ms = self.clock.now_ms();
        let load = |address: &Address| {
            let load = self.load_of(address);
            (!load.can_send(now_ms), load.payments)
        };
        let addresses = self.settings.gas_keys.iter().map(|key| key.address());
        let chosen = addresses.min_by_key(load)?;
        Some(*self.owners.entry(key).or_insert(chosen))
    }
}
