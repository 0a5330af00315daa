//! Matches an agent wallet's payments with the transfers that sent them, as far as their rows know. Each payment
//! matches one transfer, though a transaction may have several.

use crate::entity::wallet_payment::{Status, WalletPayment};
use crate::id::{TransferName, Wallet};
use crate::money::Usdc;
use crate::port::OutgoingTransfer;

/// What identifies a payment's transfer, the most specific first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum MatchKey {
    Fingerprint([u8; 32]),
    Name(TransferName),
    Transaction(String),
    /// Nothing else: the lost history may have sent it.
    RecipientAndAmount,
}

/// What a wallet payment's transfer looks like.
pub(super) struct SentTransferMatch {
    key: MatchKey,
    order: (Wallet, Usdc),
}

impl SentTransferMatch {
    /// For a payment that this history has signed or recognised; `None` for one that has sent nothing.
    pub(super) fn from_payment(spend: &WalletPayment) -> Option<Self> {
        let by = match &spend.status {
            Status::Signed(signed) | Status::Sent(signed, _) => {
                MatchKey::Fingerprint(signed.authorization.fingerprint())
            }
            Status::Settled { transaction, .. } => {
                let name = TransferName::parse(transaction)?;
                match name.index {
                    Some(_) => MatchKey::Name(name),
                    None => MatchKey::Transaction(name.transaction),
                }
            }
            Status::Pending | Status::Failed { .. } | Status::Unsettled { .. } => return None,
        };
        Some(Self::with_key(by, spend))
    }

    /// Also for a payment with only a hold, if the lost history may have sent it: it will then be recognised.
    pub(super) fn from_payment_or_order(spend: &WalletPayment, may_be_sent: bool) -> Option<Self> {
        let reserved = may_be_sent && matches!(spend.status, Status::Pending);
        Self::from_payment(spend).or_else(|| reserved.then(|| Self::with_key(MatchKey::RecipientAndAmount, spend)))
    }

    const fn with_key(key: MatchKey, spend: &WalletPayment) -> Self {
        let order = (spend.order.to, spend.order.amount);
        Self { key, order }
    }

    fn matches(&self, one: &OutgoingTransfer) -> bool {
        let known = match &self.key {
            MatchKey::Fingerprint(fingerprint) => *fingerprint == one.fingerprint,
            MatchKey::Name(name) => one.is_named(name),
            MatchKey::Transaction(transaction) => *transaction == one.transaction,
            MatchKey::RecipientAndAmount => true,
        };
        known && self.order == (one.to, one.amount)
    }
}

/// Removes the transfers that sent one of these payments.
pub(super) fn exclude_matched(mut spends: Vec<SentTransferMatch>, sent: &mut Vec<OutgoingTransfer>) {
    // The most specific first: a transaction alone may match several transfers.
    spends.sort_by(|one, other| one.key.cmp(&other.key));
    for spend in spends {
        if let Some(at) = sent.iter().position(|one| spend.matches(one)) {
            sent.remove(at);
        }
    }
}
