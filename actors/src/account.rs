//! An account: one wallet, what it may do, and the money we owe it.
//!
//! ```text
//! - --first sign-in or payment--> active <--operator--> frozen
//! ```
//!
//! Every purchase begins here: the claim checks whatever can refuse it, reserves its share of the daily caps and opens
//! the payment, in one batch. A reservation is freed by a proven refusal only, never by time.

mod bank_debits;
mod caps;
mod claims;
mod holds;
mod login_link;
mod lost_orders;
mod machine;
mod provisional_credits;
mod statement;

use purser_storage::codec::Stored;

use crate::id::{DepositId, JobId, Network, OutgoingTransferId, PaymentId, SessionId, Wallet, WithdrawalId};
use crate::kernel::job::{CapReservation, CreditCause, UnclaimedCapUsage};
use crate::lost_order::AttributedOrder;
use crate::money::{Cents, Usdc};
use crate::operator::AuditedAction;
use crate::payment::{ResolvedPreconditions, SessionSeed};
use crate::port::{Authorization, OutgoingTransfer, Timestamp};
use crate::product::{DailyCap, Precondition, ProductLine, Purchase};
use crate::session::AuthMethod;

pub use bank_debits::{BalancePayout, BankDebit, DebitPurpose};
pub use caps::{OwnerCap, OwnerCaps};
pub(crate) use claims::{counted_day, day_of, may_claim};
pub use login_link::{LoginCode, LoginGrant};
pub use provisional_credits::{provisional_hold_cause, underlying_payment};
pub use statement::{StatementLine, StatementLineType};

/// An account's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Account {
    /// Its key.
    pub wallet: Wallet,
    /// Since when.
    pub created_at: Timestamp,
    /// What we owe its holder, held amounts included.
    pub balance: Usdc,
    /// Of that, what is reserved.
    pub held: Usdc,
    /// All that was ever credited.
    pub total_deposits: Usdc,
    /// Why it is frozen, if it is.
    pub frozen: Option<String>,
    /// What its owner allows of each day.
    pub owner_caps: OwnerCaps,
    /// Lines of its statement so far.
    statement_line_count: u64,
    /// The day that `used` counts.
    day: u32,
    /// By budget, in the order of their first use that day: at most one entry a product line.
    used: Vec<CapUsage>,
}

/// What was bought of one budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct CapUsage {
    cap_group: ProductLine,
    count: u32,
    sum: Cents,
}

/// A purchase to be admitted.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The payment's id.
    pub payment: PaymentId,
    /// The signed payment, verified.
    pub authorization: Authorization,
    /// What it buys.
    pub purchase: Purchase,
    /// What that is worth, fees apart.
    pub worth: Cents,
    /// What was read of the payer for it.
    pub resolved: ResolvedPreconditions,
    /// Digest of the exact request.
    pub request: [u8; 32],
    /// For the caller whose claim wins.
    pub session: SessionSeed,
    /// In force now for its line.
    pub cap: Option<DailyCap>,
    /// A challenge that no other payment may answer, and the second from which none could anyway.
    pub challenge: Option<([u8; 16], u64)>,
    /// Of what it may have bought in a lost history, where that was counted before it was presented here: then it reserves nothing.
    pub counted: Option<Vec<ProductLine>>,
}

impl ClaimRequest {
    /// What must still hold when the claim is committed.
    pub fn preconditions(&self) -> Vec<Precondition> {
        self.purchase.preconditions()
    }
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The wallet has signed in.
    SignIn {
        /// The nonce it used, and the second from which nobody could use it anyway.
        nonce: ([u8; 16], u64),
        /// To be opened.
        session: SessionSeed,
    },
    /// Buy.
    Claim(Box<ClaimRequest>),
    /// Admit a payment again that was released.
    Readmit {
        /// Which.
        payment: PaymentId,
        /// What it buys.
        purchase: Purchase,
        /// What that is worth, fees apart.
        worth: Cents,
        /// In force now for its line.
        cap: Option<DailyCap>,
        /// Opened for the caller who presents it.
        session: SessionSeed,
        /// As for a claim.
        counted: Option<Vec<ProductLine>>,
    },
    /// A proven refusal.
    ReleaseCapReservation {
        /// What says so.
        job: JobId,
        /// What was reserved.
        reservation: CapReservation,
    },
    /// Something that a history which a restore has lost has bought: it counts, and nothing refuses it.
    CountCapReservation {
        /// What says so.
        job: JobId,
        /// Of the day on which it was paid.
        reservation: CapReservation,
    },
    /// What a payment of such a history may have bought: it counts until that payment has settled here.
    CountUnclaimed {
        /// What says so.
        job: JobId,
        /// Which.
        payment: PaymentId,
        /// Its revision, as it was read; 0 if there was none.
        revision: u64,
        /// Of the day on which it was paid, one a budget; `None` if it has been presented since.
        counted: Option<UnclaimedCapUsage>,
    },
    /// It is known what it bought, and counts for that.
    CountClaimed {
        /// What says so.
        job: JobId,
        /// Which.
        payment: PaymentId,
        /// What was counted for it, and what counts now, if it bought anything; `None` where nothing was.
        counted: Option<(UnclaimedCapUsage, Option<CapReservation>)>,
    },
    /// Money that could not be used for what it was paid.
    Credit {
        /// What says so.
        job: JobId,
        /// How much.
        amount: Usdc,
        /// Of what.
        cause: CreditCause,
    },
    /// The same, of money that rests on a payment which is not final: it is held until that is known.
    CreditProvisionally {
        /// What says so.
        job: JobId,
        /// How much.
        amount: Usdc,
        /// Of what.
        cause: CreditCause,
        /// Which payment.
        payment: PaymentId,
    },
    /// The payment that a credit rests on is final, or gone for good.
    EndProvisionalHold {
        /// What says so.
        job: JobId,
        /// Which payment.
        payment: PaymentId,
        /// What is held.
        amount: Usdc,
        /// Whether it is final; else the credit is taken out of the balance.
        is_final: bool,
    },
    /// A withheld credit ends without being given: what stood in suspense for it is the house's.
    RetainCredit {
        /// The credit.
        job: JobId,
        /// How much.
        amount: Usdc,
        /// Of what.
        cause: CreditCause,
    },
    /// A transfer to our treasury goes back to whoever sent it.
    SendBack {
        /// What says so.
        job: JobId,
        /// Which.
        deposit: DepositId,
        /// Who sent it.
        to: Wallet,
        /// How much.
        amount: Usdc,
    },
    /// Send part of the balance away.
    Withdraw {
        /// The new withdrawal's id.
        id: WithdrawalId,
        /// Who receives it.
        to: Wallet,
        /// How much.
        amount: Usdc,
    },
    /// A withdrawal has come to its end.
    SettleHold {
        /// What says so.
        job: JobId,
        /// Which.
        withdrawal: WithdrawalId,
        /// What was held for it.
        amount: Usdc,
        /// Where it was paid out; `None` gives it back.
        paid: Option<Network>,
    },
    /// An operator books a transfer that left before a restore: the balance was already smaller.
    AttributeTransfer {
        /// Which.
        transfer: OutgoingTransfer,
        /// Who says so.
        act: AuditedAction,
        /// In the operator's words.
        evidence: String,
    },
    /// An operator says that the balance paid for an order which a restore has lost, or has what came of one.
    AttributeOrder {
        /// As it is to be booked.
        attributed: Box<AttributedOrder>,
        /// Whether it was booked before, and refused in between.
        is_repeat: bool,
        /// Who says so.
        act: AuditedAction,
        /// In the operator's words.
        evidence: String,
    },
    /// Pay for something out of the balance.
    DebitForBank(BankDebit),
    /// Make a login link.
    CreateLoginCode {
        /// Its code.
        code: LoginCode,
        /// Of the session that asks.
        amr: AuthMethod,
        /// The session that asks.
        created_by: SessionId,
    },
    /// Use a login link.
    RedeemLoginCode {
        /// Hash of its code.
        code: [u8; 32],
        /// What it grants.
        amr: AuthMethod,
        /// To be opened.
        session: SessionSeed,
    },
    /// Stop new purchases and all reading.
    Freeze {
        /// Shown to the holder.
        message: String,
        /// Who says so, where somebody does.
        act: Option<AuditedAction>,
    },
    /// Undo that.
    Unfreeze {
        /// Who says so, where somebody does.
        act: Option<AuditedAction>,
    },
    /// The owner's own caps, all of them.
    SetCaps(OwnerCaps),
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It began.
    Opened(Timestamp),
    /// A share of the caps was reserved.
    CapReserved(CapReservation),
    /// A share was given back.
    CapReleased(CapReservation),
    /// Money came in.
    Credited {
        /// How much.
        amount: Usdc,
        /// Of what.
        cause: CreditCause,
    },
    /// Frozen.
    Frozen(String),
    /// No longer frozen.
    Unfrozen,
    /// The owner changed the own caps to these.
    CapsChanged(OwnerCaps),
    /// Part of the balance was reserved for a withdrawal.
    Held(Usdc, WithdrawalId),
    /// What was held has left.
    Withdrawn(Usdc, WithdrawalId),
    /// What was held is available again.
    Released(Usdc, WithdrawalId),
    /// It had left before a restore, and an operator has booked it.
    TransferAttributed(Usdc, OutgoingTransferId),
    /// Part of the balance paid for something.
    Debited(Usdc, DebitPurpose),
    /// A credit is held, since the payment that it rests on is not final.
    HeldUntilFinal(Usdc, PaymentId),
    /// That payment is final: the credit is available.
    Finalized(Usdc, PaymentId),
    /// That payment is gone for good: the credit is not there any more.
    Reversed(Usdc, PaymentId),
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The account is frozen.
    Frozen {
        /// For the holder.
        message: String,
    },
    /// Too many purchases today.
    DailyCountCap {
        /// The cap.
        cap: u32,
    },
    /// Too much money today.
    DailyAmountCap {
        /// The cap.
        cap: Cents,
    },
    /// An amount does not fit.
    Overflow,
    /// In a history that a restore has lost it may have paid for something else.
    MayHaveBought,
    /// More than is available.
    Insufficient {
        /// What is.
        available: Usdc,
    },
    /// There is nothing to be asked that of.
    NotFound,
}

impl Stored for Account {
    const SCHEMA: u16 = 46;
}

impl Stored for Event {
    const SCHEMA: u16 = 47;
}

impl Account {
    /// What the holder can use: posted less held.
    pub fn available(&self) -> Usdc {
        self.balance.checked_sub(self.held).unwrap_or(Usdc::ZERO)
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
            statement_line_count: 0,
            day: 0,
            used: Vec::new(),
        }
    }
}
