//! What the outside does with each payment, call by call.

use purser_storage::fault::Seeded;

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
    /// Somebody else was first, and we are told so.
    ObservedSettled,
    /// Somebody else was first, and we are told nothing.
    ObservedLost,
    /// It settles after so long.
    Slow(u64),
}

/// What the chain does with a preparation or a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
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
    /// Made, and nobody hears of it.
    MadeAnswerLost,
    MadeAndHangs,
    MadeAndPanics,
    /// Made at once, and said to be pending when asked again.
    MadeSaysPending,
    Declines,
    Panics,
    Slow(u64),
    /// A yes that cannot be stored, from now on.
    Garbage,
    /// Somebody must look.
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
pub(crate) enum Course {
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
        gone: bool,
    },
    /// Nobody claims it.
    Unclaimed,
}

/// Everything that the outside does with one payment, call by call; afterwards it behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) prepare: Vec<Ask>,
    pub(crate) submit: Vec<Submit>,
    pub(crate) lookup: Vec<Ask>,
    pub(crate) issue: Vec<Issue>,
    pub(crate) send: Vec<Send>,
    pub(crate) course: Course,
}

impl Fate {
    pub(crate) fn of(chance: &mut Seeded) -> Self {
        let mut fate = Self::default();
        let ask = [Ask::Fails, Ask::Fails, Ask::Hangs, Ask::Panics, Ask::Unknown];
        if chance.one_in(5) {
            fate.prepare = (0..=chance.below(4)).map(|_| pick(chance, &ask)).collect();
        }
        if chance.one_in(40) {
            fate.prepare.push(Ask::Never);
        }
        if !chance.one_in(3) {
            fate.submit = (0..=chance.below(3)).map(|_| submit(chance)).collect();
        }
        if chance.one_in(3) {
            fate.lookup = (0..=chance.below(3)).map(|_| pick(chance, &ask)).collect();
        }
        if chance.one_in(2) {
            fate.issue = (0..=chance.below(3)).map(|_| issue(chance)).collect();
        }
        if !chance.one_in(3) {
            fate.send = (0..=chance.below(4)).map(|_| send(chance)).collect();
        }
        fate.course = course(chance);
        fate
    }

    /// Whether somebody must look at it in the end.
    pub(crate) fn needs_a_person(&self) -> bool {
        let is_gone = matches!(self.course, Course::FailsThenPays { gone: true });
        is_gone || self.issue.iter().any(|i| matches!(i, Issue::Garbage | Issue::Broken))
    }
}

fn submit(chance: &mut Seeded) -> Submit {
    let later = pick(chance, &[50, 1_000, 8_000, 50_000]);
    match chance.below(16) {
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

fn issue(chance: &mut Seeded) -> Issue {
    match chance.below(32) {
        0..4 => Issue::Busy,
        4..8 => Issue::Pending(pick(chance, &[1, 200, 5_000])),
        8..12 => Issue::MadeAnswerLost,
        12..15 => Issue::MadeAndHangs,
        15 => Issue::MadeAndPanics,
        16..18 => Issue::MadeSaysPending,
        18..23 => Issue::Declines,
        23..25 => Issue::Panics,
        25..30 => Issue::Slow(pick(chance, &[10, 900, 3_000])),
        30 => Issue::Garbage,
        _ => Issue::Broken,
    }
}

fn send(chance: &mut Seeded) -> Send {
    match chance.below(9) {
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

fn course(chance: &mut Seeded) -> Course {
    let courses = [
        Course::Pays,
        Course::Pays,
        Course::Declines,
        Course::Fails,
        Course::Cancels,
        Course::PaysAndReturns,
        Course::ReturnsThrice,
        Course::ReturnsAtOnce,
        Course::PaysThenFails,
        Course::FailsThenPays { gone: false },
        Course::FailsThenPays { gone: true },
        Course::Unclaimed,
    ];
    pick(chance, &courses)
}
