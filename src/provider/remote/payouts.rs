//! Payout rails elsewhere.

use purser_actors::id::{EffectId, PayoutId};
use purser_actors::port::payout::{Recall, Report, Told};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};
use purser_actors::product::Country;
use serde_json::json;

use super::{Remote, failed, unreadable};
use crate::provider::payouts::{PlainPayout, Rails};
use crate::provider::wire::payout_reports::{OrderedAnswer, PayoutReport, RecallAnswer, Reports, Word};
use crate::provider::wire::payouts::{DebitCard, DebitCardCountry, PayoutOrder};
use crate::provider::wire::{Hidden, Unreadable};
use crate::secret::Secret;

/// Rails over HTTP.
pub struct RemoteRails(pub Remote);

impl Rails for RemoteRails {
    fn send(&self, order: PlainPayout) -> BoxFuture<'_, Result<Report, PortError>> {
        const CALL: &str = "pay out";
        Box::pin(async move {
            let (key, wanted) = (order.key, order.payout);
            let order = PayoutOrder::of(order).map_err(|e| failed(ErrorKind::Permanent, CALL, e.0))?;
            let said: PayoutReport = self.0.post(CALL, &["payouts"], Some(key), &order).await?;
            let (payout, report) = said.read();
            if payout != wanted {
                return Err(unreadable(CALL)(Unreadable("it is about another payout")));
            }
            Ok(report)
        })
    }

    fn ordered(&self, key: EffectId) -> BoxFuture<'_, Result<Option<Report>, PortError>> {
        const CALL: &str = "ask after";
        Box::pin(async move {
            let key = key.to_string();
            let said: OrderedAnswer = self.0.get(CALL, &["payout-orders", &key], &()).await?;
            // A payer is credited on its no: another's does not count.
            if said.key != key {
                return Err(unreadable(CALL)(Unreadable("it is about another order")));
            }
            Ok(said.report.map(Word::read))
        })
    }

    fn recall(&self, key: EffectId, payout: PayoutId) -> BoxFuture<'_, Result<Recall, PortError>> {
        const CALL: &str = "recall";
        Box::pin(async move {
            let path = ["payouts", &payout.to_string(), "recall"];
            let said: RecallAnswer = self.0.post(CALL, &path, Some(key), &json!({})).await?;
            if said.payout_id.0 != payout {
                return Err(unreadable(CALL)(Unreadable("it is about another payout")));
            }
            Ok(said.outcome.into())
        })
    }

    fn card_country<'a>(&'a self, number: &'a Secret<String>) -> BoxFuture<'a, Result<Option<Country>, PortError>> {
        Box::pin(async move {
            // A number in a path or a query would end in somebody's log.
            let card = DebitCard {
                number: Hidden(number.clone()),
            };
            let said: DebitCardCountry = self
                .0
                .post("debit card country", &["debit-card-country"], None, &card)
                .await?;
            Ok(said.country.map(|country| country.0))
        })
    }

    fn told(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Told>, PortError>> {
        const CALL: &str = "told";
        Box::pin(async move {
            if !self.0.is_configured() {
                return Ok(Vec::new());
            }
            let query = [("after", after), ("limit", limit as u64)];
            let said: Reports = self.0.get(CALL, &["payout-reports"], &query).await?;
            said.read(after).map_err(unreadable(CALL))
        })
    }
}
