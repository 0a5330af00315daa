//! What agents take out of the balances of an account: withdrawals, and payouts and transfers to banks. This is the one
//! place that decides whether an agent may do that now.
//!
//! A spend within the limits counts toward them. A spend over a limit is refused, or waits for the owner if the owner
//! wants to be asked. Whichever entity executes it, the batch that makes it counts it and uses its approval up, on the
//! condition that both are as they were read. What an owner does at the account page is not limited.

use purser_storage::{StoreError, codec};

use super::claim_lock::ClaimLock;
use super::spend_approvals::{AgentSpend, Consent, SpendNotApproved};
use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::entity::account::{Account, BalanceLimits};
use crate::entity::agent_wallet::UsableApproval;
use crate::entity::api_key::{KeyAllowance, KeyUsage};
use crate::entity::spend_approval::{self, ExceededLimit, SpendUse};
use crate::id::{JobId, Wallet};
use crate::kernel::idempotency::{ExtraRows, ExtraWrite};
use crate::kernel::registry::{EntityRegistry, LoadError};
use crate::kernel::{AskError, Entity, IdempotencyRecorder, OutboxJob, table};
use crate::money::Usdc;

/// Why an agent may not take money from a balance now. Nothing was held or taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpendDenied {
    /// A limit of the account owner refuses it.
    OverLimit(ExceededLimit),
    /// It needs an approval of the owner.
    NotApproved(SpendNotApproved),
    /// The session or the API key that spends has ended since the call began.
    AccessEnded,
}

/// A spend from a balance of an account.
#[derive(Clone, Debug)]
pub(super) struct BalanceSpend<'a> {
    /// Account whose money it is.
    pub(super) owner: Wallet,
    /// What the agent asks for; `None` if the owner does it at the account page.
    pub(super) asked: Option<&'a AgentSpend>,
    /// What it will be.
    pub(super) used_by: SpendUse,
}

type SpendResult<E> = Result<<E as Entity>::Reply, OperationError<<E as Entity>::Rejection, SpendDenied>>;

/// What was read to decide on one spend.
struct Allowance {
    account: Option<Account>,
    limits: BalanceLimits,
    /// What agents have taken on one day, and the revision of the row with it.
    usage: (KeyUsage, u64),
    key: Option<KeyAllowance>,
}

impl Engine {
    /// What agents have taken from the balances of an account today (UTC).
    ///
    /// # Errors
    /// When storage fails.
    pub async fn taken_by_agents_today(&self, owner: &Wallet) -> Result<Usdc, StoreError> {
        let (usage, _) = self.balance_usage(owner).await?;
        Ok(usage.used_on(self.0.clock.now()))
    }

    async fn balance_usage(&self, owner: &Wallet) -> Result<(KeyUsage, u64), StoreError> {
        let Some(row) = self.0.store.read(&table::balance_usage(owner)).await? else {
            return Ok((KeyUsage::default(), 0));
        };
        let usage = codec::decode(&row.value).map_err(|e| StoreError::Corrupt(e.to_string()))?;
        Ok((usage, row.revision))
    }

    async fn balance_allowance(&self, owner: &Wallet, asked: &AgentSpend) -> Result<Allowance, LoadError> {
        let account = self.account(owner).await?;
        let limits = account.as_ref().map(|account| account.balance_limits);
        Ok(Allowance {
            account,
            limits: limits.unwrap_or_default(),
            usage: self.balance_usage(owner).await?,
            key: match asked.agent.key {
                Some(key) => Some(self.key_allowance(key).await?),
                None => None,
            },
        })
    }

    /// Executes a command that takes money from a balance, if the agent may do that now. `refusal` says what would
    /// refuse it in any case, by the account: the owner is not asked about that.
    pub(super) async fn ask_within_limits<E: Entity>(
        &self,
        registry: &EntityRegistry<E>,
        id: E::Id,
        command: E::Command,
        spend: BalanceSpend<'_>,
        refusal: impl Fn(Option<&Account>) -> Option<E::Rejection>,
        recorder: Option<IdempotencyRecorder<E>>,
    ) -> SpendResult<E>
    where
        E::Command: Clone,
    {
        let BalanceSpend { owner, asked, used_by } = spend;
        let Some(asked) = asked else {
            let done = self.ask_idempotent(registry, id, command, recorder).await;
            return done.map_err(OperationError::widen);
        };
        let unread = |_: LoadError| OperationError::Unavailable;
        let unread_row = |_: StoreError| OperationError::Unavailable;
        let denied = |why| OperationError::Specific(SpendDenied::NotApproved(why));
        let mut given = None;
        if let Some(named) = asked.approval {
            match self.named_consent(&owner, &asked.terms, named).await.map_err(unread)? {
                Consent::Given(approval) => given = Some(approval),
                Consent::Missing(why) => return Err(denied(why)),
                Consent::TooMany => {}
            }
        }
        // The spends of an account take turns, so that none loses to the condition of the row that counts them.
        let _owner_turn = ClaimLock::acquire(&self.0.key_turns, owner.digest()).await;
        let _key_turn = self.key_turn(asked.agent.key).await;
        for _ in 0..MAX_CONFLICT_RETRIES {
            let allowance = self.balance_allowance(&owner, asked).await.map_err(unread)?;
            if self.has_agent_access_ended(asked.agent).await.map_err(unread)? {
                return Err(OperationError::Specific(SpendDenied::AccessEnded));
            }
            let (amount, now) = (asked.terms.amount, self.0.clock.now());
            let exceeded = allowance.exceeded(asked, now);
            let passes = |approval: &&UsableApproval| {
                allowance.limits.approvals
                    && now < approval.expires_at
                    && exceeded.iter().all(|over| approval.limits.contains(&over.limit))
            };
            let used = given.as_deref().filter(|_| !exceeded.is_empty()).filter(passes);
            if let Some(over) = exceeded.first()
                && used.is_none()
            {
                let refused = || OperationError::Specific(SpendDenied::OverLimit(*over));
                if !allowance.limits.approvals {
                    return Err(refused());
                }
                if let Some(why) = refusal(allowance.account.as_ref()) {
                    return Err(OperationError::Rejected(why));
                }
                // A call that names an approval asks for no other one, even if that was used meanwhile.
                let consent = match asked.approval {
                    Some(named) => self.named_consent(&owner, &asked.terms, named).await,
                    None => self.consent(owner, asked, &exceeded).await,
                };
                match consent.map_err(unread)? {
                    Consent::Given(approval) if given.is_none() => {
                        given = Some(approval);
                        continue;
                    }
                    Consent::Missing(why) => {
                        // The same request has used it, and its response is known.
                        if let Some(recorder) = &recorder
                            && self.is_recorded(recorder.slot()).await.map_err(unread_row)?
                        {
                            return Err(OperationError::AlreadyUsed);
                        }
                        return Err(denied(why));
                    }
                    // It was given for other limits than those that are exceeded now, or there are too many.
                    Consent::Given(_) | Consent::TooMany => return Err(refused()),
                }
            }
            let mut rows = allowance.count(&owner, amount, now);
            let used = used.map(|approval| approval.id);
            if let Some(approval) = used {
                // Of two spends at once, the row exists for one.
                rows.delete(table::approved_spend(approval));
                let job = spend_approval::Job::RecordSpendApprovalUse { approval, used_by };
                let job_id = JobId(owner.shard().assign(self.0.entropy.random()));
                rows.enqueue(OutboxJob::new(job_id, job.into(), now));
            }
            let extra = Some(ExtraWrite::Spend(recorder.clone(), rows));
            match registry.ask_with_extra(id, command.clone(), extra).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
            if let Some(recorder) = &recorder
                && self.is_recorded(recorder.slot()).await.map_err(unread_row)?
            {
                return Err(OperationError::AlreadyUsed);
            }
            if let Some(approval) = used
                && !self.is_unused(approval).await.map_err(unread_row)?
            {
                return Err(denied(SpendNotApproved::Used(approval)));
            }
        }
        Err(OperationError::Unavailable)
    }
}

impl Allowance {
    /// Limits that the spend exceeds: those of the account, then those of the agent's API key.
    fn exceeded(&self, asked: &AgentSpend, now: crate::port::Timestamp) -> Vec<ExceededLimit> {
        let amount = asked.terms.amount;
        let mut exceeded = self.limits.exceeded(amount, self.usage.0.used_on(now));
        exceeded.extend(self.key.iter().flat_map(|key| key.exceeded(amount, now)));
        exceeded
    }

    /// Rows that count the spend. What fails later still counts for the day.
    fn count(&self, owner: &Wallet, amount: Usdc, now: crate::port::Timestamp) -> ExtraRows {
        let mut rows = ExtraRows::default();
        let (usage, revision) = &self.usage;
        let counted = codec::encode(&usage.plus(amount, now));
        rows.put_revision(table::balance_usage(owner), *revision, counted);
        if let Some(key) = &self.key {
            let counted = codec::encode(&key.usage.plus(amount, now));
            rows.put_revision(table::key_usage(key.key), key.revision, counted);
        }
        rows
    }
}
