//! Spend approvals. An open one has a slot of its owner and is found by its spend. One that was approved can be used, or
//! its spend is there: an approval pays for one spend, and for the one that the owner saw.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::entity::spend_approval::{self, SpendAct, SpendApproval, SpendPayee, SpendTerms, SpendUse, Status};
use purser_actors::id::SpendApprovalId;
use purser_actors::kernel::{EntityKind, table};
use purser_actors::money::Usdc;
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::banking::BankingSnapshot;
use super::products::SoldProduct;
use super::{StoreContents, VerifyReport, each_row};

#[derive(Default)]
pub(crate) struct SpendApprovals {
    approvals: BTreeMap<SpendApprovalId, SpendApproval>,
    /// Approvals that are found by their spend, each with the row's key.
    requested: BTreeMap<SpendApprovalId, Vec<u8>>,
    /// Approvals in slots, each with the digest of the owner.
    slots: Vec<(u128, SpendApprovalId)>,
    /// Approvals that a spend can use.
    usable: BTreeSet<SpendApprovalId>,
}

const fn name_of(status: &Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Approved => "approved",
        Status::Declined | Status::DeclinedEnded | Status::AgentEnded => "declined",
        Status::Expired => "expired",
        Status::Used(_) => "used",
    }
}

fn number(bytes: Option<&[u8; 16]>) -> u128 {
    bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

impl SpendApprovals {
    /// Reads a snapshot; `None` for another kind.
    pub(super) fn read(&mut self, kind: u8, id: &[u8], row: &Row) -> Option<Result<BankingSnapshot, DecodeError>> {
        (kind == EntityKind::SpendApproval as u8).then(|| {
            codec::decode(&row.value).map(|approval: SpendApproval| {
                let id = SpendApprovalId(number(id.first_chunk()));
                let (name, status) = (id.to_string(), name_of(&approval.status));
                self.approvals.insert(id, approval);
                BankingSnapshot::new(name, row.revision, status)
            })
        })
    }

    /// Reads the rows by which approvals are found and used.
    pub(super) async fn read_rows(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        each_row(store, &[table::REQUESTED_SPEND], |key, row| {
            let id = SpendApprovalId(number(row.value.first_chunk()));
            self.requested.insert(id, key.to_vec());
        })
        .await?;
        each_row(store, &[table::SPEND_APPROVAL_SLOT], |key, row| {
            let owner = number(key.get(1..17).and_then(<[u8]>::first_chunk));
            self.slots
                .push((owner, SpendApprovalId(number(row.value.first_chunk()))));
        })
        .await?;
        each_row(store, &[table::APPROVED_SPEND], |key, _| {
            let id = number(key.get(1..17).and_then(<[u8]>::first_chunk));
            self.usable.insert(SpendApprovalId(id));
        })
        .await
    }
}

/// The status after an event: the inner `None` leaves it unchanged. The outer `None` means another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::SpendApproval as u8).then(|| {
        codec::decode(event).map(|event| match event {
            spend_approval::Event::Requested(..) => Some("pending"),
            spend_approval::Event::Approved(_) => Some("approved"),
            spend_approval::Event::Declined(_) | spend_approval::Event::AgentEnded(_) => Some("declined"),
            spend_approval::Event::Expired(_) => Some("expired"),
            spend_approval::Event::Used(..) => Some("used"),
            spend_approval::Event::DeclineEnded(_) => None,
        })
    })
}

/// Whether the spend is there, and is the one that the owner saw.
fn is_for(approval: &SpendApproval, spend: SpendUse, contents: &StoreContents) -> bool {
    let SpendTerms { payee, amount, act, .. } = &approval.terms;
    let (owner, amount) = (approval.owner, *amount);
    match spend {
        SpendUse::WalletPayment(id) => contents.agent_wallets.payment(id).is_some_and(|made| {
            let order = &made.order;
            (made.owner, order.amount) == (owner, amount)
                && *payee == SpendPayee::Wallet(order.to)
                && *act == SpendAct::from(&order.method)
        }),
        SpendUse::Withdrawal(id) => contents.withdrawals.get(&id).is_some_and(|(made, _)| {
            (made.owner, made.amount) == (owner, amount)
                && *payee == SpendPayee::Wallet(made.to)
                && *act == SpendAct::Withdrawal
        }),
        SpendUse::CardBalanceWithdrawal(id) => {
            contents.reloadable_cards.withdrawals.get(&id).is_some_and(|(made, _)| {
                (made.owner, Usdc::from_cents(made.amount)) == (owner, Ok(amount))
                    && *payee == SpendPayee::Wallet(made.to)
                    && *act == SpendAct::CardBalanceWithdrawal
            })
        }
        SpendUse::BankTransfer(id) => {
            let made = contents
                .banking
                .get(&(EntityKind::BankTransfer as u8, id.0.to_be_bytes().to_vec()));
            made.and_then(BankingSnapshot::taken) == Some(i128::from(amount.atomic())) && *act == SpendAct::BankTransfer
        }
        SpendUse::BankPayout(id) => {
            let made = contents.sold.get(&(EntityKind::Payout as u8, id.0));
            let is_same = |made: &SoldProduct| (made.owner, made.charge.charged) == (owner, amount);
            made.is_some_and(is_same) && *act == SpendAct::BankPayout
        }
    }
}

/// Compares approvals with the rows that find and use them, and with the spends.
pub(super) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    let SpendApprovals {
        approvals,
        requested,
        slots,
        usable,
    } = &contents.spend_approvals;
    // Uses that the approval has not recorded yet.
    let mut recording: BTreeMap<SpendApprovalId, SpendUse> = BTreeMap::new();
    for outbox_job in &contents.jobs {
        if let Some(spend_approval::Job::RecordSpendApprovalUse { approval, used_by }) = outbox_job.job.typed()
            && recording.insert(approval, used_by).is_some()
        {
            report.report("approval.used_twice", approval, "two spends used it");
        }
    }
    for (id, approval) in approvals {
        let is_open = matches!(approval.status, Status::Pending | Status::Approved);
        let status = name_of(&approval.status);
        let places = slots
            .iter()
            .filter(|slot| **slot == (approval.owner.digest(), *id))
            .count();
        if places != usize::from(is_open) {
            report.report(
                "approval.slot_mismatch",
                id,
                format!("{status}, and it has {places} slots"),
            );
        }
        let is_found = requested
            .get(id)
            .is_some_and(|key| **key == *table::requested_spend(&approval.owner, &approval.terms.fingerprint()));
        if is_found != (is_open || approval.status == Status::Declined) {
            report.report(
                "approval.row_mismatch",
                id,
                format!("{status}, and its spend finds it: {is_found}"),
            );
        }
        let is_waiting = approval.status == Status::Approved && !recording.contains_key(id);
        if usable.contains(id) != is_waiting {
            report.report(
                "approval.use_mismatch",
                id,
                format!("{status}, and it can be used: {}", usable.contains(id)),
            );
        }
        let spend = match approval.status {
            Status::Used(used_by) => Some(used_by),
            _ => recording.get(id).copied(),
        };
        if let Some(spend) = spend
            && !is_for(approval, spend, contents)
        {
            report.report(
                "approval.spend_mismatch",
                id,
                format!("{spend} is not the spend that was approved"),
            );
        }
    }
    let mut spends: Vec<SpendUse> = approvals
        .values()
        .filter_map(|approval| match approval.status {
            Status::Used(used_by) => Some(used_by),
            _ => None,
        })
        .chain(recording.values().copied())
        .collect();
    spends.sort_unstable();
    for pair in spends.windows(2) {
        if let [one, other] = pair
            && one == other
        {
            report.report("approval.spend_mismatch", one, "two approvals name it");
        }
    }
    let named = requested.keys().chain(slots.iter().map(|(_, id)| id)).chain(usable);
    let missing: BTreeSet<SpendApprovalId> = named
        .chain(recording.keys())
        .filter(|id| !approvals.contains_key(id))
        .copied()
        .collect();
    for id in missing {
        report.report("approval.missing", id, "a row or a job names it, and it does not exist");
    }
}
