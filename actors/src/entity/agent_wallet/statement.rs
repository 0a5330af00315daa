//! The statement of an agent wallet: one row per change of its balance that is known here, written by the batch that
//! learns of it.
//!
//! What the wallet pays is known from its payments. What it receives is known from the chain: its balance there is read
//! for each payment and when the owner reads the statement, and a difference to the balance of the statement is a line
//! of its own.

use purser_storage::codec::{self, Stored};

use super::{AgentWallet, Event, WalletHold};
use crate::entity::account::{StatementLine, StatementLineType};
use crate::entity::wallet_payment::PaymentMethod;
use crate::id::{ApiKeyId, Network, StatementLineId, Wallet};
use crate::kernel::{Context, Decision, table};
use crate::money::Usdc;
use crate::port::Timestamp;

/// What the lines of the statement add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletSums {
    /// Number of lines.
    lines: u64,
    /// Everything that was ever received.
    received: Usdc,
    /// Balance on Base.
    base: Usdc,
    /// Balance on Solana.
    solana: Usdc,
}

impl WalletSums {
    const fn on(&self, network: Network) -> Usdc {
        match network {
            Network::Base => self.base,
            Network::Solana => self.solana,
        }
    }

    fn with(self, network: Network, balance: Usdc) -> Self {
        match network {
            Network::Base => Self { base: balance, ..self },
            Network::Solana => Self {
                solana: balance,
                ..self
            },
        }
    }

    /// With a line that makes this the balance on a network. `None` if a sum is too large.
    fn after(self, network: Network, balance: Usdc, is_receipt: bool) -> Option<Self> {
        let received = match is_receipt {
            true => balance.checked_sub(self.on(network)).ok()?,
            false => Usdc::ZERO,
        };
        let after = Self {
            lines: self.lines.checked_add(1)?,
            received: self.received.checked_add(received).ok()?,
            ..self.with(network, balance)
        };
        after.base.checked_add(after.solana).ok()?;
        Some(after)
    }

    /// With a balance as the chain has it.
    pub(super) fn observed(self, network: Network, balance: Usdc) -> Option<Self> {
        self.after(network, balance, balance > self.on(network))
    }

    /// With a payment. It was received before, seen or not: a balance below the payment is first made as large.
    pub(super) fn paid(self, network: Network, amount: Usdc) -> Option<Self> {
        let known = match self.on(network) < amount {
            true => self.observed(network, amount)?,
            false => self,
        };
        let balance = known.on(network).checked_sub(amount).ok()?;
        known.after(network, balance, false)
    }
}

/// One line of the statement of an agent wallet.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletStatementLine {
    /// The change, over both networks. Its cause is the wallet payment, or the address that received.
    pub line: StatementLine,
    /// API key of the agent that paid, if it has one.
    pub key: Option<ApiKeyId>,
    /// Whether it paid for a purchase at Purser's own routes, which is a payment of the account.
    pub is_own: bool,
}

impl Stored for WalletStatementLine {
    const SCHEMA: u16 = 172;
}

impl WalletStatementLine {
    /// How long a node of a chain may lag behind the one that showed a payment, in milliseconds.
    const LAG_MS: u64 = 30_000;

    /// Whether it is a payment that a balance which is read at `now` may still contain: it would look like money that
    /// was received.
    pub fn may_be_unread(&self, now: Timestamp) -> bool {
        self.line.change == StatementLineType::Debited && now.0 < self.line.at.0.saturating_add(Self::LAG_MS)
    }
}

impl AgentWallet {
    /// Number of lines of the statement.
    pub const fn statement_line_count(&self) -> u64 {
        self.sums.lines
    }

    /// Appends the lines for balances that the chains had, where they differ from those of the statement. `lines` is
    /// the number of lines from before the balances were read: a payment that was settled since may or may not be in
    /// them. With a payment on its way only a larger balance says something.
    pub(super) fn observe(
        &self,
        balances: &[(Network, Usdc)],
        lines: Option<u64>,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        if lines != Some(self.sums.lines) {
            return decision;
        }
        let (mut sums, mut decision) = (self.sums, decision);
        for (network, balance) in balances.iter().copied() {
            if !self.differs(&sums, network, balance) {
                continue;
            }
            let Some(after) = sums.observed(network, balance) else {
                continue;
            };
            decision = decision.event(Event::BalanceObserved(network, balance));
            decision = self.append_difference(network, sums, after, decision, context);
            sums = after;
        }
        decision
    }

    fn differs(&self, sums: &WalletSums, network: Network, balance: Usdc) -> bool {
        let known = sums.on(network);
        let is_settling = || self.holds.iter().any(|open| open.network == network);
        balance > known || (balance < known && !is_settling())
    }

    /// Whether these balances, which the chains have now, have lines that the statement lacks.
    pub fn lacks_lines_for(&self, balances: &[(Network, Usdc)]) -> bool {
        let mut balances = balances.iter().copied();
        balances.any(|(network, balance)| self.differs(&self.sums, network, balance))
    }

    fn append_difference(
        &self,
        network: Network,
        before: WalletSums,
        after: WalletSums,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        let (known, balance) = (before.on(network), after.on(network));
        let (change, amount) = match balance.checked_sub(known) {
            Ok(more) => (StatementLineType::Credited, more),
            Err(_) => (
                StatementLineType::Reversed,
                known.checked_sub(balance).unwrap_or(Usdc::ZERO),
            ),
        };
        let cause = self.addresses.on(network).address();
        let line = self.line((change, amount, cause), after, self.held_in_all(), context);
        append(decision, &self.owner, before.lines, (line, None, false), context)
    }

    /// Appends the lines of a settled payment.
    pub(super) fn append_payment(
        &self,
        open: &WalletHold,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        let (network, amount) = (open.network, open.amount);
        let Some(after) = self.sums.paid(network, amount) else {
            return decision;
        };
        let mut decision = decision;
        let mut before = self.sums;
        if before.on(network) < amount
            && let Some(received) = before.observed(network, amount)
        {
            decision = self.append_difference(network, before, received, decision, context);
            before = received;
        }
        let held = self.held_in_all().checked_sub(amount).unwrap_or(Usdc::ZERO);
        let cause = open.payment.to_string();
        let line = self.line((StatementLineType::Debited, amount, cause), after, held, context);
        let is_own = open.merchant.as_deref() == Some(PaymentMethod::OWN);
        let key = open.key.map(|share| share.key);
        append(decision, &self.owner, before.lines, (line, key, is_own), context)
    }

    /// Amount reserved on both networks.
    pub fn held_in_all(&self) -> Usdc {
        let [base, solana] = Network::ALL.map(|network| self.held(network));
        base.checked_add(solana).unwrap_or(base)
    }

    fn line(
        &self,
        (change, amount, cause): (StatementLineType, Usdc, String),
        after: WalletSums,
        held: Usdc,
        context: &Context,
    ) -> StatementLine {
        StatementLine {
            at: context.now,
            change,
            amount,
            cause,
            balance: after.base.checked_add(after.solana).unwrap_or(after.base),
            held,
            total_deposits: after.received,
        }
    }
}

fn append(
    decision: Decision<AgentWallet>,
    owner: &Wallet,
    number: u64,
    (line, key, is_own): (StatementLine, Option<ApiKeyId>, bool),
    context: &Context,
) -> Decision<AgentWallet> {
    let id = StatementLineId::at_index(number, context.id());
    let row = WalletStatementLine { line, key, is_own };
    decision.put_new(table::wallet_statement_line(owner, id), codec::encode(&row))
}
