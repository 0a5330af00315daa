//! Checks and reservations that a purchase makes in the account: caps, reserved in the batch that opens the payment.

use purser_storage::codec;
use purser_storage::mutants::{self, Mutant};

use super::machine::open;
use super::{Account, CapUsage, ClaimRequest, Command, Event, OwnerCaps, Rejection};
use crate::entity::account::{CapReservation, UnclaimedCapUsage};
use crate::entity::payment;
use crate::entity::payment::{Claim, Payment};
use crate::id::{JobId, PaymentId, Wallet};
use crate::kernel::entity::EntityId as _;
use crate::kernel::{Context, Decision, EntityKind, table};
use crate::money::Cents;
use crate::port::Timestamp;
use crate::product::{DailyCap, ProductLine};

/// Days since the epoch, UTC.
pub(crate) fn day_of(at: Timestamp) -> u32 {
    // Fits until the year 11,761,191.
    u32::try_from(at.seconds() / 86_400).unwrap_or(u32::MAX)
}

/// A clock that was ahead by no more than this is assumed to have stepped back; a day further ahead is ignored.
const MAX_CLOCK_STEP_BACK_DAYS: u32 = 7;

/// Day whose cap counts now; `known` is the last one that was counted. A clock that steps back must not renew a cap
/// that was used up. A clock that was far ahead must not block all days until then.
pub(crate) fn counted_day(now: Timestamp, known: u32) -> u32 {
    let today = day_of(now);
    let stepped_back = known > today && known - today <= MAX_CLOCK_STEP_BACK_DAYS;
    if stepped_back { known } else { today }
}

/// All checks that can reject a purchase and need only the account.
pub(super) fn admit(
    this: Option<&Account>,
    line: ProductLine,
    worth: Cents,
    cap: Option<DailyCap>,
    now: Timestamp,
) -> Result<CapReservation, Rejection> {
    if let Some(message) = this.and_then(|a| a.frozen.clone()) {
        return Err(Rejection::Frozen { message });
    }
    let day = counted_day(now, this.map_or(0, |a| a.day));
    let budget = line.cap_group();
    let (count, sum) = this.map_or((0, Cents::ZERO), |a| a.used(day, budget));
    let sum = sum.checked_add(worth).map_err(|_| Rejection::Overflow)?;
    let cap = match this {
        Some(account) => account.owner_caps.effective(line, cap),
        None => OwnerCaps::default().effective(line, cap),
    };
    match cap.count {
        Some(cap) if count >= cap => return Err(Rejection::DailyCountCap { cap }),
        _ => {}
    }
    match cap.sum {
        Some(cap) if sum > cap => return Err(Rejection::DailyAmountCap { cap }),
        _ => {}
    }
    let cents = worth;
    Ok(CapReservation {
        day,
        cap_group: budget,
        cents,
    })
}

/// Checks a freeze, a stop of the agents and the daily caps as the claim of a purchase does. `this` is `None` for an account that does not
/// exist yet.
pub(crate) fn may_claim(
    this: Option<&Account>,
    line: ProductLine,
    worth: Cents,
    cap: Option<DailyCap>,
    now: Timestamp,
) -> Result<(), Rejection> {
    admit(this, line, worth, cap, now)?;
    refuse_stopped(this)
}

/// A wallet of the account pays, so the purchase is an agent's. Its owner buys nothing while agents are stopped.
fn refuse_stopped(this: Option<&Account>) -> Result<(), Rejection> {
    match this.and_then(Account::agents_stopped_at) {
        Some(_) => Err(Rejection::AgentsStopped),
        None => Ok(()),
    }
}

pub(super) fn claim(
    this: Option<&Account>,
    wallet: &Wallet,
    admission: ClaimRequest,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let line = admission.purchase.line();
    let uncapped = mutants::is_enabled(Mutant::OwnRouteUncapped) && admission.authorization.payer() != *wallet;
    let cap = admission.cap.filter(|_| !uncapped);
    let decision = open(this, wallet, Decision::answer(()), context);
    let worth = (line, admission.worth, cap);
    let (decision, share) = reserve(this, decision, (admission.payment, &admission.counted), worth, context)?;
    let required = admission.preconditions();
    let ClaimRequest {
        payment,
        authorization,
        purchase,
        worth,
        resolved: found,
        request,
        session,
        challenge: once,
        prepared,
        ..
    } = admission;
    let claim = Claim {
        account: *wallet,
        authorization,
        purchase,
        worth,
        resolved: found,
        request,
        session,
        cap_reservation: share,
        at: context.now,
    };
    let opening = Payment::claim(payment, claim, prepared, context).map_err(|_| Rejection::NotFound)?;
    let decision = match once {
        Some((key, expires_s)) => decision.put_new(table::nonce(expires_s, &key), Vec::new()),
        None => decision,
    };
    let rows = required.iter().filter_map(|required| required.row(wallet));
    let decision = rows.fold(decision, Decision::requires_present);
    Ok(decision
        .open(opening)
        .put(Payment::list_key(wallet, context.now, payment), Vec::new())
        .enqueue(payment::Job::SettlePayment(payment), context))
}

/// A released payment is claimed again: it makes a new cap reservation.
pub(super) fn readmit(
    this: Option<&Account>,
    wallet: &Wallet,
    command: Command,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let Command::Readmit {
        payment,
        purchase,
        worth,
        cap,
        session,
        counted,
    } = command
    else {
        return Err(Rejection::NotFound);
    };
    let decision = open(this, wallet, Decision::answer(()), context);
    let worth = (purchase.line(), worth, cap);
    let (decision, share) = reserve(this, decision, (payment, &counted), worth, context)?;
    let rows = purchase
        .preconditions()
        .into_iter()
        .filter_map(|required| required.row(wallet));
    let decision = rows.fold(decision, Decision::requires_present);
    let work = payment::Job::ReadmitPayment {
        payment,
        reservation: share,
        session,
    };
    Ok(decision.enqueue(work, context))
}

impl Account {
    /// Usage of a cap group on a day.
    pub(super) fn used(&self, day: u32, budget: ProductLine) -> (u32, Cents) {
        let today = self.used.iter().filter(|_| self.day == day);
        let used = today.into_iter().find(|used| used.cap_group == budget);
        used.map_or((0, Cents::ZERO), |used| (used.count, used.sum))
    }

    /// Day (UTC) whose caps are counted, since the epoch, and the number and sum of each cap group on it.
    pub fn cap_usage(&self) -> (u32, impl Iterator<Item = (ProductLine, u32, Cents)>) {
        let groups = self.used.iter();
        (self.day, groups.map(|used| (used.cap_group, used.count, used.sum)))
    }

    /// Number and sum of a line's purchases that count toward today's cap.
    pub fn used_today(&self, line: ProductLine, now: Timestamp) -> (u32, Cents) {
        self.used(counted_day(now, self.day), line.cap_group())
    }

    /// The account with this usage of a cap group on a day; usage of earlier days is dropped.
    pub(super) fn with_usage(mut self, day: u32, budget: ProductLine, (count, sum): (u32, Cents)) -> Self {
        if self.day != day {
            self.used.clear();
            self.day = day;
        }
        let used = CapUsage {
            cap_group: budget,
            count,
            sum,
        };
        match self.used.iter_mut().find(|used| used.cap_group == budget) {
            Some(slot) => *slot = used,
            None => self.used.push(used),
        }
        self
    }

    /// The account with a reservation released. One of a past day needs no release.
    pub(super) fn with_released(self, share: CapReservation) -> Self {
        if share.day != self.day {
            return self;
        }
        let (count, sum) = self.used(share.day, share.cap_group);
        let sum = Cents::new(sum.get().saturating_sub(share.cents.get()));
        self.with_usage(share.day, share.cap_group, (count.saturating_sub(1), sum))
    }
}

/// Reserves the caps for a payment. If an amount was already counted for it, that one remains until the payment has
/// settled, and the payment may only buy what was counted.
fn reserve(
    this: Option<&Account>,
    decision: Decision<Account>,
    (payment, counted): (PaymentId, &Option<Vec<ProductLine>>),
    (line, worth, cap): (ProductLine, Cents, Option<DailyCap>),
    context: &Context,
) -> Result<(Decision<Account>, CapReservation), Rejection> {
    let Some(lines) = counted else {
        let share = admit(this, line, worth, cap, context.now)?;
        refuse_stopped(this)?;
        return Ok((decision.event(Event::CapReserved(share)), share));
    };
    // Only a freeze or stop counts.
    admit(this, line, worth, None, context.now)?;
    refuse_stopped(this)?;
    if !lines.contains(&line) {
        return Err(Rejection::MayHaveBought);
    }
    let decision = decision.requires_present(table::unclaimed_cap_usage(payment));
    Ok((decision, CapReservation::for_unclaimed(line.cap_group(), worth)))
}

/// Counts a purchase that was not admitted.
pub(super) fn count_unadmitted(
    this: Option<&Account>,
    wallet: &Wallet,
    command: Command,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    match command {
        Command::CountCapReservation {
            job,
            reservation: share,
        } => count(this, wallet, (job, &[share]), context).map(|(decision, _)| decision),
        Command::CountUnclaimed {
            job,
            payment,
            revision,
            counted,
        } => count_unclaimed(this, wallet, (job, payment, revision), counted, context),
        Command::CountClaimed { job, payment, counted } => {
            count_claimed(this, wallet, (job, payment), counted, context)
        }
        _ => Err(Rejection::NotFound),
    }
}

/// Counts an earlier purchase, and returns the part that belongs to the current day.
fn count(
    this: Option<&Account>,
    wallet: &Wallet,
    (job, shares): (JobId, &[CapReservation]),
    context: &Context,
) -> Result<(Decision<Account>, Vec<CapReservation>), Rejection> {
    let done = Decision::answer(()).completes_job(job);
    let day = counted_day(context.now, this.map_or(0, |a| a.day));
    let still = shares.iter().filter(|share| share.day >= day);
    let still: Vec<CapReservation> = still.map(|share| CapReservation { day, ..*share }).collect();
    if still.is_empty() {
        return Ok((done, still));
    }
    // Checked here so that `apply` cannot fail.
    for share in &still {
        let (count, sum) = this.map_or((0, Cents::ZERO), |a| a.used(day, share.cap_group));
        count.checked_add(1).ok_or(Rejection::Overflow)?;
        sum.checked_add(share.cents).map_err(|_| Rejection::Overflow)?;
    }
    let opened = open(this, wallet, done, context);
    let counted = still.iter().map(|share| Event::CapReserved(*share));
    Ok((counted.fold(opened, Decision::event), still))
}

/// Counts what a payment may have bought, until it has settled.
fn count_unclaimed(
    this: Option<&Account>,
    wallet: &Wallet,
    (job, payment, revision): (JobId, PaymentId, u64),
    counted: Option<UnclaimedCapUsage>,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let Some(counted) = counted else {
        return Ok(Decision::answer(()).completes_job(job));
    };
    let (decision, shares) = count(this, wallet, (job, &counted.reservations), context)?;
    // A payment that was sent again meanwhile has its own reservation.
    let unclaimed = decision.requires_unchanged(table::entity(EntityKind::Payment, &payment.key()), revision);
    let counted = UnclaimedCapUsage {
        reservations: shares,
        ..counted
    };
    Ok(unclaimed.put_new(table::unclaimed_cap_usage(payment), codec::encode(&counted)))
}

/// Counts what the payment bought instead of what it may have bought.
fn count_claimed(
    this: Option<&Account>,
    wallet: &Wallet,
    (job, payment): (JobId, PaymentId),
    counted: Option<(UnclaimedCapUsage, Option<CapReservation>)>,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let Some((counted, share)) = counted else {
        return Ok(Decision::answer(()).completes_job(job));
    };
    let freed = counted.reservations.iter().fold(this.cloned(), |account, share| {
        account.map(|account| account.with_released(*share))
    });
    let (decision, _) = count(freed.as_ref(), wallet, (job, share.as_slice()), context)?;
    let mut events = counted
        .reservations
        .iter()
        .map(|share| Event::CapReleased(*share))
        .collect::<Vec<_>>();
    events.extend(decision.events().iter().cloned());
    let done = Decision::answer(())
        .completes_job(job)
        .delete(table::unclaimed_cap_usage(payment));
    Ok(events.into_iter().fold(done, Decision::event))
}
