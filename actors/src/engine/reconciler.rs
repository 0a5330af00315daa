//! Reconciliation of our records with external lists. Their list shows what we lack; our records show what they lack.
//! Each entry takes one lookup on the opposite side, so a run stores nothing but its cursor.

mod chains;
mod cursor;
pub(super) mod internal_entries;
mod status;
mod worker;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use purser_storage::Store;

use self::cursor::ReconciliationPhase;
use self::internal_entries::InternalEntry;
use super::untracked_transfers::recorded::RecordedTransfers;
use crate::entity::discrepancy::DiscrepancyDetails;
use crate::port::{
    BoxFuture, ChainMovement, Clock, EntryKey, ErrorKind, PortError, ProviderEntry, ReconciliationLists,
};
use crate::reconciliation::{
    EntryAmount, EntryKind, EntryStatus, GraceWindow, ListedEntry, ReconciliationSource, compare,
};

pub use self::cursor::ReconciliationCursor;
pub use self::status::{CompletedRun, OpenDiscrepancy, ReconciliationStatus};
pub(super) use self::worker::{ReconciliationStats, spawn};

/// External lists and settings of the reconciler.
#[derive(Clone)]
pub struct ReconcilerDeps {
    /// The external lists.
    pub lists: ReconciliationLists,
    /// Page size, pauses and timeouts.
    pub settings: ReconcilerSettings,
}

/// Page size, pauses and timeouts of reconciliation.
#[derive(Clone, Copy, Debug)]
pub struct ReconcilerSettings {
    /// Between two steps of a run, in milliseconds.
    pub pause_ms: u64,
    /// Between two runs, in milliseconds.
    pub rest_ms: u64,
    /// Approximate number of entries that one step compares.
    pub page: usize,
    /// Milliseconds; see [`GraceWindow::grace_ms`].
    pub grace_ms: u64,
    /// A list that does not answer within this number of milliseconds is left out of the run.
    pub timeout_ms: u64,
}

/// Reads both sides and reports discrepancies. Changes nothing.
pub struct Reconciler {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    deps: ReconcilerDeps,
    secret: [u8; 32],
    /// Outgoing transfers of the treasury by our records, as last read.
    known: Option<RecordedTransfers>,
    /// Whether `known` was read in this step. The read covers every withdrawal and top-up, so it happens once a step.
    is_fresh: bool,
    /// Sources that timed out in this step. They are not queried again in it.
    silent: BTreeSet<ReconciliationSource>,
}

type ReadFuture<T> = Result<T, String>;

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Reconciler {
    /// Creates a reconciler over a store and the lists.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        reconciling: ReconcilerDeps,
    ) -> Result<Self, super::StartError> {
        Ok(Self {
            secret: super::secret::stored_secret(&*store).await?.unwrap_or_default(),
            store,
            clock,
            deps: reconciling,
            known: None,
            is_fresh: false,
            silent: BTreeSet::new(),
        })
    }

    /// Continues a run by about one page and returns the discrepancies. A list or row that can't be read is skipped,
    /// and the run records that.
    pub async fn step(&mut self, walk: &mut ReconciliationCursor) -> Vec<DiscrepancyDetails> {
        self.is_fresh = false;
        self.silent.clear();
        let mut found = Vec::new();
        let mut looked = 0;
        while looked < self.deps.settings.page {
            let read = match walk.phase() {
                ReconciliationPhase::Source(source) => self.scan_source(source, walk, &mut found).await,
                ReconciliationPhase::OwnTables(table) => self.scan_own_tables(table, walk, &mut found).await,
                ReconciliationPhase::Complete => break,
            };
            looked += read.unwrap_or_else(|error| {
                tracing::warn!(error, "a list could not be read and is left out of this walk");
                walk.skipped = true;
                walk.advance(None);
                1
            });
        }
        if walk.is_complete() && !walk.skipped {
            walk.completed_at = Some(self.clock.now());
        }
        found
    }

    /// Compares a page of an external list with our records; returns the number of entries.
    async fn scan_source(
        &mut self,
        source: ReconciliationSource,
        walk: &mut ReconciliationCursor,
        found: &mut Vec<DiscrepancyDetails>,
    ) -> ReadFuture<usize> {
        let (limit, cursor) = (self.deps.settings.page, walk.cursor());
        let lists = self.deps.lists.clone();
        let (looked, next) = match (source.network(), &lists.treasury, lists.providers.get(&source)) {
            (Some(network), Some(treasury), _) => {
                let page = treasury.movements(network, cursor.as_ref(), limit);
                let page = self.with_timeout(source, page).await?;
                for moved in &page.items {
                    let key = moved.key();
                    let named = (source, entry_kind_of(moved), key.as_str());
                    let ours = self.internal_entry(network, moved).await;
                    let differs = self.compare_with_counterparty(named, ours, &listed_movement(moved), walk);
                    found.extend(self.unless_pending_finality(network, moved, differs).await);
                }
                (page.items.len(), page.next)
            }
            (None, _, Some(list)) => {
                let page = self.with_timeout(source, list.entries(cursor.as_ref(), limit)).await?;
                for entry in &page.items {
                    let named = (source, source.entry_kind(), entry.name.as_str());
                    let ours = self.internal_entry_listed(source, entry).await;
                    found.extend(self.compare_with_counterparty(named, ours, &listed_entry(entry), walk));
                }
                (page.items.len(), page.next)
            }
            _ => (0, None),
        };
        walk.advance(next.map(|cursor| cursor.to_string().into_bytes()));
        Ok(looked)
    }

    /// Compares one entry of a list. A row that can't be read hides no other discrepancy.
    fn compare_with_counterparty(
        &self,
        named: (ReconciliationSource, EntryKind, &str),
        ours: ReadFuture<Option<InternalEntry>>,
        seen: &ListedEntry,
        walk: &mut ReconciliationCursor,
    ) -> Option<DiscrepancyDetails> {
        walk.compared += 1;
        match ours {
            Ok(ours) => self.classify(named, ours.as_ref(), Some(seen)),
            Err(error) => {
                tracing::error!(
                    list = named.0.name(),
                    key = named.2,
                    error,
                    "our row behind it cannot be read"
                );
                walk.skipped = true;
                None
            }
        }
    }

    /// Compares a page of our records with the lists that should have them; returns the number of rows.
    async fn scan_own_tables(
        &mut self,
        table: &[u8],
        walk: &mut ReconciliationCursor,
        found: &mut Vec<DiscrepancyDetails>,
    ) -> ReadFuture<usize> {
        let after = walk.position.clone();
        let rows = self.store.scan(table, after.as_deref(), self.deps.settings.page);
        let rows = rows.await.map_err(error_text)?;
        for (key, row) in &rows {
            let ours = internal_entries::from_row(key, &row.value).unwrap_or_else(|error| {
                let row = key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                tracing::error!(row, %error, "a row cannot be read and is left out of this walk");
                walk.skipped = true;
                Vec::new()
            });
            for ours in ours {
                if !self.has_list(ours.source) {
                    continue;
                }
                walk.compared += 1;
                match self.counterparty_entry(&ours).await {
                    Ok(theirs) => {
                        let key = theirs.key().unwrap_or_else(|| ours.key.clone());
                        let named = (ours.source, ours.entry_kind, key.as_str());
                        let differs = self.classify(named, Some(&ours), theirs.listed().as_ref());
                        found.extend(match (ours.source.network(), &theirs) {
                            (Some(network), CounterpartyEntry::ChainMovement(moved)) => {
                                self.unless_pending_finality(network, moved, differs).await
                            }
                            _ => differs,
                        });
                    }
                    Err(error) => {
                        tracing::debug!(subject = ours.subject, error, "it is left out of this walk");
                        walk.skipped = true;
                    }
                }
            }
        }
        walk.advance(rows.last().map(|(key, _)| key.to_vec()));
        Ok(rows.len())
    }

    /// Compares both sides of an open discrepancy again; `None` when it no longer exists.
    ///
    /// # Errors
    /// When a side could not be read: the result is then unknown.
    pub async fn recheck(&mut self, open: &DiscrepancyDetails) -> ReadFuture<Option<DiscrepancyDetails>> {
        if !self.has_list(open.source) {
            return Err("there is no such list any more".into());
        }
        let named = (open.source, open.entry_kind, open.key.as_str());
        let Some(network) = open.source.network() else {
            let theirs = self.provider_entry(open.source, &open.key).await?;
            let ours = match &theirs {
                CounterpartyEntry::ProviderEntry(entry) => {
                    match self.internal_entry_listed(open.source, entry).await? {
                        None => self.internal_entry_behind(open).await?,
                        ours => ours,
                    }
                }
                _ => self.internal_entry_behind(open).await?,
            };
            return Ok(self.classify(named, ours.as_ref(), theirs.listed().as_ref()));
        };
        self.recheck_transfer(network, open).await
    }

    /// Our entry behind an open discrepancy that the external list lacks.
    async fn internal_entry_behind(&mut self, open: &DiscrepancyDetails) -> ReadFuture<Option<InternalEntry>> {
        match (open.entry_kind, open.source.network()) {
            (EntryKind::OutgoingTransfer, Some(network)) => {
                let Some(subject) = open.subject.as_deref() else {
                    return Ok(None);
                };
                Ok(internal_entries::sent_transfer(
                    network,
                    (&open.key, subject),
                    self.recorded_transfers().await?,
                ))
            }
            (EntryKind::BridgeTransfer, _) => Ok(internal_entries::bridge_transfer(
                &open.key,
                self.recorded_transfers().await?,
            )),
            _ => internal_entries::entity_behind(&*self.store, open)
                .await
                .map_err(error_text),
        }
    }

    fn has_list(&self, source: ReconciliationSource) -> bool {
        let lists = &self.deps.lists;
        match source.network() {
            Some(_) => lists.treasury.is_some(),
            None => lists.providers.contains_key(&source),
        }
    }

    /// Our entry for an entry of a provider's list.
    async fn internal_entry_listed(
        &mut self,
        source: ReconciliationSource,
        entry: &ProviderEntry,
    ) -> ReadFuture<Option<InternalEntry>> {
        if source.entry_kind() == EntryKind::BridgeTransfer {
            return Ok(internal_entries::bridge_transfer(
                entry.name.as_str(),
                self.recorded_transfers().await?,
            ));
        }
        let named = (&entry.name, entry.returned_transfer);
        internal_entries::for_listed(&*self.store, source, named)
            .await
            .map_err(error_text)
    }

    /// Outgoing and bridge transfers by our records, read once a step. Anything newer is within the grace window.
    async fn recorded_transfers(&mut self) -> ReadFuture<&RecordedTransfers> {
        if !self.is_fresh {
            self.known = Some(RecordedTransfers::read(&*self.store).await.map_err(error_text)?);
            self.is_fresh = true;
        }
        self.known.as_ref().ok_or_else(|| "nothing was read".to_owned())
    }

    /// A provider's entry by its key.
    async fn provider_entry(&mut self, source: ReconciliationSource, key: &str) -> ReadFuture<CounterpartyEntry> {
        let Some(list) = self.deps.lists.providers.get(&source).cloned() else {
            return Ok(CounterpartyEntry::Nothing);
        };
        let name = EntryKey::new(key.to_owned()).ok_or("it has no name that can be asked for")?;
        let entry = self.with_timeout(source, list.entry(&name)).await?;
        Ok(entry.map_or(CounterpartyEntry::Nothing, |entry| {
            CounterpartyEntry::ProviderEntry(Box::new(entry))
        }))
    }

    fn classify(
        &self,
        (source, flow, key): (ReconciliationSource, EntryKind, &str),
        ours: Option<&InternalEntry>,
        theirs: Option<&ListedEntry>,
    ) -> Option<DiscrepancyDetails> {
        let moment = GraceWindow {
            now: self.clock.now(),
            grace_ms: self.deps.settings.grace_ms,
        };
        let kind = compare(flow, ours.map(|ours| &ours.listed), theirs, moment)?;
        Some(DiscrepancyDetails {
            source,
            entry_kind: flow,
            key: key.to_owned(),
            subject: ours.map(|ours| ours.subject.clone()),
            kind,
            internal: ours.map(|ours| ours.listed.to_string()),
            external: theirs.map(ListedEntry::to_string),
        })
    }

    /// Reads a list with a timeout. A source that times out is not queried again in this step, so that it does not
    /// delay the others.
    async fn with_timeout<T>(
        &mut self,
        source: ReconciliationSource,
        answer: BoxFuture<'_, Result<T, PortError>>,
    ) -> ReadFuture<T> {
        if self.silent.contains(&source) {
            return Err("it did not answer in this step".to_owned());
        }
        let patience = Duration::from_millis(self.deps.settings.timeout_ms);
        let error = match tokio::time::timeout(patience, answer).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if error.kind == ErrorKind::Permanent => return Err(error_text(error)),
            Ok(Err(error)) => error_text(error),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(list = source.name(), error, "a list does not answer");
        self.silent.insert(source);
        Err(error)
    }
}

/// An entry of an external list.
enum CounterpartyEntry {
    Nothing,
    /// A transfer as the chain lists it.
    ChainMovement(Box<ChainMovement>),
    /// An entry as the provider lists it.
    ProviderEntry(Box<ProviderEntry>),
}

impl CounterpartyEntry {
    /// Key of the transfer on the chain's list.
    fn key(&self) -> Option<String> {
        match self {
            Self::ChainMovement(moved) => Some(moved.key()),
            Self::Nothing | Self::ProviderEntry(_) => None,
        }
    }

    fn listed(&self) -> Option<ListedEntry> {
        match self {
            Self::Nothing => None,
            Self::ChainMovement(moved) => Some(listed_movement(moved)),
            Self::ProviderEntry(entry) => Some(listed_entry(entry)),
        }
    }
}

const fn entry_kind_of(moved: &ChainMovement) -> EntryKind {
    if moved.incoming {
        EntryKind::Deposit
    } else {
        EntryKind::OutgoingTransfer
    }
}

const fn listed_movement(moved: &ChainMovement) -> ListedEntry {
    ListedEntry {
        status: EntryStatus::Completed,
        amount: EntryAmount::Usdc(moved.amount),
        at: moved.at,
    }
}

const fn listed_entry(entry: &ProviderEntry) -> ListedEntry {
    ListedEntry {
        status: entry.status,
        amount: entry.amount,
        at: entry.at,
    }
}
