//! Copies of the store and the documents, made while the service runs, for backups and for `purser verify`.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purser_actors::entity::banking::application::BankingApplication;
use purser_actors::id::{DocumentId, Network};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::port::BoxFuture;
use purser_storage::{JournalStore, Row, Store, StoreError, codec};
use tokio::sync::Mutex;

use super::restore::persist_log_end;
use crate::config::DataDir;
use crate::http::operator::{Copies, Copy, ListedTransfer};
use crate::revocations::RevocationLog;
use crate::settlement::chain::TransferList;
use crate::vault::document_backup;

/// Rows and transfers per read.
const PAGE: usize = 1_000;

pub struct LiveCopies {
    store: Arc<JournalStore>,
    documents: PathBuf,
    /// Directory for copies before they are sent.
    scratch: PathBuf,
    transfers: Arc<dyn TransferList>,
    revocations: Arc<RevocationLog>,
    /// One copy at a time: each writes as much as the store has.
    copy_lock: Mutex<()>,
}

impl LiveCopies {
    /// Removes copies that a dead process left.
    pub fn new(
        store: Arc<JournalStore>,
        data: &DataDir,
        transfers: Arc<dyn TransferList>,
        revocations: Arc<RevocationLog>,
    ) -> Self {
        let scratch = data.copies();
        if let Err(error) = std::fs::remove_dir_all(&scratch)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "what is left of an old copy cannot be removed");
        }
        Self {
            store,
            documents: data.documents(),
            scratch,
            transfers,
            revocations,
            copy_lock: Mutex::new(()),
        }
    }

    /// Writes a copy and takes it over: its file is unlinked, and is deleted with its handle.
    async fn made(&self, write: impl FnOnce(&Path) -> Result<u64, String> + Send + 'static) -> Result<Copy, String> {
        let _turn = self.copy_lock.lock().await;
        let scratch = self.scratch.clone();
        let made = tokio::task::spawn_blocking(move || {
            let failed = |error: std::io::Error| format!("{}: {error}", scratch.display());
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&scratch)
                .map_err(failed)?;
            let path = scratch.join("copy");
            let seq = write(&path)?;
            let file = File::open(&path).map_err(failed)?;
            std::fs::remove_file(&path).map_err(failed)?;
            let bytes = file.metadata().map_err(failed)?.len();
            Ok(Copy { file, bytes, seq })
        });
        made.await.map_err(|error| error.to_string())?
    }
}

impl Copies for LiveCopies {
    fn store(&self) -> BoxFuture<'_, Result<Copy, String>> {
        let store = self.store.clone();
        Box::pin(async move {
            // Before the copy: a later revocation may be in the copy, and is after this position in the log.
            let end = self.revocations.end();
            persist_log_end(&*self.store, end)
                .await
                .map_err(|error| error.to_string())?;
            self.made(move |path| store.backup(path).map_err(|error| error.to_string()))
                .await
        })
    }

    fn documents(&self) -> BoxFuture<'_, Result<Copy, String>> {
        Box::pin(async move {
            let seq = self.store.durable_seq();
            let named = documents_of(&*self.store).await.map_err(|error| error.to_string())?;
            let directory = self.documents.clone();
            self.made(move |path| {
                document_backup::save(&directory, &named, path).map_err(|error| error.to_string())?;
                Ok(seq)
            })
            .await
        })
    }

    fn transfers(&self, network: Network, after: u64) -> BoxFuture<'_, Result<Vec<ListedTransfer>, String>> {
        Box::pin(async move {
            let page = self.transfers.transfers_after(network, after, PAGE).await;
            let page = page.map_err(|error| error.to_string())?;
            let listed = page.into_iter().map(|seen| ListedTransfer {
                position: seen.position,
                transaction: seen.transaction,
                index: seen.index,
                from: seen.from.address(),
                to: seen.to.address(),
                atomic: seen.amount.atomic(),
                at_ms: seen.at.0,
                reorged: seen.reorged,
                mark: seen.mark.map(hex::encode),
            });
            Ok(listed.collect())
        })
    }
}

/// The documents that applications name.
///
/// # Errors
/// When the store cannot be read.
pub async fn documents_of(store: &dyn Store) -> Result<BTreeSet<DocumentId>, StoreError> {
    let prefix = table::entity(EntityKind::BankingApplication, &[]);
    let (mut named, mut after) = (BTreeSet::new(), None);
    loop {
        let rows = store.scan(&prefix, after.as_deref(), PAGE).await?;
        for (key, row) in &rows {
            named.extend(documents_in(key, row)?);
        }
        match rows.into_iter().last() {
            Some((key, _)) => after = Some(key),
            None => return Ok(named),
        }
    }
}

/// The documents that a row names, if it belongs to an application.
///
/// # Errors
/// When it cannot be read.
pub fn documents_in(key: &[u8], row: &Row) -> Result<Vec<DocumentId>, StoreError> {
    if !key.starts_with(&table::entity(EntityKind::BankingApplication, &[])) {
        return Ok(Vec::new());
    }
    let application: BankingApplication = codec::decode(&row.value).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    Ok(application.documents.iter().map(|paper| paper.id).collect())
}
