//! `GET /order-gift-card` (paid).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, Uri};
use purser_actors::money::Cents;
use purser_actors::product::{Country, Currency, Line, Purchase};
use utoipa::OpenApi;

use super::caller::MaybeBearer;
use super::error::ApiError;
use super::gift_cards::{answer, on_top};
use super::merchants::unavailable;
use super::query::Query;
use super::shapes;
use crate::checkout::{Call, Checkout, rate_unavailable};
use crate::config::Product;
use crate::prices::OwnRate;
use crate::provider::gift_cards::{GiftCatalog, GiftProduct, Values};

/// What the route needs.
pub struct GiftOrders {
    /// Sells them.
    pub checkout: Arc<Checkout>,
    /// Range of amounts and countries.
    pub product: Product,
    /// Says what each gift card comes in.
    pub catalog: Arc<dyn GiftCatalog>,
    /// How long the catalog may take.
    pub patience: Duration,
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(order_gift_card))]
pub struct Api;

/// The route.
pub fn router(orders: Arc<GiftOrders>) -> Router {
    Router::new()
        .route("/order-gift-card", get(order_gift_card))
        .with_state(orders)
}

/// Buy a gift card
///
/// Paid. The amount is in the gift card's own currency and one that it comes in (`GET /search-gift-cards`); the price is
/// converted at the rate of the moment, and a quote, which names that rate, holds for its life. Stock and price are looked at before anything is
/// charged. The card is `completed` a moment after the purchase: `GET /get-card-data` then has what redeems it.
#[utoipa::path(get, path = "/order-gift-card", tag = "Gift cards",
    params(("product_id" = String, Query, description = "From `GET /search-gift-cards`.", example = "gift_quietshield_vpn"),
        ("amount" = String, Query, description = "In the gift card's currency, at most 2 decimal places.", example = "15"),
        ("country" = String, Query, description = "Where it will be redeemed, ISO 3166-1 alpha-2.", example = "US")),
    responses((status = 200, description = "Bought: `auth` (for the call that paid first), `user_id`, `card_id`, `status`, `gift_card`. Or `status: credited`.",
            body = shapes::PaidGiftCard),
        (status = 202, description = "The payment's outcome is not known yet: follow `status_url`.", body = shapes::Pending),
        (status = 400, description = "A parameter is missing, malformed or out of range, or a country that is not served."),
        (status = 402, description = "A challenge, or with `success: false` a settlement that failed.", body = shapes::PaymentNeeded),
        (status = 403, description = "Wrong wallet, frozen account or daily cap. This call charged nothing."),
        (status = 404, description = "`product_unknown`: no such gift card."),
        (status = 409, description = "`out_of_stock`: not now. Or the payment was made for another request, or its transfer was decided about without it."),
        (status = 429, description = "Too many requests."),
        (status = 503, description = "Too busy, or the network or the catalog cannot be reached, or there is no exchange rate. This call charged nothing.")))]
async fn order_gift_card(
    State(orders): State<Arc<GiftOrders>>,
    MaybeBearer(bearer): MaybeBearer,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["product_id", "amount", "country"])?.needing(&[
        "product_id",
        "amount",
        "country",
    ]);
    let id = query.required("product_id")?;
    query.text("product_id", 64)?;
    let amount = query.plain_amount()?;
    let country = orders.country(&query)?;
    // Who has paid gets what was bought, whether or not the catalog answers or still has it.
    let claimed = orders.checkout.claimed_for(&headers).await;
    let target = uri.path_and_query().map_or("/order-gift-card", |p| p.as_str());
    if let Some(purchase) = claimed.filter(|bought| same(bought, id, amount, country)) {
        let call = Call {
            headers: &headers,
            bearer: &bearer,
            target,
            route: "/order-gift-card",
            purchase,
            fee_rate: None,
            description: String::from("Gift card"),
            html: false,
        };
        return orders.checkout.run(call).await;
    }
    let found = orders.product(id).await?;
    let product = found.ok_or_else(|| ApiError::not_found("product_unknown", "There is no such gift card."))?;
    let currency = orders.check(&product, country, amount)?;
    let rates = orders.show(&product).await?;
    let call = Call {
        headers: &headers,
        bearer: &bearer,
        target,
        route: "/order-gift-card",
        purchase: Purchase::GiftCard {
            amount,
            currency,
            product: product.product_id.clone(),
            country,
        },
        fee_rate: Some(rates),
        description: format!("Gift card, {amount} {currency}, {}", product.name),
        html: false,
    };
    orders.checkout.run(call).await
}

/// Whether that purchase is what this request asks for.
fn same(bought: &Purchase, id: &str, amount: Cents, country: Country) -> bool {
    matches!(bought, Purchase::GiftCard { product, amount: a, country: c, .. }
        if product == id && *a == amount && *c == country)
}

impl GiftOrders {
    /// The product, if the catalog has it. A catalog that does not answer is a failure of the line: it sells nothing without one.
    async fn product(&self, id: &str) -> Result<Option<GiftProduct>, ApiError> {
        match answer(self.patience, self.catalog.product(id)).await {
            Ok(found) => Ok(found),
            Err(error) => {
                self.checkout.engine.unanswered(Line::GiftCard, &error).await;
                Err(unavailable(&error))
            }
        }
    }

    /// Shows the product's fee rate; with those that were shown before and still hold.
    async fn show(&self, product: &GiftProduct) -> Result<Vec<OwnRate>, ApiError> {
        let now = self.checkout.clock.now();
        let rate = on_top(product, self.product.fee_rate);
        let shown = self.checkout.prices.show(&product.product_id, rate, now).await;
        shown.map_err(|error| {
            tracing::error!(%error, "a fee rate could not be stored");
            ApiError::unavailable("unavailable", "The price could not be written down.", 2)
        })
    }

    fn country(&self, query: &Query) -> Result<Country, ApiError> {
        query.required("country")?;
        let code = query.code("country", 2, "ISO 3166-1 alpha-2")?.unwrap_or_default();
        if !self.product.countries.serves(code) {
            let error = ApiError::parameter(
                "country_not_served",
                "country",
                "Gift cards are not sold in that country.",
            );
            return Err(error.hint("GET /get-supported-countries lists where they are."));
        }
        code.parse().map_err(|_| ApiError::internal())
    }

    /// Whether the gift card comes in this amount, in this country, and within the range of what we sell.
    fn check(&self, product: &GiftProduct, country: Country, amount: Cents) -> Result<Currency, ApiError> {
        if !product.reach.covers(country.as_str()) {
            let what = "That gift card cannot be redeemed in that country.";
            let error = ApiError::parameter("country_not_served", "country", what);
            return Err(error.hint("GET /search-gift-cards?country= lists those that can."));
        }
        if !product.values.offer(amount) {
            let error = "That gift card does not come in that amount.";
            return Err(ApiError::parameter("amount_out_of_range", "amount", error).hint(amounts(&product.values)));
        }
        let currency: Currency = product.currency.parse().map_err(|_| ApiError::internal())?;
        let worth = self.checkout.prices.worth(amount, currency);
        let worth = worth.ok_or_else(rate_unavailable)?;
        if worth < self.product.min || worth > self.product.max {
            let (least, most) = (self.product.min, self.product.max);
            let error = format!("`amount` is worth {worth} USD; it must be worth {least} to {most} USD.");
            return Err(ApiError::parameter("amount_out_of_range", "amount", error));
        }
        Ok(currency)
    }
}

fn amounts(values: &Values) -> String {
    match values {
        Values::Fixed(amounts) => {
            let amounts: Vec<_> = amounts.iter().map(ToString::to_string).collect();
            format!("It comes in {}.", amounts.join(", "))
        }
        Values::Range { least, most, step } => format!("It comes in {least} to {most}, in steps of {step}."),
    }
}
