//! `/redeem`: the form behind `redemption_url`, where the recipient of a push to card enters the debit card.
//!
//! The link's key is the only credential and there is no cookie, so another site can't forge a request. The entered
//! card is sealed into the vault and never shown again. The page has no script.

mod pages;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode};
use purser_actors::engine::OperationError;
use purser_actors::entity::payout::{Payout, Status};
use purser_actors::id::{CardId, PayoutId};
use purser_actors::port::{Clock, PortError};
use zeroize::Zeroizing;

use super::app::App;
use super::error::with_prebuilt_body;
use super::json;
use super::query::Query;
use super::route::routes;
use crate::page::Page;
use crate::page::values::currency_words;
use crate::secret::Secret;
use crate::vault::CardNumberRecord;

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
    let page = match link(&app, query.as_deref()) {
        Some(link) => match app.redeemable_payout(link.id).await {
            Ok(payout) => pages::payout(StatusCode::OK, &link, &payout),
            Err(page) => page,
        },
        None => pages::invalid_link(),
    };
    with_prebuilt_body(app.frame.render(page))
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
    let page = app.redeem(&headers, body).await;
    with_prebuilt_body(app.frame.render(page))
}

/// A link that this service has given out.
struct RedemptionLink {
    id: PayoutId,
    key: String,
}

/// What is wrong with the entered fields. The texts repeat nothing of what was entered.
#[derive(Default)]
struct CardErrors {
    number: Option<String>,
    expiry: Option<&'static str>,
}

/// The link that the parameters form. A form has more parameters.
fn link(app: &App, pairs: Option<&str>) -> Option<RedemptionLink> {
    let query = Query::parse(pairs, &["payout_id", "key", "card_number", "expiry"]).ok()?;
    let id: PayoutId = query.get("payout_id")?.parse().ok()?;
    let key = query.get("key")?;
    app.checkout
        .response_writer
        .form_links
        .verify(id, key)
        .then(|| RedemptionLink {
            id,
            key: key.to_owned(),
        })
}

impl App {
    async fn redeem(&self, headers: &HeaderMap, body: Body) -> Page {
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if !matches!(site, None | Some(b"same-origin" | b"none")) {
            return pages::other_site();
        }
        let Ok(form) = json::collect(body, MAX_FORM_BYTES).await else {
            return pages::invalid_link();
        };
        let form = Zeroizing::new(form.to_vec());
        let form = std::str::from_utf8(&form).ok();
        let Some(link) = link(self, form) else {
            return pages::invalid_link();
        };
        let payout = match self.redeemable_payout(link.id).await {
            Ok(payout) => payout,
            Err(page) => return page,
        };
        if payout.status != Status::AwaitingDetails {
            return pages::payout(StatusCode::CONFLICT, &link, &payout);
        }
        let entered = entered_expiry(form);
        let wrong = |errors| pages::form(StatusCode::UNPROCESSABLE_ENTITY, &link, &payout, errors, &entered);
        let card = match self.parse_debit_card(form) {
            Ok(card) => card,
            Err(errors) => return wrong(errors),
        };
        match self.is_payable(&payout, &card).await {
            Ok(true) => self.submit_card(&link, &payout, &card).await,
            Ok(false) => {
                let currency = currency_words(payout.currency.as_str());
                wrong(CardErrors {
                    number: Some(format!(
                        "This card cannot be paid in {currency}. Use a debit card of a bank where {currency} are used."
                    )),
                    expiry: None,
                })
            }
            Err(error) => {
                tracing::warn!(%error, "the rails do not say whose a debit card is");
                pages::unavailable()
            }
        }
    }

    /// The payout behind a link. While its payer is frozen, the form changes nothing, and its 30 days continue.
    async fn redeemable_payout(&self, id: PayoutId) -> Result<Payout, Page> {
        let read = self.engine.payout(&id).await.map_err(|_| pages::unavailable())?;
        let payout = read.ok_or_else(pages::invalid_link)?;
        let account = self
            .engine
            .account(&payout.owner)
            .await
            .map_err(|_| pages::unavailable())?;
        let frozen = account.is_some_and(|account| account.frozen.is_some());
        if frozen && payout.status == Status::AwaitingDetails {
            return Err(pages::on_hold(&payout));
        }
        Ok(payout)
    }

    /// Parses the card of a form.
    fn parse_debit_card(&self, form: Option<&str>) -> Result<CardNumberRecord, CardErrors> {
        let again = |_| CardErrors {
            number: Some("Please enter it again.".to_owned()),
            expiry: None,
        };
        let query = Query::parse(form, &["payout_id", "key", "card_number", "expiry"]).map_err(again)?;
        let number = query.get("card_number").unwrap_or_default();
        let digits: Zeroizing<String> = Zeroizing::new(number.chars().filter(|c| !matches!(c, ' ' | '-')).collect());
        let expiry = match expiry(query.get("expiry").unwrap_or_default()) {
            None => Err("Month and year as on the card, like 08/29."),
            Some((month, year)) if (year, month) < this_month(&*self.clock) => Err("This card has expired."),
            Some(expiry) => Ok(expiry),
        };
        // A number can be checked without an expiry, so both fields get their error at once.
        let (month, year) = expiry.unwrap_or((1, 2_000));
        let record = CardNumberRecord::new(Secret::new(digits.as_str().to_owned()), month, year).ok();
        let record = record.filter(CardNumberRecord::has_check_digit);
        let wrong = if digits.is_empty() {
            "Enter the long number on the front of the card."
        } else {
            "A digit is wrong or missing. Please compare it with your card."
        };
        match (record, expiry) {
            (Some(record), Ok(_)) => Ok(record),
            (record, expiry) => Err(CardErrors {
                number: record.is_none().then(|| wrong.to_owned()),
                expiry: expiry.err(),
            }),
        }
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

    async fn submit_card(&self, link: &RedemptionLink, payout: &Payout, card: &CardNumberRecord) -> Page {
        let Ok(sealed) = self.vault.seal(CardId(link.id.0), card) else {
            return pages::unavailable();
        };
        match self.engine.submit_payout_details(link.id, card.last4(), sealed).await {
            Ok(()) => pages::submitted(link, payout, &card.last4()),
            // Another form was first, or the time is over.
            Err(OperationError::Rejected(_)) => match self.redeemable_payout(link.id).await {
                Ok(payout) => pages::payout(StatusCode::CONFLICT, link, &payout),
                Err(page) => page,
            },
            Err(_) => pages::unavailable(),
        }
    }
}

/// The expiry as it was entered, for the form that is shown again. A longer text could be a card number, and none of
/// those is repeated.
fn entered_expiry(form: Option<&str>) -> String {
    const MAX_BYTES: usize = 7;
    let query = Query::parse(form, &["payout_id", "key", "card_number", "expiry"]).ok();
    let entered = query.as_ref().and_then(|query| query.get("expiry"));
    entered
        .filter(|text| text.len() <= MAX_BYTES)
        .unwrap_or_default()
        .to_owned()
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
