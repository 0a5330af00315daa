//! International orders at rest: reported states are final, every operator action has an audit record, and a CVV exists
//! exactly as long as its card.

use std::collections::BTreeMap;

use purser_actors::entity::intl_order::{Event, IntlOrder, OVERDUE_AFTER_MS, Status};
use purser_actors::id::CardId;
use purser_actors::kernel::{Entity, EntityKind, table};
use purser_actors::operator::AuditRecord;
use purser_storage::codec;

use super::{StoreContents, Violation, decode, number, rows, violation};
use crate::environment::Environment;

/// Longer than a run takes to come to rest: a job due for this long has run.
const LONG_MS: u64 = 2 * 3_600_000;

pub(super) fn orders(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let shadow = world.reference.lock();
    let all = &shadow.rows;
    let orders: BTreeMap<CardId, IntlOrder> = rows(all, &[table::ENTITY, EntityKind::IntlOrder as u8])
        .map(|(key, row)| (CardId(number(key)), decode(row)))
        .collect();
    let cvvs: Vec<CardId> = rows(all, &[table::CVV]).map(|(key, _)| CardId(number(key))).collect();
    let mut audits: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (_, row) in rows(all, &[table::AUDIT_LOG]) {
        let audit: AuditRecord = decode(row);
        *audits.entry((audit.subject, audit.action)).or_default() += 1;
    }
    drop(shadow);
    let now = world.machine_ms();
    for (id, order) in &orders {
        audited(stock, &audits, *id)?;
        let (lives, ended) = match order.status {
            Status::Ready(_) => (true, false),
            Status::Expired(_) => (false, true),
            _ => (false, false),
        };
        if cvvs.contains(id) != lives || world.order_operators.lock().shredded.contains(id) != ended {
            return violation(
                "cvv",
                format!("{id} is {}, its CVV is there: {}", order.status(), !lives),
            );
        }
        let late = order.created_at.0 + OVERDUE_AFTER_MS + LONG_MS < now;
        if order.is_open() && late && !order.overdue {
            return violation(
                "order.overdue",
                format!("{id} is a day old and was never reported as overdue"),
            );
        }
        if order
            .lease_holder()
            .is_some_and(|holder| holder.until.0 + LONG_MS < now)
        {
            return violation("lease.endless", format!("{id}: {:?}", order.status));
        }
    }
    let operators = world.order_operators.lock();
    for (id, expected) in &operators.reported {
        let is = orders.get(id).map_or("-", IntlOrder::status);
        if is != *expected && (*expected, is) != ("ready", "expired") {
            return violation(
                "order.contradicted",
                format!("{id} was reported as {expected}, and is {is}"),
            );
        }
    }
    for (id, times) in &operators.reveals {
        let recorded = happened(stock, *id, |event| matches!(event, Event::Revealed(_)));
        if recorded < *times {
            return violation("order.revealed", format!("{id} was shown {times} times"));
        }
    }
    Ok(())
}

fn happened(stock: &StoreContents, id: CardId, which: impl Fn(&Event) -> bool) -> usize {
    let of_it = stock
        .records
        .iter()
        .filter(|r| r.kind == EntityKind::IntlOrder as u8 && r.id == id.0.to_be_bytes());
    of_it
        .filter(|r| codec::decode(&r.event).is_ok_and(|event| which(&event)))
        .count()
}

/// Each operator action has one audit record.
fn audited(stock: &StoreContents, audits: &BTreeMap<(String, String), usize>, id: CardId) -> Result<(), Violation> {
    type Which = fn(&Event) -> bool;
    let acts: [(&str, Which); 4] = [
        ("intl_order.claim", |e| matches!(e, Event::Claimed(..))),
        ("intl_order.release", |e| matches!(e, Event::Released(_))),
        ("intl_order.fulfil", |e| matches!(e, Event::Fulfilled(..))),
        ("intl_order.reject", |e| matches!(e, Event::Rejected(..))),
    ];
    for (what, which) in acts {
        let recorded = audits.get(&(id.to_string(), what.to_owned())).copied().unwrap_or(0);
        let done = happened(stock, id, which);
        if recorded != done {
            return violation(
                "audit",
                format!("{id}: {what} happened {done} times, {recorded} are in the audit log"),
            );
        }
    }
    Ok(())
}
