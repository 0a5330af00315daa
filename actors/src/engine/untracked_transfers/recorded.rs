//! Transfers that have left the treasury, or may have, by our rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use purser_storage::{Store, StoreError, codec};

use super::rows::{for_each, for_each_row};
use crate::entity::top_up::{self, FirstLeg, LegKind, TopUp};
use crate::entity::withdrawal::{self, Withdrawal};
use crate::id::{OutgoingTransferId, TopUpId, TransferName, Wallet, WithdrawalId};
use crate::kernel::{EntityKind, table};
use crate::money::Usdc;
use crate::port::{AttributedTransfer, OutgoingTransfer, Timestamp};
use crate::reconciliation::{EntryAmount, EntryStatus, ListedEntry};

/// Purpose of an outgoing transfer.
#[derive(Clone, Debug)]
pub(in crate::engine) struct RecordedTransfer {
    pub(in crate::engine) subject: String,
    pub(in crate::engine) listed: ListedEntry,
}

/// An outgoing transfer by our rows.
#[derive(Clone, Debug)]
pub(in crate::engine) struct TransferRow {
    /// Name in our rows; empty while only its fingerprint is known.
    pub(in crate::engine) name: String,
    pub(in crate::engine) transfer: RecordedTransfer,
    /// Index in the transaction, if our rows know it.
    index: Option<u32>,
    pub(in crate::engine) fingerprint: Option<[u8; 32]>,
    /// Recipient, where our rows have it as the chain does.
    to: Option<Wallet>,
    amount: Usdc,
}

impl TransferRow {
    fn new(name: &str, transfer: RecordedTransfer, (to, amount): (Option<Wallet>, Usdc)) -> Self {
        Self {
            name: name.to_owned(),
            transfer,
            index: TransferName::parse(name).and_then(|name| name.index),
            fingerprint: None,
            to,
            amount,
        }
    }

    /// Whether the name has this transfer's transaction, and this index or none.
    fn names(&self, one: &OutgoingTransfer, index: Option<u32>) -> bool {
        self.index == index && TransferName::transaction_of(&self.name) == one.transaction
    }
}

/// All recorded transfers, by transaction and by what else a chain shows of them.
#[derive(Default)]
pub(in crate::engine) struct RecordedTransfers {
    by_transaction: HashMap<String, Vec<TransferRow>>,
    by_fingerprint: HashMap<[u8; 32], TransferRow>,
    /// Bridge transfers, by their burn.
    bridge_transfers: HashMap<String, RecordedTransfer>,
}

fn recorded_transfer(subject: impl ToString, status: EntryStatus, amount: Usdc, at: Timestamp) -> RecordedTransfer {
    RecordedTransfer {
        subject: subject.to_string(),
        listed: ListedEntry {
            status,
            amount: EntryAmount::Usdc(amount),
            at,
        },
    }
}

/// Outgoing transfer of a withdrawal.
pub(in crate::engine) fn from_withdrawal(id: WithdrawalId, withdrawal: &Withdrawal) -> Option<TransferRow> {
    let transaction = withdrawal.transaction()?;
    let left = recorded_transfer(id, EntryStatus::Completed, withdrawal.amount, withdrawal.updated_at);
    let row = TransferRow::new(transaction, left, (Some(withdrawal.to), withdrawal.amount));
    let fingerprint = withdrawal.fingerprint();
    Some(TransferRow { fingerprint, ..row })
}

/// Outgoing transfer of a top-up: its burn, or the transfer on Base. The mint is not from our treasury.
pub(in crate::engine) fn from_top_up(id: TopUpId, top_up: &TopUp) -> Option<TransferRow> {
    let leg = top_up.outgoing_leg()?;
    let left = recorded_transfer(id, EntryStatus::Completed, top_up.outgoing_amount, leg.at);
    let to = (leg.leg != LegKind::Burn).then_some(Wallet::Evm(top_up.address));
    let (row, fingerprint) = (
        TransferRow::new(&leg.transaction, left, (to, top_up.outgoing_amount)),
        leg.leg.fingerprint(),
    );
    Some(TransferRow { fingerprint, ..row })
}

/// Bridge transfer of a top-up, by its burn. It exists from the burn until the mint.
pub(in crate::engine) fn from_bridge(id: TopUpId, top_up: &TopUp) -> Option<(String, RecordedTransfer)> {
    use top_up::Status;
    let burned = || top_up.transaction(LegKind::Burn).map(str::to_owned);
    let (transaction, status) = match &top_up.status {
        Status::Paid(Some(first)) => match &**first {
            FirstLeg::Burn(burn) => (burn.transaction.clone(), EntryStatus::Pending),
            FirstLeg::Transfer(_) => return None,
        },
        Status::Paid(None) => return None,
        Status::Bridging(_) => (burned()?, EntryStatus::Held),
        Status::Delivered | Status::Credited => (burned()?, EntryStatus::Completed),
        Status::Failed { .. } => (burned()?, EntryStatus::Declined),
    };
    Some((
        transaction,
        recorded_transfer(id, status, top_up.delivered_amount(), top_up.updated_at),
    ))
}

/// Transfer that an operator has attributed.
pub(in crate::engine) fn from_attribution(booked: &AttributedTransfer) -> TransferRow {
    let transfer = &booked.transfer;
    let left = recorded_transfer(transfer.id(), EntryStatus::Completed, transfer.amount, transfer.at);
    let row = TransferRow::new(&transfer.key(), left, (Some(transfer.to), transfer.amount));
    let index = Some(transfer.index);
    TransferRow { index, ..row }
}

impl RecordedTransfers {
    pub(in crate::engine) async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut known = Self::default();
        let prefix = [table::ENTITY, EntityKind::Withdrawal as u8];
        for_each(store, &prefix, |id, withdrawal: Withdrawal| {
            let id = WithdrawalId(id);
            known.add(from_withdrawal(id, &withdrawal));
            if let withdrawal::Status::Sent(out) = &withdrawal.status {
                let sent = recorded_transfer(id, EntryStatus::Pending, withdrawal.amount, withdrawal.updated_at);
                let row = TransferRow::new("", sent, (Some(withdrawal.to), withdrawal.amount));
                known.add_signed(out.authorization.fingerprint(), row);
            }
        })
        .await?;
        for_each(store, &[table::ENTITY, EntityKind::TopUp as u8], |id, top_up: TopUp| {
            let id = TopUpId(id);
            known.add(from_top_up(id, &top_up));
            known.bridge_transfers.extend(from_bridge(id, &top_up));
            if let top_up::Status::Paid(Some(first)) = &top_up.status {
                let sent = |amount| recorded_transfer(id, EntryStatus::Pending, amount, top_up.updated_at);
                match &**first {
                    FirstLeg::Burn(burn) => {
                        let burned = TransferRow::new(&burn.transaction, sent(burn.burned), (None, burn.burned));
                        known.add(Some(burned));
                    }
                    FirstLeg::Transfer(out) => {
                        let amount = out.authorization.value();
                        let row = TransferRow::new("", sent(amount), (Some(Wallet::Evm(top_up.address)), amount));
                        known.add_signed(out.authorization.fingerprint(), row);
                    }
                }
            }
        })
        .await?;
        for_each_row(store, &[table::ATTRIBUTED_TRANSFER], |_, bytes| {
            known.add(Some(from_attribution(&codec::decode(bytes)?)));
            Ok(())
        })
        .await?;
        Ok(known)
    }

    fn add(&mut self, row: Option<TransferRow>) {
        let Some(row) = row else { return };
        let transaction = TransferName::transaction_of(&row.name).to_owned();
        // A reorg may have moved it to another transaction.
        self.by_fingerprint
            .extend(row.fingerprint.map(|fingerprint| (fingerprint, row.clone())));
        self.by_transaction.entry(transaction).or_default().push(row);
    }

    fn add_signed(&mut self, fingerprint: [u8; 32], row: TransferRow) {
        let row = TransferRow {
            fingerprint: Some(fingerprint),
            ..row
        };
        self.by_fingerprint.insert(fingerprint, row);
    }

    /// Matches all outgoing transfers of one transaction with rows. A row matches one transfer: by name, else by
    /// signature, else by amount and recipient. If the transaction has one transfer, the row always matches it.
    pub(in crate::engine) fn match_rows(&self, transfers: &[OutgoingTransfer]) -> Vec<Option<&TransferRow>> {
        type Fits = fn(&TransferRow, &OutgoingTransfer, bool) -> bool;
        const BY: [Fits; 4] = [
            |row, one, _| row.names(one, Some(one.index)),
            |row, one, _| row.fingerprint == Some(one.fingerprint) && row.amount == one.amount,
            |row, one, _| row.names(one, None) && row.amount == one.amount && row.to.is_none_or(|to| to == one.to),
            |row, one, sole| sole && (row.fingerprint == Some(one.fingerprint) || row.names(one, None)),
        ];
        let mut found = vec![None; transfers.len()];
        let Some(first) = transfers.first() else { return found };
        let mut rows: Vec<&TransferRow> = self
            .by_transaction
            .get(&first.transaction)
            .into_iter()
            .flatten()
            .collect();
        let fingerprints: BTreeSet<[u8; 32]> = transfers.iter().map(|one| one.fingerprint).collect();
        let signed = fingerprints
            .iter()
            .filter_map(|fingerprint| self.by_fingerprint.get(fingerprint));
        let signed: Vec<&TransferRow> = signed
            .filter(|row| rows.iter().all(|named| named.fingerprint != row.fingerprint))
            .collect();
        rows.extend(signed);
        let sole = transfers.len() == 1;
        for fits in BY {
            for (one, place) in transfers.iter().zip(&mut found) {
                if place.is_none()
                    && let Some(at) = rows.iter().position(|row| fits(row, one, sole))
                {
                    *place = Some(rows.remove(at));
                }
            }
        }
        found
    }

    /// The row of this subject, by the transaction in this name.
    pub(in crate::engine) fn find(&self, name: &str, subject: &str) -> Option<&TransferRow> {
        let rows = self.by_transaction.get(TransferName::transaction_of(name))?;
        rows.iter().find(|row| row.transfer.subject == subject)
    }

    /// Returns the transfers that have no row, of any transactions. All transfers of one transaction must be in the
    /// input.
    pub(in crate::engine) fn untracked(&self, transfers: Vec<OutgoingTransfer>) -> Vec<OutgoingTransfer> {
        let named = |one: &OutgoingTransfer| (one.to.network().name(), one.transaction.clone());
        let mut by_transaction: BTreeMap<_, Vec<OutgoingTransfer>> = BTreeMap::new();
        for one in &transfers {
            by_transaction.entry(named(one)).or_default().push(one.clone());
        }
        let mut open: BTreeSet<OutgoingTransferId> = BTreeSet::new();
        for all in by_transaction.values() {
            let explained = self.match_rows(all).into_iter();
            let nobodys = all.iter().zip(explained).filter(|(_, row)| row.is_none());
            open.extend(nobodys.map(|(one, _)| one.id()));
        }
        transfers.into_iter().filter(|one| open.contains(&one.id())).collect()
    }

    /// The bridge transfer with this burn.
    pub(in crate::engine) fn bridge_transfer(&self, transaction: &str) -> Option<&RecordedTransfer> {
        self.bridge_transfers.get(transaction)
    }
}
