//! What an account spent, summed by period.
//!
//! Counted are the payments that settled, payouts from the balance, and what the agents' wallet paid to others, less
//! what was credited for any of them. Rows are read in the order of their times, from the first period on: of a payment
//! only its row in the account's list, which has the amount.

use purser_storage::StoreError;

use super::{Engine, ListStart};
use crate::entity::account::{StatementLine, StatementLineType};
use crate::entity::agent_wallet::WalletStatementLine;
use crate::entity::payment::Payment;
use crate::id::Wallet;
use crate::kernel::{EntityKind, table};
use crate::money::Usdc;
use crate::port::Timestamp;

/// Rows of one read.
const PAGE: usize = 1_000;

/// Causes of credits for something that was bought. The others are deposits, and transfers from the bank.
const RETURNS: [&str; 6] = ["card_", "po_", "top_", "pay_", "rf_", "lr_"];

/// Sums of one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// What was paid in it.
    pub spent: Usdc,
    /// The part of it that was paid for purchases here, and not by the agents' wallet.
    pub from_own_wallets: Usdc,
    /// What was credited in it, for purchases of that time or before.
    pub credited: Usdc,
}

/// Sums of periods, each from its start to the next one; the last has no end.
struct Sums<'a> {
    starts: &'a [Timestamp],
    sums: Vec<Spent>,
}

impl Sums<'_> {
    fn period(&mut self, at: Timestamp) -> Option<&mut Spent> {
        let period = self.starts.partition_point(|start| *start <= at).checked_sub(1);
        period.and_then(|period| self.sums.get_mut(period))
    }

    fn add(&mut self, at: Timestamp, amount: Usdc, of: fn(&mut Spent) -> &mut Usdc) {
        if let Some(sum) = self.period(at).map(of) {
            *sum = sum.checked_add(amount).unwrap_or(Usdc::from_atomic(u64::MAX));
        }
    }

    /// A purchase here that the agents' wallet paid. It was added as a payment of the account.
    fn take_from_own_wallets(&mut self, at: Timestamp, amount: Usdc) {
        if let Some(sum) = self.period(at).map(|sum| &mut sum.from_own_wallets) {
            // Its payment can be of the period before.
            *sum = sum.checked_sub(amount).unwrap_or_default();
        }
    }

    fn add_spent(&mut self, at: Timestamp, amount: Usdc) {
        self.add(at, amount, |sum| &mut sum.spent);
    }

    fn add_line(&mut self, line: &StatementLine) {
        let is_return = || RETURNS.iter().any(|prefix| line.cause.starts_with(prefix));
        match line.change {
            StatementLineType::Debited if line.cause.starts_with("po_") => self.add_spent(line.at, line.amount),
            StatementLineType::Credited if is_return() => self.add(line.at, line.amount, |sum| &mut sum.credited),
            // The chain dropped the payment behind a credit. It is no longer counted, so neither is the credit.
            StatementLineType::Reversed => self.add_spent(line.at, line.amount),
            _ => {}
        }
    }
}

impl Engine {
    /// Sums of the periods that begin at these times, which ascend. Without `with_wallet`, what the agents' wallet paid
    /// to others is left out.
    ///
    /// # Errors
    /// When storage fails or a row is corrupt.
    pub async fn spending(
        &self,
        owner: &Wallet,
        starts: &[Timestamp],
        with_wallet: bool,
    ) -> Result<Vec<Spent>, StoreError> {
        let Some(first) = starts.first().copied() else {
            return Ok(Vec::new());
        };
        let sums = vec![Spent::default(); starts.len()];
        let mut sums = Sums { starts, sums };
        self.add_payments(owner, first, &mut sums).await?;
        let mut after = Some(self.position_of::<StatementLine>(owner, first).await?);
        loop {
            let start = ListStart::After(after);
            let (lines, more) = self.lines_of::<StatementLine>(owner, start, PAGE).await?;
            lines.iter().for_each(|(_, line)| sums.add_line(line));
            after = lines.last().map(|(id, _)| *id);
            if !more {
                break;
            }
        }
        let mut after = Some(self.position_of::<WalletStatementLine>(owner, first).await?);
        loop {
            let start = ListStart::After(after);
            let (lines, more) = self.lines_of::<WalletStatementLine>(owner, start, PAGE).await?;
            for (_, row) in &lines {
                let (at, amount) = (row.line.at, row.line.amount);
                match row.line.change {
                    // A purchase here is a payment of the account.
                    StatementLineType::Debited if row.is_own => sums.take_from_own_wallets(at, amount),
                    StatementLineType::Debited if with_wallet => sums.add_spent(at, amount),
                    _ => {}
                }
            }
            after = lines.last().map(|(id, _)| *id);
            if !more {
                return Ok(sums.sums);
            }
        }
    }

    async fn add_payments(&self, owner: &Wallet, first: Timestamp, sums: &mut Sums<'_>) -> Result<(), StoreError> {
        let (newest_first, mut after) = (table::owner_index(owner, EntityKind::Payment), None);
        loop {
            let rows = self.0.store.scan(&newest_first, after.as_deref(), PAGE).await?;
            for (key, row) in &rows {
                let Some((left, _)) = table::created_and_id(key) else {
                    continue;
                };
                let at = Timestamp(u64::MAX - left.0);
                if at < first {
                    return Ok(());
                }
                let cost = Payment::listed_cost(&row.value);
                sums.add_spent(at, cost);
                sums.add(at, cost, |sum| &mut sum.from_own_wallets);
            }
            if rows.len() < PAGE {
                return Ok(());
            }
            after = rows.into_iter().last().map(|(key, _)| key);
        }
    }
}
