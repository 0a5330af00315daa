//! What a purchase asks of the account before anything else: caps, reserved in the batch that opens the payment.

use std::borrow::Cow;

use purser_storage::codec;
use purser_storage::planted::{self, Bug};

use super::machine::born;
use super::{Account, Admission, Command, Event, OwnCaps, Rejection};
use crate::id::{EffectId, PaymentId, Wallet};
use crate::kernel::effect::{Counted, Share, Work};
use crate::kernel::entity::EntityId as _;
use crate::kernel::{Context, Decision, Kind, table};
use crate::money::Cents;
use crate::payment::{Claim, Payment};
use crate::port::Timestamp;
use crate::product::{Cap, Line};

/// Days since the epoch, UTC.
pub(crate) fn day_of(at: Timestamp) -> u32 {
    // Fits until the year 11,761,191.
    u32::try_from(at.seconds() / 86_400).unwrap_or(u32::MAX)
}

/// A clock that was wrong by no more than this is believed to have stepped back; what is further ahead was never a day.
const STEPS_BACK_DAYS: u32 = 7;

/// The day whose cap counts now, where the last one that was counted is `known`. A clock that steps back must not open a
/// cap again that was used up; one that ran far ahead must not close all days up to there.
pub(crate) fn counted_day(now: Timestamp, known: u32) -> u32 {
    let today = day_of(now);
    let stepped_back = known > today && known - today <= STEPS_BACK_DAYS;
    if stepped_back { known } else { today }
}

/// Everything that can refuse a purchase and that only the account knows.
pub(super) fn admit(
    this: Option<&Account>,
    line: Line,
    worth: Cents,
    cap: Option<Cap>,
    context: &Context,
) -> Result<Share, Rejection> {
    if let Some(message) = this.and_then(|a| a.frozen.clone()) {
        return Err(Rejection::Frozen { message });
    }
    let day = counted_day(context.now, this.map_or(0, |a| a.day));
    let budget = line.budget();
    let (count, sum) = this.map_or((0, Cents::ZERO), |a| a.used(day, budget));
    let sum = sum.plus(worth).map_err(|_| Rejection::Overflow)?;
    let cap = match this {
        Some(account) => account.own_caps.within(line, cap),
        None => OwnCaps::default().within(line, cap),
    };
    match cap.count {
        Some(cap) if count >= cap => return Err(Rejection::CountPerDay { cap }),
        _ => {}
    }
    match cap.sum {
        Some(cap) if sum > cap => return Err(Rejection::SumPerDay { cap }),
        _ => {}
    }
    let cents = worth;
    Ok(Share { day, budget, cents })
}

pub(super) fn claim(
    this: Option<&Account>,
    wallet: &Wallet,
    admission: Admission,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let line = admission.purchase.line();
    let uncapped = planted::is(Bug::OwnRouteUncapped) && admission.authorization.payer() != *wallet;
    let cap = admission.cap.filter(|_| !uncapped);
    let counted = &admission.counted;
    let share = admit(without(this, counted).as_deref(), line, admission.worth, cap, context)?;
    let decision = presented(
        born(this, wallet, Decision::answer(()), context),
        admission.payment,
        counted,
    );
    let required = admission.requires();
    let Admission {
        payment,
        authorization,
        purchase,
        worth,
        found,
        request,
        session,
        once,
        ..
    } = admission;
    let claim = Claim {
        account: *wallet,
        authorization,
        purchase,
        worth,
        found,
        request,
        session,
        share,
        at: context.now,
    };
    let opening = Payment::claim(payment, claim, context).map_err(|_| Rejection::Nothing)?;
    let decision = match once {
        Some((key, expires_s)) => decision.put_new(table::nonce(expires_s, &key), Vec::new()),
        None => decision,
    };
    let rows = required.iter().filter_map(|required| required.row(wallet));
    let decision = rows.fold(decision, Decision::requires_present);
    Ok(decision
        .event(Event::Reserved(share))
        .open(opening)
        .put(Payment::listed(wallet, context.now, payment), Vec::new())
        .then(Work::Settle(payment), context))
}

/// A released payment comes again: it takes a new share of the caps.
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
        return Err(Rejection::Nothing);
    };
    let share = admit(without(this, &counted).as_deref(), purchase.line(), worth, cap, context)?;
    let decision = born(this, wallet, Decision::answer(()), context);
    let decision = presented(decision, payment, &counted).event(Event::Reserved(share));
    let rows = purchase
        .requires()
        .into_iter()
        .filter_map(|required| required.row(wallet));
    let decision = rows.fold(decision, Decision::requires_present);
    let work = Work::Readmit {
        payment,
        share,
        session,
    };
    Ok(decision.then(work, context))
}

/// The account as it is once what was counted for a payment is given back, because that payment is here.
fn without<'a>(this: Option<&'a Account>, counted: &[Share]) -> Option<Cow<'a, Account>> {
    let account = this?;
    Some(match counted {
        [] => Cow::Borrowed(account),
        counted => Cow::Owned(counted.iter().fold(account.clone(), |a, share| a.freeing(*share))),
    })
}

/// Gives back what was counted for a payment before it was presented.
fn presented(decision: Decision<Account>, payment: PaymentId, counted: &[Share]) -> Decision<Account> {
    if counted.is_empty() {
        return decision;
    }
    let freed = counted.iter().map(|share| Event::Freed(*share));
    freed.fold(decision.take(table::counted(payment)), Decision::event)
}

/// Counts what was bought already, and says what of it is of a day that is not over.
pub(super) fn count(
    this: Option<&Account>,
    wallet: &Wallet,
    (effect, shares): (EffectId, &[Share]),
    context: &Context,
) -> Result<(Decision<Account>, Vec<Share>), Rejection> {
    let done = Decision::answer(()).completes(effect);
    let day = counted_day(context.now, this.map_or(0, |a| a.day));
    let still = shares.iter().filter(|share| share.day >= day);
    let still: Vec<Share> = still.map(|share| Share { day, ..*share }).collect();
    if still.is_empty() {
        return Ok((done, still));
    }
    // Checked here so that `apply` cannot fail.
    for share in &still {
        let (count, sum) = this.map_or((0, Cents::ZERO), |a| a.used(day, share.budget));
        count.checked_add(1).ok_or(Rejection::Overflow)?;
        sum.plus(share.cents).map_err(|_| Rejection::Overflow)?;
    }
    let born = born(this, wallet, done, context);
    let counted = still.iter().map(|share| Event::Reserved(*share));
    Ok((counted.fold(born, Decision::event), still))
}

/// Counts what a payment may have bought, until somebody presents it.
pub(super) fn count_unclaimed(
    this: Option<&Account>,
    wallet: &Wallet,
    effect: EffectId,
    (payment, revision, shares): (PaymentId, u64, &[Share]),
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let (decision, counted) = count(this, wallet, (effect, shares), context)?;
    if counted.is_empty() {
        return Ok(decision);
    }
    // Presented meanwhile, it has a share of its own.
    let unclaimed = decision.requires_unchanged(table::entity(Kind::Payment, &payment.key()), revision);
    let counted = Counted {
        account: *wallet,
        shares: counted,
    };
    Ok(unclaimed.put(table::counted(payment), codec::encode(&counted)))
}
