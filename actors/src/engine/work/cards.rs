//! Cards: made by the issuer, and asked after.

use std::time::Duration;

use purser_storage::planted::{self, Bug};

use super::{Desk, Done, tell, unreadable, within};
use crate::card::{self, Card};
use crate::engine::refunding::refunded_of;
use crate::id::{CardId, EffectId};
use crate::kernel::{Effect, Failure};
use crate::port::{ErrorKind, Issuance, IssueCard, PortError, Standing, SteerCard};
use crate::refund::Refunded;

impl Desk {
    /// Orders the card until the issuer says yes or no.
    pub(super) async fn issue(&self, effect: &Effect, id: CardId) -> Done {
        let read = self.families.cards.read(&id).await.map_err(unreadable)?;
        let Some((card, _)) = read else {
            return Err(Failure::temporary("the card is not there"));
        };
        if card.status != card::Status::Pending {
            return Ok(());
        }
        let key = if planted::is(Bug::KeyOfTry) {
            EffectId(effect.id.0.wrapping_add(u128::from(effect.attempts)))
        } else {
            effect.id
        };
        let order = IssueCard {
            key,
            card: id,
            amount: card.amount,
        };
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let command = match within(timeout, self.ports.issuer.issue(&order), "issue").await? {
            Issuance::Ready(card) => card::Command::Issued {
                effect: effect.id,
                card,
            },
            Issuance::Declined { reason } => card::Command::Refused {
                effect: effect.id,
                reason,
            },
            Issuance::Pending { retry_after_ms } => return Err(Failure::not_yet(retry_after_ms)),
        };
        tell(&self.families.cards, id, command).await
    }

    /// Asks what became of the card's money. Whatever fails is tried again: the holder's budget is spent only once.
    pub(super) async fn refresh_card(&self, effect: &Effect, id: CardId) -> Done {
        let cards = &self.families.cards;
        let Some((card, _)) = cards.read(&id).await.map_err(unreadable)? else {
            return Err(Failure::temporary("the card is not there"));
        };
        let Some(details) = card.details().filter(|_| card.refreshing) else {
            return Ok(());
        };
        // A card whose question is stuck could not be asked after any more.
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let standing = within(timeout, self.ports.issuer.standing(&details.issuer_ref), "standing").await;
        let (standing, refunded) = self.with_refunded(&card, standing).await?;
        let told = card::Command::Refreshed {
            effect: effect.id,
            standing,
            refunded,
        };
        tell(cards, id, told).await
    }

    /// Brings the holder's wish to the issuer. Until it is answered there can be no other.
    pub(super) async fn steer_prepaid(&self, effect: &Effect, id: CardId) -> Done {
        let cards = &self.families.cards;
        let Some((card, _)) = cards.read(&id).await.map_err(unreadable)? else {
            return Err(Failure::temporary("the card is not there"));
        };
        let Some((details, wish)) = card.details().zip(card.life.wish) else {
            return Ok(());
        };
        let order = SteerCard {
            key: effect.id,
            card: id,
            issuer_ref: details.issuer_ref.clone(),
            wish,
        };
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let standing = within(timeout, self.ports.issuer.steer(&order), "steer card").await;
        let (standing, refunded) = self.with_refunded(&card, standing).await?;
        let told = card::Command::Steered {
            effect: effect.id,
            standing,
            refunded,
        };
        tell(cards, id, told).await
    }

    /// What the issuer says of a card, with what refunds have given of its price.
    async fn with_refunded(
        &self,
        card: &Card,
        said: Result<Standing, PortError>,
    ) -> Result<(Standing, Refunded), Failure> {
        let standing = said.map_err(|error| self.not_given_up(&error))?;
        let refunded = refunded_of(&self.families, card, &standing).await.map_err(unreadable)?;
        Ok((standing, refunded))
    }

    /// Again and again, as often as it takes.
    fn not_given_up(&self, error: &PortError) -> Failure {
        let pause = match error.kind {
            ErrorKind::Permanent => self.settings.retry.longest_ms,
            ErrorKind::Temporary | ErrorKind::Unknown => self.settings.watch_every_ms,
        };
        Failure::temporary(error.to_string()).every_ms(pause)
    }
}
