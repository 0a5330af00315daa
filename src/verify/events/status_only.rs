//! Entities of which only the status is compared with the events.

use purser_actors::kernel::EntityKind;

use super::super::{StoreContents, discrepancies, incoming, late_returns, refunds, reloadable_cards};
use super::Snapshots;

impl Snapshots<'_> {
    pub(super) fn payees(&mut self, contents: &StoreContents) {
        for ((kind, id), saved) in &contents.payees {
            let (key, subject) = (id.to_be_bytes(), &saved.name);
            self.compare_entity(*kind, &key, subject, saved.revision, saved.status, "", |_| {
                String::new()
            });
        }
    }

    pub(super) fn banking(&mut self, contents: &StoreContents) {
        for ((kind, key), kept) in &contents.banking {
            self.compare_entity(*kind, key, &kept.name, kept.revision, kept.status, "", |_| {
                String::new()
            });
        }
    }

    pub(super) fn late_returns(&mut self, contents: &StoreContents) {
        for (id, (late, revision)) in &contents.late_returns {
            let (kind, status) = (EntityKind::LateReturn as u8, late_returns::name_of(late.status));
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.compare_entity(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }

    pub(super) fn discrepancies(&mut self, contents: &StoreContents) {
        for (id, (discrepancy, revision)) in &contents.discrepancies.all {
            let (kind, status) = (
                EntityKind::Discrepancy as u8,
                discrepancies::name_of(discrepancy.status),
            );
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.compare_entity(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }

    pub(super) fn refunds(&mut self, contents: &StoreContents) {
        for (id, (refund, revision)) in &contents.refunds.all {
            let (kind, status) = (EntityKind::Refund as u8, refunds::name_of(refund.status));
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.compare_entity(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }

    pub(super) fn incoming(&mut self, contents: &StoreContents) {
        for (id, (incoming, revision)) in &contents.incoming.all {
            let (kind, status) = (EntityKind::Incoming as u8, incoming::name_of(incoming.status));
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.compare_entity(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }

    pub(super) fn reloadable_cards(&mut self, contents: &StoreContents) {
        for (id, (card, revision)) in &contents.reloadable_cards.cards {
            let (key, name, status) = (id.0.to_be_bytes(), id.to_string(), reloadable_cards::card_status(card));
            let kind = EntityKind::ReloadableCard as u8;
            self.compare_entity(kind, &key, &name, *revision, status, "", |_| String::new());
        }
        for (id, (asked, revision)) in &contents.reloadable_cards.withdrawals {
            let (key, name, status) = (
                id.0.to_be_bytes(),
                id.to_string(),
                reloadable_cards::withdrawal_status(asked),
            );
            let kind = EntityKind::CardWithdrawal as u8;
            self.compare_entity(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }
}
