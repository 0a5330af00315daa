//! What is set aside of a balance until an operator has paid it out or refused to.

use purser_actors::id::EffectId;
use purser_actors::money::Cents;
use purser_actors::port::{ErrorKind, PortError, Reservation, ReserveBalance, Reserved};

use super::book::{Entry, ProgramBook};
use super::fault::{self, ProgramFault, failed};
use super::{SandboxProgram, another_content, written};
use crate::provider::Balances;

impl<B: Balances> SandboxProgram<B> {
    pub(super) async fn reserved(&self, order: &ReserveBalance) -> Result<Reservation, PortError> {
        const CALL: &str = "reserve";
        let fault = fault::before(&self.rules, CALL).await?;
        let counted = self.counted(&order.account).await?;
        let (answer, durable) = {
            let mut book = self.book.lock();
            match book.under(order.key).first() {
                Some(Entry::Reserved { account, amount, .. })
                    if (account, amount) == (&order.account, &order.amount) =>
                {
                    let held = match kept(&book, order.key).1 {
                        None => Reservation::Held,
                        Some(paid) => Reservation::Ended { paid },
                    };
                    (held, self.archive.barrier())
                }
                Some(Entry::Refused { reason, .. }) => (unreserved(reason.clone()), self.archive.barrier()),
                Some(_) => return Err(another_content(CALL)),
                None => {
                    let (key, account, amount) = (order.key, order.account, order.amount);
                    let at = self.clock.now();
                    let refused = |reason| Entry::Refused {
                        key,
                        card: false,
                        amount,
                        reason,
                        at,
                    };
                    let left = counted.saturating_sub(book.drawn(&account));
                    let (answer, entry) = if fault == Some(ProgramFault::Decline) {
                        let reason = Some("withdrawal_declined".to_owned());
                        (unreserved(reason.clone()), refused(reason))
                    } else if amount.get() > left {
                        (unreserved(None), refused(None))
                    } else {
                        let reserved = Entry::Reserved {
                            key,
                            account,
                            amount,
                            at,
                        };
                        (Reservation::Held, reserved)
                    };
                    (answer, self.keep(&mut book, &[entry]))
                }
            }
        };
        written(CALL, durable).await?;
        fault::after(CALL, fault).await?;
        Ok(answer)
    }

    pub(super) async fn stands(&self, key: EffectId) -> Result<Reserved, PortError> {
        const CALL: &str = "reservation";
        let fault = fault::before(&self.rules, CALL).await?;
        let (stands, durable) = {
            let book = self.book.lock();
            let stands = match kept(&book, key) {
                (None, _) => Reserved::Never,
                (Some(_), None) => Reserved::Held,
                (Some(_), Some(paid)) => Reserved::Ended { paid },
            };
            (stands, self.archive.barrier())
        };
        written(CALL, durable).await?;
        fault::after(CALL, fault).await?;
        Ok(stands)
    }

    pub(super) async fn ended(&self, key: EffectId, paid: bool) -> Result<(), PortError> {
        const CALL: &str = "end reservation";
        let fault = fault::before(&self.rules, CALL).await?;
        let durable = {
            let mut book = self.book.lock();
            match kept(&book, key) {
                (Some(_), Some(before)) if before == paid => self.archive.barrier(),
                (Some((account, amount)), None) => {
                    let ended = Entry::Ended {
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
        fault::after(CALL, fault).await
    }
}

/// What was set aside under a key, of which account, and whether that has ended as paid.
fn kept(book: &ProgramBook, key: EffectId) -> (Option<([u8; 20], Cents)>, Option<bool>) {
    let (mut reserved, mut ended) = (None, None);
    for entry in book.under(key) {
        match entry {
            Entry::Reserved { account, amount, .. } => reserved = Some((account, amount)),
            Entry::Ended { paid, .. } => ended = Some(paid),
            _ => {}
        }
    }
    (reserved, ended)
}

fn unreserved(reason: Option<String>) -> Reservation {
    match reason {
        Some(reason) => Reservation::Declined { reason: reason.into() },
        None => Reservation::Insufficient,
    }
}
