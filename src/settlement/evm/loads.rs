//! How much each gas key has to do, and which of them can send.

use purser_chains::evm::{Address, U256};

use super::core::Core;
use super::rows::Key;

/// See [`Core::loads`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) payments: usize,
    /// Its next nonce is known. Until two endpoints have shown it, or the only one, it sends nothing.
    pub(super) is_ready: bool,
    pub(super) starved_until_ms: u64,
    /// It has less than `gas_floor`, and others send payments too: it sends none until it has more.
    pub(super) is_off: bool,
    /// It could not pay for a transaction, and has had less than `gas_floor` since.
    pub(super) is_empty: bool,
    /// The chain has contradicted the count of its transactions that was final for a while: it sends nothing new.
    pub(super) is_in_doubt: bool,
}

impl Load {
    const fn is_starved(self, now_ms: u64) -> bool {
        self.is_off || self.is_in_doubt || self.starved_until_ms > now_ms
    }

    const fn can_send(self, now_ms: u64) -> bool {
        self.is_ready && !self.is_starved(now_ms)
    }
}

impl Core {
    fn load_of(&self, gas_key: &Address) -> Load {
        self.loads.get(gas_key).map_or_else(Load::default, |load| *load)
    }

    /// Whether a gas key has gas to send with, and knows its nonce.
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

    /// Why no gas key sends anything, whatever gas it has, where nobody else sends.
    pub(super) fn no_nonce(&self) -> Option<&'static str> {
        let can = self.settings.by_others || self.is_any_ready();
        (!can).then_some("the next nonce of no gas key is known: two endpoints must show it")
    }

    /// Why no payment is sent now, where nobody else sends any.
    pub(super) fn cannot_send(&self) -> Option<&'static str> {
        let can = self.settings.by_others || self.can_send();
        (!can).then(|| self.no_nonce().unwrap_or("no gas key has gas"))
    }

    /// A gas key that has less than the floor sends nothing while others can, until it has more.
    pub(super) fn turn_off(&self, gas_key: Address) {
        if self.settings.by_others {
            self.loads.entry(gas_key).or_default().is_off = true;
        }
    }

    /// Whether its balance is to be looked at.
    pub(super) fn is_waited_for(&self, gas_key: &Address) -> bool {
        let load = self.loads.get(gas_key);
        load.is_some_and(|load| load.is_off || load.is_empty)
    }

    /// Whether none of the gas keys can pay for a transaction.
    pub(super) fn are_all_empty(&self) -> bool {
        let is_empty = |address: &Address| self.loads.get(address).is_some_and(|load| load.is_empty || load.is_off);
        let mut keys = self.settings.gas_keys.iter();
        keys.all(|key| is_empty(&key.address()))
    }

    /// Whether no gas key can send, and some of them only because the chain contradicts its count.
    pub(super) fn are_all_in_doubt(&self) -> bool {
        let keys = self.settings.gas_keys.iter();
        let loads: Vec<Load> = keys
            .filter_map(|key| self.loads.get(&key.address()).map(|load| *load))
            .collect();
        let is_unable = |load: &Load| load.is_in_doubt || load.is_empty || load.is_off;
        loads.len() == self.settings.gas_keys.len()
            && loads.iter().all(is_unable)
            && loads.iter().any(|load| load.is_in_doubt)
    }

    /// What a gas key has that could not pay for gas: from the floor on it sends again.
    pub(super) fn refilled(&self, gas_key: Address, wei: U256) {
        if wei >= self.settings.gas_floor
            && let Some(mut load) = self.loads.get_mut(&gas_key)
            && (std::mem::take(&mut load.is_off) | std::mem::take(&mut load.is_empty))
        {
            load.starved_until_ms = 0;
            tracing::info!(key = %gas_key, "a gas key has gas again and sends again");
        }
    }

    /// The gas key that has least to do among those with gas; it keeps the payment.
    pub(super) fn owner_of(&self, key: Key) -> Option<Address> {
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
