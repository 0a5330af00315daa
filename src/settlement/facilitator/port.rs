//! The settlement port of a network with facilitators. The chain's own port implements everything except sending.
//!
//! A payment is assigned durably to one facilitator before it is sent there. No other facilitator receives it
//! afterwards. Without a valid response, the outcome is unknown until the chain shows it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainMovement, ChainStatus, ChainTransactionStatus, Clock, Decline, ErrorKind, Finality,
    ListCursor, ListPage, OutgoingTransfer, OutgoingTransferRequest, PortError, PortFuture, Preparation,
    PreparedTransaction, Settlement, SubmitResult, Timestamp, TreasuryList,
};

use super::list::{FacilitatorList, Member};
use super::reader::{ChainReader, LookupDepth};
use super::rows::{Assignment, Mark, RowError, mark};
use crate::chain::{ChainTime, Holdings, ListedTransfer, TransferList};
use crate::errors::{error, temporary};

/// Prefix of the facilitator's name in [`PreparedTransaction::bytes`].
const TAG: &[u8] = b"facilitator ";
/// Maximum number of stored payments that no facilitator has.
const MAX_UNSENT: usize = 100_000;

/// Intervals of a submission.
#[derive(Clone, Copy, Debug)]
pub struct SubmitIntervals {
    /// Interval between checks of the chain's known state.
    pub poll: Duration,
    /// After an unknown response the same facilitator is queried again after this, doubled each further time.
    pub retry: Duration,
}

impl Default for SubmitIntervals {
    fn default() -> Self {
        Self {
            poll: Duration::from_millis(200),
            retry: Duration::from_secs(5),
        }
    }
}

/// The settlement port; see the module.
pub struct FacilitatedSettlement<C> {
    pub(super) chain: Arc<C>,
    pub(super) list: Arc<FacilitatorList>,
    clock: Arc<dyn Clock>,
    /// Payments that this process knows were not sent, or were definitely declined: their decline is definite.
    unsent: Mutex<HashSet<Mark>>,
    pub(super) intervals: SubmitIntervals,
}

pub(super) struct AssignedPayment<'a> {
    pub(super) member: &'a Member,
    pub(super) assignment: Assignment,
    /// This call has chosen the facilitator: nothing was sent to it yet.
    pub(super) is_new: bool,
}

fn row_error(operation: &'static str) -> impl Fn(RowError) -> PortError {
    move |error| temporary(operation, error)
}

impl<C: ChainReader> FacilitatedSettlement<C> {
    /// Creates the port over a chain's own port and its facilitators.
    pub fn new(chain: Arc<C>, list: Arc<FacilitatorList>, clock: Arc<dyn Clock>, intervals: SubmitIntervals) -> Self {
        Self {
            chain,
            list,
            clock,
            unsent: Mutex::default(),
            intervals,
        }
    }

    pub(super) fn mark_unsent(&self, mark: Mark) {
        let mut unsent = self.unsent.lock();
        if unsent.len() < MAX_UNSENT {
            unsent.insert(mark);
        }
    }

    /// Whether no facilitator can settle this payment yet, as far as this process knows. Afterwards one may.
    pub(super) fn take_unsent(&self, mark: &Mark) -> bool {
        self.unsent.lock().remove(mark)
    }

    /// The facilitator of the payment; assigns one if there is none. Durable when it returns. `preferred` is used if
    /// the payment was prepared for it.
    pub(super) async fn get_or_assign(
        &self,
        operation: &'static str,
        authorization: &Authorization,
        preferred: Option<&str>,
    ) -> Result<AssignedPayment<'_>, PortError> {
        let mark = mark(authorization);
        let has = |handed: Assignment| {
            let gone = || {
                temporary(
                    operation,
                    format!("{} is not in the settings any more", handed.facilitator),
                )
            };
            let member = self.list.by_name(&handed.facilitator).ok_or_else(gone)?;
            let new = false;
            Ok(AssignedPayment {
                member,
                assignment: handed,
                is_new: new,
            })
        };
        if let Some(handed) = self.list.rows.assignment(&mark).await.map_err(row_error(operation))? {
            return has(handed);
        }
        let member = match (preferred, self.chain.fee_payer(authorization)) {
            (Some(name), _) => self.list.by_name(name),
            (None, Some(fee_payer)) => match self.list.owner_of(&fee_payer) {
                None => {
                    let why = "the fee payer is of no facilitator of the settings";
                    return Err(error(ErrorKind::Permanent, operation, why));
                }
                owner => owner,
            },
            (None, None) => self.list.choose(),
        };
        let member = member.ok_or_else(|| temporary(operation, "the facilitator is not in the settings any more"))?;
        let handed = Assignment {
            facilitator: member.client.name().to_owned(),
            at: self.clock.now(),
            expires_at: self.chain.expires_at(authorization),
            transaction: None,
        };
        if self
            .list
            .rows
            .assign(&mark, &handed)
            .await
            .map_err(row_error(operation))?
        {
            member.client.counters.record_assignment();
            let new = true;
            return Ok(AssignedPayment {
                member,
                assignment: handed,
                is_new: new,
            });
        }
        // Another call was first.
        let handed = self.list.rows.assignment(&mark).await.map_err(row_error(operation))?;
        has(handed.ok_or_else(|| temporary(operation, "another call has changed the payment"))?)
    }

    /// Checks the payment on the chain and assigns a facilitator without querying it: a facilitator could settle any
    /// payment it sees. It receives the signature only after the caller has persisted that the payment may settle.
    async fn prepare_payment(&self, authorization: &Authorization) -> Result<Preparation, PortError> {
        const PREPARE: &str = "prepare";
        let mark = mark(authorization);
        let handed = self.list.rows.assignment(&mark).await.map_err(row_error(PREPARE))?;
        if handed.is_none() && self.chain.can_send_with_own_keys(authorization) {
            return self.chain.prepare(authorization).await;
        }
        if let Some(decline) = self.chain.would_decline(authorization).await? {
            // A payment that is already on the chain is not declined: its submission finds it.
            return Ok(match handed.as_ref() {
                Some(handed) if self.is_confirmed(authorization, handed).await? => prepared_for(handed),
                _ => Preparation::Declined(decline),
            });
        }
        if handed.is_none() && self.list.all_paused() {
            return Err(temporary(PREPARE, "no facilitator answers"));
        }
        let AssignedPayment {
            assignment: handed,
            is_new: new,
            ..
        } = self.get_or_assign(PREPARE, authorization, None).await?;
        if new {
            self.mark_unsent(mark);
        }
        Ok(prepared_for(&handed))
    }

    async fn is_confirmed(&self, authorization: &Authorization, handed: &Assignment) -> Result<bool, PortError> {
        let look = self
            .chain
            .chain_status(authorization, handed.transaction.as_deref(), LookupDepth::QueryNodes);
        Ok(matches!(look.await?, ChainStatus::Confirmed { .. }))
    }

    /// The chain's decline, unless a facilitator has the payment and the chain shows it or cannot be read.
    async fn precheck_payment(&self, authorization: &Authorization) -> Option<Decline> {
        let decline = self.chain.precheck(authorization).await?;
        let Some(handed) = self.list.rows.assignment(&mark(authorization)).await.ok()? else {
            return Some(decline);
        };
        let landed = self.is_confirmed(authorization, &handed).await.ok()?;
        (!landed).then_some(decline)
    }

    async fn facilitator_by_name(
        &self,
        operation: &'static str,
        authorization: &Authorization,
    ) -> Result<Option<String>, PortError> {
        let handed = self.list.rows.assignment(&mark(authorization)).await;
        Ok(handed
            .map_err(row_error(operation))?
            .and_then(|handed| handed.transaction))
    }

    async fn lookup_payment(
        &self,
        authorization: &Authorization,
        prepared: Option<&PreparedTransaction>,
    ) -> Result<ChainStatus, PortError> {
        let named = self.facilitator_by_name("lookup", authorization).await?;
        let by_us = prepared.is_some_and(|prepared| !prepared.transaction.is_empty());
        if named.is_none() && (by_us || self.chain.can_send_with_own_keys(authorization)) {
            return self.chain.lookup(authorization, prepared).await;
        }
        let found = self
            .chain
            .chain_status(authorization, named.as_deref(), LookupDepth::QueryNodes)
            .await?;
        if found == ChainStatus::Impossible {
            self.forget(authorization).await;
        }
        Ok(found)
    }

    /// Deletes the row, which is no longer needed; the sweep deletes any that remain.
    async fn forget(&self, authorization: &Authorization) {
        let mark = mark(authorization);
        self.take_unsent(&mark);
        if let Ok(Some(_)) = self.list.rows.assignment(&mark).await {
            let _ = self.list.rows.forget(&mark).await;
        }
    }
}

fn prepared_for(handed: &Assignment) -> Preparation {
    Preparation::Ready(PreparedTransaction {
        bytes: [TAG, handed.facilitator.as_bytes()].concat(),
        transaction: String::new(),
    })
}

pub(super) fn tagged(prepared: &PreparedTransaction) -> Option<&str> {
    std::str::from_utf8(prepared.bytes.strip_prefix(TAG)?).ok()
}

impl<C: ChainReader> Settlement for FacilitatedSettlement<C> {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> PortFuture<'a, Authorization> {
        self.chain.sign_for(transfer, self.list.fee_payer())
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        Box::pin(self.precheck_payment(authorization))
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Preparation> {
        Box::pin(self.prepare_payment(authorization))
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> PortFuture<'a, SubmitResult> {
        Box::pin(self.submit_payment(authorization, prepared))
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> PortFuture<'a, ChainStatus> {
        Box::pin(self.lookup_payment(authorization, prepared))
    }

    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> PortFuture<'a, ChainTransactionStatus> {
        Box::pin(async move {
            let status = self
                .chain
                .transaction_status(authorization, prepared, transaction)
                .await?;
            if status == ChainTransactionStatus::Final {
                self.forget(authorization).await;
            }
            Ok(status)
        })
    }

    fn can_receive<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool> {
        match self.chain.has_own_keys() {
            true => self.chain.can_receive(to),
            false => self.chain.can_receive_from_facilitator(to),
        }
    }

    fn final_treasury_balance(&self, network: Network) -> PortFuture<'_, Usdc> {
        self.chain.final_treasury_balance(network)
    }

    fn sent_by<'a>(&'a self, from: &'a Wallet, since: Timestamp) -> PortFuture<'a, Vec<OutgoingTransfer>> {
        self.chain.sent_by(from, since)
    }

    fn outgoing_transfers(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Vec<OutgoingTransfer>> {
        self.chain.outgoing_transfers(since, until)
    }
}

impl<C: ChainReader> TreasuryList for FacilitatedSettlement<C> {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> PortFuture<'a, ListPage<ChainMovement>> {
        self.chain.movements(network, after, limit)
    }

    fn in_transaction<'a>(&'a self, network: Network, transaction: &'a str) -> PortFuture<'a, Vec<ChainMovement>> {
        self.chain.in_transaction(network, transaction)
    }

    fn find_by_authorization<'a>(
        &'a self,
        network: Network,
        payer: Option<&'a Wallet>,
        mark: &'a [u8; 32],
    ) -> PortFuture<'a, Option<ChainMovement>> {
        self.chain.find_by_authorization(network, payer, mark)
    }

    fn movement_finality<'a>(&'a self, network: Network, moved: &'a ChainMovement) -> PortFuture<'a, Finality> {
        self.chain.movement_finality(network, moved)
    }
}

impl<C: ChainReader> Holdings for FacilitatedSettlement<C> {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> PortFuture<'a, Usdc> {
        Holdings::holds(&*self.chain, wallet)
    }
}

impl<C: ChainReader> ChainTime for FacilitatedSettlement<C> {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        self.chain.now_on(network)
    }
}

impl<C: ChainReader> TransferList for FacilitatedSettlement<C> {
    fn transfers_after(&self, network: Network, after: u64, limit: usize) -> PortFuture<'_, Vec<ListedTransfer>> {
        self.chain.transfers_after(network, after, limit)
    }
}
