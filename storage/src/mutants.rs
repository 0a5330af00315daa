//! Bugs that a test can switch on, to see whether the simulator objects.
//!
//! They exist only in a debug build with the feature `mutants`, which nothing but the root package's tests turns on.
//! In every other build [`is`] is a constant `false`, and what stands behind it is compiled away. One bug is active in
//! one thread: a simulation is one thread, so the tests beside it run sound code.

/// Every bug that can be planted, in all crates. Each says what is wrong and, if it shows only then, which faults it
/// needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The committer answers without having synced: a power cut takes back what was told.
    ReplyBeforeSync,
    /// Subscribers hear of a group's events before it is written: a power cut or a failed write in between unmakes them.
    PublishBeforeDurable,
    /// A failed sync is taken for a sync. Two faults: the sync fails, and later the power is cut.
    SyncErrorIgnored,
    /// A refused batch does not break its lane, so what was decided on top of it stands: needs a lost race or watch.
    FailedSessionContinues,
    /// A row that is changed and deleted between two checkpoints comes back, as if the change had made it: needs an
    /// effect whose try failed.
    TombstoneDropped,
    /// Recovery trusts the last group without making it durable. Two faults: the process dies at a sync that failed or
    /// never came, and after the restart the power is cut.
    TailNotRewritten,
    /// Replay begins one frame behind the checkpoint's successor: needs a restart with rows not yet in the snapshots.
    FirstFrameSkipped,
    /// Recovery takes a frame with a wrong checksum if its content can be read: needs a torn write.
    TornFrameAccepted,
    /// Events are read by the batch: a cursor in the middle of a batch skips the rest of it. Needs a subscriber that
    /// comes back, or small pages.
    BatchTailSkipped,
    /// Rejections, replays and known outcomes are told at once, whatever they rest on: needs a power cut before the
    /// batch below is durable, or its refusal.
    ReplyBeforeDurable,
    /// Effects start when their batch is enqueued: one that looks for its own row and finds none yet takes itself for
    /// done. Needs a declined or lost settlement.
    JobBeforeDurable,
    /// A shell leaves, and is replaced, while its batches are in flight, and being the only writer it no longer checks
    /// the revision it writes over. Needs a passivation during a slow commit, then a command.
    ActivationWithoutBarrier,
    /// What arrives while an entity passivates waits for an activation that nobody starts.
    PassivationDropsMessages,
    /// Effects that were open when the process ended are not taken up by the next one.
    OutboxJobsLost,
    /// Only fresh effects are taken up. Two faults: a try fails, and before the next one the process ends.
    RetriedJobsLost,
    /// A claim neither looks again after its turn nor demands that the payment is new: needs the same payment twice at
    /// once.
    ClaimUnconditional,
    /// A claim that its account refuses never gives its room back.
    PermitLeaked,
    /// A transfer is sent before `settling` and its bytes are durable. Seen at once by a chain that looks; by its outcome
    /// only with two faults: the process ends in between, and then the transfer cannot be prepared any more.
    SentBeforeDurable,
    /// A settlement whose answer is lost counts as declined, not as unknown.
    TimeoutDeclines,
    /// A chain that cannot be read counts as one on which the transfer can never land. Two faults: a settlement is
    /// declined or its answer lost, and the look-up fails.
    RefusedWithoutProof,
    /// A declined payment that lands after all only ends its watch. Two faults: a decline, and a late landing.
    LateSettlementIgnored,
    /// The share of the caps goes back at the decline and again at the refusal, or before the payment settles after all:
    /// needs a decline.
    CapReservationReleasedTwice,
    /// Each try at the issuer has a key of its own: needs an order that is carried out and not answered.
    IdempotencyKeyPerAttempt,
    /// The reversal of a refused card's fee lacks a leg: needs an issuer that refuses.
    FeeReversedOneSided,
    /// A credit and the end of its effect are two batches. Two faults: something to credit (a refused card, a late
    /// landing), and the process ends between the two batches.
    CreditThenDelete,
    /// A payout rail that does not answer counts as one that refuses: the payer is credited. Needs an answer that is lost.
    PayoutTimeoutCredits,
    /// Each try at a payout rail has a key of its own: needs an order that is taken and not answered.
    PayoutKeyPerAttempt,
    /// A rail that says again that money came back has it credited again: needs a rail that repeats itself.
    ReturnCreditedTwice,
    /// A burn whose answer is lost is signed anew and burned again, without a look at the chain.
    UnknownBurnResigned,
    /// A first leg that is signed and not seen on its chain yet counts as never sent: the charge is credited. Needs a
    /// first leg whose answer is lost or refused, and that lands all the same.
    SignedLegCredited,
    /// A mint whose answer is lost counts as minted, whatever Base shows.
    MintFailedWithoutProof,
    /// An attestation is taken for what it is not: that of another message. Needs attesters that tell of one.
    ForeignAttestation,
    /// A card issuer that does not answer counts as one that refuses: what it took from a balance is lost. Needs an order
    /// that is carried out and not answered.
    IssuerTimeoutDeclines,
    /// Each try to have a reloadable card opened has a key of its own: needs an order that is carried out and not answered.
    CardOpeningKeyPerAttempt,
    /// A card issuer's older word undoes a newer one: needs an issuer that tells out of order, or a stale answer.
    StaleCardEventApplied,
    /// Whoever held the lease before may say that nothing was paid: needs a lease that ends, and an operator who then pays
    /// under the next one.
    StaleLeaseAccepted,
    /// A spend is sent before what was signed is durable.
    WalletPaymentSentBeforeDurable,
    /// A seller that does not answer counts as one that took nothing: the reservation ends. Needs one that takes the payment.
    WalletTimeoutReleasesHold,
    /// What has left a managed wallet is given back to the day's cap. Needs a cap, and spends that go beyond it.
    WalletCapRefunded,
    /// A bank that does not answer counts as one that refuses: what it moved is credited. Needs an answer that is lost.
    BankTimeoutCredits,
    /// Money that comes in is named after its place in what the bank tells, not after itself: needs a bank that tells of it
    /// again later.
    DepositKeyedByPosition,
    /// Each try to have an application reviewed has a key of its own: needs a review whose answer is lost.
    ReviewKeyPerAttempt,
    /// A subscriber whose queue overflowed goes on as if nothing were missing: needs one that stalls.
    OverflowUnnoticed,
    /// Nothing reaches a subscriber but what it finds in the store when it comes.
    NothingPublished,
    /// An event is queued for a subscriber that nobody wakes.
    SubscriberNotWoken,
    /// What would leave after a restore does not wait at the gate: needs something that was not signed when the backup was made, or is
    /// asked for soon.
    SignsOutsideGate,
    /// A spend that was reserved when the backup was made is signed anew, without a look at what its wallet has sent. Needs one on
    /// Solana that the lost history sent.
    WalletPaymentResigned,
    /// Whatever is signed does not ask whether its account is frozen: needs one that waits when the freeze comes.
    FrozenAccountSigns,
    /// What came in in the time that a restore lost is credited without a question to whoever may have made something of it.
    ProviderNotQueried,
    /// A transfer that no book knows is named after when it was read, not after itself: needs one that is read again.
    DepositKeyedByReadTime,
    /// A payment settles by a transfer that was credited without it. Needs a restore, and a client that comes back.
    TakenInPaymentSettles,
    /// What the log of revocations says of keys is not replayed: needs a restore, and a key that was revoked in the lost history.
    RevokedKeyAccepted,
    /// What it says of freezes is not.
    FreezeNotReplayed,
    /// Without the log, keys of before a restore are good all the same.
    KeysNotSuspended,
    /// What a managed wallet buys from us is its address's, not its owner's.
    OwnRouteShadowed,
    /// No daily cap of its owner holds for what a managed wallet buys from us.
    OwnRouteUncapped,
    /// An offer of somebody else's that pays our treasury is taken.
    ForeignOfferToTreasuryPaid,
    /// A line goes on selling while its provider fails: needs one that is down.
    FailingLineStaysOpen,
}

impl Mutant {
    /// All of them.
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
        Self::OutboxJobsLost,
        Self::RetriedJobsLost,
        Self::ClaimUnconditional,
        Self::PermitLeaked,
        Self::SentBeforeDurable,
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

    /// Whether this thread runs with the bug.
    pub fn is_enabled(bug: Mutant) -> bool {
        ENABLED.get() == Some(bug)
    }

    /// Plants a bug in this thread, or pulls it out again.
    pub fn enable(bug: Option<Mutant>) {
        ENABLED.set(bug);
    }
}

#[cfg(all(feature = "mutants", debug_assertions))]
pub use active::{enable, is_enabled};

/// No bug is ever planted in this build.
#[cfg(not(all(feature = "mutants", debug_assertions)))]
pub const fn is_enabled(_: Mutant) -> bool {
    false
}
