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
pub enum Source {
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
    Bank,
    /// What came in at the bank, and what it gave back.
    BankDeposits,
    /// Reloadable cards and what is set aside, at the card issuer.
    CardProgram,
    /// What is left on each reloadable card.
    CardBalances,
    /// What the bridge carries.
    Bridge,
    /// What was given back of prepaid cards that have ended, at their issuer.
    PrepaidRemainders,
}

impl Source {
    /// All, in the order of a walk.
    pub const ALL: [Self; 11] = [
        Self::Base,
        Self::Solana,
        Self::Cards,
        Self::GiftCards,
        Self::Payouts,
        Self::Bank,
        Self::BankDeposits,
        Self::CardProgram,
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
            Self::Bank => "bank",
            Self::BankDeposits => "bank_deposits",
            Self::CardProgram => "card_program",
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
    pub const fn flow(self) -> Flow {
        match self {
            Self::BankDeposits => Flow::Incoming,
            Self::CardBalances | Self::PrepaidRemainders => Flow::Balance,
            Self::Bridge => Flow::Crossing,
            _ => Flow::Order,
        }
    }

    /// The chain of a network.
    pub const fn of(network: Network) -> Self {
        match network {
            Network::Base => Self::Base,
            Network::Solana => Self::Solana,
        }
    }
}

/// What a thing on a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Flow {
    /// Something that we asked a provider for, by its idempotency key.
    Order,
    /// A transfer to our treasury, by its transaction.
    Deposit,
    /// A transfer out of it, by its transaction.
    Departure,
    /// Money that came to a provider for us to credit, by the provider's name of it.
    Incoming,
    /// What is left of something that was ordered, by the order's key. It changes when nobody asks.
    Balance,
    /// USDC that was given to a bridge, by the transaction that burned it.
    Crossing,
}

/// How a difference is called. The numbers are stored: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
pub enum Discrepancy {
    /// A provider did something under a key that we never gave out, or has money for us that is in no book.
    ProviderHasUnknown,
    /// We count on something that the provider does not know.
    ProviderLacks,
    /// Both know it, with different amounts or currencies.
    AmountDiffers,
    /// Both know it, and disagree about what came of it.
    StateDiffers,
    /// The chain shows a transfer to us that nobody was sold anything for or credited with.
    ChainDepositWithoutCredit,
    /// We sold something for a transfer, or credited it, and the chain does not show it.
    ChainDepositMissing,
    /// The chain shows a transfer out of the treasury that is in no book.
    TransferUnexplained,
    /// A transfer out is in our books, and the chain does not show it.
    TransferMissing,
}

impl Discrepancy {
    /// All.
    pub const ALL: [Self; 8] = [
        Self::ProviderHasUnknown,
        Self::ProviderLacks,
        Self::AmountDiffers,
        Self::StateDiffers,
        Self::ChainDepositWithoutCredit,
        Self::ChainDepositMissing,
        Self::TransferUnexplained,
        Self::TransferMissing,
    ];

    /// In events, metrics and lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProviderHasUnknown => "provider_has_unknown",
            Self::ProviderLacks => "provider_lacks",
            Self::AmountDiffers => "amount_differs",
            Self::StateDiffers => "state_differs",
            Self::ChainDepositWithoutCredit => "chain_deposit_without_credit",
            Self::ChainDepositMissing => "chain_deposit_missing",
            Self::TransferUnexplained => "transfer_unexplained",
            Self::TransferMissing => "transfer_missing",
        }
    }

    const fn of_surplus(flow: Flow) -> Self {
        match flow {
            Flow::Order | Flow::Incoming | Flow::Balance | Flow::Crossing => Self::ProviderHasUnknown,
            Flow::Deposit => Self::ChainDepositWithoutCredit,
            Flow::Departure => Self::TransferUnexplained,
        }
    }

    const fn of_lack(flow: Flow) -> Self {
        match flow {
            Flow::Order | Flow::Incoming | Flow::Balance | Flow::Crossing => Self::ProviderLacks,
            Flow::Deposit => Self::ChainDepositMissing,
            Flow::Departure => Self::TransferMissing,
        }
    }
}

/// How much of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Money {
    /// USDC.
    Usdc(Usdc),
    /// A currency with two places.
    Cents(Cents, Currency),
}

impl fmt::Display for Money {
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
pub enum Standing {
    /// On our list alone: it is there, and was never asked for.
    NotAsked,
    /// It is not known yet what comes of it.
    UnderWay,
    /// They have the money and still owe what it is for: set aside, or between two chains.
    Held,
    /// Made, paid or landed; it is not taken back.
    Done,
    /// It was not done and will not be.
    Refused,
    /// It was done, and its money came back.
    Returned,
}

impl Standing {
    /// In differences and in the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::UnderWay => "pending",
            Self::Held => "held",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Returned => "returned",
        }
    }
}

/// A thing as one list has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What came of it.
    pub standing: Standing,
    /// How much.
    pub money: Money,
    /// When that last changed.
    pub at: Timestamp,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.standing.name(), self.money)
    }
}

/// Now, and for how long after a change the two lists may disagree about it, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// By our clock.
    pub now: Timestamp,
    /// At least as long as a provider's word, or a chain's, takes to reach its entity.
    pub grace_ms: u64,
}

impl Moment {
    /// Whether what changed then must have reached the other list. A change that is still to come is none: nobody's clock
    /// hides anything for ever.
    fn is_settled(self, changed: Timestamp) -> bool {
        changed > self.now || changed.plus_ms(self.grace_ms) <= self.now
    }
}

/// What two lists differ in about one thing, if they do.
pub fn compare(flow: Flow, ours: Option<&Listed>, theirs: Option<&Listed>, moment: Moment) -> Option<Discrepancy> {
    let (ours, theirs) = match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        (None, None) => return None,
        (None, Some(theirs)) => {
            // Whoever pays may be quicker on the chain than here. A provider that refused has done nothing, and an order that came
            // back has cost nothing.
            let now = flow == Flow::Order || moment.is_settled(theirs.at);
            let undone = theirs.standing == Standing::Refused;
            let undone = undone || flow == Flow::Order && theirs.standing == Standing::Returned;
            let surplus = now && !undone;
            return surplus.then(|| Discrepancy::of_surplus(flow));
        }
        (Some(ours), None) => {
            let counted_on = matches!(ours.standing, Standing::Held | Standing::Done | Standing::Returned);
            let lacks = counted_on && moment.is_settled(ours.at);
            return lacks.then(|| Discrepancy::of_lack(flow));
        }
    };
    let settled = moment.is_settled(ours.at) && moment.is_settled(theirs.at);
    if ours.money != theirs.money {
        // What is spent is told when the provider comes to it.
        let now = flow != Flow::Balance || settled;
        return now.then_some(Discrepancy::AmountDiffers);
    }
    if !settled || agree(ours.standing, theirs.standing) {
        return None;
    }
    Some(match flow {
        Flow::Order | Flow::Incoming | Flow::Balance | Flow::Crossing => Discrepancy::StateDiffers,
        // A chain shows what is there and nothing else: it is ours that lacks it.
        Flow::Deposit | Flow::Departure => Discrepancy::of_surplus(flow),
    })
}

/// Whether both tell the same about the money. An order that was refused and one that came back have both cost nothing.
const fn agree(ours: Standing, theirs: Standing) -> bool {
    use Standing::{Done, Held, NotAsked, Refused, Returned, UnderWay};
    matches!(
        (ours, theirs),
        (UnderWay, UnderWay) | (Held, Held) | (Done, Done) | (NotAsked | Refused | Returned, Refused | Returned)
    )
}
