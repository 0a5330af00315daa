//! Payouts at rest: compares what a rail did with the money with the credit to the payer.

use std::collections::BTreeMap;

use purser_actors::entity::payout;
use purser_actors::entity::payout::{Payout, PayoutTarget};
use purser_actors::id::{CardId, LateReturnId, PaymentId, PaymentRecipientId, PayoutId};
use purser_actors::kernel::{Entity, EntityKind, table};
use purser_actors::port::payouts::PayoutRailStatus;

use super::{StoreContents, Violation, decode, number, rows, violation};
use crate::clients::wallet;
use crate::environment::Environment;
use crate::plan::WALLETS;
use crate::recipients::{destination, recipients};

const ATOMIC_PER_CENT: u64 = 10_000;

/// Where the money is, by the rail's last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MoneyLocation {
    /// The rail never received it.
    NotSent,
    /// With the recipient.
    Paid,
    /// Sent, refused or returned: it is not with the recipient.
    Returned,
    /// On its way.
    InProgress,
}

pub(super) fn check(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let shadow = world.reference.lock();
    let all = &shadow.rows;
    let payouts: BTreeMap<PayoutId, Payout> = rows(all, &[table::ENTITY, EntityKind::Payout as u8])
        .map(|(key, row)| (PayoutId(number(key)), decode(row)))
        .collect();
    let sealed: Vec<PayoutId> = payouts
        .keys()
        .copied()
        .filter(|id| all.contains_key(&table::vault(CardId(id.0))))
        .collect();
    drop(shadow);
    let mut saved: BTreeMap<PaymentRecipientId, (u64, u64)> = BTreeMap::new();
    for (id, payout) in &payouts {
        one(world, stock, *id, payout)?;
        if sealed.contains(id) {
            return violation(
                "payout.sealed",
                format!("{id} is {}, its card is kept", payout.status()),
            );
        }
        match &payout.plan.target {
            PayoutTarget::Bank(to, _)
                if !(0..WALLETS as u8).any(|n| destination(n) == *to && wallet(n) == payout.owner) =>
            {
                return violation("destination.owner", format!("{id} went to {to}"));
            }
            PayoutTarget::App(recipient, ..) => {
                let (count, sum) = saved.entry(*recipient).or_default();
                // A payout that was credited to the payer was paid to no recipient.
                if !credited(stock, &payouts, *id) {
                    *count += 1;
                    *sum += payout.amount.get();
                }
            }
            PayoutTarget::Bank(..) | PayoutTarget::Card(_) => {}
        }
    }
    let known: BTreeMap<PaymentRecipientId, (u64, u64)> = recipients(world)
        .into_iter()
        .map(|(id, saved)| (id, (saved.net_totals().0, saved.net_totals().1.get())))
        .collect();
    if known != saved {
        return violation("recipient.totals", format!("{known:?}, and paid were {saved:?}"));
    }
    let unknown = world.payouts.lock();
    match unknown.orders.values().find(|slip| !payouts.contains_key(&slip.payout)) {
        Some(slip) => violation("payout.lost", format!("{} was sent and is not there", slip.payout)),
        None => Ok(()),
    }
}

/// Whether the payer was credited for a payout, in time or late. If its rail keeps everything: whether it ended so.
fn credited(stock: &StoreContents, payouts: &BTreeMap<PayoutId, Payout>, id: PayoutId) -> bool {
    let late = stock.late_returns.contains_key(&LateReturnId::for_payout(id));
    late || matches!(payouts[&id].status(), "failed" | "cancelled" | "expired" | "returned")
}

fn one(world: &Environment, stock: &StoreContents, id: PayoutId, payout: &Payout) -> Result<(), Violation> {
    let rails = world.payouts.lock();
    let money = match rails.orders.get(&payout.key).and_then(|slip| slip.statuses.last()) {
        None => MoneyLocation::NotSent,
        Some(PayoutRailStatus::Complete { .. }) => MoneyLocation::Paid,
        Some(PayoutRailStatus::InProcess { .. }) => MoneyLocation::InProgress,
        Some(_) => MoneyLocation::Returned,
    };
    drop(rails);
    let is_dead_lettered = |work: payout::Job| stock.jobs.iter().any(|e| e.dead_lettered && e.job == work);
    let (price, taken) = match payout.charge.payment {
        // A balance has paid for it, under its own name.
        PaymentId::NONE => (payout.charge.charged.atomic(), payout.charge.charged.atomic()),
        payment => (stock.payments[&payment].price().atomic(), 0),
    };
    let credited = stock.credits.get(&id.to_string()).copied().unwrap_or(0) + i128::from(taken);
    let credited = u64::try_from(credited).unwrap_or(u64::MAX);
    let owed = payout.amount.get() * ATOMIC_PER_CENT;
    let less = owed - payout.plan.terms.return_fee.atomic().min(owed);
    let (whole, none) = (credited == price, credited == 0);
    if taken > 0 {
        world.trace(|| format!("of a balance's payout: {}", payout.status()));
    }
    let good = match payout.status() {
        "awaiting-details" => none && money == MoneyLocation::NotSent,
        "expired" => whole && money == MoneyLocation::NotSent,
        "complete" => none && late_return(stock, id, payout, (money, less))?,
        // What was paid after all and is gone, too.
        "failed" | "cancelled" => {
            whole
                && (money == MoneyLocation::Returned
                    || money == MoneyLocation::Paid && is_dead_lettered(payout::Job::RecallPayout(id)))
        }
        "returned" => credited == less && money == MoneyLocation::Returned,
        _ => false,
    };
    if good {
        return Ok(());
    }
    let detail = format!(
        "{id} is {}, the money is {money:?}, {credited} of {price} credited",
        payout.status()
    );
    violation("payout.money", detail)
}

/// What came back after the window is a late return that was credited once, and nothing else is one.
fn late_return(
    stock: &StoreContents,
    id: PayoutId,
    payout: &Payout,
    (money, less): (MoneyLocation, u64),
) -> Result<bool, Violation> {
    let name = LateReturnId::for_payout(id);
    let credited = stock.credits.get(&name.to_string()).copied().unwrap_or(0);
    let Some(late) = stock.late_returns.get(&name) else {
        return Ok(money == MoneyLocation::Paid && credited == 0);
    };
    if late.owner != payout.owner || late.payout != id || late.status() != "credited" {
        return Err(("late_return.wrong", format!("{name}: {late:?}")));
    }
    Ok(money == MoneyLocation::Returned && credited == i128::from(less))
}
