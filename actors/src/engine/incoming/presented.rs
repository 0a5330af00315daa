//! Payments of a lost history that are presented again. What they bought there is not bought a second time as something
//! else.

use super::{LostHistory, corrupt};
use crate::engine::{ClaimError, Engine};
use crate::entity::incoming::{Incoming, Status, Transfer};
use crate::id::{DepositId, JobId, PaymentId};
use crate::kernel::table;
use crate::port::{Authorization, Timestamp};
use crate::product::ProductLine;

impl Engine {
    /// Whether a payment missing from the ledger may buy from this line. If its chain already shows it, it may have
    /// bought something in the lost history. Checked only while payments of that history can be presented.
    pub(in crate::engine) async fn check_may_buy(
        &self,
        id: PaymentId,
        authorization: &Authorization,
        line: ProductLine,
    ) -> Result<(), ClaimError> {
        let now = self.0.clock.now();
        let Some(lost) = self.0.lost_history else { return Ok(()) };
        // An operator has attributed the order that it had bought.
        let booked = self.attributed_order(JobId(id.product_id())).await;
        if booked.map_err(|_| ClaimError::Unavailable)?.is_some() {
            return Err(ClaimError::AlreadyUsed);
        }
        if now > lost.until {
            return Ok(());
        }
        let worker = self.0.job_handlers();
        let is_there = worker
            .is_on_chain(authorization)
            .await
            .map_err(|_| ClaimError::Unavailable)?;
        if !is_there || self.is_transfer_decided(id).await? {
            return Ok(());
        }
        let found = self.open_transfer_of(id).await?;
        let (transfer, found_at) = match found {
            // What it may have bought is recorded, and the claim is conditional on that row; or it is not of the lost
            // time.
            Some(found) if found.status == Status::Waiting || !lost.contains(found.transfer.at) => return Ok(()),
            Some(found) => {
                let later = (found.transfer.at > lost.restored).then_some(found.found_at);
                (found.transfer, later)
            }
            None => (unlisted_transfer(id, authorization, lost), None),
        };
        match worker.may_have_bought(&transfer, found_at, line).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ClaimError::AlreadyUsed),
            Err(_) => Err(ClaimError::Unavailable),
        }
    }

    /// Whether its transfer was decided.
    async fn is_transfer_decided(&self, id: PaymentId) -> Result<bool, ClaimError> {
        let taken = self.0.store.read(&table::taken_in_payment(id)).await;
        Ok(taken.map_err(|_| ClaimError::Unavailable)?.is_some())
    }

    /// The transfer of a payment, while it is undecided.
    async fn open_transfer_of(&self, id: PaymentId) -> Result<Option<Incoming>, ClaimError> {
        const PAGE: usize = 1_000;
        let mut after: Option<Box<[u8]>> = None;
        loop {
            let rows = self.0.store.scan(&[table::INCOMING], after.as_deref(), PAGE).await;
            let rows = rows.map_err(|_| ClaimError::Unavailable)?;
            for (_, deposit) in rows.iter().filter_map(|(key, _)| table::created_and_id(key)) {
                let read = self.0.registries.incoming.read(&DepositId(deposit)).await;
                let read = read.map_err(corrupt).map_err(|_| ClaimError::Unavailable)?;
                if let Some((incoming, _)) = read.filter(|(incoming, _)| incoming.transfer.payment == id) {
                    return Ok(Some(incoming));
                }
            }
            match rows.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => return Ok(None),
            }
        }
    }
}

/// A transfer that is on its chain and on no list yet. It may be from any moment of the lost time.
fn unlisted_transfer(payment: PaymentId, authorization: &Authorization, lost: LostHistory) -> Transfer {
    Transfer {
        network: authorization.network(),
        transaction: String::new(),
        index: 0,
        from: authorization.payer(),
        amount: authorization.value(),
        at: Timestamp(lost.since.0),
        fingerprint: authorization.fingerprint(),
        payment,
    }
}
