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
        let answer = self.records.run(|book| match book.records_of(order.key).first() {
            Some(ReloadableCardRecord::HoldCreated { account, amount, .. })
                if (account, amount) == (&order.account, &order.amount) =>
            {
                Ok(match hold_state(book, order.key).1 {
                    None => HoldResult::Held,
                    Some(paid) => HoldResult::AlreadySettled { paid },
                })
            }
            Some(ReloadableCardRecord::Declined { reason, .. }) => Ok(no_such_hold(reason.clone())),
            Some(_) => Err(conflict(CALL)),
            None => {
                let (answer, entry) = self.decide_hold(book, order, fault, counted);
                book.append(&[entry]);
                Ok(answer)
            }
        });
        let answer = answer.or(ErrorKind::Unknown, CALL).await??;
        self.faults.after(CALL, fault).await?;
        Ok(answer)
    }

    /// Decides on a new hold under the lock.
    fn decide_hold(
        &self,
        book: &ReloadableCardRecords,
        order: &HoldRequest,
        fault: Option<Fault>,
        counted: u64,
    ) -> (HoldResult, ReloadableCardRecord) {
        let (key, account, amount) = (order.key, order.account, order.amount);
        let at = self.clock.now();
        let refused = |reason: Option<String>| {
            let entry = ReloadableCardRecord::Declined {
                key,
                card: false,
                amount,
                reason: reason.clone(),
                at,
            };
            (no_such_hold(reason), entry)
        };
        if fault == Some(Fault::Decline) {
            return refused(Some("withdrawal_declined".to_owned()));
        }
        if amount.get() > counted.saturating_sub(book.spent_balance(&account)) {
            return refused(None);
        }
        let reserved = ReloadableCardRecord::HoldCreated {
            key,
            account,
            amount,
            at,
        };
        (HoldResult::Held, reserved)
    }

    pub(super) async fn read_hold_status(&self, key: JobId) -> Result<HoldStatus, PortError> {
        const CALL: &str = "reservation";
        let fault = self.faults.before(CALL, |_| true).await?;
        let status = self.records.run(|book| match hold_state(book, key) {
            (None, _) => HoldStatus::NotFound,
            (Some(_), None) => HoldStatus::Held,
            (Some(_), Some(paid)) => HoldStatus::Settled { paid },
        });
        let status = status.or(ErrorKind::Unknown, CALL).await?;
        self.faults.after(CALL, fault).await?;
        Ok(status)
    }

    pub(super) async fn end_hold(&self, key: JobId, paid: bool) -> Result<(), PortError> {
        const CALL: &str = "end reservation";
        let fault = self.faults.before(CALL, |_| true).await?;
        let ended = self.records.run(|book| match hold_state(book, key) {
            (Some(_), Some(before)) if before == paid => Ok(()),
            (Some((account, amount)), None) => {
                book.append(&[ReloadableCardRecord::HoldSettled {
                    key,
                    account,
                    amount,
                    captured: paid,
                    at: self.clock.now(),
                }]);
                Ok(())
            }
            (Some(_), Some(_)) => Err("it has ended the other way"),
            (None, _) => Err("there is no hold under this key"),
        });
        let ended = ended.or(ErrorKind::Unknown, CALL).await?;
        ended.map_err(|message| failed(ErrorKind::Permanent, CALL, message))?;
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
