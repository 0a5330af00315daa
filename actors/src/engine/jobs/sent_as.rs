//! By which transfer of a managed wallet each of its spends was sent, as far as its row knows that: one transfer for each, though a
//! transaction may have moved more than one.

use crate::id::Wallet;
use crate::money::Usdc;
use crate::port::{OutgoingTransfer, TransferName};
use crate::wallet_payment::{Status, WalletPayment};

/// By what a spend's transfer is known, the surest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Signed([u8; 32]),
    Named(TransferName),
    Transaction(String),
    /// By nothing: the lost history may have sent it.
    Order,
}

/// What a spend's transfer looks like.
pub(super) struct SentAs {
    by: By,
    order: (Wallet, Usdc),
}

impl SentAs {
    /// Of a spend that this history has signed or recognised; `None` for one that has sent nothing.
    pub(super) fn of(spend: &WalletPayment) -> Option<Self> {
        let by = match &spend.status {
            Status::Signed(signed) | Status::Sent(signed, _) => By::Signed(signed.authorization.fingerprint()),
            Status::Settled { transaction, .. } => {
                let name = TransferName::parse(transaction)?;
                match name.index {
                    Some(_) => By::Named(name),
                    None => By::Transaction(name.transaction),
                }
            }
            Status::Pending | Status::Failed { .. } | Status::Unsettled { .. } => return None,
        };
        Some(Self::by(by, spend))
    }

    /// The same; and of one that is reserved, if the lost history may have sent it: then it will be recognised.
    pub(super) fn of_any(spend: &WalletPayment, may_be_sent: bool) -> Option<Self> {
        let reserved = may_be_sent && matches!(spend.status, Status::Pending);
        Self::of(spend).or_else(|| reserved.then(|| Self::by(By::Order, spend)))
    }

    const fn by(by: By, spend: &WalletPayment) -> Self {
        let order = (spend.order.to, spend.order.amount);
        Self { by, order }
    }

    fn is(&self, one: &OutgoingTransfer) -> bool {
        let known = match &self.by {
            By::Signed(mark) => *mark == one.mark,
            By::Named(name) => one.is_named(name),
            By::Transaction(transaction) => *transaction == one.transaction,
            By::Order => true,
        };
        known && self.order == (one.to, one.amount)
    }
}

/// Leaves those that none of these spends was sent by.
pub(super) fn leave_out(mut spends: Vec<SentAs>, sent: &mut Vec<OutgoingTransfer>) {
    // What is known best first: a transaction alone may be any of several.
    spends.sort_by(|one, other| one.by.cmp(&other.by));
    for spend in spends {
        if let Some(at) = sent.iter().position(|one| spend.is(one)) {
            sent.remove(at);
        }
    }
}
