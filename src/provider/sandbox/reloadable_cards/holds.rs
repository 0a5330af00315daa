//! What is set aside of a balance until an operator has paid it out or refused to.

use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port::{ErrorKind, HoldRequest, HoldResult, HoldStatus, PortError};

use super::faults::{self, ReloadableCardFault, failed};
use super::records::{ReloadableCardRecord, ReloadableCardRecords};
use super::{SandboxReloadableCards, another_content, written};
use crate::provider::CardBalanceReader;

impl<B: CardBalanceReader> SandboxReloadableCards<B> {
    pub(super) async fn reserved(&self, order: &HoldRequest) -> Result<HoldResult, PortError> {
        const CALL: &str = "reserve";
        let fault = faults::before(&self.rules, CALL).await?;
        let counted = self.counted(&order.account).await?;
        let (answer, durable) = {
            let mut book = self.book.lock();
            match book.under(order.key).first() {
                Some(ReloadableCardRecord::Reserved { account, amount, .. })
                    if (account, amount) == (&order.account, &order.amount) =>
                {
                    let held = match kept(&book, order.key).1 {
                        None => HoldResult::Held,
                        Some(paid) => HoldResult::AlreadySettled { paid },
                    };
                    (held, self.archive.barrier())
                }
                Some(ReloadableCardRecord::Refused { reason, .. }) => {
                    (unreserved(reason.clone()), self.archive.barrier())
                }
                Some(_) => return Err(another_content(CALL)),
                None => {
                    let (key, account, amount) = (order.key, order.account, order.amount);
                    let at = self.clock.now();
                    let refused = |reason| ReloadableCardRecord::Refused {
                        key,
                        card: false,
                        amount,
                        reason,
                        at,
                    };
                    let left = counted.saturating_sub(book.drawn(&account));
                    let (answer, entry) = if fault == Some(ReloadableCardFault::Decline) {
                        let reason = Some("withdrawal_declined".to_owned());
                        (unreserved(reason.clone()), refused(reason))
                    } else if amount.get() > left {
                        (unreserved(None), refused(None))
                    } else {
                        let reserved = ReloadableCardRecord::Reserved {
                            key,
                            account,
                            amount,
                            at,
                        };
                        (HoldResult::Held, reserved)
                    };
                    (answer, self.keep(&mut book, &[entry]))
                }
            }
        };
        written(CALL, durable).await?;
        faults::after(CALL, fault).await?;
        Ok(answer)
    }

    pub(super) async fn stands(&self, key: JobId) -> Result<HoldStatus, PortError> {
        const CALL: &str = "reservation";
        let fault = faults::before(&self.rules, CALL).await?;
        let (stands, durable) = {
            let book = self.book.lock();
            let stands = match kept(&book, key) {
                (None, _) => HoldStatus::NotFound,
                (Some(_), None) => HoldStatus::Held,
                (Some(_), Some(paid)) => HoldStatus::Settled { paid },
            };
            (stands, self.archive.barrier())
        };
        written(CALL, durable).await?;
        faults::after(CALL, fault).await?;
        Ok(stands)
    }

    pub(super) async fn ended(&self, key: JobId, paid: bool) -> Result<(), PortError> {
        const CALL: &str = "end reservation";
        let fault = faults::before(&self.rules, CALL).await?;
        let durable = {
            let mut book = self.book.lock();
            match kept(&book, key) {
                (Some(_), Some(before)) if before == paid => self.archive.barrier(),
                (Some((account, amount)), None) => {
                    let ended = ReloadableCardRecord::Ended {
                        key,
                        account,
                        amount,
                        paid,
                        at: self.clock.now(),
                    };
                    self.keep(&mut book, &[ended])
                }
                (Some(_), Some(_)) => return Err(failed(ErrorKind::Permanent, CALL, "it has ended the other way")),
                (None, _) => {
                    return Err(failed(
                        ErrorKind::Permanent,
                        CALL,
                        "nothing is set aside under this key",
                    ));
                }
            }
        };
        written(CALL, durable).await?;
        faults::after(CALL, fault).await
    }
}

/// What was set aside under a key, of which account, and whether that has ended as paid.
fn kept(book: &ReloadableCardRecords, key: JobId) -> (Option<([u8; 20], Cents)>, Option<bool>) {
    let (mut reserved, mut ended) = (None, None);
    for entry in book.under(key) {
        match entry {
            ReloadableCardRecord::Reserved { account, amount, .. } => reserved = Some((account, amount)),
            ReloadableCardRecord::Ended { paid, .. } => ended = Some(paid),
            _ => {}
        }
    }
    (reserved, ended)
}

fn unreserved(reason: Option<String>) -> HoldResult {
    match reason {
        Some(reason) => HoldResult::Declined { reason: reason.into() },
        None => HoldResult::InsufficientBalance,
    }
}
