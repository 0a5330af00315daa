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

mod address_book;
mod machine;

use purser_storage::codec::Stored;

use crate::account::counted_day;
use crate::id::{AddressId, CardId, JobId, Network, Wallet, WalletPaymentId};
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;
use crate::wallet_payment::WalletPaymentOrder;

pub use address_book::SavedAddress;

/// A managed wallet's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AgentWallet {
    /// Whose it is.
    pub owner: Wallet,
    /// Where it is on both chains.
    pub addresses: WalletAddresses,
    /// What its owner allows.
    pub caps: WalletCaps,
    /// Since when.
    pub created_at: Timestamp,
    /// Spends that may still leave, oldest first.
    pub holds: Vec<WalletHold>,
    /// Addresses that the owner's agents keep, oldest first.
    pub address_book: Vec<SavedAddress>,
    /// The day that `used` counts, since the epoch, UTC.
    day: u32,
    /// Reserved or spent on that day.
    used: Usdc,
}

/// One address a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletAddresses {
    /// On Base.
    pub base: [u8; 20],
    /// On Solana.
    pub solana: [u8; 32],
}

impl WalletAddresses {
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
pub struct WalletCaps {
    /// By one payment or transfer: 1 to 50,000.
    pub per_call: Cents,
    /// By all of a day (UTC); `None` is without a cap.
    pub per_day: Option<Cents>,
}

impl WalletCaps {
    /// The least that a person can allow a call.
    pub const MIN_PER_CALL: Cents = Cents::new(100);
    /// The most.
    pub const MAX_PER_CALL: Cents = Cents::new(5_000_000);
}

/// A reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletHold {
    /// For which spend.
    pub payment: WalletPaymentId,
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
    Create {
        /// Where it is.
        addresses: WalletAddresses,
        /// What its keys are derived from, sealed under the owner's digest: no key is in it.
        sealed: Vec<u8>,
        /// Until a person sets others.
        caps: WalletCaps,
    },
    /// A person's limits.
    SetCaps(WalletCaps),
    /// Reserve for a spend, and send it on its way.
    Hold {
        /// The new spend's id.
        payment: WalletPaymentId,
        /// What is to be paid, and how.
        order: Box<WalletPaymentOrder>,
        /// Of a call, what is sent: `Part::Call`.
        call: Vec<u8>,
        /// What the chain shows that the wallet holds there.
        chain_balance: Usdc,
        /// What a history that a restore has lost has spent of the day: no spend says so.
        spent_before: Usdc,
    },
    /// A spend has come to its end.
    SettleHold {
        /// The effect that says so.
        job: JobId,
        /// Which.
        payment: WalletPaymentId,
        /// Whether it left; if not, its share of the day is given back.
        paid: bool,
    },
    /// Keep an address, or change one that is kept.
    SaveAddress(SavedAddress),
    /// Forget an address.
    DeleteAddress(AddressId),
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It exists.
    Created {
        /// Where.
        addresses: WalletAddresses,
        /// The limits it begins with.
        caps: WalletCaps,
        /// When.
        at: Timestamp,
    },
    /// Other limits.
    CapsChanged(WalletCaps),
    /// Reserved.
    Held(WalletHold),
    /// A reservation ended, by payment or not.
    HoldSettled(WalletPaymentId, bool),
    /// An address is kept.
    AddressSaved(SavedAddress),
    /// And no more.
    AddressDeleted(AddressId),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// There is no wallet.
    NotFound,
    /// More than one call may spend.
    PerCallCap {
        /// The cap.
        cap: Cents,
    },
    /// More than is left of the day.
    DailyCap {
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
    TooManyPending,
    /// No such address is kept.
    AddressNotFound,
    /// [`AgentWallet::MOST_SAVED`] addresses are kept.
    AddressBookFull,
}

impl Stored for AgentWallet {
    const SCHEMA: u16 = 170;
}

impl Stored for Event {
    const SCHEMA: u16 = 171;
}

impl AgentWallet {
    /// Spends of one wallet on their way at once.
    pub const MAX_PENDING: usize = 256;
    /// Addresses that one wallet keeps.
    pub const MAX_ADDRESSES: usize = 100;

    /// The row of what the keys are derived from.
    pub fn keys(owner: &Wallet) -> CardId {
        CardId(owner.digest())
    }

    /// Reserved on a network.
    pub fn held(&self, network: Network) -> Usdc {
        let open = self.holds.iter().filter(|open| open.network == network);
        open.fold(Usdc::ZERO, |sum, open| sum.checked_add(open.amount).unwrap_or(sum))
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
    pub fn remaining_on(&self, at: Timestamp, before: Usdc) -> Option<Usdc> {
        let cap = in_usdc(self.caps.per_day?);
        let left = cap
            .checked_sub(self.used_on(at))
            .and_then(|left| left.checked_sub(before));
        Some(left.unwrap_or(Usdc::ZERO))
    }

    /// Whether a reservation is beyond the day's cap, together with what such a history spent before it could be seen. Of several
    /// the one that was reserved first fits first.
    pub(crate) fn exceeds_daily_cap(&self, spend: WalletPaymentId, before: Usdc) -> bool {
        let Some(at) = self.holds.iter().position(|open| open.payment == spend) else {
            return false;
        };
        let later = self.holds[at + 1..].iter().filter(|open| open.day == self.day);
        let used = later.fold(self.used, |used, open| {
            used.checked_sub(open.amount).unwrap_or(Usdc::ZERO)
        });
        let used = used.checked_add(before).unwrap_or(Usdc::from_atomic(u64::MAX));
        self.holds[at].day == self.day && self.caps.per_day.is_some_and(|cap| used > in_usdc(cap))
    }
}

/// A cap beyond what USDC can count caps nothing.
fn in_usdc(cents: Cents) -> Usdc {
    Usdc::from_cents(cents).unwrap_or(Usdc::from_atomic(u64::MAX))
}
