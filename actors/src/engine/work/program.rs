//! What balances at the card issuer are spent on: cards that are opened and steered, money that is set aside.

use std::time::Duration;

use purser_storage::planted::{self, Bug};

use super::{Desk, Done, tell, unreadable, within};
use crate::card_withdrawal;
use crate::id::{CardId, EffectId, WithdrawalId};
use crate::kernel::{Effect, Failure};
use crate::port::{CardOpening, ErrorKind, OpenCard, PortError, Reservation, ReserveBalance, SteerCard};
use crate::reloadable::{self, INSUFFICIENT};

impl Desk {
    /// Has the card opened until the issuer says yes or no.
    pub(super) async fn open_card(&self, effect: &Effect, id: CardId) -> Done {
        let cards = &self.families.reloadables;
        let Some((card, _)) = cards.read(&id).await.map_err(unreadable)? else {
            return Err(Failure::temporary("the card is not there"));
        };
        if card.status != reloadable::Status::Creating {
            return Ok(());
        }
        let key = if planted::is(Bug::OpeningKeyOfTry) {
            EffectId(effect.id.0.wrapping_add(u128::from(effect.attempts)))
        } else {
            effect.id
        };
        let order = OpenCard {
            key,
            card: id,
            account: card.account,
            amount: card.amount,
            reusable: card.reusable,
        };
        let effect = effect.id;
        let refused = |reason| reloadable::Command::Refused { effect, reason };
        let opening = within(self.answers_in(), self.ports.program.open(&order), "open card").await;
        let command = match opening {
            Err(error) if planted::is(Bug::ProgramTimeoutRefuses) && error.kind == ErrorKind::Unknown => {
                refused(error.message.into())
            }
            Err(error) => return Err(error.into()),
            Ok(opening) => match opening {
                CardOpening::Open(card) => reloadable::Command::Opened { effect, card },
                CardOpening::Insufficient => refused(INSUFFICIENT.into()),
                CardOpening::Declined { reason } => refused(reason),
                CardOpening::Pending { retry_after_ms } => return Err(Failure::not_yet(retry_after_ms)),
            },
        };
        tell(cards, id, command).await
    }

    /// Brings the holder's wish to the issuer. Never given up: until it is answered there can be no other.
    pub(super) async fn steer_card(&self, effect: &Effect, id: CardId) -> Done {
        let cards = &self.families.reloadables;
        let Some((card, _)) = cards.read(&id).await.map_err(unreadable)? else {
            return Err(Failure::temporary("the card is not there"));
        };
        let Some((details, wish)) = card.details().zip(card.wish) else {
            return Ok(());
        };
        let order = SteerCard {
            key: effect.id,
            card: id,
            issuer_ref: details.issuer_ref.clone(),
            wish,
        };
        let standing = within(self.answers_in(), self.ports.program.steer(&order), "steer card").await;
        let standing = standing.map_err(|error| self.patiently(&error))?;
        let effect = effect.id;
        tell(cards, id, reloadable::Command::Steered { effect, standing }).await
    }

    /// Has the amount set aside until the issuer says yes or no.
    pub(super) async fn reserve_card_balance(&self, effect: &Effect, id: WithdrawalId) -> Done {
        let withdrawals = &self.families.card_withdrawals;
        let Some((asked, _)) = withdrawals.read(&id).await.map_err(unreadable)? else {
            return Err(Failure::temporary("the withdrawal is not there"));
        };
        if asked.status != card_withdrawal::Status::Pending {
            return Ok(());
        }
        let order = ReserveBalance {
            key: effect.id,
            withdrawal: id,
            account: asked.account,
            amount: asked.amount,
        };
        let effect = effect.id;
        let refused = |reason| card_withdrawal::Command::Refused { effect, reason };
        let command = match within(self.answers_in(), self.ports.program.reserve(&order), "reserve").await? {
            Reservation::Held => card_withdrawal::Command::Held { effect },
            Reservation::Insufficient => refused(INSUFFICIENT.into()),
            Reservation::Declined { reason } => refused(reason),
            Reservation::Pending { retry_after_ms } => return Err(Failure::not_yet(retry_after_ms)),
            Reservation::Ended { paid } => {
                tracing::error!(withdrawal = %id, paid, "a withdrawal was decided in a history that was lost");
                card_withdrawal::Command::Over { effect, paid }
            }
        };
        tell(withdrawals, id, command).await
    }

    /// Tells the issuer that what was set aside is paid, or the balance's again.
    pub(super) async fn end_reservation(&self, effect: &Effect, id: WithdrawalId) -> Done {
        let withdrawals = &self.families.card_withdrawals;
        let Some((asked, _)) = withdrawals.read(&id).await.map_err(unreadable)? else {
            return Err(Failure::temporary("the withdrawal is not there"));
        };
        let Some((key, paid)) = asked.reservation.zip(asked.is_paid()).filter(|_| !asked.settled) else {
            return Ok(());
        };
        let ended = self.ports.program.end_reservation(key, paid);
        match within(self.answers_in(), ended, "end reservation").await {
            Ok(()) => {}
            // The issuer says that it ended otherwise: a person has to look.
            Err(error) if error.kind == ErrorKind::Permanent => return Err(error.into()),
            Err(error) => return Err(self.patiently(&error)),
        }
        let effect = effect.id;
        tell(withdrawals, id, card_withdrawal::Command::Settled { effect }).await
    }

    /// Ends a lease whose time is over.
    pub(super) async fn end_card_lease(&self, effect: &Effect, id: WithdrawalId, lease: u64) -> Done {
        let effect = effect.id;
        let command = card_withdrawal::Command::EndLease { effect, lease };
        tell(&self.families.card_withdrawals, id, command).await
    }

    /// Again and again, as often as it takes; what will never be is stuck by name.
    fn patiently(&self, error: &PortError) -> Failure {
        match error.kind {
            ErrorKind::Permanent => error.clone().into(),
            ErrorKind::Temporary | ErrorKind::Unknown => {
                Failure::temporary(error.to_string()).every_ms(self.settings.watch_every_ms)
            }
        }
    }

    const fn answers_in(&self) -> Duration {
        Duration::from_millis(self.settings.issuer_timeout_ms)
    }
}
