//! What must be true when the card issuer is asked for something.

use purser_actors::entity::card_withdrawal::{CardWithdrawal, Status};
use purser_actors::entity::reloadable_card::{self, ReloadableCard};
use purser_actors::kernel::EntityKind;

use super::ledger::reference;
use super::{IssuerRequest, SimReloadableCards};
use crate::account_steps::durable;

impl SimReloadableCards {
    /// Nothing is asked for that is not durably wanted; a key is for one errand, and an errand has one key.
    pub(super) fn check_request(&self, errand: &IssuerRequest) {
        let world = &self.0;
        let mut issuer = world.issuer.lock();
        let first = match errand {
            IssuerRequest::SettleHold(..) => errand.clone(),
            _ => issuer
                .requests
                .entry(errand.key())
                .or_insert_with(|| errand.clone())
                .clone(),
        };
        let same = |other: &&IssuerRequest| match (other, errand) {
            (IssuerRequest::Open(other), IssuerRequest::Open(order)) => other.card == order.card,
            (IssuerRequest::CreateHold(other), IssuerRequest::CreateHold(order)) => {
                other.withdrawal == order.withdrawal
            }
            _ => false,
        };
        let keys = issuer.requests.values().filter(same).count();
        drop(issuer);
        if first != *errand || keys > 1 {
            world.report_violation(
                "program.keys",
                format!("{errand:?} is not {first:?}, or has {keys} keys"),
            );
        }
        if !self.is_durably_requested(errand) {
            world.report_violation("program.early", format!("{errand:?} is not durably wanted"));
        }
    }

    fn is_durably_requested(&self, errand: &IssuerRequest) -> bool {
        let world = &self.0;
        let card = |id: purser_actors::id::CardId| {
            durable::<ReloadableCard>(world, EntityKind::ReloadableCard, &id.0.to_be_bytes())
        };
        match errand {
            IssuerRequest::Open(order) => card(order.card).is_some_and(|card| {
                let asked = (card.account, card.amount, card.reusable);
                asked == (order.account, order.amount, order.reusable)
                    // A try that has been overtaken by the word of an older one may still be on its way.
                    && !matches!(card.status, reloadable_card::Status::Failed { .. })
            }),
            IssuerRequest::CardAction(order) => card(order.card).is_some_and(|card| {
                let known = world.issuer.lock().state_changes.contains_key(&order.key);
                order.issuer_ref == reference(order.card) && (known || card.pending_action == Some(order.action))
            }),
            IssuerRequest::CreateHold(order) => {
                let asked: Option<CardWithdrawal> =
                    durable(world, EntityKind::CardWithdrawal, &order.withdrawal.0.to_be_bytes());
                asked.is_some_and(|asked| {
                    let same = (asked.account, asked.amount) == (order.account, order.amount);
                    same && !matches!(asked.status, Status::Failed { .. })
                })
            }
            IssuerRequest::SettleHold(key, paid) => {
                let Some((order, _)) = world.issuer.lock().holds.get(key).cloned() else {
                    return false;
                };
                let asked: Option<CardWithdrawal> =
                    durable(world, EntityKind::CardWithdrawal, &order.withdrawal.0.to_be_bytes());
                asked.is_some_and(|asked| {
                    let ended = match asked.status {
                        Status::Complete { .. } => *paid,
                        Status::Rejected { .. } => !*paid,
                        _ => false,
                    };
                    asked.hold_key == Some(*key) && ended
                })
            }
        }
    }
}
