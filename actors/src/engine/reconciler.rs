//! Reconciliation: our books and everybody else's lists, walked through side by side. Whoever lists something that we do not
//! have is found by its list, whoever lacks what we have by our books; each is one look-up on the other side, so that
//! nothing is remembered of a walk but its place.

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
use crate::discrepancy::DiscrepancyDetails;
use crate::port::{
    BoxFuture, ChainMovement, Clock, EntryKey, ErrorKind, PortError, ProviderEntry, ReconciliationLists,
};
use crate::reconciliation::{
    EntryAmount, EntryKind, EntryStatus, GraceWindow, ListedEntry, ReconciliationSource, compare,
};

pub use self::cursor::ReconciliationCursor;
pub use self::status::{CompletedRun, OpenDiscrepancy, ReconciliationStatus};
pub(super) use self::worker::{ReconciliationStats, spawn};

/// Whose lists there are, and how they are walked through.
#[derive(Clone)]
pub struct ReconcilerDeps {
    /// Everybody's.
    pub lists: ReconciliationLists,
    /// How fast.
    pub settings: ReconcilerSettings,
}

/// How fast lists are walked through.
#[derive(Clone, Copy, Debug)]
pub struct ReconcilerSettings {
    /// Between two steps of a walk, in milliseconds.
    pub pause_ms: u64,
    /// Between two walks, in milliseconds.
    pub rest_ms: u64,
    /// Things that one step compares, about.
    pub page: usize,
    /// See [`Moment::grace_ms`].
    pub grace_ms: u64,
    /// After which a list that does not answer is left out of a walk, in milliseconds.
    pub timeout_ms: u64,
}

/// Reads both sides and says where they differ. It changes nothing.
pub struct Reconciler {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    deps: ReconcilerDeps,
    secret: [u8; 32],
    /// What left the treasury by our books, as last read.
    known: Option<RecordedTransfers>,
    /// Whether that was in this step: it is a look at every withdrawal and top-up, so that there is one a step.
    is_fresh: bool,
    /// Who has not answered in this step, and is not waited for again in it.
    silent: BTreeSet<ReconciliationSource>,
}

type ReadFuture<T> = Result<T, String>;

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Reconciler {
    /// Over a store and the lists.
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

    /// Goes on with a walk for about a page, and returns what differs. What cannot be read, a list or a row, is left out,
    /// which the walk knows.
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

    /// A page of somebody's list, each held against our books; how many there were.
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

    /// One thing of a list. A row of ours that cannot be read hides none of the others.
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

    /// A page of our books, each held against the lists that should have it; how many rows there were.
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

    /// Holds what once differed against both sides again; `None` when it does not any more.
    ///
    /// # Errors
    /// When a side could not be read: then nothing is known.
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

    /// Our row behind what once differed, though the other side does not have it.
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

    /// What our books say of an entry of a provider's list.
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

    /// What left, and what crosses, by our books: read anew, once a step. What came since is younger than any time of grace.
    async fn recorded_transfers(&mut self) -> ReadFuture<&RecordedTransfers> {
        if !self.is_fresh {
            self.known = Some(RecordedTransfers::read(&*self.store).await.map_err(error_text)?);
            self.is_fresh = true;
        }
        self.known.as_ref().ok_or_else(|| "nothing was read".to_owned())
    }

    /// What a provider says of something by its name there.
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

    /// Asks a list. Who does not answer is not waited for again in this step: it must not slow what others are asked.
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

/// What the other side has.
enum CounterpartyEntry {
    Nothing,
    /// All that a chain shows of it.
    ChainMovement(Box<ChainMovement>),
    /// All that a provider lists of it.
    ProviderEntry(Box<ProviderEntry>),
}

impl CounterpartyEntry {
    /// Its name on a chain's list.
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
