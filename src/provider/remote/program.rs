//! A card program elsewhere: reloadable cards, and what is set aside of holders' balances.

use purser_actors::id::EffectId;
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, CardWord, OpenCard, PortError, Reservation, ReserveBalance, Reserved, Standing, SteerCard,
};

use super::{Remote, unreadable};
use crate::provider::program::{PlainOpening, Program};
use crate::provider::wire::Text;
use crate::provider::wire::cards::Cvv;
use crate::provider::wire::program::{
    CardAvailable, CardWords, ReloadableAnswer, ReloadableOrder, WishAnswer, WishOrder,
};
use crate::provider::wire::reservations::{
    ReservationAnswer, ReservationEnd, ReservationEnded, ReservationOrder, ReservationStanding,
};
use crate::secret::Secret;

const CARDS: &str = "reloadable-cards";
const RESERVATIONS: &str = "balance-reservations";

/// A program over HTTP.
pub struct RemoteProgram(pub Remote);

impl Program for RemoteProgram {
    fn open<'a>(&'a self, order: &'a OpenCard) -> BoxFuture<'a, Result<PlainOpening, PortError>> {
        const CALL: &str = "open card";
        Box::pin(async move {
            let wanted = ReloadableOrder::from(order);
            let said: ReloadableAnswer = self.0.post(CALL, &[CARDS], Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn steer<'a>(&'a self, order: &'a SteerCard) -> BoxFuture<'a, Result<Standing, PortError>> {
        const CALL: &str = "steer card";
        Box::pin(async move {
            let path = [CARDS, &order.issuer_ref, "wishes"];
            let wanted = WishOrder {
                card_id: Text(order.card),
                wish: order.wish.into(),
            };
            let said: WishAnswer = self.0.post(CALL, &path, Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn told(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardWord>, PortError>> {
        const CALL: &str = "card words";
        Box::pin(async move {
            if !self.0.is_configured() {
                return Ok(Vec::new());
            }
            let query = [("after", after), ("limit", limit as u64)];
            let said: CardWords = self.0.get(CALL, &["card-words"], &query).await?;
            said.read(after).map_err(unreadable(CALL))
        })
    }

    fn reserve<'a>(&'a self, order: &'a ReserveBalance) -> BoxFuture<'a, Result<Reservation, PortError>> {
        const CALL: &str = "reserve";
        Box::pin(async move {
            let wanted = ReservationOrder::from(order);
            let said: ReservationAnswer = self.0.post(CALL, &[RESERVATIONS], Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn reservation(&self, key: EffectId) -> BoxFuture<'_, Result<Reserved, PortError>> {
        const CALL: &str = "reservation";
        Box::pin(async move {
            let said: ReservationStanding = self.0.get(CALL, &[RESERVATIONS, &key.to_string()], &()).await?;
            said.read(key).map_err(unreadable(CALL))
        })
    }

    fn end_reservation(&self, key: EffectId, paid: bool) -> BoxFuture<'_, Result<(), PortError>> {
        const CALL: &str = "end reservation";
        Box::pin(async move {
            let name = key.to_string();
            let path = [RESERVATIONS, &name, "end"];
            let said: ReservationEnded = self.0.post(CALL, &path, Some(key), &ReservationEnd { paid }).await?;
            said.read(key, paid).map_err(unreadable(CALL))
        })
    }

    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>> {
        Box::pin(async move {
            let said: Cvv = self.0.get("cvv", &[CARDS, issuer_ref, "cvv"], &()).await?;
            Ok(said.cvv.0)
        })
    }

    fn available<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>> {
        const CALL: &str = "available";
        Box::pin(async move {
            let said: CardAvailable = self.0.get(CALL, &[CARDS, issuer_ref], &()).await?;
            said.read(issuer_ref).map_err(unreadable(CALL))
        })
    }
}
