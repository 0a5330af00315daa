//! What operators do and what goes wrong, as a seed has it; and a plan as it is told.

use std::fmt;

use purser_storage::fault::Seeded;

use super::{Death, Plan, Step, pick};
use crate::clients::intl;
use crate::desk::Does;
use crate::fate::Fate;

/// An order is claimed and made more often than not.
pub(super) fn desk(chance: &mut Seeded, payments: u32) -> Step {
    let does = [
        Does::Claim,
        Does::Claim,
        Does::Make,
        Does::Make,
        Does::Make,
        Does::Fulfil,
        Does::Fulfil,
        Does::FulfilOld,
        Does::Release,
        Does::Reject,
        Does::Cancel,
        Does::Reveal,
    ];
    Step::Desk {
        payment: intl(chance.below(u64::from(payments / 6) + 1) as u32),
        who: chance.below(3) as u8,
        does: pick(chance, &does),
    }
}

/// Something that goes wrong inside the machine.
pub(super) fn trouble(chance: &mut Seeded, kind: u64) -> Step {
    match kind {
        47..49 => Step::SetClock {
            by_ms: pick(chance, &[-90_000, -1_000, 1_000, 600_000, 7_200_000, 86_400_000]),
        },
        49..52 => Step::Panic {
            after: chance.below(12) as u32,
            before: chance.one_in(2),
        },
        52 => Step::ReadErrors {
            after: chance.below(30) as u32,
            times: 1 + chance.below(2) as u32,
        },
        53 => Step::SyncFails {
            after: chance.below(20),
        },
        54 => match chance.below(2) {
            0 => Step::DiskFull {
                after_bytes: chance.below(90_000),
            },
            _ => Step::SnapshotsDie {
                after: chance.below(30) as usize,
            },
        },
        _ => {
            let how = pick(
                chance,
                &[
                    Death::Kill,
                    Death::PowerCut,
                    Death::PowerCut,
                    Death::PowerCut,
                    Death::SnapshotsLost,
                ],
            );
            let reach = pick(chance, &[10, 60, 300]);
            Step::Die {
                after: chance.below(reach) as u32,
                how,
            }
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {:>2}. {step:?}", n + 1)?;
        }
        for (payment, fate) in self.fates.iter().filter(|(_, fate)| **fate != Fate::default()) {
            writeln!(f, "  payment {payment} meets {fate:?}")?;
        }
        let s = &self.settings;
        let limits = (self.watch_bytes, self.lag_limit_bytes, self.retention_bytes);
        writeln!(f, "  bytes of watchers, lag, retention: {limits:?}")?;
        writeln!(f, "  {:?}, {:?}", s.limits, s.caps)?;
        writeln!(
            f,
            "  {:?} in flight {}/{}",
            s.retry, s.in_flight_max, s.in_flight_per_payer_max
        )
    }
}
