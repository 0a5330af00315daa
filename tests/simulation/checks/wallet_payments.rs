//! Agent wallets at rest: compares each wallet's outgoing transfers with its payments, caps, agents' pins and keys.

use std::collections::{BTreeMap, BTreeSet};

use purser::verify::ChainTransfer;
use purser_actors::entity::agent_wallet::{AgentWallet, Event, WalletCaps};
use purser_actors::entity::spend_approval::{self, SpendUse};
use purser_actors::entity::wallet_payment::{self, Status, WalletPayment};
use purser_actors::id::{SpendApprovalId, WalletPaymentId};
use purser_actors::kernel::{Entity as _, EntityKind, table};
use purser_actors::port::Timestamp;
use purser_storage::codec;

use super::{StoreContents, Violation, decode, rows, violation};
use crate::agents::allows;
use crate::card_balances::durable_entities;
use crate::chain::wallet_payments;
use crate::environment::Environment;
use crate::seller::WALLET_PAYMENT;
use crate::withdrawals::{NUMBERS_PER_REQUEST, outlives_keys};

const ATOMIC_PER_CENT: u64 = 10_000;
const DAY_MS: u64 = 86_400_000;

pub(super) fn check(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let spends: BTreeMap<WalletPaymentId, WalletPayment> = durable_entities(world, EntityKind::WalletPayment)
        .into_iter()
        .map(|(id, spend)| (WalletPaymentId(id), spend))
        .collect();
    let mut left = wallet_payments(world);
    let mut numbers: BTreeMap<u32, WalletPaymentId> = BTreeMap::new();
    for (id, spend) in &spends {
        world.trace(|| format!("a wallet payment ended as {}", spend.status()));
        let nth = (id.0 as u32 - WALLET_PAYMENT) / NUMBERS_PER_REQUEST;
        if numbers.insert(nth, *id).is_some() && !outlives_keys(&world.plan) {
            return violation("key.twice", format!("wallet payment {nth} is two"));
        }
        let own = left.remove(id).unwrap_or_default();
        one(world, *id, spend, &own)?;
        if !allows(nth, spend.order.to, spend.order.amount.atomic()) {
            return violation(
                "wallet_payment.pins",
                format!("{id}: {:?} was not allowed", spend.order),
            );
        }
        check_events(world, stock, *id, spend)?;
    }
    // Transfers signed by the lost history are on chain only.
    if let Some(lost) = left.values().next().filter(|_| !was_restored(world)) {
        return violation("wallet_payment.lost", format!("{lost:?} left for nothing"));
    }
    for (nth, id) in &world.client_log.lock().wallet_payments {
        if numbers.get(nth) != Some(id) && !outlives_keys(&world.plan) {
            return violation("key.effect", format!("wallet payment {nth} was reported as {id}"));
        }
    }
    let wallets: Vec<AgentWallet> = {
        let shadow = world.reference.lock();
        let all = rows(&shadow.rows, &[table::ENTITY, EntityKind::AgentWallet as u8]);
        all.map(|(_, row)| decode(row)).collect()
    };
    wallets.iter().try_for_each(|wallet| caps(stock, wallet, &spends))
}

/// It ended as the chain shows: once on it, exactly as it was ordered, or never.
fn one(
    world: &Environment,
    id: WalletPaymentId,
    spend: &WalletPayment,
    left: &[ChainTransfer],
) -> Result<(), Violation> {
    let ordered =
        |t: &ChainTransfer| (t.from, t.to, t.atomic) == (spend.from, spend.order.to, spend.order.amount.atomic());
    let good = match (&spend.status, left) {
        (Status::Settled { transaction, .. }, [one]) if one.transaction == *transaction => ordered(one),
        (Status::Failed { .. } | Status::Unsettled { .. }, []) => true,
        // A restored store knows a spend by what it moved: of equal transfers, it may be another's that was lost, and its own
        // is left in that one's place.
        (Status::Settled { transaction, .. }, [] | [_]) if was_restored(world) => {
            let mut all = wallet_payments(world).into_values().flatten();
            left.iter().all(ordered) && all.any(|t| t.transaction == *transaction && ordered(&t))
        }
        _ => false,
    };
    match good {
        true => Ok(()),
        false => violation(
            "wallet_payment.money",
            format!("{id} is {:?}, and {left:?} left", spend.status),
        ),
    }
}

fn was_restored(world: &Environment) -> bool {
    world.archive.lock().mark().is_some()
}

/// Its events tell how it came to that.
fn check_events(
    world: &Environment,
    stock: &StoreContents,
    id: WalletPaymentId,
    spend: &WalletPayment,
) -> Result<(), Violation> {
    let own = stock
        .records
        .iter()
        .filter(|r| r.kind == EntityKind::WalletPayment as u8 && r.id == id.0.to_be_bytes());
    let events: Vec<&str> = own
        .map(|record| match codec::decode(&record.event).unwrap() {
            wallet_payment::Event::Created { .. } => "pending",
            wallet_payment::Event::Signed(..) => "signed",
            wallet_payment::Event::ResponseReceived(..) => "sent",
            wallet_payment::Event::Confirmed(..) => "settled",
            wallet_payment::Event::Failed(..) => "failed",
            wallet_payment::Event::Unsettled(..) => "unsettled",
        })
        .collect();
    let mut expected = vec!["pending"];
    if spend.status() != "failed" {
        // One that the lost history had sent is recognised on the chain.
        let recognised = was_restored(world) && events == ["pending", "settled"];
        expected.extend((!recognised).then_some("signed"));
        expected.extend(spend.response().map(|_| "sent"));
    }
    expected.push(spend.status());
    match events == expected {
        true => Ok(()),
        false => violation(
            "wallet_payment.story",
            format!("{id}: {events:?}, and not {expected:?}"),
        ),
    }
}

/// By its events, the owner approved this spend, and this one was made.
fn is_approved(stock: &StoreContents, id: SpendApprovalId, payment: WalletPaymentId, amount: u64) -> bool {
    let own = stock
        .records
        .iter()
        .filter(|r| r.kind == EntityKind::SpendApproval as u8 && r.id == id.0.to_be_bytes());
    let (mut asked, mut approved, mut spends) = (0, 0, Vec::new());
    for record in own {
        match codec::decode(&record.event).unwrap() {
            spend_approval::Event::Requested(request, _) if request.terms.amount.atomic() == amount => asked += 1,
            spend_approval::Event::Approved(_) => approved += 1,
            spend_approval::Event::Used(payment, _) => spends.push(payment),
            _ => return false,
        }
    }
    (asked, approved, spends) == (1, 1, vec![SpendUse::WalletPayment(payment)])
}

/// No cap was ever exceeded without the owner's approval, by the caps of that moment and by days that end once a later one begins. Each cap
/// reservation ended once, according to its payment's outcome.
fn caps(
    stock: &StoreContents,
    wallet: &AgentWallet,
    spends: &BTreeMap<WalletPaymentId, WalletPayment>,
) -> Result<(), Violation> {
    let own = stock
        .records
        .iter()
        .filter(|r| r.kind == EntityKind::AgentWallet as u8 && r.id == wallet.owner.key());
    // An approval passes one spend.
    let mut used: BTreeSet<SpendApprovalId> = BTreeSet::new();
    let mut limits: Option<WalletCaps> = None;
    let mut days: BTreeMap<u32, u64> = BTreeMap::new();
    let mut open: BTreeMap<WalletPaymentId, (u32, u64, Option<String>)> = BTreeMap::new();
    // What each merchant got on each day.
    let mut merchants: BTreeMap<(u32, String), u64> = BTreeMap::new();
    for record in own {
        match codec::decode(&record.event).unwrap() {
            Event::Created { caps: set, .. } | Event::CapsChanged(set) => limits = Some(set),
            Event::Held(share) => {
                let (amount, now) = (share.amount.atomic(), limits.expect("a wallet has limits"));
                let day = days.entry(share.day).or_default();
                *day += amount;
                let over_day = now.per_day.is_some_and(|cap| *day > cap.get() * ATOMIC_PER_CENT);
                let over = amount > now.per_call.get() * ATOMIC_PER_CENT || over_day;
                let consents = share.approval.is_some_and(|id| {
                    used.insert(id) && now.approvals && is_approved(stock, id, share.payment, amount)
                });
                if (over || share.approval.is_some()) && !consents {
                    let detail = format!(
                        "{}: {amount} of {day} on day {} within {now:?}",
                        wallet.owner, share.day
                    );
                    return violation("wallet_payment.caps", detail);
                }
                if let Some(merchant) = &share.merchant {
                    *merchants.entry((share.day, merchant.clone())).or_default() += amount;
                }
                let newest = days.keys().next_back().copied().unwrap_or(0);
                if share.day < newest
                    || open
                        .insert(share.payment, (share.day, amount, share.merchant.clone()))
                        .is_some()
                {
                    return violation("wallet_payment.day", format!("{share:?} after day {newest}, or twice"));
                }
            }
            Event::HoldSettled(spend, paid) => {
                let settled = matches!(spends.get(&spend).map(|s| &s.status), Some(Status::Settled { .. }));
                let Some((day, amount, merchant)) = open.remove(&spend).filter(|_| settled == paid) else {
                    return violation("wallet_payment.ended", format!("{spend} ended as paid: {paid}"));
                };
                if !paid {
                    *days.entry(day).or_default() -= amount;
                    if let Some(merchant) = merchant {
                        *merchants.entry((day, merchant)).or_default() -= amount;
                    }
                }
            }
            Event::AddressSaved(_)
            | Event::AddressDeleted(_)
            | Event::SpendRefused(_)
            | Event::MerchantCapsChanged(_)
            | Event::BalanceObserved(..) => {}
        }
    }
    if let Some((newest, _)) = days.last_key_value() {
        let midnight = Timestamp(u64::from(*newest) * DAY_MS);
        let counted: BTreeMap<String, u64> = wallet
            .merchants_on(midnight)
            .map(|(host, used)| (host.to_owned(), used.atomic()))
            .collect();
        let spent = merchants.into_iter().filter(|((day, _), _)| day == newest);
        let spent: BTreeMap<String, u64> = spent.map(|((_, host), amount)| (host, amount)).collect();
        if counted != spent {
            let detail = format!("{}: {counted:?} are counted, and not {spent:?}", wallet.owner);
            return violation("wallet_payment.merchants", detail);
        }
    }
    match open.is_empty() && wallet.holds.is_empty() {
        true => Ok(()),
        false => violation(
            "wallet_payment.reserved",
            format!("{}: {open:?} and {:?}", wallet.owner, wallet.holds),
        ),
    }
}
