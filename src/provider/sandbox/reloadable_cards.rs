//! The sandbox's reloadable cards and holds, which draw on the card balances.
//!
//! Every decision is made and recorded under one lock. The deposits of an account only grow, so they are read first.
//! The spent amount is summed under the lock, where the next order is added. Two orders therefore never use the same
//! cent.

mod holds;
pub(super) mod reconciliation;
mod records;

use std::sync::Arc;

use purser_actors::id::{CardId, JobId};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{
    CardAction, CardActionRequest, CardEvent, CardSnapshot, CardState, CardTransaction, Clock, ErrorKind, HoldRequest,
    HoldResult, HoldStatus, OpenCardRequest, PortError, PortFuture, Timestamp, TransactionStatus,
};

use self::records::{CardLedger, OpenedCard, ReloadableCardRecord, ReloadableCardRecords};
use super::{CardCharge, card_numbers};
use crate::reloadable_cards::{PlainOpenResult, ReloadableCardApi};
use crate::{CardBalanceReader, PlainCard};
use purser_host::secret::Secret;
use purser_sandbox::faults::{Fault, FaultTexts, Faults, conflict, failed};
use purser_sandbox::records::{RecordBook as _, Records};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

/// Duration of a call that times out.
const TIMEOUT_MS: u64 = 1_000;
const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the sandbox program is unreachable",
    malformed: "the answer is no answer",
};

/// A simulated provider of reloadable cards.
pub struct SandboxReloadableCards<B> {
    balances: Arc<B>,
    clock: Arc<dyn Clock>,
    records: Records<ReloadableCardRecords>,
    pub faults: Faults,
}

impl<B: CardBalanceReader> SandboxReloadableCards<B> {
    /// Opens its tables of the store.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open_in(store: &SandboxStore, balances: Arc<B>, clock: Arc<dyn Clock>) -> Result<Self, SandboxStoreError> {
        Ok(Self {
            balances,
            clock,
            records: Records::open(store, Table::ReloadableCards)?,
            faults: Faults::new(TEXTS, TIMEOUT_MS),
        })
    }

    /// Number of opened cards.
    pub fn cards(&self) -> u64 {
        self.records.lock().cards.0
    }

    /// A merchant charges a card. Approvals and declines are both recorded. `Permanent` for a card that does not exist.
    ///
    /// # Errors
    /// Those of a provider call.
    pub async fn charge(&self, id: CardId, sale: CardCharge<'_>) -> Result<CardTransaction, PortError> {
        let refused = |message: &str| failed(ErrorKind::Permanent, "charge", message);
        let charged = self.records.run(|book| {
            let file = book.card(id).ok_or_else(|| refused("no such card"))?;
            let transaction = file.charge(sale, self.clock.now());
            let charged = ReloadableCardRecord::Charged {
                card: id,
                transaction: transaction.clone(),
            };
            // A single-use card closes with its charge, in the same record.
            let is_last = !file.opened.reusable && transaction.status != TransactionStatus::Declined;
            let closed = is_last.then(|| {
                let left = Cents::new(file.available.get().saturating_sub(sale.amount.get()));
                state_change(&file, None, (CardState::Closed, left), transaction.at)
            });
            let entries: Vec<_> = std::iter::once(charged).chain(closed).collect();
            book.append(&entries);
            Ok(transaction)
        });
        charged.or(ErrorKind::Unknown, "charge").await?
    }

    /// Settles or refunds a pending charge. `Permanent` if the charge cannot change that way.
    ///
    /// # Errors
    /// Those of a provider call.
    pub async fn end_charge(&self, id: CardId, charge: &str, status: TransactionStatus) -> Result<(), PortError> {
        const CALL: &str = "end charge";
        let ended = self.records.run(|book| {
            let now = self.clock.now();
            let file = book.card(id);
            let ended = file.and_then(|file| file.update_charge(charge, status, now));
            ended.map(|entries| book.append(&entries))
        });
        ended.or(ErrorKind::Unknown, CALL).await?.ok_or_else(|| {
            let message = "this card has no charge that can change that way";
            failed(ErrorKind::Permanent, CALL, message)
        })
    }

    /// Credited deposits of an account, in whole cents.
    async fn counted(&self, account: &[u8; 20]) -> Result<u64, PortError> {
        Ok(self.balances.balance(account).await?.atomic() / ATOMIC_PER_CENT)
    }

    async fn opened(&self, order: &OpenCardRequest) -> Result<PlainOpenResult, PortError> {
        const CALL: &str = "open card";
        let fault = self.faults.before(CALL, |_| true).await?;
        let counted = self.counted(&order.account).await?;
        let answer = self.records.run(|book| match book.records_of(order.key).first() {
            Some(ReloadableCardRecord::Opened(known)) if known.card == order.card && known.amount == order.amount => {
                Ok(PlainOpenResult::Open { card: plain(known) })
            }
            Some(ReloadableCardRecord::Declined { reason, .. }) => Ok(declined(reason.clone())),
            Some(_) => Err(conflict(CALL)),
            None => {
                let (answer, entry) = self.decide_order(book, order, fault, counted);
                book.append(&[entry]);
                Ok(answer)
            }
        });
        let answer = answer.or(ErrorKind::Unknown, CALL).await??;
        self.faults.after(CALL, fault).await?;
        Ok(answer)
    }

    /// Decides on a new order under the lock.
    fn decide_order(
        &self,
        book: &ReloadableCardRecords,
        order: &OpenCardRequest,
        fault: Option<Fault>,
        counted: u64,
    ) -> (PlainOpenResult, ReloadableCardRecord) {
        let (key, at) = (order.key, self.clock.now());
        let refused = |reason| ReloadableCardRecord::Declined {
            key,
            card: true,
            amount: order.amount,
            reason,
            at,
        };
        if fault == Some(Fault::Decline) {
            let reason = Some("card_program_declined".to_owned());
            return (declined(reason.clone()), refused(reason));
        }
        if order.amount.get() > counted.saturating_sub(book.spent_balance(&order.account)) {
            return (declined(None), refused(None));
        }
        let mut attempt = 0;
        while book.is_number_used(card_numbers::account_part(key, attempt)) {
            attempt += 1;
        }
        let opened = OpenedCard {
            key,
            card: order.card,
            account: order.account,
            amount: order.amount,
            reusable: order.reusable,
            at,
            attempt,
        };
        (
            PlainOpenResult::Open { card: plain(&opened) },
            ReloadableCardRecord::Opened(opened),
        )
    }

    async fn run_card_action(&self, order: &CardActionRequest) -> Result<CardSnapshot, PortError> {
        const CALL: &str = "change card state";
        let fault = self.faults.before(CALL, |_| true).await?;
        let snapshot = self.records.run(|book| {
            let file = book
                .by_ref(&order.issuer_ref)
                .filter(|file| file.opened.card == order.card);
            let file = file.ok_or_else(|| failed(ErrorKind::Permanent, CALL, "no such card"))?;
            let to = match (file.state, order.action) {
                (CardState::Open, CardAction::Pause) => Some((CardState::Paused, Cents::ZERO)),
                (CardState::Paused, CardAction::Resume) => Some((CardState::Open, Cents::ZERO)),
                (CardState::Open | CardState::Paused, CardAction::Close) => Some((CardState::Closed, file.available)),
                _ => None,
            };
            // An action that was applied is not applied again, whatever happened after it.
            let Some((state, back)) = to.filter(|_| book.records_of(order.key).is_empty()) else {
                return Ok(file.snapshot());
            };
            let moved = state_change(&file, Some(order.key), (state, back), self.clock.now());
            book.append(&[moved]);
            Ok(book.card(order.card).unwrap_or(file).snapshot())
        });
        let snapshot = snapshot.or(ErrorKind::Unknown, CALL).await??;
        self.faults.after(CALL, fault).await?;
        Ok(snapshot)
    }

    async fn read_events(&self, after: u64, limit: usize) -> Result<Vec<CardEvent>, PortError> {
        let words = self.records.run(|book| book.events_after(after, limit));
        words.or(ErrorKind::Unknown, "card events").await
    }

    fn file(&self, operation: &'static str, issuer_ref: &str) -> Result<CardLedger, PortError> {
        let found = self.records.lock().by_ref(issuer_ref);
        found.ok_or_else(|| failed(ErrorKind::Permanent, operation, "no such card"))
    }
}

const ATOMIC_PER_CENT: u64 = 10_000;

fn state_change(
    file: &CardLedger,
    key: Option<JobId>,
    (state, returned): (CardState, Cents),
    at: Timestamp,
) -> ReloadableCardRecord {
    ReloadableCardRecord::StateChanged {
        card: file.opened.card,
        account: file.opened.account,
        key,
        state,
        returned,
        at,
    }
}

fn plain(opened: &OpenedCard) -> PlainCard {
    let (exp_year, exp_month) = card_numbers::reloadable_expiry(opened.at);
    PlainCard {
        issuer_ref: card_numbers::issuer_ref(opened.key),
        number: card_numbers::number(opened.key, opened.attempt),
        exp_month,
        exp_year,
    }
}

/// Without a reason the balance is too low.
fn declined(reason: Option<String>) -> PlainOpenResult {
    match reason {
        Some(reason) => PlainOpenResult::Declined { reason: reason.into() },
        None => PlainOpenResult::Insufficient,
    }
}

impl<B: CardBalanceReader> ReloadableCardApi for SandboxReloadableCards<B> {
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> PortFuture<'a, PlainOpenResult> {
        Box::pin(self.opened(order))
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> PortFuture<'a, CardSnapshot> {
        Box::pin(self.run_card_action(order))
    }

    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<CardEvent>> {
        Box::pin(self.read_events(after, limit))
    }

    fn hold<'a>(&'a self, order: &'a HoldRequest) -> PortFuture<'a, HoldResult> {
        Box::pin(self.create_hold(order))
    }

    fn hold_status(&self, key: JobId) -> PortFuture<'_, HoldStatus> {
        Box::pin(self.read_hold_status(key))
    }

    fn settle_hold(&self, key: JobId, paid: bool) -> PortFuture<'_, ()> {
        Box::pin(self.end_hold(key, paid))
    }

    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> PortFuture<'a, Secret<String>> {
        Box::pin(async move {
            self.faults.before("cvv", |_| true).await?;
            Ok(card_numbers::cvv(self.file("cvv", issuer_ref)?.opened.key))
        })
    }

    fn available<'a>(&'a self, issuer_ref: &'a str) -> PortFuture<'a, Cents> {
        Box::pin(async move {
            self.faults.before("available", |_| true).await?;
            Ok(self.file("available", issuer_ref)?.available)
        })
    }
}

impl<B: CardBalanceReader> CardBalanceReader for SandboxReloadableCards<B> {
    /// Deposits of the account less what was spent.
    fn balance<'a>(&'a self, account: &'a [u8; 20]) -> PortFuture<'a, Usdc> {
        Box::pin(async move {
            let counted = self.balances.balance(account).await?.atomic();
            let drawn = self.records.run(|book| book.spent_balance(account));
            let drawn = drawn.or(ErrorKind::Unknown, "card balance").await?;
            Ok(Usdc::from_atomic(
                counted.saturating_sub(drawn.saturating_mul(ATOMIC_PER_CENT)),
            ))
        })
    }
}

#[cfg(test)]
mod tests;
