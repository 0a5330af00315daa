//! Answers to payments, judged at the moment they are given: what they rest on is durable, and the outside bears it
//! out.

use purser_actors::engine::{ClaimError, PaymentResult};
use purser_actors::entity::account;
use purser_actors::entity::payment::{Outcome, Payment, Status};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::product::ProductLine;
use purser_storage::codec;

use crate::account_steps::durable;
use crate::clients::{amount, payer, wallet};
use crate::environment::Environment;

/// An answer rests on what is durable at the moment it is given.
pub(crate) fn check_response(world: &Environment, payment: u32, answer: &Result<PaymentResult, ClaimError>) {
    let id = world.client_log.lock().ids[&payment];
    let stored: Option<Payment> = durable(world, EntityKind::Payment, &id.0.to_be_bytes());
    let rests = match (answer, stored.as_ref().map(|p| &p.status)) {
        (Ok(_), None) => false,
        // After a restore it rests on the chain: the payment has landed, and bought something else in the history that
        // was lost. Its transfer is credited or listed once it is read.
        (Err(ClaimError::AlreadyUsed), None) => {
            world.archive.lock().mark().is_some() && world.chain.lock().transfers.contains_key(&payment)
        }
        (Ok(paid), Some(status)) => match (&paid.outcome, status) {
            (
                Outcome::Fulfilled {
                    product, transaction, ..
                },
                Status::Fulfilled {
                    product: p,
                    transaction: t,
                },
            ) => product == p && transaction == t,
            (Outcome::Credited { transaction, .. }, Status::Credited { transaction: t }) => transaction == t,
            (Outcome::Resolved(resolution), Status::Resolved { resolution: r, .. }) => resolution == r,
            (Outcome::Fulfilled { .. } | Outcome::Credited { .. } | Outcome::Resolved(_), _) => false,
            // These may have been overtaken by what came after them.
            (Outcome::Declined(_), _) => world.chain.lock().has_declined(payment),
            (Outcome::Pending | Outcome::Unavailable, _) => true,
        },
        (Err(error), _) => is_error_durable(world, payment, error),
    };
    if !rests {
        world.report_violation(
            "answer.early",
            format!("payment {payment}: {answer:?}, and durable is {stored:?}"),
        );
    }
}

/// A refusal rests on something durable as well.
fn is_error_durable(world: &Environment, payment: u32, error: &ClaimError) -> bool {
    let key = wallet(payer(payment)).key();
    let shadow = world.reference.lock();
    let records = shadow
        .events
        .iter()
        .filter(|e| *e.subject == *key)
        .filter_map(|e| EventRecord::read(&e.subject, &e.payload).ok());
    let mut of_it = records
        .filter(|r| r.kind == EntityKind::Account as u8 && r.id == key)
        .filter_map(|r| codec::decode::<account::Event>(&r.event).ok());
    match error {
        ClaimError::Frozen { .. } => of_it.any(|e| matches!(e, account::Event::Frozen(_))),
        ClaimError::DailyCountCap { .. } | ClaimError::DailyAmountCap { .. } => {
            let mut most = (0, 0);
            let mut day = (0, 0, 0);
            for event in of_it {
                match event {
                    account::Event::CapReserved(share) | account::Event::CapReleased(share)
                        if share.cap_group != ProductLine::UsaCard => {}
                    account::Event::CapReserved(share) if share.day != day.0 => day = (share.day, 1, share.cents.get()),
                    account::Event::CapReserved(share) => day = (day.0, day.1 + 1, day.2 + share.cents.get()),
                    account::Event::CapReleased(share) if share.day == day.0 => {
                        day = (day.0, day.1 - 1, day.2 - share.cents.get());
                    }
                    _ => {}
                }
                most = (most.0.max(day.1), most.1.max(day.2));
            }
            let cap = world.plan.cap();
            match error {
                ClaimError::DailyCountCap { .. } => most.0 >= cap.count,
                _ => most.1 + amount(payment).get() > cap.sum.get(),
            }
        }
        _ => true,
    }
}
