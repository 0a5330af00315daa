//! Two lists of the same money, ours and somebody else's, held against each other one thing at a time. Pure: who reads
//! the lists says what time it is.
//!
//! What is under way is no difference: an order that we have not heard the end of, a transfer that lands at this moment.
//! An amount is no matter of time, though, nor is an order under a key that we never gave out: our own row is durable
//! before anybody is asked.

use std::fmt;

use rust_decimal::Decimal;

use crate::id::Network;
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;
use crate::product::Currency;

/// Whose list ours is held against. The numbers are stored: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum ReconciliationSource {
    /// The chain of Base.
    Base,
    /// The chain of Solana.
    Solana,
    /// The issuer of prepaid cards.
    Cards,
    /// The catalog of gift cards.
    GiftCards,
    /// The payout rails.
    Payouts,
    /// What the bank was told to move.
    BankTransfers,
    /// What came in at the bank, and what it gave back.
    BankDeposits,
    /// Reloadable cards and what is set aside, at the card issuer.
    ReloadableCards,
    /// What is left on each reloadable card.
    CardBalances,
    /// What the bridge carries.
    Bridge,
    /// What was given back of prepaid cards that have ended, at their issuer.
    PrepaidRemainders,
}

impl ReconciliationSource {
    /// All, in the order of a walk.
    pub const ALL: [Self; 11] = [
        Self::Base,
        Self::Solana,
        Self::Cards,
        Self::GiftCards,
        Self::Payouts,
        Self::BankTransfers,
        Self::BankDeposits,
        Self::ReloadableCards,
        Self::CardBalances,
        Self::Bridge,
        Self::PrepaidRemainders,
    ];

    /// In events, metrics and the protocol between service and provider.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Solana => "solana",
            Self::Cards => "cards",
            Self::GiftCards => "gift_cards",
            Self::Payouts => "payouts",
            Self::BankTransfers => "bank",
            Self::BankDeposits => "bank_deposits",
            Self::ReloadableCards => "card_program",
            Self::CardBalances => "card_balances",
            Self::Bridge => "bridge",
            Self::PrepaidRemainders => "prepaid_remainders",
        }
    }

    /// Which chain, if it is one.
    pub const fn network(self) -> Option<Network> {
        match self {
            Self::Base => Some(Network::Base),
            Self::Solana => Some(Network::Solana),
            _ => None,
        }
    }

    /// What is on its list, if it is no chain.
    pub const fn entry_kind(self) -> EntryKind {
        match self {
            Self::BankDeposits => EntryKind::IncomingTransfer,
            Self::CardBalances | Self::PrepaidRemainders => EntryKind::Balance,
            Self::Bridge => EntryKind::BridgeTransfer,
            _ => EntryKind::Order,
        }
    }

    /// The chain of a network.
    pub const fn for_network(network: Network) -> Self {
        match network {
            Network::Base => Self::Base,
            Network::Solana => Self::Solana,
        }
    }
}

/// What a thing on a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum EntryKind {
    /// Something that we asked a provider for, by its idempotency key.
    Order,
    /// A transfer to our treasury, by its transaction.
    Deposit,
    /// A transfer out of it, by its transaction.
    OutgoingTransfer,
    /// Money that came to a provider for us to credit, by the provider's name of it.
    IncomingTransfer,
    /// What is left of something that was ordered, by the order's key. It changes when nobody asks.
    Balance,
    /// USDC that was given to a bridge, by the transaction that burned it.
    BridgeTransfer,
}

/// How a difference is called. The numbers are stored: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
pub enum DiscrepancyKind {
    /// A provider did something under a key that we never gave out, or has money for us that is in no book.
    UnexpectedAtProvider,
    /// We count on something that the provider does not know.
    MissingAtProvider,
    /// Both know it, with different amounts or currencies.
    AmountMismatch,
    /// Both know it, and disagree about what came of it.
    StatusMismatch,
    /// The chain shows a transfer to us that nobody was sold anything for or credited with.
    UnmatchedDeposit,
    /// We sold something for a transfer, or credited it, and the chain does not show it.
    MissingDeposit,
    /// The chain shows a transfer out of the treasury that is in no book.
    UnmatchedTransfer,
    /// A transfer out is in our books, and the chain does not show it.
    MissingTransfer,
}

impl DiscrepancyKind {
    /// All.
    pub const ALL: [Self; 8] = [
        Self::UnexpectedAtProvider,
        Self::MissingAtProvider,
        Self::AmountMismatch,
        Self::StatusMismatch,
        Self::UnmatchedDeposit,
        Self::MissingDeposit,
        Self::UnmatchedTransfer,
        Self::MissingTransfer,
    ];

    /// In events, metrics and lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnexpectedAtProvider => "provider_has_unknown",
            Self::MissingAtProvider => "provider_lacks",
            Self::AmountMismatch => "amount_differs",
            Self::StatusMismatch => "state_differs",
            Self::UnmatchedDeposit => "chain_deposit_without_credit",
            Self::MissingDeposit => "chain_deposit_missing",
            Self::UnmatchedTransfer => "transfer_unexplained",
            Self::MissingTransfer => "transfer_missing",
        }
    }

    const fn for_unmatched(flow: EntryKind) -> Self {
        match flow {
            EntryKind::Order | EntryKind::IncomingTransfer | EntryKind::Balance | EntryKind::BridgeTransfer => {
                Self::UnexpectedAtProvider
            }
            EntryKind::Deposit => Self::UnmatchedDeposit,
            EntryKind::OutgoingTransfer => Self::UnmatchedTransfer,
        }
    }

    const fn for_missing(flow: EntryKind) -> Self {
        match flow {
            EntryKind::Order | EntryKind::IncomingTransfer | EntryKind::Balance | EntryKind::BridgeTransfer => {
                Self::MissingAtProvider
            }
            EntryKind::Deposit => Self::MissingDeposit,
            EntryKind::OutgoingTransfer => Self::MissingTransfer,
        }
    }
}

/// How much of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryAmount {
    /// USDC.
    Usdc(Usdc),
    /// A currency with two places.
    Cents(Cents, Currency),
}

impl fmt::Display for EntryAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usdc(amount) => write!(f, "{} USDC", amount.decimal()),
            Self::Cents(amount, currency) => {
                let amount = Decimal::from_i128_with_scale(i128::from(amount.get()), 2);
                write!(f, "{amount} {}", currency.as_str())
            }
        }
    }
}

/// What came of a thing, as its list says. The numbers are stored: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum EntryStatus {
    /// On our list alone: it is there, and was never asked for.
    NotSubmitted,
    /// It is not known yet what comes of it.
    Pending,
    /// They have the money and still owe what it is for: set aside, or between two chains.
    Held,
    /// Made, paid or landed; it is not taken back.
    Completed,
    /// It was not done and will not be.
    Declined,
    /// It was done, and its money came back.
    Returned,
}

impl EntryStatus {
    /// In differences and in the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotSubmitted => "not_asked",
            Self::Pending => "pending",
            Self::Held => "held",
            Self::Completed => "done",
            Self::Declined => "refused",
            Self::Returned => "returned",
        }
    }
}

/// A thing as one list has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedEntry {
    /// What came of it.
    pub status: EntryStatus,
    /// How much.
    pub amount: EntryAmount,
    /// When that last changed.
    pub at: Timestamp,
}

impl fmt::Display for ListedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status.name(), self.amount)
    }
}

/// Now, and for how long after a change the two lists may disagree about it, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct GraceWindow {
    /// By our clock.
    pub now: Timestamp,
    /// At least as long as a provider's word, or a chain's, takes to reach its entity.
    pub grace_ms: u64,
}

impl GraceWindow {
    /// Whether what changed then must have reached the other list. A change that is still to come is none: nobody's clock
    /// hides anything for ever.
    fn is_settled(self, changed: Timestamp) -> bool {
        changed > self.now || changed.plus_ms(self.grace_ms) <= self.now
    }
}

/// What two lists differ in about one thing, if they do.
pub fn compare(
    flow: EntryKind,
    ours: Option<&ListedEntry>,
    theirs: Option<&ListedEntry>,
    moment: GraceWindow,
) -> Option<DiscrepancyKind> {
    let (ours, theirs) = match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        (None, None) => return None,
        (None, Some(theirs)) => {
            // Whoever pays may be quicker on the chain than here. A provider that refused has done nothing, and an order that came
            // back has cost nothing.
            let now = flow == EntryKind::Order || moment.is_settled(theirs.at);
            let undone = theirs.status == EntryStatus::Declined;
            let undone = undone || flow == EntryKind::Order && theirs.status == EntryStatus::Returned;
            let surplus = now && !undone;
            return surplus.then(|| DiscrepancyKind::for_unmatched(flow));
        }
        (Some(ours), None) => {
            let counted_on = matches!(
                ours.status,
                EntryStatus::Held | EntryStatus::Completed | EntryStatus::Returned
            );
            let lacks = counted_on && moment.is_settled(ours.at);
            return lacks.then(|| DiscrepancyKind::for_missing(flow));
        }
    };
    let settled = moment.is_settled(ours.at) && moment.is_settled(theirs.at);
    if ours.amount != theirs.amount {
        // What is spent is told when the provider comes to it.
        let now = flow != EntryKind::Balance || settled;
        return now.then_some(DiscrepancyKind::AmountMismatch);
    }
    if !settled || entries_match(ours.status, theirs.status) {
        return None;
    }
    Some(match flow {
        EntryKind::Order | EntryKind::IncomingTransfer | EntryKind::Balance | EntryKind::BridgeTransfer => {
            DiscrepancyKind::StatusMismatch
        }
        // A chain shows what is there and nothing else: it is ours that lacks it.
        EntryKind::Deposit | EntryKind::OutgoingTransfer => DiscrepancyKind::for_unmatched(flow),
    })
}

/// Whether both tell the same about the money. An order that was refused and one that came back have both cost nothing.
const fn entries_match(ours: EntryStatus, theirs: EntryStatus) -> bool {
    use EntryStatus::{Completed, Declined, Held, NotSubmitted, Pending, Returned};
    matches!(
        (ours, theirs),
        (Pending, Pending)
            | (Held, Held)
            | (Completed, Completed)
            | (NotSubmitted | Declined | Returned, Declined | Returned)
    )
}
