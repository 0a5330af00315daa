//! Folds the events of payments.

use purser_actors::entity::payment;
use purser_actors::kernel::event_record::EventRecord;
use purser_storage::codec::{self, DecodeError};

use super::EntityEvents;

pub(super) fn follow(record: &EventRecord, trail: &mut EntityEvents) -> Result<(), DecodeError> {
    let event: payment::Event = codec::decode(&record.event)?;
    let status = match event {
        payment::Event::Claimed(_) | payment::Event::Readmitted(..) => "claimed",
        payment::Event::Settling(..) | payment::Event::Resumed(..) | payment::Event::ClaimedPrepared(..) => "settling",
        payment::Event::BecameUnknown(_) => "unknown",
        payment::Event::Declined(..) => "declined",
        payment::Event::Released(_) | payment::Event::DeclinedUnsent(..) => "released",
        payment::Event::Settled(transaction, _) => {
            trail.transaction = Some(transaction);
            "settled"
        }
        payment::Event::Adopted(_, transaction, product) => {
            trail.transaction = Some(transaction);
            trail.product = Some(product.to_string());
            "fulfilled"
        }
        payment::Event::Fulfilled(product, _) => {
            trail.product = Some(product.to_string());
            "fulfilled"
        }
        payment::Event::Credited(_) => "credited",
        payment::Event::CreditedAfterRestore(transaction, _) => {
            trail.transaction = Some(transaction);
            "credited"
        }
        payment::Event::Resolved(transaction, ..) => {
            trail.transaction = Some(transaction);
            "resolved"
        }
        payment::Event::Refused(_) => "refused",
        payment::Event::Reversed(_) => {
            trail.transaction = None;
            "reversed"
        }
    };
    trail.status = status.into();
    Ok(())
}
