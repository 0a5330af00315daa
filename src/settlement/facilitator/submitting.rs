//! Submission of a payment through its facilitator. The chain decides the outcome; responses only determine the next
//! step.

use std::time::Duration;

use purser_actors::port::{
    Authorization, ChainStatus, Decline, ErrorKind, PortError, PreparedTransaction, SubmitResult,
};
use serde_json::Value;

use super::client::NoResponse;
use super::list::Member;
use super::port::{AssignedPayment, FacilitatedSettlement, tagged};
use super::reader::{ChainReader, LookupDepth};
use super::response::{SettleResult, VerifyResult};
use super::rows::{Assignment, mark};
use crate::errors::{error, temporary};

const OPERATION: &str = "submit";
/// Longest pause between two settlement requests of one payment.
const MAX_PAUSE: Duration = Duration::from_secs(60);

impl<C: ChainReader> FacilitatedSettlement<C> {
    /// Ends with the status on the chain, or with a definite decline. While the outcome is unknown it waits: the caller
    /// ends the wait.
    pub(super) async fn submit_payment(
        &self,
        authorization: &Authorization,
        prepared: &PreparedTransaction,
    ) -> Result<SubmitResult, PortError> {
        let mark = mark(authorization);
        let handed = self.list.rows.assignment(&mark).await;
        let handed = handed.map_err(|error| temporary(OPERATION, error))?;
        let name = tagged(prepared);
        if handed.is_none() && name.is_none() && self.chain.has_own_keys() {
            return self.chain.submit(authorization, prepared).await;
        }
        self.chain.gate().if_open(OPERATION)?;
        let AssignedPayment {
            mut member,
            assignment: mut handed,
            ..
        } = self.get_or_assign(OPERATION, authorization, name).await?;
        // No earlier request has an unknown outcome.
        let mut first = self.take_unsent(&mark);
        let how = lookup_depth(first);
        let look = self
            .chain
            .chain_status(authorization, handed.transaction.as_deref(), how);
        if let Some(end) = final_result(look.await) {
            return end;
        }
        let body = self.chain.request_body(authorization, &self.list.chain).await;
        let body = body.inspect_err(|_| {
            if first {
                self.mark_unsent(mark);
            }
        })?;
        if first {
            match self.verify(authorization, &body, (member, handed)).await? {
                Verification::Settle(by, row, is_first) => (member, handed, first) = (by, row, is_first),
                Verification::Done(end) => return end,
            }
        }
        let mut pause = self.intervals.retry;
        loop {
            let answer = tokio::select! {
                biased;
                end = self.wait_for_outcome(authorization, &handed, lookup_depth(first)) => return end,
                answer = member.client.settle(&body) => answer,
            };
            if let SettleResult::Declined(decline) = &answer
                && let Some(end) = self.declined(authorization, (member, &handed, first), decline).await
            {
                return end;
            }
            first = false;
            self.apply_response(member, authorization, (&mut handed, answer))
                .await?;
            let landed = self.wait_for_outcome(authorization, &handed, LookupDepth::QueryNodes);
            if let Ok(end) = tokio::time::timeout(pause, landed).await {
                return end;
            }
            pause = MAX_PAUSE.min(pause.saturating_mul(2));
        }
    }

    /// Queries `/verify` before the first settlement request, and another facilitator if one was never reached. Any
    /// unclear response is an unknown outcome: the facilitator may settle a payment that it has seen.
    async fn verify<'a>(
        &'a self,
        authorization: &Authorization,
        body: &Value,
        (mut member, mut handed): (&'a Member, Assignment),
    ) -> Result<Verification<'a>, PortError> {
        let mark = mark(authorization);
        loop {
            match member.client.verify(body).await {
                Ok(VerifyResult::Valid) => {
                    self.list.record_success(member);
                    return Ok(Verification::Settle(member, handed, true));
                }
                Ok(VerifyResult::Used) => return Ok(Verification::Settle(member, handed, false)),
                Ok(VerifyResult::Declined(decline)) => {
                    let end = self.declined(authorization, (member, &handed, true), &decline).await;
                    return Ok(match end {
                        Some(end) => Verification::Done(end),
                        None => Verification::Settle(member, handed, false),
                    });
                }
                Ok(VerifyResult::Unknown(why)) => {
                    self.list.record_failure(member, &why);
                    return Ok(Verification::Settle(member, handed, false));
                }
                Err(lost) => {
                    self.list.record_failure(member, &lost.to_string());
                    if !lost.unsent {
                        return Ok(Verification::Settle(member, handed, false));
                    }
                    // It was never reached: another facilitator may get the payment.
                    self.mark_unsent(mark);
                    let forgotten = self.list.rows.forget(&mark).await;
                    forgotten.map_err(|error| temporary(OPERATION, error))?;
                    let other = self.list.choose().map(|next| next.client.name());
                    let is_bound = self.chain.fee_payer(authorization).is_some();
                    if is_bound || other.is_none_or(|name| name == member.client.name()) || self.list.all_paused() {
                        return Ok(Verification::Done(Ok(SubmitResult::Declined(not_sent_decline(
                            member, &lost,
                        )))));
                    }
                    let next = self.get_or_assign(OPERATION, authorization, None).await?;
                    if !self.take_unsent(&mark) || !next.is_new {
                        return Ok(Verification::Settle(next.member, next.assignment, false));
                    }
                    (member, handed) = (next.member, next.assignment);
                }
            }
        }
    }

    /// The effect of a facilitator's decline. It is the result of a first request, unless the chain shows the payment
    /// or cannot be read.
    async fn declined(
        &self,
        authorization: &Authorization,
        (member, handed, first): (&Member, &Assignment, bool),
        decline: &Decline,
    ) -> Option<Result<SubmitResult, PortError>> {
        let named = handed.transaction.as_deref();
        let newest = self.chain.chain_status(authorization, named, LookupDepth::Newest).await;
        let proven = newest.is_ok();
        if let Some(end) = final_result(newest) {
            return Some(end);
        }
        if !(first && proven) {
            return None;
        }
        self.list.record_success(member);
        self.mark_unsent(mark(authorization));
        Some(Ok(SubmitResult::Declined(decline.clone())))
    }

    /// Records a response: the health of the facilitator, and the transaction that it names.
    async fn apply_response(
        &self,
        member: &Member,
        authorization: &Authorization,
        (handed, answer): (&mut Assignment, SettleResult),
    ) -> Result<(), PortError> {
        let named = match answer {
            SettleResult::Reported(transaction) => {
                self.list.record_success(member);
                Some(transaction)
            }
            SettleResult::Unknown { transaction, reason } => {
                self.list.record_failure(member, &reason);
                transaction
            }
            SettleResult::Declined(decline) => {
                let (facilitator, reason) = (member.client.name(), decline.reason.as_str());
                tracing::warn!(
                    facilitator,
                    reason,
                    "a decline after an unknown outcome proves nothing: the chain is read"
                );
                None
            }
            SettleResult::Used => None,
        };
        let Some(named) = named.filter(|named| handed.transaction.as_ref() != Some(named)) else {
            return Ok(());
        };
        if !self.chain.matches_payment(authorization, &named) {
            let facilitator = member.client.name();
            tracing::warn!(
                facilitator,
                named,
                "a facilitator names a transaction that is not of the payment"
            );
            return Ok(());
        }
        handed.transaction = Some(named);
        let noted = self.list.rows.update(&mark(authorization), handed).await;
        noted.map_err(|failed| error(ErrorKind::Unknown, OPERATION, failed))
    }

    /// Waits until the chain shows the outcome of the payment.
    async fn wait_for_outcome(
        &self,
        authorization: &Authorization,
        handed: &Assignment,
        how: LookupDepth,
    ) -> Result<SubmitResult, PortError> {
        let transaction = handed.transaction.as_deref();
        loop {
            let look = self.chain.chain_status(authorization, transaction, how).await;
            if let Some(end) = final_result(look) {
                return end;
            }
            tokio::time::sleep(self.intervals.poll).await;
        }
    }
}

/// The decline of a payment that no facilitator has seen.
fn not_sent_decline(member: &Member, lost: &NoResponse) -> Decline {
    Decline {
        reason: "unexpected_settle_error".into(),
        message: format!(
            "no facilitator could be reached, and nothing was sent: {}: {lost}",
            member.client.name()
        )
        .into(),
    }
}

/// Result of `/verify`.
enum Verification<'a> {
    /// This facilitator settles it. False: it may already have been settled.
    Settle(&'a Member, Assignment, bool),
    Done(Result<SubmitResult, PortError>),
}

/// Before a first request, nodes cannot show anything.
const fn lookup_depth(first: bool) -> LookupDepth {
    match first {
        true => LookupDepth::Known,
        false => LookupDepth::QueryNodes,
    }
}

/// The result of a look-up if it ends the submission; an error never does.
fn final_result(look: Result<ChainStatus, PortError>) -> Option<Result<SubmitResult, PortError>> {
    match look.ok()? {
        ChainStatus::Confirmed { transaction, finality } => Some(Ok(SubmitResult::Settled { transaction, finality })),
        ChainStatus::Impossible => Some(Err(error(
            ErrorKind::Permanent,
            OPERATION,
            "the payment can never land",
        ))),
        ChainStatus::Pending => None,
    }
}
