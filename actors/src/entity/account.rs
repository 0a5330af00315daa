//! An account: one wallet, its caps and the balance we owe it.
//!
//! ```text
//! - --first sign-in or payment--> active <--operator--> frozen
//! ```
//!
//! Every purchase begins here. In one batch the claim makes all checks that can reject it, reserves its part of the
//! daily caps and opens the payment. Only proof that the payment can never settle releases a reservation; time never
//! does.

mod balance_limits;
mod bank_debits;
mod cap_reservation;
mod caps;
mod claims;
mod credit_cause;
mod holds;
mod job;
mod login_link;
mod lost_orders;
mod machine;
mod provisional_credits;
mod statement;
mod view;

pub use self::view::{AccountView, OwnerCapView, OwnerCapsView, StatementLineView};
use purser_storage::codec::Stored;

use crate::entity::Purchase;
use crate::entity::payment::{ResolvedPreconditions, SessionSeed};
use crate::entity::session::AuthMethod;
use crate::id::{DepositId, JobId, Network, OutgoingTransferId, PaymentId, SessionId, Wallet, WithdrawalId};
use crate::lost_order::AttributedOrder;
use crate::money::{Cents, Usdc};
use crate::operator::AuditedAction;
use crate::port::{Authorization, OutgoingTransfer, PreparedTransaction, Timestamp};
use crate::product::{DailyCap, Precondition, ProductLine};

pub use self::job::Job;
pub use balance_limits::{BalanceLimits, BalanceLimitsView};
pub use bank_debits::{BalancePayout, BankDebit, DebitPurpose};
pub use cap_reservation::{CapReservation, UnclaimedCapUsage};
pub use caps::{OwnerCap, OwnerCaps};
pub(crate) use claims::{counted_day, day_of, may_claim};
pub use credit_cause::CreditCause;
pub use login_link::{LoginCode, LoginGrant};
pub use provisional_credits::{provisional_hold_cause, underlying_payment};
pub use statement::{StatementLine, StatementLineType};

/// State of an account.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Account {
    /// Wallet that identifies the account.
    pub wallet: Wallet,
    /// Time of the first sign-in or payment.
    pub created_at: Timestamp,
    /// What we owe the account owner, held amounts included.
    pub balance: Usdc,
    /// Part of the balance that is on hold.
    pub held: Usdc,
    /// Total of all credits.
    pub total_deposits: Usdc,
    /// Message shown while the account is frozen.
    pub frozen: Option<String>,
    /// Daily caps set by the account owner.
    pub owner_caps: OwnerCaps,
    /// Limits set by the account owner on what agents take out of the balances.
    pub balance_limits: BalanceLimits,
    /// The last time that the account owner stopped all agents.
    pub agent_stop: Option<AgentStop>,
    /// Number of statement lines so far.
    statement_line_count: u64,
    /// Day (UTC) that `used` counts.
    day: u32,
    /// One entry per cap group, in the order of first use that day: at most one per product line.
    used: Vec<CapUsage>,
}

/// A stop of all agents by the account owner. Sessions and API keys from before it have ended, also once agents may act
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AgentStop {
    /// Time of the stop.
    pub at: Timestamp,
    /// Whether agents are still stopped.
    pub is_active: bool,
}

/// Purchases in one cap group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct CapUsage {
    cap_group: ProductLine,
    count: u32,
    sum: Cents,
}

/// A purchase to admit.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// Id of the new payment.
    pub payment: PaymentId,
    /// The verified payment authorization.
    pub authorization: Authorization,
    /// Product that the payment buys.
    pub purchase: Purchase,
    /// Value of the purchase without fees.
    pub worth: Cents,
    /// Preconditions, as read from the payer's rows.
    pub resolved: ResolvedPreconditions,
    /// Digest of the exact request.
    pub request: [u8; 32],
    /// Session for the caller whose claim wins.
    pub session: SessionSeed,
    /// Daily cap that now applies to the product line.
    pub cap: Option<DailyCap>,
    /// Challenge that no other payment may use, and the second from which it is expired anyway.
    pub challenge: Option<([u8; 16], u64)>,
    /// Product lines that it may have bought in a lost history, if they were counted before this claim; it then
    /// reserves nothing.
    pub counted: Option<Vec<ProductLine>>,
    /// What will be sent, if the port prepares without asking anybody; then the payment opens as `settling`.
    pub prepared: Option<PreparedTransaction>,
}

impl ClaimRequest {
    /// Preconditions that must still hold when the claim is committed.
    pub fn preconditions(&self) -> Vec<Precondition> {
        self.purchase.preconditions()
    }
}

/// Commands to an account.
#[derive(Clone, Debug)]
pub enum Command {
    /// The wallet signed in.
    SignIn {
        /// Nonce that was used, and the second from which it is expired anyway.
        nonce: ([u8; 16], u64),
        /// Session to open.
        session: SessionSeed,
    },
    /// Claims a payment for a purchase.
    Claim(Box<ClaimRequest>),
    /// Admits a payment again after a release.
    Readmit {
        /// Id of the affected entity.
        payment: PaymentId,
        /// Product that the payment buys.
        purchase: Purchase,
        /// Value of the purchase without fees.
        worth: Cents,
        /// Daily cap that now applies to the product line.
        cap: Option<DailyCap>,
        /// Session for the caller that retries.
        session: SessionSeed,
        /// Same meaning as in a claim.
        counted: Option<Vec<ProductLine>>,
    },
    /// The payment can never settle: its cap reservation is released.
    ReleaseCapReservation {
        /// Job that triggers it.
        job: JobId,
        /// Reservation to release.
        reservation: CapReservation,
    },
    /// A purchase of a history that a restore lost. It counts toward the caps and is never rejected.
    CountCapReservation {
        /// Job that triggers it.
        job: JobId,
        /// Reservation on the day of the payment.
        reservation: CapReservation,
    },
    /// A payment of a lost history counts for every purchase it may have made, until it has settled here.
    CountUnclaimed {
        /// Job that triggers it.
        job: JobId,
        /// Id of the affected entity.
        payment: PaymentId,
        /// Revision of the payment, as read; 0 if there was none.
        revision: u64,
        /// Reservations on the day of the payment, one per cap group; `None` if the payment was sent again since.
        counted: Option<UnclaimedCapUsage>,
    },
    /// It is known what the payment bought, and that now counts.
    CountClaimed {
        /// Job that triggers it.
        job: JobId,
        /// Id of the affected entity.
        payment: PaymentId,
        /// What was counted for it, and what counts now if it bought anything; `None` if nothing was counted.
        counted: Option<(UnclaimedCapUsage, Option<CapReservation>)>,
    },
    /// Credits money that could not be used for its purpose.
    Credit {
        /// Job that triggers it.
        job: JobId,
        /// Amount in USDC.
        amount: Usdc,
        /// Cause of the credit.
        cause: CreditCause,
    },
    /// Credits money that depends on a payment that is not final: the credit is on hold until it is.
    CreditProvisionally {
        /// Job that triggers it.
        job: JobId,
        /// Amount in USDC.
        amount: Usdc,
        /// Cause of the credit.
        cause: CreditCause,
        /// Payment that the command is about.
        payment: PaymentId,
    },
    /// The payment behind a held credit is final, or can never settle.
    EndProvisionalHold {
        /// Job that triggers it.
        job: JobId,
        /// Payment that the command is about.
        payment: PaymentId,
        /// Amount of the hold, in USDC.
        amount: Usdc,
        /// Whether the payment is final; otherwise the credit is removed from the balance.
        is_final: bool,
    },
    /// A withheld credit ends without a payout: its amount in suspense becomes Purser's.
    RetainCredit {
        /// Job of the credit.
        job: JobId,
        /// Amount in USDC.
        amount: Usdc,
        /// Cause of the credit.
        cause: CreditCause,
    },
    /// Returns an incoming transfer to its sender.
    SendBack {
        /// Job that triggers it.
        job: JobId,
        /// Id of the affected entity.
        deposit: DepositId,
        /// Wallet that sent it.
        to: Wallet,
        /// Amount in USDC.
        amount: Usdc,
    },
    /// Withdraws part of the balance.
    Withdraw {
        /// Id of the new withdrawal.
        id: WithdrawalId,
        /// Wallet that receives the money.
        to: Wallet,
        /// Amount in USDC.
        amount: Usdc,
    },
    /// A withdrawal has ended.
    SettleHold {
        /// Job that triggers it.
        job: JobId,
        /// Id of the affected entity.
        withdrawal: WithdrawalId,
        /// Amount that was held for it.
        amount: Usdc,
        /// Network of the payout; `None` releases the hold.
        paid: Option<Network>,
    },
    /// An operator attributes a transfer that left before a restore; the balance was already debited then.
    AttributeTransfer {
        /// Transfer to attribute.
        transfer: OutgoingTransfer,
        /// Operator action for the audit log.
        act: AuditedAction,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// An operator attributes an order that a restore lost: the balance paid for it, or received its proceeds.
    AttributeOrder {
        /// Order with the amounts to post.
        attributed: Box<AttributedOrder>,
        /// Whether it was attributed before and reversed since.
        is_repeat: bool,
        /// Operator action for the audit log.
        act: AuditedAction,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// Debits the balance for a payment to the bank.
    DebitForBank(BankDebit),
    /// Creates a login link.
    CreateLoginCode {
        /// Code of the link.
        code: LoginCode,
        /// Authentication method of the session that requests it.
        amr: AuthMethod,
        /// Session that requests it.
        created_by: SessionId,
    },
    /// Redeems a login link.
    RedeemLoginCode {
        /// Hash of the link's code.
        code: [u8; 32],
        /// What the link grants.
        grant: LoginGrant,
        /// Session to open.
        session: SessionSeed,
    },
    /// Freezes the account: purchases and reads are blocked.
    Freeze {
        /// Message shown to the account owner.
        message: String,
        /// Operator action, if an operator requested it.
        act: Option<AuditedAction>,
    },
    /// Unfreezes the account.
    Unfreeze {
        /// Operator action, if an operator requested it.
        act: Option<AuditedAction>,
    },
    /// Replaces all caps set by the account owner.
    SetCaps(OwnerCaps),
    /// Replaces the limits on what agents take out of the balances.
    SetBalanceLimits(BalanceLimits),
    /// Stops all agents: nothing is accepted from a token, an API key or a wallet of the account.
    StopAgents,
    /// Lets agents act again.
    ResumeAgents,
    /// The API keys from before the stop are revoked.
    RecordKeysRevoked {
        /// Job that revoked them.
        job: JobId,
    },
}

/// Events of an account.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The account was created.
    Opened(Timestamp),
    /// A cap reservation was made.
    CapReserved(CapReservation),
    /// A cap reservation was released.
    CapReleased(CapReservation),
    /// The balance was credited.
    Credited {
        /// Amount in USDC.
        amount: Usdc,
        /// Cause of the credit.
        cause: CreditCause,
    },
    /// The account was frozen.
    Frozen(String),
    /// The account was unfrozen.
    Unfrozen,
    /// The account owner set these caps.
    CapsChanged(OwnerCaps),
    /// Part of the balance was put on hold for a withdrawal.
    Held(Usdc, WithdrawalId),
    /// The held amount was paid out.
    Withdrawn(Usdc, WithdrawalId),
    /// The hold was released.
    Released(Usdc, WithdrawalId),
    /// An operator attributed a transfer that left before a restore.
    TransferAttributed(Usdc, OutgoingTransferId),
    /// The balance was debited for a purchase.
    Debited(Usdc, DebitPurpose),
    /// The credit is on hold because the payment behind it is not final.
    HeldUntilFinal(Usdc, PaymentId),
    /// That payment is final: the credit is available.
    Finalized(Usdc, PaymentId),
    /// That payment can never settle: the credit was removed.
    Reversed(Usdc, PaymentId),
    /// The account owner stopped all agents.
    AgentsStopped(Timestamp),
    /// The account owner let agents act again.
    AgentsResumed,
    /// The account owner set these limits on what agents take out of the balances.
    BalanceLimitsChanged(BalanceLimits),
}

crate::state_machine! { Account, Event;
    states { Active = "active", Frozen = "frozen" }
    events {
        Opened "created" { - => Active: "first sign-in or payment" }
        CapReserved - { * }
        CapReleased - { * }
        Credited "balance.credited" { * }
        Frozen "frozen" { Active => Frozen: "freeze by an operator", Frozen }
        Unfrozen "unfrozen" { Frozen => Active: "unfreeze by an operator" }
        CapsChanged "caps_updated" { * }
        Held "balance.held" { * }
        Withdrawn "balance.withdrawn" { * }
        Released "balance.released" { * }
        TransferAttributed "balance.withdrawn" { * }
        Debited "balance.debited" { * }
        HeldUntilFinal "balance.held" { * }
        Finalized "balance.released" { * }
        Reversed "balance.reversed" { * }
        AgentsStopped "agents_stopped" { * }
        AgentsResumed "agents_resumed" { * }
        BalanceLimitsChanged "caps_updated" { * }
    }
}

impl From<&Account> for State {
    fn from(account: &Account) -> Self {
        if account.frozen.is_some() {
            Self::Frozen
        } else {
            Self::Active
        }
    }
}

/// Reason why an account rejects a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The account is frozen.
    Frozen {
        /// Message shown to the account owner.
        message: String,
    },
    /// The account owner has stopped all agents.
    AgentsStopped,
    /// The daily purchase count cap would be exceeded.
    DailyCountCap {
        /// The cap that would be exceeded.
        cap: u32,
    },
    /// The daily amount cap would be exceeded.
    DailyAmountCap {
        /// The cap that would be exceeded.
        cap: Cents,
    },
    /// The amount would overflow.
    Overflow,
    /// It may have paid for another purchase in a history that a restore lost.
    MayHaveBought,
    /// The available balance is too low.
    Insufficient {
        /// Balance less holds, in USDC.
        available: Usdc,
    },
    /// The code, hold or account does not exist.
    NotFound,
}

impl Stored for Account {
    const SCHEMA: u16 = 46;
}

impl Stored for Event {
    const SCHEMA: u16 = 47;
}

impl Account {
    /// Available balance: the balance less holds.
    pub fn available(&self) -> Usdc {
        self.balance.checked_sub(self.held).unwrap_or(Usdc::ZERO)
    }

    /// Since when agents are stopped, if they are.
    pub fn agents_stopped_at(&self) -> Option<Timestamp> {
        self.agent_stop.filter(|stop| stop.is_active).map(|stop| stop.at)
    }

    /// Whether the access of an agent from this time has ended by a stop, past or present.
    pub fn has_ended_agent_access(&self, opened_at: Timestamp) -> bool {
        self.agent_stop.is_some_and(|stop| opened_at <= stop.at)
    }

    fn new(wallet: Wallet, created_at: Timestamp) -> Self {
        Self {
            wallet,
            created_at,
            balance: Usdc::ZERO,
            held: Usdc::ZERO,
            total_deposits: Usdc::ZERO,
            frozen: None,
            owner_caps: OwnerCaps::default(),
            balance_limits: BalanceLimits::default(),
            agent_stop: None,
            statement_line_count: 0,
            day: 0,
            used: Vec::new(),
        }
    }
}
