//! The submission of a payment through its facilitator: its answers move nothing but the next step, the chain decides.

use std::time::Duration;

use purser_actors::port::{
    Authorization, ChainStatus, Decline, ErrorKind, PortError, PreparedTransaction, SubmitResult,
};
use serde_json::Value;

use super::answer::{Settled, Verified};
use super::client::NoAnswer;
use super::list::Member;
use super::port::{Facilitated, InHand, error, tagged, temporary};
use super::reader::{ChainReader, Look};
use super::rows::{Handed, mark};

const SUBMIT: &str = "submit";
/// The longest pause between two settlements of the same payment.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl<C: ChainReader> Facilitated<C> {
    /// Ends with what the chain shows, or with a definite decline. What stays unknown is waited for: the caller ends the wait.
    pub(super) async fn submit_payment(
        &self,
        authorization: &Authorization,
        prepared: &PreparedTransaction,
    ) -> Result<SubmitResult, PortError> {
        let mark = mark(authorization);
        let handed = self.list.rows.handed(&mark).await;
        let handed = handed.map_err(|error| temporary(SUBMIT, error))?;
        let name = tagged(prepared);
        if handed.is_none() && name.is_none() && self.chain.has_keys() {
            return self.chain.submit(authorization, prepared).await;
        }
        self.chain.gate().if_open(SUBMIT)?;
        let InHand {
            mut member, mut handed, ..
        } = self.in_hand(SUBMIT, authorization, name).await?;
        // No earlier request about it is in doubt.
        let mut first = self.take_unsent(&mark);
        let how = asking(first);
        let look = self.chain.look(authorization, handed.transaction.as_deref(), how);
        if let Some(end) = ended(look.await) {
            return end;
        }
        let body = self.chain.present(authorization, &self.list.chain).await;
        let body = body.inspect_err(|_| {
            if first {
                self.is_unsent(mark);
            }
        })?;
        if first {
            match self.verify(authorization, &body, (member, handed)).await? {
                Verification::Settle(by, row, is_first) => (member, handed, first) = (by, row, is_first),
                Verification::Ended(end) => return end,
            }
        }
        let mut pause = self.waiting.again;
        loop {
            let answer = tokio::select! {
                biased;
                end = self.landed(authorization, &handed, asking(first)) => return end,
                answer = member.client.settle(&body) => answer,
            };
            if let Settled::Declined(decline) = &answer
                && let Some(end) = self.declined(authorization, (member, &handed, first), decline).await
            {
                return end;
            }
            first = false;
            self.learn(member, authorization, (&mut handed, answer)).await?;
            let landed = self.landed(authorization, &handed, Look::Asked);
            if let Ok(end) = tokio::time::timeout(pause, landed).await {
                return end;
            }
            pause = LONGEST_PAUSE.min(pause.saturating_mul(2));
        }
    }

    /// Asks `/verify` before the first settlement, and another facilitator where one was never reached. What is not a clear answer is
    /// unknown: the facilitator may settle what it was shown.
    async fn verify<'a>(
        &'a self,
        authorization: &Authorization,
        body: &Value,
        (mut member, mut handed): (&'a Member, Handed),
    ) -> Result<Verification<'a>, PortError> {
        let mark = mark(authorization);
        loop {
            match member.client.verify(body).await {
                Ok(Verified::Valid) => {
                    self.list.good(member);
                    return Ok(Verification::Settle(member, handed, true));
                }
                Ok(Verified::Used) => return Ok(Verification::Settle(member, handed, false)),
                Ok(Verified::Declined(decline)) => {
                    let end = self.declined(authorization, (member, &handed, true), &decline).await;
                    return Ok(match end {
                        Some(end) => Verification::Ended(end),
                        None => Verification::Settle(member, handed, false),
                    });
                }
                Ok(Verified::Unknown(why)) => {
                    self.list.bad(member, &why);
                    return Ok(Verification::Settle(member, handed, false));
                }
                Err(lost) => {
                    self.list.bad(member, &lost.to_string());
                    if !lost.unsent {
                        return Ok(Verification::Settle(member, handed, false));
                    }
                    // It was never reached: another one may get the payment.
                    self.is_unsent(mark);
                    let forgotten = self.list.rows.forget(&mark).await;
                    forgotten.map_err(|error| temporary(SUBMIT, error))?;
                    let other = self.list.choose().map(|next| next.client.name());
                    let is_bound = self.chain.fee_payer(authorization).is_some();
                    if is_bound || other.is_none_or(|name| name == member.client.name()) || self.list.all_paused() {
                        return Ok(Verification::Ended(Ok(SubmitResult::Declined(unreached(
                            member, &lost,
                        )))));
                    }
                    let next = self.in_hand(SUBMIT, authorization, None).await?;
                    if !self.take_unsent(&mark) || !next.new {
                        return Ok(Verification::Settle(next.member, next.handed, false));
                    }
                    (member, handed) = (next.member, next.handed);
                }
            }
        }
    }

    /// What a facilitator's decline ends. Of a first request it is the answer, unless the chain shows the payment or cannot be read.
    async fn declined(
        &self,
        authorization: &Authorization,
        (member, handed, first): (&Member, &Handed, bool),
        decline: &Decline,
    ) -> Option<Result<SubmitResult, PortError>> {
        let named = handed.transaction.as_deref();
        let newest = self.chain.look(authorization, named, Look::Newest).await;
        let proven = newest.is_ok();
        if let Some(end) = ended(newest) {
            return Some(end);
        }
        if !(first && proven) {
            return None;
        }
        self.list.good(member);
        self.is_unsent(mark(authorization));
        Some(Ok(SubmitResult::Declined(decline.clone())))
    }

    /// Notes what an answer says: how the facilitator is, and the transaction that it names.
    async fn learn(
        &self,
        member: &Member,
        authorization: &Authorization,
        (handed, answer): (&mut Handed, Settled),
    ) -> Result<(), PortError> {
        let named = match answer {
            Settled::Reported(transaction) => {
                self.list.good(member);
                Some(transaction)
            }
            Settled::Unknown { transaction, why } => {
                self.list.bad(member, &why);
                transaction
            }
            Settled::Declined(decline) => {
                let (facilitator, reason) = (member.client.name(), decline.reason.as_str());
                tracing::warn!(
                    facilitator,
                    reason,
                    "a decline after an unknown outcome proves nothing: the chain is read"
                );
                None
            }
            Settled::Used => None,
        };
        let Some(named) = named.filter(|named| handed.transaction.as_ref() != Some(named)) else {
            return Ok(());
        };
        if !self.chain.can_be(authorization, &named) {
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
        noted.map_err(|failed| error(ErrorKind::Unknown, SUBMIT, failed))
    }

    /// Until the chain shows how the payment has ended.
    async fn landed(
        &self,
        authorization: &Authorization,
        handed: &Handed,
        how: Look,
    ) -> Result<SubmitResult, PortError> {
        let transaction = handed.transaction.as_deref();
        loop {
            let look = self.chain.look(authorization, transaction, how).await;
            if let Some(end) = ended(look) {
                return end;
            }
            tokio::time::sleep(self.waiting.look).await;
        }
    }
}

/// Of a payment that no facilitator has seen.
fn unreached(member: &Member, lost: &NoAnswer) -> Decline {
    Decline {
        reason: "unexpected_settle_error".into(),
        message: format!(
            "no facilitator could be reached, and nothing was sent: {}: {lost}",
            member.client.name()
        )
        .into(),
    }
}

/// What `/verify` has brought.
enum Verification<'a> {
    /// This facilitator settles it. False: it may have been settled already.
    Settle(&'a Member, Handed, bool),
    Ended(Result<SubmitResult, PortError>),
}

/// Before a first request there is nothing that nodes could show.
const fn asking(first: bool) -> Look {
    match first {
        true => Look::Known,
        false => Look::Asked,
    }
}

/// What a look at the chain ends; an error of a look ends nothing.
fn ended(look: Result<ChainStatus, PortError>) -> Option<Result<SubmitResult, PortError>> {
    match look.ok()? {
        ChainStatus::Landed { transaction, finality } => Some(Ok(SubmitResult::Settled { transaction, finality })),
        ChainStatus::Impossible => Some(Err(error(ErrorKind::Permanent, SUBMIT, "the payment can never land"))),
        ChainStatus::Pending => None,
    }
}
