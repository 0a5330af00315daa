//! The double-entry ledger: append-only transactions between named accounts, each summing to zero.
//!
//! A debit is positive, a credit negative: what we hold (the treasury) stands positive, what we owe (holders,
//! providers) and what we earned stands negative.

use purser_storage::codec::Stored;

use crate::id::{Network, PaymentId, Wallet};
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;

/// A place where money stands. House accounts are never entities; their balances are sums of postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum LedgerAccount {
    /// USDC we hold on a network.
    Treasury(Network),
    /// Received and not yet owed to anybody in particular.
    Suspense,
    /// Owed to an account holder.
    Customer(Wallet),
    /// Owed to a provider for what was ordered: its clearing account.
    Provider(LedgerProvider),
    /// Earned.
    FeeRevenue,
    /// Owed to an account holder and reserved for what is on its way out.
    CustomerHeld(Wallet),
    /// What bringing products about costs us: a bridge's fee, or what it lost.
    OperatingCosts,
    /// What we were paid and a chain has taken back.
    Losses,
    /// Put into the treasury by whoever runs the service, or taken out: an operator said so of a transfer.
    OperatorFunds,
    /// What gas and rent on the chains were bought with: an operator said so of a transfer.
    NetworkFees,
    /// What arrived at card balances beyond what was bought, because the bridge took less than its highest fee. Posted out of
    /// [`Place::Costs`], which then holds the fee that the bridge has taken.
    BridgeSurplus,
}

/// Who makes what is sold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum LedgerProvider {
    /// Makes USA prepaid cards.
    CardIssuer,
    /// The operators who fulfil international cards.
    IntlFulfilment,
    /// Sells gift cards.
    GiftCards,
    /// Pays out to debit cards.
    PushToCard,
    /// Pays out to banks.
    Bank,
    /// Pay out to their users.
    PaymentApps,
    /// Keeps the balances that top-ups load.
    CardBalances,
    /// Keeps holders' accounts.
    Banking,
}

impl LedgerProvider {
    /// All.
    pub const ALL: [Self; 8] = [
        Self::CardIssuer,
        Self::IntlFulfilment,
        Self::GiftCards,
        Self::PushToCard,
        Self::Bank,
        Self::PaymentApps,
        Self::CardBalances,
        Self::Banking,
    ];

    /// By its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// In reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CardIssuer => "card_issuer",
            Self::IntlFulfilment => "intl_desk",
            Self::GiftCards => "gift_cards",
            Self::PushToCard => "push_to_card",
            Self::Bank => "bank",
            Self::PaymentApps => "payment_apps",
            Self::CardBalances => "card_balances",
            Self::Banking => "banking",
        }
    }
}

/// What left the treasury for what is no customer's: an operator said so of a transfer. The numbers are stored: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Outlay {
    /// It paid this provider what it is owed.
    Provider(LedgerProvider),
    /// Whoever runs the service has taken it out.
    OperatorFunds,
    /// It bought what gas and rent are paid with.
    NetworkFees,
}

impl Outlay {
    /// Where it stands in the books.
    pub const fn account(self) -> LedgerAccount {
        match self {
            Self::Provider(provider) => LedgerAccount::Provider(provider),
            Self::OperatorFunds => LedgerAccount::OperatorFunds,
            Self::NetworkFees => LedgerAccount::NetworkFees,
        }
    }

    /// In answers and the audit log.
    pub fn name(self) -> String {
        match self {
            Self::Provider(provider) => format!("provider {}", provider.name()),
            Self::OperatorFunds => "operator_funds".to_owned(),
            Self::NetworkFees => "network_fees".to_owned(),
        }
    }
}

/// An amount entered at a place, in atomic USDC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Posting {
    /// Where.
    pub account: LedgerAccount,
    /// Positive or negative, never zero.
    pub atomic: i128,
}

/// Postings that belong together.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LedgerTransaction {
    /// When.
    pub at: Timestamp,
    /// Why: the id of what caused it, for example `pay_…`.
    pub cause: String,
    /// Sum to zero.
    pub postings: Vec<Posting>,
}

impl Stored for LedgerTransaction {
    const SCHEMA: u16 = 2;
}

impl LedgerTransaction {
    /// A transaction without postings yet.
    pub fn new(at: Timestamp, cause: impl ToString) -> Self {
        Self {
            at,
            cause: cause.to_string(),
            postings: Vec::with_capacity(4),
        }
    }

    /// Debits one place and credits another: two postings that cancel, so the sum stays zero by construction.
    /// Nothing is posted for a zero amount.
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

/// What a provider gives back of what it was owed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainderReturn {
    /// To be booked; without postings where nothing more is given back.
    pub transaction: LedgerTransaction,
    /// What then stands in suspense for a credit of the payer.
    pub credited: Usdc,
    /// What the house keeps: a refund gave the payer as much.
    pub retained: Usdc,
}

/// What a purchase cost: part of it is owed to whoever makes the product, the rest is our fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Charge {
    /// What paid for it.
    pub payment: PaymentId,
    /// Everything the payer paid, fee included.
    pub charged: Usdc,
    /// What the product itself is worth; never above what was charged.
    owed: Usdc,
}

impl Charge {
    /// A charge for something worth `owed`. Prices are never below it, so nothing is lost in the clamp.
    pub fn new(payment: PaymentId, charged: Usdc, owed: Usdc) -> Self {
        let owed = owed.min(charged);
        Self { payment, charged, owed }
    }

    /// What the product itself is worth.
    pub const fn provider_amount(&self) -> Usdc {
        self.owed
    }

    /// What is left for us.
    pub fn fee(&self) -> Usdc {
        self.charged.checked_sub(self.owed).unwrap_or(Usdc::ZERO)
    }

    /// What fulfilment adds to the books of what was received.
    pub fn capture(&self, received: LedgerTransaction, by: LedgerProvider) -> LedgerTransaction {
        received
            .post(LedgerAccount::Suspense, LedgerAccount::Provider(by), self.owed)
            .post(LedgerAccount::Suspense, LedgerAccount::FeeRevenue, self.fee())
    }

    /// Takes that back, so that the whole charge stands in suspense for a credit.
    pub fn reversal(&self, at: Timestamp, cause: impl ToString, by: LedgerProvider) -> LedgerTransaction {
        LedgerTransaction::new(at, cause)
            .post(LedgerAccount::Provider(by), LedgerAccount::Suspense, self.owed)
            .post(LedgerAccount::FeeRevenue, LedgerAccount::Suspense, self.fee())
    }

    /// What can still go back of it once so much has. Refunds and what is credited without one share this sum: together they
    /// are never more than was charged.
    pub fn remaining(&self, gone: Usdc) -> Usdc {
        self.charged.checked_sub(gone).unwrap_or(Usdc::ZERO)
    }

    /// The payer's part of what the provider has given back in total, where a refund gave so much of the charge. The rest is the
    /// house's, which paid for that refund.
    pub fn payer_amount(&self, released: Cents, refunded: Usdc) -> Usdc {
        self.provider_amount_of(released).min(self.remaining(refunded))
    }

    /// What the provider gives back, which is no more than it was owed.
    fn provider_amount_of(&self, released: Cents) -> Usdc {
        Usdc::from_cents(released).unwrap_or(self.owed).min(self.owed)
    }

    /// The provider gives more back of what it was owed: in total so much before, and so much now.
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
        let kept = more(
            more(self.provider_amount_of(now), self.provider_amount_of(before)),
            credited,
        );
        let transaction = LedgerTransaction::new(at, cause)
            .post(LedgerAccount::Provider(by), LedgerAccount::Suspense, credited)
            .post(LedgerAccount::Provider(by), LedgerAccount::OperatingCosts, kept);
        RemainderReturn {
            transaction,
            credited,
            retained: kept,
        }
    }

    /// The provider gives back what it was owed, less a fee of its own that it keeps: what then stands in suspense for a
    /// credit, and how much that is. Our fee stays earned.
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
