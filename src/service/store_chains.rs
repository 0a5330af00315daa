//! Binds a data directory to the sandbox or to one pair of real chains: test balances must never become claims on real
//! money.

use purser_actors::kernel::table;
use purser_storage::Store;

use super::restore::put;
use super::{ServiceError, store_version};
use crate::payment::Chains;

/// META row with the names of the real chains. A store that has rows but not this one belongs to the sandbox.
const CHAINS: &str = "chains";

fn text(names: &Chains) -> String {
    format!("{} {}", names.base.caip2, names.solana.caip2)
}

/// Rejects a store that belongs to other chains. `real` are the chains of the settings; `None` is the sandbox.
///
/// # Errors
/// `data_dir` belongs to other chains, or the store fails.
pub(super) async fn check(store: &dyn Store, real: Option<&Chains>) -> Result<(), ServiceError> {
    let row = store.read(&table::meta(CHAINS)).await?;
    let stored = match row {
        Some(row) => Some(String::from_utf8_lossy(&row.value).into_owned()),
        None if store_version::is_new(store) => return Ok(()),
        None => None,
    };
    if stored == real.map(text) {
        return Ok(());
    }
    let of = |chains: Option<String>| chains.unwrap_or_else(|| "the sandbox".into());
    let (stored, configured) = (of(stored), of(real.map(text)));
    let why = format!(
        "belongs to {stored}, and the settings are for {configured}: name the settings of that service with --config, or another directory"
    );
    Err(ServiceError::Component("data_dir", why))
}

/// Whether an earlier start has checked the real chains of this store.
///
/// # Errors
/// When the store fails.
pub(super) async fn is_recorded(store: &dyn Store) -> Result<bool, ServiceError> {
    Ok(store.read(&table::meta(CHAINS)).await?.is_some())
}

/// Records the real chains in a new store. Writes nothing in the sandbox.
///
/// # Errors
/// When the store fails.
pub(super) async fn record(store: &dyn Store, real: Option<&Chains>) -> Result<(), ServiceError> {
    let Some(names) = real else { return Ok(()) };
    if store.read(&table::meta(CHAINS)).await?.is_some() {
        return Ok(());
    }
    put(store, table::meta(CHAINS), text(names).into_bytes()).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use std::sync::Arc;

    use purser_storage::{JournalStore, StoreLimits, StoreOptions};

    use super::*;
    use crate::payment::{BaseChain, SolanaChain};

    const TEST: Chains = Chains {
        base: BaseChain::SEPOLIA,
        solana: SolanaChain::DEVNET,
    };

    fn store(dir: &std::path::Path) -> Arc<JournalStore> {
        let (dir, clock) = (dir.join("store"), Arc::new(|| 1));
        let limits = StoreLimits::sandbox();
        JournalStore::open(StoreOptions { dir, limits, clock }).unwrap()
    }

    // Checks: a data directory belongs to the chains of its first start. The sandbox's is rejected in production
    // although the sandbox writes no row.
    #[tokio::test]
    async fn a_data_directory_is_for_one_pair_of_chains() {
        let dir = tempfile::tempdir().unwrap();
        let real = store(dir.path());
        for any in [None, Some(&Chains::MAINNET), Some(&TEST)] {
            check(&*real, any).await.unwrap();
        }
        assert!(!is_recorded(&*real).await.unwrap());
        record(&*real, Some(&TEST)).await.unwrap();
        record(&*real, Some(&TEST)).await.unwrap();
        assert!(is_recorded(&*real).await.unwrap());
        check(&*real, Some(&TEST)).await.unwrap();
        for other in [None, Some(&Chains::MAINNET)] {
            let error = check(&*real, other).await.unwrap_err().to_string();
            assert!(
                error.starts_with("data_dir") && error.contains("eip155:84532"),
                "{error}"
            );
        }
        real.close();

        let dir = tempfile::tempdir().unwrap();
        let sandbox = store(dir.path());
        record(&*sandbox, None).await.unwrap();
        assert_eq!(sandbox.durable_seq(), 0, "the sandbox writes nothing");
        for name in ["store-version", "something"] {
            put(&*sandbox, table::meta(name), Vec::new()).await.unwrap();
        }
        check(&*sandbox, None).await.unwrap();
        let error = check(&*sandbox, Some(&Chains::MAINNET)).await.unwrap_err().to_string();
        assert!(error.contains("the sandbox"), "{error}");
        sandbox.close();
    }
}
