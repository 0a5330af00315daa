//! The chain's own list of transfers. Every ledger record takes its transfer from it; what is left has no ledger
//! record.

use std::collections::BTreeMap;

use super::ChainTransfer;

/// Transfers that no record has taken yet, by transaction and index in it.
pub(super) struct UnmatchedTransfers<'a> {
    transfers: BTreeMap<(String, u32), &'a ChainTransfer>,
    /// The transfers that used a signed authorization, by its fingerprint.
    signed: BTreeMap<[u8; 32], Vec<(String, u32)>>,
}

/// A transaction, and the index in it where the name has one.
fn parts(name: &str) -> (&str, Option<u32>) {
    let place = name
        .rsplit_once('#')
        .and_then(|(hash, index)| Some((hash, index.parse().ok()?)));
    place.map_or((name, None), |(hash, index)| (hash, Some(index)))
}

/// Whether a name contains the index of the transfer in its transaction. Exact names take their transfers first.
pub(super) fn is_exact(name: &str) -> bool {
    parts(name).1.is_some()
}

impl<'a> UnmatchedTransfers<'a> {
    pub(super) fn of(transfers: impl Iterator<Item = &'a ChainTransfer>) -> Self {
        let (mut all, mut signed) = (BTreeMap::new(), BTreeMap::<_, Vec<_>>::new());
        for transfer in transfers {
            let place = (transfer.transaction.clone(), transfer.index);
            if let Some(mark) = transfer.mark {
                signed.entry(mark).or_default().push(place.clone());
            }
            all.insert(place, transfer);
        }
        Self { transfers: all, signed }
    }

    /// Takes the transfer that used the authorization with this fingerprint, in any transaction. The index in this name
    /// is preferred.
    pub(super) fn take_signed(
        &mut self,
        mark: &[u8; 32],
        name: &str,
        fits: impl Fn(&ChainTransfer) -> bool,
    ) -> Option<&'a ChainTransfer> {
        let (hash, index) = parts(name);
        let fitting = |place: &&(String, u32)| self.transfers.get(*place).is_some_and(|transfer| fits(transfer));
        let mut places: Vec<_> = self.signed.get(mark)?.iter().filter(fitting).collect();
        places.sort_by_key(|(own, at)| (own != hash, index.is_some_and(|index| index != *at)));
        let place = (*places.first()?).clone();
        self.transfers.remove(&place)
    }

    /// Takes the transfer with this name. If the name has only a transaction, takes one that fits, or else any of it.
    pub(super) fn take(&mut self, name: &str, fits: impl Fn(&ChainTransfer) -> bool) -> Option<&'a ChainTransfer> {
        let (hash, index) = parts(name);
        let place = match index {
            Some(index) => (hash.to_owned(), index),
            None => {
                let whole = (hash.to_owned(), 0)..=(hash.to_owned(), u32::MAX);
                let in_it: Vec<_> = self.transfers.range(whole).collect();
                let fitting = in_it.iter().find(|(_, transfer)| fits(transfer));
                fitting.or(in_it.first()).map(|(place, _)| (*place).clone())?
            }
        };
        self.transfers.remove(&place)
    }

    /// Takes any transfer that fits.
    pub(super) fn take_any(&mut self, fits: impl Fn(&str, &ChainTransfer) -> bool) -> Option<&'a ChainTransfer> {
        let found = self.transfers.iter().find(|((hash, _), transfer)| fits(hash, transfer));
        let place = found.map(|(place, _)| place.clone())?;
        self.transfers.remove(&place)
    }

    /// The transfers that no record has taken, by name.
    pub(super) fn unmatched(self) -> impl Iterator<Item = (String, &'a ChainTransfer)> {
        self.transfers.into_iter().map(|((hash, index), transfer)| match index {
            0 => (hash, transfer),
            index => (format!("{hash}#{index}"), transfer),
        })
    }
}

#[cfg(test)]
mod tests {
    use purser_actors::id::Wallet;

    use super::{ChainTransfer, UnmatchedTransfers};

    fn moved(index: u32, to: u8, atomic: u64) -> ChainTransfer {
        ChainTransfer {
            transaction: "batch".into(),
            index,
            from: Wallet::Evm([1; 20]),
            to: Wallet::Evm([to; 20]),
            atomic,
            at_ms: 0,
            mark: None,
        }
    }

    #[test]
    fn transfer_in_another_transaction_is_matched_by_fingerprint() {
        // Checks: a fingerprint takes its transfer in any transaction, once, and only if it fits. Of two under one
        // fingerprint, the named one is taken.
        let of = |transfer: ChainTransfer, name: &str, mark| ChainTransfer {
            transaction: name.into(),
            mark: Some([mark; 32]),
            ..transfer
        };
        let all = [
            of(moved(0, 2, 5), "again", 1),
            of(moved(1, 2, 6), "again", 2),
            of(moved(0, 3, 9), "pair", 7),
            of(moved(1, 3, 9), "pair", 7),
        ];
        let mut chain = UnmatchedTransfers::of(all.iter());
        let atomic = |atomic| move |t: &ChainTransfer| t.atomic == atomic;
        assert!(
            chain.take_signed(&[1; 32], "gone", atomic(6)).is_none(),
            "it does not fit"
        );
        assert!(chain.take_signed(&[1; 32], "gone", atomic(5)).is_some());
        assert!(chain.take_signed(&[2; 32], "gone", atomic(6)).is_some());
        assert!(chain.take_signed(&[2; 32], "gone", atomic(6)).is_none(), "it is taken");
        let named = chain.take_signed(&[7; 32], "pair#1", atomic(9));
        assert_eq!(named.map(|t| t.index), Some(1));
        assert_eq!(chain.unmatched().count(), 1);
    }

    #[test]
    fn each_transfer_of_a_transaction_is_taken_once() {
        // Checks three transfers of one transaction, two of them alike. Each exact name takes its own transfer and the
        // bare name takes one that fits. A third claim on two alike finds only one that does not fit. An unclaimed
        // transfer is returned by its name.
        let all = [moved(1, 2, 5), moved(4, 2, 5), moved(7, 3, 9)];
        let mut chain = UnmatchedTransfers::of(all.iter());
        let five = |t: &ChainTransfer| t.atomic == 5;
        let index = |t: Option<&ChainTransfer>| t.map(|t| t.index);
        assert_eq!(index(chain.take("batch#4", five)), Some(4));
        assert_eq!(index(chain.take("batch#4", five)), None, "it is taken");
        assert_eq!(index(chain.take("another", five)), None);
        assert_eq!(index(chain.take("batch", five)), Some(1));
        let left: Vec<String> = chain.unmatched().map(|(name, _)| name).collect();
        assert_eq!(left, ["batch#7"]);
        let mut chain = UnmatchedTransfers::of(all.iter());
        let taken: Vec<_> = (0..3).map(|_| index(chain.take("batch", five))).collect();
        assert_eq!(
            taken,
            [Some(1), Some(4), Some(7)],
            "the last one does not match, and the caller that takes it reports that"
        );
    }
}
