//! Mutants: bugs that a test plants to check that the simulator detects them.
//!
//! They exist only in a debug build with the feature `mutants`, which only the root package's tests enable. In every
//! other build [`is_enabled`] is a constant `false`, and the code behind it is compiled away. One mutant is active per
//! thread. A simulation runs in one thread, so tests beside it run correct code.

/// Every mutant, in all crates. Each comment says what is wrong and which faults are needed to detect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The committer replies without a sync: a power cut loses acknowledged batches.
    ReplyBeforeSync,
    /// Subscribers receive a group's events before it is written: a power cut or a failed write in between loses them.
    PublishBeforeDurable,
    /// A failed sync counts as a sync. Two faults: the sync fails, and later the power is cut.
    SyncErrorIgnored,
    /// A rejected batch does not fail its write session, so later batches built on it are committed. Needs a lost race
    /// or a failed condition.
    FailedSessionContinues,
    /// A row that is changed and deleted between two checkpoints reappears as changed. Needs a job with a failed
    /// attempt.
    TombstoneDropped,
    /// Recovery trusts the last group without making it durable. Two faults: the process dies at a sync that failed or
    /// never came, and after the restart the power is cut.
    TailNotRewritten,
    /// Replay starts one frame after the checkpoint's successor. Needs a restart with rows that are not yet in the
    /// snapshots.
    FirstFrameSkipped,
    /// Recovery accepts a frame with a wrong checksum if its content can be decoded. Needs a torn write.
    TornFrameAccepted,
    /// Events are read by the batch: a cursor inside a batch skips the rest of it. Needs a subscriber that reconnects,
    /// or small pages.
    BatchTailSkipped,
    /// Rejections, replays and known outcomes are answered before the state they depend on is durable. Needs a power
    /// cut before the underlying batch is durable, or its rejection.
    ReplyBeforeDurable,
    /// Jobs start when their batch is enqueued: a job that does not find its row yet considers itself done. Needs a
    /// declined or lost settlement.
    JobBeforeDurable,
    /// An entity actor stops and is replaced while its batches are in flight, and the new one does not check the
    /// revision it overwrites. Needs a passivation during a slow commit, then a command.
    ActivationWithoutBarrier,
    /// Messages that arrive while an entity passivates wait for an activation that is never started.
    PassivationDropsMessages,
    /// An entity remains in use after a sender that handled a message panicked: its state in memory may have changes
    /// that no batch contains. Needs a panic between a decision and its batch.
    FailedEntityStaysInUse,
    /// A sender handles its message although earlier ones are in the entity's mailbox. Needs a sender that continues when
    /// its messages have come into the mailbox and before the actor runs.
    MailboxOvertaken,
    /// Jobs that were open when the process ended are not resumed by the next process.
    OutboxJobsLost,
    /// Only new jobs are resumed. Two faults: an attempt fails, and the process ends before the next one.
    RetriedJobsLost,
    /// A claim does not check again after its turn and does not require the payment to be new. Needs the same payment
    /// twice at once.
    ClaimUnconditional,
    /// A claim that its account rejects never releases its permit.
    PermitLeaked,
    /// A transfer is sent before `settling` and its bytes are durable. A chain that checks detects it at once. Its
    /// outcome shows it only with two faults: the process ends in between, and afterwards the transfer cannot be
    /// prepared any more.
    SentBeforeDurable,
    /// The same for a payment whose bytes are prepared with its claim: it is sent before the claim is durable.
    ClaimSentBeforeDurable,
    /// A settlement whose response is lost counts as declined, not as unknown.
    TimeoutDeclines,
    /// A chain that cannot be read counts as proof that the transfer can never settle. Two faults: a settlement is
    /// declined or its response is lost, and the lookup fails.
    RefusedWithoutProof,
    /// A declined payment that settles after all only ends its lookups. Two faults: a decline and a late settlement.
    LateSettlementIgnored,
    /// The cap reservation is released at the decline and again when the payment is refused, or although the payment
    /// settles after all. Needs a decline.
    CapReservationReleasedTwice,
    /// Each attempt at the card issuer uses a new idempotency key. Needs an order that is executed and not answered.
    IdempotencyKeyPerAttempt,
    /// The reversal of a failed card's fee lacks a posting. Needs an issuer that declines.
    FeeReversedOneSided,
    /// A credit and the end of its job are two batches. Two faults: something to credit (a declined card, a late
    /// settlement), and the process ends between the two batches.
    CreditThenDelete,
    /// A payout rail that does not answer counts as a decline: the payer is credited. Needs a lost response.
    PayoutTimeoutCredits,
    /// Each attempt at a payout rail uses a new idempotency key. Needs an order that is accepted and not answered.
    PayoutKeyPerAttempt,
    /// A return that a rail reports again is credited again. Needs a rail that repeats its events.
    ReturnCreditedTwice,
    /// A burn whose response is lost is signed and burned again without a chain lookup.
    UnknownBurnResigned,
    /// A signed first leg that is not on its chain yet counts as never sent: the charge is credited. Needs a first leg
    /// whose response is lost or a decline, and that settles all the same.
    SignedLegCredited,
    /// A mint whose response is lost counts as minted, whatever Base shows.
    MintFailedWithoutProof,
    /// The attestation of another message is accepted. Needs attesters that return one.
    ForeignAttestation,
    /// A card issuer that does not answer counts as a decline: the amount it took from a balance is lost. Needs an
    /// order that is executed and not answered.
    IssuerTimeoutDeclines,
    /// Each attempt to open a reloadable card uses a new idempotency key. Needs an order that is executed and not
    /// answered.
    CardOpeningKeyPerAttempt,
    /// An older card issuer event overwrites a newer one. Needs an issuer that reports out of order, or a stale
    /// response.
    StaleCardEventApplied,
    /// The previous lease holder may report that nothing was paid. Needs a lease that expires, and an operator who then
    /// pays under the next one.
    StaleLeaseAccepted,
    /// A wallet payment is sent before its signature is durable.
    WalletPaymentSentBeforeDurable,
    /// A seller that does not answer counts as one that took nothing: the reservation ends. Needs a seller that takes
    /// the payment.
    WalletTimeoutReleasesHold,
    /// Money that left an agent wallet is released to its daily cap. Needs a cap, and wallet payments that exceed it.
    WalletCapRefunded,
    /// A spend over a limit leaves the owner's approval as it was, so that another spend can use it too. Needs two calls
    /// of one approved spend at once.
    ApprovalUsedAgain,
    /// A bank that does not answer counts as a decline: the amount it moved is credited. Needs a lost response.
    BankTimeoutCredits,
    /// The id of an incoming bank transfer is derived from its position in the bank's list. Needs a bank that lists it
    /// again later.
    DepositKeyedByPosition,
    /// Each attempt to submit an application for review uses a new idempotency key. Needs a review whose response is
    /// lost.
    ReviewKeyPerAttempt,
    /// A subscriber whose queue overflowed continues as if no event were missing. Needs a subscriber that stalls.
    OverflowUnnoticed,
    /// Subscribers only get the events that are in the store when they connect.
    NothingPublished,
    /// An event is queued for a subscriber that is not woken.
    SubscriberNotWoken,
    /// Outgoing transfers after a restore do not wait at the gate. Needs one that was not signed at the backup, or is
    /// requested soon.
    SignsOutsideGate,
    /// A wallet payment that was pending at the backup is signed again without checking what its wallet has sent. Needs
    /// one on Solana that the lost history sent.
    WalletPaymentResigned,
    /// Signing does not check whether the account is frozen. Needs a job that waits when the freeze comes.
    FrozenAccountSigns,
    /// Transfers received in the time that a restore lost are credited without asking the provider whether it used
    /// them.
    ProviderNotQueried,
    /// The id of an incoming transfer without a ledger record is derived from the time of reading. Needs one that is
    /// read again.
    DepositKeyedByReadTime,
    /// A payment settles by a transfer that was already credited without it. Needs a restore, and a client that
    /// retries.
    TakenInPaymentSettles,
    /// Key revocations in the revocation log are not replayed. Needs a restore, and a key that was revoked in the lost
    /// history.
    RevokedKeyAccepted,
    /// Freezes in the revocation log are not replayed.
    FreezeNotReplayed,
    /// Without the log, keys issued before a restore stay valid.
    KeysNotSuspended,
    /// Purchases of an agent wallet from Purser belong to the wallet's address, not to its owner.
    OwnRouteShadowed,
    /// The owner's daily caps do not apply to purchases of an agent wallet from Purser.
    OwnRouteUncapped,
    /// An offer of another server that pays our treasury is accepted.
    ForeignOfferToTreasuryPaid,
    /// A product line stays open while its provider fails. Needs a provider that is down.
    FailingLineStaysOpen,
}

impl Mutant {
    /// Every mutant, in declaration order.
    pub const ALL: &[Self] = &[
        Self::ReplyBeforeSync,
        Self::PublishBeforeDurable,
        Self::SyncErrorIgnored,
        Self::FailedSessionContinues,
        Self::TombstoneDropped,
        Self::TailNotRewritten,
        Self::FirstFrameSkipped,
        Self::TornFrameAccepted,
        Self::BatchTailSkipped,
        Self::ReplyBeforeDurable,
        Self::JobBeforeDurable,
        Self::ActivationWithoutBarrier,
        Self::PassivationDropsMessages,
        Self::FailedEntityStaysInUse,
        Self::MailboxOvertaken,
        Self::OutboxJobsLost,
        Self::RetriedJobsLost,
        Self::ClaimUnconditional,
        Self::PermitLeaked,
        Self::SentBeforeDurable,
        Self::ClaimSentBeforeDurable,
        Self::TimeoutDeclines,
        Self::RefusedWithoutProof,
        Self::LateSettlementIgnored,
        Self::CapReservationReleasedTwice,
        Self::IdempotencyKeyPerAttempt,
        Self::FeeReversedOneSided,
        Self::CreditThenDelete,
        Self::PayoutTimeoutCredits,
        Self::PayoutKeyPerAttempt,
        Self::ReturnCreditedTwice,
        Self::UnknownBurnResigned,
        Self::SignedLegCredited,
        Self::MintFailedWithoutProof,
        Self::ForeignAttestation,
        Self::IssuerTimeoutDeclines,
        Self::CardOpeningKeyPerAttempt,
        Self::StaleCardEventApplied,
        Self::StaleLeaseAccepted,
        Self::WalletPaymentSentBeforeDurable,
        Self::WalletTimeoutReleasesHold,
        Self::WalletCapRefunded,
        Self::ApprovalUsedAgain,
        Self::BankTimeoutCredits,
        Self::DepositKeyedByPosition,
        Self::ReviewKeyPerAttempt,
        Self::OverflowUnnoticed,
        Self::NothingPublished,
        Self::SubscriberNotWoken,
        Self::SignsOutsideGate,
        Self::WalletPaymentResigned,
        Self::FrozenAccountSigns,
        Self::ProviderNotQueried,
        Self::DepositKeyedByReadTime,
        Self::TakenInPaymentSettles,
        Self::RevokedKeyAccepted,
        Self::FreezeNotReplayed,
        Self::KeysNotSuspended,
        Self::OwnRouteShadowed,
        Self::OwnRouteUncapped,
        Self::ForeignOfferToTreasuryPaid,
        Self::FailingLineStaysOpen,
    ];
}

#[cfg(all(feature = "mutants", debug_assertions))]
mod active {
    use super::Mutant;
    use std::cell::Cell;

    thread_local! {
        static ENABLED: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Whether the mutant is active in this thread.
    pub fn is_enabled(bug: Mutant) -> bool {
        ENABLED.get() == Some(bug)
    }

    /// Activates a mutant in this thread, or deactivates it with `None`.
    pub fn enable(bug: Option<Mutant>) {
        ENABLED.set(bug);
    }
}

#[cfg(all(feature = "mutants", debug_assertions))]
pub use active::{enable, is_enabled};

/// Always `false`: this build has no mutants.
#[cfg(not(all(feature = "mutants", debug_assertions)))]
pub const fn is_enabled(_: Mutant) -> bool {
    false
}
