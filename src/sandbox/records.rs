//! Typed records of one chain or provider, and its state, as rows of the sandbox's journal.
//!
//! A [`RecordBook`] decides under its owner's lock ([`Records`]); [`RecordBook::append`] applies its records in memory
//! and enqueues them with the changed state as one batch. A record stays in memory until its batch is durable, so the next decision
//! sees it at once. Older ones are read from the store: by name ([`RecordRows::find`]) or by number
//! ([`RecordRows::scan`]).
//!
//! A row's first byte is its table and kind. Then follow: for a numbered record its number; for another record its
//! position among all records; for a name the name and the record's position; for state the field and its key.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use purser_actors::id::JobId;
use purser_actors::port::{ErrorKind, PortError};
use purser_storage::codec::{self, DecodeError, Stored};
use purser_storage::{Batch, JournalStore, Row, RowKey, Store as _, StoreError, Write};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::state::StateField;
use super::store::{DurablePromise, SandboxStore, SandboxStoreError, Table};

/// Rows read at a time.
const PAGE: usize = 256;

/// A stored record. One without names and number is only applied.
pub trait SandboxRecord: Stored + Clone {
    /// The names ([`name`]) by which it is looked up.
    fn names(&self) -> Vec<u64>;

    /// Whether it has a number in its owner's history.
    fn is_numbered(&self) -> bool;
}

/// A name. Different inputs have different names, except for a chance of 2^-64 per pair.
pub fn name(parts: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize()
        .iter()
        .take(8)
        .fold(0, |name, byte| name << 8 | u64::from(*byte))
}

/// The name of an order's key.
pub fn key_name(key: JobId) -> u64 {
    name(&[b"key", &key.0.to_be_bytes()])
}

/// What a book stores.
pub trait RecordFields {
    type Record: SandboxRecord;

    fn rows(&self) -> &RecordRows<Self::Record>;

    fn rows_mut(&mut self) -> &mut RecordRows<Self::Record>;

    /// Everything that is stored besides the records. The order is stored: new fields come last.
    fn fields(&mut self) -> Vec<&mut dyn StateField>;
}

/// Defines a book. Its fields are stored in their order, so new ones come last; those in `memory` are not stored.
///
/// ```ignore
/// record_book! {
///     /// Checks that were started.
///     pub(super) struct CheckRecords of CheckRecord { pub(super) totals: StoredValue<CheckTotals>, }
/// }
/// // becomes
/// #[derive(Default)]
/// pub(super) struct CheckRecords {
///     pub(super) rows: RecordRows<CheckRecord>,
///     pub(super) totals: StoredValue<CheckTotals>,
/// }
/// // and `impl RecordFields for CheckRecords`, whose `fields` are `totals`
/// ```
#[macro_export]
macro_rules! record_book {
    ($(#[$doc:meta])* $vis:vis struct $book:ident of $record:ty {
        $($(#[$field_doc:meta])* $field_vis:vis $field:ident: $field_type:ty,)*
    } $(memory { $($(#[$memory_doc:meta])* $memory:ident: $memory_type:ty,)* })?) => {
        $(#[$doc])*
        #[derive(Default)]
        $vis struct $book {
            $vis rows: $crate::records::RecordRows<$record>,
            $($(#[$field_doc])* $field_vis $field: $field_type,)*
            $($($(#[$memory_doc])* $memory: $memory_type,)*)?
        }

        impl $crate::records::RecordFields for $book {
            type Record = $record;

            fn rows(&self) -> &$crate::records::RecordRows<$record> {
                &self.rows
            }

            fn rows_mut(&mut self) -> &mut $crate::records::RecordRows<$record> {
                &mut self.rows
            }

            fn fields(&mut self) -> Vec<&mut dyn $crate::state::StateField> {
                vec![$(&mut self.$field),*]
            }
        }
    };
}

/// The state of a chain or provider, with its records.
pub trait RecordBook: RecordFields + Sized {
    /// Changes the state by a new record.
    ///
    /// # Errors
    /// For a record that this book cannot have made.
    fn apply(&mut self, record: &Self::Record) -> Result<(), String> {
        let _ = record;
        Ok(())
    }

    /// Loads the state of its table.
    ///
    /// # Errors
    /// When the store fails or a row does not fit.
    fn open(mut self, store: &SandboxStore, table: Table) -> Result<Self, SandboxStoreError> {
        let rows = self.rows_mut();
        rows.table = Some((Arc::clone(store.journal()), table));
        let loaded = self.rows_mut().load_state()?;
        let mut fields = self.fields();
        for (field, key, value) in loaded {
            let place = fields.get_mut(field).ok_or("a field of a later version".to_owned());
            place
                .and_then(|place| place.load(&key, &value))
                .map_err(|what| SandboxStoreError::Corrupt(format!("{table:?}, field {field}: {what}")))?;
        }
        Ok(self)
    }

    /// Applies a record and adds it to the batch that the next [`RecordBook::append`] completes.
    ///
    /// # Errors
    /// As [`RecordBook::apply`].
    fn accept(&mut self, record: &Self::Record) -> Result<(), String> {
        self.apply(record)?;
        self.rows_mut().add(record.clone());
        Ok(())
    }

    /// Applies records and enqueues them as one batch. [`RecordRows::barrier`] waits for it.
    fn append(&mut self, records: &[Self::Record]) {
        if self.rows().has_failed() {
            return;
        }
        for record in records {
            if let Err(error) = self.accept(record) {
                // The record was made by this book under the same lock. Nothing built on it may become durable.
                tracing::error!(error, "a sandbox provider refused its own record");
                self.rows().progress.failed.store(true, Ordering::Release);
                return;
            }
        }
        let mut changes = Vec::new();
        for (field, state) in self.fields().into_iter().enumerate() {
            state.take_changes(&mut |key, value| changes.push((field, key, value)));
        }
        self.rows_mut().commit(changes);
    }
}

/// A book behind the lock of its owner's calls.
pub struct Records<B>(Mutex<B>);

impl<B: RecordBook + Default> Records<B> {
    /// Opens the book's table.
    ///
    /// # Errors
    /// As [`RecordBook::open`].
    pub fn open(store: &SandboxStore, table: Table) -> Result<Self, SandboxStoreError> {
        B::default().open(store, table).map(|book| Self(Mutex::new(book)))
    }
}

impl<B: RecordBook> Records<B> {
    pub fn lock(&self) -> MutexGuard<'_, B> {
        self.0.lock()
    }

    /// Reads or changes the book under its lock.
    pub fn run<T>(&self, act: impl FnOnce(&mut B) -> T) -> Durable<T> {
        let mut book = self.0.lock();
        let result = act(&mut book);
        let sync = book.rows_mut().barrier();
        Durable { result, sync }
    }
}

/// A result, which may be reported once everything that it rests on is durable.
#[must_use = "an answer must wait until what it rests on is durable"]
pub struct Durable<T> {
    result: T,
    sync: DurablePromise,
}

impl<T> Durable<T> {
    /// Waits for the sync.
    ///
    /// # Errors
    /// As [`DurablePromise::wait`].
    pub async fn wait(self) -> Result<T, SandboxStoreError> {
        self.sync.wait().await.map(|()| self.result)
    }

    /// The same with a provider's error of this kind.
    ///
    /// # Errors
    /// As [`DurablePromise::wait`].
    pub async fn or(self, kind: ErrorKind, operation: &'static str) -> Result<T, PortError> {
        self.sync.or(kind, operation).await.map(|()| self.result)
    }
}

/// Kinds of rows of a table.
#[derive(Clone, Copy)]
enum RowKind {
    State = 0,
    Numbered = 1,
    Unnumbered = 2,
    Name = 3,
}

fn key(table: Table, kind: RowKind, parts: &[&[u8]]) -> RowKey {
    let mut key = vec![(table as u8) << 2 | kind as u8];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key.into()
}

/// What the committing thread reports.
#[derive(Debug, Default)]
struct CommitProgress {
    /// Number of durable batches since the start.
    durable: AtomicU64,
    failed: AtomicBool,
}

#[derive(Debug)]
struct PendingRecord<T> {
    batch: u64,
    position: u64,
    number: Option<u64>,
    names: Vec<u64>,
    record: T,
}

/// The records of one book. Without a table, as in tests of a book alone, they are in memory only.
pub struct RecordRows<T> {
    table: Option<(Arc<JournalStore>, Table)>,
    /// Records whose batch may not be durable yet, in order.
    pending: VecDeque<PendingRecord<T>>,
    /// Position of the next record.
    next: u64,
    /// Number of the next numbered record.
    numbered: u64,
    /// Batches enqueued since the start.
    batches: u64,
    progress: Arc<CommitProgress>,
    writes: Vec<Write>,
    /// Reports the newest batch; taken by the first that waits for it.
    newest: Option<oneshot::Receiver<bool>>,
}

impl<T> Default for RecordRows<T> {
    fn default() -> Self {
        Self {
            table: None,
            pending: VecDeque::new(),
            next: 0,
            numbered: 0,
            batches: 0,
            progress: Arc::default(),
            writes: Vec::new(),
            newest: None,
        }
    }
}

/// A field's number, and the key and value of one of its rows.
type StateRow = (usize, Vec<u8>, Vec<u8>);

impl<T: SandboxRecord> RecordRows<T> {
    /// All records with this name, oldest first; rarely also records of another name.
    pub fn find(&self, name: u64) -> Vec<T> {
        // Whatever became durable since is still pending here, so nothing is missed.
        let newer = self.pending.front().map_or(u64::MAX, |first| first.position);
        let mut found = self.known(self.stored_with(name, newer));
        let with_name = self.pending.iter().filter(|pending| pending.names.contains(&name));
        found.extend(with_name.map(|pending| pending.record.clone()));
        found
    }

    fn stored_with(&self, name: u64, newer: u64) -> Result<Vec<T>, SandboxStoreError> {
        let Some((journal, table)) = &self.table else {
            return Ok(Vec::new());
        };
        let prefix = key(*table, RowKind::Name, &[&name.to_be_bytes()]);
        let (mut found, mut after) = (Vec::new(), None::<RowKey>);
        loop {
            let page = journal.scan_rows(&prefix, after.as_deref(), PAGE)?;
            for (at, number) in &page {
                let position = &at[prefix.len()..];
                if number_of(position)? >= newer {
                    return Ok(found);
                }
                let at = match number.value.is_empty() {
                    true => key(*table, RowKind::Unnumbered, &[position]),
                    false => key(*table, RowKind::Numbered, &[&number.value]),
                };
                let row = journal.read_row(&at)?;
                let row = row.ok_or_else(|| SandboxStoreError::Corrupt("a name of no record".into()))?;
                found.push(decoded(&row)?);
            }
            if page.len() < PAGE {
                return Ok(found);
            }
            after = page.into_iter().last().map(|(key, _)| key);
        }
    }

    /// Visits the numbered records from this number on (the first is 0), in order, until `visit` returns false.
    pub fn scan(&self, from: u64, mut visit: impl FnMut(u64, &T) -> bool) {
        let first_pending = self.pending.iter().find_map(|pending| pending.number);
        let (mut at, end) = (from, first_pending.unwrap_or(self.numbered));
        while at < end {
            let page = self.known(self.stored_from(at, end));
            if page.is_empty() {
                return;
            }
            for record in page {
                if !visit(at, &record) {
                    return;
                }
                at += 1;
            }
        }
        for pending in &self.pending {
            if let Some(number) = pending.number.filter(|number| *number >= from)
                && !visit(number, &pending.record)
            {
                return;
            }
        }
    }

    fn stored_from(&self, from: u64, end: u64) -> Result<Vec<T>, SandboxStoreError> {
        let Some((journal, table)) = &self.table else {
            return Ok(Vec::new());
        };
        let before = from.checked_sub(1);
        let before = before.map(|number| key(*table, RowKind::Numbered, &[&number.to_be_bytes()]));
        let left = usize::try_from(end - from).unwrap_or(PAGE).min(PAGE);
        let page = journal.scan_rows(&key(*table, RowKind::Numbered, &[]), before.as_deref(), left)?;
        page.iter().map(|(_, row)| decoded(row)).collect()
    }

    /// What was read. After an error all lookups fail: a record that is not found could still exist.
    fn known(&self, read: Result<Vec<T>, SandboxStoreError>) -> Vec<T> {
        read.unwrap_or_else(|error| {
            tracing::error!(%error, "the sandbox's store cannot be read");
            self.progress.failed.store(true, Ordering::Release);
            Vec::new()
        })
    }

    /// Number of numbered records.
    pub const fn numbered(&self) -> u64 {
        self.numbered
    }

    /// Whether any stored record has names and no number.
    pub const fn has_unnumbered(&self) -> bool {
        self.next > self.numbered
    }

    /// Whether records can no longer be read or stored. Lookup results are meaningless then.
    pub fn has_failed(&self) -> bool {
        self.progress.failed.load(Ordering::Acquire) || self.table.as_ref().is_some_and(|(store, _)| store.has_failed())
    }

    /// Waits for all batches of this book, and reports whether lookups can be trusted.
    pub fn barrier(&mut self) -> DurablePromise {
        if self.has_failed() {
            return DurablePromise::Broken;
        }
        let newest = self.newest.take();
        match (&self.table, newest) {
            (Some(_), Some(durable)) => DurablePromise::Waiting(durable),
            (Some((journal, _)), None) if self.progress.durable.load(Ordering::Acquire) < self.batches => {
                let (done, durable) = oneshot::channel();
                let callback = Box::new(move |result: Result<_, _>| {
                    // No receiver: the caller does not wait any more.
                    let _ = done.send(result.is_ok());
                });
                journal.commit(Batch::default(), callback);
                DurablePromise::Waiting(durable)
            }
            _ => DurablePromise::Durable,
        }
    }

    fn add(&mut self, record: T) {
        let (names, is_numbered) = (record.names(), record.is_numbered());
        if names.is_empty() && !is_numbered {
            return;
        }
        let (position, number) = (self.next, is_numbered.then_some(self.numbered));
        self.next += 1;
        self.numbered += u64::from(is_numbered);
        if let Some((_, table)) = &self.table {
            let place = number.map_or_else(
                || key(*table, RowKind::Unnumbered, &[&position.to_be_bytes()]),
                |number| key(*table, RowKind::Numbered, &[&number.to_be_bytes()]),
            );
            self.writes.push(put(place, codec::encode(&record)));
            for name in &names {
                let at = key(*table, RowKind::Name, &[&name.to_be_bytes(), &position.to_be_bytes()]);
                let number = number.map_or_else(Vec::new, |number| number.to_be_bytes().to_vec());
                self.writes.push(put(at, number));
            }
        }
        self.pending.push_back(PendingRecord {
            batch: self.batches + 1,
            position,
            number,
            names,
            record,
        });
    }

    /// Enqueues the records added since, with changes of the state.
    fn commit(&mut self, changes: Vec<(usize, Vec<u8>, Option<Vec<u8>>)>) {
        let mut writes = std::mem::take(&mut self.writes);
        let Some((journal, table)) = &self.table else {
            return;
        };
        let state = |field: u8, at: &[u8]| key(*table, RowKind::State, &[&[field], at]);
        let counts = [self.next.to_be_bytes(), self.numbered.to_be_bytes()].concat();
        writes.push(put(state(COUNTS_FIELD, &[]), counts));
        for (field, at, value) in changes {
            // No book has more than a handful of fields.
            let key = state(u8::try_from(field).unwrap_or(COUNTS_FIELD - 1), &at);
            writes.push(match value {
                Some(value) => put(key, value),
                None => Write::Delete { key },
            });
        }
        self.batches += 1;
        let (batch, progress) = (self.batches, Arc::clone(&self.progress));
        let (done, durable) = oneshot::channel();
        let callback = move |result: Result<_, _>| {
            match &result {
                // In the order of the batches.
                Ok(_) => progress.durable.store(batch, Ordering::Release),
                Err(_) => progress.failed.store(true, Ordering::Release),
            }
            let _ = done.send(result.is_ok());
        };
        journal.commit(
            Batch {
                writes,
                ..Batch::default()
            },
            Box::new(callback),
        );
        let durable_batches = self.progress.durable.load(Ordering::Acquire);
        while self.pending.front().is_some_and(|first| first.batch <= durable_batches) {
            self.pending.pop_front();
        }
        self.newest = Some(durable);
    }

    /// Reads the counts of records, and all rows of the state.
    fn load_state(&mut self) -> Result<Vec<StateRow>, SandboxStoreError> {
        let Some((journal, table)) = self.table.clone() else {
            return Ok(Vec::new());
        };
        let prefix = key(table, RowKind::State, &[]);
        let (mut rows, mut after) = (Vec::new(), None::<RowKey>);
        loop {
            let page = journal.scan_rows(&prefix, after.as_deref(), PAGE)?;
            for (key, row) in &page {
                match key.get(1..) {
                    Some([COUNTS_FIELD]) => {
                        let (next, numbered) = row.value.split_at_checked(8).unwrap_or_default();
                        (self.next, self.numbered) = (number_of(next)?, number_of(numbered)?);
                    }
                    Some([field, at @ ..]) => rows.push((usize::from(*field), at.to_vec(), row.value.to_vec())),
                    _ => return Err(SandboxStoreError::Corrupt("a state row without a field".into())),
                }
            }
            if page.len() < PAGE {
                return Ok(rows);
            }
            after = page.into_iter().last().map(|(key, _)| key);
        }
    }

    /// Number of records in memory.
    #[cfg(test)]
    pub(crate) fn resident(&self) -> usize {
        self.pending.len()
    }
}

/// The state row with the counts of records.
const COUNTS_FIELD: u8 = u8::MAX;

const fn put(key: RowKey, value: Vec<u8>) -> Write {
    Write::Put {
        key,
        revision: 0,
        value,
    }
}

fn number_of(bytes: &[u8]) -> Result<u64, SandboxStoreError> {
    let bytes = bytes.try_into();
    bytes
        .map(u64::from_be_bytes)
        .map_err(|_| SandboxStoreError::Corrupt("a number that is not of eight bytes".into()))
}

fn decoded<T: Stored>(row: &Row) -> Result<T, SandboxStoreError> {
    codec::decode(&row.value).map_err(|error: DecodeError| StoreError::Corrupt(error.to_string()).into())
}

#[cfg(test)]
mod tests;
