//! A spend's way: signed once, durable, then sent until its fate is known.

use std::time::Duration;

use purser_storage::planted::{self, Bug};

use super::gate::Pass;
use super::sent_as::{SentAs, leave_out};
use super::{Desk, Done, tell, unreadable, within};
use crate::agent_wallet::{self, AgentWallet};
use crate::engine::departures::gate::Shut;
use crate::id::{PaymentId, SpendId, Wallet};
use crate::kernel::{Effect, Failure, Kind, table};
use crate::payment;
use crate::port::{
    Decline, Departure, ErrorKind, Lookup, PortError, Preparation, Said, SealedKeys, SealedPart, Submitted, Transfer,
};
use crate::spend::{self, Answer, CallFailure, Part, Sending, Signed, Spend, Status, Way};

/// What came of signing a spend.
enum SignedSpend {
    /// With it, of a call, the sealed payment.
    Ready(Signed, Vec<u8>),
    /// Why the chain would refuse it.
    Declined(Decline),
}

impl Desk {
    /// Sign, make durable, send the same until it is known what has become of it, and read the chain.
    pub(super) async fn spend(&self, effect: &Effect, id: SpendId) -> Done {
        let read = self.families.spends.read(&id).await.map_err(unreadable)?;
        let Some((spend, _)) = read else {
            return Err(Failure::temporary("the spend is not there"));
        };
        match &spend.status {
            Status::Reserved => self.begin_spend(effect, id, &spend).await,
            // An earlier try may still be on its way.
            Status::Signed(signed) => self.send(effect, id, (&spend.owner, signed), false).await,
            Status::Sent(signed, _) => self.follow(effect, id, signed, None).await,
            // The effect is deleted by the batch that ends it: this is an echo of it.
            _ => Ok(()),
        }
    }

    async fn begin_spend(&self, effect: &Effect, id: SpendId, spend: &Spend) -> Done {
        let fail = |reason: &str| spend::Command::Fail {
            effect: effect.id,
            reason: reason.into(),
        };
        let pass = self.pass(&spend.owner, Shut::Unquiet, PaymentId::NONE).await?;
        if let Some(transaction) = self.sent_before(id, spend).await? {
            let (effect, request) = (effect.id, effect.origin);
            tracing::warn!(spend = %id, %request, transaction, "a spend was sent by a history that was lost");
            let recognised = spend::Command::Recognised { effect, transaction };
            return tell(&self.families.spends, id, recognised).await;
        }
        if self.is_beyond_cap(id, spend).await? {
            return tell(&self.families.spends, id, fail("daily_cap")).await;
        }
        match self.sign_spend(&pass, id, spend).await {
            Ok(SignedSpend::Declined(decline)) => {
                let reason = &decline.reason;
                tracing::warn!(spend = %id, reason = reason.as_str(), "a spend is declined unsent");
                tell(&self.families.spends, id, fail(reason)).await
            }
            Ok(SignedSpend::Ready(signed, payment)) => {
                let command = spend::Command::Signed {
                    signed: Box::new(signed.clone()),
                    payment,
                };
                let owner = &spend.owner;
                if planted::is(Bug::SpendSentBeforeDurable) {
                    let _early = self.send(effect, id, (owner, &signed), false).await;
                }
                self.tell_signed(owner, (&self.families.spends, id), command).await?;
                let own_first = spend.order.way.is_own();
                self.send(effect, id, (owner, &signed), own_first).await
            }
            Err(error) if self.gives_up(effect, &error) => {
                tracing::warn!(spend = %id, %error, "a spend could not be signed");
                tell(&self.families.spends, id, fail("not_signed")).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The transaction that a history which was lost sent this spend by, if it did. On Base the same spend is taken once,
    /// however often it is signed, and what was sent is this spend by its nonce; on Solana it is known by what it moved.
    async fn sent_before(&self, id: SpendId, spend: &Spend) -> Result<Option<String>, Failure> {
        let since = self.departures.may_be_sent_since(spend.created_at).await;
        let since = since.map_err(|e| Failure::temporary(e.to_string()))?;
        let Some(since) = since.filter(|_| !planted::is(Bug::SpendSignedAnew)) else {
            return Ok(None);
        };
        let every_ms = self.settings.watch_every_ms;
        let sent = self.ports.settlement.sent_by(&spend.from, since);
        let mut sent = self
            .in_time(sent, "sent by")
            .await
            .map_err(|error| Failure::from(error).every_ms(every_ms))?;
        sent.retain(|one| (one.to, one.amount) == (spend.order.to, spend.order.amount));
        if !sent.is_empty() {
            self.without_others(id, spend, &mut sent).await?;
        }
        Ok(sent.first().map(Departure::key))
    }

    /// Leaves out what other spends of the wallet were sent by, one transfer for each: a transaction may have moved more than one.
    async fn without_others(&self, id: SpendId, spend: &Spend, sent: &mut Vec<Departure>) -> Done {
        let mut others = Vec::new();
        self.each_spend(&spend.owner, |other, explained| {
            others.extend((other != id).then(|| SentAs::of(explained)).flatten());
        })
        .await?;
        leave_out(others, sent);
        Ok(())
    }

    /// Shows every spend of an account's wallet.
    pub(super) async fn each_spend(&self, owner: &Wallet, mut show: impl FnMut(SpendId, &Spend) + Send) -> Done {
        const PAGE: usize = 1_000;
        let (all, mut after) = (table::owned(owner, Kind::Spend), None);
        loop {
            let rows = self.store.scan(&all, after.as_deref(), PAGE).await;
            let rows = rows.map_err(|e| Failure::temporary(e.to_string()))?;
            for id in rows.iter().filter_map(|(key, _)| table::made(key)) {
                let id = SpendId(id.1);
                if let Some((spend, _)) = self.families.spends.read(&id).await.map_err(unreadable)? {
                    show(id, &spend);
                }
            }
            match rows.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => return Ok(()),
            }
        }
    }

    async fn sign_spend(&self, _: &Pass, id: SpendId, spend: &Spend) -> Result<SignedSpend, PortError> {
        let key = table::vault(AgentWallet::keys(&spend.owner));
        let unreadable = |message: String| PortError {
            kind: ErrorKind::Temporary,
            operation: "keys",
            message,
        };
        let row = self.store.read(&key).await.map_err(|e| unreadable(e.to_string()))?;
        let sealed = row
            .ok_or_else(|| unreadable("the wallet's keys are not there".into()))?
            .value;
        let keys = SealedKeys {
            owner: spend.owner,
            sealed: &sealed,
        };
        let (custody, settlement) = (&self.ports.custody, &self.ports.settlement);
        match &spend.order.way {
            Way::Transfer => {
                let transfer = Transfer {
                    key: id.0,
                    to: spend.order.to,
                    amount: spend.order.amount,
                };
                let authorization = self.in_time(custody.sign_transfer(keys, &transfer), "sign").await?;
                let preparation = self.in_time(settlement.prepare(&authorization), "prepare").await?;
                Ok(match preparation {
                    Preparation::Ready(prepared) => {
                        let sending = Sending::ToChain(prepared);
                        SignedSpend::Ready(Signed { authorization, sending }, Vec::new())
                    }
                    Preparation::Declined(decline) => SignedSpend::Declined(decline),
                })
            }
            Way::Call { .. } => {
                let call = self.said(id, Part::Call).await?;
                let call = SealedPart {
                    spend: id,
                    sealed: &call,
                };
                let (authorization, payment) = self.in_time(custody.sign_call(keys, call), "sign").await?;
                let sending = Sending::ToServer;
                Ok(SignedSpend::Ready(Signed { authorization, sending }, payment))
            }
        }
    }

    /// One part of what was said for a spend.
    async fn said(&self, id: SpendId, part: Part) -> Result<Vec<u8>, PortError> {
        let said = super::super::spoken(&*self.store, id, part).await;
        said.map_err(|e| PortError {
            kind: ErrorKind::Temporary,
            operation: "read",
            message: e.to_string(),
        })
    }

    /// `own_first`: this is the first time that it is shown to anybody, and that is our own service.
    async fn send(&self, effect: &Effect, id: SpendId, (owner, signed): (&Wallet, &Signed), own_first: bool) -> Done {
        if self.is_barred(owner).await? {
            return self.follow(effect, id, signed, None).await;
        }
        match &signed.sending {
            Sending::ToChain(prepared) => {
                let submitted = self.ports.settlement.submit(&signed.authorization, prepared);
                match self.in_time(submitted, "submit").await {
                    Ok(Submitted::Settled { transaction, .. }) => self.spent(effect, id, transaction).await,
                    // Neither a refusal nor silence proves anything.
                    Ok(Submitted::Declined(decline)) => self.follow(effect, id, signed, Some(decline.reason)).await,
                    Err(_) => self.follow(effect, id, signed, None).await,
                }
            }
            Sending::ToServer => {
                let (call, payment) = (self.said(id, Part::Call).await?, self.said(id, Part::Payment).await?);
                let call = SealedPart {
                    spend: id,
                    sealed: &call,
                };
                let patience = Duration::from_millis(self.settings.paid_call_timeout_ms);
                let asked = self.ports.calls.call(call, &payment);
                let (answer, body) = match within(patience, asked, "paid call").await {
                    Ok(answer) => answer,
                    Err(error) if planted::is(Bug::SpendTimeoutFrees) && error.kind == ErrorKind::Unknown => {
                        let (effect, reason) = (effect.id, error.message.into());
                        return tell(&self.families.spends, id, spend::Command::Fail { effect, reason }).await;
                    }
                    Err(error) if self.gives_up(effect, &error) => {
                        tracing::warn!(spend = %id, %error, "a paid call has no answer");
                        (Answer::none(), Vec::new())
                    }
                    Err(error) => return Err(error.into()),
                };
                let answer = match answer.failure {
                    Some(CallFailure::Unsettled) if self.has_landed(signed).await => answer.though_paid(),
                    _ => answer,
                };
                if own_first && self.is_turned_away(&answer, signed).await? {
                    let effect = effect.id;
                    let command = spend::Command::Declined { effect, answer, body };
                    return tell(&self.families.spends, id, command).await;
                }
                tell(&self.families.spends, id, spend::Command::Answered { answer, body }).await?;
                self.follow(effect, id, signed, None).await
            }
        }
    }

    /// Whether our own service has refused the payment and claimed nothing, or released it unsent. It was shown to nobody else, so
    /// it is never sent.
    async fn is_turned_away(&self, answer: &Answer, signed: &Signed) -> Result<bool, Failure> {
        // 500 is no refusal: whatever failed there may have claimed it since.
        if matches!(answer.http_status, 0 | 500) || answer.failure.is_none() {
            return Ok(false);
        }
        let payment = payment::id_of(&signed.authorization, &self.secret);
        let claimed = self.families.payments.read(&payment).await.map_err(unreadable)?;
        Ok(claimed.is_none_or(|(payment, _)| payment.is_released()))
    }

    async fn has_landed(&self, signed: &Signed) -> bool {
        let lookup = self.ports.settlement.lookup(&signed.authorization, signed.prepared());
        matches!(self.in_time(lookup, "lookup").await, Ok(Lookup::Landed { .. }))
    }

    /// Reads the chain until the payment has landed or never can.
    async fn follow(&self, effect: &Effect, id: SpendId, signed: &Signed, declined: Option<Said>) -> Done {
        let every_ms = self.settings.watch_every_ms;
        let lookup = self.ports.settlement.lookup(&signed.authorization, signed.prepared());
        match self.in_time(lookup, "lookup").await {
            Ok(Lookup::Landed { transaction, .. }) => self.spent(effect, id, transaction).await,
            Ok(Lookup::Impossible) => {
                let command = spend::Command::Fail {
                    effect: effect.id,
                    reason: declined.unwrap_or_else(|| "expired".into()),
                };
                tell(&self.families.spends, id, command).await
            }
            Ok(Lookup::Pending) => Err(Failure::not_yet(every_ms)),
            Err(error) => Err(Failure::from(error).every_ms(every_ms)),
        }
    }

    async fn spent(&self, effect: &Effect, id: SpendId, transaction: String) -> Done {
        let command = spend::Command::Landed {
            effect: effect.id,
            transaction,
        };
        tell(&self.families.spends, id, command).await
    }

    /// Deletes what was said for a spend, once nobody asks for it any more.
    pub(super) async fn forget_spoken(&self, effect: &Effect, id: SpendId) -> Done {
        // All parts of the largest call and answer that settings allow are fewer pieces.
        const MOST: usize = 4_000;
        let rows = self.store.scan(&table::spoken_of(id), None, MOST).await;
        let rows = rows.map_err(|e| Failure::temporary(e.to_string()))?;
        let command = spend::Command::Forget {
            effect: effect.id,
            rows: rows.into_iter().map(|(key, _)| key).collect(),
        };
        tell(&self.families.spends, id, command).await
    }

    /// Tells the wallet that a spend has left, or that its reservation is free.
    pub(super) async fn end_spend(&self, effect: &Effect, wallet: Wallet, spend: SpendId, paid: bool) -> Done {
        let command = agent_wallet::Command::End {
            effect: effect.id,
            spend,
            paid,
        };
        tell(&self.families.agent_wallets, wallet, command).await
    }
}

impl Answer {
    /// Nobody has answered, and nobody is asked any more.
    fn none() -> Self {
        Self {
            http_status: 0,
            content_type: None,
            failure: Some(CallFailure::FetchFailed),
        }
    }
}
