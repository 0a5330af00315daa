//! Operator actions and faults that a seed yields, and the printed form of a plan.

use std::fmt;

use purser_storage::sim_disk::SeededRng;

use super::{CrashKind, Plan, Step, pick};
use crate::clients::intl;
use crate::fault_plan::FaultPlan;
use crate::order_operators::OrderStep;

/// An order is claimed and made more often than not.
pub(super) fn random_order_step(chance: &mut SeededRng, payments: u32) -> Step {
    let does = [
        OrderStep::Claim,
        OrderStep::Claim,
        OrderStep::Make,
        OrderStep::Make,
        OrderStep::Make,
        OrderStep::Fulfil,
        OrderStep::Fulfil,
        OrderStep::FulfilOld,
        OrderStep::Release,
        OrderStep::Reject,
        OrderStep::Cancel,
        OrderStep::Reveal,
    ];
    Step::OperatorAction {
        payment: intl(chance.next_below(u64::from(payments / 6) + 1) as u32),
        operator: chance.next_below(3) as u8,
        step: pick(chance, &does),
    }
}

/// Something that goes wrong inside the machine.
pub(super) fn random_fault(chance: &mut SeededRng, kind: u64) -> Step {
    match kind {
        47..49 => Step::SetClock {
            by_ms: pick(chance, &[-90_000, -1_000, 1_000, 600_000, 7_200_000, 86_400_000]),
        },
        49..52 => Step::Panic {
            after: chance.next_below(12) as u32,
            before: chance.one_in(2),
        },
        52 => Step::ReadErrors {
            after: chance.next_below(30) as u32,
            times: 1 + chance.next_below(2) as u32,
        },
        53 => Step::SyncFails {
            after: chance.next_below(20),
        },
        54 => match chance.next_below(2) {
            0 => Step::DiskFull {
                after_bytes: chance.next_below(90_000),
            },
            _ => Step::SnapshotsFail {
                after: chance.next_below(30) as usize,
            },
        },
        _ => {
            let how = pick(
                chance,
                &[
                    CrashKind::Kill,
                    CrashKind::PowerCut,
                    CrashKind::PowerCut,
                    CrashKind::PowerCut,
                    CrashKind::SnapshotsLost,
                ],
            );
            let reach = pick(chance, &[10, 60, 300]);
            Step::Crash {
                after: chance.next_below(reach) as u32,
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
        for (payment, fault_plan) in self
            .fault_plans
            .iter()
            .filter(|(_, fault_plan)| **fault_plan != FaultPlan::default())
        {
            writeln!(f, "  payment {payment} meets {fault_plan:?}")?;
        }
        let s = &self.settings;
        let limits = (self.watch_bytes, self.lag_limit_bytes, self.retention_bytes);
        writeln!(f, "  bytes of watchers, lag, retention: {limits:?}")?;
        writeln!(f, "  {:?}, {:?}", s.limits, s.caps)?;
        writeln!(
            f,
            "  {:?} in flight {}/{}",
            s.retry, s.max_in_flight, s.max_in_flight_per_payer
        )
    }
}
