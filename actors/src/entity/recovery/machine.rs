//! State machine of a recovery.

use super::{
    AccessCutoff, CancelledBy, Command, Event, Job, READY_MS, Recovery, RecoveryView, Rejection, Status, WAIT_MS,
};
use crate::entity::payment::SessionSeed;
use crate::entity::session::{AuthMethod, Session};
use crate::id::{JobId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, table};
use crate::port::Timestamp;

impl Recovery {
    fn request(account: Wallet, (nonce, expires_s): ([u8; 16], u64), context: &Context) -> Decision<Self> {
        Decision::answer(())
            .requires_absent(table::frozen(&account))
            .put_new(table::nonce(expires_s, &nonce), Vec::new())
            .put_new(table::open_recovery(&account), Vec::new())
            .enqueue_at(context.now.plus_ms(WAIT_MS), Job::ContinueRecovery(account), context)
            .event(Event::Requested(context.now))
    }

    /// A job of an earlier recovery finds a time that is not over, and changes nothing.
    fn continue_when_due(&self, job: JobId, context: &Context) -> Decision<Self> {
        let (now, done) = (context.now, Decision::answer(()).completes_job(job));
        match self.status {
            Status::Waiting if now >= self.ready_at => done
                .enqueue_at(self.expires_at, Job::ContinueRecovery(self.owner), context)
                .event(Event::Ready(now)),
            Status::Ready if now >= self.expires_at => done
                .delete(table::open_recovery(&self.owner))
                .event(Event::Expired(now)),
            _ => done,
        }
    }

    fn complete(
        &self,
        (nonce, expires_s): ([u8; 16], u64),
        session: SessionSeed,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        if !self.is_ready(context.now) {
            return Err(if self.is_open() {
                Rejection::NotReady
            } else {
                Rejection::NotFound
            });
        }
        let (account, until) = (self.owner, context.now);
        let opened = Session::open(session, account, AuthMethod::Wallet, None, context);
        let cutoff = AccessCutoff::completed(context.now, session.id);
        Ok(Decision::answer(())
            .requires_absent(table::frozen(&account))
            .put_new(table::nonce(expires_s, &nonce), Vec::new())
            .delete(table::open_recovery(&account))
            .put(Session::list_key(&account, context.now, session.id), Vec::new())
            .put_as(table::access_cutoff(&account), cutoff.revision(), cutoff.to_bytes())
            .put(table::recovered(&account), session.id.0.to_be_bytes().to_vec())
            .open(opened.map_err(|_| Rejection::NotReady)?)
            .enqueue(Job::RemoveLostPasskeys { account, until }, context)
            .event(Event::Completed(context.now)))
    }

    fn cancel(&self, by: CancelledBy, context: &Context) -> Result<Decision<Self>, Rejection> {
        match self.status {
            Status::Waiting | Status::Ready => Ok(Decision::answer(())
                .delete(table::open_recovery(&self.owner))
                .event(Event::Cancelled(by, context.now))),
            Status::Cancelled => Ok(Decision::answer(())),
            Status::Completed | Status::Expired => Err(Rejection::NotFound),
        }
    }

    fn begun(owner: Wallet, at: Timestamp) -> Self {
        let ready_at = at.plus_ms(WAIT_MS);
        Self {
            owner,
            requested_at: at,
            ready_at,
            expires_at: ready_at.plus_ms(READY_MS),
            ended_at: None,
            cancelled_by: None,
            status: Status::Waiting,
        }
    }

    fn ended(self, status: Status, at: Timestamp) -> Self {
        Self {
            status,
            ended_at: Some(at),
            ..self
        }
    }
}

impl Entity for Recovery {
    const KIND: EntityKind = EntityKind::Recovery;
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = RecoveryView;

    fn decide(
        this: Option<&Self>,
        account: &Wallet,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        match (this, command) {
            // The wallet asks again while it runs: the wait does not begin anew, and the signature is used up. Who sees it
            // cannot complete the recovery with it.
            (
                Some(recovery),
                Command::Request {
                    nonce: (nonce, expires_s),
                },
            ) if recovery.is_open() => Ok(Decision::answer(()).put_new(table::nonce(expires_s, &nonce), Vec::new())),
            (_, Command::Request { nonce }) => Ok(Self::request(*account, nonce, context)),
            (None, _) => Err(Rejection::NotFound),
            (Some(recovery), Command::Continue { job }) => Ok(recovery.continue_when_due(job, context)),
            (Some(recovery), Command::Complete { nonce, session }) => recovery.complete(nonce, session, context),
            (Some(recovery), Command::Cancel(by)) => recovery.cancel(by, context),
            (Some(_), Command::RecordPasskeysRemoved { job }) => Ok(Decision::answer(()).completes_job(job)),
        }
    }

    fn apply(this: Option<Self>, account: &Wallet, event: &Event) -> Result<Self, InvalidTransition> {
        match (this, event) {
            (None, Event::Requested(at)) => Ok(Self::begun(*account, *at)),
            (Some(recovery), Event::Requested(at)) if !recovery.is_open() => Ok(Self::begun(*account, *at)),
            (Some(recovery), Event::Ready(_)) if recovery.status == Status::Waiting => Ok(Self {
                status: Status::Ready,
                ..recovery
            }),
            (Some(recovery), Event::Completed(at)) if recovery.status == Status::Ready => {
                Ok(recovery.ended(Status::Completed, *at))
            }
            (Some(recovery), Event::Cancelled(by, at)) if recovery.is_open() => Ok(Self {
                cancelled_by: Some(*by),
                ..recovery.ended(Status::Cancelled, *at)
            }),
            (Some(recovery), Event::Expired(at)) if recovery.status == Status::Ready => {
                Ok(recovery.ended(Status::Expired, *at))
            }
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, _: &Wallet) -> RecoveryView {
        RecoveryView::of(self)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
