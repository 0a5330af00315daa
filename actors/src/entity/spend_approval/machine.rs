//! State machine of a spend approval.

use super::{
    APPROVED_MS, Command, Event, Job, PENDING_MS, Rejection, SpendApproval, SpendApprovalView, SpendRequest, SpendUse,
    Status,
};
use crate::id::{JobId, SpendApprovalId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, table};
use crate::port::Timestamp;

impl SpendApproval {
    fn request(id: SpendApprovalId, request: SpendRequest, context: &Context) -> Decision<Self> {
        let (owner, number) = (request.owner, id.0.to_be_bytes().to_vec());
        let newest_first = Timestamp(u64::MAX - context.now.0);
        Decision::answer(())
            // Of two equal requests at once, one is made. The number of slots limits the number of open ones.
            .put_new(
                table::requested_spend(&owner, &request.terms.fingerprint()),
                number.clone(),
            )
            .put_new(table::spend_approval_slot(&owner, request.slot), number)
            .put(
                table::owner_index_entry(&owner, EntityKind::SpendApproval, newest_first, id.0),
                Vec::new(),
            )
            .enqueue_at(context.now.plus_ms(PENDING_MS), Job::ExpireSpendApproval(id), context)
            .event(Event::Requested(Box::new(request), context.now))
    }

    fn approve(&self, id: SpendApprovalId, context: &Context) -> Result<Decision<Self>, Rejection> {
        match self.end() {
            Some(end) => return Err(end),
            None if context.now >= self.expires_at => return Err(Rejection::Expired),
            None if self.status == Status::Approved => return Ok(Decision::answer(())),
            None => {}
        }
        Ok(Decision::answer(())
            .requires_absent(table::frozen(&self.owner))
            .put_new(table::approved_spend(id), Vec::new())
            .enqueue_at(context.now.plus_ms(APPROVED_MS), Job::ExpireSpendApproval(id), context)
            .event(Event::Approved(context.now)))
    }

    /// Ends it. An approval is revoked by deleting its row; if a spend was faster, the batch is refused.
    fn close(&self, id: SpendApprovalId) -> Decision<Self> {
        let done = Decision::answer(()).delete(table::spend_approval_slot(&self.owner, self.slot));
        match self.status {
            Status::Approved => done.delete(table::approved_spend(id)),
            _ => done,
        }
    }

    fn decline(&self, id: SpendApprovalId, context: &Context) -> Result<Decision<Self>, Rejection> {
        match self.end() {
            Some(Rejection::Declined | Rejection::AgentEnded) => Ok(Decision::answer(())),
            Some(end) => Err(end),
            None => Ok(self.close(id).event(Event::Declined(context.now))),
        }
    }

    fn requested_row(&self) -> purser_storage::RowKey {
        table::requested_spend(&self.owner, &self.terms.fingerprint())
    }

    fn expire(&self, id: SpendApprovalId, job: JobId, context: &Context) -> Decision<Self> {
        let now = context.now;
        match self.status {
            Status::Pending | Status::Approved if now >= self.expires_at => self
                .close(id)
                .delete(self.requested_row())
                .completes_job(job)
                .event(Event::Expired(now)),
            Status::Declined if now >= self.requested_at.plus_ms(PENDING_MS) => Decision::answer(())
                .delete(self.requested_row())
                .completes_job(job)
                .event(Event::DeclineEnded(now)),
            _ => Decision::answer(()).completes_job(job),
        }
    }

    /// The same spend can be requested again: by the owner's next agent, or once agents may act again.
    fn end_with_agent(&self, id: SpendApprovalId, context: &Context) -> Decision<Self> {
        match self.status {
            Status::Pending | Status::Approved => self
                .close(id)
                .delete(self.requested_row())
                .event(Event::AgentEnded(context.now)),
            _ => Decision::answer(()),
        }
    }

    fn end_by_restore(&self, id: SpendApprovalId, context: &Context) -> Decision<Self> {
        match self.status {
            Status::Approved => self
                .close(id)
                .delete(self.requested_row())
                .event(Event::Expired(context.now)),
            _ => Decision::answer(()),
        }
    }

    fn record_use(&self, job: JobId, used_by: SpendUse, context: &Context) -> Result<Decision<Self>, Rejection> {
        if self.status != Status::Approved {
            return Err(self.end().unwrap_or(Rejection::NotApproved));
        }
        Ok(Decision::answer(())
            .delete(table::spend_approval_slot(&self.owner, self.slot))
            .delete(self.requested_row())
            .completes_job(job)
            .event(Event::Used(used_by, context.now)))
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    fn decided(self, status: Status, at: Timestamp, expires_at: Timestamp) -> Self {
        Self {
            decided_at: Some(at),
            expires_at,
            ..self.at(status, at)
        }
    }
}

impl Entity for SpendApproval {
    const KIND: EntityKind = EntityKind::SpendApproval;
    const CREATED_BY_COMMAND: bool = true;

    type Id = SpendApprovalId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = SpendApprovalView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &SpendApprovalId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        match (this, command) {
            (None, Command::Request(request)) => Ok(Self::request(*id, *request, context)),
            (None, _) => Err(Rejection::NotFound),
            // Ids are minted for one request.
            (Some(approval), Command::Request(_)) => Err(approval.end().unwrap_or(Rejection::NotApproved)),
            (Some(approval), Command::Approve) => approval.approve(*id, context),
            (Some(approval), Command::Decline) => approval.decline(*id, context),
            (Some(approval), Command::Expire { job }) => Ok(approval.expire(*id, job, context)),
            (Some(approval), Command::EndByRestore) => Ok(approval.end_by_restore(*id, context)),
            (Some(approval), Command::EndWithAgent) => Ok(approval.end_with_agent(*id, context)),
            (Some(approval), Command::RecordUse { job, used_by }) => approval.record_use(job, used_by, context),
        }
    }

    fn apply(this: Option<Self>, _: &SpendApprovalId, event: &Event) -> Result<Self, InvalidTransition> {
        match (this, event) {
            (None, Event::Requested(request, at)) => {
                let SpendRequest {
                    owner,
                    terms,
                    exceeded,
                    agent,
                    note,
                    purchase,
                    slot,
                } = (**request).clone();
                Ok(Self {
                    owner,
                    terms,
                    exceeded,
                    agent,
                    note,
                    purchase,
                    slot,
                    requested_at: *at,
                    expires_at: at.plus_ms(PENDING_MS),
                    decided_at: None,
                    updated_at: *at,
                    status: Status::Pending,
                })
            }
            (Some(approval), Event::Approved(at)) if approval.status == Status::Pending => {
                Ok(approval.decided(Status::Approved, *at, at.plus_ms(APPROVED_MS)))
            }
            (Some(approval), Event::Declined(at)) if approval.is_open() => {
                let expires_at = approval.expires_at;
                Ok(approval.decided(Status::Declined, *at, expires_at))
            }
            (Some(approval), Event::Expired(at)) if approval.is_open() => Ok(approval.at(Status::Expired, *at)),
            (Some(approval), Event::AgentEnded(at)) if approval.is_open() => Ok(approval.at(Status::AgentEnded, *at)),
            (Some(approval), Event::Used(used_by, at)) if approval.status == Status::Approved => {
                Ok(approval.at(Status::Used(*used_by), *at))
            }
            (Some(approval), Event::DeclineEnded(at)) if approval.status == Status::Declined => {
                Ok(approval.at(Status::DeclinedEnded, *at))
            }
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &SpendApprovalId) -> SpendApprovalView<'_> {
        SpendApprovalView::of(self, id)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
