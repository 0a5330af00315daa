//! Orders of a history that a restore has lost: a provider's list shows them, and no row of ours knows them. An operator says who
//! paid for one; from then on it is in the books, under a row of its own.

use purser_storage::codec::Stored;

use crate::id::{DepositId, JobId, OutgoingTransferId, Wallet};
use crate::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use crate::money::{AmountError, Cents, Usdc};
use crate::port::{ExternalText, ProviderEntry, Timestamp};
use crate::product::{Currency, ProductLine};
use crate::reconciliation::{EntryAmount, EntryStatus, ListedEntry, ReconciliationSource};

/// A bank's word for a move out of a holder's account there.
pub const FROM_ACCOUNT: &str = "from_account";

/// Which way an order moves money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// We paid for it.
    Out,
    /// It was paid to us: drawn from a holder's account at the bank.
    In,
}

/// An order as its provider's list shows it.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LostOrder {
    /// Whose list.
    pub source: ReconciliationSource,
    /// Its idempotency key there.
    pub key: JobId,
    /// The provider's word for what it is.
    pub product: ExternalText,
    /// What was ordered.
    pub amount: Cents,
    /// In which currency.
    pub currency: Currency,
    /// What came of it.
    pub status: EntryStatus,
    /// When that last changed, by the provider's clock.
    pub at: Timestamp,
}

/// Who has paid for an order, or has what it brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum OrderPayer {
    /// This balance.
    Account(Wallet),
    /// What this transfer brought in.
    Incoming(DepositId),
    /// Nobody: a loss of ours.
    Loss,
}

/// An order that an operator has booked: the row is what lets it be booked once.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AttributedOrder {
    /// As it was listed when it was booked.
    pub order: LostOrder,
    /// See [`Payer`].
    pub payer: OrderPayer,
    /// What the payer was charged, fee included.
    pub charged: Usdc,
    /// What the provider is owed.
    pub owed: Usdc,
    /// What came back of it since.
    pub returned: Option<OrderReturn>,
}

/// What came back of an order that was booked as paid.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OrderReturn {
    /// Who has it.
    pub to: OrderPayer,
    /// How much.
    pub amount: Usdc,
    /// How that is known.
    pub evidence: ReturnEvidence,
}

/// How money of an order came back.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ReturnEvidence {
    /// The provider's list says that it did not carry the order out: it has cost nothing.
    NotExecuted,
    /// The rails' list says that the money came back: our fee stays earned.
    ReturnedByRail,
    /// The bank gave money back under this name of its own; what it kept is not given.
    ReturnedByBank(String),
}

impl Stored for AttributedOrder {
    const SCHEMA: u16 = 84;
}

impl LostOrder {
    /// From a list of what was ordered by a balance: the payout rails' or the bank's. `None` for what no key of ours named, and
    /// for what is in no currency.
    pub fn from_entry(source: ReconciliationSource, entry: ProviderEntry) -> Option<Self> {
        let (EntryAmount::Cents(amount, currency), Some(key)) = (entry.amount, entry.name.order()) else {
            return None;
        };
        Some(Self {
            source,
            key,
            product: entry.product,
            amount,
            currency,
            status: entry.status,
            at: entry.at,
        })
    }

    /// Under which it is in the books.
    pub fn id(&self) -> OutgoingTransferId {
        OutgoingTransferId::for_order(self.source.name(), self.key)
    }

    /// Which way its money went.
    pub fn direction(&self) -> Direction {
        match self.source == ReconciliationSource::BankTransfers && *self.product == *FROM_ACCOUNT {
            true => Direction::In,
            false => Direction::Out,
        }
    }

    /// Whether the provider has moved money for it, or may yet.
    pub const fn moves_money(&self) -> bool {
        matches!(
            self.status,
            EntryStatus::Pending | EntryStatus::Held | EntryStatus::Completed
        )
    }

    /// Of a payout: its product line, where the list names it as we do.
    pub fn line(&self) -> Option<ProductLine> {
        let named = ProductLine::ALL.into_iter().find(|line| line.name() == &*self.product);
        named.filter(|_| self.source == ReconciliationSource::Payouts)
    }

    /// Whose clearing account it is in.
    pub fn provider(&self) -> LedgerProvider {
        match self.source {
            ReconciliationSource::BankTransfers => LedgerProvider::Banking,
            // Balances pay for bank payments only.
            _ => self.line().unwrap_or(ProductLine::BankPayment).provider(),
        }
    }

    /// What it is worth in USDC; `None` in another currency than the US dollar.
    ///
    /// # Errors
    /// When it is more than USDC can be.
    pub fn worth(&self) -> Result<Option<Usdc>, AmountError> {
        match self.currency == Currency::USD {
            true => Usdc::from_cents(self.amount).map(Some),
            false => Ok(None),
        }
    }
}

impl AttributedOrder {
    /// What our books say of it, on the list that it is on.
    pub fn internal_entry(&self) -> ListedEntry {
        let standing = match self.returned.as_ref().map(|back| &back.evidence) {
            // What comes back of a bank's transfer is an entry of its own.
            None | Some(ReturnEvidence::ReturnedByBank(_)) => EntryStatus::Completed,
            Some(ReturnEvidence::NotExecuted | ReturnEvidence::ReturnedByRail) => EntryStatus::Returned,
        };
        ListedEntry {
            status: standing,
            amount: EntryAmount::Cents(self.order.amount, self.order.currency),
            at: self.order.at,
        }
    }

    /// What the bank gave back of it, and its name for that.
    pub fn bank_return(&self) -> Option<(&str, Usdc)> {
        match self.returned.as_ref() {
            Some(OrderReturn {
                evidence: ReturnEvidence::ReturnedByBank(reference),
                amount,
                ..
            }) => Some((reference, *amount)),
            _ => None,
        }
    }

    /// Whether it may be booked once more: it was refused, that was undone, and its provider carried it out after all.
    pub fn is_attributable_again(&self, now: &LostOrder) -> bool {
        let refused = self
            .returned
            .as_ref()
            .is_some_and(|back| back.evidence == ReturnEvidence::NotExecuted);
        refused && now.moves_money() && !matches!(self.payer, OrderPayer::Incoming(_))
    }

    /// What came back of it goes to this payer. Of what the bank gave back, no more than it had.
    #[must_use]
    pub fn with_return(self, to: OrderPayer, how: ReturnEvidence, returned: Usdc) -> Self {
        let amount = match how {
            ReturnEvidence::NotExecuted => self.charged,
            ReturnEvidence::ReturnedByRail => self.charged.min(self.owed),
            ReturnEvidence::ReturnedByBank(_) => returned.min(self.owed),
        };
        let back = Some(OrderReturn {
            to,
            amount,
            evidence: how,
        });
        Self { returned: back, ..self }
    }

    /// Books it as paid: what the payer was charged beyond what the provider is owed is our fee, what is missing our cost. Drawn from
    /// a bank, it is the payer's.
    pub fn payment_transaction(&self, at: Timestamp) -> LedgerTransaction {
        let (provider, both) = (
            LedgerAccount::Provider(self.order.provider()),
            self.charged.min(self.owed),
        );
        let books = LedgerTransaction::new(at, self.order.id());
        let payer = ledger_account(self.payer, LedgerAccount::Suspense);
        if self.order.direction() == Direction::In {
            return books.post(provider, payer, self.owed);
        }
        books
            .post(payer, provider, both)
            .post(
                payer,
                LedgerAccount::FeeRevenue,
                self.charged.checked_sub(self.owed).unwrap_or(Usdc::ZERO),
            )
            .post(
                LedgerAccount::OperatingCosts,
                provider,
                self.owed.checked_sub(self.charged).unwrap_or(Usdc::ZERO),
            )
    }

    /// Books what came back: from the provider, with our fee where it was refused.
    pub fn return_transaction(&self, back: &OrderReturn, at: Timestamp) -> LedgerTransaction {
        let (provider, to) = (
            LedgerAccount::Provider(self.order.provider()),
            ledger_account(back.to, LedgerAccount::OperatingCosts),
        );
        let both = self.charged.min(self.owed);
        let (owed, fee, cost) = match back.evidence {
            ReturnEvidence::ReturnedByBank(_) => (back.amount, Usdc::ZERO, Usdc::ZERO),
            ReturnEvidence::NotExecuted | ReturnEvidence::ReturnedByRail => (
                both,
                back.amount.checked_sub(both).unwrap_or(Usdc::ZERO),
                self.owed.checked_sub(self.charged).unwrap_or(Usdc::ZERO),
            ),
        };
        LedgerTransaction::new(at, self.order.id())
            .post(provider, to, owed)
            .post(LedgerAccount::FeeRevenue, to, fee)
            .post(provider, LedgerAccount::OperatingCosts, cost)
    }
}

const fn ledger_account(payer: OrderPayer, of_transfer: LedgerAccount) -> LedgerAccount {
    match payer {
        OrderPayer::Account(wallet) => LedgerAccount::Customer(wallet),
        OrderPayer::Incoming(_) => of_transfer,
        OrderPayer::Loss => LedgerAccount::OperatingCosts,
    }
}
