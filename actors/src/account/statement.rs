//! The account's statement: what changed its balance, one row each, written by the batch that changed it.

use purser_storage::codec::{self, Stored};

use super::Account;
use crate::id::StatementLineId;
use crate::kernel::{Context, Decision, JsonObject, table};
use crate::money::Usdc;
use crate::port::Timestamp;

/// What happened to the balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum StatementLineType {
    /// Money came in.
    Credited,
    /// Part of the balance was reserved.
    Held,
    /// A reserved part was paid out.
    Withdrawn,
    /// A reserved part is free again.
    Released,
    /// Part of the balance paid for something.
    Debited,
    /// A credit is reserved as long as the payment that it rests on is not final.
    HeldUntilFinal,
    /// A reserved credit is gone with the payment that it rested on.
    Reversed,
}

impl StatementLineType {
    /// As in answers and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Credited => "credited",
            Self::Held => "held",
            Self::Withdrawn => "withdrawn",
            Self::Released => "released",
            Self::Debited => "paid_out",
            Self::HeldUntilFinal => "held_unfinal",
            Self::Reversed => "reversed",
        }
    }
}

/// One line of the statement.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct StatementLine {
    /// When.
    pub at: Timestamp,
    /// What.
    pub change: StatementLineType,
    /// How much.
    pub amount: Usdc,
    /// The id of what caused it: a payment, a card, a deposit, a withdrawal.
    pub cause: String,
    /// The balance after it.
    pub balance: Usdc,
    /// Of that, what was held.
    pub held: Usdc,
}

impl Stored for StatementLine {
    const SCHEMA: u16 = 44;
}

impl StatementLine {
    /// How it looks to the holder.
    pub fn view(&self, id: &StatementLineId) -> JsonObject {
        let available = self.balance.checked_sub(self.held).unwrap_or(Usdc::ZERO);
        JsonObject::new()
            .text("entry_id", id)
            .text("type", self.change.name())
            .number("amount", self.amount.decimal())
            .text("cause", &self.cause)
            .number("balance", self.balance.decimal())
            .number("available", available.decimal())
            .number("held", self.held.decimal())
            .time("created_at", self.at)
    }
}

/// Adds the line of this number, with the balance and what is held once the decision is durable.
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
