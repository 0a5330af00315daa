//! Compares two lists of the same money entry by entry: our records and an external list. Pure: the caller that reads
//! the lists passes the current time.
//!
//! Entries in progress are no discrepancy: an order whose outcome has not reached us, a transfer that settles now. Two
//! cases don't depend on time. One is a different amount. The other is an order under a key that we never issued,
//! because our row is durable before any request is sent.

use std::fmt;

use rust_decimal::Decimal;

use crate::currency::Currency;
use crate::id::Network;
pub use crate::kinds::ReconciliationSource;
use crate::money::{Cents, Usdc};
use crate::named_enum::named_enum;
use crate::time::Timestamp;

impl ReconciliationSource {
    /// Hashed into the ids of discrepancies and orders, so it never changes: a name may.
    pub(crate) const fn id_label(self) -> &'static str {
        match self {
            Self::BankTransfers => "bank",           // frozen: hash label
            Self::ReloadableCards => "card_program", // frozen: hash label
            other => other.name(),
        }
    }

    /// Network of the source, if it is a chain.
    pub const fn network(self) -> Option<Network> {
        match self {
            Self::Base => Some(Network::Base),
            Self::Solana => Some(Network::Solana),
            _ => None,
        }
    }

    /// Kind of entry on its list, if it is not a chain.
    pub const fn entry_kind(self) -> EntryKind {
        match self {
            Self::BankDeposits => EntryKind::IncomingTransfer,
            Self::CardBalances | Self::PrepaidRemainders => EntryKind::Balance,
            Self::Bridge => EntryKind::BridgeTransfer,
            _ => EntryKind::Order,
        }
    }

    /// Source for the chain of a network.
    pub const fn for_network(network: Network) -> Self {
        match network {
            Network::Base => Self::Base,
            Network::Solana => Self::Solana,
        }
    }
}

/// Kind of entry on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum EntryKind {
    /// An order that we placed with a provider, by its idempotency key.
    Order,
    /// A transfer to our treasury, by its transaction.
    Deposit,
    /// A transfer out of our treasury, by its transaction.
    OutgoingTransfer,
    /// Money that a provider received for us to credit, by the provider's reference.
    IncomingTransfer,
    /// Remaining amount of an order, by the order's key. It can change without a request.
    Balance,
    /// USDC handed to a bridge, by the transaction that burned it.
    BridgeTransfer,
}

named_enum! {
    /// Kind of discrepancy. Stored numbers: never reuse one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
    pub enum DiscrepancyKind {
        /// A provider acted on a key that we never issued, or has money for us that has no ledger record.
        UnexpectedAtProvider = "unexpected_at_provider",
        /// Our records have an entry that the provider does not have.
        MissingAtProvider = "missing_at_provider",
        /// Both have it, with different amounts or currencies.
        AmountMismatch = "amount_mismatch",
        /// Both have it, with different outcomes.
        StatusMismatch = "status_mismatch",
        /// The chain shows a transfer to us that paid for nothing and was not credited.
        UnmatchedDeposit = "unmatched_deposit",
        /// We sold or credited something for a transfer that the chain does not show.
        MissingDeposit = "missing_deposit",
        /// The chain shows a transfer out of the treasury that has no ledger record.
        UnmatchedTransfer = "unmatched_transfer",
        /// An outgoing transfer has a ledger record and the chain does not show it.
        MissingTransfer = "missing_transfer",
    }
}

impl DiscrepancyKind {
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

/// Amount of an entry with its currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryAmount {
    /// Amount in USDC.
    Usdc(Usdc),
    /// Amount in a currency with two decimals.
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

/// Status of an entry on its list. Stored numbers: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum EntryStatus {
    /// Only in our records: it exists and was never submitted.
    NotSubmitted,
    /// The outcome is not known yet.
    Pending,
    /// The counterparty has the money and has not delivered yet: on hold, or between two chains.
    Held,
    /// Executed, paid or settled, and not reversed.
    Completed,
    /// It was not executed and will not be.
    Declined,
    /// It was executed, and its money was returned.
    Returned,
}

impl EntryStatus {
    /// Name in discrepancies and in the provider protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotSubmitted => "not_submitted",
            Self::Pending => "pending",
            Self::Held => "held",
            Self::Completed => "completed",
            Self::Declined => "declined",
            Self::Returned => "returned",
        }
    }
}

/// An entry as one list has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedEntry {
    /// Outcome as the list has it.
    pub status: EntryStatus,
    /// Amount with its currency.
    pub amount: EntryAmount,
    /// Time of the last change.
    pub at: Timestamp,
}

impl fmt::Display for ListedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status.name(), self.amount)
    }
}

/// Current time, and how long after a change the two lists may disagree, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct GraceWindow {
    /// Current time by our clock.
    pub now: Timestamp,
    /// Grace period: at least the time that a provider or chain event takes to reach its entity.
    pub grace_ms: u64,
}

impl GraceWindow {
    /// Whether a change at this time must have reached the other list. A time in the future counts as settled, so a
    /// wrong clock cannot hide a discrepancy for ever.
    fn is_settled(self, changed: Timestamp) -> bool {
        changed > self.now || changed.plus_ms(self.grace_ms) <= self.now
    }
}

/// Discrepancy between two lists for one entry, if there is one.
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
            // A payer's transfer may be on chain before we record it. An order that was declined or returned has cost
            // nothing.
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
        // A remaining amount changes when the provider reports it.
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
        // A chain shows only what is there, so our records lack the entry.
        EntryKind::Deposit | EntryKind::OutgoingTransfer => DiscrepancyKind::for_unmatched(flow),
    })
}

/// Whether both agree about the money. A declined order and a returned one have both cost nothing.
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
