//! Applications at rest: each is what the bank has said to its last submission, and the bank was given each submission
//! once.

use std::collections::BTreeMap;

use purser_actors::entity::banking::application::{BankingApplication, Event, Status};
use purser_actors::id::JobId;
use purser_actors::kernel::{Entity as _, EntityKind, table};
use purser_actors::port::banking::ReviewDecision;
use purser_storage::codec;

use super::{StoreContents, Violation, decode, rows, violation};
use crate::environment::Environment;

pub(super) fn check(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let applications: Vec<BankingApplication> = {
        let shadow = world.reference.lock();
        let all = rows(&shadow.rows, &[table::ENTITY, EntityKind::BankingApplication as u8]);
        all.map(|(_, row)| decode(row)).collect()
    };
    let mut reviews: BTreeMap<JobId, ReviewDecision> = {
        let vaults = world.bank.lock();
        vaults
            .reviews
            .iter()
            .map(|(key, (_, review))| (*key, review.clone()))
            .collect()
    };
    for application in &applications {
        world.trace(|| format!("an application ended as {}", application.status()));
        check_events(stock, application, &mut reviews)?;
    }
    match reviews.first_key_value() {
        Some(lost) => violation("application.lost", format!("{lost:?} was never applied")),
        None => Ok(()),
    }
}

/// What happened to an application, each of the bank's words where it belongs.
fn check_events(
    stock: &StoreContents,
    application: &BankingApplication,
    reviews: &mut BTreeMap<JobId, ReviewDecision>,
) -> Result<(), Violation> {
    let own = stock
        .records
        .iter()
        .filter(|r| r.kind == EntityKind::BankingApplication as u8);
    let own = own.filter(|r| r.id == application.owner.key());
    let (mut decision, mut attempts) = (None, 0);
    let mut last = ReviewDecision::InformationRequested { what: String::new() };
    for record in own {
        let word = match codec::decode(&record.event).unwrap() {
            Event::Submitted(key, _) => {
                attempts += 1;
                let review = reviews.remove(&key);
                if decision.is_some() || review.is_none() {
                    return violation(
                        "application.asked",
                        format!("{key} of {}: {review:?}", application.owner),
                    );
                }
                decision = review;
                continue;
            }
            Event::Approved(customer, _) => ReviewDecision::Approved { customer },
            Event::Rejected(reason, _) => ReviewDecision::Rejected { reason },
            Event::InformationRequested(what, _) => ReviewDecision::InformationRequested { what },
            Event::Opened(_) | Event::Updated(..) | Event::DocumentAdded(_) => {
                // Changing a rejected application starts it again.
                last = ReviewDecision::InformationRequested { what: String::new() };
                continue;
            }
        };
        if decision.take().as_ref() != Some(&word) {
            return violation(
                "application.decision",
                format!("{}: {word:?} was not decided by the bank", application.owner),
            );
        }
        last = word;
    }
    let good = decision.is_none()
        && application.submissions == attempts
        && match (&application.status, &last) {
            (Status::Incomplete, ReviewDecision::InformationRequested { .. }) => true,
            (Status::Approved(is), ReviewDecision::Approved { customer }) => is == customer,
            (Status::Rejected(is), ReviewDecision::Rejected { reason }) => is == reason,
            _ => false,
        };
    match good {
        true => Ok(()),
        false => violation("application.ends", format!("{application:?} after {last:?}")),
    }
}
