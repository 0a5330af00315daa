//! The account statement: one row per change of the balance, written by the batch of the change.

use purser_storage::codec::{self, Stored};

use super::{Account, StatementLineView};
use crate::id::StatementLineId;
use crate::kernel::{Context, Decision, table};
use crate::money::Usdc;
use crate::port::Timestamp;

/// Kind of change of the balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum StatementLineType {
    /// The balance was credited.
    Credited,
    /// Part of the balance was put on hold.
    Held,
    /// A held part was paid out.
    Withdrawn,
    /// A hold was released.
    Released,
    /// The balance was debited for a purchase.
    Debited,
    /// A credit is on hold because the payment behind it is not final.
    HeldUntilFinal,
    /// A held credit was removed because the payment behind it was reorged.
    Reversed,
}

impl StatementLineType {
    /// Name in API responses and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Credited => "credited",
            Self::Held => "held",
            Self::Withdrawn => "withdrawn",
            Self::Released => "released",
            Self::Debited => "debited",
            Self::HeldUntilFinal => "held_unfinal",
            Self::Reversed => "reversed",
        }
    }
}

crate::answer::serialize_as_name!(StatementLineType);

/// One line of the statement.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct StatementLine {
    /// Time of the change.
    pub at: Timestamp,
    /// Kind of the change.
    pub change: StatementLineType,
    /// Amount in USDC.
    pub amount: Usdc,
    /// Id of the entity that caused it: a payment, a card, a deposit, a withdrawal.
    pub cause: String,
    /// Balance after the change.
    pub balance: Usdc,
    /// Held part of that balance.
    pub held: Usdc,
}

impl Stored for StatementLine {
    const SCHEMA: u16 = 44;
}

impl StatementLine {
    /// The line as the account owner sees it.
    pub fn view(&self, id: &StatementLineId) -> StatementLineView<'_> {
        StatementLineView {
            entry_id: *id,
            r#type: self.change,
            amount: self.amount.into(),
            cause: &self.cause,
            balance: self.balance.into(),
            available: self.balance.checked_sub(self.held).unwrap_or(Usdc::ZERO).into(),
            held: self.held.into(),
            created_at: self.at.into(),
        }
    }
}

/// Appends the line with this number, with balance and held amount after the decision.
pub(super) fn append_line(
    decision: Decision<Account>,
    wallet: &crate::id::Wallet,
    (change, amount, cause): (StatementLineType, Usdc, String),
    (balance, held, number): (Usdc, Usdc, u64),
    context: &Context,
) -> Decision<Account> {
    let entry = StatementLine {
        at: context.now,
        change,
        amount,
        cause,
        balance,
        held,
    };
    let id = StatementLineId::at_index(number, context.id());
    decision.put_new(table::statement_line(wallet, id), codec::encode(&entry))
}
