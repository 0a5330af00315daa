//! What is given back to a balance.

use purser_storage::planted::{self, Bug};

use super::{Desk, Done, tell, unreadable};
use crate::account;
use crate::engine::families::Families;
use crate::id::{CardId, PaymentId, PayoutId, RefundId, Wallet};
use crate::kernel::effect::{CreditCause, Pace};
use crate::kernel::family::LoadError;
use crate::kernel::{Effect, Failure};
use crate::money::Usdc;
use crate::payment::Status;
use crate::port::ErrorKind;
use crate::refund;

/// It is not tried again by itself.
fn for_a_person(message: String) -> Failure {
    Failure {
        kind: ErrorKind::Permanent,
        message,
        pace: Pace::BackOff,
    }
}

impl Desk {
    /// Credits a balance, once; what its chain has taken back is not given back a second time, but waits for a person.
    pub(super) async fn credit(&self, effect: &Effect, account: Wallet, amount: Usdc, cause: CreditCause) -> Done {
        if let Some(paid) = self.paid_by(cause).await? {
            // What was paid out of a balance has no payment.
            let payment = self.families.payments.read(&paid).await.map_err(unreadable)?;
            if payment.is_some_and(|(payment, _)| matches!(payment.status, Status::Reversed { .. })) {
                let message = format!("{paid}, which paid for it, was taken back by its chain");
                return Err(for_a_person(message));
            }
            if let CreditCause::Card(card) = cause
                && let Some(message) = refunded(&self.families, card, paid).await.map_err(unreadable)?
            {
                return Err(for_a_person(message));
            }
        }
        let command = account::Command::Credit {
            effect: effect.id,
            amount,
            cause,
        };
        tell(&self.families.accounts, account, command).await?;
        if planted::is(Bug::CreditThenDelete) {
            self.strike_off(effect).await?;
        }
        Ok(())
    }

    /// The payment whose charge is given back, where a product was bought by one.
    async fn paid_by(&self, cause: CreditCause) -> Result<Option<PaymentId>, Failure> {
        Ok(match cause {
            CreditCause::Card(id) => self.card_paid_by(id).await?,
            CreditCause::Payout(id) => self.payout_paid_by(id).await?,
            CreditCause::LateReturn(id) => match self.families.late_returns.read(&id).await.map_err(unreadable)? {
                Some((late, _)) => self.payout_paid_by(late.payout).await?,
                None => None,
            },
            CreditCause::TopUp(id) => {
                let read = self.families.top_ups.read(&id).await.map_err(unreadable)?;
                read.map(|(top_up, _)| top_up.charge.payment)
            }
            CreditCause::Payment(_)
            | CreditCause::Deposit(_)
            | CreditCause::BankTransfer(_)
            | CreditCause::Refund(_) => None,
        })
    }

    /// Cards of every kind share their ids.
    async fn card_paid_by(&self, id: CardId) -> Result<Option<PaymentId>, Failure> {
        let all = &self.families;
        if let Some((card, _)) = all.cards.read(&id).await.map_err(unreadable)? {
            return Ok(Some(card.charge.payment));
        }
        if let Some((gift, _)) = all.gift_cards.read(&id).await.map_err(unreadable)? {
            return Ok(Some(gift.charge.payment));
        }
        let order = all.intl_orders.read(&id).await.map_err(unreadable)?;
        Ok(order.map(|(order, _)| order.charge.payment))
    }

    async fn payout_paid_by(&self, id: PayoutId) -> Result<Option<PaymentId>, Failure> {
        let read = self.families.payouts.read(&id).await.map_err(unreadable)?;
        Ok(read.map(|(payout, _)| payout.charge.payment))
    }
}

/// Why what was left on a card is nobody's to give: a refund has given the same money already. `None` if it has not.
pub(in crate::engine) async fn refunded(
    all: &Families,
    card: CardId,
    paid: PaymentId,
) -> Result<Option<String>, LoadError> {
    let (charged, released) = match all.cards.read(&card).await? {
        Some((card, _)) => (card.charge.charged, card.life.released),
        None => match all.intl_orders.read(&card).await? {
            Some((order, _)) => (order.charge.charged, order.life.released),
            None => return Ok(None),
        },
    };
    let released = Usdc::from_cents(released).unwrap_or(charged);
    if released == Usdc::ZERO {
        return Ok(None);
    }
    let refund = all.refunds.read(&RefundId::of(paid)).await?;
    let given = refund
        .filter(|(refund, _)| matches!(refund.status, refund::Status::Approved | refund::Status::Credited))
        .map_or(Usdc::ZERO, |(refund, _)| refund.asked.amount);
    let both = released.plus(given).unwrap_or(Usdc::from_atomic(u64::MAX));
    let (given, left) = (given.decimal(), released.decimal());
    Ok((both > charged).then(|| format!("{given} of {paid} was refunded, and {left} was left")))
}
