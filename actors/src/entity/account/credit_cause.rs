//! Causes of credits.

use crate::id::{
    BankTransferId, CardId, DepositId, LateReturnId, OutgoingTransferId, PaymentId, PayoutId, RefundId, TopUpId,
};

/// Reason why an account is credited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CreditCause {
    /// A payment that settled and could not be fulfilled.
    Payment(PaymentId),
    /// A card of any kind that was not delivered, or not in time.
    Card(CardId),
    /// A payout that did not arrive or was returned.
    Payout(PayoutId),
    /// A top-up that could not be delivered.
    TopUp(TopUpId),
    /// A transfer that no payment claims.
    Deposit(DepositId),
    /// A payout that was returned after its return window.
    LateReturn(LateReturnId),
    /// A transfer from the bank, or one to the bank that failed.
    BankTransfer(BankTransferId),
    /// A refund by an operator.
    Refund(RefundId),
    /// An order of a history that a restore lost: debited from a bank, not executed, or returned.
    LostOrder(OutgoingTransferId),
}

impl CreditCause {
    /// The id as text.
    pub fn name(&self) -> String {
        match self {
            Self::Payment(id) => id.to_string(),
            Self::Card(id) => id.to_string(),
            Self::Payout(id) => id.to_string(),
            Self::TopUp(id) => id.to_string(),
            Self::Deposit(id) => id.to_string(),
            Self::LateReturn(id) => id.to_string(),
            Self::BankTransfer(id) => id.to_string(),
            Self::Refund(id) => id.to_string(),
            Self::LostOrder(id) => id.to_string(),
        }
    }
}
