//! Checks before the service accepts requests that every sealed record has its key. A missing key must prevent the
//! start instead of making a secret unreadable later.

use std::path::Path;
use std::sync::Arc;

use purser_actors::entity::intl_order::IntlOrder;
use purser_actors::id::CardId;
use purser_actors::kernel::{EntityKind, table};
use purser_actors::port::{Entropy, Timestamp};
use purser_storage::{Store, codec};

use super::ServiceError;
use crate::vault::{CvvVault, Vault, VaultError, keys_in_use};

const PAGE: usize = 1_000;

/// Every sealed record names its key; a key that is not on the ring prevents the start. The HTTP record of a wallet
/// payment is stored in pieces, and the first one names the key.
pub(super) async fn check_all_keys(vault: &Vault, store: &dyn Store) -> Result<(), ServiceError> {
    let failed = |e: VaultError| ServiceError::Component("the vault", e.to_string());
    let ring = vault.keys();
    // Pieces are large.
    for (table, page) in [(table::VAULT, PAGE), (table::HTTP_RECORD, PAGE / 20)] {
        let mut after = None;
        loop {
            let rows = store.scan(&[table], after.as_deref(), page).await?;
            let whole = rows
                .iter()
                .filter(|(key, _)| table::chunk_index(key).is_none_or(|(_, first)| first));
            let used = keys_in_use(whole.map(|(_, row)| &*row.value)).map_err(failed)?;
            if let Some(missing) = used.into_iter().find(|id| !ring.contains(id)) {
                return Err(failed(VaultError::MissingKey(missing)));
            }
            match rows.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
    }
    Ok(())
}

/// The vault of CVVs, with the key of every active card. Keys without a card are counted in the log: a restored store
/// lacks the cards of the lost history.
///
/// # Errors
/// When the key of an active card is missing. Keys of ended cards are destroyed, and a restored older store may still
/// have their records.
pub(super) async fn open_cvvs(
    keys: &Path,
    store: &dyn Store,
    entropy: Arc<dyn Entropy>,
    now: Timestamp,
) -> Result<CvvVault, ServiceError> {
    let failed = |e: VaultError| ServiceError::Component("the keys of CVVs", format!("{}: {e}", keys.display()));
    let cvvs = CvvVault::open(keys, entropy).map_err(failed)?;
    let (mut after, mut used) = (None, 0);
    loop {
        let page = store.scan(&[table::CVV], after.as_deref(), PAGE).await?;
        for (key, row) in &page {
            let card = CardId(key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id)));
            match cvvs.has_key(&row.value).map_err(failed)? {
                true => used += 1,
                false if is_unexpired(store, card, now).await? => return Err(failed(VaultError::MissingCvvKey(card))),
                false => {}
            }
        }
        match page.into_iter().last() {
            Some((key, _)) => after = Some(key),
            None => break,
        }
    }
    let unused = cvvs.keys().map_err(failed)?.saturating_sub(used);
    if unused > 0 {
        tracing::warn!(
            unused,
            directory = %keys.display(),
            "keys of CVVs belong to no card: after a restore, as many international cards may have been made in the time that it lost"
        );
    }
    Ok(cvvs)
}

async fn is_unexpired(store: &dyn Store, card: CardId, now: Timestamp) -> Result<bool, ServiceError> {
    let row = store
        .read(&table::entity(EntityKind::IntlOrder, &card.0.to_be_bytes()))
        .await?;
    let order = row.and_then(|row| codec::decode::<IntlOrder>(&row.value).ok());
    Ok(order.and_then(|order| order.expires_at()).is_some_and(|end| now < end))
}
