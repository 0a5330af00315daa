//! Every refund belongs to a payment with a purchase. Together with all automatic credits it is at most the charge, and
//! it is paid once. Two operators approved it where one was not enough.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::account;
use purser_actors::entity::account::CreditCause;
use purser_actors::entity::refund::{Event, Refund, Status};
use purser_actors::entity::{payment, refund};
use purser_actors::id::{PaymentId, RefundId};
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::ledger::LedgerTotals;
use super::money_history::MoneyHistory;
use super::outcomes::credits;
use super::products::{SoldProduct, Usable, credited_for};
use super::{StoreContents, VerifyReport, each_row, take};

/// Refunds, and the list of pending ones with their start time.
#[derive(Default)]
pub(super) struct Refunds {
    pub(super) all: BTreeMap<RefundId, (Refund, u64)>,
    listed: BTreeMap<RefundId, Vec<u64>>,
}

pub(super) const fn name_of(status: Status) -> &'static str {
    match status {
        Status::Requested => "requested",
        Status::Approved => "approved",
        Status::Credited => "credited",
        Status::Rejected => "rejected",
        Status::Expired => "expired",
    }
}

/// The status after an event; `None` for another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::Refund as u8).then(|| {
        codec::decode(event).map(|event| match event {
            Event::Requested(..) => Some("requested"),
            Event::Approved(..) => Some("approved"),
            Event::Credited(_) => Some("credited"),
            Event::Rejected(..) => Some("rejected"),
            Event::Expired(_) => Some("expired"),
        })
    })
}

impl Refunds {
    /// The refunded amount of a payment, in atomic USDC.
    pub(super) fn refunded_amount(&self, payment: PaymentId) -> i128 {
        let refund = self.all.get(&RefundId(payment.0)).map(|(refund, _)| refund);
        match refund.map(|refund| (refund.status, refund.request.amount)) {
            Some((Status::Approved | Status::Credited, amount)) => i128::from(amount.atomic()),
            Some((Status::Requested | Status::Rejected | Status::Expired, _)) | None => 0,
        }
    }

    /// Reads a row of the kind; `None` for another.
    pub(super) fn read(&mut self, kind: u8, number: u128, row: &Row, report: &mut VerifyReport) -> Option<()> {
        (kind == EntityKind::Refund as u8).then(|| {
            let id = RefundId(number);
            take(row, &id.to_string(), report).map(|read| self.all.insert(id, read));
        })
    }

    pub(super) async fn read_rows(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        each_row(store, &[table::PENDING_REFUND], |key, _| {
            let Some((at, id)) = table::created_and_id(&key.into()) else {
                return;
            };
            self.listed.entry(RefundId(id)).or_default().push(at.0);
        })
        .await
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct PendingRefundJobs {
    credits: usize,
    notifications: usize,
    scheduled: usize,
}

pub(super) fn check(contents: &StoreContents, history: &MoneyHistory, books: &LedgerTotals, report: &mut VerifyReport) {
    let mut moving: BTreeMap<RefundId, PendingRefundJobs> = BTreeMap::new();
    for effect in &contents.jobs {
        if let Some(account::Job::CreditAccount {
            cause: CreditCause::Refund(id),
            ..
        }) = effect.job.typed()
        {
            moving.entry(id).or_default().credits += 1;
        }
        match effect.job.typed() {
            Some(refund::Job::ConfirmRefund(id)) => moving.entry(id).or_default().notifications += 1,
            Some(refund::Job::ExpireRefund { refund, round }) => {
                let asked = contents.refunds.all.get(&refund).map(|(refund, _)| refund.round);
                moving.entry(refund).or_default().scheduled += usize::from(asked == Some(round));
            }
            None => {}
        }
    }
    let about: BTreeSet<PaymentId> = contents.refunds.all.keys().map(|id| PaymentId(id.0)).collect();
    let sold = contents
        .sold
        .values()
        .filter(|sold| about.contains(&sold.charge.payment));
    let sold: BTreeMap<PaymentId, &SoldProduct> = sold.map(|sold| (sold.charge.payment, sold)).collect();
    for (id, (refund, _)) in &contents.refunds.all {
        let at_work = moving.remove(id).unwrap_or_default();
        paid(*id, refund, (contents, &sold, books), report);
        posted(*id, refund, at_work, (history, books), report);
        decided(*id, refund, at_work, report);
        let want = match refund.status {
            Status::Requested => vec![refund.created_at.0],
            _ => Vec::new(),
        };
        let has = contents.refunds.listed.get(id).cloned().unwrap_or_default();
        if has != want {
            let detail = format!("{}: its rows in the list are {has:?}", name_of(refund.status));
            report.report("refund.index_mismatch", id, detail);
        }
    }
    let listed = contents.refunds.listed.keys().copied();
    let unknown = listed.filter(|id| !contents.refunds.all.contains_key(id));
    for id in unknown.chain(moving.into_keys()) {
        report.report("refund.missing", id, "something is there for it, and it does not exist");
    }
}

/// It belongs to a payment with a purchase, and is at most the charge.
fn paid(
    id: RefundId,
    refund: &Refund,
    (contents, sold, books): (&StoreContents, &BTreeMap<PaymentId, &SoldProduct>, &LedgerTotals),
    report: &mut VerifyReport,
) {
    let asked = &refund.request;
    let payment = contents.payments.get(&asked.payment).map(|(payment, _)| payment);
    let payment = payment.filter(|payment| {
        // The chain may have reorged it since.
        let bought = matches!(
            payment.status,
            payment::Status::Fulfilled { .. } | payment::Status::Reversed { product: Some(_), .. }
        );
        bought && asked.payment.0 == id.0 && payment.account() == asked.owner
    });
    let (Some(_), Some(sold)) = (payment, sold.get(&asked.payment)) else {
        return report.report(
            "refund.payment_mismatch",
            id,
            format!("{} did not buy anything for them", asked.payment),
        );
    };
    let charged = i128::from(sold.charge.charged.atomic());
    // Automatic credits are what the ledger has, plus pending ones. A late return has its own name.
    let name = sold.product.to_string();
    let waiting = contents.jobs.iter().filter_map(|effect| credited_for(&effect.job));
    let waiting: i128 = waiting.filter(|(of, _)| *of == name).map(|(_, atomic)| atomic).sum();
    let credited = books.credited.get(&name).copied().unwrap_or(0) + waiting;
    let late = if sold.returned_late { sold.value } else { 0 };
    let refunded = contents.refunds.refunded_amount(asked.payment);
    if refunded > 0 && refunded + credited + late > charged {
        let detail = format!(
            "{refunded} refunded and {} credited automatically, of {charged}",
            credited + late
        );
        report.report("refund.amount_mismatch", id, detail);
    }
    // Merchants may have paid in after the refund.
    let usable = match sold.usable {
        Usable::Zero => 0,
        Usable::Remaining { now, by_merchants } => (now - by_merchants).clamp(0, sold.value),
        Usable::All => sold.value,
    };
    if refunded > 0 && !asked.holder_keeps_product && refunded + credited + usable > charged {
        let detail =
            format!("{refunded} refunded and {usable} still to be used, of {charged}, and no operator allowed it");
        report.report("refund.product", id, detail);
    }
}

/// It is posted as our cost, and the payer has it or is about to.
fn posted(
    id: RefundId,
    refund: &Refund,
    at_work: PendingRefundJobs,
    (history, books): (&MoneyHistory, &LedgerTotals),
    report: &mut VerifyReport,
) {
    let name = id.to_string();
    let amount = i128::from(refund.request.amount.atomic());
    let given = match refund.status {
        Status::Approved | Status::Credited => amount,
        Status::Requested | Status::Rejected | Status::Expired => 0,
    };
    let cost = books.costs.get(&name).copied().unwrap_or(0);
    let credited = credits(&name, history, books, report);
    let want = if at_work.credits == 0 { given } else { 0 };
    if (cost, credited) != (given, want) {
        let detail = format!("{cost} at our cost and {credited} credited, expected {given} and {want}");
        report.report("refund.posting_mismatch", name, detail);
    }
}

/// No operator approves their own refund, and every unfinished refund has a job.
fn decided(id: RefundId, refund: &Refund, at_work: PendingRefundJobs, report: &mut VerifyReport) {
    let approved = matches!(refund.status, Status::Approved | Status::Credited);
    if approved && refund.decided_by.as_ref() == Some(&refund.request.by) {
        report.report(
            "refund.self_approved",
            id,
            format!("{} asked for it and approved it", refund.request.by),
        );
    }
    let want = match refund.status {
        Status::Approved => (1, 0),
        Status::Requested => (0, 1),
        Status::Credited | Status::Rejected | Status::Expired => (0, 0),
    };
    // The scheduled job of a refund decided in time is still pending.
    let waiting = if refund.status == Status::Requested {
        at_work.scheduled
    } else {
        0
    };
    if (at_work.credits + at_work.notifications, waiting) != want {
        let detail = format!("{}: {at_work:?} in progress", name_of(refund.status));
        report.report("refund.orphaned", id, detail);
    }
}
