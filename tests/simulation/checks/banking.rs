//! Applications at rest: each is what the bank has said to its last submission, and the bank was given each submission once.

use std::collections::BTreeMap;

use purser_actors::banking::application::{Application, Event, Status};
use purser_actors::id::EffectId;
use purser_actors::kernel::{Entity as _, Kind, table};
use purser_actors::port::banking::Review;
use purser_storage::codec;

use super::{Stock, Wrong, decode, rows, wrong};
use crate::world::World;

pub(super) fn judge(world: &World, stock: &Stock) -> Result<(), Wrong> {
    let applications: Vec<Application> = {
        let shadow = world.shadow.lock();
        let all = rows(&shadow.rows, &[table::ENTITY, Kind::Application as u8]);
        all.map(|(_, row)| decode(row)).collect()
    };
    let mut reviews: BTreeMap<EffectId, Review> = {
        let vaults = world.vaults.lock();
        vaults
            .reviews
            .iter()
            .map(|(key, (_, review))| (*key, review.clone()))
            .collect()
    };
    for application in &applications {
        world.trace(|| format!("an application ended as {}", application.status()));
        story(stock, application, &mut reviews)?;
    }
    match reviews.first_key_value() {
        Some(lost) => wrong("application.lost", format!("{lost:?} was said to nobody")),
        None => Ok(()),
    }
}

/// What happened to an application, each of the bank's words where it belongs.
fn story(stock: &Stock, application: &Application, reviews: &mut BTreeMap<EffectId, Review>) -> Result<(), Wrong> {
    let own = stock.records.iter().filter(|r| r.kind == Kind::Application as u8);
    let own = own.filter(|r| r.id == application.owner.key());
    let (mut said, mut tries) = (None, 0);
    let mut last = Review::Wanted { what: String::new() };
    for record in own {
        let word = match codec::decode(&record.event).unwrap() {
            Event::Submitted(key, _) => {
                tries += 1;
                let review = reviews.remove(&key);
                if said.is_some() || review.is_none() {
                    return wrong(
                        "application.asked",
                        format!("{key} of {}: {review:?}", application.owner),
                    );
                }
                said = review;
                continue;
            }
            Event::Approved(customer, _) => Review::Approved { customer },
            Event::Rejected(reason, _) => Review::Rejected { reason },
            Event::GivenBack(what, _) => Review::Wanted { what },
            Event::Opened(_) | Event::Answered(..) | Event::Attached(_) => {
                // Whoever changes one that was rejected begins anew.
                last = Review::Wanted { what: String::new() };
                continue;
            }
        };
        if said.take().as_ref() != Some(&word) {
            return wrong(
                "application.word",
                format!("{}: {word:?} was not said", application.owner),
            );
        }
        last = word;
    }
    let good = said.is_none()
        && application.tries == tries
        && match (&application.status, &last) {
            (Status::Collecting, Review::Wanted { .. }) => true,
            (Status::Approved(is), Review::Approved { customer }) => is == customer,
            (Status::Rejected(is), Review::Rejected { reason }) => is == reason,
            _ => false,
        };
    match good {
        true => Ok(()),
        false => wrong("application.ends", format!("{application:?} after {last:?}")),
    }
}
