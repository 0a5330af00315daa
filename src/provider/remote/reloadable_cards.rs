//! A remote provider of reloadable cards and balance holds.

use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port;
use purser_actors::port::{BoxFuture, CardEvent, CardSnapshot, HoldResult, HoldStatus, OpenCardRequest, PortError};

use super::{RemoteClient, unreadable};
use crate::provider::reloadable_cards::{PlainOpenResult, ReloadableCardApi};
use crate::provider::wire::TextValue;
use crate::provider::wire::balance_holds::{
    HoldLookupResponse, HoldRequest, HoldResponse, SettleHoldRequest, SettleHoldResponse,
};
use crate::provider::wire::cards::CvvResponse;
use crate::provider::wire::reloadable_cards::{
    CardActionRequest, CardActionResponse, CardBalance, CardEventList, OpenReloadableCardRequest,
    OpenReloadableCardResponse,
};
use crate::secret::Secret;

const CARDS: &str = "reloadable-cards";
const RESERVATIONS: &str = "balance-holds";

/// The provider over HTTP.
pub struct RemoteReloadableCards(pub RemoteClient);

impl ReloadableCardApi for RemoteReloadableCards {
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> BoxFuture<'a, Result<PlainOpenResult, PortError>> {
        const CALL: &str = "open card";
        Box::pin(async move {
            let wanted = OpenReloadableCardRequest::from(order);
            let said: OpenReloadableCardResponse = self.0.post(CALL, &[CARDS], Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn apply_action<'a>(
        &'a self,
        order: &'a port::CardActionRequest,
    ) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        const CALL: &str = "change card state";
        Box::pin(async move {
            let path = [CARDS, &order.issuer_ref, "actions"];
            let wanted = CardActionRequest {
                card_id: TextValue(order.card),
                action: order.action.into(),
            };
            let said: CardActionResponse = self.0.post(CALL, &path, Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        const CALL: &str = "card words";
        Box::pin(async move {
            if !self.0.is_configured() {
                return Ok(Vec::new());
            }
            let query = [("after", after), ("limit", limit as u64)];
            let said: CardEventList = self.0.get(CALL, &["card-events"], &query).await?;
            said.read(after).map_err(unreadable(CALL))
        })
    }

    fn hold<'a>(&'a self, order: &'a port::HoldRequest) -> BoxFuture<'a, Result<HoldResult, PortError>> {
        const CALL: &str = "reserve";
        Box::pin(async move {
            let wanted = HoldRequest::from(order);
            let said: HoldResponse = self.0.post(CALL, &[RESERVATIONS], Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn hold_status(&self, key: JobId) -> BoxFuture<'_, Result<HoldStatus, PortError>> {
        const CALL: &str = "reservation";
        Box::pin(async move {
            let said: HoldLookupResponse = self.0.get(CALL, &[RESERVATIONS, &key.to_string()], &()).await?;
            said.read(key).map_err(unreadable(CALL))
        })
    }

    fn settle_hold(&self, key: JobId, paid: bool) -> BoxFuture<'_, Result<(), PortError>> {
        const CALL: &str = "end reservation";
        Box::pin(async move {
            let name = key.to_string();
            let path = [RESERVATIONS, &name, "settle"];
            let said: SettleHoldResponse = self
                .0
                .post(CALL, &path, Some(key), &SettleHoldRequest { captured: paid })
                .await?;
            said.read(key, paid).map_err(unreadable(CALL))
        })
    }

    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>> {
        Box::pin(async move {
            let said: CvvResponse = self.0.get("cvv", &[CARDS, issuer_ref, "cvv"], &()).await?;
            Ok(said.cvv.0)
        })
    }

    fn available<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>> {
        const CALL: &str = "available";
        Box::pin(async move {
            let said: CardBalance = self.0.get(CALL, &[CARDS, issuer_ref], &()).await?;
            said.read(issuer_ref).map_err(unreadable(CALL))
        })
    }
}
