//! Leases of orders and withdrawals that one operator at a time works on.
//!
//! A claim begins a lease with a number higher than every earlier one. When it expires there is no lease holder,
//! whether or not the expiry job has run. A command with an older number is rejected. Only the last number and the last
//! lease holder are stored, in the entity's row. The lease of an operator who has been ended expires at once.

use crate::kernel::job::AnyJob;
use crate::kernel::{Context, Decision, Entity};
use crate::operator::{AuditAction, AuditedAction, OperatorAction, Role};
use crate::port::Timestamp;

/// Operator that holds a lease.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LeaseHolder {
    /// Name of the operator.
    pub by: String,
    /// Expiry of the lease.
    pub until: Timestamp,
}

/// A lease that a claim began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Higher than every earlier number of the entity.
    pub number: u64,
    /// Expiry of the lease.
    pub until: Timestamp,
}

/// Reason why an operator may not act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseError {
    /// Another operator holds the lease.
    HeldByOther(LeaseHolder),
    /// The number is not that of the current lease; the last one had this number.
    Stale(u64),
}

/// Leases of one entity so far.
#[derive(Clone, Copy, Debug)]
pub struct Leases<'a> {
    /// Number of the last lease; 0 before the first.
    pub last: u64,
    /// Last lease holder, while the order is claimed and the lease's expiry is not recorded.
    pub holder: Option<&'a LeaseHolder>,
}

impl<'a> Leases<'a> {
    /// Current lease holder.
    pub fn current(self, now: Timestamp) -> Option<&'a LeaseHolder> {
        self.holder.filter(|holder| now < holder.until)
    }

    /// Checks that no other operator holds it. An administrator may take over a lease.
    ///
    /// # Errors
    /// [`LeaseError::HeldByOther`].
    pub fn check_available_to(self, act: &OperatorAction, now: Timestamp) -> Result<(), LeaseError> {
        match self.current(now) {
            Some(holder) if holder.by != act.operator && act.role != Role::Administrator => {
                Err(LeaseError::HeldByOther(holder.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that this operator holds the current lease, under this number.
    ///
    /// # Errors
    /// [`LeaseError::Stale`].
    pub fn check_held_by(self, act: &OperatorAction, lease: u64, now: Timestamp) -> Result<(), LeaseError> {
        match self.current(now) {
            Some(holder) if lease == self.last && holder.by == act.operator => Ok(()),
            _ => Err(LeaseError::Stale(self.last)),
        }
    }

    /// The lease that a claim begins, and its holder. No lease may be current, not even one of the same operator.
    ///
    /// # Errors
    /// [`LeaseError::HeldByOther`].
    pub fn next(self, act: &OperatorAction, life_ms: u64, now: Timestamp) -> Result<(Lease, LeaseHolder), LeaseError> {
        if let Some(holder) = self.current(now) {
            return Err(LeaseError::HeldByOther(holder.clone()));
        }
        Ok(self.following(act, life_ms, now))
    }

    /// The lease that replaces the current one of the same operator, and its holder. It has a number of its own, so a
    /// request that still has the old number changes nothing.
    ///
    /// # Errors
    /// [`LeaseError::Stale`].
    pub fn renewed(
        self,
        act: &OperatorAction,
        lease: u64,
        life_ms: u64,
        now: Timestamp,
    ) -> Result<(Lease, LeaseHolder), LeaseError> {
        self.check_held_by(act, lease, now)?;
        Ok(self.following(act, life_ms, now))
    }

    fn following(self, act: &OperatorAction, life_ms: u64, now: Timestamp) -> (Lease, LeaseHolder) {
        let lease = Lease {
            number: self.last.saturating_add(1),
            until: now.plus_ms(life_ms),
        };
        let holder = LeaseHolder {
            by: act.operator.clone(),
            until: lease.until,
        };
        (lease, holder)
    }
}

/// Change of a lease.
#[derive(Clone, Debug)]
pub enum LeaseEvent {
    /// A claim began it.
    Claimed(LeaseHolder, Timestamp),
    /// The lease expired at this time.
    Expired(Timestamp),
    /// The operator released it.
    Released(Timestamp),
}

/// An entity that operators claim.
pub trait Leasable: Entity {
    /// Audit action of a claim.
    const CLAIM: AuditAction;
    /// Audit action of a release.
    const RELEASE: AuditAction;
    /// Audit action of a renewal.
    const RENEW: AuditAction;

    /// The entity's reply to a claim, with its new lease, or to another lease command.
    fn lease_reply(lease: Option<Lease>) -> Self::Reply;

    /// Leases so far.
    fn leases(&self) -> Leases<'_>;

    /// The entity's event for a change of its lease.
    fn lease_event(change: LeaseEvent) -> Self::Event;

    /// Job that expires a lease.
    fn expiry_job(id: Self::Id, lease: u64) -> AnyJob;

    /// Claims the entity for a duration in milliseconds.
    ///
    /// # Errors
    /// [`LeaseError::HeldByOther`] while a lease is current.
    fn claim(
        &self,
        id: Self::Id,
        act: &AuditedAction,
        life_ms: u64,
        context: &Context,
    ) -> Result<Decision<Self>, LeaseError> {
        let leases = self.leases();
        let (lease, holder) = leases.next(act, life_ms, context.now)?;
        let decided = Decision::answer(Self::lease_reply(Some(lease)));
        // The last lease has expired and its job has not run yet; when it runs, it ends without an event.
        let decided = match leases.holder {
            Some(_) => decided.event(Self::lease_event(LeaseEvent::Expired(context.now))),
            None => decided,
        };
        Ok(decided
            .audit(act, Self::CLAIM, id, None, context)
            .enqueue_at(lease.until, Self::expiry_job(id, lease.number), context)
            .event(Self::lease_event(LeaseEvent::Claimed(holder, context.now))))
    }

    /// Replaces the operator's current lease by one that lasts this number of milliseconds from now. The job of the old
    /// lease ends without an event when it runs, because its number is no longer the last one.
    ///
    /// # Errors
    /// [`LeaseError::Stale`] unless the operator holds the current lease under this number.
    fn renew(
        &self,
        id: Self::Id,
        act: &AuditedAction,
        lease: u64,
        life_ms: u64,
        context: &Context,
    ) -> Result<Decision<Self>, LeaseError> {
        let (next, holder) = self.leases().renewed(act, lease, life_ms, context.now)?;
        Ok(Decision::answer(Self::lease_reply(Some(next)))
            .event(Self::lease_event(LeaseEvent::Expired(context.now)))
            .audit(act, Self::RENEW, id, None, context)
            .enqueue_at(next.until, Self::expiry_job(id, next.number), context)
            .event(Self::lease_event(LeaseEvent::Claimed(holder, context.now))))
    }

    /// Expires this lease now, because its holder is no operator any more. The entity stays claimed, as after any expiry:
    /// what the holder has done outside is not known. Without an event if the lease has ended.
    fn end_lease(&self, lease: u64, context: &Context) -> Decision<Self> {
        let leases = self.leases();
        let decided = Decision::answer(Self::lease_reply(None));
        match leases.holder {
            Some(_) if lease == leases.last => decided.event(Self::lease_event(LeaseEvent::Expired(context.now))),
            _ => decided,
        }
    }

    /// Releases the claim. The number is the last lease's, also after it expired.
    ///
    /// # Errors
    /// Another operator holds the lease, or the lease number is stale.
    fn release(
        &self,
        id: Self::Id,
        act: &AuditedAction,
        lease: u64,
        context: &Context,
    ) -> Result<Decision<Self>, LeaseError> {
        let leases = self.leases();
        leases.check_available_to(act, context.now)?;
        if lease != leases.last {
            return Err(LeaseError::Stale(leases.last));
        }
        Ok(Decision::answer(Self::lease_reply(None))
            .audit(act, Self::RELEASE, id, None, context)
            .event(Self::lease_event(LeaseEvent::Released(context.now))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::RequestId;

    const NOW: Timestamp = Timestamp(1_000);
    const LAST: u64 = 2;

    fn act(by: &str, role: Role) -> OperatorAction {
        OperatorAction {
            operator: by.into(),
            role,
            request_id: RequestId(9),
        }
    }

    // Checks: who may act while a lease is current, at the moment it expires, and after that; by operator name and
    // lease number. `yes`, `held` (with the holder) or `old` (with the last number).
    #[test]
    fn lease_checks_match_the_table() {
        const TABLE: &str = "
                     running  ended  none
            next       held     yes    yes
            next_ben   held     yes    yes
            next_chief held     yes    yes
            free       yes      yes    yes
            free_ben   held     yes    yes
            free_chief yes      yes    yes
            own        yes      old    old
            own_old    old      old    old
            own_ben    old      old    old
            own_chief  old      old    old
        ";
        let holder = |until| LeaseHolder {
            by: "ana".into(),
            until,
        };
        let (running, ended) = (holder(Timestamp(NOW.0 + 1)), holder(NOW));
        let states = [Some(&running), Some(&ended), None].map(|holder| Leases { last: LAST, holder });
        let (ana, ben) = (act("ana", Role::Operator), act("ben", Role::Operator));
        let chief = act("chief", Role::Administrator);
        let mut lines = TABLE.lines().filter(|line| !line.trim().is_empty()).skip(1);
        let mut asked = 0;
        for line in lines.by_ref() {
            let cells: Vec<&str> = line.split_whitespace().collect();
            for (leases, expected) in states.iter().zip(&cells[1..]) {
                let result = match cells[0] {
                    "next" => leases.next(&ana, 60, NOW).map(drop),
                    "next_ben" => leases.next(&ben, 60, NOW).map(drop),
                    "next_chief" => leases.next(&chief, 60, NOW).map(drop),
                    "free" => leases.check_available_to(&ana, NOW),
                    "free_ben" => leases.check_available_to(&ben, NOW),
                    "free_chief" => leases.check_available_to(&chief, NOW),
                    "own" => leases.check_held_by(&ana, LAST, NOW),
                    "own_old" => leases.check_held_by(&ana, LAST - 1, NOW),
                    "own_ben" => leases.check_held_by(&ben, LAST, NOW),
                    _ => leases.check_held_by(&chief, LAST, NOW),
                };
                let seen = match result {
                    Ok(()) => "yes",
                    Err(LeaseError::HeldByOther(by)) if by == running => "held",
                    Err(LeaseError::Stale(LAST)) => "old",
                    Err(_) => "wrong",
                };
                assert_eq!(seen, *expected, "{line} of {leases:?}");
                asked += 1;
            }
        }
        assert_eq!(asked, 30);
    }

    // Checks: a renewal has the next number and its whole duration, and only the holder of the current lease gets one.
    #[test]
    fn renewal_starts_the_next_lease_of_its_holder() {
        let holder = LeaseHolder {
            by: "ana".into(),
            until: Timestamp(NOW.0 + 1),
        };
        let leases = Leases {
            last: LAST,
            holder: Some(&holder),
        };
        let (ana, ben) = (act("ana", Role::Operator), act("ben", Role::Administrator));
        let renewed = leases.renewed(&ana, LAST, 60, NOW).map(|(lease, _)| lease);
        let until = Timestamp(NOW.0 + 60);
        assert_eq!(
            renewed,
            Ok(Lease {
                number: LAST + 1,
                until
            })
        );
        for (by, lease, now) in [(&ana, LAST - 1, NOW), (&ben, LAST, NOW), (&ana, LAST, holder.until)] {
            let refused = leases.renewed(by, lease, 60, now).map(drop);
            assert_eq!(refused, Err(LeaseError::Stale(LAST)), "{by:?} {lease} {now:?}");
        }
    }

    // Checks: a claim's number is higher than the last, and the lease has the requested duration.
    #[test]
    fn claim_starts_the_next_lease() {
        for last in [0, 7] {
            let leases = Leases { last, holder: None };
            let begun = leases.next(&act("ana", Role::Operator), 60, NOW);
            let until = Timestamp(NOW.0 + 60);
            let expected = (
                Lease {
                    number: last + 1,
                    until,
                },
                LeaseHolder {
                    by: "ana".into(),
                    until,
                },
            );
            assert_eq!(begun, Ok(expected));
        }
    }
}
