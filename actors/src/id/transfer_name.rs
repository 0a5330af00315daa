//! Names of transfers on their chains.

use std::fmt;

/// Name of a transfer on its chain: the transaction and an index in it. As text `transaction#index`. Text without an
/// index names the transaction. The transfer is then the only one in it, or the first, if a row from before the index
/// existed has the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferName {
    /// The chain's transaction id.
    pub transaction: String,
    /// See `ChainMovement::index`; `None` if only the transaction is named.
    pub index: Option<u32>,
}

impl TransferName {
    /// Parses a name. `None` if the transaction is empty or the index is no number.
    pub fn parse(text: &str) -> Option<Self> {
        let (transaction, index) = match text.rsplit_once('#') {
            Some((transaction, index)) => (transaction, Some(index.parse().ok()?)),
            None => (text, None),
        };
        (!transaction.is_empty()).then(|| Self {
            transaction: transaction.to_owned(),
            index,
        })
    }

    /// The transaction part of a name: the part that explorers, the bridge and clients know.
    pub fn transaction_of(text: &str) -> &str {
        text.split_once('#').map_or(text, |(transaction, _)| transaction)
    }
}

impl fmt::Display for TransferName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}#{index}", self.transaction),
            None => f.write_str(&self.transaction),
        }
    }
}
