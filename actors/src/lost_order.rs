//! Orders of a history that a restore lost: a provider lists them and we have no record of them. An operator attributes
//! an order to its payer; from then on it is posted under a row of its own.

use purser_storage::codec::Stored;

use crate::currency::Currency;
use crate::id::{DepositId, JobId, OutgoingTransferId, Wallet};
use crate::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use crate::money::{AmountError, Cents, Usdc};
use crate::named_enum::named_enum;
use crate::port::{ExternalText, ProviderEntry, Timestamp};
use crate::product::ProductLine;
use crate::reconciliation::{EntryAmount, EntryStatus, ListedEntry, ReconciliationSource};

/// Product name at the bank for a transfer out of an owner's account there.
pub const FROM_ACCOUNT: &str = "from_account";

named_enum! {
    /// Direction of an order's money.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Direction {
        /// We paid the provider for it.
        Out = "out",
        /// The provider paid us: it debited an owner's account at the bank.
        In = "in",
    }
}

/// An order as its provider's list shows it.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LostOrder {
    /// Source of the list.
    pub source: ReconciliationSource,
    /// Idempotency key of the order.
    pub key: JobId,
    /// The provider's name of the product.
    pub product: ExternalText,
    /// Amount of the order.
    pub amount: Cents,
    /// Currency of the amount.
    pub currency: Currency,
    /// Outcome of the order.
    pub status: EntryStatus,
    /// Time of the last change, by the provider's clock.
    pub at: Timestamp,
}

/// Payer of an order, or recipient of its proceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum OrderPayer {
    /// The balance of this account.
    Account(Wallet),
    /// This incoming transfer.
    Incoming(DepositId),
    /// No payer: our loss.
    Loss,
}

/// An order that an operator attributed. The row ensures that it is posted once.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AttributedOrder {
    /// The order as listed when it was attributed.
    pub order: LostOrder,
    /// Payer; see [`OrderPayer`].
    pub payer: OrderPayer,
    /// Amount that the payer was charged, fee included.
    pub charged: Usdc,
    /// Amount owed to the provider.
    pub owed: Usdc,
    /// Amount returned since, if any.
    pub returned: Option<OrderReturn>,
}

/// Return of an order that was posted as paid.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OrderReturn {
    /// Recipient of the returned money.
    pub to: OrderPayer,
    /// Returned amount in USDC.
    pub amount: Usdc,
    /// Evidence of the return.
    pub evidence: ReturnEvidence,
}

/// Evidence that an order's money was returned.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ReturnEvidence {
    /// The provider's list shows that it did not execute the order: it has cost nothing.
    NotExecuted,
    /// The rail's list shows a return: our fee stays earned.
    ReturnedByRail,
    /// The bank returned money under this reference; its deduction is not credited.
    ReturnedByBank(String),
}

impl Stored for AttributedOrder {
    const SCHEMA: u16 = 84;
}

impl LostOrder {
    /// Reads an entry of the list of balance orders: the payout rails' or the bank's. `None` if its key is not one of
    /// our job ids, or its amount has no currency.
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

    /// Id under which it is posted.
    pub fn id(&self) -> OutgoingTransferId {
        OutgoingTransferId::for_order(self.source.id_label(), self.key)
    }

    /// Direction of the money.
    pub fn direction(&self) -> Direction {
        match self.source == ReconciliationSource::BankTransfers && *self.product == *FROM_ACCOUNT {
            true => Direction::In,
            false => Direction::Out,
        }
    }

    /// Whether the provider has moved money for it, or still may.
    pub const fn moves_money(&self) -> bool {
        matches!(
            self.status,
            EntryStatus::Pending | EntryStatus::Held | EntryStatus::Completed
        )
    }

    /// Product line of a payout, if the list uses our name for it.
    pub fn line(&self) -> Option<ProductLine> {
        let named = ProductLine::ALL.into_iter().find(|line| line.name() == &*self.product);
        named.filter(|_| self.source == ReconciliationSource::Payouts)
    }

    /// Provider whose clearing account it is posted to.
    pub fn provider(&self) -> LedgerProvider {
        match self.source {
            ReconciliationSource::BankTransfers => LedgerProvider::Banking,
            // Balances pay for bank payments only.
            _ => self.line().unwrap_or(ProductLine::BankPayment).provider(),
        }
    }

    /// Value in USDC; `None` for currencies other than the US dollar.
    ///
    /// # Errors
    /// When it exceeds the largest USDC amount.
    pub fn worth(&self) -> Result<Option<Usdc>, AmountError> {
        match self.currency == Currency::USD {
            true => Usdc::from_cents(self.amount).map(Some),
            false => Ok(None),
        }
    }
}

impl AttributedOrder {
    /// Our record of it, as an entry of the same list.
    pub fn internal_entry(&self) -> ListedEntry {
        let status = match self.returned.as_ref().map(|back| &back.evidence) {
            // A return of a bank transfer is a separate entry.
            None | Some(ReturnEvidence::ReturnedByBank(_)) => EntryStatus::Completed,
            Some(ReturnEvidence::NotExecuted | ReturnEvidence::ReturnedByRail) => EntryStatus::Returned,
        };
        ListedEntry {
            status,
            amount: EntryAmount::Cents(self.order.amount, self.order.currency),
            at: self.order.at,
        }
    }

    /// Amount that the bank returned, and the bank's reference.
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

    /// Whether it may be attributed again: it was declined and reversed, and the provider executed it after all.
    pub fn is_attributable_again(&self, now: &LostOrder) -> bool {
        let refused = self
            .returned
            .as_ref()
            .is_some_and(|back| back.evidence == ReturnEvidence::NotExecuted);
        refused && now.moves_money() && !matches!(self.payer, OrderPayer::Incoming(_))
    }

    /// Records a return for this payer. Of a bank return, at most the amount that the bank had.
    #[must_use]
    pub fn with_return(self, to: OrderPayer, how: ReturnEvidence, returned: Usdc) -> Self {
        let amount = match how {
            ReturnEvidence::NotExecuted => self.charged,
            ReturnEvidence::ReturnedByRail => self.charged.min(self.owed),
            ReturnEvidence::ReturnedByBank(_) => returned.min(self.owed),
        };
        Self {
            returned: Some(OrderReturn {
                to,
                amount,
                evidence: how,
            }),
            ..self
        }
    }

    /// Posts it as paid: the charge beyond the provider amount is our fee, a shortfall our cost. A debit from a bank
    /// account belongs to the payer.
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

    /// Posts the return: the provider amount, and our fee too if the order was declined.
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
