//! `/redeem`: the form behind `redemption_url`, where the recipient of a push to card enters the debit card.
//!
//! The link's key is the only credential and there is no cookie, so another site can't forge a request. The entered
//! card is sealed into the vault and never shown again. The page has no script.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use purser_actors::engine::OperationError;
use purser_actors::entity::payout::{Payout, Status};
use purser_actors::id::{CardId, PayoutId};
use purser_actors::port::{Clock, PortError};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::app::App;
use super::error::with_prebuilt_body;
use super::query::Query;
use super::route::routes;
use crate::secret::Secret;
use crate::vault::CardNumberRecord;

const STYLE: &str = include_str!("pages/redeem.css");
/// A number, an expiry and the key, percent-encoded.
const MAX_FORM_BYTES: usize = 1_024;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/redeem" => get_redeem { Public }
    POST "/redeem" => post_redeem { Public, unkeyed("the first accepted details are the payout's; it is ordered once") }
}

/// Show the form for a debit card
///
/// Changes nothing, so a link preview does not use up the link.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/redeem", operation_id = "showRedeemForm", tag = "Account pages",
    params(("payout_id" = Option<String>, Query, description = "Of the link."), ("key" = Option<String>, Query, description = "Of the link.")),
    responses((status = 200, description = "The form, or what became of the payout.", body = String, content_type = "text/html"),
        (status = 403, description = "Not now: the payer's account is frozen.", body = String, content_type = "text/html"),
        (status = 404, description = "The link is not one.", body = String, content_type = "text/html"))))]
async fn get_redeem(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let Some((id, key)) = link(&app, query.as_deref()) else {
        return invalid_link_page();
    };
    match app.redeemable_payout(id).await {
        Ok(payout) => status_page(id, &key, &payout),
        Err(answer) => answer,
    }
}

/// Enter the debit card to pay
///
/// A form with `payout_id`, `key`, `card_number` and `expiry` (`MM/YY`). Accepted once.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/redeem", operation_id = "submitRedeemForm", tag = "Account pages",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "Taken: the money is on its way.", body = String, content_type = "text/html"),
        (status = 403, description = "Sent from another site's page, or the payer's account is frozen.", body = String, content_type = "text/html"),
        (status = 404, description = "The link is not one.", body = String, content_type = "text/html"),
        (status = 409, description = "The payout waits for no card any more.", body = String, content_type = "text/html"),
        (status = 422, description = "The form again, with what is wrong.", body = String, content_type = "text/html"),
        (status = 503, description = "Not now.", body = String, content_type = "text/html"))))]
async fn post_redeem(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        let text = "<p>Open the link itself and fill the form in there.</p>";
        return page(StatusCode::FORBIDDEN, "Not from here", text);
    }
    let read = Limited::new(body, MAX_FORM_BYTES).collect();
    let Ok(Ok(form)) = tokio::time::timeout(app.config.server.body_timeout(), read).await else {
        return invalid_link_page();
    };
    let form = Zeroizing::new(form.to_bytes().to_vec());
    let form = std::str::from_utf8(&form).ok();
    let Some((id, key)) = link(&app, form) else {
        return invalid_link_page();
    };
    let payout = match app.redeemable_payout(id).await {
        Ok(payout) => payout,
        Err(answer) => return answer,
    };
    if payout.status != Status::AwaitingDetails {
        return status_page(id, &key, &payout);
    }
    let wrong = |wrong| form_page(StatusCode::UNPROCESSABLE_ENTITY, id, &key, &payout, wrong);
    let card = match app.parse_debit_card(form) {
        Ok(card) => card,
        Err(what) => return wrong(what),
    };
    match app.is_payable(&payout, &card).await {
        Ok(true) => app.submit_card(id, &card).await,
        Ok(false) => wrong("That card cannot be paid in this currency. Please use a debit card of a bank where it is."),
        Err(error) => {
            tracing::warn!(%error, "the rails do not say whose a debit card is");
            unavailable_page()
        }
    }
}

/// The payout that the link's parameters open. A form has more parameters.
fn link(app: &App, pairs: Option<&str>) -> Option<(PayoutId, String)> {
    let query = Query::parse(pairs, &["payout_id", "key", "card_number", "expiry"]).ok()?;
    let id: PayoutId = query.get("payout_id")?.parse().ok()?;
    let key = query.get("key")?;
    app.checkout
        .response_writer
        .form_links
        .verify(id, key)
        .then(|| (id, key.to_owned()))
}

impl App {
    /// The payout behind a link. While its payer is frozen, the form changes nothing, and its 30 days continue.
    async fn redeemable_payout(&self, id: PayoutId) -> Result<Payout, Response> {
        let read = self.engine.payout(&id).await.map_err(|_| unavailable_page())?;
        let payout = read.ok_or_else(invalid_link_page)?;
        let account = self
            .engine
            .account(&payout.owner)
            .await
            .map_err(|_| unavailable_page())?;
        let frozen = account.is_some_and(|account| account.frozen.is_some());
        if frozen && payout.status == Status::AwaitingDetails {
            return Err(frozen_page());
        }
        Ok(payout)
    }

    /// Parses the card of a form. The error message repeats nothing of it.
    fn parse_debit_card(&self, form: Option<&str>) -> Result<CardNumberRecord, &'static str> {
        let query =
            Query::parse(form, &["payout_id", "key", "card_number", "expiry"]).map_err(|_| "Please try again.")?;
        let number = query.get("card_number").unwrap_or_default();
        let digits: Zeroizing<String> = Zeroizing::new(number.chars().filter(|c| !matches!(c, ' ' | '-')).collect());
        let (month, year) =
            expiry(query.get("expiry").unwrap_or_default()).ok_or("The expiry is MM/YY, as on the card.")?;
        let number = Secret::new(digits.as_str().to_owned());
        let wrong = "That is not a card number. Please check its digits.";
        let card = CardNumberRecord::new(number, month, year).map_err(|_| wrong)?;
        if !card.has_check_digit() {
            return Err(wrong);
        }
        if (year, month) < this_month(&*self.clock) {
            return Err("That card has expired.");
        }
        Ok(card)
    }

    /// Whether the card's bank is in a country of the payout's currency.
    async fn is_payable(&self, payout: &Payout, card: &CardNumberRecord) -> Result<bool, PortError> {
        let country = self.providers.payouts.card_country(card.number()).await?;
        let served = self
            .config
            .products
            .push_to_card
            .countries_by_currency
            .get(payout.currency.as_str());
        Ok(match (country, served) {
            (Some(country), Some(served)) => served.serves(country.as_str()),
            _ => false,
        })
    }

    async fn submit_card(&self, id: PayoutId, card: &CardNumberRecord) -> Response {
        let Ok(sealed) = self.vault.seal(CardId(id.0), card) else {
            return unavailable_page();
        };
        match self.engine.submit_payout_details(id, card.last4(), sealed).await {
            Ok(()) => page(
                StatusCode::OK,
                "Thank you",
                &format!("<p>The money is on its way to the card ending in {}.</p>", card.last4()),
            ),
            Err(OperationError::Rejected(_)) => closed_page(),
            Err(_) => unavailable_page(),
        }
    }
}

/// `MM/YY` or `MM/YYYY`.
fn expiry(text: &str) -> Option<(u8, u16)> {
    let (month, year) = text.trim().split_once('/')?;
    let (month, year) = (month.trim(), year.trim());
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(month) || !digits(year) || !matches!(year.len(), 2 | 4) {
        return None;
    }
    let month: u8 = month.parse().ok().filter(|month| (1..=12).contains(month))?;
    let year: u16 = year.parse().ok()?;
    Some((month, if year < 100 { 2_000 + year } else { year }))
}

fn this_month(clock: &dyn Clock) -> (u16, u8) {
    let now = purser_actors::answer::rfc3339(clock.now());
    let part = |from: usize, to: usize| now.get(from..to).and_then(|text| text.parse::<u16>().ok()).unwrap_or(0);
    (part(0, 4), u8::try_from(part(5, 7)).unwrap_or(1))
}

/// The form, or the page for a used link.
fn status_page(id: PayoutId, key: &str, payout: &Payout) -> Response {
    match payout.status {
        Status::AwaitingDetails => form_page(StatusCode::OK, id, key, payout, ""),
        _ => closed_page(),
    }
}

/// The markup has only our own values: ids and keys have fixed alphabets, amounts are numbers.
fn form_page(status: StatusCode, id: PayoutId, key: &str, payout: &Payout, wrong: &str) -> Response {
    let (amount, currency) = (payout.amount.decimal(), payout.currency);
    let wrong = match wrong {
        "" => String::new(),
        wrong => format!("<p class=\"wrong\" role=\"alert\">{wrong}</p>"),
    };
    let form = format!(
        "<p>You've been sent <strong>{amount:.2} {currency}</strong>. Enter your debit card to receive it.</p>{wrong}\
         <form method=\"post\" action=\"/redeem\" autocomplete=\"off\">\
         <input type=\"hidden\" name=\"payout_id\" value=\"{id}\"><input type=\"hidden\" name=\"key\" value=\"{key}\">\
         <label for=\"card_number\">Card number</label>\
         <input id=\"card_number\" name=\"card_number\" inputmode=\"numeric\" maxlength=\"24\" required>\
         <label for=\"expiry\">Expiry, MM/YY</label><input id=\"expiry\" name=\"expiry\" maxlength=\"7\" required>\
         <button>Send it to this card</button></form>"
    );
    page(status, "You are being paid", &form)
}

fn closed_page() -> Response {
    let text = "<p>This payment link has already been used or has expired.</p>";
    page(StatusCode::CONFLICT, "Nothing to do", text)
}

/// The reason concerns only the payer and the service, so it is not shown.
fn frozen_page() -> Response {
    let text = "<p>This payment is on hold, so you can't enter a card now. Nothing is lost: try again later, or ask \
                the sender of the link.</p>";
    page(StatusCode::FORBIDDEN, "Not now", text)
}

fn invalid_link_page() -> Response {
    let text = "<p>This link is incomplete or invalid. Ask the sender for a new one.</p>";
    page(StatusCode::NOT_FOUND, "No such link", text)
}

fn unavailable_page() -> Response {
    page(
        StatusCode::SERVICE_UNAVAILABLE,
        "Not now",
        "<p>Please try again in a moment.</p>",
    )
}

fn page(status: StatusCode, title: &str, text: &str) -> Response {
    let body = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\">\
         <style>{STYLE}</style></head><body><h1>{title}</h1>{text}</body></html>"
    );
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        STANDARD.encode(Sha256::digest(STYLE))
    );
    let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "private, no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    with_prebuilt_body(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: an expiry has the form printed on cards, and nothing else is accepted.
    #[test]
    fn card_expiry_is_parsed_as_printed() {
        for (text, read) in [("12/31", (12, 2031)), (" 1 / 2031 ", (1, 2031)), ("01/00", (1, 2000))] {
            assert_eq!(expiry(text), Some(read), "{text}");
        }
        for wrong in [
            "", "1231", "13/31", "0/31", "12/3", "12/031", "+1/31", "12/-1", "12/31/1", "١/31",
        ] {
            assert_eq!(expiry(wrong), None, "{wrong}");
        }
    }
}
