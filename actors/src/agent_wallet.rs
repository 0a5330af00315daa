//! A managed wallet: USDC at addresses of an account, whose keys are derived for the agents of that account's owner.
//!
//! ```text
//! - --agent opens it--> active
//! ```
//!
//! Its addresses are addresses of the owner's account, by rows that the batch writes which opens it: whatever they pay for
//! is the owner's.
//!
//! Its money is on the chains and in nobody's books but theirs: what it holds is read there. What is in here are the
//! limits that a person has set, and a reservation for each spend on its way. Every spend begins with a command to this
//! machine, which checks the limits and reserves in one batch, so a hundred at once never pass a cap together. A
//! reservation ends by what the chain shows, never by time.

mod book;
mod machine;

use purser_storage::codec::Stored;

use crate::account::counted_day;
use crate::id::{AddressId, CardId, EffectId, Network, SpendId, Wallet};
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;
use crate::spend::Order;

pub use book::Saved;

/// A managed wallet's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AgentWallet {
    /// Whose it is.
    pub owner: Wallet,
    /// Where it is on both chains.
    pub addresses: Addresses,
    /// What its owner allows.
    pub limits: Limits,
    /// Since when.
    pub created_at: Timestamp,
    /// Spends that may still leave, oldest first.
    pub open: Vec<Open>,
    /// Addresses that the owner's agents keep, oldest first.
    pub book: Vec<Saved>,
    /// The day that `used` counts, since the epoch, UTC.
    day: u32,
    /// Reserved or spent on that day.
    used: Usdc,
}

/// One address a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Addresses {
    /// On Base.
    pub base: [u8; 20],
    /// On Solana.
    pub solana: [u8; 32],
}

impl Addresses {
    /// The one on a network.
    pub const fn on(&self, network: Network) -> Wallet {
        match network {
            Network::Base => Wallet::Evm(self.base),
            Network::Solana => Wallet::Solana(self.solana),
        }
    }
}

/// What may leave a managed wallet, in US dollars; USDC is taken one to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Limits {
    /// By one payment or transfer: 1 to 50,000.
    pub per_call: Cents,
    /// By all of a day (UTC); `None` is without a cap.
    pub per_day: Option<Cents>,
}

impl Limits {
    /// The least that a person can allow a call.
    pub const LEAST_PER_CALL: Cents = Cents::new(100);
    /// The most.
    pub const MOST_PER_CALL: Cents = Cents::new(5_000_000);
}

/// A reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Open {
    /// For which spend.
    pub spend: SpendId,
    /// Where it leaves.
    pub network: Network,
    /// How much.
    pub amount: Usdc,
    /// Of which day's cap.
    pub day: u32,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// Make the wallet, unless there is one.
    Open {
        /// Where it is.
        addresses: Addresses,
        /// What its keys are derived from, sealed under the owner's digest: no key is in it.
        sealed: Vec<u8>,
        /// Until a person sets others.
        limits: Limits,
    },
    /// A person's limits.
    SetLimits(Limits),
    /// Reserve for a spend, and send it on its way.
    Reserve {
        /// The new spend's id.
        spend: SpendId,
        /// What is to be paid, and how.
        order: Box<Order>,
        /// Of a call, what is sent: `Part::Call`.
        call: Vec<u8>,
        /// What the chain shows that the wallet holds there.
        holds: Usdc,
        /// What a history that a restore has lost has spent of the day: no spend says so.
        before: Usdc,
    },
    /// A spend has come to its end.
    End {
        /// The effect that says so.
        effect: EffectId,
        /// Which.
        spend: SpendId,
        /// Whether it left; if not, its share of the day is given back.
        paid: bool,
    },
    /// Keep an address, or change one that is kept.
    Save(Saved),
    /// Forget an address.
    Forget(AddressId),
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It exists.
    Opened {
        /// Where.
        addresses: Addresses,
        /// The limits it begins with.
        limits: Limits,
        /// When.
        at: Timestamp,
    },
    /// Other limits.
    LimitsChanged(Limits),
    /// Reserved.
    Reserved(Open),
    /// A reservation ended, by payment or not.
    Ended(SpendId, bool),
    /// An address is kept.
    Saved(Saved),
    /// And no more.
    Forgotten(AddressId),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// There is no wallet.
    Nothing,
    /// More than one call may spend.
    PerCall {
        /// The cap.
        cap: Cents,
    },
    /// More than is left of the day.
    PerDay {
        /// The cap.
        cap: Cents,
        /// What is left of it.
        left: Usdc,
    },
    /// More than the wallet holds on that network, less what is reserved.
    Insufficient {
        /// What it has.
        available: Usdc,
    },
    /// [`AgentWallet::MOST_OPEN`] spends are on their way.
    Busy,
    /// No such address is kept.
    Unknown,
    /// [`AgentWallet::MOST_SAVED`] addresses are kept.
    Full,
}

impl Stored for AgentWallet {
    const SCHEMA: u16 = 170;
}

impl Stored for Event {
    const SCHEMA: u16 = 171;
}

impl AgentWallet {
    /// Spends of one wallet on their way at once.
    pub const MOST_OPEN: usize = 256;
    /// Addresses that one wallet keeps.
    pub const MOST_SAVED: usize = 100;

    /// The row of what the keys are derived from.
    pub fn keys(owner: &Wallet) -> CardId {
        CardId(owner.digest())
    }

    /// Reserved on a network.
    pub fn reserved(&self, network: Network) -> Usdc {
        let open = self.open.iter().filter(|open| open.network == network);
        open.fold(Usdc::ZERO, |sum, open| sum.plus(open.amount).unwrap_or(sum))
    }

    /// Reserved or spent on the day of a moment, or on a later one that has begun already.
    pub fn used_on(&self, at: Timestamp) -> Usdc {
        if self.day == counted_day(at, self.day) {
            self.used
        } else {
            Usdc::ZERO
        }
    }

    /// What is left of the daily cap after what a history that a restore has lost spent `before`; `None` without a cap.
    pub fn left_on(&self, at: Timestamp, before: Usdc) -> Option<Usdc> {
        let cap = in_usdc(self.limits.per_day?);
        let left = cap.minus(self.used_on(at)).and_then(|left| left.minus(before));
        Some(left.unwrap_or(Usdc::ZERO))
    }

    /// Whether a reservation is beyond the day's cap, together with what such a history spent before it could be seen. Of several
    /// the one that was reserved first fits first.
    pub(crate) fn is_beyond(&self, spend: SpendId, before: Usdc) -> bool {
        let Some(at) = self.open.iter().position(|open| open.spend == spend) else {
            return false;
        };
        let later = self.open[at + 1..].iter().filter(|open| open.day == self.day);
        let used = later.fold(self.used, |used, open| used.minus(open.amount).unwrap_or(Usdc::ZERO));
        let used = used.plus(before).unwrap_or(Usdc::from_atomic(u64::MAX));
        self.open[at].day == self.day && self.limits.per_day.is_some_and(|cap| used > in_usdc(cap))
    }
}

/// A cap beyond what USDC can count caps nothing.
fn in_usdc(cents: Cents) -> Usdc {
    Usdc::from_cents(cents).unwrap_or(Usdc::from_atomic(u64::MAX))
}
