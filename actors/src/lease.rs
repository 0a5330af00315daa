//! Leases of what operators work on, one operator at a time: an order, a withdrawal.
//!
//! A claim begins a lease with a number, higher than every one before. When its time is over nobody holds the thing, whether or
//! not the timer that says so has come; whoever comes back with an old number is refused. What is written down of it is the last
//! number and who held it last, each in its entity's own row.

use crate::kernel::job::Job;
use crate::kernel::{Context, Decision, Entity};
use crate::operator::{AuditedAction, OperatorAction, Role};
use crate::port::Timestamp;

/// Who holds something.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LeaseHolder {
    /// The operator's name.
    pub by: String,
    /// The lease ends then.
    pub until: Timestamp,
}

/// A lease that a claim began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Higher than every one before.
    pub number: u64,
    /// Its end.
    pub until: Timestamp,
}

/// Why an operator may not do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseError {
    /// Somebody else's lease runs.
    HeldByOther(LeaseHolder),
    /// The number is not that of a lease which runs; the last one had this number.
    Stale(u64),
}

/// The leases of one thing so far.
#[derive(Clone, Copy, Debug)]
pub struct Leases<'a> {
    /// The number of the last one; 0 before the first.
    pub last: u64,
    /// Who held it last, while it is claimed and the end of the lease is not told.
    pub holder: Option<&'a LeaseHolder>,
}

impl<'a> Leases<'a> {
    /// Who holds it now.
    pub fn current(self, now: Timestamp) -> Option<&'a LeaseHolder> {
        self.holder.filter(|holder| now < holder.until)
    }

    /// Nobody else holds it, but for an administrator, who takes what others hold.
    ///
    /// # Errors
    /// [`NotYours::Held`].
    pub fn check_available_to(self, act: &OperatorAction, now: Timestamp) -> Result<(), LeaseError> {
        match self.current(now) {
            Some(holder) if holder.by != act.operator && act.role != Role::Administrator => {
                Err(LeaseError::HeldByOther(holder.clone()))
            }
            _ => Ok(()),
        }
    }

    /// This operator's lease runs, under this number.
    ///
    /// # Errors
    /// [`NotYours::OldLease`].
    pub fn check_held_by(self, act: &OperatorAction, lease: u64, now: Timestamp) -> Result<(), LeaseError> {
        match self.current(now) {
            Some(holder) if lease == self.last && holder.by == act.operator => Ok(()),
            _ => Err(LeaseError::Stale(self.last)),
        }
    }

    /// The lease that a claim begins, and who holds it: nobody's may run, not even the same operator's.
    ///
    /// # Errors
    /// [`NotYours::Held`].
    pub fn next(self, act: &OperatorAction, life_ms: u64, now: Timestamp) -> Result<(Lease, LeaseHolder), LeaseError> {
        if let Some(holder) = self.current(now) {
            return Err(LeaseError::HeldByOther(holder.clone()));
        }
        let lease = Lease {
            number: self.last.saturating_add(1),
            until: now.plus_ms(life_ms),
        };
        let holder = LeaseHolder {
            by: act.operator.clone(),
            until: lease.until,
        };
        Ok((lease, holder))
    }
}

/// What happens to a lease.
#[derive(Clone, Debug)]
pub enum LeaseEvent {
    /// It begins.
    Claimed(LeaseHolder, Timestamp),
    /// Its time is over.
    Expired(Timestamp),
    /// It is given back.
    Released(Timestamp),
}

/// An entity that operators claim.
pub trait Leasable: Entity {
    /// The entity's answer to a claim, which begins a lease, or to what else is asked of one.
    fn lease_reply(lease: Option<Lease>) -> Self::Reply;

    /// Its leases so far.
    fn leases(&self) -> Leases<'_>;

    /// What happens to a lease, as an event of its own.
    fn lease_event(change: LeaseEvent) -> Self::Event;

    /// The timer that ends a lease.
    fn expiry_job(id: Self::Id, lease: u64) -> Job;

    /// An operator takes it, for so many milliseconds.
    ///
    /// # Errors
    /// [`NotYours::Held`] while a lease runs.
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
        // The last lease has ended, and its timer has not come yet; when it comes, it ends without a word.
        let decided = match leases.holder {
            Some(_) => decided.event(Self::lease_event(LeaseEvent::Expired(context.now))),
            None => decided,
        };
        Ok(decided
            .audit(act, &format!("{}.claim", Self::KIND.name()), id, None, context)
            .enqueue_at(lease.until, Self::expiry_job(id, lease.number), context)
            .event(Self::lease_event(LeaseEvent::Claimed(holder, context.now))))
    }

    /// An operator puts it back. The number is the last lease's, also of one that has ended.
    ///
    /// # Errors
    /// While somebody else's lease runs, and under another number.
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
            .audit(act, &format!("{}.release", Self::KIND.name()), id, None, context)
            .event(Self::lease_event(LeaseEvent::Released(context.now))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::RequestId;

    const NOW: Timestamp = Timestamp(1_000);
    /// The last lease, which is `ana`'s where there is one.
    const LAST: u64 = 2;

    fn act(by: &str, role: Role) -> OperatorAction {
        OperatorAction {
            operator: by.into(),
            role,
            request_id: RequestId(9),
        }
    }

    // Aim: who may do what while a lease runs, at the moment it ends, and when nobody holds it; by whose name and which number.
    // `yes`, `held` (by whom is said) or `old` (and which was the last).
    #[test]
    fn every_question_about_every_lease_is_answered_as_the_table_says() {
        const TABLE: &str = "
                     running  ended  nobody
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
                let told = match cells[0] {
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
                let seen = match told {
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

    // Aim: a claim's number is higher than the last, and it lasts for as long as was asked.
    #[test]
    fn a_claim_begins_the_next_lease() {
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
