//! Orders at the sandbox's rails: each key pays at most once, whatever fails.

use purser_actors::id::{JobId, PayoutId};
use purser_actors::port::payouts::{PayoutStatusUpdate, RecallResult};
use purser_actors::port::{ErrorKind, PortError, Timestamp};
use sha2::{Digest as _, Sha256};

use super::SandboxPayouts;
use super::faults::{MagicOutcome, affects_event_reads};
use super::records::{PayoutEventKind, PayoutEventRecord, PayoutOrderRecord, PayoutRecord, PayoutRecords};
use crate::payouts::{Payee, PayoutOrder};
use purser_sandbox::faults::{Fault, OrderResult};
use purser_sandbox::records::RecordBook as _;

const SEND: &str = "pay out";
const RECALL: &str = "recall";

impl SandboxPayouts {
    pub(super) async fn place_order(&self, order: PayoutOrder) -> Result<PayoutStatusUpdate, PortError> {
        let fault = self.faults.before(SEND, |_| true).await?;
        let magic = MagicOutcome::of(order.amount);
        let taken = self.records.run(|book| {
            self.emit_due_events(book);
            let taken = self.decide(book, &order, fault, magic);
            // Events of a new order that are due at once are emitted before it is answered.
            self.emit_due_events(book);
            if fault == Some(Fault::Duplicate) {
                repeat(book, order.key);
            }
            taken
        });
        let taken = taken.or(ErrorKind::Unknown, SEND).await?;
        let (report, fresh) = taken.order(SEND, "the rail is busy (magic amount)")?;
        self.faults.after(SEND, fault).await?;
        if fresh && magic == Some(MagicOutcome::TimeoutAfterSuccess) {
            return self.faults.time_out(SEND).await;
        }
        Ok(report)
    }

    fn decide(
        &self,
        book: &mut PayoutRecords,
        order: &PayoutOrder,
        fault: Option<Fault>,
        magic: Option<MagicOutcome>,
    ) -> OrderResult<PayoutStatusUpdate> {
        let digest = digest(order);
        if let Some(known) = book.order(order.key) {
            if known.digest != digest {
                return OrderResult::Conflict;
            }
            // The last reported event, which is not the newest for a payout with reordered events.
            let last = book.events_of(order.key).pop();
            let begun = event_record(order, 1, known.at, PayoutEventKind::InProcess);
            return OrderResult::Existing(last.unwrap_or(begun).status_update());
        }
        if magic == Some(MagicOutcome::TwoTemporaryErrors) && self.faults.fails_temporarily(order.key) {
            return OrderResult::Busy;
        }
        let magic = match fault {
            Some(Fault::Decline) => Some(MagicOutcome::Declined),
            _ => magic,
        };
        let taken = PayoutOrderRecord {
            key: order.key,
            payout: order.payout_id,
            line: order.rail.line(),
            amount: order.amount,
            currency: order.currency,
            digest,
            at: book.totals.now,
            not_recallable: magic == Some(MagicOutcome::LostAfterDecline),
            paid_after_decline: matches!(
                magic,
                Some(MagicOutcome::LostAfterDecline | MagicOutcome::PaidAfterDecline)
            ),
            scheduled_events: self.plan(order, magic, book.totals.now),
        };
        let first = taken.scheduled_events.first().map(PayoutEventRecord::status_update);
        book.append(&[PayoutRecord::Ordered(taken)]);
        OrderResult::Created(
            first.unwrap_or(event_record(order, 1, book.totals.now, PayoutEventKind::InProcess).status_update()),
        )
    }

    /// All events that an order will emit, by its amount's outcome.
    fn plan(&self, order: &PayoutOrder, magic: Option<MagicOutcome>, now: Timestamp) -> Vec<PayoutEventRecord> {
        use PayoutEventKind::{Cancelled, Complete, Failed, InProcess, Returned};
        let paid = now.plus_ms(match magic {
            Some(MagicOutcome::Slow) => self.settings.slow_paid_after_ms,
            _ => self.settings.paid_after_ms,
        });
        let after = paid.plus_ms(self.settings.returned_after_ms);
        let words: Vec<(u64, Timestamp, PayoutEventKind)> = match magic {
            Some(MagicOutcome::Declined) => vec![(1, now, Failed)],
            Some(MagicOutcome::Returned) => vec![(1, now, InProcess), (2, paid, Complete), (3, after, Returned)],
            Some(MagicOutcome::OutOfOrder) => vec![
                (1, now, InProcess),
                (3, paid, Complete),
                (2, paid, InProcess),
                (3, paid, Complete),
                (2, after, InProcess),
            ],
            Some(MagicOutcome::WrongThenCorrected) => {
                vec![(1, now, InProcess), (2, paid, Complete), (3, after, Failed)]
            }
            Some(MagicOutcome::PaidAfterDecline | MagicOutcome::LostAfterDecline) => {
                vec![(1, now, InProcess), (2, paid, Failed), (3, after, Complete)]
            }
            Some(MagicOutcome::Cancelled) => vec![(1, now, InProcess), (2, paid, Cancelled)],
            Some(MagicOutcome::Unclaimed) => vec![(1, now, InProcess)],
            _ => vec![(1, now, InProcess), (2, paid, Complete)],
        };
        let said = |(sequence, at, says)| event_record(order, sequence, at, says);
        words.into_iter().map(said).collect()
    }

    pub(super) async fn find_order(&self, key: JobId) -> Result<Option<PayoutStatusUpdate>, PortError> {
        const CALL: &str = "ask after";
        self.faults.before(CALL, affects_event_reads).await?;
        let known = self.records.run(|book| {
            self.emit_due_events(book);
            // Every order has its first event from the moment it is accepted.
            let said = book.order(key).and_then(|_| book.events_of(key).pop());
            said.map(|word| word.status_update())
        });
        known.or(ErrorKind::Unknown, CALL).await
    }

    pub(super) async fn recall_order(&self, key: JobId, payout: PayoutId) -> Result<RecallResult, PortError> {
        let asked = |fault| !matches!(fault, Fault::Decline | Fault::Duplicate);
        let fault = self.faults.before(RECALL, asked).await?;
        let recall = self.records.run(|book| {
            let at = self.emit_due_events(book);
            let paid = book
                .events_of(key)
                .iter()
                .any(|word| word.kind == PayoutEventKind::Complete);
            match book.order(key) {
                _ if book.is_recalled(key) => RecallResult::Recalled,
                Some(order) if order.not_recallable || (paid && !order.paid_after_decline) => RecallResult::TooLate,
                _ => {
                    let sequence = book.latest(key).map_or(1, |word| word.sequence + 1);
                    book.append(&[PayoutRecord::Recalled(key)]);
                    book.append(&[PayoutRecord::Event(PayoutEventRecord {
                        at,
                        key,
                        payout,
                        sequence,
                        kind: PayoutEventKind::Returned,
                    })]);
                    RecallResult::Recalled
                }
            }
        });
        let recall = recall.or(ErrorKind::Unknown, RECALL).await?;
        self.faults.after(RECALL, fault).await?;
        Ok(recall)
    }
}

/// Repeats all events of an order.
fn repeat(book: &mut PayoutRecords, key: JobId) {
    let at = book.totals.now;
    for word in book.events_of(key) {
        book.append(&[PayoutRecord::Event(PayoutEventRecord { at, ..word })]);
    }
}

const fn event_record(order: &PayoutOrder, sequence: u64, at: Timestamp, says: PayoutEventKind) -> PayoutEventRecord {
    PayoutEventRecord {
        at,
        key: order.key,
        payout: order.payout_id,
        sequence,
        kind: says,
    }
}

/// Digest of the request. It includes only the last digits of a card and the bank of an account, so that no number can
/// be guessed from it.
fn digest(order: &PayoutOrder) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut take = |part: &[u8]| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    take(&order.key.0.to_be_bytes());
    take(&order.payout_id.0.to_be_bytes());
    take(order.rail.line().name().as_bytes());
    take(&order.amount.get().to_be_bytes());
    take(order.currency.as_str().as_bytes());
    match &order.payee {
        Payee::Card { number, .. } => {
            let digits = number.expose_secret().as_bytes();
            take(&digits[digits.len().saturating_sub(4)..]);
        }
        Payee::Bank {
            routing_number,
            account_holder_name,
            ..
        } => {
            take(routing_number.as_bytes());
            take(account_holder_name.as_bytes());
        }
        Payee::App {
            platform, recipient, ..
        } => {
            take(platform.as_bytes());
            take(recipient.as_bytes());
        }
    }
    hash.finalize().into()
}
