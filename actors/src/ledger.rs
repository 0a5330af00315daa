//! The double-entry ledger: append-only transactions between named ledger accounts, each summing to zero.
//!
//! A debit is positive, a credit negative. Assets (the treasury) have positive balances. Liabilities (customers,
//! providers) and revenue have negative balances.

use purser_storage::codec::Stored;

use crate::id::{Network, PaymentId, Wallet};
pub use crate::kinds::LedgerProvider;
use crate::money::{Cents, Usdc};
use crate::time::Timestamp;

/// A ledger account. Internal accounts are not entities; their balances are sums of postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum LedgerAccount {
    /// USDC in our treasury on a network.
    Treasury(Network),
    /// Received, and not yet owed to a customer or provider.
    Suspense,
    /// Owed to an account owner.
    Customer(Wallet),
    /// Clearing account of a provider: owed for orders.
    Provider(LedgerProvider),
    /// Fees that Purser earned.
    FeeRevenue,
    /// Owed to an account owner and on hold for an outgoing payment.
    CustomerHeld(Wallet),
    /// Costs of delivering products: a bridge's fee, or its loss.
    OperatingCosts,
    /// Payments that a chain has reorged.
    Losses,
    /// Put into the treasury or taken out by the business itself, as an operator attributed a transfer.
    OperatorFunds,
    /// Gas and rent bought for the chains, as an operator attributed a transfer.
    NetworkFees,
    /// Amount delivered to card balances beyond the purchase, because the bridge took less than its maximum fee. Posted
    /// out of [`LedgerAccount::OperatingCosts`], which then contains the fee that the bridge took.
    BridgeSurplus,
}

impl LedgerProvider {
    /// Provider with this report name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }
}

/// Purpose of an outgoing treasury transfer that belongs to no customer, as an operator attributed it. Stored numbers:
/// never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Outlay {
    /// It paid this provider what we owe.
    Provider(LedgerProvider),
    /// The business withdrew it.
    OperatorFunds,
    /// It bought gas and rent.
    NetworkFees,
}

impl Outlay {
    /// Ledger account that it is posted to.
    pub const fn account(self) -> LedgerAccount {
        match self {
            Self::Provider(provider) => LedgerAccount::Provider(provider),
            Self::OperatorFunds => LedgerAccount::OperatorFunds,
            Self::NetworkFees => LedgerAccount::NetworkFees,
        }
    }

    /// Name in API responses and the audit log.
    pub fn name(self) -> String {
        match self {
            Self::Provider(provider) => format!("provider {}", provider.name()),
            Self::OperatorFunds => "operator_funds".to_owned(),
            Self::NetworkFees => "network_fees".to_owned(),
        }
    }
}

/// One debit or credit of a ledger account, in atomic USDC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Posting {
    /// Ledger account of the posting.
    pub account: LedgerAccount,
    /// Positive for a debit, negative for a credit; never zero.
    pub atomic: i128,
}

/// A balanced set of postings.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LedgerTransaction {
    /// Time of the transaction.
    pub at: Timestamp,
    /// Id of the entity that caused it, for example `pay_…`.
    pub cause: String,
    /// The postings sum to zero.
    pub postings: Vec<Posting>,
}

impl Stored for LedgerTransaction {
    const SCHEMA: u16 = 2;
}

impl LedgerTransaction {
    /// A transaction without postings.
    pub fn new(at: Timestamp, cause: impl ToString) -> Self {
        Self {
            at,
            cause: cause.to_string(),
            postings: Vec::with_capacity(4),
        }
    }

    /// Debits one account and credits another: two postings that cancel, so the sum stays zero by construction. A zero
    /// amount adds no posting.
    #[must_use]
    pub fn post(mut self, debit: LedgerAccount, credit: LedgerAccount, amount: Usdc) -> Self {
        if amount > Usdc::ZERO {
            let atomic = i128::from(amount.atomic());
            self.postings.push(Posting { account: debit, atomic });
            self.postings.push(Posting {
                account: credit,
                atomic: -atomic,
            });
        }
        self
    }
}

/// Return of a part of what we owe a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainderReturn {
    /// Transaction to post; without postings if nothing more is returned.
    pub transaction: LedgerTransaction,
    /// Amount then in suspense for a credit of the payer.
    pub credited: Usdc,
    /// Amount that Purser retains because a refund already paid the payer as much.
    pub retained: Usdc,
}

/// Cost of a purchase: one part is owed to the provider, the rest is our fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Charge {
    /// Payment that paid the charge.
    pub payment: PaymentId,
    /// Total paid by the payer, fee included.
    pub charged: Usdc,
    /// Value of the product; never above the charge.
    owed: Usdc,
}

impl Charge {
    /// A charge for a product worth `owed`. Prices are never below it, so the clamp loses nothing.
    pub fn new(payment: PaymentId, charged: Usdc, owed: Usdc) -> Self {
        let owed = owed.min(charged);
        Self { payment, charged, owed }
    }

    /// Value of the product, owed to the provider.
    pub const fn provider_amount(&self) -> Usdc {
        self.owed
    }

    /// Our fee: the charge less the provider amount.
    pub fn fee(&self) -> Usdc {
        self.charged.checked_sub(self.owed).unwrap_or(Usdc::ZERO)
    }

    /// Adds the capture to the postings of the received payment.
    pub fn capture(&self, received: LedgerTransaction, by: LedgerProvider) -> LedgerTransaction {
        received
            .post(LedgerAccount::Suspense, LedgerAccount::Provider(by), self.owed)
            .post(LedgerAccount::Suspense, LedgerAccount::FeeRevenue, self.fee())
    }

    /// Reverses the capture, so that the whole charge is in suspense for a credit.
    pub fn reversal(&self, at: Timestamp, cause: impl ToString, by: LedgerProvider) -> LedgerTransaction {
        LedgerTransaction::new(at, cause)
            .post(LedgerAccount::Provider(by), LedgerAccount::Suspense, self.owed)
            .post(LedgerAccount::FeeRevenue, LedgerAccount::Suspense, self.fee())
    }

    /// Amount that can still be credited after `gone` was. Refunds and other credits share this sum: together they
    /// never exceed the charge.
    pub fn remaining(&self, gone: Usdc) -> Usdc {
        self.charged.checked_sub(gone).unwrap_or(Usdc::ZERO)
    }

    /// Payer's part of the total that the provider has released, given the refunded amount. The rest is Purser's, which
    /// paid for the refund.
    pub fn payer_amount(&self, released: Cents, refunded: Usdc) -> Usdc {
        self.provider_amount_of(released).min(self.remaining(refunded))
    }

    /// Amount that the provider releases; never more than we owed it.
    fn provider_amount_of(&self, released: Cents) -> Usdc {
        Usdc::from_cents(released).unwrap_or(self.owed).min(self.owed)
    }

    /// The provider releases more of what we owed it; both amounts are totals, before and now.
    pub fn return_remainder(
        &self,
        at: Timestamp,
        cause: impl ToString,
        by: LedgerProvider,
        (before, now): (Cents, Cents),
        refunded: Usdc,
    ) -> RemainderReturn {
        let more = |now: Usdc, before: Usdc| now.checked_sub(before).unwrap_or(Usdc::ZERO);
        let part = |released| self.payer_amount(released, refunded);
        let credited = more(part(now), part(before));
        let retained = more(
            more(self.provider_amount_of(now), self.provider_amount_of(before)),
            credited,
        );
        let transaction = LedgerTransaction::new(at, cause)
            .post(LedgerAccount::Provider(by), LedgerAccount::Suspense, credited)
            .post(LedgerAccount::Provider(by), LedgerAccount::OperatingCosts, retained);
        RemainderReturn {
            transaction,
            credited,
            retained,
        }
    }

    /// The provider returns what we owed it, less a fee that it deducts. Returns the transaction and the amount then in
    /// suspense for a credit. Our fee stays earned.
    pub fn provider_return(
        &self,
        at: Timestamp,
        cause: impl ToString,
        by: LedgerProvider,
        kept: Usdc,
    ) -> (LedgerTransaction, Usdc) {
        let back = self.owed.checked_sub(kept).unwrap_or(Usdc::ZERO);
        let transaction =
            LedgerTransaction::new(at, cause).post(LedgerAccount::Provider(by), LedgerAccount::Suspense, back);
        (transaction, back)
    }
}
