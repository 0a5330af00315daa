//! Every transfer that no payment claims is in the operators' list until an operator decides. It is posted once if the
//! decision requires that, and settles no payment.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::account;
use purser_actors::entity::account::CreditCause;
use purser_actors::entity::incoming;
use purser_actors::entity::incoming::{Event, Incoming, Status};
use purser_actors::entity::payment;
use purser_actors::id::{DepositId, PaymentId, WithdrawalId};
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::ledger::LedgerTotals;
use super::money_history::MoneyHistory;
use super::outcomes::credits;
use super::{StoreContents, VerifyReport, each_row, lost_orders, outgoing_transfers, take};

/// Transfers, the operators' list of them, and the payments that can no longer settle by any of them.
#[derive(Default)]
pub(super) struct IncomingTransfers {
    pub(super) all: BTreeMap<DepositId, (Incoming, u64)>,
    listed: BTreeMap<DepositId, Vec<(u64, u8)>>,
    /// Claimed deposits by payment.
    pub(super) taken: BTreeMap<PaymentId, DepositId>,
}

pub(super) const fn name_of(status: Status) -> &'static str {
    match status {
        Status::Found => "found",
        Status::Waiting => "waiting",
        Status::Crediting(_) => "crediting",
        Status::Credited(_) => "credited",
        Status::Adopted(_) => "adopted",
        Status::OperatorFunds => "operator_funds",
        Status::Returning(_) => "returning",
        Status::Returned(_) => "returned",
        Status::Claimed => "claimed",
        Status::Forwarded(_) => "forwarded",
    }
}

/// The status after an event; `None` for another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::Incoming as u8).then(|| {
        codec::decode(event).map(|event| match event {
            Event::Found(..) => Some("found"),
            Event::OperatorRequired(..) => Some("waiting"),
            Event::Claimed(_) => Some("claimed"),
            Event::CreditGranted(..) => Some("crediting"),
            Event::Credited(_) => Some("credited"),
            Event::Adopted(..) => Some("adopted"),
            Event::TakenAsOperatorFunds(_) => Some("operator_funds"),
            Event::SentBack(..) => Some("returning"),
            Event::Returned(_) => Some("returned"),
            Event::Forwarded(..) => Some("forwarded"),
        })
    })
}

impl IncomingTransfers {
    /// Reads a row of the kind; `None` for another.
    pub(super) fn read(&mut self, kind: u8, number: u128, row: &Row, report: &mut VerifyReport) -> Option<()> {
        (kind == EntityKind::Incoming as u8).then(|| {
            let id = DepositId(number);
            take(row, &id.to_string(), report).map(|read| self.all.insert(id, read));
        })
    }

    pub(super) async fn read_rows(&mut self, store: &dyn Store, report: &mut VerifyReport) -> Result<(), StoreError> {
        each_row(store, &[table::INCOMING], |key, row| {
            let Some((at, id)) = table::created_and_id(&key.into()) else {
                return;
            };
            let state = row.value.first().copied().unwrap_or(u8::MAX);
            self.listed.entry(DepositId(id)).or_default().push((at.0, state));
        })
        .await?;
        each_row(store, &[table::TAKEN_IN_PAYMENT], |key, row| {
            let payment = key.last_chunk().map(|id| PaymentId(u128::from_be_bytes(*id)));
            let deposit = <[u8; 16]>::try_from(&*row.value).map(|id| DepositId(u128::from_be_bytes(id)));
            match (payment, deposit) {
                (Some(payment), Ok(deposit)) => drop(self.taken.insert(payment, deposit)),
                _ => report.report("deposit.damaged", hex::encode(key), "no transfer of a payment"),
            }
        })
        .await
    }

    /// Their cause names in the ledger.
    pub(super) fn posted_causes(&self) -> BTreeSet<String> {
        let booked = self.all.iter().filter(|(_, (incoming, _))| is_posted(incoming));
        booked.map(|(id, _)| id.to_string()).collect()
    }

    /// The amount that came in and was sent on by a transfer of this name, in atomic USDC.
    pub(super) fn forwarded_amount(&self, transfer_id: &str) -> Option<i128> {
        let own = |incoming: &Incoming| match incoming.status {
            Status::Forwarded(by) => by.to_string() == transfer_id,
            _ => false,
        };
        let sent = self.all.values().find(|(incoming, _)| own(incoming));
        sent.map(|(incoming, _)| i128::from(incoming.transfer.amount.atomic()))
    }
}

const fn is_posted(incoming: &Incoming) -> bool {
    !matches!(
        incoming.status,
        Status::Found | Status::Waiting | Status::Claimed | Status::Adopted(_)
    )
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PendingIncomingJobs {
    lookups: usize,
    credits: usize,
    notifications: usize,
}

pub(super) fn check(contents: &StoreContents, history: &MoneyHistory, books: &LedgerTotals, report: &mut VerifyReport) {
    let mut moving: BTreeMap<DepositId, PendingIncomingJobs> = BTreeMap::new();
    for effect in &contents.jobs {
        match effect.job.typed() {
            Some(account::Job::SendBack { deposit: id, .. })
            | Some(account::Job::CreditAccount {
                cause: CreditCause::Deposit(id),
                ..
            }) => moving.entry(id).or_default().credits += 1,
            _ => {}
        }
        match effect.job.typed() {
            Some(incoming::Job::ClassifyIncoming(id)) => moving.entry(id).or_default().lookups += 1,
            Some(incoming::Job::ConfirmIncoming(id)) => moving.entry(id).or_default().notifications += 1,
            None => {}
        }
    }
    for (id, (incoming, _)) in &contents.incoming.all {
        let at_work = moving.remove(id).unwrap_or_default();
        let status = name_of(incoming.status);
        let want = match incoming.status {
            Status::Found => vec![(incoming.found_at.0, 0)],
            Status::Waiting => vec![(incoming.found_at.0, 1)],
            _ => Vec::new(),
        };
        let has = contents.incoming.listed.get(id).cloned().unwrap_or_default();
        if has != want {
            report.report("deposit.row", id, format!("{status}: its rows in the list are {has:?}"));
        }
        let looking = usize::from(incoming.status == Status::Found);
        let moved = usize::from(matches!(incoming.status, Status::Crediting(_) | Status::Returning(_)));
        if (at_work.lookups, at_work.credits + at_work.notifications) != (looking, moved) {
            report.report("deposit.orphan", id, format!("{status}: {at_work:?} in progress"));
        }
        check_postings(*id, incoming, at_work, (contents, history, books), report);
        settled_otherwise(*id, incoming, contents, report);
    }
    let listed = contents.incoming.listed.keys().copied();
    let taken = contents.incoming.taken.values().copied();
    let nowhere = listed.chain(taken).filter(|id| !contents.incoming.all.contains_key(id));
    for id in nowhere.chain(moving.into_keys()) {
        report.report(
            "deposit.missing",
            id,
            "something is there for it, and it does not exist",
        );
    }
}

/// It is posted exactly once if its status requires that.
fn check_postings(
    id: DepositId,
    incoming: &Incoming,
    at_work: PendingIncomingJobs,
    (contents, history, books): (&StoreContents, &MoneyHistory, &LedgerTotals),
    report: &mut VerifyReport,
) {
    let name = id.to_string();
    let amount = i128::from(incoming.transfer.amount.atomic());
    let received = books.received.get(&name).copied().unwrap_or(0);
    let kept = books.operator_funds.get(&name).copied().unwrap_or(0);
    let credited = credits(&name, history, books, report);
    let want = match incoming.status {
        Status::Found | Status::Waiting | Status::Claimed | Status::Adopted(_) => (0, 0, 0),
        Status::OperatorFunds => (amount, amount, 0),
        Status::Forwarded(_) => (amount, 0, 0),
        Status::Crediting(_) | Status::Returning(_) if at_work.credits > 0 => (amount, 0, 0),
        Status::Crediting(_) | Status::Returning(_) | Status::Credited(_) | Status::Returned(_) => (amount, 0, amount),
    };
    if (received, kept, credited) != want {
        let detail = format!("{received} received, {kept} taken in and {credited} credited, expected {want:?}");
        report.report("deposit.posting", &name, detail);
    }
    if let Status::Forwarded(by) = incoming.status
        && !contents
            .attributed_transfers
            .iter()
            .map(outgoing_transfers::name_of)
            .chain(contents.lost_orders.iter().map(lost_orders::name_of))
            .any(|name| name == by.to_string())
    {
        report.report("deposit.forwarded", &name, format!("{by} is not booked"));
    }
    let sent_back = matches!(incoming.status, Status::Returned(_));
    let withdrawal = contents.withdrawals.get(&WithdrawalId(id.0));
    let own = withdrawal.is_some_and(|(withdrawal, _)| {
        withdrawal.to == incoming.transfer.from && withdrawal.amount == incoming.transfer.amount
    });
    if sent_back && !own {
        report.report("deposit.returned", &name, "no withdrawal brings it back");
    }
}

/// A credited transfer settles no payment, and a payment's transfer is not credited.
fn settled_otherwise(id: DepositId, incoming: &Incoming, contents: &StoreContents, report: &mut VerifyReport) {
    let payment = incoming.transfer.payment;
    let taken = contents.incoming.taken.contains_key(&payment);
    if is_posted(incoming) && !taken {
        report.report("deposit.open", id, format!("{payment} may still settle by it"));
    }
    let known = contents.payments.get(&payment).map(|(known, _)| known);
    if matches!(incoming.status, Status::Claimed | Status::Adopted(_)) && known.is_none() {
        report.report("deposit.payment", id, format!("there is no {payment}"));
    }
    let Some(known) = known else { return };
    // A payment whose status refers to this transfer shows where the money is.
    let recorded = match &known.status {
        payment::Status::Credited { .. } if taken => Some("credited"),
        payment::Status::Resolved { resolution, .. } => Some(resolution.name()),
        _ => None,
    };
    let is = match incoming.status {
        Status::Crediting(has) | Status::Credited(has) if has == known.account() => "credited",
        Status::Returning(_) | Status::Returned(_) => "returned",
        Status::Forwarded(_) => "forwarded",
        Status::Crediting(_) | Status::Credited(_) | Status::OperatorFunds => "other",
        Status::Found | Status::Waiting | Status::Claimed | Status::Adopted(_) => "undecided",
    };
    if let Some(recorded) = recorded
        && recorded != is
    {
        report.report(
            "deposit.resolution_mismatch",
            id,
            format!("{payment} says {recorded}, and it is {is}"),
        );
    }
}
