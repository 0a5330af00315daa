//! Remote payout rails.

use purser_actors::id::{JobId, PayoutId};
use purser_actors::port;
use purser_actors::port::payouts::{PayoutEvent, RecallResult};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};
use purser_actors::product::Country;
use serde_json::json;

use super::{RemoteClient, failed, unreadable};
use crate::provider::payouts::{PayoutApi, PlainPayout};
use crate::provider::wire::payout_events::{
    PayoutEventList, PayoutLookupResponse, PayoutStatusUpdate, PayoutUpdateBody, RecallResponse,
};
use crate::provider::wire::payouts::{DebitCardCountryResponse, DebitCardQuery, PayoutRequest};
use crate::provider::wire::{MalformedResponse, SecretText};
use crate::secret::Secret;

/// Rails over HTTP.
pub struct RemotePayouts(pub RemoteClient);

impl PayoutApi for RemotePayouts {
    fn send(&self, order: PlainPayout) -> BoxFuture<'_, Result<port::payouts::PayoutStatusUpdate, PortError>> {
        const CALL: &str = "pay out";
        Box::pin(async move {
            let (key, wanted) = (order.key, order.payout);
            let order = PayoutRequest::of(order).map_err(|e| failed(ErrorKind::Permanent, CALL, e.0))?;
            let said: PayoutStatusUpdate = self.0.post(CALL, &["payouts"], Some(key), &order).await?;
            let (payout, report) = said.read();
            if payout != wanted {
                return Err(unreadable(CALL)(MalformedResponse("it is about another payout")));
            }
            Ok(report)
        })
    }

    fn find(&self, key: JobId) -> BoxFuture<'_, Result<Option<port::payouts::PayoutStatusUpdate>, PortError>> {
        const CALL: &str = "ask after";
        Box::pin(async move {
            let key = key.to_string();
            let said: PayoutLookupResponse = self.0.get(CALL, &["payout-orders", &key], &()).await?;
            // A decline credits the payer, so a decline of another payout must not count.
            if said.key != key {
                return Err(unreadable(CALL)(MalformedResponse("it is about another order")));
            }
            Ok(said.payout.map(PayoutUpdateBody::read))
        })
    }

    fn recall(&self, key: JobId, payout: PayoutId) -> BoxFuture<'_, Result<RecallResult, PortError>> {
        const CALL: &str = "recall";
        Box::pin(async move {
            let path = ["payouts", &payout.to_string(), "recall"];
            let said: RecallResponse = self.0.post(CALL, &path, Some(key), &json!({})).await?;
            if said.payout_id.0 != payout {
                return Err(unreadable(CALL)(MalformedResponse("it is about another payout")));
            }
            Ok(said.outcome.into())
        })
    }

    fn card_country<'a>(&'a self, number: &'a Secret<String>) -> BoxFuture<'a, Result<Option<Country>, PortError>> {
        Box::pin(async move {
            // POST, because card numbers in a path or query would end up in access logs.
            let card = DebitCardQuery {
                number: SecretText(number.clone()),
            };
            let said: DebitCardCountryResponse = self
                .0
                .post("debit card country", &["debit-card-countries"], None, &card)
                .await?;
            Ok(said.country.map(|country| country.0))
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>> {
        const CALL: &str = "payout events";
        Box::pin(async move {
            if !self.0.is_configured() {
                return Ok(Vec::new());
            }
            let query = [("after", after), ("limit", limit as u64)];
            let said: PayoutEventList = self.0.get(CALL, &["payout-events"], &query).await?;
            said.read(after).map_err(unreadable(CALL))
        })
    }
}
