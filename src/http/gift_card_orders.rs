//! `GET /order-gift-card` (paid).

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Uri};
use purser_actors::currency::{Country, Currency};
use purser_actors::entity::Purchase;
use purser_actors::entity::gift_card::GiftCardPurchase;
use purser_actors::money::Cents;
use purser_actors::product::ProductLine;

use super::app::App;
use super::auth::MaybeBearer;
use super::error::{ApiError, ErrorCode};
use super::gift_cards::{fee_for, with_timeout};
use super::merchants::directory_unavailable;
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
#[cfg(feature = "documents")]
use crate::checkout::{GiftCardPurchaseResponse, PendingPayment};
use crate::checkout::{PaidCall, rate_unavailable};
use crate::prices::ProductFeeRate;
use crate::provider::gift_cards::{Denominations, GiftCardProduct};

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/order-gift-card" => order_gift_card {
        Paid, refuses [
            ParameterUnrecognized, ParameterMissing, AmountInvalid, ParameterInvalid, CountryNotServed,
            CatalogUnavailable, ProductNotFound, AmountOutOfRange, PaymentRequired, PaymentInvalid, WrongWallet,
            AccountFrozen, OutOfStock, SettlementFailed,
        ]
    }
}

/// Buy a gift card
///
/// Paid. The amount is in the gift card's currency and must be one of its amounts (`GET /search-gift-cards`). The price
/// is converted at the current rate. A quote names that rate and holds for its validity. Stock and price are checked
/// before the charge. The card is `completed` a moment after the purchase. Then `GET /get-card-data` has its code.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/order-gift-card", operation_id = "buyGiftCard", tag = "Gift cards",
    params(("product_id" = String, Query, description = "From `GET /search-gift-cards`.", example = "gift_quietshield_vpn"),
        ("amount" = String, Query, description = "In the gift card's currency, at most 2 decimal places.", example = "15"),
        ("country" = String, Query, description = "Where it will be redeemed, ISO 3166-1 alpha-2.", example = "US")),
    responses((status = 200, description = "Bought: `auth` (for the call that paid first), `user_id`, `card_id`, `status`, `gift_card`. Or `status: credited`.",
            body = GiftCardPurchaseResponse),
        (status = 202, description = "The payment's outcome is not known yet: follow `status_url`.", body = PendingPayment),
        (status = 400, description = "A parameter is missing, malformed or out of range, or a country that is not served."),
        (status = 402, description = "A challenge, as a page for browsers; or with `success: false` a settlement that failed.", body = schemas::PaymentRequiredResponse),
        (status = 403, description = "Wrong wallet, frozen account or daily cap. This call charged nothing."),
        (status = 404, description = "`product_not_found`: no such gift card."),
        (status = 409, description = "`out_of_stock`: not now. Or the payment was made for another request, or its transfer was decided about without it."),
        (status = 429, description = "Too many requests."),
        (status = 503, description = "Too busy, or the network or the catalog cannot be reached, or there is no exchange rate. This call charged nothing."))))]
async fn order_gift_card(
    State(app): State<Arc<App>>,
    MaybeBearer(bearer): MaybeBearer,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["product_id", "amount", "country"])?.require(&[
        "product_id",
        "amount",
        "country",
    ]);
    let id = query.required("product_id")?;
    query.text("product_id", 64)?;
    let amount = query.plain_amount()?;
    let country = app.gift_card_country(&query)?;
    // A payer gets the claimed purchase, even if the catalog does not answer or no longer has the product.
    let claimed = app.checkout.existing_claim(&headers).await;
    let target = uri.path_and_query().map_or("/order-gift-card", |p| p.as_str());
    if let Some(purchase) = claimed.filter(|bought| same(bought, id, amount, country)) {
        let call = PaidCall {
            headers: &headers,
            bearer: &bearer,
            target,
            route: "/order-gift-card",
            purchase,
            fee_rate: None,
            description: String::from("Gift card"),
            html: false,
        };
        return app.checkout.handle(call).await;
    }
    let found = app.gift_card_product(id).await?;
    let product = found.ok_or_else(|| ApiError::new(ErrorCode::ProductNotFound, "There is no such gift card."))?;
    let currency = app.check_gift_card(&product, country, amount)?;
    let rates = app.quotable_rates(&product).await?;
    let call = PaidCall {
        headers: &headers,
        bearer: &bearer,
        target,
        route: "/order-gift-card",
        purchase: Purchase::GiftCard(GiftCardPurchase {
            amount,
            currency,
            product: product.product_id.clone(),
            country,
        }),
        fee_rate: Some(rates),
        description: format!("Gift card, {amount} {currency}, {}", product.name),
        html: false,
    };
    app.checkout.handle(call).await
}

/// Whether an earlier purchase matches this request. Every field is named, as in the purchase's `fingerprint_bytes`: a
/// parameter that is not compared here would be taken from the claim, so that a retry with another value would not be
/// the 409 that it is.
fn same(bought: &Purchase, id: &str, amount: Cents, country: Country) -> bool {
    let Purchase::GiftCard(GiftCardPurchase {
        product,
        amount: bought_amount,
        country: bought_country,
        // The catalog's for that product, no parameter.
        currency: _,
    }) = bought
    else {
        return false;
    };
    product == id && *bought_amount == amount && *bought_country == country
}

impl App {
    /// Reads the product from the catalog. A catalog that does not answer counts as a failure of the product line,
    /// because orders need it.
    async fn gift_card_product(&self, id: &str) -> Result<Option<GiftCardProduct>, ApiError> {
        match with_timeout(self.catalog_timeout(), self.providers.gift_cards.product(id)).await {
            Ok(found) => Ok(found),
            Err(error) => {
                self.checkout
                    .engine
                    .record_line_unanswered(ProductLine::GiftCard, &error)
                    .await;
                Err(directory_unavailable(&error))
            }
        }
    }

    /// Records the product's fee rate as quoted. Returns it with the earlier rates that are still valid.
    async fn quotable_rates(&self, product: &GiftCardProduct) -> Result<Vec<ProductFeeRate>, ApiError> {
        let now = self.checkout.clock.now();
        let rate = fee_for(product, self.config.products.gift_card.fee_rate);
        let shown = self
            .checkout
            .prices
            .record_quoted_rate(&product.product_id, rate, now)
            .await;
        shown.map_err(|error| {
            tracing::error!(%error, "a fee rate could not be stored");
            ApiError::unavailable(ErrorCode::ServiceUnavailable, "The price could not be recorded.", 2)
        })
    }

    fn gift_card_country(&self, query: &Query) -> Result<Country, ApiError> {
        query.required("country")?;
        let code = query.code("country", 2, "ISO 3166-1 alpha-2")?.unwrap_or_default();
        if !self.config.products.gift_card.countries.serves(code) {
            let error = ApiError::parameter(
                ErrorCode::CountryNotServed,
                "country",
                "Gift cards are not sold in that country.",
            );
            return Err(error.hint("GET /get-supported-countries lists where they are."));
        }
        code.parse().map_err(|_| ApiError::internal())
    }

    /// Checks amount, country and our own range against the product.
    fn check_gift_card(
        &self,
        product: &GiftCardProduct,
        country: Country,
        amount: Cents,
    ) -> Result<Currency, ApiError> {
        if !product.redeemability.covers(country.as_str()) {
            let what = "That gift card cannot be redeemed in that country.";
            let error = ApiError::parameter(ErrorCode::CountryNotServed, "country", what);
            return Err(error.hint("GET /search-gift-cards?country= lists those that can."));
        }
        if !product.values.offer(amount) {
            let error = "That gift card does not come in that amount.";
            return Err(
                ApiError::parameter(ErrorCode::AmountOutOfRange, "amount", error).hint(amounts(&product.values))
            );
        }
        let currency: Currency = product.currency.parse().map_err(|_| ApiError::internal())?;
        let worth = self.checkout.prices.usd_value(amount, currency);
        let worth = worth.ok_or_else(rate_unavailable)?;
        if worth < self.config.products.gift_card.min_amount || worth > self.config.products.gift_card.max_amount {
            let (least, most) = (
                self.config.products.gift_card.min_amount,
                self.config.products.gift_card.max_amount,
            );
            let error = format!("`amount` is worth {worth} USD; it must be worth {least} to {most} USD.");
            return Err(ApiError::parameter(ErrorCode::AmountOutOfRange, "amount", error));
        }
        Ok(currency)
    }
}

fn amounts(values: &Denominations) -> String {
    match values {
        Denominations::Fixed { amounts } => {
            let amounts: Vec<_> = amounts.iter().map(ToString::to_string).collect();
            format!("It comes in {}.", amounts.join(", "))
        }
        Denominations::Range { min, max, step } => format!("It comes in {min} to {max}, in steps of {step}."),
    }
}
