//! A chain's own list, from which everything in the books takes its transfer: what is left over is in no book.

use std::collections::BTreeMap;

use super::ChainTransfer;

/// What nobody has taken yet, by transaction and place in it.
pub(super) struct OnChain<'a>(BTreeMap<(String, u32), &'a ChainTransfer>);

/// A transaction, and the place in it where the name says so.
fn parts(name: &str) -> (&str, Option<u32>) {
    let place = name
        .rsplit_once('#')
        .and_then(|(hash, index)| Some((hash, index.parse().ok()?)));
    place.map_or((name, None), |(hash, index)| (hash, Some(index)))
}

/// Whether a name says which transfer of its transaction is meant: whoever is sure comes first.
pub(super) fn is_exact(name: &str) -> bool {
    parts(name).1.is_some()
}

impl<'a> OnChain<'a> {
    pub(super) fn of(transfers: impl Iterator<Item = &'a ChainTransfer>) -> Self {
        Self(transfers.map(|t| ((t.transaction.clone(), t.index), t)).collect())
    }

    /// The transfer of this name, which is nobody else's from now on. Where only the transaction is named it is one that fits, or
    /// any.
    pub(super) fn take(&mut self, name: &str, fits: impl Fn(&ChainTransfer) -> bool) -> Option<&'a ChainTransfer> {
        let (hash, index) = parts(name);
        let place = match index {
            Some(index) => (hash.to_owned(), index),
            None => {
                let whole = (hash.to_owned(), 0)..=(hash.to_owned(), u32::MAX);
                let in_it: Vec<_> = self.0.range(whole).collect();
                let fitting = in_it.iter().find(|(_, transfer)| fits(transfer));
                fitting.or(in_it.first()).map(|(place, _)| (*place).clone())?
            }
        };
        self.0.remove(&place)
    }

    /// Any that fits, which is nobody else's from now on.
    pub(super) fn take_any(&mut self, fits: impl Fn(&str, &ChainTransfer) -> bool) -> Option<&'a ChainTransfer> {
        let found = self.0.iter().find(|((hash, _), transfer)| fits(hash, transfer));
        let place = found.map(|(place, _)| place.clone())?;
        self.0.remove(&place)
    }

    /// What nobody has taken, by name.
    pub(super) fn left_over(self) -> impl Iterator<Item = (String, &'a ChainTransfer)> {
        self.0.into_iter().map(|((hash, index), transfer)| match index {
            0 => (hash, transfer),
            index => (format!("{hash}#{index}"), transfer),
        })
    }
}

#[cfg(test)]
mod tests {
    use purser_actors::id::Wallet;

    use super::{ChainTransfer, OnChain};

    fn moved(index: u32, to: u8, atomic: u64) -> ChainTransfer {
        ChainTransfer {
            transaction: "batch".into(),
            index,
            from: Wallet::Evm([1; 20]),
            to: Wallet::Evm([to; 20]),
            atomic,
            at_ms: 0,
        }
    }

    #[test]
    fn each_transfer_of_a_transaction_is_taken_once() {
        // Aim: three transfers of one transaction, two of them alike: each name takes its own, the bare one what fits, a third claim on
        // two that are alike finds only what does not fit, and one that nobody claims is left over by its name.
        let all = [moved(1, 2, 5), moved(4, 2, 5), moved(7, 3, 9)];
        let mut chain = OnChain::of(all.iter());
        let five = |t: &ChainTransfer| t.atomic == 5;
        let index = |t: Option<&ChainTransfer>| t.map(|t| t.index);
        assert_eq!(index(chain.take("batch#4", five)), Some(4));
        assert_eq!(index(chain.take("batch#4", five)), None, "it is taken");
        assert_eq!(index(chain.take("another", five)), None);
        assert_eq!(index(chain.take("batch", five)), Some(1));
        let left: Vec<String> = chain.left_over().map(|(name, _)| name).collect();
        assert_eq!(left, ["batch#7"]);
        let mut chain = OnChain::of(all.iter());
        let taken: Vec<_> = (0..3).map(|_| index(chain.take("batch", five))).collect();
        assert_eq!(
            taken,
            [Some(1), Some(4), Some(7)],
            "the last does not fit, and whoever takes it says so"
        );
    }
}
