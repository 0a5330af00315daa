//! Identity verifications, issuer links, and the rows that purchases require. The rows must be present exactly while
//! the person's verification or link is valid.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::identity_verification::{self, IdentityVerification};
use purser_actors::entity::issuer_link::{self, IssuerLink};
use purser_actors::id::{JobId, Wallet};
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::{StoreContents, VerifyReport, each_row, take};

#[derive(Default)]
pub(crate) struct IdentityRecords {
    pub(crate) identities: BTreeMap<Wallet, (IdentityVerification, u64)>,
    pub(crate) links: BTreeMap<Wallet, (IssuerLink, u64)>,
    verified: BTreeSet<Wallet>,
    linked: BTreeMap<Wallet, Vec<u8>>,
}

impl IdentityRecords {
    /// Number of entities.
    pub(crate) fn len(&self) -> usize {
        self.identities.len() + self.links.len()
    }

    /// Reads a snapshot; `None` for another kind.
    pub(super) fn read(&mut self, kind: u8, id: &[u8], row: &Row, report: &mut VerifyReport) -> Option<()> {
        let of = [EntityKind::Identity, EntityKind::IssuerLink]
            .into_iter()
            .find(|of| *of as u8 == kind)?;
        let Some(wallet) = Wallet::from_key(id) else {
            report.report("snapshot.corrupt", hex::encode(id), "not a wallet");
            return Some(());
        };
        if of == EntityKind::Identity {
            take(row, &wallet.address(), report).map(|read| self.identities.insert(wallet, read));
        } else {
            take(row, &wallet.address(), report).map(|read| self.links.insert(wallet, read));
        }
        Some(())
    }

    /// Reads the rows that purchases require.
    pub(super) async fn read_rows(&mut self, store: &dyn Store, report: &mut VerifyReport) -> Result<(), StoreError> {
        each_row(store, &[table::VERIFIED], |key, _| match Wallet::from_key(&key[1..]) {
            Some(wallet) => drop(self.verified.insert(wallet)),
            None => report.report("identity.index_corrupt", hex::encode(key), "not a wallet"),
        })
        .await?;
        each_row(store, &[table::ISSUER_LINKED], |key, row| {
            match Wallet::from_key(&key[1..]) {
                Some(wallet) => drop(self.linked.insert(wallet, row.value.to_vec())),
                None => report.report("issuer_link.index_corrupt", hex::encode(key), "not a wallet"),
            }
        })
        .await
    }
}

/// The status after an event that sets one; `None` for another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    if kind == EntityKind::Identity as u8 {
        return Some(codec::decode(event).map(|event| match event {
            identity_verification::Event::Requested { .. } => Some("in-review"),
            identity_verification::Event::Started(..) => None,
            identity_verification::Event::Verified(_) => Some("verified"),
            identity_verification::Event::Rejected(..) => Some("rejected"),
        }));
    }
    (kind == EntityKind::IssuerLink as u8).then(|| {
        codec::decode(event).map(|event| match event {
            issuer_link::Event::Linked(..) => Some("linked"),
            issuer_link::Event::Requested { .. }
            | issuer_link::Event::Declined(..)
            | issuer_link::Event::Unlinked(_) => Some("unlinked"),
        })
    })
}

/// The status of a snapshot by this file's rules.
pub(super) const fn identity_status(identity: &IdentityVerification) -> &'static str {
    match identity.status {
        identity_verification::Status::InReview { .. } => "in-review",
        identity_verification::Status::Verified { .. } => "verified",
        identity_verification::Status::Rejected { .. } => "rejected",
    }
}

/// The status of a link by this file's rules.
pub(super) const fn link_status(link: &IssuerLink) -> &'static str {
    match link.status {
        issuer_link::Status::Unlinked { .. } => "unlinked",
        issuer_link::Status::Linked { .. } => "linked",
    }
}

/// Compares rows with entities, and pending jobs with both.
pub(super) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    let people = &contents.identity;
    let is_verified = |(identity, _): &(IdentityVerification, u64)| identity_status(identity) == "verified";
    for (wallet, identity) in &people.identities {
        if is_verified(identity) && !people.verified.contains(wallet) {
            report.report("identity.index_missing", wallet, "verified, and no row says so");
        }
    }
    for wallet in &people.verified {
        if !people.identities.get(wallet).is_some_and(is_verified) {
            report.report(
                "identity.index_unexpected",
                wallet,
                "a row says verified, and the identity is not",
            );
        }
    }
    let address = |(link, _): &(IssuerLink, u64)| match &link.status {
        issuer_link::Status::Linked { deposit_address } => Some(*deposit_address),
        issuer_link::Status::Unlinked { .. } => None,
    };
    for (wallet, link) in &people.links {
        match (address(link), people.linked.get(wallet)) {
            (Some(_), None) => report.report("issuer_link.index_missing", wallet, "linked, and no row says so"),
            (Some(address), Some(row)) if *row != address => {
                report.report(
                    "issuer_link.address_mismatch",
                    wallet,
                    "the row has another deposit address",
                );
            }
            _ => {}
        }
    }
    for wallet in people.linked.keys() {
        if people.links.get(wallet).and_then(address).is_none() {
            report.report(
                "issuer_link.index_unexpected",
                wallet,
                "a row says linked, and the link is not",
            );
        }
    }
    check_jobs(contents, report);
}

/// Everything in progress has exactly one job, and no job exists for anything else.
fn check_jobs(contents: &StoreContents, report: &mut VerifyReport) {
    let people = &contents.identity;
    let mut open: BTreeMap<(JobId, Wallet), &'static str> = BTreeMap::new();
    for effect in &contents.jobs {
        if let Some(identity_verification::Job::CheckIdentity(wallet)) = effect.job.typed() {
            open.insert((effect.id, wallet), "identity");
        } else if let Some(issuer_link::Job::OpenIssuerAccount(wallet)) = effect.job.typed() {
            open.insert((effect.id, wallet), "link");
        }
    }
    let checks = people
        .identities
        .iter()
        .filter_map(|(wallet, (identity, _))| match identity.status {
            identity_verification::Status::InReview { check, .. } => Some(((check, *wallet), "identity")),
            _ => None,
        });
    let openings = people.links.iter().filter_map(|(wallet, (link, _))| match link.status {
        issuer_link::Status::Unlinked {
            pending_job: Some(opening),
            ..
        } => Some(((opening, *wallet), "link")),
        _ => None,
    });
    for (under_way, what) in checks.chain(openings) {
        if open.remove(&under_way) != Some(what) {
            report.report(
                "customer.job_missing",
                under_way.1,
                format!("its {what} is in progress, and there is no job"),
            );
        }
    }
    for ((_, wallet), what) in open {
        report.report(
            "customer.job_unexpected",
            wallet,
            format!("there is a job for its {what}, which is not in progress"),
        );
    }
}
