//! What credits are for.

use crate::id::{
    BankTransferId, CardId, DepositId, LateReturnId, OutgoingTransferId, PaymentId, PayoutId, RefundId, TopUpId,
};

/// Why an account is credited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CreditCause {
    /// A payment that settled and could not be fulfilled.
    Payment(PaymentId),
    /// A card of any kind that was not made, or not made in time.
    Card(CardId),
    /// A payout that did not arrive or came back.
    Payout(PayoutId),
    /// A top-up that could not be delivered.
    TopUp(TopUpId),
    /// A transfer that no payment claims.
    Deposit(DepositId),
    /// A payout that came back after its return window.
    LateReturn(LateReturnId),
    /// Money that came from the bank, or did not get there.
    BankTransfer(BankTransferId),
    /// What the house gives back.
    Refund(RefundId),
    /// An order of a history that a restore has lost: drawn from a bank, not carried out in the end, or sent back.
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
