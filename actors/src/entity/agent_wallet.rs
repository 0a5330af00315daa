//! An agent wallet: a managed wallet with USDC at addresses of an account, whose keys are derived for the owner's
//! agents.
//!
//! ```text
//! - --agent opens it--> active
//! ```
//!
//! Its addresses belong to the owner's account, by rows of the batch that creates the wallet: purchases that they pay
//! for belong to the owner.
//!
//! Its money is on the chains and not in our ledger; balances are read from the chains, and its
//! statement follows them. This entity has the caps that a person has set, and a reservation for each pending wallet
//! payment. Every wallet payment begins with a command here, which checks the caps and reserves in one batch. Any number
//! of concurrent payments therefore stays within the caps. A reservation ends by what the chain shows, never by time.

mod address_book;
mod job;
mod limits;
mod machine;
mod merchants;
mod refusal;
mod statement;
mod view;

pub use self::limits::refusal_of;
use self::merchants::MerchantUse;
pub use self::merchants::{MerchantCap, MerchantCapView, MerchantCaps, MerchantCapsView};
pub use self::refusal::{RefusedSpend, RefusedSpendView};
pub use self::statement::{WalletStatementLine, WalletSums};
pub use self::view::{AgentWalletAddresses, AgentWalletLimits, AgentWalletView};
use purser_storage::codec::Stored;

use crate::entity::account::counted_day;
use crate::entity::api_key::{KeyAllowance, KeyShare};
use crate::entity::spend_approval::{
    ExceededLimit, RoutePurchase, SpendAct, SpendAgent, SpendLimit, SpendPayee, SpendTerms,
};
use crate::entity::wallet_payment::WalletPaymentOrder;
use crate::id::{AddressId, CardId, JobId, Network, SpendApprovalId, Wallet, WalletPaymentId};
use crate::money::{Cents, Usdc};
use crate::port::{Timestamp, WalletAddresses};

pub use self::job::Job;
pub use address_book::SavedAddress;

/// State of an agent wallet.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AgentWallet {
    /// Account that owns it.
    pub owner: Wallet,
    /// Addresses on both chains.
    pub addresses: WalletAddresses,
    /// Caps set by the owner.
    pub caps: WalletCaps,
    /// Time at which the agent created the wallet.
    pub created_at: Timestamp,
    /// Reservations of pending wallet payments, oldest first.
    pub holds: Vec<WalletHold>,
    /// Address book of the owner's agents, oldest first.
    pub address_book: Vec<SavedAddress>,
    /// Day (UTC) that `used` counts, since the epoch.
    day: u32,
    /// Reserved or spent on that day.
    used: Usdc,
    /// Caps per merchant set by the owner.
    pub merchant_caps: MerchantCaps,
    /// Reserved or spent on that day at each merchant: at most [`AgentWallet::MAX_MERCHANTS_A_DAY`].
    merchant_uses: Vec<MerchantUse>,
    /// The latest spend that a limit refused.
    pub last_refusal: Option<RefusedSpend>,
    /// What the lines of its statement add up to.
    sums: WalletSums,
}

/// Caps of an agent wallet in US dollars; USDC counts one to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletCaps {
    /// Cap per payment or transfer: 1 to 50,000 US dollars.
    pub per_call: Cents,
    /// Cap per day (UTC); `None` is without a cap.
    pub per_day: Option<Cents>,
    /// Whether a spend over a limit waits for the owner's approval. If not, it is refused.
    pub approvals: bool,
}

impl WalletCaps {
    /// Smallest cap per call.
    pub const MIN_PER_CALL: Cents = Cents::new(100);
    /// Largest cap per call.
    pub const MAX_PER_CALL: Cents = Cents::new(5_000_000);
}

/// Reservation of a wallet payment.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletHold {
    /// Wallet payment that it is for.
    pub payment: WalletPaymentId,
    /// Network that the money leaves on.
    pub network: Network,
    /// Amount in USDC.
    pub amount: Usdc,
    /// Day whose cap it counts toward.
    pub day: u32,
    /// Part of the usage of the agent's API key, if it has one.
    pub key: Option<KeyShare>,
    /// The owner's approval that it used, if it was over a limit.
    pub approval: Option<SpendApprovalId>,
    /// Merchant of a paid call, whose cap it counts toward.
    pub merchant: Option<String>,
}

/// A spend, and what the wallet must know to decide on it.
#[derive(Clone, Debug)]
pub struct WalletSpend {
    /// Id of the new wallet payment.
    pub payment: WalletPaymentId,
    /// Amount, recipient and payment method.
    pub order: WalletPaymentOrder,
    /// Of a paid call: its `HttpRecordPart::Request`.
    pub call: Vec<u8>,
    /// Balance of the wallet on that chain.
    pub chain_balance: Usdc,
    /// [`AgentWallet::statement_line_count`] from before that balance was read; `None` leaves the balance out of the
    /// statement.
    pub known_lines: Option<u64>,
    /// Agent that spends.
    pub agent: SpendAgent,
    /// Keyed digest of the call for the owner's approval: URL, method and body. Zeros for a transfer.
    pub call_digest: [u8; 32],
    /// What it buys at one of Purser's own routes, for the owner's approval.
    pub purchase: Option<RoutePurchase>,
}

impl WalletSpend {
    /// What an approval of this spend is for.
    pub fn terms(&self) -> SpendTerms {
        SpendTerms {
            payee: SpendPayee::Wallet(self.order.to),
            amount: self.order.amount,
            act: SpendAct::from(&self.order.method),
            call: self.call_digest,
            key: self.agent.key,
        }
    }
}

/// An approval that a spend wants to use, as it was read. Whether it can still be used is a condition of the batch.
#[derive(Clone, Debug)]
pub struct UsableApproval {
    /// Id of the approval.
    pub id: SpendApprovalId,
    /// What it is for.
    pub terms: SpendTerms,
    /// Limits that it passes.
    pub limits: Vec<SpendLimit>,
    /// It cannot be used from then on.
    pub expires_at: Timestamp,
}

/// Commands to an agent wallet.
#[derive(Clone, Debug)]
pub enum Command {
    /// Creates the wallet unless it exists.
    Create {
        /// Addresses on both chains.
        addresses: WalletAddresses,
        /// Seed of the key derivation, sealed under the owner's digest; it contains no key.
        sealed: Vec<u8>,
        /// Caps until a person sets others.
        caps: WalletCaps,
    },
    /// Replaces the caps.
    SetCaps(WalletCaps),
    /// Replaces the caps per merchant.
    SetMerchantCaps(MerchantCaps),
    /// Reserves the amount and starts a wallet payment.
    Hold {
        /// The spend.
        spend: Box<WalletSpend>,
        /// Amount of the day that a lost history has spent; no wallet payment records it.
        spent_before: Usdc,
        /// The owner's approval, if it was given.
        approval: Option<Box<UsableApproval>>,
        /// Limits and usage of the agent's API key, if it has one.
        key: Option<Box<KeyAllowance>>,
    },
    /// A limit refused a spend: the owner is notified.
    RecordRefusal(Box<RefusedSpend>),
    /// A wallet payment has ended.
    SettleHold {
        /// Job that reports it.
        job: JobId,
        /// Id of the affected entity.
        payment: WalletPaymentId,
        /// Whether the money left; if not, the daily cap gets it back.
        paid: bool,
        /// Limits and usage of the API key that gets it back too.
        key: Option<Box<KeyAllowance>>,
    },
    /// The owner reads the statement: it gets the lines for what the chains have.
    ObserveBalances {
        /// Balances on the chains that could be read.
        balances: Vec<(Network, Usdc)>,
        /// [`AgentWallet::statement_line_count`] from before they were read.
        lines: u64,
    },
    /// Saves an address, or changes a saved one.
    SaveAddress(SavedAddress),
    /// Deletes a saved address.
    DeleteAddress(AddressId),
}

/// Events of an agent wallet.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The wallet was created.
    Created {
        /// Addresses on both chains.
        addresses: WalletAddresses,
        /// Caps that apply until the account owner sets others.
        caps: WalletCaps,
        /// Time of the event.
        at: Timestamp,
    },
    /// The caps were replaced.
    CapsChanged(WalletCaps),
    /// An amount was reserved.
    Held(WalletHold),
    /// A reservation ended; whether the payment was made.
    HoldSettled(WalletPaymentId, bool),
    /// An address was saved.
    AddressSaved(SavedAddress),
    /// An address was deleted.
    AddressDeleted(AddressId),
    /// A limit refused a spend.
    SpendRefused(Box<RefusedSpend>),
    /// The caps per merchant were replaced.
    MerchantCapsChanged(MerchantCaps),
    /// The chain had another balance than the statement: USDC was received, or a history that a restore lost has spent
    /// some.
    BalanceObserved(Network, Usdc),
}

crate::state_machine! { AgentWallet, Event;
    states { Active = "active" }
    events {
        Created "created" { - => Active: "creation by an agent" }
        CapsChanged "caps_updated" { Active }
        Held - { Active }
        HoldSettled - { Active }
        AddressSaved "address_saved" { Active }
        AddressDeleted "address_deleted" { Active }
        SpendRefused "spend_refused" { Active }
        MerchantCapsChanged "caps_updated" { Active }
        BalanceObserved - { Active }
    }
}

impl From<&AgentWallet> for State {
    fn from(_: &AgentWallet) -> Self {
        Self::Active
    }
}

/// Reason why an agent wallet rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The wallet does not exist.
    NotFound,
    /// The account owner has stopped all agents.
    AgentsStopped,
    /// The session or the API key that spends has ended since the call began.
    AccessEnded,
    /// The cap per call would be exceeded.
    PerCallCap {
        /// The cap that would be exceeded.
        cap: Cents,
    },
    /// The daily cap would be exceeded.
    DailyCap {
        /// The cap that would be exceeded.
        cap: Cents,
        /// Amount left of the daily cap.
        left: Usdc,
    },
    /// The cap per call of the agent's API key would be exceeded.
    KeyPerCallCap {
        /// The cap that would be exceeded.
        cap: Cents,
    },
    /// The daily cap of the agent's API key would be exceeded.
    KeyDailyCap {
        /// The cap that would be exceeded.
        cap: Cents,
        /// Amount left of the daily cap.
        left: Usdc,
    },
    /// Another limit of the account owner would be exceeded.
    OverLimit(ExceededLimit),
    /// It is over a limit, and the account owner may approve it.
    ApprovalRequired,
    /// The balance on that network less reservations is too low.
    Insufficient {
        /// Balance that is not held for other wallet payments.
        available: Usdc,
    },
    /// [`AgentWallet::MAX_PENDING`] wallet payments are pending.
    TooManyPending,
    /// The address is not saved.
    AddressNotFound,
    /// [`AgentWallet::MAX_ADDRESSES`] addresses are saved.
    AddressBookFull,
}

impl Rejection {
    /// Whether a limit of the account owner refuses the spend.
    pub const fn is_by_limit(&self) -> bool {
        matches!(
            self,
            Self::PerCallCap { .. }
                | Self::DailyCap { .. }
                | Self::KeyPerCallCap { .. }
                | Self::KeyDailyCap { .. }
                | Self::OverLimit(_)
        )
    }
}

impl Stored for AgentWallet {
    const SCHEMA: u16 = 170;
}

impl Stored for Event {
    const SCHEMA: u16 = 171;
}

impl AgentWallet {
    /// Maximum number of pending wallet payments of one wallet.
    pub const MAX_PENDING: usize = 256;
    /// Maximum number of saved addresses of one wallet.
    pub const MAX_ADDRESSES: usize = 100;

    /// Row of the key derivation's seed.
    pub fn keys(owner: &Wallet) -> CardId {
        CardId(owner.digest())
    }

    /// Amount reserved on a network.
    pub fn held(&self, network: Network) -> Usdc {
        let open = self.holds.iter().filter(|open| open.network == network);
        open.fold(Usdc::ZERO, |sum, open| sum.checked_add(open.amount).unwrap_or(sum))
    }

    /// Amount reserved or spent on the day of `at`, or on a later day that has already been counted.
    pub fn used_on(&self, at: Timestamp) -> Usdc {
        if self.is_counted_day(at) { self.used } else { Usdc::ZERO }
    }

    /// Day (UTC) that is counted, since the epoch, and the amount reserved or spent on it.
    pub const fn day_usage(&self) -> (u32, Usdc) {
        (self.day, self.used)
    }

    /// Whether spends of `at` count toward the day that is counted.
    fn is_counted_day(&self, at: Timestamp) -> bool {
        self.day == counted_day(at, self.day)
    }

    /// Rest of the daily cap after `before`, the amount that a lost history spent; `None` without a cap.
    pub fn remaining_on(&self, at: Timestamp, before: Usdc) -> Option<Usdc> {
        let cap = in_usdc(self.caps.per_day?);
        let left = cap
            .checked_sub(self.used_on(at))
            .and_then(|left| left.checked_sub(before));
        Some(left.unwrap_or(Usdc::ZERO))
    }

    /// Whether a reservation exceeds the daily cap or the cap of its merchant, including the amount that a lost history
    /// spent. Reservations are counted in the order in which they were made.
    pub(crate) fn exceeds_daily_cap(&self, spend: WalletPaymentId, before: Usdc) -> bool {
        let Some(at) = self.holds.iter().position(|open| open.payment == spend) else {
            return false;
        };
        let (open, later) = (&self.holds[at], &self.holds[at + 1..]);
        // The owner has approved this one over the cap.
        if open.day != self.day || open.approval.is_some() {
            return false;
        }
        let is_beyond_merchant = self.exceeds_merchant_cap(open, later, before);
        let later = later.iter().filter(|open| open.day == self.day);
        let used = later.fold(self.used, |used, open| {
            used.checked_sub(open.amount).unwrap_or(Usdc::ZERO)
        });
        let used = used.checked_add(before).unwrap_or(Usdc::from_atomic(u64::MAX));
        is_beyond_merchant || self.caps.per_day.is_some_and(|cap| used > in_usdc(cap))
    }
}

/// A cap above the largest USDC amount has no effect.
fn in_usdc(cents: Cents) -> Usdc {
    Usdc::from_cents(cents).unwrap_or(Usdc::from_atomic(u64::MAX))
}
