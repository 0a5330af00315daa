//! What a purchase asks of the account before anything else: caps, reserved in the batch that opens the payment.

use purser_storage::planted::{self, Bug};

use super::machine::born;
use super::{Account, Admission, Event, OwnCaps, Rejection};
use crate::id::{EffectId, PaymentId, Wallet};
use crate::kernel::effect::{Share, Work};
use crate::kernel::{Context, Decision, table};
use crate::money::Cents;
use crate::payment::{Claim, NewSession, Payment};
use crate::port::Timestamp;
use crate::product::{Cap, Line, Purchase};

fn day_of(at: Timestamp) -> u32 {
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
    let share = admit(this, line, admission.worth, cap, context)?;
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
    let answer = Decision::answer(());
    let answer = match once {
        Some((key, expires_s)) => answer.put_new(table::nonce(expires_s, &key), Vec::new()),
        None => answer,
    };
    let decision = born(this, wallet, answer, context);
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
    (payment, session): (PaymentId, NewSession),
    purchase: &Purchase,
    (worth, cap): (Cents, Option<Cap>),
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let share = admit(this, purchase.line(), worth, cap, context)?;
    let decision = born(this, wallet, Decision::answer(()), context).event(Event::Reserved(share));
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

/// Counts what was bought already. Of a day that is over nothing is left to count.
pub(super) fn count(
    this: Option<&Account>,
    wallet: &Wallet,
    (effect, share): (EffectId, Share),
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let done = Decision::answer(()).completes(effect);
    let day = counted_day(context.now, this.map_or(0, |a| a.day));
    if share.day < day {
        return Ok(done);
    }
    // Checked here so that `apply` cannot fail.
    let (count, sum) = this.map_or((0, Cents::ZERO), |a| a.used(day, share.budget));
    count.checked_add(1).ok_or(Rejection::Overflow)?;
    sum.plus(share.cents).map_err(|_| Rejection::Overflow)?;
    Ok(born(this, wallet, done, context).event(Event::Reserved(Share { day, ..share })))
}
