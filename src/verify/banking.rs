//! Bank records of customers: snapshots agree with their events, unfinished work has its job, and each transfer has
//! moved what its status implies.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::account::CreditCause;
use purser_actors::entity::banking::account::{self, BankAccount};
use purser_actors::entity::banking::application::{self, BankingApplication};
use purser_actors::entity::banking::profile::{self, BankingProfile};
use purser_actors::entity::banking::transfer::{self, BankTransfer, TransferDirection};
use purser_actors::id::{BankAccountId, BankTransferId, Wallet};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::job::AnyJob;
use purser_actors::ledger::LedgerProvider;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::ledger::LedgerTotals;
use super::money_history::MoneyHistory;
use super::{StoreContents, VerifyReport};

/// A snapshot of any banking kind.
#[derive(Clone, Debug)]
pub(crate) struct BankingSnapshot {
    pub(crate) name: String,
    pub(crate) revision: u64,
    /// Status name in events.
    pub(crate) status: &'static str,
    /// Its records in the vault.
    pub(crate) sealed: Vec<u128>,
    /// The job that must be pending for it.
    expected_job: Option<AnyJob>,
    /// A transfer's direction, its amount in atomic USDC, and the returned part of it.
    transfer: Option<(TransferDirection, i128, i128)>,
}

impl BankingSnapshot {
    /// For kinds without vault records and money.
    pub(super) const fn new(name: String, revision: u64, status: &'static str) -> Self {
        Self {
            name,
            revision,
            status,
            sealed: Vec::new(),
            expected_job: None,
            transfer: None,
        }
    }

    /// What a transfer took from the balance, in atomic USDC.
    pub(super) fn taken(&self) -> Option<i128> {
        let (direction, amount, _) = self.transfer?;
        (direction == TransferDirection::ToAccount).then_some(amount)
    }

    /// With these records in the vault.
    pub(super) fn with_sealed(self, sealed: Vec<u128>) -> Self {
        Self { sealed, ..self }
    }
}

/// Of all wallets, by kind and key.
pub(crate) type BankingSnapshots = BTreeMap<(u8, Vec<u8>), BankingSnapshot>;

/// Reads a snapshot; `None` for another kind.
pub(super) fn read(kind: u8, id: &[u8], row: &Row) -> Option<Result<BankingSnapshot, DecodeError>> {
    let number = <[u8; 16]>::try_from(id).map(u128::from_be_bytes).unwrap_or(0);
    let wallet = Wallet::from_key(id);
    let name = wallet.map_or_else(|| hex::encode(id), |wallet| wallet.address());
    let kept = BankingSnapshot::new(name, row.revision, "open");
    if kind == EntityKind::BankingProfile as u8 {
        return Some(codec::decode(&row.value).map(|_: BankingProfile| kept));
    }
    if kind == EntityKind::BankingApplication as u8 {
        return Some(codec::decode(&row.value).map(|read: BankingApplication| application_snapshot(&read, kept)));
    }
    if kind == EntityKind::BankAccount as u8 {
        let name = BankAccountId(number).to_string();
        return Some(codec::decode(&row.value).map(|read: BankAccount| {
            BankingSnapshot {
                status: match read.status {
                    account::Status::Pending(_) => "pending",
                    account::Status::Open(_) => "open",
                    account::Status::Rejected(_) => "rejected",
                },
                expected_job: matches!(read.status, account::Status::Pending(_))
                    .then(|| account::Job::OpenBankAccount(BankAccountId(number)).into()),
                name,
                ..kept
            }
        }));
    }
    (kind == EntityKind::BankTransfer as u8).then(|| {
        codec::decode(&row.value).map(|read: BankTransfer| BankingSnapshot {
            name: BankTransferId(number).to_string(),
            status: match read.status {
                transfer::Status::Pending(_) => "pending",
                transfer::Status::Complete(_) => "complete",
                transfer::Status::Failed(_) => "failed",
                transfer::Status::Returned(_) => "returned",
            },
            expected_job: matches!(read.status, transfer::Status::Pending(_))
                .then(|| transfer::Job::ExecuteBankTransfer(BankTransferId(number)).into()),
            transfer: Some((
                read.direction,
                i128::from(read.cents.get()) * 10_000,
                match &read.status {
                    transfer::Status::Returned(back) => i128::from(back.amount.atomic()),
                    _ => 0,
                },
            )),
            ..kept
        })
    })
}

fn application_snapshot(read: &BankingApplication, kept: BankingSnapshot) -> BankingSnapshot {
    let tax = read.tax_last4.as_ref().map(|_| read.id.0);
    BankingSnapshot {
        status: match read.status {
            application::Status::Incomplete => "incomplete",
            application::Status::Submitted(_) => "submitted",
            application::Status::Approved(_) => "approved",
            application::Status::Rejected(_) => "rejected",
        },
        sealed: tax
            .into_iter()
            .chain(read.documents.iter().map(|paper| paper.id.0))
            .collect(),
        expected_job: matches!(read.status, application::Status::Submitted(_))
            .then(|| application::Job::SubmitBankApplication(read.owner).into()),
        ..kept
    }
}

/// The status after an event: the inner `None` leaves it unchanged. The outer `None` means another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    if kind == EntityKind::BankingProfile as u8 {
        return Some(codec::decode(event).map(|profile::Event::Created(_)| Some("open")));
    }
    if kind == EntityKind::BankingApplication as u8 {
        use application::Event;
        return Some(codec::decode(event).map(|event| {
            Some(match event {
                Event::Opened(_) | Event::Updated(..) | Event::DocumentAdded(_) | Event::InformationRequested(..) => {
                    "incomplete"
                }
                Event::Submitted(..) => "submitted",
                Event::Approved(..) => "approved",
                Event::Rejected(..) => "rejected",
            })
        }));
    }
    if kind == EntityKind::BankAccount as u8 {
        return Some(codec::decode(event).map(|event| {
            Some(match event {
                account::Event::Requested(_) => "pending",
                account::Event::Opened(..) => "open",
                account::Event::Rejected(..) => "rejected",
            })
        }));
    }
    (kind == EntityKind::BankTransfer as u8).then(|| {
        codec::decode(event).map(|event| {
            Some(match event {
                transfer::Event::Started(begun) if begun.direction == TransferDirection::Incoming => "complete",
                transfer::Event::Started(_) => "pending",
                transfer::Event::Completed(..) => "complete",
                transfer::Event::Failed(..) => "failed",
                transfer::Event::Returned(..) => "returned",
            })
        })
    })
}

/// Checks jobs and money.
pub(super) fn check(contents: &StoreContents, history: &MoneyHistory, books: &LedgerTotals, report: &mut VerifyReport) {
    let at_work: BTreeSet<&AnyJob> = contents.jobs.iter().map(|e| &e.job).collect();
    let crediting: BTreeSet<String> = contents
        .jobs
        .iter()
        .filter_map(|outbox_job| match outbox_job.job.typed()? {
            purser_actors::entity::account::Job::CreditAccount {
                cause: CreditCause::BankTransfer(id),
                ..
            } => Some(id.to_string()),
            _ => None,
        })
        .collect();
    for kept in contents.banking.values() {
        if kept.expected_job.as_ref().is_some_and(|work| !at_work.contains(work)) {
            report.report(
                "banking.job_missing",
                &kept.name,
                format!("{}, and nothing is at work", kept.status),
            );
        }
        let Some((way, amount, back)) = kept.transfer else {
            continue;
        };
        // What the bank owes us for it, negative where we owe the bank; and the customer's part.
        let (owed, holder) = match (way, kept.status) {
            (TransferDirection::Incoming, _) | (TransferDirection::ToBalance, "complete") => (-amount, amount),
            (TransferDirection::ToAccount, "pending" | "complete") => (amount, -amount),
            (TransferDirection::ToAccount, "returned") => (amount - back, back - amount),
            _ => (0, 0),
        };
        let due = if kept.status == "returned" { back } else { amount };
        let waiting = if crediting.contains(&kept.name) { due } else { 0 };
        let booked = books.credited.get(&kept.name).copied().unwrap_or(0);
        if booked != holder - waiting {
            let detail = format!(
                "{}: {booked} with its holder, expected {}",
                kept.status,
                holder - waiting
            );
            report.report("banking.customer_balance_mismatch", &kept.name, detail);
        }
        if history.complete && history.net_amount(&kept.name) != booked {
            report.report("banking.ledger_mismatch", &kept.name, "ledger and events differ");
        }
        let owing = books
            .owed
            .get(&kept.name)
            .and_then(|owed| owed.get(&LedgerProvider::Banking));
        let owing = owing.copied().unwrap_or(0);
        if owing != owed {
            let detail = format!("{}: {owing} owed to the bank, expected {owed}", kept.status);
            report.report("banking.payable_mismatch", &kept.name, detail);
        }
    }
}
