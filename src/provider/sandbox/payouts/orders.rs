//! Orders at the sandbox's rails: one key, one payout, whatever goes wrong around it.

use std::time::Duration;

use purser_actors::id::{EffectId, PayoutId};
use purser_actors::port::payout::{Recall, Report};
use purser_actors::port::{ErrorKind, PortError, Timestamp};
use sha2::{Digest as _, Sha256};

use super::book::{Ordered, RailBook, Record, Says, Words};
use super::fault::{Magic, RailFault, magic_of};
use super::{SandboxRails, failed};
use crate::provider::payouts::{Payee, PlainPayout};
use crate::sandbox::record_log::LogError;

const SEND: &str = "pay out";
const RECALL: &str = "recall";

/// An order's outcome under the lock.
enum Taken {
    Stumble,
    Conflict,
    Old(Report),
    New(Report),
}

impl SandboxRails {
    pub(super) async fn take_order(&self, order: PlainPayout) -> Result<Report, PortError> {
        let fault = self.faults.take(|_| true);
        self.before(SEND, fault).await?;
        let magic = magic_of(order.amount);
        let (taken, durable) = {
            let mut book = self.book.lock();
            drop(self.speak(&mut book));
            let taken = self.decide(&mut book, &order, fault, magic);
            // The words of a new order that are due at once are said before it is answered.
            let durable = self.speak(&mut book);
            if fault == Some(RailFault::Twice) {
                self.repeat(&mut book, order.key);
            }
            (taken, durable)
        };
        let stopped = |e: LogError| failed(SEND, ErrorKind::Unknown, &e.to_string());
        durable.wait().await.map_err(stopped)?;
        let (report, fresh) = match taken {
            Taken::Stumble => {
                return Err(failed(SEND, ErrorKind::Temporary, "the rail is busy (magic amount)"));
            }
            Taken::Conflict => {
                let message = "this key belongs to an order with another content";
                return Err(failed(SEND, ErrorKind::Permanent, message));
            }
            Taken::Old(report) => (report, false),
            Taken::New(report) => (report, true),
        };
        if fault == Some(RailFault::Timeout) || (fresh && magic == Some(Magic::TimeoutAfterSuccess)) {
            tokio::time::sleep(Duration::from_millis(self.settings.timeout_after_ms)).await;
            return Err(failed(SEND, ErrorKind::Unknown, "no answer in time"));
        }
        Ok(report)
    }

    fn decide(
        &self,
        book: &mut RailBook,
        order: &PlainPayout,
        fault: Option<RailFault>,
        magic: Option<Magic>,
    ) -> Taken {
        let digest = digest(order);
        if let Some(known) = book.order(order.key) {
            if known.digest != digest {
                return Taken::Conflict;
            }
            // What was said last, which for a disordered payout is not the newest.
            let last = book.said(order.key).pop();
            let begun = word(order, 1, known.at, Words::InProcess);
            return Taken::Old(last.unwrap_or(begun).report());
        }
        if magic == Some(Magic::TemporaryTwice) && book.stumbles(order.key) {
            return Taken::Stumble;
        }
        let magic = match fault {
            Some(RailFault::Decline) => Some(Magic::Declined),
            _ => magic,
        };
        let taken = Ordered {
            key: order.key,
            payout: order.payout,
            line: order.line,
            amount: order.amount,
            currency: order.currency,
            digest,
            at: book.now,
            gone: magic == Some(Magic::GoneAfterRefusal),
            late: matches!(magic, Some(Magic::GoneAfterRefusal | Magic::PaidAfterRefusal)),
            to_come: self.plan(order, magic, book.now),
        };
        let first = taken.to_come.first().map(Says::report);
        drop(self.keep(book, &Record::Ordered(taken)));
        Taken::New(first.unwrap_or(word(order, 1, book.now, Words::InProcess).report()))
    }

    /// Everything that will be said of an order, by what its amount does.
    fn plan(&self, order: &PlainPayout, magic: Option<Magic>, now: Timestamp) -> Vec<Says> {
        use Words::{Cancelled, Complete, Failed, InProcess, Returned};
        let paid = now.plus_ms(match magic {
            Some(Magic::Slow) => self.settings.slow_paid_after_ms,
            _ => self.settings.paid_after_ms,
        });
        let after = paid.plus_ms(self.settings.returned_after_ms);
        let words: Vec<(u64, Timestamp, Words)> = match magic {
            Some(Magic::Declined) => vec![(1, now, Failed)],
            Some(Magic::Returned) => vec![(1, now, InProcess), (2, paid, Complete), (3, after, Returned)],
            Some(Magic::Disordered) => vec![
                (1, now, InProcess),
                (3, paid, Complete),
                (2, paid, InProcess),
                (3, paid, Complete),
                (2, after, InProcess),
            ],
            Some(Magic::LiesThenCorrects) => vec![(1, now, InProcess), (2, paid, Complete), (3, after, Failed)],
            Some(Magic::PaidAfterRefusal | Magic::GoneAfterRefusal) => {
                vec![(1, now, InProcess), (2, paid, Failed), (3, after, Complete)]
            }
            Some(Magic::Cancelled) => vec![(1, now, InProcess), (2, paid, Cancelled)],
            Some(Magic::Unclaimed) => vec![(1, now, InProcess)],
            _ => vec![(1, now, InProcess), (2, paid, Complete)],
        };
        let said = |(sequence, at, says)| word(order, sequence, at, says);
        words.into_iter().map(said).collect()
    }

    /// Says all that was said of an order again.
    fn repeat(&self, book: &mut RailBook, key: EffectId) {
        let at = book.now;
        for word in book.said(key) {
            drop(self.keep(book, &Record::Word(Says { at, ..word })));
        }
    }

    pub(super) async fn known_order(&self, key: EffectId) -> Result<Option<Report>, PortError> {
        const CALL: &str = "ask after";
        self.before(CALL, self.faults.take(RailFault::meets_listening)).await?;
        let (known, durable) = {
            let mut book = self.book.lock();
            let durable = self.speak(&mut book);
            // Every order has its first word from the moment it is taken.
            let said = book.order(key).and_then(|_| book.said(key).pop());
            (said.map(|word| word.report()), durable)
        };
        let stopped = |e: LogError| failed(CALL, ErrorKind::Unknown, &e.to_string());
        durable.wait().await.map_err(stopped)?;
        Ok(known)
    }

    pub(super) async fn take_back(&self, key: EffectId, payout: PayoutId) -> Result<Recall, PortError> {
        let fault = self
            .faults
            .take(|fault| !matches!(fault, RailFault::Decline | RailFault::Twice));
        self.before(RECALL, fault).await?;
        let (recall, durable) = {
            let mut book = self.book.lock();
            let durable = self.speak(&mut book);
            let paid = book.said(key).iter().any(|word| word.says == Words::Complete);
            match book.order(key) {
                _ if book.is_recalled(key) => (Recall::Done, durable),
                Some(order) if order.gone || (paid && !order.late) => (Recall::TooLate, durable),
                _ => {
                    let sequence = book.latest(key).map_or(1, |word| word.sequence + 1);
                    drop(self.keep(&mut book, &Record::Recalled(key)));
                    let word = Says {
                        at: book.now,
                        key,
                        payout,
                        sequence,
                        says: Words::Returned,
                    };
                    (Recall::Done, self.keep(&mut book, &Record::Word(word)))
                }
            }
        };
        let stopped = |e: LogError| failed(RECALL, ErrorKind::Unknown, &e.to_string());
        durable.wait().await.map_err(stopped)?;
        if fault == Some(RailFault::Timeout) {
            tokio::time::sleep(Duration::from_millis(self.settings.timeout_after_ms)).await;
            return Err(failed(RECALL, ErrorKind::Unknown, "no answer in time"));
        }
        Ok(recall)
    }
}

const fn word(order: &PlainPayout, sequence: u64, at: Timestamp, says: Words) -> Says {
    Says {
        at,
        key: order.key,
        payout: order.payout,
        sequence,
        says,
    }
}

/// Of what was asked for; of a card only its last digits, of an account its bank, so that no number can be guessed from it.
fn digest(order: &PlainPayout) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut take = |part: &[u8]| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    take(&order.key.0.to_be_bytes());
    take(&order.payout.0.to_be_bytes());
    take(order.line.name().as_bytes());
    take(&order.amount.get().to_be_bytes());
    take(order.currency.as_str().as_bytes());
    match &order.to {
        Payee::Card(card) => take(card.last4().as_bytes()),
        Payee::Bank {
            routing_number,
            account_holder_name,
            ..
        } => {
            take(routing_number.as_bytes());
            take(account_holder_name.as_bytes());
        }
        Payee::App(platform, payee) => {
            take(platform.name().as_bytes());
            take(payee.recipient.as_bytes());
        }
    }
    hash.finalize().into()
}
