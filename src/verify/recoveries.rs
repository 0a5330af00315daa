//! Recoveries of accounts: one in progress has its row and its timer, each waited for a day, and a completed one has left
//! no passkey from before.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::recovery::{self, Recovery, Status};
use purser_actors::id::Wallet;
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::banking::BankingSnapshot;
use super::{StoreContents, VerifyReport, each_row};

/// The wait, in milliseconds.
const DAY_MS: u64 = 86_400_000;

#[derive(Default)]
pub(crate) struct Recoveries {
    recoveries: BTreeMap<Wallet, Recovery>,
    /// Keys of the rows of those in progress.
    open: BTreeSet<Vec<u8>>,
}

const fn name_of(status: Status) -> &'static str {
    match status {
        Status::Waiting => "waiting",
        Status::Ready => "ready",
        Status::Completed => "completed",
        Status::Cancelled => "cancelled",
        Status::Expired => "expired",
    }
}

impl Recoveries {
    /// Reads a snapshot; `None` for another kind.
    pub(super) fn read(&mut self, kind: u8, id: &[u8], row: &Row) -> Option<Result<BankingSnapshot, DecodeError>> {
        (kind == EntityKind::Recovery as u8).then(|| {
            codec::decode(&row.value).map(|recovery: Recovery| {
                let status = name_of(recovery.status);
                let name = Wallet::from_key(id).map_or_else(|| hex::encode(id), |wallet| wallet.address());
                self.recoveries.insert(recovery.owner, recovery);
                BankingSnapshot::new(name, row.revision, status)
            })
        })
    }

    /// Reads the rows of those in progress.
    pub(super) async fn read_rows(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        each_row(store, &[table::OPEN_RECOVERY], |key, _| {
            self.open.insert(key.to_vec());
        })
        .await
    }

    pub(super) fn len(&self) -> usize {
        self.recoveries.len()
    }
}

/// The status after an event. The outer `None` means another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::Recovery as u8).then(|| {
        codec::decode(event).map(|event| {
            Some(match event {
                recovery::Event::Requested(_) => "waiting",
                recovery::Event::Ready(_) => "ready",
                recovery::Event::Completed(_) => "completed",
                recovery::Event::Cancelled(..) => "cancelled",
                recovery::Event::Expired(_) => "expired",
            })
        })
    })
}

/// Compares recoveries with their rows, their timers and the account's passkeys.
pub(super) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    let Recoveries { recoveries, open } = &contents.recoveries;
    let (mut timed, mut removing) = (BTreeSet::new(), BTreeSet::new());
    for outbox_job in &contents.jobs {
        match outbox_job.job.typed() {
            Some(recovery::Job::ContinueRecovery(account)) => drop(timed.insert(account)),
            Some(recovery::Job::RemoveLostPasskeys { account, .. }) => drop(removing.insert(account)),
            None => {}
        }
    }
    let mut rows = open.clone();
    for (account, recovery) in recoveries {
        let is_open = matches!(recovery.status, Status::Waiting | Status::Ready);
        let name = account.address();
        if rows.remove(&*table::open_recovery(account)) != is_open {
            report.report("recovery.row_mismatch", &name, name_of(recovery.status));
        }
        if is_open && !timed.contains(account) {
            report.report("recovery.timer_missing", &name, "it is in progress and nothing ends it");
        }
        let waited = recovery.ready_at.0.checked_sub(recovery.requested_at.0);
        let is_early = recovery.ended_at.is_some_and(|at| at < recovery.ready_at);
        if waited != Some(DAY_MS) || (recovery.status == Status::Completed && is_early) {
            report.report("recovery.wait_mismatch", &name, "it did not wait for a day");
        }
        let (Status::Completed, Some(at)) = (recovery.status, recovery.ended_at) else {
            continue;
        };
        if !removing.contains(account) && contents.passkeys.has_older(account, at) {
            report.report(
                "recovery.passkey_left",
                &name,
                "it is completed, and a passkey from before is active",
            );
        }
    }
    for stray in rows {
        report.report("recovery.row_unexpected", hex::encode(stray), "it leads to no recovery");
    }
}
