//! Settled transfers, found by transaction and by position in the chain's history.

use std::collections::BTreeSet;

use super::rows::transaction_hash;
use super::{ChainLedger, ReplayKey, SettledTransfer};

impl ChainLedger {
    /// The first transfer of the transaction with this id, dropped or not.
    pub(crate) fn find_transaction(&self, transaction: &str) -> Option<SettledTransfer> {
        self.in_transaction(transaction).into_iter().next()
    }

    /// All transfers of the transaction with this id, dropped or not, in their order.
    pub(crate) fn in_transaction(&self, transaction: &str) -> Vec<SettledTransfer> {
        let near = self.rows.find(transaction_hash(transaction));
        let its = near.iter().filter_map(|record| {
            let (transfer, index) = record.transferred()?;
            (transfer.transaction == transaction).then_some((index, transfer.key))
        });
        let places: BTreeSet<(u32, ReplayKey)> = its.collect();
        let newest = |(_, key): &(u32, ReplayKey)| {
            let mut all = self.settled_transfers(key).into_iter().rev();
            all.find(|landed| landed.transfer.transaction == transaction)
        };
        places.iter().filter_map(newest).collect()
    }

    /// Settled transfers from this position on (the first is 0), in order, at most `limit`.
    pub(crate) fn history(&self, from: u64, limit: usize) -> Vec<(u64, SettledTransfer)> {
        let mut page = Vec::new();
        if limit == 0 {
            return page;
        }
        self.rows.scan(from, |place, record| {
            if let Some((transfer, index)) = record.transferred() {
                page.push((
                    place,
                    SettledTransfer {
                        transfer: transfer.clone(),
                        index,
                        reorged: false,
                    },
                ));
            }
            page.len() < limit
        });
        for (_, seen) in &mut page {
            let key = seen.transfer.key;
            let dropped = |landed: &SettledTransfer| landed.reorged && landed.transfer == seen.transfer;
            seen.reorged = self.was_reorganised(&key) && self.settled_transfers(&key).iter().any(dropped);
        }
        page
    }
}
