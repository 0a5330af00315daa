//! Every settled payment has exactly one outcome.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::account;
use purser_actors::entity::account::{CreditCause, underlying_payment};
use purser_actors::entity::payment;
use purser_actors::entity::payment::Status;
use purser_actors::id::PaymentId;

use super::ledger::LedgerTotals;
use super::money_history::MoneyHistory;
use super::products::{self, MoneyFlow, MoneyOutcome, SoldProduct};
use super::{StoreContents, VerifyReport, lost_orders, outgoing_transfers};

/// Pending credits by cause, in atomic USDC.
type PendingCreditAmounts = BTreeMap<String, i128>;

pub(super) const fn name_of(status: &Status) -> &'static str {
    match status {
        Status::Claimed => "claimed",
        Status::Settling(_) => "settling",
        Status::Unknown(_) => "unknown",
        Status::Declined(..) => "declined",
        Status::Released | Status::DeclinedUnsent(_) => "released",
        Status::Settled { .. } => "settled",
        Status::Fulfilled { .. } => "fulfilled",
        Status::Credited { .. } => "credited",
        Status::Refused(_) => "refused",
        Status::Reversed { .. } => "reversed",
        Status::Resolved { .. } => "resolved",
    }
}

pub(super) fn check(contents: &StoreContents, history: &MoneyHistory, books: &LedgerTotals, report: &mut VerifyReport) {
    let mut under_way = PendingCreditAmounts::new();
    for (name, atomic) in contents.jobs.iter().filter_map(|e| products::credited_for(&e.job)) {
        *under_way.entry(name).or_default() += atomic;
    }
    payments(contents, history, books, &under_way, report);
    sold(contents, history, books, &under_way, report);
    causes(contents, books, report);
    owners(contents, report);
}

fn payments(
    contents: &StoreContents,
    history: &MoneyHistory,
    books: &LedgerTotals,
    under_way: &PendingCreditAmounts,
    report: &mut VerifyReport,
) {
    // Indexed once: a scan of all products for each payment would be too slow with millions.
    let mut made: BTreeMap<PaymentId, Vec<&SoldProduct>> = BTreeMap::new();
    for sold in contents.sold.values() {
        made.entry(sold.charge.payment).or_default().push(sold);
    }
    for (id, (payment, _)) in &contents.payments {
        let name = id.to_string();
        let paid = i128::from(payment.claim.authorization.value().atomic());
        let received = books.received.get(&name).copied().unwrap_or(0);
        // A transfer that was credited without its payment is posted under its own name.
        let as_deposit = contents.incoming.taken.contains_key(id);
        let landed = payment.transaction().is_some() && !as_deposit;
        if received != if landed { paid } else { 0 } {
            report.report(
                "payment.received_mismatch",
                &name,
                format!("the treasury booked {received} of {paid}"),
            );
        }
        let lost = books.losses.get(&name).copied().unwrap_or(0);
        let reversed = matches!(payment.status, Status::Reversed { .. });
        if lost != if reversed { paid } else { 0 } {
            let detail = format!("{}: a loss of {lost} is booked of {paid}", name_of(&payment.status));
            report.report("payment.loss_mismatch", &name, detail);
        }
        let credits = credits(&name, history, books, report);
        let made = made.get(id).map_or(&[][..], Vec::as_slice);
        let products = made.len();
        let (want_products, want_credits) = match &payment.status {
            Status::Fulfilled { .. } => (1, 0),
            Status::Credited { .. } if as_deposit => (0, 0),
            Status::Credited { .. } | Status::Reversed { product: None, .. } => (0, paid),
            Status::Reversed { .. } => (1, 0),
            Status::Resolved { .. } => (0, 0),
            Status::Settled { .. } if under_way.contains_key(&name) => (0, 0),
            // The credit is posted and the payment is being notified.
            Status::Settled { .. } => (0, paid),
            _ => (0, 0),
        };
        if products != want_products || credits != want_credits {
            let detail = format!(
                "{}: {products} products (expected {want_products}), {credits} credited (expected {want_credits})",
                name_of(&payment.status)
            );
            report.report("payment.outcome_mismatch", &name, detail);
        }
        if let Some(product) = bought(&payment.status) {
            match made.iter().find(|sold| sold.product == *product) {
                None => report.report("payment.product_mismatch", &name, format!("it bought no {product}")),
                Some(sold) if sold.owner != payment.account() => {
                    report.report(
                        "payment.product_mismatch",
                        &name,
                        format!("{product} belongs to another wallet"),
                    );
                }
                Some(_) => {}
            }
        }
    }
}

/// The purchased product, also where the chain has reorged the payment.
pub(super) const fn bought(status: &Status) -> Option<&PurchasedProduct> {
    match status {
        Status::Fulfilled { product, .. } => Some(product),
        Status::Reversed { product, .. } => product.as_ref(),
        _ => None,
    }
}

/// Customer credits for a cause, by the ledger; the journal must have the same.
pub(super) fn credits(name: &str, history: &MoneyHistory, books: &LedgerTotals, report: &mut VerifyReport) -> i128 {
    let booked = books.credited.get(name).copied().unwrap_or(0);
    let recorded = history.net_amount(name);
    if history.complete && booked != recorded {
        report.report(
            "credit.ledger_mismatch",
            name,
            format!("the ledger credited {booked}, the events {recorded}"),
        );
    }
    booked
}

fn sold(
    contents: &StoreContents,
    history: &MoneyHistory,
    books: &LedgerTotals,
    under_way: &PendingCreditAmounts,
    report: &mut VerifyReport,
) {
    let moved: BTreeSet<String> = contents
        .jobs
        .iter()
        .filter_map(|e| products::product_of_job(&e.job))
        .collect();
    for sold in contents.sold.values() {
        let name = sold.product.to_string();
        let credited = credits(&name, history, books, report);
        let all = i128::from(sold.charge.charged.atomic());
        let MoneyFlow {
            returned,
            owed,
            earned,
            own_share: ours,
        } = sold.money_flow(contents.refunds.refunded_amount(sold.charge.payment));
        if let Some(price) = sold.price
            && price != all
        {
            report.report(
                "product.price_mismatch",
                &name,
                format!("{all} charged, and its quote says {price}"),
            );
        }
        // A purchase from a balance was debited under the product's own name.
        let by_balance = sold.charge.payment == PaymentId::NONE;
        let waiting = under_way.get(&name).copied().unwrap_or(0);
        let want = returned - ours - waiting - if by_balance { all } else { 0 };
        // For a reorged payment an operator decides about the credit: it is given, or counts among our costs.
        let kept = match contents.payments.get(&sold.charge.payment) {
            Some((payment, _)) if matches!(payment.status, Status::Reversed { .. }) => (want - credited).max(0),
            _ => 0,
        };
        check_sent(&name, (sold, ours + kept), books, report);
        let want = want - kept;
        if credited != want {
            report.report(
                "product.credit_mismatch",
                &name,
                format!("{credited} credited, expected {want}"),
            );
        }
        posted(&name, sold, (owed, earned), books, report);
        if sold.is_in_progress && !moved.contains(&name) {
            report.report(
                "product.orphaned",
                &name,
                format!("{}, and nothing moves it on", sold.status),
            );
        }
        match contents.payments.get(&sold.charge.payment) {
            Some((p, _)) if bought(&p.status) == Some(&sold.product) => {}
            None if by_balance => {}
            _ => report.report(
                "product.payment_mismatch",
                &name,
                format!("{} did not buy it", sold.charge.payment),
            ),
        }
    }
}

/// The amount owed is posted with the payment that brought it, and reversed under the product's own name.
fn posted(
    name: &str,
    sold: &SoldProduct,
    (owed, earned): (i128, i128),
    books: &LedgerTotals,
    report: &mut VerifyReport,
) {
    let causes = [sold.charge.payment.to_string(), name.to_owned()];
    let mut has_owed: BTreeMap<_, i128> = BTreeMap::new();
    for (provider, atomic) in causes.iter().filter_map(|c| books.owed.get(c)).flatten() {
        *has_owed.entry(*provider).or_default() += atomic;
    }
    has_owed.retain(|_, atomic| *atomic != 0);
    let want_owed: BTreeMap<_, i128> = [(sold.provider, owed)]
        .into_iter()
        .filter(|(_, atomic)| *atomic != 0)
        .collect();
    let has_earned: i128 = causes.iter().filter_map(|c| books.earned.get(c)).sum();
    if has_owed != want_owed || has_earned != earned {
        let detail = format!("{has_owed:?} owed and {has_earned} earned, expected {want_owed:?} and {earned}");
        report.report("product.posting_mismatch", name, detail);
    }
}

/// What left the treasury for a product, and its cost to us, less what we retained of returned money.
fn check_sent(name: &str, (sold, kept): (&SoldProduct, i128), books: &LedgerTotals, report: &mut VerifyReport) {
    let (left, cost, surplus) = match sold.money {
        MoneyOutcome::Delivered { cost, surplus } => {
            let (cost, surplus) = (i128::from(cost), i128::from(surplus));
            (sold.value + cost, cost - surplus, surplus)
        }
        MoneyOutcome::Lost { cost } => (sold.value + i128::from(cost), sold.value + i128::from(cost), 0),
        MoneyOutcome::Spent | MoneyOutcome::Reversed | MoneyOutcome::Returned { .. } => (0, 0, 0),
    };
    let cost = cost - kept;
    let has_left = -books.received.get(name).copied().unwrap_or(0);
    let has_cost = books.costs.get(name).copied().unwrap_or(0);
    let has_surplus = books.surpluses.get(name).copied().unwrap_or(0);
    if (has_left, has_cost, has_surplus) != (left, cost, surplus) {
        let has = format!("{has_left} left the treasury at a cost of {has_cost} with a surplus of {has_surplus}");
        let detail = format!("{has}, expected {left}, {cost} and {surplus}");
        report.report("product.treasury_mismatch", name, detail);
    }
}

/// Only payments, products, deposits and withdrawals move money, and only their own.
fn causes(contents: &StoreContents, books: &LedgerTotals, report: &mut VerifyReport) {
    let products: BTreeSet<String> = contents.sold.values().map(|s| s.product.to_string()).collect();
    let payments: BTreeSet<String> = contents.payments.keys().map(ToString::to_string).collect();
    let deposits = contents.incoming.posted_causes();
    let withdrawals: BTreeSet<String> = contents.withdrawals.keys().map(ToString::to_string).collect();
    let booked = contents.attributed_transfers.iter().map(outgoing_transfers::name_of);
    let booked = booked.chain(contents.lost_orders.iter().map(lost_orders::name_of));
    let transfers: BTreeSet<String> = booked.collect();
    let late: BTreeSet<String> = contents.late_returns.keys().map(ToString::to_string).collect();
    let bank: BTreeSet<String> = contents.banking.values().map(|kept| kept.name.clone()).collect();
    let refunds: BTreeSet<String> = contents.refunds.all.keys().map(ToString::to_string).collect();
    let is_other_cause = |c: &String| {
        [&withdrawals, &transfers, &late, &bank, &refunds]
            .iter()
            .any(|ids| ids.contains(c))
            || underlying_payment(c).is_some_and(|id| contents.payments.contains_key(&id))
    };
    for cause in books.causes.iter().filter(|c| !is_other_cause(c)) {
        if !products.contains(cause) && !payments.contains(cause) && !deposits.contains(cause) {
            let detail = "there is no such payment, product, deposit, withdrawal or late return";
            report.report("ledger.cause_missing", cause, detail);
        }
    }
    // The amounts owed per product are checked there; here, that a product owes them at all.
    let bought: BTreeSet<String> = contents.sold.values().map(|s| s.charge.payment.to_string()).collect();
    let owing = books.owed.keys().chain(books.earned.keys()).chain(books.costs.keys());
    let owing = owing.chain(books.surpluses.keys());
    for cause in books
        .losses
        .keys()
        .filter(|c| !payments.contains(*c) && underlying_payment(c).is_none())
    {
        report.report("ledger.cause_missing", cause, "only a payment can be reversed");
    }
    let known = |c: &String| {
        [&products, &bought, &transfers, &late, &bank, &refunds]
            .iter()
            .any(|ids| ids.contains(c))
    };
    for cause in owing.filter(|c| !known(c)) {
        report.report(
            "ledger.cause_missing",
            cause,
            "only a product owes a provider and earns a fee",
        );
    }
    // Outgoing transfers of products are checked there.
    let moves = |c: &String| {
        [&payments, &deposits, &withdrawals, &products, &transfers]
            .iter()
            .any(|ids| ids.contains(c))
    };
    let own = |c: &String| deposits.contains(c) || transfers.contains(c);
    for cause in books.operator_funds.keys().filter(|c| !own(c)) {
        report.report(
            "ledger.cause_missing",
            cause,
            "only an operator's transfer is taken in or out",
        );
    }
    for cause in books.network_fees.keys().filter(|c| !transfers.contains(*c)) {
        report.report(
            "ledger.cause_missing",
            cause,
            "only what an operator has booked buys gas",
        );
    }
    for cause in books.received.keys().filter(|c| !moves(c)) {
        report.report("ledger.cause_missing", cause, "only a payment or a deposit is received");
    }
}

/// Everything unfinished has a job that moves it on.
fn owners(contents: &StoreContents, report: &mut VerifyReport) {
    let mut moving = BTreeMap::new();
    for outbox_job in &contents.jobs {
        let under_way = match outbox_job.job.typed() {
            Some(payment::Job::SettlePayment(id)) => Some((id, "settle_payment")),
            Some(payment::Job::WatchPayment(id)) => Some((id, "watch_payment")),
            Some(payment::Job::ConfirmPaymentCredit(id)) => Some((id, "confirm_payment_credit")),
            Some(payment::Job::ReadmitPayment { .. } | payment::Job::AwaitFinal(_)) | None => None,
        };
        let credit = match outbox_job.job.typed() {
            Some(account::Job::CreditAccount {
                cause: CreditCause::Payment(id),
                ..
            }) => Some((id, "credit_account")),
            _ => None,
        };
        moving.extend(under_way.or(credit));
    }
    for (id, (payment, _)) in &contents.payments {
        let needs = matches!(
            payment.status,
            Status::Claimed | Status::Settling(_) | Status::Unknown(_) | Status::Declined(..) | Status::Settled { .. }
        );
        if needs && !moving.contains_key(id) {
            report.report(
                "payment.orphaned",
                id,
                format!("{} and nothing moves it on", name_of(&payment.status)),
            );
        }
    }
}
