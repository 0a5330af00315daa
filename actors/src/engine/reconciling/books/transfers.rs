//! What our books have of transfers on a chain.

use purser_storage::{Store, StoreError};

use super::{Ours, of_departure, of_incoming_transfer, of_payment, read};
use crate::engine::departures::known::{Known, Row};
use crate::engine::incoming::{Settles, settles_by};
use crate::id::{DepositId, Network};
use crate::incoming::{Incoming, Transfer};
use crate::kernel::{Kind, table};
use crate::payment::{self, Payment};
use crate::port::{Departure, Movement, TransferName, claim_key};
use crate::reconcile::{Flow, Listed, Money, Source, Standing};

/// What a transfer to our treasury paid for, or whom it was credited to. A payment that was refused, or never sent, says
/// no more than that nobody expects it.
pub(in crate::engine::reconciling) async fn deposited(
    store: &dyn Store,
    network: Network,
    moved: &Movement,
    secret: &[u8; 32],
) -> Result<Option<Ours>, StoreError> {
    let claim = claim_key(&moved.other, &moved.mark);
    let id = payment::id_of_claim(&claim, secret);
    let payment: Option<Payment> = read(store, &table::entity(Kind::Payment, &id.0.to_be_bytes())).await?;
    let under_way = |payment: &Payment| {
        let standing = match payment.status {
            payment::Status::Released | payment::Status::DeclinedUnsent(_) | payment::Status::Refused(_) => {
                Standing::NotAsked
            }
            _ => Standing::UnderWay,
        };
        Ours {
            source: Source::of(network),
            flow: Flow::Deposit,
            key: moved.key(),
            mark: Some(moved.mark),
            payer: Some(moved.other),
            subject: id.to_string(),
            listed: Listed {
                standing,
                money: Money::Usdc(payment.price()),
                at: payment.updated_at,
            },
        }
    };
    let of_its_own = DepositId::of(network, &moved.transaction, moved.index);
    let incoming: Option<Incoming> = read(store, &table::entity(Kind::Incoming, &of_its_own.0.to_be_bytes())).await?;
    if let Some(taken) = incoming.as_ref().and_then(of_incoming_transfer) {
        return Ok(Some(taken));
    }
    let transfer = Transfer::of(network, moved, id);
    // Another transfer beside the payment's own is nobody's. On Base each has a mark of its own.
    let own = |payment: &Payment| {
        network == Network::Base || moved.index == 0 || settles_by(payment, &transfer) != Settles::No
    };
    let payment = payment.filter(own);
    let bought = payment.as_ref().and_then(|payment| of_payment(id, payment));
    Ok(bought.or_else(|| payment.as_ref().map(under_way)))
}

/// What one of the transfers out of the treasury by one transaction was for.
pub(in crate::engine::reconciling) fn departed(
    network: Network,
    (all, index): (&[Departure], u32),
    known: &Known,
) -> Option<Ours> {
    let mut explained = all.iter().zip(known.explain(all));
    let (one, row) = explained.find(|(one, _)| one.index == index)?;
    let ours = of_departure(network, row?.clone());
    Some(Ours { key: one.key(), ..ours })
}

/// Which of the transfers out of the treasury by one transaction was for this.
pub(in crate::engine::reconciling) fn left_for(all: &[Departure], subject: &str, known: &Known) -> Option<u32> {
    let mut explained = all.iter().zip(known.explain(all));
    let is_its = |row: Option<&Row>| row.is_some_and(|row| row.left.subject == subject);
    let (one, _) = explained.find(|(_, row)| is_its(*row))?;
    Some(one.index)
}

/// Our row of what left the treasury for this subject by the transaction in this name.
pub(in crate::engine::reconciling) fn sent(
    network: Network,
    (name, subject): (&str, &str),
    known: &Known,
) -> Option<Ours> {
    let row = known.named(name, subject)?;
    Some(of_departure(network, row.clone()))
}

/// The transfer by which something of ours was paid, among all that its transaction moved.
pub(in crate::engine::reconciling) fn paid_by(all: Vec<Movement>, ours: &Ours) -> Option<Movement> {
    let name = TransferName::parse(&ours.key)?;
    let mut incoming: Vec<Movement> = all.into_iter().filter(|moved| moved.incoming).collect();
    let fits = |moved: &Movement| match (name.index, ours.mark) {
        (Some(index), _) => moved.index == index,
        (None, Some(mark)) => moved.mark == mark && Money::Usdc(moved.amount) == ours.listed.money,
        (None, None) => moved.index == 0,
    };
    let at = incoming.iter().position(fits);
    // Alone it is what its transaction is known by, whatever else is different, but that it is not another payment.
    let its_own = |moved: &Movement| ours.mark.is_none_or(|mark| moved.mark == mark);
    let alone = incoming.len() == 1 && name.index.is_none() && incoming.iter().all(its_own);
    let at = at.or(alone.then_some(0))?;
    Some(incoming.swap_remove(at))
}
