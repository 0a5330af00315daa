//! Payouts: `GET /get-push-to-card`, `GET /send-bank-payment` and `GET /send-payment` (paid), and
//! `GET /get-payment-status`.

mod payee;

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Uri};
use purser_actors::currency::Currency;
use purser_actors::entity::Purchase;
use purser_actors::entity::late_return::LateReturn;
use purser_actors::entity::payout;
use purser_actors::entity::payout::{
    AppPaymentPurchase, BankPaymentPurchase, Payout, PayoutTarget, PushToCardPurchase, Status,
};
use purser_actors::id::{BankDestinationId, LateReturnId, PayoutId};
use purser_actors::kernel::Entity as _;

pub(super) use self::payee::{is_email, platform};
use serde::Serialize;

use super::account::{BearerClaims, refuse_frozen};
use super::agent_wallet::text;
use super::app::App;
use super::auth::{AuthClaims, BearerAuth, MaybeBearer};
use super::error::{ApiError, ErrorCode};
use super::list_order::{ORDERS, list_start};
use super::outgoing_holds::hold_reason;
use super::passkeys::confirmation;
use super::query::Query;
use super::route::routes;
use super::{json, schemas};
#[cfg(feature = "documents")]
use crate::checkout::{
    AppPaymentPurchaseResponse, BankPaymentPurchaseResponse, PendingPayment, PushToCardPurchaseResponse,
};
use crate::checkout::{PaidCall, PayoutDestination};

/// Limit of a message to a recipient, in characters.
const MAX_MESSAGE_LEN: usize = 140;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/get-push-to-card" => get_push_to_card {
        Paid, refuses [
            ParameterUnrecognized, ParameterMissing, AmountOutOfRange, ParameterInvalid, PaymentRequired, WrongWallet,
            AccountFrozen, SettlementFailed,
        ]
    }
    GET "/send-bank-payment" => send_bank_payment {
        Paid, refuses [
            ParameterUnrecognized, AmountInvalid, ParameterMissing, ParameterInvalid, PaymentRequired, WrongWallet,
            AccountFrozen, DestinationNotFound, SettlementFailed,
        ]
    }
    GET "/send-payment" => send_payment {
        Paid, refuses [
            ParameterUnrecognized, AmountOutOfRange, ParameterMissing, ParameterInvalid, PaymentRequired, WrongWallet,
            AccountFrozen, IdentityVerificationRequired, RecipientNotFound, RecipientDiffers, SettlementFailed,
        ]
    }
    GET "/get-payment-status" => get_payment_status {
        Token, refuses [TokenMissing, ParameterUnrecognized, AccountFrozen, PayoutNotFound, PayoutAccessDenied]
    }
}

/// Parts of a request that checkout needs.
struct CheckoutInput<'a> {
    headers: &'a HeaderMap,
    bearer: &'a BearerAuth,
    uri: &'a Uri,
}

impl App {
    async fn sell_payout(
        &self,
        asked: CheckoutInput<'_>,
        route: &'static str,
        purchase: Purchase,
        description: String,
    ) -> Result<Response, ApiError> {
        let call = PaidCall {
            headers: asked.headers,
            bearer: asked.bearer,
            target: asked.uri.path_and_query().map_or(route, |p| p.as_str()),
            route,
            purchase,
            fee_rate: None,
            description,
            html: false,
        };
        self.checkout.handle(call).await
    }
}

/// Pay out to a debit card
///
/// Paid. Give `redemption_url` to the recipient, who enters the card there. The card must belong to a bank in a country
/// of the currency (`GET /get-supported-countries`). If no card is entered within 30 days, the full charge is credited
/// to the account's balance. Other currencies are converted at the current rate. A quote holds for its validity.
/// The recipient sees `message` on the form.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-push-to-card", operation_id = "sendPushToCard", tag = "Payouts",
    params(("amount" = String, Query, description = "What the recipient gets, in `currency`, at most 2 decimal places.", example = "25"),
        ("currency" = String, Query, description = "`USD`, `EUR` or `GBP`.", example = "USD"),
        ("message" = Option<String>, Query, description = "What the recipient reads on the form, at most 140 characters.")),
    responses((status = 200, description = "Bought: `auth` and `redemption_url` (for the call that paid first), `payout_id`, `status`. Or `status: credited`.",
            body = PushToCardPurchaseResponse),
        (status = 202, description = "The payment's outcome is not known yet: follow `status_url`.", body = PendingPayment),
        (status = 400, description = "A parameter is missing, malformed or out of range."),
        (status = 402, description = "A challenge, as a page for browsers; or with `success: false` a settlement that failed.", body = schemas::PaymentRequiredResponse),
        (status = 403, description = "Wrong wallet, frozen account or daily cap. Nothing was charged."),
        (status = 409, description = "The payment was made for another request, or its transfer was decided about without it."),
        (status = 429, description = "Too many requests."),
        (status = 503, description = "Too busy, or the network cannot be reached. Nothing was charged."))))]
async fn get_push_to_card(
    State(app): State<Arc<App>>,
    MaybeBearer(bearer): MaybeBearer,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["amount", "currency", "message"])?.require(&["amount", "currency"]);
    let amount = query.amount(&app.config.products.push_to_card)?;
    let given = query.required("currency")?;
    let sold = &app.config.products.push_to_card.currencies;
    let currency: Currency = match sold.iter().find(|currency| *currency == given) {
        Some(currency) => currency.parse().map_err(|_| ApiError::internal())?,
        None => {
            let error = format!("`currency` must be one of: {}.", sold.join(", "));
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "currency", error));
        }
    };
    let message = query
        .get("message")
        .map(|message| text("message", message, MAX_MESSAGE_LEN));
    let message = message.transpose()?;
    let asked = CheckoutInput {
        headers: &headers,
        bearer: &bearer,
        uri: &uri,
    };
    let description = format!("Payout to a debit card, {amount} {currency}");
    let purchase = Purchase::PushToCard(PushToCardPurchase {
        amount,
        currency,
        message,
    });
    app.sell_payout(asked, "/get-push-to-card", purchase, description).await
}

/// Pay out to a bank
///
/// Paid. Pays one of the account's saved destinations in the U.S. (`GET /bank-recipients`).
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/send-bank-payment", operation_id = "sendBankPayment", tag = "Payouts",
    params(("amount" = String, Query, description = "US dollars that arrive, at most 2 decimal places.", example = "2000"),
        ("destination_id" = String, Query, description = "One of the account's own, from `GET /bank-recipients`.", example = "dst_0123456789abcdef0123456789abcdef")),
    responses((status = 200, description = "Bought: `auth` (for the call that paid first), `user_id`, `bank_payment`. Or `status: credited`.",
            body = BankPaymentPurchaseResponse),
        (status = 202, description = "The payment's outcome is not known yet: follow `status_url`.", body = PendingPayment),
        (status = 400, description = "A parameter is missing, malformed or out of range."),
        (status = 402, description = "A challenge, as a page for browsers; or with `success: false` a settlement that failed.", body = schemas::PaymentRequiredResponse),
        (status = 403, description = "Wrong wallet, frozen account or daily cap. Nothing was charged."),
        (status = 404, description = "`destination_not_found`: the account has no such destination. Nothing was charged."),
        (status = 409, description = "The payment was made for another request, or its transfer was decided about without it."),
        (status = 429, description = "Too many requests."),
        (status = 503, description = "Too busy, or the network cannot be reached. Nothing was charged."))))]
async fn send_bank_payment(
    State(app): State<Arc<App>>,
    MaybeBearer(bearer): MaybeBearer,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["amount", "destination_id"])?.require(&["amount", "destination_id"]);
    let amount = query.amount(&app.config.products.bank_payment)?;
    let destination: BankDestinationId = query.required("destination_id")?.parse().map_err(|_| {
        let error = "`destination_id` is not the id of a bank destination.";
        ApiError::parameter(ErrorCode::ParameterInvalid, "destination_id", error)
            .hint("GET /bank-recipients lists them.")
    })?;
    let asked = CheckoutInput {
        headers: &headers,
        bearer: &bearer,
        uri: &uri,
    };
    let description = format!("Bank payment, {amount} USD");
    let purchase = Purchase::BankPayment(BankPaymentPurchase { amount, destination });
    app.sell_payout(asked, "/send-bank-payment", purchase, description)
        .await
}

/// Pay out to a payment app
///
/// Paid. Needs the account owner's verified identity. The recipient is saved with its first payment (`GET
/// /payment-recipients`). Later payments need only the amount and its `recipient_id`. App, names and address are the
/// saved ones, and values given with the id must match them. A payout that is not claimed within 30 days is credited to
/// the account's balance.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/send-payment", operation_id = "sendAppPayment", tag = "Payouts",
    params(("amount" = String, Query, description = "US dollars that arrive, at most 2 decimal places.", example = "5"),
        ("platform" = inline(Option<schemas::PaymentApp>), Query, description = "`venmo` or `paypal`; as saved without it.", example = "paypal"),
        ("recipient_id" = String, Query, description = "From `GET /payment-recipients`, or what the app knows the recipient by.", example = "@ada"),
        ("recipient_first_name" = Option<String>, Query, description = "At most 100 characters; as saved without it.", example = "Ada"),
        ("recipient_last_name" = Option<String>, Query, description = "At most 100 characters; as saved without it.", example = "Lovelace"),
        ("recipient_email" = Option<String>, Query, description = "The recipient's e-mail address; as saved without it.", example = "ada@example.com")),
    responses((status = 200, description = "Bought: `auth` (for the call that paid first), `user_id`, `payment`, `status_url`. Or `status: credited`.",
            body = AppPaymentPurchaseResponse),
        (status = 202, description = "The payment's outcome is not known yet: follow `status_url`.", body = PendingPayment),
        (status = 400, description = "A parameter is missing, malformed or out of range."),
        (status = 402, description = "A challenge, as a page for browsers; or with `success: false` a settlement that failed.", body = schemas::PaymentRequiredResponse),
        (status = 403, description = "Wrong wallet, frozen account or daily cap. Nothing was charged."),
        (status = 404, description = "`recipient_not_found`: a saved recipient that the account does not have. Nothing was charged."),
        (status = 409, description = "The payment was made for another request, or its transfer was decided about without it, or `recipient_differs`: what is said of a saved recipient is not what is saved. This call charged nothing."),
        (status = 412, description = "`identity_verification_required`: `GET /get-kyc-link`. Nothing was charged."),
        (status = 429, description = "Too many requests."),
        (status = 503, description = "Too busy, or the network cannot be reached. Nothing was charged."))))]
async fn send_payment(
    State(app): State<Arc<App>>,
    MaybeBearer(bearer): MaybeBearer,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (amount, platform, payee) = app.parse_app_payment(query.as_deref()).await?;
    let asked = CheckoutInput {
        headers: &headers,
        bearer: &bearer,
        uri: &uri,
    };
    let description = match platform {
        Some(platform) => format!("Payment by {}, {amount} USD", platform.name()),
        None => format!("Payment to a saved recipient, {amount} USD"),
    };
    let purchase = Purchase::AppPayment(AppPaymentPurchase {
        amount,
        platform,
        payee: Box::new(payee),
    });
    app.sell_payout(asked, "/send-payment", purchase, description).await
}

/// One payout, or a page of them.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
enum PayoutStatusResponse<'a> {
    /// The payout with `payout_id`.
    One(Box<schemas::Payout<'a>>),
    /// All payouts, page by page.
    Page(PayoutList<'a>),
}

/// A page of payouts, oldest first unless `order=desc`.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PayoutList<'a> {
    /// Payouts of the page.
    payouts: Vec<schemas::Payout<'a>>,
    /// Whether more payouts follow.
    has_more: bool,
}

/// Read payouts
///
/// With `payout_id`: that payout. It includes the link while the recipient has not entered a card. `late_return`
/// reports funds returned after the return window, while the payout stays `complete`. Without `payout_id`: all payouts
/// of the account, oldest first, or newest first with `order=desc`.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-payment-status", operation_id = "getPayoutStatus", tag = "Payouts", security(("bearer" = [])),
    params(("payout_id" = Option<String>, Query, description = "One payout."),
        ("order" = inline(Option<schemas::ListOrder>), Query, description = "`asc`, the default, or `desc`."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `payout_id` of the page before.")),
    responses((status = 200, description = "The payout; or `payouts`, `has_more`.", body = PayoutStatusResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's payout, or a frozen account."),
        (status = 404, description = "No such payout."), (status = 429, description = "Too many requests."))))]
async fn get_payment_status(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["payout_id", "order", "limit", "starting_after"])?;
    refuse_frozen(&app.engine, &claims).await?;
    if let Some(text) = query.get("payout_id") {
        let id: PayoutId = text.parse().map_err(|_| unknown())?;
        let payout = app.load_owned_payout(&claims, id).await?;
        let late = app.late_return(id, &payout).await?;
        let shown = schemas::Payout {
            late_return: late.as_ref().map(|(id, late)| late.view(id)),
            ..app.payout_view(id, &payout).await?
        };
        let shows_link = !claims.of_page || confirmation::until(&app, &claims).await?.is_some();
        let shown = app.with_receiver(&claims, &payout, shown, shows_link);
        return Ok(json::private_ok(&PayoutStatusResponse::One(Box::new(shown))));
    }
    let newest_first = query.choice("order", &ORDERS)? == "desc";
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    // A cursor from another account would reveal when that account bought.
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => {
            let id = text.parse().map_err(|_| unknown())?;
            app.load_owned_payout(&claims, id).await.map(|_| Some(id))?
        }
    };
    let start = list_start(newest_first, after);
    let found = app.engine.payouts_of(&claims.wallet, start, limit).await;
    let (found, has_more) = found.map_err(|_| ApiError::internal())?;
    let mut payouts = Vec::with_capacity(found.len());
    for (id, payout) in &found {
        payouts.push(app.payout_view(*id, payout).await?);
    }
    Ok(json::private_ok(&PayoutStatusResponse::Page(PayoutList {
        payouts,
        has_more,
    })))
}

impl App {
    async fn load_owned_payout(&self, claims: &AuthClaims, id: PayoutId) -> Result<Payout, ApiError> {
        let payout = self.engine.payout(&id).await.map_err(|_| ApiError::internal())?;
        let payout = payout.ok_or_else(unknown)?;
        if payout.owner == claims.wallet {
            return Ok(payout);
        }
        let error = "This payout belongs to another wallet.";
        Err(ApiError::new(ErrorCode::PayoutAccessDenied, error))
    }

    async fn payout_view<'a>(&self, id: PayoutId, payout: &'a Payout) -> Result<schemas::Payout<'a>, ApiError> {
        let job = match payout.status {
            // The job that sends the order also waits for its outcome.
            payout::Status::Queued | payout::Status::InProcess => self.engine.job(payout.key).await,
            _ => Ok(None),
        };
        let job = job.map_err(|_| ApiError::internal())?;
        Ok(schemas::Payout {
            payout: payout.view(&id),
            held: hold_reason(&self.engine, payout::Job::SendPayout(id)).await?,
            needs_operator: job.is_some_and(|job| job.dead_lettered),
            late_return: None,
            redemption_url: None,
            destination: None,
        })
    }

    /// Adds the link for the recipient until they enter a card; then the destination of a bank payment. On a page the link
    /// needs a confirmation, as whatever moves money does.
    fn with_receiver<'a>(
        &self,
        claims: &AuthClaims,
        payout: &'a Payout,
        shown: schemas::Payout<'a>,
        shows_link: bool,
    ) -> schemas::Payout<'a> {
        let may_read_secrets = || {
            let payments_may = self.config.identity.payment_token_can_read_cards;
            claims.may_read_secrets(Some(payout.charge.payment), payments_may)
        };
        match (&payout.status, &payout.plan.target) {
            // Anyone who opens the form can be paid, so the link is secret.
            (Status::AwaitingDetails, _) if shows_link && may_read_secrets() => {
                let links = &self.checkout.response_writer.form_links;
                let link = links.url(shown.payout.payout_id).expose().to_string();
                schemas::Payout {
                    redemption_url: Some(link),
                    ..shown
                }
            }
            (Status::AwaitingDetails, _) | (_, PayoutTarget::Card(_) | PayoutTarget::App(..)) => shown,
            (_, PayoutTarget::Bank(_, bank)) => schemas::Payout {
                destination: Some(PayoutDestination::from(bank)),
                ..shown
            },
        }
    }

    /// The outcome of funds that were returned after the payout was final.
    async fn late_return(&self, id: PayoutId, payout: &Payout) -> Result<Option<(LateReturnId, LateReturn)>, ApiError> {
        if !payout.returned_late {
            return Ok(None);
        }
        let id = LateReturnId::for_payout(id);
        let late = self.engine.late_return(&id).await.map_err(|_| ApiError::internal())?;
        Ok(Some((id, late.ok_or_else(ApiError::internal)?)))
    }
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::PayoutNotFound, "There is no such payout.")
}
