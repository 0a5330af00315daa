//! The outcome of a payment, from stored state.

use purser_actors::money::Usdc;
use purser_actors::port::{
    ChainStatus, ChainTransactionStatus, ErrorKind, Finality, PortError, PreparedTransaction, SolanaTransfer,
    SubmitResult,
};
use purser_chains::solana::Signature;
use purser_chains::solana::address::{base58, parse_base58};
use purser_chains::solana::lifecycle::Stage;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::transaction::{Transaction, co_sign};

use super::SolanaSettlement;
use super::decline::on_chain;
use super::rows::{End, Open};
use super::settings::Depth;
use crate::errors::{error, temporary};

/// Stored state of our transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// It is on the chain with its effects.
    Confirmed(Sighting),
    /// It can never settle.
    Impossible,
    /// It may settle.
    Open,
    /// There is no record of it.
    NotFound,
}

/// What endpoints show of a transaction that was executed with its effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    pub(super) slot: u64,
    /// `finalized` only if enough endpoints report it.
    pub(super) level: Commitment,
    /// Endpoints that show it in this slot.
    pub(super) shown_by: usize,
}

impl Sighting {
    /// From the rows of final transactions; the slot does not matter.
    const FINAL: Self = Self {
        slot: 0,
        level: Commitment::Finalized,
        shown_by: usize::MAX,
    };

    /// Combines the slot and level that each endpoint shows; `None` if none shows the transaction. Of several slots the
    /// most frequent one is used.
    pub(super) fn from_endpoints(shown: &[(u64, Commitment)], witnesses: usize) -> Option<Self> {
        let sighting = |(slot, _): &(u64, Commitment)| {
            let same = shown.iter().filter(|(other, _)| other == slot);
            let mut levels: Vec<Commitment> = same.map(|(_, level)| *level).collect();
            levels.sort_unstable_by(|one, other| other.cmp(one));
            // A single endpoint with a final status only shows that the transaction is on the chain.
            let level = levels.get(witnesses.saturating_sub(1)).copied();
            Self {
                slot: *slot,
                level: level.unwrap_or(Commitment::Confirmed),
                shown_by: levels.len(),
            }
        };
        let all = shown.iter().map(sighting);
        all.max_by_key(|sighting| (sighting.shown_by, sighting.level, sighting.slot))
    }
}

impl SolanaSettlement {
    async fn known_status(&self, id: &Signature, operation: &'static str) -> Result<Known, PortError> {
        let to_error = |error| temporary(operation, error);
        // The treasury's own list comes first: its transactions were read one by one and cross-checked.
        if let Some(seen) = self.rows.final_one(id).await.map_err(to_error)?
            && !seen.failed
        {
            return Ok(Known::Confirmed(Sighting::FINAL));
        }
        let pending = self.treasury_history.lock().pending(id);
        let (stage, shown_by) = {
            let flights = self.in_flight.lock();
            (flights.stage(id).cloned(), flights.shown_by(id))
        };
        if let Some(Stage::Succeeded { slot, level }) = stage
            && level >= Commitment::Confirmed
        {
            let listed_by = pending.filter(|(seen, _)| (seen.slot, seen.failed) == (slot, false));
            let shown_by = listed_by.map_or(shown_by, |(_, listed_by)| shown_by.max(listed_by));
            return Ok(Known::Confirmed(Sighting { slot, level, shown_by }));
        }
        let closed = match stage {
            Some(_) => None,
            None => self.rows.closed(id).await.map_err(to_error)?.map(|closed| closed.end),
        };
        // The treasury's list may lag: a final transaction remains final.
        if closed == Some(End::Confirmed) {
            return Ok(Known::Confirmed(Sighting::FINAL));
        }
        if let Some((seen, shown_by)) = pending
            && !seen.failed
        {
            let (slot, level) = (seen.slot, Commitment::Confirmed);
            return Ok(Known::Confirmed(Sighting { slot, level, shown_by }));
        }
        if stage.is_some() {
            return Ok(Known::Open);
        }
        Ok(match closed {
            Some(_) => Known::Impossible,
            None => Known::NotFound,
        })
    }

    /// The finality of a transfer of this amount. If there are two endpoints, one alone is never enough.
    pub(super) fn finality(&self, amount: Usdc, shown: Sighting) -> Finality {
        let deep = match self.finality.depth_for(amount) {
            Depth::Confirmed => shown.level >= Commitment::Confirmed,
            Depth::Slots(slots) => self.shared_slot() >= shown.slot.saturating_add(slots),
            Depth::Finalized => false,
        };
        let deep = deep && shown.shown_by >= self.witnesses();
        match deep || shown.level == Commitment::Finalized {
            true => Finality::Final,
            false => Finality::Confirmed,
        }
    }

    /// The transaction's id once our fee payer has signed it; `None` for an external fee payer.
    fn transaction_id(&self, transfer: &SolanaTransfer, prepared: Option<&PreparedTransaction>) -> Option<Signature> {
        if let Some(id) = prepared.and_then(|prepared| parse_base58(&prepared.transaction)) {
            return Some(id);
        }
        let transaction = Transaction::parse_without_tables(&transfer.transaction).ok()?;
        let key = self.fee_payer_of(&transaction.message)?;
        Some(co_sign(&transfer.transaction, key).ok()?.id)
    }

    /// Whether stored state shows the payment on the chain; true if the state cannot be read.
    pub(super) async fn is_on_chain(&self, transfer: &SolanaTransfer) -> bool {
        let Some(id) = self.transaction_id(transfer, None) else {
            return false;
        };
        !matches!(
            self.known_status(&id, "precheck").await,
            Ok(Known::Impossible | Known::Open | Known::NotFound)
        )
    }

    /// Same contract as [`purser_actors::port::Settlement::lookup`].
    pub(super) async fn lookup_transfer(
        &self,
        transfer: &SolanaTransfer,
        prepared: Option<&PreparedTransaction>,
    ) -> Result<ChainStatus, PortError> {
        const LOOKUP: &str = "lookup";
        let Some(id) = self.transaction_id(transfer, prepared) else {
            return self.search(transfer).await;
        };
        match self.known_status(&id, LOOKUP).await? {
            Known::Confirmed(shown) => Ok(ChainStatus::Confirmed {
                transaction: base58(&id),
                finality: self.finality(transfer.value, shown),
            }),
            Known::Impossible => Ok(ChainStatus::Impossible),
            Known::Open => Ok(ChainStatus::Pending),
            Known::NotFound => self.adopt(transfer, id).await.map(|()| ChainStatus::Pending),
        }
    }

    /// Adopts a payment without stored state: it was never prepared, or a restore has lost its history. It is tracked
    /// like a sent one, but never sent, until two endpoints prove that it can never settle.
    async fn adopt(&self, transfer: &SolanaTransfer, id: Signature) -> Result<(), PortError> {
        const ADOPT: &str = "lookup";
        let slot = self.tip.lock().slot();
        let validity = self.validity(&transfer.blockhash, slot);
        let validity = validity.ok_or_else(|| temporary(ADOPT, "no block of the chain was read yet"))?;
        let open = Open {
            bytes: Vec::new(),
            payer: transfer.payer,
            fee_payer: [0; 32],
            last_valid_block_height: validity.last_valid_block_height,
            not_before_slot: validity.not_before_slot,
            fees: [0; 3],
            at: self.clock.now(),
        };
        self.rows
            .prepare(&id, &open, None)
            .await
            .map_err(|e| temporary(ADOPT, e))?;
        let _ = self.in_flight.lock().start(id, open, true, None);
        Ok(())
    }

    /// Same contract as [`purser_actors::port::Settlement::transaction_status`].
    pub(super) async fn find_transaction_status(
        &self,
        transfer: &SolanaTransfer,
        transaction: &str,
    ) -> Result<ChainTransactionStatus, PortError> {
        const STANDING: &str = "standing";
        // A payment with our fee payer settles by one transaction. An id that this chain cannot have is not a
        // transaction of it.
        let Some(id) = parse_base58(transaction) else {
            return Ok(ChainTransactionStatus::NotFound);
        };
        if self.transaction_id(transfer, None).is_some_and(|own| own != id) {
            return Ok(ChainTransactionStatus::NotFound);
        }
        match self.known_status(&id, STANDING).await? {
            Known::Confirmed(shown) => Ok(self.finality(transfer.value, shown).into()),
            Known::Impossible => Ok(ChainTransactionStatus::NotFound),
            Known::Open if self.in_flight.lock().is_removed(&id) => Ok(ChainTransactionStatus::NotFound),
            // After a start the status is unknown until an endpoint has responded.
            Known::Open => Err(temporary(
                STANDING,
                "no endpoint has said yet whether the transaction is there",
            )),
            Known::NotFound => self.find_unlisted_status(transfer, &id).await,
        }
    }

    /// Same contract as [`purser_actors::port::Settlement::submit`].
    pub(super) async fn submit_transfer(
        &self,
        transfer: &SolanaTransfer,
        prepared: &PreparedTransaction,
    ) -> Result<SubmitResult, PortError> {
        const SUBMIT: &str = "submit";
        let refused = |message: &str| error(ErrorKind::Permanent, SUBMIT, message);
        let id: Signature = parse_base58(&prepared.transaction).ok_or_else(|| refused("not a prepared transaction"))?;
        loop {
            match self.known_status(&id, SUBMIT).await? {
                Known::Confirmed(shown) => {
                    return Ok(SubmitResult::Settled {
                        transaction: base58(&id),
                        finality: self.finality(transfer.value, shown),
                    });
                }
                Known::Impossible => return self.closed_result(&id).await,
                // Prepared by another store or by another kind of port.
                Known::NotFound => {
                    self.adopt(transfer, id).await?;
                    return Err(error(
                        ErrorKind::Unknown,
                        SUBMIT,
                        "the transaction was not prepared here: it is watched",
                    ));
                }
                Known::Open => {}
            }
            let released = self.in_flight.lock().release(&id);
            let Some(mut changed) = released else { continue };
            let first = self.in_flight.lock().first_send(&id, self.timer.now_ms());
            if let Some(bytes) = first {
                self.send(id, &bytes).await;
            }
            let stage = self.in_flight.lock().stage(&id).cloned();
            match stage {
                Some(Stage::Failed { level, error, .. }) if level >= Commitment::Confirmed => {
                    return Ok(SubmitResult::Declined(on_chain(&error)));
                }
                Some(Stage::Succeeded { level, .. }) if level >= Commitment::Confirmed => {}
                // A dropped sender means that it has ended: the rows have the outcome.
                Some(_) => drop(changed.changed().await),
                None => {}
            }
        }
    }

    /// The result for a transaction that can never settle.
    async fn closed_result(&self, id: &Signature) -> Result<SubmitResult, PortError> {
        let closed = self.rows.closed(id).await.map_err(|e| temporary("submit", e))?;
        match closed.map(|closed| closed.end) {
            Some(End::Failed(text)) => {
                let read = serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text));
                let error = purser_chains::solana::status::TransactionError::from_json(&read);
                Ok(SubmitResult::Declined(on_chain(&error.unwrap_or_else(find_unlisted))))
            }
            _ => Err(error(ErrorKind::Permanent, "submit", "the transaction has expired")),
        }
    }
}

fn find_unlisted() -> purser_chains::solana::status::TransactionError {
    purser_chains::solana::status::TransactionError {
        text: "failed".into(),
        instruction: None,
        custom: None,
    }
}
