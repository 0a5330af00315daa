//! Holds on a balance, until an operator captures or releases them.

use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port::{ErrorKind, HoldRequest, HoldResult, HoldStatus, PortError};

use super::SandboxReloadableCards;
use super::records::{ReloadableCardRecord, ReloadableCardRecords};
use crate::CardBalanceReader;
use purser_sandbox::faults::{Fault, conflict, failed};
use purser_sandbox::records::RecordBook as _;

impl<B: CardBalanceReader> SandboxReloadableCards<B> {
    pub(super) async fn create_hold(&self, order: &HoldRequest) -> Result<HoldResult, PortError> {
        const CALL: &str = "reserve";
        let fault = self.faults.before(CALL, |_| true).await?;
        let counted = self.counted(&order.account).await?;
        let (answer, durable) = {
            let mut book = self.records.lock();
            match book.records_of(order.key).first() {
                Some(ReloadableCardRecord::HoldCreated { account, amount, .. })
                    if (account, amount) == (&order.account, &order.amount) =>
                {
                    let held = match hold_state(&book, order.key).1 {
                        None => HoldResult::Held,
                        Some(paid) => HoldResult::AlreadySettled { paid },
                    };
                    (held, book.rows.barrier())
                }
                Some(ReloadableCardRecord::Declined { reason, .. }) => {
                    (no_such_hold(reason.clone()), book.rows.barrier())
                }
                Some(_) => return Err(conflict(CALL)),
                None => {
                    let (key, account, amount) = (order.key, order.account, order.amount);
                    let at = self.clock.now();
                    let refused = |reason| ReloadableCardRecord::Declined {
                        key,
                        card: false,
                        amount,
                        reason,
                        at,
                    };
                    let left = counted.saturating_sub(book.spent_balance(&account));
                    let (answer, entry) = if fault == Some(Fault::Decline) {
                        let reason = Some("withdrawal_declined".to_owned());
                        (no_such_hold(reason.clone()), refused(reason))
                    } else if amount.get() > left {
                        (no_such_hold(None), refused(None))
                    } else {
                        let reserved = ReloadableCardRecord::HoldCreated {
                            key,
                            account,
                            amount,
                            at,
                        };
                        (HoldResult::Held, reserved)
                    };
                    (answer, book.append(&[entry]))
                }
            }
        };
        durable.or(ErrorKind::Unknown, CALL).await?;
        self.faults.after(CALL, fault).await?;
        Ok(answer)
    }

    pub(super) async fn read_hold_status(&self, key: JobId) -> Result<HoldStatus, PortError> {
        const CALL: &str = "reservation";
        let fault = self.faults.before(CALL, |_| true).await?;
        let (status, durable) = {
            let book = self.records.lock();
            let status = match hold_state(&book, key) {
                (None, _) => HoldStatus::NotFound,
                (Some(_), None) => HoldStatus::Held,
                (Some(_), Some(paid)) => HoldStatus::Settled { paid },
            };
            (status, book.rows.barrier())
        };
        durable.or(ErrorKind::Unknown, CALL).await?;
        self.faults.after(CALL, fault).await?;
        Ok(status)
    }

    pub(super) async fn end_hold(&self, key: JobId, paid: bool) -> Result<(), PortError> {
        const CALL: &str = "end reservation";
        let fault = self.faults.before(CALL, |_| true).await?;
        let durable = {
            let mut book = self.records.lock();
            match hold_state(&book, key) {
                (Some(_), Some(before)) if before == paid => book.rows.barrier(),
                (Some((account, amount)), None) => {
                    let ended = ReloadableCardRecord::HoldSettled {
                        key,
                        account,
                        amount,
                        captured: paid,
                        at: self.clock.now(),
                    };
                    book.append(&[ended])
                }
                (Some(_), Some(_)) => return Err(failed(ErrorKind::Permanent, CALL, "it has ended the other way")),
                (None, _) => {
                    return Err(failed(ErrorKind::Permanent, CALL, "there is no hold under this key"));
                }
            }
        };
        durable.or(ErrorKind::Unknown, CALL).await?;
        self.faults.after(CALL, fault).await
    }
}

/// The hold under a key with its account, and whether it was captured.
fn hold_state(book: &ReloadableCardRecords, key: JobId) -> (Option<([u8; 20], Cents)>, Option<bool>) {
    let (mut reserved, mut ended) = (None, None);
    for entry in book.records_of(key) {
        match entry {
            ReloadableCardRecord::HoldCreated { account, amount, .. } => reserved = Some((account, amount)),
            ReloadableCardRecord::HoldSettled { captured: paid, .. } => ended = Some(paid),
            _ => {}
        }
    }
    (reserved, ended)
}

fn no_such_hold(reason: Option<String>) -> HoldResult {
    match reason {
        Some(reason) => HoldResult::Declined { reason: reason.into() },
        None => HoldResult::InsufficientBalance,
    }
}
