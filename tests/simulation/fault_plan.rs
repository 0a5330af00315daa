//! What the outside does with each payment, call by call.

use std::collections::BTreeMap;

use purser_storage::sim_disk::SeededRng;

use crate::plan::pick;

/// What the chain does with one submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Submit {
    LandsAnswerLost,
    LandsAndHangs,
    NothingAnswerLost,
    NothingAndHangs,
    AnswerLostLandsLater(u64),
    Declines,
    DeclinesLandsLater(u64),
    Temporary,
    Permanent,
    PanicsBefore,
    PanicsAfter,
    /// Another party settled it first, and the response says so.
    ObservedSettled,
    /// Another party settled it first, and the response is lost.
    ObservedLost,
    /// It settles after this delay.
    Slow(u64),
}

/// What the chain does with a preparation or a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadBehavior {
    Fails,
    Hangs,
    Panics,
    Unknown,
    /// A preparation can never succeed.
    Never,
}

/// What the issuer does with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Issue {
    Busy,
    Pending(u64),
    /// Made, and the response is lost.
    MadeAnswerLost,
    MadeAndHangs,
    MadeAndPanics,
    /// Made at once, and said to be pending when asked again.
    MadeSaysPending,
    Declines,
    Panics,
    Slow(u64),
    /// A yes that cannot be stored, from now on.
    MalformedResponse,
    /// An operator must decide.
    Broken,
}

/// What a payout rail does with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Send {
    Fine,
    Busy,
    LostBefore,
    TakenAnswerLost,
    TakenAndHangs,
    TakenAndPanics,
    /// Its first word, whatever it has said since.
    Stale,
    Slow(u64),
}

/// What becomes of a payout at its rail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PayoutCourse {
    #[default]
    Pays,
    Declines,
    Fails,
    Cancels,
    PaysAndReturns,
    /// The same return under three words.
    ReturnsThrice,
    ReturnsAtOnce,
    /// The yes was a lie.
    PaysThenFails,
    /// The no was one, and the payer has been credited; the money may be gone.
    FailsThenPays {
        is_lost: bool,
    },
    /// The recipient never claims it.
    Unclaimed,
}

/// A leg of a top-up's way, by the call that it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leg {
    Sign,
    Burn,
    Attest,
    Mint,
    /// Either chain is read.
    Lookup,
    /// The issuer is asked.
    Count,
}

/// What one call of a leg meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegBehavior {
    Busy,
    Lost,
    Hangs,
    Panics,
    Slow(u64),
    /// It happens, and the answer is lost.
    DoneLost,
    DoneHangs,
    DonePanics,
    /// It happens, and the answer is a refusal.
    CompletedButDeclined,
    /// The response is lost, and it happens after this delay.
    Later(u64),
    Declined,
    DeclinedLater(u64),
    /// It never can happen any more.
    Never,
    /// What was signed or attested is good no more.
    Expires,
    NotYet,
    /// The answer is about something else.
    Wrong,
    /// Another party has done it.
    Others,
}

/// Everything that the outside does with one payment, call by call; afterwards it behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultPlan {
    pub(crate) prepare: Vec<ReadBehavior>,
    pub(crate) submit: Vec<Submit>,
    pub(crate) lookup: Vec<ReadBehavior>,
    pub(crate) issue: Vec<Issue>,
    pub(crate) send: Vec<Send>,
    pub(crate) payout_course: PayoutCourse,
    pub(crate) legs: BTreeMap<Leg, Vec<LegBehavior>>,
}

impl FaultPlan {
    /// Of a top-up: its payment, and each leg of its way.
    pub(crate) fn random_top_up(chance: &mut SeededRng) -> Self {
        let mut fault_plan = Self::random(chance);
        (fault_plan.issue, fault_plan.send, fault_plan.payout_course) = Default::default();
        for (leg, meets) in LEGS {
            if !chance.one_in(3) {
                let met = (0..=chance.next_below(3))
                    .map(|_| random_behavior(chance, meets))
                    .collect();
                fault_plan.legs.insert(*leg, met);
            }
        }
        fault_plan
    }

    pub(crate) fn random(chance: &mut SeededRng) -> Self {
        let mut fault_plan = Self::default();
        let ask = [
            ReadBehavior::Fails,
            ReadBehavior::Fails,
            ReadBehavior::Hangs,
            ReadBehavior::Panics,
            ReadBehavior::Unknown,
        ];
        if chance.one_in(5) {
            fault_plan.prepare = (0..=chance.next_below(4)).map(|_| pick(chance, &ask)).collect();
        }
        if chance.one_in(40) {
            fault_plan.prepare.push(ReadBehavior::Never);
        }
        if !chance.one_in(3) {
            fault_plan.submit = (0..=chance.next_below(3)).map(|_| submit(chance)).collect();
        }
        if chance.one_in(3) {
            fault_plan.lookup = (0..=chance.next_below(3)).map(|_| pick(chance, &ask)).collect();
        }
        if chance.one_in(2) {
            fault_plan.issue = (0..=chance.next_below(3)).map(|_| issue(chance)).collect();
        }
        if !chance.one_in(3) {
            fault_plan.send = (0..=chance.next_below(4)).map(|_| send(chance)).collect();
        }
        fault_plan.payout_course = random_course(chance);
        fault_plan
    }

    /// Whether an operator must decide in the end.
    pub(crate) fn needs_operator(&self) -> bool {
        let is_gone = matches!(self.payout_course, PayoutCourse::FailsThenPays { is_lost: true });
        is_gone
            || self
                .issue
                .iter()
                .any(|i| matches!(i, Issue::MalformedResponse | Issue::Broken))
    }
}

fn submit(chance: &mut SeededRng) -> Submit {
    let later = pick(chance, &[50, 1_000, 8_000, 50_000]);
    match chance.next_below(16) {
        0 | 1 => Submit::LandsAnswerLost,
        2 => Submit::LandsAndHangs,
        3 => Submit::NothingAnswerLost,
        4 => Submit::NothingAndHangs,
        5 => Submit::AnswerLostLandsLater(later),
        6 | 7 => Submit::Declines,
        8 | 9 => Submit::DeclinesLandsLater(later),
        10 => Submit::Temporary,
        11 => pick(chance, &[Submit::Permanent, Submit::PanicsBefore]),
        12 => Submit::PanicsAfter,
        13 => Submit::ObservedSettled,
        14 => Submit::ObservedLost,
        _ => Submit::Slow(later),
    }
}

fn issue(chance: &mut SeededRng) -> Issue {
    match chance.next_below(32) {
        0..4 => Issue::Busy,
        4..8 => Issue::Pending(pick(chance, &[1, 200, 5_000])),
        8..12 => Issue::MadeAnswerLost,
        12..15 => Issue::MadeAndHangs,
        15 => Issue::MadeAndPanics,
        16..18 => Issue::MadeSaysPending,
        18..23 => Issue::Declines,
        23..25 => Issue::Panics,
        25..30 => Issue::Slow(pick(chance, &[10, 900, 3_000])),
        30 => Issue::MalformedResponse,
        _ => Issue::Broken,
    }
}

fn send(chance: &mut SeededRng) -> Send {
    match chance.next_below(9) {
        0 | 1 => Send::Busy,
        2 => Send::LostBefore,
        3 => Send::TakenAnswerLost,
        4 => Send::TakenAndHangs,
        5 => Send::TakenAndPanics,
        6 => Send::Stale,
        7 => Send::Slow(pick(chance, &[10, 900, 3_000])),
        _ => Send::Fine,
    }
}

fn random_course(chance: &mut SeededRng) -> PayoutCourse {
    let courses = [
        PayoutCourse::Pays,
        PayoutCourse::Pays,
        PayoutCourse::Declines,
        PayoutCourse::Fails,
        PayoutCourse::Cancels,
        PayoutCourse::PaysAndReturns,
        PayoutCourse::ReturnsThrice,
        PayoutCourse::ReturnsAtOnce,
        PayoutCourse::PaysThenFails,
        PayoutCourse::FailsThenPays { is_lost: false },
        PayoutCourse::FailsThenPays { is_lost: true },
        PayoutCourse::Unclaimed,
    ];
    pick(chance, &courses)
}

/// What can befall each leg.
const LEGS: &[(Leg, &[LegBehavior])] = {
    use LegBehavior::*;
    &[
        (
            Leg::Sign,
            &[Busy, Lost, Hangs, Panics, Slow(0), Busy, Lost, Never, Wrong],
        ),
        (
            Leg::Burn,
            &[
                Busy,
                Lost,
                Hangs,
                Panics,
                Slow(0),
                DoneLost,
                DoneHangs,
                DonePanics,
                CompletedButDeclined,
                Later(0),
                Declined,
                DeclinedLater(0),
                Never,
                Expires,
                Expires,
            ],
        ),
        (
            Leg::Attest,
            &[
                Busy,
                Lost,
                Hangs,
                Panics,
                Slow(0),
                NotYet,
                NotYet,
                Expires,
                Expires,
                Wrong,
            ],
        ),
        (
            Leg::Mint,
            &[
                Busy,
                Lost,
                Hangs,
                Panics,
                Slow(0),
                DoneLost,
                DoneHangs,
                DonePanics,
                CompletedButDeclined,
                Later(0),
                Declined,
                DeclinedLater(0),
                Never,
                Others,
                Declined,
                Lost,
            ],
        ),
        (Leg::Lookup, &[Busy, Lost, Hangs, Panics, Slow(0)]),
        (
            Leg::Count,
            &[Busy, Lost, Hangs, Panics, Slow(0), NotYet, NotYet, NotYet],
        ),
    ]
};

fn random_behavior(chance: &mut SeededRng, meets: &[LegBehavior]) -> LegBehavior {
    let later = pick(chance, &[50, 1_500, 9_000]);
    match pick(chance, meets) {
        LegBehavior::Slow(_) => LegBehavior::Slow(later),
        LegBehavior::Later(_) => LegBehavior::Later(later),
        LegBehavior::DeclinedLater(_) => LegBehavior::DeclinedLater(later),
        met => met,
    }
}
