//! Entities of which only the state is held against what the events say.

use purser_actors::kernel::Kind;

use super::super::{Contents, differences, incoming, late_returns, program, refunds};
use super::Snapshots;

impl Snapshots<'_> {
    pub(super) fn saved(&mut self, contents: &Contents) {
        for ((kind, id), saved) in &contents.saved {
            let (key, subject) = (id.to_be_bytes(), &saved.name);
            self.hold(*kind, &key, subject, saved.revision, saved.status, "", |_| {
                String::new()
            });
        }
    }

    pub(super) fn bank(&mut self, contents: &Contents) {
        for ((kind, key), kept) in &contents.bank {
            self.hold(*kind, key, &kept.name, kept.revision, kept.status, "", |_| {
                String::new()
            });
        }
    }

    pub(super) fn late_returns(&mut self, contents: &Contents) {
        for (id, (late, revision)) in &contents.late_returns {
            let (kind, status) = (Kind::LateReturn as u8, late_returns::name_of(late.status));
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.hold(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }

    pub(super) fn differences(&mut self, contents: &Contents) {
        for (id, (difference, revision)) in &contents.differences.all {
            let (kind, status) = (Kind::Difference as u8, differences::name_of(difference.status));
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.hold(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }

    pub(super) fn refunds(&mut self, contents: &Contents) {
        for (id, (refund, revision)) in &contents.refunds.all {
            let (kind, status) = (Kind::Refund as u8, refunds::name_of(refund.status));
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.hold(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }

    pub(super) fn arrivals(&mut self, contents: &Contents) {
        for (id, (incoming, revision)) in &contents.arrivals.all {
            let (kind, status) = (Kind::Incoming as u8, incoming::name_of(incoming.status));
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.hold(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }

    pub(super) fn program(&mut self, contents: &Contents) {
        for (id, (card, revision)) in &contents.program.cards {
            let (key, name, status) = (id.0.to_be_bytes(), id.to_string(), program::card_status(card));
            let kind = Kind::Reloadable as u8;
            self.hold(kind, &key, &name, *revision, status, "", |_| String::new());
        }
        for (id, (asked, revision)) in &contents.program.withdrawals {
            let (key, name, status) = (id.0.to_be_bytes(), id.to_string(), program::withdrawal_status(asked));
            let kind = Kind::CardWithdrawal as u8;
            self.hold(kind, &key, &name, *revision, status, "", |_| String::new());
        }
    }
}
