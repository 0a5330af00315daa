//! Daily caps of an incoming transfer: until its purchase is known, it counts for everything that it may have bought.

use super::Incoming;
use crate::entity::account;
use crate::entity::account::CapReservation;
use crate::entity::account::counted_day;
use crate::id::Wallet;
use crate::product::ProductLine;

impl Incoming {
    /// Job that counts the full amount toward the caps of the account that may have bought something with it, in each
    /// possible cap group.
    pub(super) fn count_job(&self, account: Wallet, lines: &[ProductLine]) -> account::Job {
        let mut shares: Vec<CapReservation> = Vec::new();
        for cap_group in lines.iter().map(|line| line.cap_group()) {
            if shares.iter().all(|share| share.cap_group != cap_group) {
                shares.push(CapReservation {
                    day: counted_day(self.transfer.at, 0),
                    cap_group,
                    cents: self.transfer.amount.whole_cents(),
                });
            }
        }
        account::Job::CountUnclaimed {
            account,
            payment: self.transfer.payment,
            lines: lines.to_vec(),
            reservations: shares,
        }
    }

    /// Job that releases the amounts counted for its payment: nothing was bought, or the purchase is counted on its
    /// own.
    pub(super) const fn uncount_job(&self) -> account::Job {
        account::Job::CountClaimed {
            account: self.transfer.from,
            payment: self.transfer.payment,
        }
    }
}
