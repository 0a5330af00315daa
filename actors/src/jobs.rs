//! The number, name and policy of each type of job. In an entity's file, `jobs!` generates the enum of its jobs and the
//! table of their types.

use crate::id::{BankTransferId, PayoutId, TopUpId, WalletPaymentId, WithdrawalId};
use crate::kernel::EntityId;
use crate::kernel::job::{AnyJob, EntityJob};
use crate::product::ProductLine;

/// A type of job.
#[derive(Debug)]
pub struct JobType {
    /// Stored number. Unique among the jobs of all entity kinds; lists are ordered by it. Never reuse one.
    pub op: u8,
    /// Name in logs, metrics and the operator API.
    pub name: &'static str,
    /// What the job does.
    pub meaning: &'static str,
    /// The answers to every question about the job that does not depend on its entity's state.
    pub policy: JobPolicy,
    /// The id in a key of the job's subject, as text.
    pub(crate) subject_text: fn(&[u8]) -> Option<String>,
}

/// What the engine and its operators may do with a job. There is no `Default`, and no job uses `..`, so the compiler
/// requires every job to set a new field.
#[derive(Debug)]
pub struct JobPolicy {
    /// Line whose provider executes the job, and whether the job waits while that provider is down.
    pub line: LineDependency,
    /// Purpose of the money that the job moves out, from the key of its subject. Such a job passes the gate: after a
    /// restore it waits until everything that left since the backup is accounted for. `None` for jobs that move no
    /// money out: they decide, poll, notify or credit, or deliver what was paid. A mint is one of them: it continues a
    /// burn whose money has already left.
    pub outgoing: Option<PurposeOf>,
    /// Queue in which it waits for its attempts.
    pub queue: Queue,
    /// What an operator may record once the job is dead-lettered. `None`: only Purser or a chain decides the outcome.
    pub operator: Option<OperatorPolicy>,
}

/// What an operator may record of a job, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub struct OperatorPolicy {
    /// Outcomes that an operator may state.
    pub outcomes: Outcomes,
    /// When the owner is credited with what was paid.
    pub credits: Credits,
    /// Whether the credit needs a proof, or the operator's statement, that the money has not left.
    pub credit_needs_proof: bool,
    /// Whether absence from the provider's records proves that the order was never placed. A list may leave out
    /// undecided orders.
    pub absence_is_definitive: bool,
    /// Whether a pending status means “not completed”: a hold that is still active, or a delivery not credited yet. Not
    /// for a recall, whose money a person may have sent back.
    pub pending_means_not_completed: bool,
}

/// Outcomes of a job that an operator may state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcomes {
    /// That it was executed, and that it was not.
    Either,
    /// Only that it was executed.
    Completed,
    /// Only that it was not executed. A card gets its number from its issuer.
    NotCompleted,
    /// Neither: the job itself is a withheld credit.
    Neither,
}

/// Which outcome gives the owner money that was not on a balance before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credits {
    /// None. The chain decides about a payment, and money at the issuer stays there.
    Never,
    /// That it was executed.
    IfCompleted,
    /// That it was not executed. An operator can also have the owner credited directly.
    IfNotCompleted,
    /// That a transfer from the balance was not executed, or one to the balance was. In the first case, an operator can
    /// also have the owner credited directly.
    ByDirection,
}

/// Purpose of outgoing money, from the key of a job's subject. `None` if the key is malformed.
pub type PurposeOf = fn(&[u8]) -> Option<OutgoingPurpose>;

/// Queue in which a job waits for its attempts.
#[derive(Clone, Copy, Debug)]
pub enum Queue {
    /// That of its entity kind.
    OfKind,
    /// One with its own concurrency limit, so that a slow dependency does not delay other jobs.
    Partition(fn(&AnyJob) -> Option<u128>),
}

/// Line whose provider executes the job, and whether the job waits while that provider is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineDependency {
    /// Its orders wait while the provider is down, and are attempted one at a time.
    WaitsForLine(ProductLine),
    /// The same for the line of the payout's rail, which the payout names.
    WaitsForRail,
    /// It never waits, because its order is already in progress.
    Unblocked(ProductLine),
    /// No line's provider is called.
    None,
}

/// Purpose of outgoing money. All of it passes one gate, which checks the account and the payment behind each purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutgoingPurpose {
    /// From the treasury, for a withdrawal.
    Withdrawal(WithdrawalId),
    /// From the treasury, for a top-up: over the bridge, or to its address.
    TopUp(TopUpId),
    /// From an agent wallet.
    WalletPayment(WalletPaymentId),
    /// By a payout rail.
    Payout(PayoutId),
    /// By the bank, if it goes to the account there.
    BankTransfer(BankTransferId),
}

impl LineDependency {
    /// Whether it waits while its provider is down.
    pub const fn waits(self) -> bool {
        matches!(self, Self::WaitsForLine(_) | Self::WaitsForRail)
    }

    /// Whether it waits while this line's provider is down.
    pub fn waits_for(self, line: ProductLine) -> bool {
        match self {
            Self::WaitsForLine(own) => own == line,
            Self::WaitsForRail => matches!(
                line,
                ProductLine::PushToCard | ProductLine::BankPayment | ProductLine::AppPayment
            ),
            Self::Unblocked(_) | Self::None => false,
        }
    }
}

impl OperatorPolicy {
    /// Whether an operator may state that the job was executed, and that it was not.
    pub const fn outcomes(&self) -> (bool, bool) {
        match self.outcomes {
            Outcomes::Either => (true, true),
            Outcomes::Completed => (true, false),
            Outcomes::NotCompleted => (false, true),
            Outcomes::Neither => (false, false),
        }
    }

    /// Whether an operator can have the owner credited: the job was not executed, or is itself a withheld credit.
    pub const fn is_creditable(&self) -> bool {
        matches!(self.credits, Credits::IfNotCompleted | Credits::ByDirection)
    }
}

/// The types of the jobs of an entity kind. Generated by `jobs!`.
pub trait JobTypes: EntityJob {
    /// Each type once.
    const TYPES: &'static [JobType];
}

/// A key's id as text.
pub(crate) fn subject_text<I: EntityId>(key: &[u8]) -> Option<String> {
    I::from_key(key).map(|id| id.to_string())
}

/// Generates an entity kind's `Job`: the enum, its stored form and the table of its types. A job has a stored number,
/// its fields (the first is its subject), a name and a policy.
///
/// ```ignore
/// jobs! { GiftCard:
///     /// Order a gift card from the catalog.
///     8 OrderGiftCard(id: CardId) = "order_gift_card" => JobPolicy { /* every field */ };
/// }
/// // becomes
/// pub enum Job { OrderGiftCard(CardId) }
/// impl EntityJob for Job { /* store: (kind 6, op 8, the id's key, the other fields' bytes); load: the reverse */ }
/// impl JobTypes for Job { const TYPES: &'static [JobType] = &[JobType { op: 8, name: "order_gift_card", /* … */ }]; }
/// ```
macro_rules! jobs {
    ($kind:ident: $(
        $(#[doc = $meaning:literal])+
        $op:literal $variant:ident $(($only:ident: $only_type:ty))? $({
            $(#[$subject_doc:meta])* $subject:ident: $subject_type:ty
            $(, $(#[$field_doc:meta])* $field:ident: $type:ty)* $(,)?
        })? = $name:literal => $policy:expr;
    )+) => {
        /// Job of this entity kind.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Job {
            $($(#[doc = $meaning])+ $variant $(($only_type))? $({
                $(#[$subject_doc])* $subject: $subject_type,
                $($(#[$field_doc])* $field: $type,)*
            })?,)+
        }

        impl $crate::kernel::job::EntityJob for Job {
            const KIND: $crate::kernel::EntityKind = $crate::kernel::EntityKind::$kind;

            fn store(&self) -> $crate::kernel::job::AnyJob {
                match self {$(
                    Self::$variant $(($only))? $({ $subject, $($field),* })? => $crate::kernel::job::AnyJob {
                        kind: Self::KIND as u8,
                        op: $op,
                        subject: $crate::kernel::EntityId::key($($only)? $($subject)?),
                        payload: ::purser_storage::codec::encode_body(&($($($field,)*)?)),
                    },
                )+}
            }

            fn load(job: &$crate::kernel::job::AnyJob) -> Option<Self> {
                match job.op {
                    $($op => {
                        let ($($($field,)*)?) = ::purser_storage::codec::decode_body::<($($($type,)*)?)>(&job.payload).ok()?;
                        Some(Self::$variant $((<$only_type as $crate::kernel::EntityId>::from_key(&job.subject)?))? $({
                            $subject: <$subject_type as $crate::kernel::EntityId>::from_key(&job.subject)?,
                            $($field),*
                        })?)
                    })+
                    _ => None,
                }
            }
        }

        impl $crate::jobs::JobTypes for Job {
            const TYPES: &'static [$crate::jobs::JobType] = &[$($crate::jobs::JobType {
                op: $op,
                name: $name,
                meaning: concat!($($meaning),+),
                policy: $policy,
                subject_text: $crate::jobs::subject_text::<$($only_type)? $($subject_type)?>,
            }),+];
        }
    };
}
pub(crate) use jobs;
