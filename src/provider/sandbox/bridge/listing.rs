//! The bridge's list of what it carries: from the burn that the attesters saw until it is minted.

use purser_actors::money::Usdc;
use purser_actors::port::{BoxFuture, Cursor, Entry, EntryName, Page, PortError, ProviderList};
use purser_actors::reconcile::{Money, Standing};

use super::book::{BridgeBook, Noted, What};
use super::{SandboxBridge, has, signed_of};
use crate::provider::sandbox::listing::{Shown, durably, page, place};

/// A crossing as it stands now; `None` before its burn was seen.
fn crossing(book: &BridgeBook, transaction: &str) -> Option<Entry> {
    let known = book.of(transaction);
    let signed = signed_of(&known)?;
    let last = known.iter().rev();
    let mut changes = last.filter(|noted| matches!(noted.what, What::Seen | What::Minted | What::Blocked));
    let at = changes.next()?.at;
    Some(Entry {
        name: EntryName::new(transaction.to_owned())?,
        product: "crossing".into(),
        money: Money::Usdc(Usdc::from_atomic(signed.burned.saturating_sub(signed.fee))),
        returns: None,
        terms: None,
        standing: if has(&known, &What::Minted) {
            Standing::Done
        } else if has(&known, &What::Blocked) {
            Standing::Refused
        } else {
            Standing::Held
        },
        at,
    })
}

impl ProviderList for SandboxBridge {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        Box::pin(async move {
            let after = place(after)?;
            let (page, durable) = {
                let book = self.book.lock();
                let shown = |noted: &Noted| crossing(&book, &noted.transaction).map_or(Shown::Nothing, Shown::As);
                (page(&book.shelf, after, limit, shown), self.archive.barrier())
            };
            durably(page, durable).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Entry>, PortError>> {
        Box::pin(async move {
            let (found, durable) = {
                let book = self.book.lock();
                (crossing(&book, name.as_str()), self.archive.barrier())
            };
            durably(found, durable).await
        })
    }
}
