//! The purchased product in the paid response, in its state at the purchase, so that every replay shows the same.

use std::time::Duration;

use purser_actors::card::Card;
use purser_actors::currency::Currency;
use purser_actors::engine::Engine;
use purser_actors::entities::PurchasedProduct;
use purser_actors::gift_card::GiftCard;
use purser_actors::id::{CardId, PayoutId, TopUpId, Wallet};
use purser_actors::intl_order::IntlOrder;
use purser_actors::kernel::JsonObject;
use purser_actors::payout::{Payout, PayoutTarget};
use purser_actors::top_up::TopUp;

use super::response::ResponseWriter;
use crate::edge::error::ApiError;

const TOP_UP_NOTE: &str = "On its way to the card balance, usually within a minute. Follow it under `top_ups` in GET \
    /list-card-transactions; when it is `credited`, GET /get-card-deposit-address counts it in the balance, and POST \
    /create-reloadable-card spends it.";

/// How long the response to a payment waits for its saved recipient.
const SAVE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) enum PurchasedRecord {
    Card(CardId, Card),
    GiftCard(CardId, GiftCard),
    Intl(CardId, IntlOrder),
    Payout(PayoutId, Box<Payout>),
    TopUp(TopUpId, TopUp),
}

impl PurchasedRecord {
    /// Reads what a payment bought.
    ///
    /// # Errors
    /// 500 when storage fails or the product is missing.
    pub(super) async fn read(engine: &Engine, product: PurchasedProduct) -> Result<Self, ApiError> {
        match product {
            PurchasedProduct::Card(id) => {
                let card = engine.card(&id).await.ok().flatten();
                card.map(|card| Self::Card(id, card)).ok_or_else(ApiError::internal)
            }
            PurchasedProduct::GiftCard(id) => {
                let gift = engine.gift_card(&id).await.ok().flatten();
                gift.map(|gift| Self::GiftCard(id, gift)).ok_or_else(ApiError::internal)
            }
            PurchasedProduct::IntlOrder(id) => {
                let order = engine.intl_order(&id).await.ok().flatten();
                order.map(|order| Self::Intl(id, order)).ok_or_else(ApiError::internal)
            }
            PurchasedProduct::Payout(id) => {
                let payout = engine.payout(&id).await.ok().flatten();
                let payout = payout.ok_or_else(ApiError::internal)?;
                if let PayoutTarget::App(recipient, ..) = &payout.plan.target {
                    // So that the client can list, rename and pay the recipient at once. The payment is answered in any
                    // case.
                    drop(tokio::time::timeout(SAVE_TIMEOUT, engine.await_recipient_saved(*recipient)).await);
                }
                Ok(Self::Payout(id, Box::new(payout)))
            }
            PurchasedProduct::TopUp(id) => {
                let top_up = engine.top_up(&id).await.ok().flatten();
                top_up
                    .map(|top_up| Self::TopUp(id, top_up))
                    .ok_or_else(ApiError::internal)
            }
        }
    }

    /// Adds the product's members. Members that give their bearer access, a code or a link, are only added if
    /// `bearer` is set. It is set for the call whose claim won.
    pub(super) fn fields(&self, body: JsonObject, bearer: bool, answers: &ResponseWriter) -> JsonObject {
        match self {
            Self::Payout(id, payout) => payout_fields(*id, payout, body, bearer, answers),
            Self::Card(id, card) => {
                let bought = JsonObject::new()
                    .text("card_id", id)
                    .number("usd_amount", card.amount.decimal())
                    .text("country", "US")
                    .text("status", "pending")
                    .time("created_at", card.created_at);
                body.text("card_id", id)
                    .text("status", "pending")
                    .object("card", &bought)
            }
            // Nothing can be redeemed yet. The code is read with a token once the order is completed.
            Self::GiftCard(id, gift) => {
                let bought = JsonObject::new()
                    .text("card_id", id)
                    .text("product_id", &gift.order.product)
                    .number("amount", gift.order.amount.decimal())
                    .text("currency", gift.order.currency)
                    .text("country", gift.order.country)
                    .text("status", "processing")
                    .optional_text("redemption_url", None::<&str>)
                    .optional_text("redemption_code", None::<&str>)
                    .optional_text("pin_code", None::<&str>)
                    .time("created_at", gift.created_at);
                body.text("card_id", id)
                    .text("status", "processing")
                    .object("gift_card", &bought)
            }
            Self::Intl(id, order) => {
                let bought = JsonObject::new()
                    .text("card_id", id)
                    .number("on_card_usd_amount", order.amount.decimal())
                    .number("charged_usd_amount", order.charge.charged.decimal())
                    .optional_text("label", order.label.as_deref())
                    .text("status", "queued")
                    .time("created_at", order.created_at);
                body.object("intl_card_order", &bought)
            }
            Self::TopUp(id, top_up) => body
                .text("top_up_id", id)
                .text("status", "paid")
                .number("funded_usd", top_up.amount.decimal())
                .text("deposit_address", Wallet::Evm(top_up.address).address())
                .text("network", "base")
                .text("asset", "USDC")
                .text("payment_network", top_up.rail.name())
                .text("note", TOP_UP_NOTE),
        }
    }

    /// For `format=html`: no number, no token. Ids are hex and the URL is ours, so nothing needs escaping.
    pub(super) fn html(&self, public_url: &str) -> String {
        let id = match self {
            Self::Card(id, _) | Self::GiftCard(id, _) | Self::Intl(id, _) => id.to_string(),
            Self::Payout(id, _) => id.to_string(),
            Self::TopUp(id, _) => id.to_string(),
        };
        format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Card bought</title>\
             <h1>Card bought</h1><p>Card <code>{id}</code> is <strong>pending</strong>.</p>\
             <p>Sign in with the wallet that paid at <a href=\"{public_url}/auth\">{public_url}/auth</a>, then read the \
             card at <code>/get-card-data?card_id={id}</code>.</p></html>"
        )
    }
}

/// A payout as it was bought.
fn payout_fields(
    id: PayoutId,
    payout: &Payout,
    body: JsonObject,
    bearer: bool,
    answers: &ResponseWriter,
) -> JsonObject {
    let new = JsonObject::new().text("payout_id", id);
    let priced = |view: JsonObject| {
        view.number("amount", payout.amount.decimal())
            .number("fee_amount", payout.charge.fee().decimal())
            .number("charged_amount", payout.charge.charged.decimal())
    };
    match &payout.plan.target {
        PayoutTarget::Card(_) => {
            let body = body.text("payout_id", id).text("status", "awaiting-details");
            let body = match bearer {
                true => body.text("redemption_url", answers.form_links.url(id).expose()),
                false => body,
            };
            body.number("amount", payout.amount.decimal())
                .text("currency", payout.currency)
                .number("fee_amount", payout.charge.fee().decimal())
                .text("fee_currency", Currency::USD)
                .number("charged_usd_amount", payout.charge.charged.decimal())
                .text(
                    "note",
                    "Give redemption_url to the recipient, who enters the debit card there within 30 days. \
                     GET /get-payment-status shows it again.",
                )
        }
        PayoutTarget::Bank(destination, _) => {
            let new = priced(new).text("destination_id", destination).text("state", "queued");
            let shown = payout.destination().unwrap_or_default();
            body.object("bank_payment", &new.object("destination", &shown))
        }
        PayoutTarget::App(recipient, platform, _) => {
            let new = priced(new.text("state", "queued").text("platform", platform.name()));
            let url = format!("{}/get-payment-status?payout_id={id}", answers.public_url);
            body.object("payment", &new.text("recipient_id", recipient))
                .text("status_url", url)
        }
    }
}
