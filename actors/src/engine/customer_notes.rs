//! Notes of operators on customers. A note is a record of the audit log, so none can be changed or removed. A row leads
//! from the account to its notes.

use purser_storage::codec;
use purser_storage::{CommitError, StoreError, Write};

use super::operator_actions::AuditEntry;
use super::operators::corrupt;
use super::{Engine, OperationError};
use crate::id::Wallet;
use crate::kernel::{audit_log, table};
use crate::operator::{AuditAction, AuditExtras, AuditRecord, OperatorAction};

/// The same note of the same operator within this time is the repetition of a request whose response was lost.
const REPEATED_WITHIN_MS: u64 = 60_000;

/// A record of the audit log with the hash of its row.
type HashedRecord = (AuditRecord, [u8; 32]);

impl Engine {
    /// Writes a note on an account and returns it. Within a minute, the same text of the same operator is not written
    /// again.
    ///
    /// # Errors
    /// When the store rejects it.
    pub async fn add_customer_note(
        &self,
        account: &Wallet,
        text: String,
        act: &OperatorAction,
    ) -> Result<HashedRecord, OperationError<()>> {
        let unavailable = |_: StoreError| OperationError::Unavailable;
        let one = self.lock_operator().await;
        let newest = self.customer_notes(account, None, 1).await.map_err(unavailable)?.pop();
        let now = self.0.clock.now();
        if let Some(newest) = newest.filter(|(note, _)| {
            note.act.operator == act.operator
                && note.note.as_ref() == Some(&text)
                && now < note.at.plus_ms(REPEATED_WITHIN_MS)
        }) {
            return Ok(newest);
        }
        let entry = AuditEntry {
            act,
            action: AuditAction::CustomerNote,
            subject: account.to_string(),
            note: Some(text),
            extras: AuditExtras::default(),
        };
        let row = |number| Write::Put {
            key: table::customer_note(account, number),
            revision: number,
            value: Vec::new(),
        };
        let committed = self.commit_by_position(&one, &entry, &[], |position| vec![row(position.sequence)]);
        let position = committed.await.map_err(|_: CommitError| OperationError::Unavailable)?;
        let written = self.audit_record(position.sequence).await.map_err(unavailable)?;
        written.ok_or(OperationError::Unavailable)
    }

    /// Notes on an account, newest first, before the audit record with this number; at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn customer_notes(
        &self,
        account: &Wallet,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<HashedRecord>, StoreError> {
        let after = before.map(|number| table::customer_note(account, number));
        let prefix = table::customer_notes(account);
        let rows = self.0.store.scan(&prefix, after.as_deref(), limit).await?;
        let mut notes = Vec::with_capacity(rows.len());
        for (_, row) in rows {
            notes.extend(self.audit_record(row.revision).await?);
        }
        Ok(notes)
    }

    async fn audit_record(&self, number: u64) -> Result<Option<HashedRecord>, StoreError> {
        let row = self.0.store.read(&table::audit(number)).await?;
        let decoded = row.map(|row| {
            let record = codec::decode(&row.value).map_err(corrupt)?;
            Ok((record, audit_log::hash_of(&row.value)))
        });
        decoded.transpose()
    }
}
