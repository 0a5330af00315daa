//! The account statement: one row per change of the balance, written by the batch of the change.

use purser_storage::codec::{self, Stored};

use super::{Account, Rejection, StatementLineView};
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
    /// Everything that was ever credited, this line included. Two lines therefore say what came in between them, and with
    /// their balances what went out, without the lines in between.
    pub total_deposits: Usdc,
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

/// The account after the change of a line, and the number of that line.
#[derive(Clone, Copy)]
pub(super) struct AccountAfter {
    pub(super) balance: Usdc,
    pub(super) held: Usdc,
    pub(super) total_deposits: Usdc,
    pub(super) number: u64,
}

impl AccountAfter {
    /// Before any change of this batch.
    pub(super) fn unchanged(this: Option<&Account>) -> Self {
        Self {
            balance: this.map_or(Usdc::ZERO, |account| account.balance),
            held: this.map_or(Usdc::ZERO, |account| account.held),
            total_deposits: this.map_or(Usdc::ZERO, |account| account.total_deposits),
            number: this.map_or(0, |account| account.statement_line_count),
        }
    }

    /// With this credit.
    pub(super) fn credited(self, amount: Usdc) -> Result<Self, Rejection> {
        let add = |sum: Usdc| sum.checked_add(amount).map_err(|_| Rejection::Overflow);
        Ok(Self {
            balance: add(self.balance)?,
            total_deposits: add(self.total_deposits)?,
            ..self
        })
    }

    /// With this hold, in the line after this one.
    pub(super) fn then_held(self, amount: Usdc) -> Result<Self, Rejection> {
        Ok(Self {
            held: self.held.checked_add(amount).map_err(|_| Rejection::Overflow)?,
            number: self.number.saturating_add(1),
            ..self
        })
    }
}

/// Appends a line.
pub(super) fn append_line(
    decision: Decision<Account>,
    wallet: &crate::id::Wallet,
    (change, amount, cause): (StatementLineType, Usdc, String),
    after: AccountAfter,
    context: &Context,
) -> Decision<Account> {
    let entry = StatementLine {
        at: context.now,
        change,
        amount,
        cause,
        balance: after.balance,
        held: after.held,
        total_deposits: after.total_deposits,
    };
    let id = StatementLineId::at_index(after.number, context.id());
    decision.put_new(table::statement_line(wallet, id), codec::encode(&entry))
}
