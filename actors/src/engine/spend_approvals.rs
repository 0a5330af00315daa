//! Approvals of spends over the account owner's limits: the request of an agent, the owner's decision, and the use.

use purser_storage::StoreError;

use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::entity::agent_wallet::UsableApproval;
use crate::entity::session::AuthMethod;
use crate::entity::spend_approval::{
    Command, ExceededLimit, MAX_OPEN, MAX_OPEN_OF_ONE, Rejection, RoutePurchase, SpendAgent, SpendApproval,
    SpendRequest, SpendTerms, sees_request_of,
};
use crate::id::{SpendApprovalId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, table};
use crate::port::Timestamp;

/// Why a spend over a limit is not made now. Nothing was signed, reserved or charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpendNotApproved {
    /// It waits for the owner.
    Pending(SpendApprovalId),
    /// No approval has the id that was given, or it is another account's.
    NotFound,
    /// The approval that was given is for another spend.
    Mismatch(SpendApprovalId),
    /// The owner declined it.
    Declined(SpendApprovalId),
    /// Its time was over.
    Expired(SpendApprovalId),
    /// It was used.
    Used(SpendApprovalId),
}

/// A spend that an agent asks for.
#[derive(Clone, Debug)]
pub struct AgentSpend {
    /// Exactly what an approval would be for.
    pub terms: SpendTerms,
    /// Note of the agent.
    pub note: Option<String>,
    /// What it buys at one of Purser's own routes.
    pub purchase: Option<RoutePurchase>,
    /// Agent that asks.
    pub agent: SpendAgent,
    /// Approval that the agent names.
    pub approval: Option<SpendApprovalId>,
}

/// What the owner has said about a spend.
pub(super) enum Consent {
    /// Yes, and no spend has used it.
    Given(Box<UsableApproval>),
    /// The spend is not made.
    Missing(SpendNotApproved),
    /// The account has as many open requests as it can have.
    TooMany,
}

impl Engine {
    /// A spend approval by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn spend_approval(&self, id: &SpendApprovalId) -> Result<Option<SpendApproval>, LoadError> {
        let read = self.0.registries.spend_approvals.read(id).await?;
        Ok(read.map(|(approval, _)| approval))
    }

    /// An account's spend approvals that the holder of these credentials sees, newest first, after the given one, at most
    /// `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn spend_approvals_of(
        &self,
        owner: &Wallet,
        reader: AuthMethod,
        after: Option<SpendApprovalId>,
        limit: usize,
    ) -> Result<(Vec<(SpendApprovalId, SpendApproval)>, bool), LoadError> {
        if reader.payment().is_some() {
            return Ok((Vec::new(), false));
        }
        let place =
            |id: SpendApprovalId, approval: &SpendApproval| (Timestamp(u64::MAX - approval.requested_at.0), id.0);
        let mut after = match after {
            None => None,
            Some(id) => {
                let approval = self.spend_approval(&id).await?;
                approval.map(|approval| place(id, &approval))
            }
        };
        let registry = &self.0.registries.spend_approvals;
        let mut seen = Vec::new();
        loop {
            let (page, more) = self.list_owned(registry, owner, SpendApprovalId, after, limit).await?;
            after = page.last().map(|(id, approval)| place(*id, approval)).or(after);
            let ended = !more || page.is_empty();
            let own = |(_, approval): &(SpendApprovalId, SpendApproval)| sees_request_of(reader, approval.agent.key);
            seen.extend(page.into_iter().filter(own));
            if seen.len() > limit {
                seen.truncate(limit);
                return Ok((seen, true));
            }
            if ended {
                return Ok((seen, false));
            }
            // The owner sees every one, so the rest is known without reading it.
            if reader.is_owner() {
                return Ok((seen, true));
            }
        }
    }

    /// Approves a spend once. The caller has verified that the owner of the account decides.
    ///
    /// # Errors
    /// When it has ended; [`Rejection::NotFound`] when it does not exist.
    pub async fn approve_spend(&self, id: SpendApprovalId) -> Result<(), OperationError<Rejection>> {
        self.decide_spend(id, Command::Approve).await
    }

    /// Declines a spend, or takes an unused approval back. The caller has verified that the owner of the account
    /// decides.
    ///
    /// # Errors
    /// When it has ended otherwise; [`Rejection::NotFound`] when it does not exist.
    pub async fn decline_spend(&self, id: SpendApprovalId) -> Result<(), OperationError<Rejection>> {
        self.decide_spend(id, Command::Decline).await
    }

    async fn decide_spend(&self, id: SpendApprovalId, command: Command) -> Result<(), OperationError<Rejection>> {
        let unavailable = |_| OperationError::Unavailable;
        for _ in 0..MAX_CONFLICT_RETRIES {
            match self.0.registries.spend_approvals.ask(id, command.clone()).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
            // A spend has used it, and its job has not reported that yet.
            if let Some(approval) = self
                .spend_approval(&id)
                .await
                .map_err(|_| OperationError::Unavailable)?
                && approval.is_usable(self.0.clock.now())
                && !self.is_unused(id).await.map_err(unavailable)?
            {
                return Err(OperationError::Rejected(Rejection::Used));
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Whether no spend has used an approval that was given.
    pub(super) async fn is_unused(&self, id: SpendApprovalId) -> Result<bool, StoreError> {
        Ok(self.0.store.read(&table::approved_spend(id)).await?.is_some())
    }

    /// After a restore, ends the approvals that were given and not used: the lost history may have used them.
    pub(super) async fn end_restored_approvals(&self) -> Result<(), StoreError> {
        let rows = self.0.store.scan(&[table::APPROVED_SPEND], None, usize::MAX).await?;
        for (key, _) in rows {
            let id = key.last_chunk().map(|id| SpendApprovalId(u128::from_be_bytes(*id)));
            let id = id.ok_or_else(|| StoreError::Corrupt("an approval without an id".to_owned()))?;
            match self.decide_spend(id, Command::EndByRestore).await {
                Ok(()) | Err(OperationError::Rejected(_)) => {}
                Err(error) => return Err(StoreError::Io(format!("{error:?}"))),
            }
        }
        Ok(())
    }

    /// The approval that an agent names for a spend.
    pub(super) async fn named_consent(
        &self,
        owner: &Wallet,
        terms: &SpendTerms,
        id: SpendApprovalId,
    ) -> Result<Consent, LoadError> {
        let approval = self.spend_approval(&id).await?.filter(|known| known.owner == *owner);
        let Some(approval) = approval else {
            return Ok(Consent::Missing(SpendNotApproved::NotFound));
        };
        if approval.terms != *terms {
            return Ok(Consent::Missing(SpendNotApproved::Mismatch(id)));
        }
        self.consent_of(id, &approval).await
    }

    async fn consent_of(&self, id: SpendApprovalId, approval: &SpendApproval) -> Result<Consent, LoadError> {
        let is_over = self.0.clock.now() >= approval.expires_at;
        Ok(match approval.end() {
            Some(Rejection::Declined) => Consent::Missing(SpendNotApproved::Declined(id)),
            Some(Rejection::Used) => Consent::Missing(SpendNotApproved::Used(id)),
            Some(_) => Consent::Missing(SpendNotApproved::Expired(id)),
            None if is_over => Consent::Missing(SpendNotApproved::Expired(id)),
            None if !approval.is_usable(self.0.clock.now()) => Consent::Missing(SpendNotApproved::Pending(id)),
            None if !self.is_unused(id).await? => Consent::Missing(SpendNotApproved::Used(id)),
            None => Consent::Given(Box::new(UsableApproval {
                id,
                terms: approval.terms.clone(),
                limits: approval.exceeded.iter().map(|over| over.limit).collect(),
                expires_at: approval.expires_at,
            })),
        })
    }

    /// How many of these open requests are of one API key, or of one session without a key.
    async fn open_requests_of(&self, ids: &[SpendApprovalId], agent: SpendAgent) -> Result<usize, LoadError> {
        let mut count = 0;
        for id in ids {
            let Some(open) = self.spend_approval(id).await? else {
                continue;
            };
            let is_same = match agent.key {
                Some(_) => open.agent.key == agent.key,
                None => open.agent == agent,
            };
            count += usize::from(is_same);
        }
        Ok(count)
    }

    /// What the owner has said about a spend over these limits. If no one has asked yet, this asks. A call that names an
    /// approval asks for no other one, even if that was used meanwhile.
    pub(super) async fn consent(
        &self,
        owner: Wallet,
        spend: &AgentSpend,
        exceeded: &[ExceededLimit],
    ) -> Result<Consent, LoadError> {
        let terms = &spend.terms;
        if let Some(named) = spend.approval {
            return self.named_consent(&owner, terms, named).await;
        }
        let row = table::requested_spend(&owner, &terms.fingerprint());
        for _ in 0..MAX_CONFLICT_RETRIES {
            if let Some(known) = self.0.store.read(&row).await? {
                let id = known.value.first_chunk().map_or(0, |id| u128::from_be_bytes(*id));
                let id = SpendApprovalId(id);
                match self.spend_approval(&id).await? {
                    Some(approval) => return self.consent_of(id, &approval).await,
                    None => return Err(StoreError::Corrupt(format!("{id} is requested and not there")).into()),
                }
            }
            let slots = table::spend_approval_slots(&owner);
            let rows = self.0.store.scan(&slots, None, usize::from(MAX_OPEN)).await?;
            let taken: Vec<u8> = rows.iter().filter_map(|(key, _)| key.last().copied()).collect();
            let ids = rows.iter().filter_map(|(_, row)| row.value.first_chunk());
            let ids: Vec<_> = ids.map(|id| SpendApprovalId(u128::from_be_bytes(*id))).collect();
            if self.open_requests_of(&ids, spend.agent).await? >= MAX_OPEN_OF_ONE {
                return Ok(Consent::TooMany);
            }
            // The lowest one, so that two equal requests at once choose the same.
            let Some(slot) = (0..MAX_OPEN).find(|slot| !taken.contains(slot)) else {
                return Ok(Consent::TooMany);
            };
            let id = SpendApprovalId::mint(owner.shard(), self.0.entropy.random());
            let request = SpendRequest {
                owner,
                terms: terms.clone(),
                exceeded: exceeded.to_vec(),
                agent: spend.agent,
                note: spend.note.clone(),
                purchase: spend.purchase.clone(),
                slot,
            };
            match self
                .0
                .registries
                .spend_approvals
                .ask(id, Command::Request(Box::new(request)))
                .await
            {
                Ok(()) => return Ok(Consent::Missing(SpendNotApproved::Pending(id))),
                Err(AskError::Conflict) => {}
                Err(error) => return Err(StoreError::Io(format!("{error:?}")).into()),
            }
        }
        Ok(Consent::TooMany)
    }
}
