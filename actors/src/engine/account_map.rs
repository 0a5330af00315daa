//! Maps an address to its account: the address itself, or the owner of an agent wallet.
//!
//! Addresses of agent wallets are rows, written by the batch that opens the wallet. They are read at the start and kept
//! in memory, so a paid call reads no store. Keys are derived, so after a restore the wallets that the lost history
//! opened are known too: what they sent is their owners'.

use std::sync::Arc;

use dashmap::DashMap;
use purser_storage::mutants::{self, Mutant};
use purser_storage::{Store, codec};

use super::{Engine, StartError};
use crate::id::{Network, Wallet};
use crate::kernel::{EntityKind, table};
use crate::port::{WalletAddresses, WalletSigner};

/// Addresses of agent wallets, with their owners. Clones share them.
#[derive(Clone, Default)]
pub(super) struct AccountMap(Arc<DashMap<Wallet, Wallet>>);

impl AccountMap {
    /// Loads all agent wallets of a store. `custody` is given if the store was restored: see
    /// [`AccountMap::add_derived_addresses`].
    pub(super) async fn load(store: &dyn Store, custody: Option<&dyn WalletSigner>) -> Result<Self, StartError> {
        const PAGE: usize = 1_000;
        let (map, mut after) = (Self::default(), None);
        loop {
            let page = store.scan(&[table::ADDRESS], after.as_deref(), PAGE).await?;
            for (key, row) in &page {
                let both = (key.get(1..).and_then(Wallet::from_key), Wallet::from_key(&row.value));
                let (Some(address), Some(owner)) = both else {
                    return Err(StartError::Corrupt("wallet address", codec::DecodeError::Truncated));
                };
                map.0.insert(address, owner);
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        if let Some(custody) = custody {
            map.add_derived_addresses(store, custody).await?;
        }
        Ok(map)
    }

    /// After a restore: adds the addresses of wallets that the lost history may have opened, for every account.
    async fn add_derived_addresses(&self, store: &dyn Store, custody: &dyn WalletSigner) -> Result<(), StartError> {
        const PAGE: usize = 1_000;
        let (accounts, mut after) = (table::entity(EntityKind::Account, &[]), None);
        loop {
            let page = store.scan(&accounts, after.as_deref(), PAGE).await?;
            for owner in page.iter().filter_map(|(key, _)| Wallet::from_key(key.get(2..)?)) {
                if let Some(addresses) = custody.addresses(&owner) {
                    self.insert(&owner, &addresses);
                }
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => return Ok(()),
            }
        }
    }

    fn insert(&self, owner: &Wallet, addresses: &WalletAddresses) {
        for network in Network::ALL {
            self.0.insert(addresses.on(network), *owner);
        }
    }

    /// Account that an address belongs to.
    pub(super) fn owner_of(&self, address: &Wallet) -> Wallet {
        if mutants::is_enabled(Mutant::OwnRouteShadowed) {
            return *address;
        }
        self.0.get(address).map_or(*address, |owner| *owner)
    }
}

impl Engine {
    /// Account that an address belongs to: the owner of an agent wallet, or the address itself.
    pub fn account_of(&self, address: &Wallet) -> Wallet {
        self.0.account_map.owner_of(address)
    }

    /// Assigns these addresses to the owner before they are rows. Only this service has their keys.
    pub(super) fn claim_addresses(&self, owner: &Wallet, addresses: &WalletAddresses) {
        self.0.account_map.insert(owner, addresses);
    }
}
