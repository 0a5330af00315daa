//! The bridge's list of transfers, each from the observed burn until the mint.

use purser_actors::money::Usdc;
use purser_actors::port::{BoxFuture, EntryKey, ListCursor, ListPage, PortError, ProviderEntry, ProviderList};
use purser_actors::reconciliation::{EntryAmount, EntryStatus};

use super::records::{BridgeRecord, BridgeRecordKind, BridgeRecords};
use super::{SandboxBridge, has, signed_of};
use crate::provider::sandbox::issuer_reconciliation::{ListedRecord, await_durable, page, position};

/// Current entry of a bridge transfer; `None` before its burn was observed.
fn bridge_entry(book: &BridgeRecords, transaction: &str) -> Option<ProviderEntry> {
    let known = book.of(transaction);
    let signed = signed_of(&known)?;
    let last = known.iter().rev();
    let mut changes = last.filter(|noted| {
        matches!(
            noted.kind,
            BridgeRecordKind::BurnObserved | BridgeRecordKind::Minted | BridgeRecordKind::Blocked
        )
    });
    let at = changes.next()?.at;
    Some(ProviderEntry {
        name: EntryKey::new(transaction.to_owned())?,
        product: "bridge_transfer".into(),
        amount: EntryAmount::Usdc(Usdc::from_atomic(signed.burned.saturating_sub(signed.fee))),
        returned_transfer: None,
        terms: None,
        status: if has(&known, &BridgeRecordKind::Minted) {
            EntryStatus::Completed
        } else if has(&known, &BridgeRecordKind::Blocked) {
            EntryStatus::Declined
        } else {
            EntryStatus::Held
        },
        at,
    })
}

impl ProviderList for SandboxBridge {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let after = position(after)?;
            let (page, durable) = {
                let book = self.records.lock();
                let shown = |noted: &BridgeRecord| {
                    bridge_entry(&book, &noted.transaction).map_or(ListedRecord::Nothing, ListedRecord::As)
                };
                (page(&book.rows, after, limit, shown), book.rows.barrier())
            };
            await_durable(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let book = self.records.lock();
                (bridge_entry(&book, name.as_str()), book.rows.barrier())
            };
            await_durable(found, durable).await
        })
    }
}
