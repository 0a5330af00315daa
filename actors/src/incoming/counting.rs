//! What a transfer counts against daily caps: as long as it is not known what was bought with it, whatever that may have been.

use super::Incoming;
use crate::account::counted_day;
use crate::id::Wallet;
use crate::kernel::job::{CapReservation, Job};
use crate::product::ProductLine;

impl Incoming {
    /// What counts against the daily caps of whoever may have bought something with it: all of it, in each budget that it may have
    /// been of.
    pub(super) fn count_job(&self, account: Wallet, lines: &[ProductLine]) -> Job {
        let mut shares: Vec<CapReservation> = Vec::new();
        for budget in lines.iter().map(|line| line.cap_group()) {
            if shares.iter().all(|share| share.cap_group != budget) {
                shares.push(CapReservation {
                    day: counted_day(self.transfer.at, 0),
                    cap_group: budget,
                    cents: self.transfer.amount.whole_cents(),
                });
            }
        }
        Job::CountUnclaimed {
            account,
            payment: self.transfer.payment,
            lines: lines.to_vec(),
            reservations: shares,
        }
    }

    /// Nothing was bought with it, or what was bought counts by itself: what was counted for its payment is free again.
    pub(super) const fn uncount_job(&self) -> Job {
        Job::CountClaimed {
            account: self.transfer.from,
            payment: self.transfer.payment,
        }
    }
}
