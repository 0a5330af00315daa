//! Reloadable cards, and withdrawals that operators pay: both spend a balance at the card issuer. That money is in the
//! issuer's records and not in our ledger. This module checks that everything waiting for the issuer or an operator has
//! a job, and that no transaction pays twice.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::Purchase;
use purser_actors::entity::card_withdrawal::{self, CardWithdrawal};
use purser_actors::entity::reloadable_card::{self, ReloadableCard};
use purser_actors::entity::top_up::CardBalancePurchase;
use purser_actors::id::{CardId, JobId, PaymentId, WithdrawalId};
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::{StoreContents, VerifyReport, each_row, take};

#[derive(Default)]
pub(crate) struct CardProgramRecords {
    pub(crate) cards: BTreeMap<CardId, (ReloadableCard, u64)>,
    pub(crate) withdrawals: BTreeMap<WithdrawalId, (CardWithdrawal, u64)>,
    /// Withdrawals in the operators' queue.
    queue: BTreeSet<u128>,
    /// By transaction, the withdrawal that it paid.
    paid_by: BTreeMap<String, u128>,
    /// By payment, the cards that its tokens ordered.
    funded: BTreeMap<PaymentId, Vec<CardId>>,
}

impl CardProgramRecords {
    /// Number of entities.
    pub(crate) fn len(&self) -> usize {
        self.cards.len() + self.withdrawals.len()
    }

    /// Reads a snapshot; `None` for another kind.
    pub(super) fn read(&mut self, kind: u8, id: u128, row: &Row, report: &mut VerifyReport) -> Option<()> {
        if kind == EntityKind::ReloadableCard as u8 {
            let id = CardId(id);
            take(row, &id.to_string(), report).map(|read| self.cards.insert(id, read));
            return Some(());
        }
        (kind == EntityKind::CardWithdrawal as u8).then(|| {
            let id = WithdrawalId(id);
            take(row, &id.to_string(), report).map(|read| self.withdrawals.insert(id, read));
        })
    }

    /// Reads the queue and the transactions that paid withdrawals.
    pub(super) async fn read_rows(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let number = |bytes: &[u8]| bytes.last_chunk().map_or(0, |id| u128::from_be_bytes(*id));
        each_row(store, &[table::CARD_WITHDRAWAL_QUEUE], |key, _| {
            self.queue.insert(number(key));
        })
        .await?;
        each_row(store, &[table::WITHDRAWAL_TRANSACTION], |key, row| {
            let transaction = String::from_utf8_lossy(&key[1..]).into_owned();
            self.paid_by.insert(transaction, number(&row.value));
        })
        .await?;
        each_row(store, &[table::PAYMENT_CARD], |key, row| {
            let payment = key.get(1..17).map_or(0, number);
            let cards = self.funded.entry(PaymentId(payment)).or_default();
            cards.push(CardId(number(&row.value)));
        })
        .await
    }
}

/// The status after an event: the inner `None` leaves it unchanged. The outer `None` means another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    if kind == EntityKind::ReloadableCard as u8 {
        use reloadable_card::Event;
        return Some(codec::decode(event).map(|event| match event {
            Event::Ordered { .. } => Some("creating"),
            Event::Opened(..) | Event::Resumed(..) => Some("open"),
            Event::Declined(..) => Some("failed"),
            Event::Paused(..) => Some("paused"),
            Event::Closed(..) => Some("closed"),
            Event::ActionRequested(..) | Event::ActionCompleted(_) | Event::Charged(..) | Event::Revealed(_) => None,
        }));
    }
    (kind == EntityKind::CardWithdrawal as u8).then(|| {
        use card_withdrawal::Event;
        codec::decode(event).map(|event| match event {
            Event::Requested { .. } => Some("pending"),
            Event::Held(..) | Event::Released(_) => Some("queued"),
            Event::Declined(..) => Some("failed"),
            Event::Claimed(..) => Some("claimed"),
            Event::Fulfilled(..) | Event::ClosedAtIssuer { paid: true, .. } => Some("complete"),
            Event::Rejected(..) | Event::ClosedAtIssuer { paid: false, .. } => Some("rejected"),
            Event::LeaseExpired(_) | Event::HoldSettled { .. } => None,
        })
    })
}

/// The status of a snapshot by this file's rules.
pub(super) const fn card_status(card: &ReloadableCard) -> &'static str {
    match card.status {
        reloadable_card::Status::Creating => "creating",
        reloadable_card::Status::Open(_) => "open",
        reloadable_card::Status::Paused(_) => "paused",
        reloadable_card::Status::Closed(_) => "closed",
        reloadable_card::Status::Failed { .. } => "failed",
    }
}

/// The status of a withdrawal by this file's rules.
pub(super) const fn withdrawal_status(asked: &CardWithdrawal) -> &'static str {
    match asked.status {
        card_withdrawal::Status::Pending => "pending",
        card_withdrawal::Status::Queued => "queued",
        card_withdrawal::Status::Claimed(_) => "claimed",
        card_withdrawal::Status::Complete { .. } | card_withdrawal::Status::ClosedAtIssuer { paid: true } => "complete",
        card_withdrawal::Status::Rejected { .. } | card_withdrawal::Status::ClosedAtIssuer { paid: false } => {
            "rejected"
        }
        card_withdrawal::Status::Failed { .. } => "failed",
    }
}

/// Whether its number must be in the vault.
pub(super) fn has_number(card: &ReloadableCard) -> bool {
    matches!(card_status(card), "open" | "paused" | "closed")
}

/// Compares pending jobs with what waits for them, and rows with entities.
pub(super) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    let mut work = PendingCounts::count(contents);
    for (id, (card, _)) in &contents.reloadable_cards.cards {
        let status = card_status(card);
        let name = id.to_string();
        work.check(
            "open_reloadable_card",
            &name,
            usize::from(status == "creating"),
            status,
            report,
        );
        work.check(
            "change_card_state",
            &name,
            usize::from(card.pending_action.is_some()),
            status,
            report,
        );
        if card.activity.available > card.amount {
            report.report(
                "reloadable_card.balance_mismatch",
                id,
                "more is left on it than was loaded",
            );
        }
    }
    for (id, (asked, _)) in &contents.reloadable_cards.withdrawals {
        withdrawal(contents, *id, asked, &mut work, report);
    }
    for ((what, subject), times) in work.0 {
        let detail = format!("{what} is at work {times} times too often");
        report.report("reloadable_card.job_unexpected", subject, detail);
    }
    rows(&contents.reloadable_cards, report);
    funded(contents, report);
}

/// A token issued for a payment has loaded no more than its payment brought, and each card of such a token is counted
/// once.
fn funded(contents: &StoreContents, report: &mut VerifyReport) {
    let program = &contents.reloadable_cards;
    for (payment, cards) in &program.funded {
        let mut loaded = 0_u64;
        for id in cards {
            match program.cards.get(id) {
                Some((card, _)) if card.funded_by == Some(*payment) => {
                    let taken = card_status(card) != "failed";
                    loaded = loaded.saturating_add(if taken { card.amount.get() } else { 0 });
                }
                _ => report.report(
                    "card_program.funded",
                    id,
                    "it is counted for a payment whose token did not order it",
                ),
            }
        }
        let bought = contents
            .payments
            .get(payment)
            .map(|(payment, _)| payment.claim.purchase.clone());
        let brought = match bought {
            Some(Purchase::CardBalance(CardBalancePurchase { amount })) => amount.get(),
            _ => 0,
        };
        if loaded > brought {
            let detail = format!("its tokens loaded {loaded} cents of the {brought} that it brought");
            report.report("card_program.funded", payment, detail);
        }
    }
    for (id, (card, _)) in &program.cards {
        let counted = |payment| program.funded.get(&payment).is_some_and(|cards| cards.contains(id));
        if card.funded_by.is_some_and(|payment| !counted(payment)) {
            report.report(
                "card_program.funded",
                id,
                "a payment's token ordered it, and it is not counted there",
            );
        }
    }
}

fn withdrawal(
    contents: &StoreContents,
    id: WithdrawalId,
    asked: &CardWithdrawal,
    work: &mut PendingCounts,
    report: &mut VerifyReport,
) {
    let (status, name) = (withdrawal_status(asked), id.to_string());
    let is_over = matches!(status, "complete" | "rejected");
    let reserving = usize::from(status == "pending");
    work.check("hold_card_balance", &name, reserving, status, report);
    let ending = usize::from(is_over && !asked.settled);
    work.check("settle_card_hold", &name, ending, status, report);
    if asked.hold_key.is_some() == matches!(status, "pending" | "failed") {
        report.report(
            "card_withdrawal.hold_mismatch",
            id,
            format!("{status}, and on hold: {:?}", asked.hold_key),
        );
    }
    if asked.settled && !is_over {
        report.report(
            "card_withdrawal.hold_end_mismatch",
            id,
            format!("{status}, and its reservation has ended"),
        );
    }
    let lease = card_withdrawal::Job::ExpireWithdrawalLease {
        withdrawal: id,
        lease: asked.lease,
    };
    let is_held = matches!(asked.status, card_withdrawal::Status::Claimed(Some(_)));
    if is_held && !contents.jobs.iter().any(|effect| effect.job == lease) {
        report.report(
            "card_withdrawal.lease_timer_missing",
            id,
            "an operator holds it, and no timer ends the lease",
        );
    }
}

fn rows(program: &CardProgramRecords, report: &mut VerifyReport) {
    let is_open = |asked: &CardWithdrawal| matches!(withdrawal_status(asked), "queued" | "claimed");
    let mut keys: BTreeMap<JobId, WithdrawalId> = BTreeMap::new();
    for (id, (asked, _)) in &program.withdrawals {
        if is_open(asked) != program.queue.contains(&id.0) {
            let detail = format!("{}, and in the queue: {}", withdrawal_status(asked), !is_open(asked));
            report.report("card_withdrawal.queue_mismatch", id, detail);
        }
        if let Some(other) = asked.hold_key.and_then(|key| keys.insert(key, *id)) {
            report.report(
                "card_withdrawal.hold_mismatch",
                id,
                format!("{other} has the same reservation"),
            );
        }
        if let card_withdrawal::Status::Complete { transaction } = &asked.status
            && program.paid_by.get(transaction) != Some(&id.0)
        {
            report.report(
                "card_withdrawal.transaction_mismatch",
                id,
                "no row says which transaction paid it",
            );
        }
    }
    for id in &program.queue {
        if !program.withdrawals.contains_key(&WithdrawalId(*id)) {
            report.report(
                "card_withdrawal.queue_mismatch",
                WithdrawalId(*id),
                "in the queue, and it does not exist",
            );
        }
    }
    for (transaction, id) in &program.paid_by {
        let own = program.withdrawals.get(&WithdrawalId(*id));
        let paid = own.is_some_and(|(asked, _)| {
            matches!(&asked.status, card_withdrawal::Status::Complete { transaction: by } if by == transaction)
        });
        if !paid {
            report.report(
                "card_withdrawal.transaction_mismatch",
                transaction,
                "it is said to have paid what it has not",
            );
        }
    }
}

/// Number of jobs per entity.
struct PendingCounts(BTreeMap<(&'static str, String), usize>);

impl PendingCounts {
    fn count(contents: &StoreContents) -> Self {
        let mut under = BTreeMap::new();
        for effect in &contents.jobs {
            let of = match (effect.job.typed(), effect.job.typed()) {
                (Some(reloadable_card::Job::OpenReloadableCard(id)), _) => ("open_reloadable_card", id.to_string()),
                (Some(reloadable_card::Job::ChangeCardState(id)), _) => ("change_card_state", id.to_string()),
                (None, Some(card_withdrawal::Job::HoldCardBalance(id))) => ("hold_card_balance", id.to_string()),
                (None, Some(card_withdrawal::Job::SettleCardHold(id))) => ("settle_card_hold", id.to_string()),
                (None, Some(card_withdrawal::Job::ExpireWithdrawalLease { .. }) | None) => continue,
            };
            *under.entry(of).or_default() += 1;
        }
        Self(under)
    }

    fn check(&mut self, what: &'static str, name: &str, wanted: usize, status: &str, report: &mut VerifyReport) {
        let times = self.0.remove(&(what, name.to_owned())).unwrap_or(0);
        if times != wanted {
            let detail = format!("{status}: {what} is at work {times} times (expected {wanted})");
            report.report("reloadable_card.job_mismatch", name, detail);
        }
    }
}
