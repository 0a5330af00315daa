//! Our entries for transfers on chain.

use purser_storage::{Store, StoreError};

use super::{InternalEntry, from_incoming_transfer, from_payment, read, transfer_entry};
use crate::engine::incoming::{SettlementMatch, match_settlement};
use crate::engine::untracked_transfers::recorded::{RecordedTransfers, TransferRow};
use crate::entity::incoming::{Incoming, Transfer};
use crate::entity::payment::{self, Payment};
use crate::id::{DepositId, Network, TransferName};
use crate::kernel::{EntityKind, table};
use crate::port::{ChainMovement, OutgoingTransfer, claim_key};
use crate::reconciliation::{EntryAmount, EntryKind, EntryStatus, ListedEntry, ReconciliationSource};

/// What a transfer to our treasury paid for, or the account it was credited to. A payment that was declined or never
/// sent does not expect the transfer.
pub(in crate::engine::reconciler) async fn deposit_entry(
    store: &dyn Store,
    network: Network,
    moved: &ChainMovement,
    secret: &[u8; 32],
) -> Result<Option<InternalEntry>, StoreError> {
    let claim = claim_key(&moved.counterparty, &moved.fingerprint);
    let id = payment::id_for_claim(&moved.counterparty, &claim, secret);
    let payment: Option<Payment> = read(store, &table::entity(EntityKind::Payment, &id.0.to_be_bytes())).await?;
    let under_way = |payment: &Payment| {
        let status = match payment.status {
            payment::Status::Released | payment::Status::DeclinedUnsent(_) | payment::Status::Refused(_) => {
                EntryStatus::NotSubmitted
            }
            _ => EntryStatus::Pending,
        };
        InternalEntry {
            source: ReconciliationSource::for_network(network),
            entry_kind: EntryKind::Deposit,
            key: moved.key(),
            fingerprint: Some(moved.fingerprint),
            payer: Some(moved.counterparty),
            subject: id.to_string(),
            listed: ListedEntry {
                status,
                amount: EntryAmount::Usdc(payment.price()),
                at: payment.updated_at,
            },
        }
    };
    let of_its_own = DepositId::for_transfer(network, &moved.transaction, moved.index);
    let incoming: Option<Incoming> =
        read(store, &table::entity(EntityKind::Incoming, &of_its_own.0.to_be_bytes())).await?;
    if let Some(taken) = incoming.as_ref().and_then(from_incoming_transfer) {
        return Ok(Some(taken));
    }
    let transfer = Transfer::from_movement(network, moved, id);
    // A transfer other than the payment's own is unclaimed. On Base each has its own fingerprint.
    let own = |payment: &Payment| {
        network == Network::Base
            || moved.index == 0
            || match_settlement(payment, &transfer) != SettlementMatch::Unrelated
    };
    let payment = payment.filter(own);
    let bought = payment.as_ref().and_then(|payment| from_payment(id, payment));
    Ok(bought.or_else(|| payment.as_ref().map(under_way)))
}

/// Purpose of one of the outgoing transfers in a transaction.
pub(in crate::engine::reconciler) fn outgoing_transfer(
    network: Network,
    (all, index): (&[OutgoingTransfer], u32),
    known: &RecordedTransfers,
) -> Option<InternalEntry> {
    let mut explained = all.iter().zip(known.match_rows(all));
    let (one, row) = explained.find(|(one, _)| one.index == index)?;
    let ours = transfer_entry(network, row?.clone());
    Some(InternalEntry { key: one.key(), ..ours })
}

/// Index of the outgoing transfer in a transaction that had this purpose.
pub(in crate::engine::reconciler) fn outgoing_index(
    all: &[OutgoingTransfer],
    subject: &str,
    known: &RecordedTransfers,
) -> Option<u32> {
    let mut explained = all.iter().zip(known.match_rows(all));
    let is_its = |row: Option<&TransferRow>| row.is_some_and(|row| row.transfer.subject == subject);
    let (one, _) = explained.find(|(_, row)| is_its(*row))?;
    Some(one.index)
}

/// Our row of the outgoing transfer for this subject, by the transaction in this name.
pub(in crate::engine::reconciler) fn sent_transfer(
    network: Network,
    (name, subject): (&str, &str),
    known: &RecordedTransfers,
) -> Option<InternalEntry> {
    let row = known.find(name, subject)?;
    Some(transfer_entry(network, row.clone()))
}

/// The transfer that paid for one of our entries, among all transfers of its transaction.
pub(in crate::engine::reconciler) fn paying_movement(
    all: Vec<ChainMovement>,
    ours: &InternalEntry,
) -> Option<ChainMovement> {
    let name = TransferName::parse(&ours.key)?;
    let mut incoming: Vec<ChainMovement> = all.into_iter().filter(|moved| moved.incoming).collect();
    let fits = |moved: &ChainMovement| match (name.index, ours.fingerprint) {
        (Some(index), _) => moved.index == index,
        (None, Some(fingerprint)) => {
            moved.fingerprint == fingerprint && EntryAmount::Usdc(moved.amount) == ours.listed.amount
        }
        (None, None) => moved.index == 0,
    };
    let at = incoming.iter().position(fits);
    // A single transfer is identified by its transaction, whatever else differs, unless it is another payment.
    let its_own = |moved: &ChainMovement| {
        ours.fingerprint
            .is_none_or(|fingerprint| moved.fingerprint == fingerprint)
    };
    let alone = incoming.len() == 1 && name.index.is_none() && incoming.iter().all(its_own);
    let at = at.or(alone.then_some(0))?;
    Some(incoming.swap_remove(at))
}
