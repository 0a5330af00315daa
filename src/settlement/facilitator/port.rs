//! The settlement port of a network whose payments facilitators send: everything is answered by the chain's own port, but for
//! what is sent.
//!
//! A payment is handed to one facilitator, which is durable before it is. From then on no other one receives it: where that one
//! does not answer, or answers nonsense, the payment's outcome is unknown until the chain shows it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainMovement, ChainStanding, ChainStatus, Clock, Decline, ErrorKind, Finality,
    ListCursor, ListPage, OutgoingTransfer, OutgoingTransferRequest, PortError, Preparation, PreparedTransaction,
    Settlement, SubmitResult, Timestamp, TreasuryList,
};

use super::list::{List, Member};
use super::reader::{ChainReader, Look};
use super::rows::{Handed, Mark, RowError, mark};
use crate::settlement::chain::{ChainTime, Holdings, Listed, TransferList};

/// Before the name of the facilitator in [`Prepared::bytes`].
const TAG: &[u8] = b"facilitator ";
/// Payments that are known to be with no facilitator; more are not remembered.
const UNSENT: usize = 100_000;

/// Intervals of a submission.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Between two looks at what is known of the chain.
    pub look: Duration,
    /// After an unknown answer the same facilitator is asked again after this, and after twice as long each further time.
    pub again: Duration,
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            look: Duration::from_millis(200),
            again: Duration::from_secs(5),
        }
    }
}

/// See the module.
pub struct Facilitated<C> {
    pub(super) chain: Arc<C>,
    pub(super) list: Arc<List>,
    clock: Arc<dyn Clock>,
    /// Shown to no facilitator, or definitely declined, as far as this process knows: a decline of these ends them.
    unsent: Mutex<HashSet<Mark>>,
    pub(super) waiting: Waiting,
}

/// A payment and the facilitator that has it.
pub(super) struct InHand<'a> {
    pub(super) member: &'a Member,
    pub(super) handed: Handed,
    /// This call has chosen the facilitator: nothing was sent to it yet.
    pub(super) new: bool,
}

pub(super) fn error(kind: ErrorKind, operation: &'static str, message: impl ToString) -> PortError {
    PortError {
        kind,
        operation,
        message: message.to_string(),
    }
}

pub(super) fn temporary(operation: &'static str, message: impl ToString) -> PortError {
    error(ErrorKind::Temporary, operation, message)
}

fn unread(operation: &'static str) -> impl Fn(RowError) -> PortError {
    move |error| temporary(operation, error)
}

impl<C: ChainReader> Facilitated<C> {
    /// Of a chain's own port and its facilitators.
    pub fn new(chain: Arc<C>, list: Arc<List>, clock: Arc<dyn Clock>, waiting: Waiting) -> Self {
        Self {
            chain,
            list,
            clock,
            unsent: Mutex::default(),
            waiting,
        }
    }

    /// Remembers that no facilitator may still settle this payment.
    pub(super) fn is_unsent(&self, mark: Mark) {
        let mut unsent = self.unsent.lock();
        if unsent.len() < UNSENT {
            unsent.insert(mark);
        }
    }

    /// Whether no facilitator may settle this payment yet, as far as this process knows; one may from now on.
    pub(super) fn take_unsent(&self, mark: &Mark) -> bool {
        self.unsent.lock().remove(mark)
    }

    /// The facilitator that has the payment, or one that gets it now. Durable when it returns. `preferred` is taken where the
    /// payment was prepared for that one.
    pub(super) async fn in_hand(
        &self,
        operation: &'static str,
        authorization: &Authorization,
        preferred: Option<&str>,
    ) -> Result<InHand<'_>, PortError> {
        let mark = mark(authorization);
        let has = |handed: Handed| {
            let gone = || {
                temporary(
                    operation,
                    format!("{} is not in the settings any more", handed.facilitator),
                )
            };
            let member = self.list.named(&handed.facilitator).ok_or_else(gone)?;
            let new = false;
            Ok(InHand { member, handed, new })
        };
        if let Some(handed) = self.list.rows.handed(&mark).await.map_err(unread(operation))? {
            return has(handed);
        }
        let member = match (preferred, self.chain.fee_payer(authorization)) {
            (Some(name), _) => self.list.named(name),
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
        let handed = Handed {
            facilitator: member.client.name().to_owned(),
            at: self.clock.now(),
            until: self.chain.until(authorization),
            transaction: None,
        };
        if self.list.rows.hand(&mark, &handed).await.map_err(unread(operation))? {
            member.client.tally.handed();
            let new = true;
            return Ok(InHand { member, handed, new });
        }
        // Another call was first.
        let handed = self.list.rows.handed(&mark).await.map_err(unread(operation))?;
        has(handed.ok_or_else(|| temporary(operation, "another call has changed the payment"))?)
    }

    /// Judged by the chain and assigned to a facilitator, which is not asked: whatever it answers, it could settle what it was shown. It
    /// sees the signature when the caller has made durable that it may be settled.
    async fn prepare_payment(&self, authorization: &Authorization) -> Result<Preparation, PortError> {
        const PREPARE: &str = "prepare";
        let mark = mark(authorization);
        let handed = self.list.rows.handed(&mark).await.map_err(unread(PREPARE))?;
        if handed.is_none() && self.chain.sends_itself(authorization) {
            return self.chain.prepare(authorization).await;
        }
        if let Some(decline) = self.chain.judge(authorization).await? {
            // What the chain shows already is not declined: its submission finds it.
            return Ok(match handed.as_ref() {
                Some(handed) if self.has_landed(authorization, handed).await? => ready(handed),
                _ => Preparation::Declined(decline),
            });
        }
        if handed.is_none() && self.list.all_paused() {
            return Err(temporary(PREPARE, "no facilitator answers"));
        }
        let InHand { handed, new, .. } = self.in_hand(PREPARE, authorization, None).await?;
        if new {
            self.is_unsent(mark);
        }
        Ok(ready(&handed))
    }

    async fn has_landed(&self, authorization: &Authorization, handed: &Handed) -> Result<bool, PortError> {
        let look = self
            .chain
            .look(authorization, handed.transaction.as_deref(), Look::Asked);
        Ok(matches!(look.await?, ChainStatus::Landed { .. }))
    }

    /// As the chain declines it, unless a facilitator has it and the chain shows it or cannot be read.
    async fn precheck_payment(&self, authorization: &Authorization) -> Option<Decline> {
        let decline = self.chain.precheck(authorization).await?;
        let Some(handed) = self.list.rows.handed(&mark(authorization)).await.ok()? else {
            return Some(decline);
        };
        let landed = self.has_landed(authorization, &handed).await.ok()?;
        (!landed).then_some(decline)
    }

    /// The transaction that was named for a payment, if any.
    async fn named(&self, operation: &'static str, authorization: &Authorization) -> Result<Option<String>, PortError> {
        let handed = self.list.rows.handed(&mark(authorization)).await;
        Ok(handed.map_err(unread(operation))?.and_then(|handed| handed.transaction))
    }

    async fn look_up(
        &self,
        authorization: &Authorization,
        prepared: Option<&PreparedTransaction>,
    ) -> Result<ChainStatus, PortError> {
        let named = self.named("lookup", authorization).await?;
        let by_us = prepared.is_some_and(|prepared| !prepared.transaction.is_empty());
        if named.is_none() && (by_us || self.chain.sends_itself(authorization)) {
            return self.chain.lookup(authorization, prepared).await;
        }
        let found = self.chain.look(authorization, named.as_deref(), Look::Asked).await?;
        if found == ChainStatus::Impossible {
            self.forget(authorization).await;
        }
        Ok(found)
    }

    /// Its row is not needed any more; one that stays is deleted by the sweep.
    async fn forget(&self, authorization: &Authorization) {
        let mark = mark(authorization);
        self.take_unsent(&mark);
        if let Ok(Some(_)) = self.list.rows.handed(&mark).await {
            let _ = self.list.rows.forget(&mark).await;
        }
    }
}

/// Prepared for the facilitator that has the payment.
fn ready(handed: &Handed) -> Preparation {
    Preparation::Ready(PreparedTransaction {
        bytes: [TAG, handed.facilitator.as_bytes()].concat(),
        transaction: String::new(),
    })
}

/// The facilitator that a payment was prepared for.
pub(super) fn tagged(prepared: &PreparedTransaction) -> Option<&str> {
    std::str::from_utf8(prepared.bytes.strip_prefix(TAG)?).ok()
}

impl<C: ChainReader> Settlement for Facilitated<C> {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> BoxFuture<'a, Result<Authorization, PortError>> {
        self.chain.sign_for(transfer, self.list.fee_payer())
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        Box::pin(self.precheck_payment(authorization))
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Result<Preparation, PortError>> {
        Box::pin(self.prepare_payment(authorization))
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> BoxFuture<'a, Result<SubmitResult, PortError>> {
        Box::pin(self.submit_payment(authorization, prepared))
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> BoxFuture<'a, Result<ChainStatus, PortError>> {
        Box::pin(self.look_up(authorization, prepared))
    }

    fn standing<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<ChainStanding, PortError>> {
        Box::pin(async move {
            let standing = self.chain.standing(authorization, prepared, transaction).await?;
            if standing == ChainStanding::Final {
                self.forget(authorization).await;
            }
            Ok(standing)
        })
    }

    fn can_receive<'a>(&'a self, to: &'a Wallet) -> BoxFuture<'a, Result<bool, PortError>> {
        match self.chain.has_keys() {
            true => self.chain.can_receive(to),
            false => self.chain.can_receive_from_others(to),
        }
    }

    fn treasury_holds(&self, network: Network) -> BoxFuture<'_, Result<Usdc, PortError>> {
        self.chain.treasury_holds(network)
    }

    fn sent_by<'a>(
        &'a self,
        from: &'a Wallet,
        since: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<OutgoingTransfer>, PortError>> {
        self.chain.sent_by(from, since)
    }

    fn departures(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<OutgoingTransfer>, PortError>> {
        self.chain.departures(since, until)
    }
}

impl<C: ChainReader> TreasuryList for Facilitated<C> {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ChainMovement>, PortError>> {
        self.chain.movements(network, after, limit)
    }

    fn in_transaction<'a>(
        &'a self,
        network: Network,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ChainMovement>, PortError>> {
        self.chain.in_transaction(network, transaction)
    }

    fn authorized<'a>(
        &'a self,
        network: Network,
        payer: Option<&'a Wallet>,
        mark: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Option<ChainMovement>, PortError>> {
        self.chain.authorized(network, payer, mark)
    }

    fn movement_finality<'a>(
        &'a self,
        network: Network,
        moved: &'a ChainMovement,
    ) -> BoxFuture<'a, Result<Finality, PortError>> {
        self.chain.movement_finality(network, moved)
    }
}

impl<C: ChainReader> Holdings for Facilitated<C> {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> BoxFuture<'a, Result<Usdc, PortError>> {
        Holdings::holds(&*self.chain, wallet)
    }
}

impl<C: ChainReader> ChainTime for Facilitated<C> {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        self.chain.now_on(network)
    }
}

impl<C: ChainReader> TransferList for Facilitated<C> {
    fn listed(&self, network: Network, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, PortError>> {
        self.chain.listed(network, after, limit)
    }
}
